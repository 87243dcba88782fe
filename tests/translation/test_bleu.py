"""The scores of sacrebleu: what is told, and what is kept, by computing them."""

import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from tfnmt.translation.bleu import translation_scores

TOKENIZED = [f"the dog number {number} runs ." for number in range(200)]


def test_nobody_is_warned_of_text_that_is_tokenized(caplog):
    assert translation_scores(TOKENIZED, TOKENIZED, "none")["bleu"] == pytest.approx(100.0)
    translation_scores(TOKENIZED, TOKENIZED)
    assert caplog.messages == []


def test_no_lines_are_kept():
    """Those of all epochs of a training would be many."""
    translation_scores(TOKENIZED, TOKENIZED)
    assert [tokenizer.__call__.cache_info().currsize for tokenizer in (Tokenizer13a, TokenizerRegexp)] == [0, 0]
