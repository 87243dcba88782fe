"""Summary vectors and attention of a small translator, and how near to one another groups of vectors are."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from tests.extents import lie_within
from tfnmt.errors import UserError
from tfnmt.inspection.attention import _words, attention_matrices, draw_attention
from tfnmt.inspection.figures import figure_image
from tfnmt.inspection.summary_vectors import (
    PARAPHRASES,
    draw_summary_vectors,
    group_figures,
    principal_components,
    read_groups,
    summary_vectors,
)
from tfnmt.text.tokenizers import END, START, WordTokenizer
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.translator import Translator

TOKENIZER = WordTokenizer(["a", "b", "c"])
SIZES = {"source_embedding_size": 4, "target_embedding_size": 4, "encoder_units": 4, "decoder_units": 6}


def model_of(**options):
    return Translator(TranslatorConfiguration(**SIZES | options), TOKENIZER, TOKENIZER)


def test_principal_components_of_points_on_a_line():
    vectors = np.array([[0.0, 0, 5], [3, 4, 5], [6, 8, 5], [9, 12, 5]])
    projected, explained = principal_components(vectors)
    assert explained == pytest.approx([1, 0], abs=1e-12)
    assert abs(projected[:, 0]) == pytest.approx([7.5, 2.5, 2.5, 7.5])


def test_principal_components_keep_distances_where_all_are_kept():
    vectors = np.random.default_rng(1).normal(size=(6, 3))
    projected, explained = principal_components(vectors, 3)
    np.testing.assert_allclose(np.linalg.norm(projected[0] - projected[4]), np.linalg.norm(vectors[0] - vectors[4]))
    assert explained.sum() == pytest.approx(1) and (np.diff(explained) <= 0).all()


def test_vectors_that_are_all_equal_have_no_components():
    vector = np.random.default_rng(1).normal(size=8).astype(np.float32)
    for count in range(2, 10):  # of some, the mean is not quite the vector
        with pytest.raises(UserError, match="all sentences are the same to the model"):
            principal_components(np.tile(vector, (count, 1)))
    assert group_figures(np.ones([4, 3]), [0, 0, 1, 1])["silhouette"] == 0


def test_groups_that_lie_apart():
    figures = group_figures(np.array([[0.0], [1], [10], [11]]), [0, 0, 1, 1])
    assert (figures["mean_rank"], figures["best_rank"], figures["chance_rank"]) == (1, 1, 2)
    assert figures["nearest_in_group"] == 1 and figures["chance_nearest"] == pytest.approx(1 / 3)
    # a = 1; b = 10.5 for the outer points and 9.5 for the inner ones.
    assert figures["silhouette"] == pytest.approx((9.5 / 10.5 + 8.5 / 9.5) / 2)


def test_groups_that_lie_in_each_other():
    figures = group_figures(np.array([[0.0], [10], [1], [11]]), [0, 0, 1, 1])
    assert figures["mean_rank"] == 2.5  # from 0, 10 is second to 1; from 10, 0 is third to 11 and 1
    assert figures["nearest_in_group"] == 0 and figures["silhouette"] < 0


def test_groups_by_lot_have_the_rank_of_chance():
    random = np.random.default_rng(1)
    figures = group_figures(random.normal(size=(120, 8)), np.arange(120) % 30)
    assert figures["mean_rank"] == pytest.approx(figures["chance_rank"], rel=0.1)
    assert figures["silhouette"] < 0  # of 29 other groups, one is nearer by chance


def test_summaries_are_the_encoders_in_the_order_of_the_texts():
    model, texts = model_of(), ["a b", "c", "b c a a", "a"]
    vectors = summary_vectors(model, texts, batch_size=3)
    assert vectors.shape == (4, 8)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(summary_vectors(model, [text])[0], vector, atol=1e-6)


def test_groups_are_read_from_a_file(tmp_path):
    path = tmp_path / "groups.txt"
    path.write_text("\na b\nb a\n\n \nc\n c c\n \nd\ne\n", encoding="utf-8")
    assert read_groups(path) == (("a b", "b a"), ("c", "c c"), ("d", "e"))
    for text in ("", "a\nb\n", "a\nb\n\nc\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match="holds no two groups of two sentences or more"):
            read_groups(path)


def test_the_figure_of_summaries_says_how_much_it_shows():
    count = sum(len(group) for group in PARAPHRASES)
    figure = draw_summary_vectors(np.arange(2.0 * count).reshape(count, 2), [0.5, 0.25], PARAPHRASES)
    assert figure.axes[0].get_xlabel() == "first principal component (50% of the variance)"
    assert len(figure.axes[0].collections) == len(PARAPHRASES)


def test_points_are_those_of_the_sentences_of_their_group():
    projected = np.random.default_rng(1).normal(size=(5, 2))
    figure = draw_summary_vectors(projected, [0.5, 0.25], [("a", "b"), ("c", "d", "e")])
    first, second = (points.get_offsets() for points in figure.axes[0].collections)
    np.testing.assert_array_equal(np.concatenate([first, second]), projected)
    assert len(first) == 2


def test_nine_groups_can_be_told_apart():
    groups = [(f"_{i} a", f"_{i} b") for i in range(9)]
    figure = draw_summary_vectors(np.arange(36.0).reshape(18, 2), [0.5, 0.25], groups)
    points = figure.axes[0].collections
    assert len({(*each.get_facecolor()[0], each.get_paths()[0].vertices.tobytes()) for each in points}) == 9
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [first for first, _ in groups]


@pytest.mark.parametrize("letters", [65, 66, 300])
def test_long_sentences_in_the_legend_of_summaries_fit(letters):
    groups = [((50 * "a woman is cooking food , ")[:letters], "b")] * 80
    figure = draw_summary_vectors(np.arange(320.0).reshape(160, 2), [0.5, 0.25], groups)
    assert lie_within(figure, figure.legends)


def test_figures_of_earlier_epochs_are_freed():
    """Even while Python does not collect by itself."""
    gc.collect()
    gc.disable()
    try:
        images = [figure_image(draw_attention([(["a", "b"], ["c"], np.array([[0.3, 0.7]]))])) for _ in range(4)]
        alive = sum(type(thing) is Figure for thing in gc.get_objects())
    finally:
        gc.enable()
    assert alive <= 1
    assert all(np.array_equal(image, images[0]) and image.shape[-1] == 4 for image in images)


def test_attention_has_a_row_for_each_word_written(monkeypatch):
    """And its search is traced once, though TensorBoard asks for it after every epoch."""
    find, traced = Searcher.find, []
    monkeypatch.setattr(Searcher, "find", lambda self, *texts: traced.append(self) or find(self, *texts))
    texts, model = ["a b c", "b"], model_of()
    for _ in range(2):
        matrices = attention_matrices(model, texts, beam_size=2)
    assert len(traced) == 1
    for text, (source, target, alpha) in zip(texts, matrices, strict=True):
        assert source == [*text.split(), "</s>"]
        assert alpha.shape == (len(target), len(source))
        np.testing.assert_allclose(alpha.sum(axis=1), 1, rtol=1e-5)
    figure = draw_attention(matrices)
    source, target, alpha = matrices[0]
    _, _, of_first_word = model.decoder.step(
        tf.constant([START]), *model.decoder.start(model.encoder(model.source_ids(texts[:1])))
    )
    np.testing.assert_allclose(alpha[:1], of_first_word, rtol=1e-5)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == source
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == target
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), alpha)


def test_subwords_stand_without_the_mark_of_a_blank():
    tokens = ["▁two", "some", "▁", "</s>"]
    tokenizer = SimpleNamespace(ids_to_tokens=lambda ids: tf.gather(tokens, ids))
    assert _words(tokenizer, [0, 1, 2, 3]) == ["two", "some", "▁", "</s>"]


LONG_WORD = "Rechtsschutzversicherungsgesellschaften"


@pytest.mark.parametrize(
    "pairs",
    [
        [("Geschwindigkeitsbegrenzung . </s>", "speed limit .")],
        [(f"{LONG_WORD} helfen . </s>", "insurance companies help .")],
        [("insurance companies help . </s>", f"{2 * LONG_WORD} helfen .")],
        [(f"{LONG_WORD} </s>", LONG_WORD)],
        [(f"ein {LONG_WORD} . </s>", "a"), ("a man in blue . </s>", f"ein {LONG_WORD} in Blau .")],
    ],
)
def test_long_words_beside_attention_are_seen_whole(pairs):
    words = [(source.split(), target.split()) for source, target in pairs]
    figure = draw_attention([(s, t, np.full((len(t), len(s)), 1 / len(s))) for s, t in words])
    labels = [label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    assert lie_within(figure, labels)  # and Matplotlib does not warn that there is no room for the axes


def test_no_attention_is_said_in_one_line():
    with pytest.raises(UserError, match="for a model without attention"):
        attention_matrices(model_of(attention="none", conditional=False), ["a"])
    with pytest.raises(UserError, match="a sentence is empty"):
        attention_matrices(model_of(), ["a", " "])


def test_even_what_would_end_at_once_has_a_word():
    model = model_of()
    model.decoder.b.assign(100.0 * tf.one_hot(END, 7))
    ((_, target, alpha),) = attention_matrices(model, ["a b"])
    assert len(target) == len(alpha) == 1
