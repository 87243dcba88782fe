"""One sentence through an encoder–decoder: the numbers drawn are the model's; and the TreeLSTM's picture."""

import numpy as np
import pytest

import tfnmt
from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.figures.translation_steps import SENTENCE, draw_next_word, draw_words, walk
from tfnmt_programs.figures.tree_lstm_picture import draw_tree_lstm, example, gates_by_hand


@pytest.fixture(scope="module")
def model():
    return tfnmt.load("sample-en-de-summary", "translator")


def test_scores_are_dot_products_of_words_and_states(model):
    found = walk(model)
    expected = found.z @ found.w.T + model.decoder.b.numpy()
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    np.testing.assert_allclose(found.p.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(found.h[-1], model.encoder(model.source_ids([SENTENCE]))["summary"][0])
    assert found.source == ["The", "small", "dog", "sees", "a", "red", "ball", ".", "</s>"]
    assert len(found.target) == len(found.z) == len(found.u)


def test_one_hot_words_are_equidistant_and_their_vectors_are_not(model):
    _, spread = draw_words(walk(model))
    assert spread["1-of-K"] == 0 and spread["E w_i"] > 0.1


def test_draws_are_as_frequent_as_they_are_probable(model):
    _, shown = draw_next_word(walk(model), step=1)
    assert shown["sum of p"] == pytest.approx(1, abs=1e-5) and shown["drawn"] == pytest.approx(shown["p"], abs=0.06)


def test_the_command_draws_three_pictures(tmp_path):
    printed = call("translation-steps", "--output", tmp_path, "--step", 1)
    assert {path.name for path in tmp_path.iterdir()} == {"encoder_decoder.png", "words.png", "next_word.png"}
    assert printed.startswith("The small dog sees a red ball . </s> -> ")


@pytest.mark.parametrize(
    "options, complaint",
    [(["--step", 99], r"^--step 99: the translation has \d+ words"), (["--sentence", ""], "no words")],
)
def test_what_cannot_be_drawn_is_told(options, complaint, tmp_path):
    with pytest.raises(UserError, match=complaint):
        call("translation-steps", "--output", tmp_path, *options)


def test_only_the_posts_form_is_drawn():
    from tests.translation.test_searcher import made

    post = {"attention": "none", "deep_output": False}
    others = [{"attention": "additive", "conditional": True}, {"deep_output": True}, {"bidirectional": True}]
    others += [{"cell": "lstm"}, {"encoder_layers": 2}, {"decoder_layers": 2}]
    for option in others:
        with pytest.raises(UserError, match=f"{next(iter(option))}=.*, as in the post"):
            walk(made(**post | option))


def test_a_sentence_without_words_is_refused(model):
    with pytest.raises(UserError, match="^--sentence ' ': has no words$"):
        walk(model, " ")


def test_the_gates_of_the_picture_are_the_layers():
    compose, h, c, e = example()
    by_layer, _ = compose((h[np.newaxis], c[np.newaxis]), e[np.newaxis])
    np.testing.assert_allclose(gates_by_hand(compose, h, c, e)["h"], by_layer[0], atol=1e-6)


def test_c_and_h_can_be_computed_from_the_numbers_of_the_tree_lstms_picture():
    figure, _ = draw_tree_lstm()
    drawn = {
        axes.get_title(): np.array([float(text.get_text().replace("−", "-")) for text in axes.texts])
        for axes in figure.axes
    }
    c = drawn["tanh(g)"] * drawn["σ(i)"] + drawn["σ(f_l)"] * drawn["c_l"] + drawn["σ(f_r)"] * drawn["c_r"]
    np.testing.assert_allclose(drawn["c = tanh(g) ⊙ σ(i) + σ(f_l) ⊙ c_l + σ(f_r) ⊙ c_r"], c, atol=0.02)
    np.testing.assert_allclose(drawn["h = σ(o) ⊙ tanh(c)"], drawn["σ(o)"] * np.tanh(c), atol=0.02)
