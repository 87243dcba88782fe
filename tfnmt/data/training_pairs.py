"""Sentence pairs to train on, in text or in records: what differs between the two.

Elsewhere, `TrainingPairs` stands for either.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.lines import count_lines
from tfnmt.data.pair_batches import count_dropped, training_batches
from tfnmt.data.pair_lengths import Dropped
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.progress import log_waiting
from tfnmt.data.record_batches import count_dropped_records, record_batches
from tfnmt.data.records import INDEX, ParallelRecords
from tfnmt.data.subword_sampling import require_subwords
from tfnmt.errors import errors_in
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import Tokenizer, make_tokenizers

TrainingPairs = ParallelFiles | ParallelRecords


def pairs_in(paths: Sequence[str | Path]) -> TrainingPairs:
    """The pairs of which `paths()` are these files."""
    if [Path(path).name for path in paths] == [INDEX]:
        return ParallelRecords(Path(paths[0]).parent)
    return ParallelFiles(*paths)


def tokenizers_of(pairs: TrainingPairs, text: TextConfiguration, seed: int) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of records, or those learned from text."""
    if isinstance(pairs, ParallelRecords):
        return pairs.tokenizers()
    names = [str(path) for path in pairs.paths()]
    if len(names) == 1:
        names = [f"{names[0]}, {side}" for side in ("source", "target")]
    with log_waiting("learning the vocabulary"):
        return make_tokenizers(text, *pairs.sides(), seed, (names[0], names[1]))


def text_of(pairs: TrainingPairs | None, text: TextConfiguration) -> TextConfiguration:
    """How the tokenizers are made: as the records say, or else as `text` does."""
    return pairs.index.text if isinstance(pairs, ParallelRecords) else text


def check_records(pairs: TrainingPairs, tokenizers: tuple[Tokenizer, Tokenizer], model: str | Path) -> None:
    """Raise `UserError` if pairs are records and not whole, or their ids not of the tokenizers of a model."""
    if isinstance(pairs, ParallelRecords):
        pairs.check()
        pairs.require_tokenizers(tokenizers, model)


def check_sampling(
    pairs: TrainingPairs, tokenizers: tuple[Tokenizer, Tokenizer], configuration: BatchingConfiguration
) -> None:
    """Raise `UserError` if subwords are to be drawn of what has none: of words, or of records."""
    alpha = configuration.subword_sampling
    if alpha is not None:
        is_text = not isinstance(pairs, ParallelRecords)
        require(is_text, "subword_sampling", alpha, "none with records, whose subwords are fixed")
    require_subwords(tokenizers, alpha)


def reading(pairs: TrainingPairs) -> AbstractContextManager[None]:
    """A context in which `UserError` names the shard of records that cannot be read."""
    return pairs.broken_shards_named() if isinstance(pairs, ParallelRecords) else nullcontext()


def count(
    pairs: TrainingPairs, tokenizers: tuple[Tokenizer, Tokenizer], configuration: BatchingConfiguration
) -> Dropped:
    """How many pairs are kept and dropped. Text is read and encoded for it; of records, the index has it.

    Raises:
        UserError: nothing is left to train on.
    """
    if isinstance(pairs, ParallelRecords):
        return count_dropped_records(pairs, configuration)
    with errors_in(pairs.source):
        return count_dropped(pairs.pairs(), *tokenizers, configuration, count_lines(pairs.source))


def batches_of(
    pairs: TrainingPairs,
    tokenizers: tuple[Tokenizer, Tokenizer],
    configuration: BatchingConfiguration,
    seed: int,
    epoch: tf.Variable | int,
    skip: int,
) -> tf.data.Dataset:
    """An epoch's batches; see `training_batches` for the arguments."""
    if isinstance(pairs, ParallelRecords):
        return record_batches(pairs, configuration, seed, epoch, skip)
    return training_batches(pairs.pairs(), *tokenizers, configuration, seed, epoch, skip)
