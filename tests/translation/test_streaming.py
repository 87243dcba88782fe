"""Translating a stream: a line for a line, in order, in constant memory."""

import itertools
from types import SimpleNamespace

import pytest

from tests.translation.test_searcher import SOURCES, TARGETS
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer
from tfnmt.text.unknown_tokens import log_unknown
from tfnmt.translation.streaming import WINDOW, translate_stream, truncated, windows


class Shouting:
    """Stands in for a searcher: it turns letters into capitals, and reads 5 words of a sentence."""

    def __init__(self):
        self.ensemble = SimpleNamespace(maximum_source_length=5, source_tokenizer=WordTokenizer(["a", "b"]))
        self.calls = []

    def translate(self, texts, batch_size, prefixes=None, advance=None):
        self.calls.append((texts, batch_size))
        if advance is not None:
            advance(len(texts))
        return [prefix + text.upper() for prefix, text in zip(prefixes or [""] * len(texts), texts, strict=True)]


def translated(lines, batch_size=1):
    return list(translate_stream(Shouting(), lines, batch_size))


def test_a_line_for_a_line():
    lines = [b"a\n", b"\n", b"b b\r\n", b"  \n", "ä\n".encode(), b"last without an end"]
    assert translated(lines) == ["A", "", "B B", "  ", "Ä", "LAST WITHOUT AN END"]
    assert translated([]) == []


@pytest.mark.parametrize("count", [1, 2 * WINDOW - 1, 2 * WINDOW, 2 * WINDOW + 1])
def test_order_and_number(count):
    assert translated((b"%d\n" % i for i in range(count)), batch_size=2) == [str(i) for i in range(count)]


def test_lines_are_read_a_window_at_a_time():
    model, endless = Shouting(), (b"%d\n" % i for i in itertools.count())
    translations = translate_stream(model, endless, 2)
    assert next(translations) == "0"
    assert next(endless) == b"%d\n" % (2 * WINDOW)
    assert [(len(texts), batch_size) for texts, batch_size in model.calls] == [(2 * WINDOW, 2)]


def test_prefixes_go_with_their_lines():
    lines = [b"a\n", b"b\n", b"c\n"]
    assert list(translate_stream(Shouting(), lines, 2, iter(["x ", "", "z "]))) == ["x A", "B", "z C"]
    for prefixes, complaint in (
        (
            ["x ", "y "],
            "standard input and prefixes, line 3: there is a sentence and no prefix; give one for each line",
        ),
        (
            ["x ", "y ", "", ""],
            "standard input and prefixes, line 4: there is a prefix and no sentence; give one for each line",
        ),
    ):
        translations = translate_stream(Shouting(), lines, 2, iter(prefixes))
        assert [next(translations), next(translations)] == ["x A", "y B"]
        with pytest.raises(UserError) as caught:
            list(translations)
        assert str(caught.value) == complaint


def test_bytes_that_are_not_utf_8_are_named_after_all_lines_before_are_translated():
    translations = translate_stream(Shouting(), [b"a\n", b"b\n", b"b\xe9\n", b"a\n"], 1)
    assert [next(translations), next(translations)] == ["A", "B"]
    with pytest.raises(UserError) as caught:
        next(translations)
    assert str(caught.value).startswith("standard input, line 3: not UTF-8 (byte 0xe9 at byte 2 of the line)")


def test_long_lines_are_cut_with_a_warning(logged):
    model = Shouting()
    lines = [b"a b a b a\n", b"a b a b a b\n", b"abababababab\n", b"x" * 1_000_000 + b"\n", b"a " * 500_000 + b"\n"]
    assert len(list(translate_stream(model, lines, 1))) == 5
    *warnings, unknown = logged()
    assert warnings == [f"standard input, line {i}: too long, only its first 5 tokens are read" for i in (2, 4, 5)]
    assert unknown.endswith(f"such as abababababab {'x' * 30}")
    ((texts, *_),) = model.calls
    assert max(map(len, texts)) < 1000, "no million characters are kept"


def test_a_line_with_more_tokens_than_characters_is_told_when_it_is_cut(logged):
    """U+2ADC is two characters in NFC."""
    model = Shouting()
    model.ensemble.source_tokenizer = WordTokenizer(["a"], split_punctuation=True)
    assert int(model.ensemble.source_tokenizer.encode(["\u2adc" * 3]).row_lengths()[0]) == 6
    list(translate_stream(model, ["\u2adc\u2adc\u2adc\n".encode(), "\u2adc\u2adc\n".encode()], 1))
    assert logged()[:-1] == ["standard input, line 1: too long, only its first 5 tokens are read"]


def test_tokens_are_told_without_what_a_terminal_obeys(logged):
    log_unknown(WordTokenizer(["a"]), ["a \x1b[31mdog \0 b\u200b"])
    assert logged()[0].endswith("such as \ufffd[31mdog \ufffd b\ufffd")


def test_tokens_that_the_model_does_not_know_are_told_in_the_end(logged):
    lines = [b"a b\n", b"a cat b\n", b"a cat\n", b"\n", b"six new words\n", b"c d e\n"] * 2
    assert len(list(translate_stream(Shouting(), lines, 1))) == 12
    told = "not in the model's vocabulary, so read as <unk>: 16 of 26 tokens, such as cat six new words c"
    assert logged() == [told]
    assert len(translated([b"a b a\n", b"\n"])) == 2
    assert logged() == []


def test_a_line_of_as_many_characters_as_tokens_are_read_may_have_one_token_more():
    """The mark of a word's beginning may be a token of its own."""
    tokenizer = SubwordTokenizer.train(iter(SOURCES + TARGETS), 120)
    text = "nnnnn"
    assert int(tokenizer.encode([text]).row_lengths()[0]) == 6
    assert truncated(text, tokenizer, 5) == (text, True)
    assert truncated(text, tokenizer, 6) == (text, False)


def test_a_window_has_as_many_batches_as_are_asked_for():
    lines = (b"a\n" for _ in range(7))
    assert [len(texts) for texts, _ in windows(Shouting(), lines, 2, batches=2)] == [4, 3]
