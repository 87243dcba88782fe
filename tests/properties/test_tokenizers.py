"""What holds for any text, and for any ids."""

import re
import unicodedata

import pytest
import sentencepiece
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfnmt.text.tokenizer import END, PADDING, START, UNKNOWN
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer

ALPHABET = "abcdeäßéΩ1.,'\" "
LINES = ["abc bad dace, bead 11.", "cab äßé 'bed' Ωa", 'abba "ace" d.e,c 1,1', "dad bäd faß éé"]
# Letters put together may change with the version of Unicode, but not those that were assigned in the older one.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cn"])
TEXTS = st.lists(st.text(CHARACTERS | st.sampled_from(ALPHABET), max_size=30), min_size=1, max_size=4)
KINDS = {
    "subword": lambda: SubwordTokenizer.train(LINES, 28),
    "subword, lowercase": lambda: SubwordTokenizer.train(LINES, 40, "bpe", lowercase=True),
    "word": lambda: WordTokenizer.train(LINES),
    "word, punctuation split": lambda: WordTokenizer.train(LINES, lowercase=True, split_punctuation=True),
}


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def subwords():
    return KINDS["subword"]()


@pytest.fixture(scope="module")
def words():
    return KINDS["word"]()


def strings(texts):
    return tf.constant([text.encode() for text in texts], tf.string)


def text_of(tensor):
    return [text.decode("utf-8") for text in tensor.numpy()]


def composed(text):
    return unicodedata.normalize("NFC", text)


@given(texts=TEXTS)
def test_ids_are_those_of_text(tokenizer, texts):
    """Whatever a text says, none of its tokens is padding, a start or an end; and each has a piece of the text."""
    ids, forms = tokenizer.encode(strings(texts)), tokenizer.surface_forms(strings(texts))
    assert not set(ids.flat_values.numpy()) & {PADDING, START, END}
    assert all(0 <= i < tokenizer.vocabulary_size for i in ids.flat_values.numpy())
    assert ids.row_lengths().numpy().tolist() == forms.row_lengths().numpy().tolist()
    for text, pieces in zip(texts, forms, strict=True):
        whole = "".join(text_of(pieces))
        if not tokenizer.lowercase:
            assert re.sub(r"\s", "", whole) == re.sub(r"\s", "", composed(text))


@given(texts=TEXTS)
def test_a_text_alone_and_among_others(tokenizer, texts):
    together = tokenizer.encode(strings(texts)).to_list()
    assert together == [tokenizer.encode(strings([text])).to_list()[0] for text in texts]


@given(texts=TEXTS)
def test_words_are_those_of_python(words, texts):
    ids = {word: i for i, word in enumerate(words.vocabulary(), start=4)}
    expected = [[ids.get(word, UNKNOWN) for word in re.split("[ \t\n\v\f\r]+", composed(t)) if word] for t in texts]
    assert words.encode(strings(texts)).to_list() == expected


@given(texts=TEXTS)
def test_subwords_are_those_of_sentencepiece(subwords, texts):
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    assert subwords.encode(strings(texts)).to_list() == processor.encode([composed(text) for text in texts])


@given(texts=st.lists(st.text(ALPHABET), min_size=1, max_size=4))
def test_text_of_known_characters_comes_back(subwords, texts):
    found = text_of(subwords.decode(subwords.encode(strings(texts))))
    assert found == [" ".join(composed(text).split()) for text in texts]


@given(data=st.data())
def test_known_words_come_back(words, data):
    known = st.lists(st.sampled_from(words.vocabulary()), max_size=6).map(" ".join)
    texts = data.draw(st.lists(known, min_size=1, max_size=4))
    assert text_of(words.decode(words.encode(strings(texts)))) == texts


@given(rows=st.lists(st.lists(st.integers(-3, 60) | st.integers(-(2**31), 2**31 - 1), max_size=8), min_size=1))
def test_any_ids_are_text(tokenizer, rows):
    """That of the tokens before the first END, with those that there are not as unknown."""

    def cleaned(row):
        row = row[: row.index(END)] if END in row else row
        row = [i if 0 <= i < tokenizer.vocabulary_size else UNKNOWN for i in row]
        return [i for i in row if i not in (PADDING, START)]

    found = text_of(tokenizer.decode(tf.ragged.constant(rows, tf.int32, ragged_rank=1)))
    expected = tokenizer.decode(tf.ragged.constant([cleaned(row) for row in rows], tf.int32, ragged_rank=1))
    assert found == text_of(expected)


@given(lines=TEXTS, lowercase=st.booleans(), split=st.booleans())
def test_a_vocabulary_of_any_words_is_the_same_from_its_file(lines, lowercase, split):
    made = WordTokenizer.train(["a", *lines], lowercase=lowercase, split_punctuation=split)
    again = WordTokenizer.from_asset(made.asset(), made.options())
    assert again.get_config() == made.get_config()
    assert again.encode(strings(lines)).to_list() == made.encode(strings(lines)).to_list()
