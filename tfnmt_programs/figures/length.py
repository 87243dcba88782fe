"""BLEU by the length of the source: where a summary of fixed size is not enough, and attention is."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tfnmt.inspection.figures import color_and_marker, new_figure, plain_text
from tfnmt.translation.bleu import translation_scores

Row = tuple[str, int, float]
"""A bucket's label, its number of sentences, and their BLEU, such as ("9–11", 240, 38.5)."""


def bleu_by_length(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    boundaries: Sequence[int] = (8, 11, 14, 17, 20),
    tokenize: str = "13a",
) -> list[Row]:
    """BLEU of the sentences in buckets of source length.

    Args:
        boundaries: a bucket ends with each of these numbers of source words (between spaces); one more has the rest.
            Empty sentences are in the first.
        tokenize: sacrebleu's tokenization.

    Returns:
        A row for each bucket that has sentences.
    """
    rows = []
    ends = [*boundaries, float("inf")]
    for first, last in zip([0, *(end + 1 for end in boundaries)], ends, strict=True):
        chosen = [i for i, source in enumerate(sources) if first <= len(source.split()) <= last]
        if chosen:
            hypotheses, right = ([texts[i] for i in chosen] for texts in (translations, references))
            label = f"{max(1, first)}–{last}" if last != float("inf") else f"{first} and more"
            rows.append((label, len(chosen), translation_scores(hypotheses, right, tokenize)["bleu"]))
    return rows


@plain_text()
def draw_bleu_by_length(rows_of_models: Mapping[str, Sequence[Row]]) -> Figure:
    """A figure with a line for each model, by name, all over the same sentences."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot(xlabel="words in the source sentence (and how many sentences)", ylabel="BLEU")
    lines = []
    for i, rows in enumerate(rows_of_models.values()):
        color, marker = color_and_marker(i)
        lines += axes.plot([bleu for _, _, bleu in rows], marker=marker, color=color)
    labels = [f"{label}\n({count})" for label, count, _ in next(iter(rows_of_models.values()))]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(lines, rows_of_models)  # given, since labels that begin with _ are none of matplotlib's own
    return figure
