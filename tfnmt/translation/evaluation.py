"""A translator's figures on files of sentence pairs."""

import logging
import time
from typing import Any

import tensorflow as tf

from tfnmt.data.lines import count_lines
from tfnmt.data.pair_batches import LONGEST_TARGET, evaluation_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.progress import log_counts
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.streaming import truncate_long, truncated
from tfnmt.translation.translator import Translator

logger = logging.getLogger(__name__)


def evaluate_translator(
    model: Translator,
    files: ParallelFiles,
    beam_size: int = 5,
    batch_size: int = 64,
    length_penalty: float = 1.0,
    tokenize: str = "13a",
    lowercase: bool = False,
    length_norm: str = "length",
) -> tuple[dict[str, Any], list[str]]:
    """Every figure of a translator on files of sentence pairs.

    Args:
        model: the translator.
        files: sources and references.
        beam_size: of the search; 1 is greedy.
        batch_size: sentences in a batch.
        length_penalty, length_norm: of the search, see `SearchConfiguration`.
        tokenize, lowercase: sacrebleu's, of BLEU, chrF and TER.

    Returns:
        (figures, translations): a dictionary with the `teacher_forced_figures`, "bleu", "chrf" and "ter" of the
        translations with their signatures, "sentences" and "sentences_per_second" of the search; and the list of
        translations.

    Raises:
        UserError: the files cannot be read, or do not have the same number of lines.
    """
    files.check()
    sources, references = read_references(model, files)
    figures: dict[str, Any] = {**teacher_forced_figures(model, files, batch_size)}
    search = {"length_penalty": length_penalty, "length_norm": length_norm}
    model.translate(["a"], beam_size, batch_size, **search)  # tracing is not part of the speed
    start = time.perf_counter()
    translations = model.translate(sources, beam_size, batch_size, **search)
    seconds = time.perf_counter() - start
    figures |= translation_scores(translations, references, tokenize, lowercase, names=("bleu", "chrf", "ter"))
    figures |= {"sentences": len(sources), "sentences_per_second": len(sources) / seconds}
    return figures, translations


def read_references(model: Translator, files: ParallelFiles) -> tuple[list[str], list[str]]:
    """(sources, references): the lines of both files, the sources truncated to what the model reads, with a warning;
    there is a warning too for each reference of which `evaluation_batches` gives a part only."""
    sides, maximum_length = files.sides(), model.configuration.maximum_source_length
    sources = list(truncate_long(sides[0], model.source_tokenizer, maximum_length, files.source))
    references = list(sides[1])
    for line, reference in enumerate(references, start=1):
        if truncated(reference, model.target_tokenizer, LONGEST_TARGET)[1]:
            place, part = f"{files.target or files.source}, line {line:,}", f"its first {LONGEST_TARGET:,} tokens"
            logger.warning("%s: too long, loss, perplexity and accuracy are of %s", place, part)
    return sources, references


def teacher_forced_figures(model: Translator, files: ParallelFiles, batch_size: int = 64) -> dict[str, float]:
    """ "loss" (the mean of −log p of a token), "perplexity" (its exponential) and "token_accuracy" of a translator,
    where every token is predicted from the tokens before it in the reference.
    """
    maximum_length = model.configuration.maximum_source_length
    batches = evaluation_batches(files.pairs(), *model.tokenizers, batch_size, maximum_length)
    perplexity, accuracy = Perplexity(), TokenAccuracy()

    @tf.function(input_signature=batches.element_spec, autograph=False)
    def update(inputs, labels):
        logits = model(inputs)
        perplexity.update_state(labels, logits)
        accuracy.update_state(labels, logits)

    number = count_lines(files.source)
    for inputs, labels in log_counts(batches, "evaluating", "pairs", lambda batch: len(batch[1]), number):
        update(inputs, labels)
    return {
        "loss": float(perplexity.total / perplexity.words),
        "perplexity": float(perplexity.result()),
        "token_accuracy": float(accuracy.result()),
    }
