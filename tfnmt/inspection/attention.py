"""Where a translator looks: the attention α_ij of each word written to each word read (Bahdanau et al. 2015)."""

from tfnmt.errors import UserError
from tfnmt.inspection.figures import new_figure
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


def attention_matrices(model, texts, beam_size=5):
    """Translate texts and keep where the model looked.

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
    searcher = Searcher(model, SearchConfiguration(beam_size=beam_size, alignments=True, minimum_length=1))
    matrices = []
    for source, found in zip(model.source_ids(texts).numpy(), searcher.translate(texts), strict=True):
        read, written = (source != 0).sum(), found.lengths[0]
        source_words = _words(model.source_tokenizer, source[:read])
        target_words = _words(model.target_tokenizer, found.ids[0, :written])
        matrices.append((source_words, target_words, found.attention[0, :written, :read]))
    return matrices


def draw_attention(matrices):
    """A figure with a heat map for each of what `attention_matrices` returns, one below the other."""
    heights = [0.27 * len(target) + 1.4 for _, target, _ in matrices]
    widest = max(len(source) for source, _, _ in matrices)
    figure = new_figure(max(5.0, 0.36 * widest + 2.5), sum(heights))
    parts = figure.subplots(len(matrices), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (source, target, alpha) in zip(parts, matrices, strict=True):
        image = axes.imshow(alpha, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(source)), source, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        axes.set(xlabel="words read", ylabel="words written")
        axes.xaxis.set_label_position("top")
        figure.colorbar(image, ax=axes, label="attention α", shrink=0.8)
    return figure


def _words(tokenizer, ids):
    return [word.decode("utf-8").replace("▁", " ").strip() or "▁" for word in tokenizer.words(ids).numpy()]
