"""BLEU, chrF and TER, by sacrebleu."""

from collections.abc import Sequence

import sacrebleu
from sacrebleu.metrics.base import Metric
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp


def make_metrics(tokenize: str = "13a", lowercase: bool = False) -> dict[str, Metric]:
    """sacrebleu's metrics by the names that they have here.

    Args:
        tokenize: sacrebleu's tokenization for BLEU: "13a" for plain text, "none" for tokenized text.
        lowercase: ignore case.
    """
    return {
        "bleu": sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True),  # no warning about tokenized text
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": sacrebleu.TER(case_sensitive=not lowercase),
    }


def translation_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
    names: Sequence[str] = ("bleu", "chrf"),
) -> dict[str, float | str]:
    """Corpus scores of translations.

    Args:
        hypotheses, references: lists of strings, one reference for each hypothesis.
        tokenize, lowercase: as in `make_metrics`.
        names: of the metrics.

    Returns:
        A dictionary: the scores, "bleu" and "chrf" (0 to 100, more is better), "ter" (percent, less is better), with
        their signatures, "bleu_signature" and so on.
    """
    metrics = make_metrics(tokenize, lowercase)
    scores: dict[str, float | str] = {}
    for name in names:
        scores[name] = metrics[name].corpus_score(hypotheses, [references]).score
        scores[f"{name}_signature"] = str(metrics[name].get_signature())
    forget_lines()
    return scores


def forget_lines() -> None:
    """Empty sacrebleu's caches, which would keep the lines of all epochs of a training, up to 65,536."""
    for tokenizer in (Tokenizer13a, TokenizerRegexp):
        tokenizer.__call__.cache_clear()
