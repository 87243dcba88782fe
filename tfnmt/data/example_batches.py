"""Examples with trees -> batches of ids and transitions, of sentences of similar length.

A batch is `(inputs, labels)`. The inputs are int32, padded with 0 on the right:
    "words"        [sentences, words]  ids
    "transitions"  [sentences, steps]  SHIFT and REDUCE, where the trees are known
Of pairs, all first sentences come before all second ones, so there are twice as many sentences as examples. The labels
are int32 [examples] or, where every phrase has one, [sentences, steps] with -1 for none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf
from keras.utils import pad_sequences

from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import Example, Sentence
from tfnmt.data.pair_batches import repeatable
from tfnmt.text.brackets import PAD
from tfnmt.text.tokenizers import PADDING, WordTokenizer

NO_LABEL = -1


def training_batches(
    examples: ExampleDataset,
    tokenizer: WordTokenizer,
    batch_size: int,
    seed: int,
    epoch: tf.Variable | int = 0,
    skip: int = 0,
    longest: Callable[[int], int] | None = None,
) -> tf.data.Dataset:
    """One epoch of shuffled batches, the same for equal `seed` and `epoch`.

    Examples are sorted by length, those of equal length in a new order each epoch, and the batches are shuffled.

    Args:
        examples: the examples.
        tokenizer: makes ids of the words.
        batch_size: examples in a batch.
        seed: determines the order, with the epoch.
        epoch: its number, or an int64 variable that is read when an iteration over the dataset starts.
        skip: how many batches to leave out at the beginning, when an interrupted epoch is resumed.
        longest: from an epoch's number to the most words of the examples that it has; None for all examples.
    """

    def groups() -> list[np.ndarray]:
        limit = None if longest is None else longest(int(epoch))
        return shuffled_groups(examples.lengths, batch_size, (seed, int(epoch)), limit)[skip:]

    batches = _batches(examples, tokenizer, groups)
    return batches.apply(tf.data.experimental.assert_cardinality(number_of_batches(examples, batch_size) - skip))


def evaluation_batches(examples: ExampleDataset, tokenizer: WordTokenizer, batch_size: int) -> tf.data.Dataset:
    """Every example once, in batches, in the order of `evaluation_order`."""

    def groups() -> list[np.ndarray]:
        return _split(evaluation_order(examples), batch_size)

    batches = _batches(examples, tokenizer, groups)
    return batches.apply(tf.data.experimental.assert_cardinality(number_of_batches(examples, batch_size)))


def evaluation_order(examples: ExampleDataset) -> np.ndarray:
    """The indices of all examples from the shortest to the longest, int64 [examples]."""
    return np.argsort(examples.lengths, kind="stable")


def number_of_batches(examples: ExampleDataset, batch_size: int) -> int:
    """How many batches an epoch or an evaluation has."""
    return -(-len(examples) // batch_size)


def shuffled_groups(
    lengths: np.ndarray, batch_size: int, seed: Sequence[int], longest: int | None = None
) -> list[np.ndarray]:
    """The indices of examples for each batch, int64 [at most batch_size] of similar lengths; `seed` gives the order.

    With `longest`, longer examples are left out (if they are not among the shortest), and the others come again, in
    another order, until there are as many batches as without.
    """
    random = np.random.default_rng(seed)
    indices = np.arange(len(lengths)) if longest is None else np.flatnonzero(lengths <= max(longest, lengths.min()))
    batches, groups = -(-len(lengths) // batch_size), []
    while len(groups) < batches:
        by_length = np.lexsort((random.random(len(indices)), lengths[indices]))
        once = _split(indices[by_length], batch_size)
        random.shuffle(once)
        groups += once
    return groups[:batches]


def sentences_of(examples: Sequence[Example]) -> list[Sentence]:
    """The sentences of examples; of pairs, all first ones before all second ones."""
    sides = zip(*(example.sentences for example in examples), strict=True)
    return [sentence for side in sides for sentence in side]


def sentence_batch(sentences: Sequence[Sentence], tokenizer: WordTokenizer) -> dict[str, tf.Tensor]:
    """The inputs for these sentences, in their order, as described above."""
    return _encoded(_sentence_arrays(sentences), tokenizer)


def _batches(
    examples: ExampleDataset, tokenizer: WordTokenizer, groups: Callable[[], Iterable[np.ndarray]]
) -> tf.data.Dataset:
    def arrays() -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
        for group in examples.read(groups()):
            yield example_arrays(group)

    first = example_arrays(next(examples.read([[0]])))
    specification = tf.nest.map_structure(
        lambda array: tf.TensorSpec([None] * array.ndim, tf.string if array.dtype == object else tf.int32), first
    )
    batches = tf.data.Dataset.from_generator(arrays, output_signature=specification)
    batches = batches.map(lambda inputs, labels: (_encoded(inputs, tokenizer), labels), num_parallel_calls=2)
    return repeatable(batches)


def example_arrays(examples: list[Example]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A batch as described above, except that the words are text: "words" object [sentences]."""
    inputs = _sentence_arrays(sentences_of(examples))
    if examples[0].phrase_labels is None:
        return inputs, np.array([example.label for example in examples], np.int32)
    return inputs, pad_sequences([example.phrase_labels or [] for example in examples], padding="post", value=NO_LABEL)


def _sentence_arrays(sentences: Sequence[Sentence]) -> dict[str, np.ndarray]:
    arrays = {"words": np.array([" ".join(sentence.words) for sentence in sentences], object)}
    if sentences[0].transitions is not None:
        arrays["transitions"] = pad_sequences(
            [sentence.transitions or [] for sentence in sentences], padding="post", value=PAD
        )
    return arrays


def _encoded(inputs: dict, tokenizer: WordTokenizer) -> dict[str, tf.Tensor]:
    words = tokenizer.encode(tf.convert_to_tensor(inputs["words"])).to_tensor(PADDING)
    others = {name: tf.convert_to_tensor(array) for name, array in inputs.items() if name != "words"}
    return {"words": words} | others


def _split(indices: np.ndarray, size: int) -> list[np.ndarray]:
    return [indices[start : start + size] for start in range(0, len(indices), size)]
