"""Shortlists: the table of translations, the words of a batch, and searching among them."""

import zipfile

import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_searcher import SOURCES, TEXTS, made, texts_of
from tfnmt.errors import UserError
from tfnmt.search.step import NEG_INF
from tfnmt.text.tokenizers import END, PADDING, START, WordTokenizer
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import SPECIAL, Shortlist, load_shortlist


@pytest.fixture(scope="module")
def model():
    return made(seed=2, bias={PADDING: -1000.0, START: -1000.0})  # as trained ones have learnt


def sizes(model):
    return model.source_tokenizer.vocabulary_size, model.target_tokenizer.vocabulary_size


def some_words(model, seed=3):
    """Three random translations of each word."""
    source, target = sizes(model)
    return Shortlist(np.random.default_rng(seed).integers(4, target, [source, 3]), [7, 5], target)


def test_words_of_a_batch():
    shortlist = Shortlist([[0, 0]] * 4 + [[9, 6], [8, 9], [7, 0]], [5], 12)
    source = tf.constant([[4, 5, END], [6, END, PADDING]])
    words, penalties, places = shortlist.candidates(source, banned=[PADDING, 6])
    np.testing.assert_array_equal(words, [*SPECIAL, 5, 6, 7, 8, 9] + [PADDING] * 23)
    np.testing.assert_array_equal(tf.gather(places, words[:9]), range(9))
    own = [[0, 1, 1, 1, 1, 0, 0, 1, 1], [0, 1, 1, 1, 1, 0, 1, 0, 0]]
    np.testing.assert_array_equal(penalties[:, :9], np.where(own, 0, NEG_INF).astype(np.float32))
    assert (penalties[:, 9:].numpy() == np.float32(NEG_INF)).all()
    with_prefix = shortlist.candidates(source, [PADDING], prefix=tf.constant([[11, 0], [0, 0]]))
    assert with_prefix.words[9] == 11
    np.testing.assert_array_equal(with_prefix.penalties[:, 9], [0, np.float32(NEG_INF)])
    assert (with_prefix.penalties[:, 0].numpy() == np.float32(NEG_INF)).all()  # a prefix's padding is no word
    np.testing.assert_array_equal(with_prefix.positions(tf.constant([[0, 3], [11, 5]])), [[0, 3], [9, 4]])


@pytest.mark.parametrize("options", [{"method": "greedy"}, {"beam_size": 4, "n_best": 2, "no_repeat_ngram": 2}])
def test_a_list_of_all_words_changes_nothing(model, options):
    source, target = sizes(model)
    shortlist = Shortlist(np.zeros([source, 1]), np.arange(4, target), target)
    configuration = SearchConfiguration(minimum_length=3, **options)
    exact = Searcher(model, configuration).translate(TEXTS)
    short = Searcher(model, configuration, shortlist).translate(TEXTS)
    assert texts_of(short) == texts_of(exact)
    for one, other in zip(short, exact, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"beam_size": 3}, {"beam_size": 3, "precision": "int8"}, {"method": "sample"}], ids=str
)
def test_a_translation_uses_the_list_of_its_own_sentence_in_any_batch(model, options):
    shortlist = some_words(model)
    limits = {"maximum_length_factor": 1.0, "maximum_length_offset": 0}
    configuration = SearchConfiguration(**options, **limits)
    searcher = Searcher(model, configuration, shortlist)
    expected = searcher.translate(TEXTS)
    for batch_size in (1, 7):
        assert texts_of(searcher.translate(TEXTS, batch_size)) == texts_of(expected)
    for text, found in zip(TEXTS, expected, strict=True):
        source = model.source_tokenizer.encode([text]).to_list()[0]
        own = {*shortlist.translations.numpy()[[*source, END]].ravel(), 7, 5, *SPECIAL}
        assert set(found.ids.ravel()) <= own
    assert texts_of(expected) != texts_of(Searcher(model, configuration).translate(TEXTS))


def test_a_prefix_may_have_other_words(model):
    searcher = Searcher(model, SearchConfiguration(beam_size=2), some_words(model))
    words = [model.target_tokenizer.decode([[i]]).numpy()[0].decode() for i in range(4, 12)]
    found = searcher.translate(SOURCES[:8], 8, words)
    for one, word in zip(found, words, strict=True):
        assert one.texts[0].decode().split()[0] == word
        assert one.scores[0] > NEG_INF


def test_a_banned_word_in_a_prefix_has_its_own_probability_and_is_not_written_after_it(model):
    word = model.target_tokenizer.vocabulary()[0]
    configuration = SearchConfiguration(beam_size=2, banned_words=(word,), minimum_length=4)
    (found,) = Searcher(model, configuration, some_words(model)).translate(SOURCES[:1], prefixes=[f"{word} {word}"])
    words = found.texts[0].decode().split()
    assert words[:2] == [word, word] and word not in words[2:] and len(words) >= 4
    assert found.log_probabilities[0] > NEG_INF / 2


def test_saved_and_loaded(model, tmp_path):
    shortlist = some_words(model)
    shortlist.save(tmp_path / "short.npz")
    again = load_shortlist(tmp_path / "short.npz")
    np.testing.assert_array_equal(again.translations, shortlist.translations)
    np.testing.assert_array_equal(again.frequent, [7, 5])
    with pytest.raises(UserError, match="none.npz: No such file"):
        load_shortlist(tmp_path / "none.npz")
    (tmp_path / "text").write_text("no shortlist")
    with pytest.raises(UserError, match="text: is not a shortlist"):
        load_shortlist(tmp_path / "text")
    other = Shortlist(np.zeros([5, 1]), [4], 9)
    with pytest.raises(UserError, match="of vocabularies of 5 and 9 words, the model's have"):
        Searcher(model, shortlist=other)


def test_a_shortlist_of_another_model_is_refused_though_the_sizes_agree(model, tmp_path):
    """By the digests of the tokenizers; a file without them, as older ones are, is known by the sizes alone."""
    source, target = sizes(model)
    words = model.target_tokenizer.vocabulary()
    others = model.source_tokenizer, WordTokenizer([*words[1:], words[0]])
    translations = np.zeros([source, 1])
    for name, tokenizers in (("own", model.tokenizers), ("other", others)):
        digests = [tokenizer.digest() for tokenizer in tokenizers]
        Shortlist(translations, [4], target, digests).save(tmp_path / name)
    Shortlist(translations, [4], target).save(tmp_path / "older")
    for name in ("own", "older"):
        Searcher(model, shortlist=load_shortlist(tmp_path / name))
    with pytest.raises(UserError, match="the shortlist is of another target vocabulary than the model's; make one for"):
        Searcher(model, shortlist=load_shortlist(tmp_path / "other"))


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"digests": ["a"]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"digests": [1, 2]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"translations": [[3], [12]]}, "translations has ids from 3 to 12; allowed is 0 to 11"),
        ({"frequent": [-1, 5]}, "frequent has ids from -1 to 5; allowed is 0 to 11"),
        ({"translations": [3, 4]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"frequent": [1.5]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"frequent": ["a"]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"target_vocabulary_size": [12]}, "is not a shortlist; tfnmt make-shortlist makes one"),
        ({"target_vocabulary_size": 1 << 31}, "is not a shortlist; tfnmt make-shortlist makes one"),
    ],
)
def test_what_is_no_shortlist(change, complaint, tmp_path):
    arrays = {"translations": [[3], [4]], "frequent": [5], "target_vocabulary_size": 12} | change
    np.savez(tmp_path / "short.npz", **arrays)
    with pytest.raises(UserError) as caught:
        load_shortlist(tmp_path / "short.npz")
    assert str(caught.value) == f"{tmp_path / 'short.npz'}: {complaint}"


def test_a_broken_file_is_no_shortlist(model, tmp_path):
    path = tmp_path / "short.npz"
    some_words(model).save(path)
    content = path.read_bytes()
    for broken in (b"", content[:100], content[: len(content) // 2], content[:60] + bytes(20) + content[80:]):
        path.write_bytes(broken)
        with pytest.raises(UserError, match="short.npz: is not a shortlist"):
            load_shortlist(path)


@pytest.mark.parametrize("place, value", [(6, 255), (8, 1), (8, 0x20), (10, 99), (10, 14)])
def test_an_archive_that_zipfile_cannot_read_is_no_shortlist(model, place, value, tmp_path):
    """By its directory the first file needs a newer version, is encrypted, a patch, or of another compression."""
    path = tmp_path / "short.npz"
    some_words(model).save(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + place] = value
    path.write_bytes(content)
    with pytest.raises(UserError, match="short.npz: is not a shortlist; tfnmt make-shortlist"):
        load_shortlist(path)


def test_an_array_that_declares_more_than_it_holds_is_no_shortlist(tmp_path):
    np.savez(tmp_path / "short.npz", frequent=[5], target_vocabulary_size=12)
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000, 1000000)}\n"
    with zipfile.ZipFile(tmp_path / "short.npz", "a") as archive:
        archive.writestr("translations.npy", b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(UserError, match="short.npz: is not a shortlist; tfnmt make-shortlist"):
        load_shortlist(tmp_path / "short.npz")


@pytest.mark.parametrize("dtype", [">i4", "u8", "i1"])
def test_integers_of_any_kind(dtype, tmp_path):
    arrays = {"translations": np.array([[3], [4]], dtype), "frequent": np.array([5], dtype)}
    np.savez(tmp_path / "short.npz", **arrays, target_vocabulary_size=12)
    np.testing.assert_array_equal(load_shortlist(tmp_path / "short.npz").translations, [[3], [4]])


@pytest.mark.slow
@pytest.mark.parametrize("with_shortlist", [False, True])
def test_products_in_bfloat16_are_near(model, with_shortlist):
    shortlist = some_words(model) if with_shortlist else None
    exact, rounded = (
        Searcher(model, SearchConfiguration(method="greedy", precision=precision), shortlist).translate(SOURCES[:8])
        for precision in ("float32", "bfloat16")
    )
    first = [(one.log_probabilities[0] / one.lengths[0], other.log_probabilities[0] / other.lengths[0])
             for one, other in zip(exact, rounded, strict=True)]  # fmt: skip
    np.testing.assert_allclose(*zip(*first, strict=True), atol=0.3)
    assert any(one != other for one, other in first)
