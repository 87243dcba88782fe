"""Translations as lines of text."""

from collections.abc import Iterator

from tfnmt.search.step import NEG_INF
from tfnmt.translation.postprocessing import Translations


def formatted(number: int, found: Translations, n_best: int, scores: bool) -> Iterator[str]:
    """The lines to write for one line of the source.

    Args:
        number: of that line, counted from 0.
        found: its translations, arrays [n, ...] without the batch's dimension; with alignments, they are written too.
        n_best: 1 for one line without its number; more for "number ||| translation ||| score ||| alignment", a line for
            each translation that was found.
        scores: whether the score is written where n_best is 1; otherwise it always is.

    Yields:
        Lines without their ends.
    """
    for i, text in enumerate(found.texts):
        columns = [text.decode("utf-8")]
        if n_best > 1:
            columns.insert(0, str(number))
        if scores or n_best > 1:
            columns.append(f"{found.scores[i]:.4f}")
        if found.alignments is not None:
            columns.append(found.alignments[i].decode("utf-8"))
        if i == 0 or found.scores[i] > NEG_INF:
            yield (" ||| " if n_best > 1 else "\t").join(columns)
