"""BLEU and chrF, by sacrebleu."""

from collections.abc import Sequence

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp


def translation_scores(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> dict[str, float | str]:
    """Corpus scores of translations.

    Args:
        hypotheses, references: lists of strings, one reference for each hypothesis.
        tokenize: sacrebleu's tokenization: "13a" for plain text, "none" for tokenized text.
        lowercase: ignore case.

    Returns:
        A dictionary: "bleu" and "chrf" (0 to 100) with their signatures, "bleu_signature" and "chrf_signature".
    """
    bleu = sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)  # force: no warning about tokenized text
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    scores = {
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
    }
    for tokenizer in (Tokenizer13a, TokenizerRegexp):
        tokenizer.__call__.cache_clear()  # or the lines of all epochs of a training would stay, up to 65,536
    return scores
