"""How many multiplications a translator needs, by the lengths of its sentences. What is computed beyond that, for
padding or again in the backward pass, counts as waste, and so does all that is no product of matrices.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.translation.translator import Translator
from tfnmt_programs.operations import multiplications


@dataclass(frozen=True)
class Multiplications:
    """Multiplications of a forward pass, all words of a translation given."""

    source_word: int
    """For each word of the source, such as in the encoder's cells and the attention's keys."""
    sentence: int
    """For each sentence, such as in the decoder's first state."""
    target_word: int
    """For each word of the translation, such as in the decoder's cells and the logits."""
    word_pair: int
    """For each pair of a source and a target word, such as in the attention's energies and contexts."""

    def count(self, source: np.ndarray, target: np.ndarray) -> int:
        """Of sentences with so many words, END counted: int [sentences] each."""
        return int(
            self.source_word * np.sum(source)
            + self.sentence * len(source)
            + self.target_word * np.sum(target)
            + self.word_pair * np.sum(np.multiply(source, target))
        )


def translator_multiplications(model: Translator) -> Multiplications:
    """Counted while the model runs on one or two words of each side, from which its share of each kind follows."""
    one, more_source, more_target, both = (
        forward_multiplications(model, source, target) for source, target in ((1, 1), (2, 1), (1, 2), (2, 2))
    )
    word_pair = both - more_source - more_target + one
    source_word, target_word = (more - one - word_pair for more in (more_source, more_target))
    return Multiplications(source_word, one - source_word - target_word - word_pair, target_word, word_pair)


def forward_multiplications(model: Translator, source_words: int, target_words: int) -> int:
    """Of one sentence of so many words, END counted, and of its translation."""
    source, target = (tf.fill([1, words], len(SPECIAL_TOKENS)) for words in (source_words, target_words))
    return multiplications(lambda: model({"source": source, "target": target}))


def flop_per_target_word(multiplications: Multiplications, batches: Sequence[tuple[dict, np.ndarray]]) -> float:
    """Multiplications and additions of a forward pass, over the number of target words.

    Args:
        batches: as `tfnmt.data.pair_batches` makes them, as NumPy arrays.
    """
    source = np.concatenate([(inputs["source"] != 0).sum(axis=1) for inputs, _ in batches])
    target = np.concatenate([(labels != 0).sum(axis=1) for _, labels in batches])
    return 2 * multiplications.count(source, target) / float(target.sum())


def training_flop_per_target_word(
    multiplications: Multiplications, batches: Sequence[tuple[dict, np.ndarray]]
) -> float:
    """The same of a training step: for each product forward there are two backward, the gradients of its factors."""
    return 3 * flop_per_target_word(multiplications, batches)


def matrix_sizes(*layers: keras.layers.Layer) -> int:
    """The number of entries of all weight matrices of these layers: their multiplications for one input."""
    weights = (weight for layer in layers for weight in layer.weights)
    return sum(math.prod(weight.shape) for weight in weights if len(weight.shape) == 2)
