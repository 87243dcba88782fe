"""Whether one translator is better than another: paired bootstrap resampling, by sacrebleu."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sacrebleu.significance import PairedTest

from tfnmt.translation.bleu import forget_lines, make_metrics

logger = logging.getLogger(__name__)

SAMPLES = 1000
FEWEST_SENTENCES = 100
"""With fewer there is a warning. Koehn calls 300 a small test set."""
_NAMES = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}
"""What sacrebleu calls the metrics in its results."""


def compare_translations(
    translations: Mapping[str, Sequence[str]],
    references: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
) -> dict[str, dict[str, float | str]]:
    """Compare translations of the same sentences with those of the first system (Koehn 2004, Statistical significance
    tests for machine translation evaluation). The test sentences are drawn again 1,000 times, with sacrebleu's seed.
    Fewer than 100 of them say little, of which a warning tells.

    Args:
        translations: those of each system, by its name; the first is the one that others are compared with.
        references: one for each sentence.
        tokenize, lowercase: as in `translation_scores`.

    Returns:
        For each system "bleu_mean", "bleu_interval" (half of the 95% confidence interval), the same of "chrf" and
        "ter", and for all but the first "bleu_p", "chrf_p" and "ter_p": how probable a difference as large would be if
        the systems were equally good.
    """
    if len(references) < FEWEST_SENTENCES:
        logger.warning(
            "sentences to compare on: %d; of fewer than %d, intervals and p-values are not to be trusted",
            len(references),
            FEWEST_SENTENCES,
        )
    metrics = make_metrics(tokenize, lowercase)
    test = PairedTest(list(translations.items()), metrics, [references], test_type="bs", n_samples=SAMPLES)
    _, results = test()
    forget_lines()
    figures: dict[str, dict[str, float | str]] = {name: {} for name in translations}
    for metric in metrics:
        of_systems: list[Any] = results[_NAMES[metric]]  # in their order
        for name, result in zip(translations, of_systems, strict=True):
            figures[name] |= {f"{metric}_mean": float(result.mean), f"{metric}_interval": float(result.ci)}
            if result.p_value is not None:
                is_equal = result.score == of_systems[0].score  # of which sacrebleu says 1 / (samples + 1)
                figures[name][f"{metric}_p"] = 1.0 if is_equal else float(result.p_value)
    return figures
