"""BLEU by the length of the source: where a summary of fixed size is not enough, and attention is."""

import matplotlib
from matplotlib.figure import Figure

from tfnmt.translation.bleu import translation_scores


def bleu_by_length(sources, references, translations, boundaries=(8, 11, 14, 17, 20), tokenize="13a"):
    """BLEU of the sentences of like length.

    Args:
        sources, references, translations: lists of strings.
        boundaries: a bucket ends with each of these numbers of source words (between spaces); one more has the rest.
        tokenize: sacrebleu's tokenization.

    Returns:
        A list of (label, sentences, BLEU), such as ("9–11", 240, 38.5), without the empty buckets.
    """
    rows = []
    ends = [*boundaries, float("inf")]
    for first, last in zip([1, *(end + 1 for end in boundaries)], ends, strict=True):
        chosen = [i for i, source in enumerate(sources) if first <= len(source.split()) <= last]
        if chosen:
            hypotheses, right = ([texts[i] for i in chosen] for texts in (translations, references))
            label = f"{first}–{last}" if last != float("inf") else f"{first} and more"
            rows.append((label, len(chosen), translation_scores(hypotheses, right, tokenize)["bleu"]))
    return rows


def draw_bleu_by_length(rows_of_models):
    """A figure with a line for each model: {name: what `bleu_by_length` returns}, all over the same sentences."""
    colors = matplotlib.colormaps["cividis"]  # told apart by colour-blind eyes; the markers help too
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="words in the source sentence (and how many sentences)", ylabel="BLEU")
    for i, (name, rows) in enumerate(rows_of_models.items()):
        color = colors(0.85 * i / max(1, len(rows_of_models) - 1))
        axes.plot([bleu for _, _, bleu in rows], marker="os^Dv"[i % 5], color=color, label=name)
    labels = [f"{label}\n({count})" for label, count, _ in next(iter(rows_of_models.values()))]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    return figure
