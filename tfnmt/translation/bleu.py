"""BLEU and chrF, by sacrebleu."""

import sacrebleu


def translation_scores(hypotheses, references, tokenize="13a", lowercase=False):
    """Corpus scores of translations.

    Args:
        hypotheses, references: lists of strings, one reference for each hypothesis.
        tokenize: sacrebleu's tokenization: "13a" for plain text; "none" for text that is tokenized already.
        lowercase: compare without regard to case.

    Returns:
        A dictionary: "bleu" and "chrf" (0 to 100) with their signatures, "bleu_signature" and "chrf_signature".
    """
    bleu = sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)  # force: no warning about tokenized text
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    return {
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
    }
