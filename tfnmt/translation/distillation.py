"""Translations by other models as training data for one.

Sequence-level distillation (Kim & Rush 2016, arXiv:1606.07947, sections 3.2 and 3.3) and data diversification (Nguyen
et al. 2020, arXiv:1911.01986).
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import sacrebleu

from tfnmt.data.lines import read_lines
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError

_N_BEST_LINE = re.compile(r"(\d+) \|\|\| (.*) \|\|\| -?\d+\.\d+")


def distilled_pairs(
    pairs: ParallelFiles, n_best: str | Path, tokenize: str = "13a", back_n_best: str | Path | None = None
) -> Iterator[tuple[str, str]]:
    """Each source sentence with three translations: the reference, the best one found, and the one nearest to it.

    With back-translations each reference comes with three source sentences, too, which are chosen in the same way. The
    nearest to what is given has the highest BLEU, as sacrebleu counts it for a sentence; of equals the first.

    Args:
        pairs: the sentences and their references.
        n_best: a file of lines "i ||| translation ||| score" for each sentence i, counted from 0, best first.
        tokenize: sacrebleu's tokenization: "13a" for plain text, "none" for tokenized text.
        back_n_best: such a file of translations of the references into the source language.

    Yields:
        (source, target): first all with the references, then all with the best, then all with the nearest; then the
        same with the source sentences for all references, if there are back-translations.

    Raises:
        UserError: a file cannot be read, or a line of an n-best file has another form or number than it must; names it.
    """
    sources, references = map(list, pairs.sides())
    # Both files are read before the scoring, which takes long.
    found = list(_found(n_best, len(sources), "source"))
    back_found = list(_found(back_n_best, len(sources), "target")) if back_n_best is not None else []
    yield from _with_translations(sources, references, found, tokenize)
    if back_found:
        for reference, source in _with_translations(references, sources, back_found, tokenize):
            yield source, reference


def _with_translations(sources, references, found, tokenize):
    """(source, translation), three of each source."""
    bleu = sacrebleu.BLEU(tokenize=tokenize, effective_order=True, force=True)
    best, nearest = [], []
    for reference, translations in zip(references, found, strict=True):
        scores = [bleu.sentence_score(translation, [reference]).score for translation in translations]
        best.append(translations[0])
        nearest.append(translations[scores.index(max(scores))])
    for targets in (references, best, nearest):
        yield from zip(sources, targets, strict=True)


def _found(path, sentences, side):
    """The translations of each sentence of a side: a list for each, in order."""
    due, advice = 0, f"translate the very sentences of the {side} with --n-best"
    for sentence, lines in itertools.groupby(_numbered(path), lambda line: line[0]):
        if sentence != due or due == sentences:
            raise UserError(f"{path}: i = {sentence} comes after {due:,} of {sentences:,} sentences; {advice}")
        yield [translation for _, translation in lines]
        due += 1
    if due < sentences:
        raise UserError(f"{path}: ends after {due:,} of {sentences:,} sentences; {advice}")


def _numbered(path):
    """(sentence, translation) of each line."""
    for number, line in enumerate(read_lines(path), start=1):
        match = _N_BEST_LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{path}, line {number:,}: must be i ||| translation ||| score, as of translate --n-best 5")
        yield int(match[1]), match[2]
