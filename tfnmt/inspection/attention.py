"""Where a translator looks: the attention α_ij of target word i on source word j (Bahdanau et al. 2015)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tfnmt.errors import UserError
from tfnmt.inspection.figures import new_figure, plain_text
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.translator import Translator

Matrix = tuple[list[str], list[str], np.ndarray]


def attention_matrices(model: Translator, texts: Sequence[str], beam_size: int = 5) -> list[Matrix]:
    """Translate texts, and return the attention of each translation.

    Args:
        model: a `Translator` with attention.
        texts: a list of strings, none of them empty.

    Returns:
        A list of (source words, target words, α): lists of strings, the source's with "</s>" at its end, and float
        [target words, source words], whose rows sum to 1.

    Raises:
        UserError: the model has no attention, or a text is empty.
    """
    if not all(text.strip() for text in texts):
        raise UserError("a sentence is empty: there is nothing to look at")
    searcher = model.searcher(SearchConfiguration(beam_size=beam_size, alignments=True, minimum_length=1))
    matrices = []
    for source, found in zip(model.source_ids(texts).numpy(), searcher.translate(texts), strict=True):
        read, written = (source != 0).sum(), found.lengths[0]
        source_words = _words(model.source_tokenizer, source[:read])
        target_words = _words(model.target_tokenizer, found.ids[0, :written])
        attention: Any = found.attention
        matrices.append((source_words, target_words, attention[0, :written, :read]))
    return matrices


@plain_text()
def draw_attention(matrices: Sequence[Matrix]) -> Figure:
    """A figure with a heat map for each matrix that `attention_matrices` returns, one below the other."""
    # Source words stand aslant over the rows, target words at the left: both need room by their letters.
    rows = [max(3, len(target)) for _, target, _ in matrices]  # the bar of colours needs three, too
    heights = [
        0.27 * count + 0.8 + 0.08 * _longest(source) for count, (source, _, _) in zip(rows, matrices, strict=True)
    ]
    widest = max(len(source) for source, _, _ in matrices)
    left = 0.09 * max(_longest(target) for _, target, _ in matrices)
    figure = new_figure(max(5.0, 0.36 * widest + 2.0 + left), sum(heights))
    panels = figure.subplots(len(matrices), 1, squeeze=False, height_ratios=rows)[:, 0]
    for axes, (source, target, alpha) in zip(panels, matrices, strict=True):
        image = axes.imshow(alpha, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(source)), source, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        axes.set(xlabel="source words", ylabel="target words")
        axes.xaxis.set_label_position("top")
        figure.colorbar(image, ax=axes, label="attention α", shrink=0.8)
    return figure


def _longest(words):
    """The letters of the longest word."""
    return max(map(len, words))


def _words(tokenizer, ids):
    return [word.decode("utf-8").replace("▁", " ").strip() or "▁" for word in tokenizer.ids_to_tokens(ids).numpy()]
