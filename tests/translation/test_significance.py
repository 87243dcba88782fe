"""Comparing translators by paired bootstrap resampling."""

import pytest

from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.significance import compare_translations

REFERENCES = [f"the {animal} sees the {thing} today ." for animal in ("dog", "cat", "cow") for thing in "abcdefgh"]


def test_a_system_beside_itself_and_beside_a_worse_one():
    worse = [line.replace("sees the", "the sees") for line in REFERENCES]
    figures = compare_translations({"good": REFERENCES, "same": REFERENCES, "worse": worse}, REFERENCES, "none")
    assert "bleu_p" not in figures["good"]
    assert figures["good"]["bleu_mean"] == pytest.approx(100.0)
    assert figures["same"]["bleu_p"] == 1.0
    assert figures["worse"]["bleu_p"] < 0.05 and figures["worse"]["ter_p"] < 0.05
    assert figures["worse"]["ter_mean"] > figures["good"]["ter_mean"] == 0.0


def test_the_means_are_near_the_scores():
    half = [line if i % 2 else "a dog ." for i, line in enumerate(REFERENCES)]
    figures = compare_translations({"half": half}, REFERENCES, "none")["half"]
    scores = translation_scores(half, REFERENCES, "none", names=("bleu", "chrf", "ter"))
    for metric in ("bleu", "chrf", "ter"):
        assert abs(figures[f"{metric}_mean"] - scores[metric]) < figures[f"{metric}_interval"]


def test_case_and_the_spaces_before_punctuation_count_only_where_they_are_to():
    loud = [line.upper().replace(" .", ".") for line in REFERENCES]
    alike = compare_translations({"loud": loud}, REFERENCES, "13a", lowercase=True)["loud"]
    assert alike["bleu_mean"] == pytest.approx(100.0) == alike["chrf_mean"]
    for tokenize, lowercase in (("none", True), ("13a", False)):
        assert compare_translations({"loud": loud}, REFERENCES, tokenize, lowercase)["loud"]["bleu_mean"] < 90


def test_few_sentences_are_told(logged):
    told = "sentences to compare on: %d; of fewer than 100, intervals and p-values are not to be trusted"
    for times, expected in ((4, [told % 96]), (5, [])):
        compare_translations({"good": REFERENCES * times}, REFERENCES * times, "none")
        assert logged() == expected
