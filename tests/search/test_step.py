"""Functions that change a step: what is found with them, against all sequences that they allow."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel, check_same, in_numpy, words_of
from tfnmt.errors import UserError
from tfnmt.search.beam import BeamConfiguration, beam_search
from tfnmt.search.greedy import SampleConfiguration, greedy_search, sample
from tfnmt.search.step import NEVER, UNLIKELY, after_prefix, at_least, ensemble, without, without_repetition

LENGTHS = [4, 3, 4]
ALL = 121  # results of 4 words at most
KEYS = tf.range(3)


def searches(step, states, lengths=LENGTHS, memory=KEYS):
    """What a beam as wide as the space finds, one of two, greedy search, and sampling."""
    arguments = (step, states, memory, START, END, tf.constant(lengths, tf.int32))
    results = (
        beam_search(*arguments, BeamConfiguration(beam_size=ALL, length_penalty=0.0)),
        beam_search(*arguments, BeamConfiguration(beam_size=2)),
        greedy_search(*arguments),
        sample(*arguments, SampleConfiguration(temperature=2.0), 1, tf.range(len(lengths))),
    )
    return [in_numpy(found) for found in results]


def check_allowed(model, results, allowed, lengths=LENGTHS):
    """`allowed(sentence, words)` holds of all results, and the widest beam finds all of which it holds, best first."""
    for found in results:
        model.check_notes(found, range(3))
        for place, n in np.ndindex(*found.lengths.shape):
            assert allowed(place, words_of(found, place, n)) or found.scores[place, n] == NEVER
    for place, length in enumerate(lengths):
        expected = model.all_results(place, length, allowed=lambda words, place=place: allowed(place, words))
        found = results[0]
        assert [words_of(found, place, n) for n in range(len(expected))] == [words for _, words in expected]
        scores = found.scores[place]
        np.testing.assert_allclose(scores[: len(expected)], [score for score, _ in expected], rtol=1e-5)
        assert (scores[len(expected) :] == NEVER).all()


@pytest.mark.parametrize("banned", [[], [3], [0, 3, 3]], ids=str)
def test_banned_words(banned):
    model = FakeModel(1)
    results = searches(without(model.step, banned), model.states(KEYS))
    check_allowed(model, results, lambda place, words: not set(banned) & set(words))


def test_end_itself_banned():
    model = FakeModel(1)
    results = searches(without(model.step, [END]), model.states(KEYS))
    check_allowed(model, results, lambda place, words: len(words) == LENGTHS[place])


def test_all_words_banned():
    model = FakeModel(1)
    for found in searches(without(model.step, [0, 1, 2, 3]), model.states(KEYS), [4, 1, 0]):
        assert found.scores[:, 0].tolist() == [NEVER, NEVER, 0]


def test_minimum_lengths():
    """Where a maximum length is less, that holds."""
    model, least = FakeModel(2, sharpness=2.0), [2, 7, 0]
    results = searches(*at_least(model.step, model.states(KEYS), tf.constant(least), END))
    check_allowed(model, results, lambda place, words: len(words) >= min(least[place], LENGTHS[place]))


@pytest.mark.parametrize("width", [0, 3, 6])
def test_prefixes(width):
    """Also none, and one longer than the maximum length, which is cut."""
    model = FakeModel(3)
    prefixes = [[3], [1, 3, 3, 1, 1, 1], []] if width == 6 else [[3, 1, 3], [], [1]] if width else [[], [], []]
    padded = tf.constant([prefix + [0] * (width - len(prefix)) for prefix in prefixes], tf.int32, [3, width])
    results = searches(*after_prefix(model.step, model.states(KEYS), padded))

    def allowed(place, words):
        prefix = tuple(prefixes[place][: LENGTHS[place]])
        return words[: len(prefix)] == prefix

    check_allowed(model, results, allowed)


@pytest.mark.parametrize("impossible", [NEVER, -np.inf])
def test_a_prefix_comes_before_what_must_not_be_chosen(impossible):
    model = FakeModel(4)
    model.log_p[..., 1] = impossible
    prefix = tf.constant([[1, 3], [3, 1], [0, 0]])
    for found in searches(*after_prefix(model.step, model.states(KEYS), prefix)):
        assert words_of(found, 0)[:2] == (1, 3)
        assert words_of(found, 1)[:2] == (3, 1)
        assert 1 not in words_of(found, 2) + words_of(found, 0)[1:] + words_of(found, 1)[2:]
        assert (found.log_probabilities[:2, 0] < UNLIKELY).all()
        assert (found.log_probabilities[:2, 0] > 1.5 * UNLIKELY).all()


def repeats(words, n):
    runs = [words[i : i + n] for i in range(len(words) - n + 1)]
    return len(set(runs)) < len(runs)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_no_repetition(n):
    """The start word stands in no run, though a model may write it itself."""
    model = FakeModel(5)
    model.log_p[..., END] -= 2.0  # so that results are long
    results = searches(*without_repetition(model.step, model.states(KEYS), n, tf.constant(LENGTHS)))
    check_allowed(model, results, lambda place, words: not repeats(words, n))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_repetition_in_long_results(n):
    model, lengths = FakeModel(6, vocabulary_size=8), tf.constant([15, 5, 8])
    model.log_p[..., END] = -50.0
    step, states = without_repetition(model.step, model.states(KEYS), n, lengths)
    for found in searches(step, states, lengths)[1:]:
        assert found.lengths[0, 0] == (7 if n == 1 else 15)
        assert not any(repeats(words_of(found, place, m), n) for place, m in np.ndindex(*found.lengths.shape))


def test_no_repetition_of_nothing():
    with pytest.raises(UserError, match="n=0: allowed is"):
        without_repetition(FakeModel(6).step, (), 0, tf.constant(LENGTHS))


def everything(step, states, lengths, prefix):
    """All constraints at once."""
    step, states = without_repetition(without(step, [0]), states, 2, lengths)
    step, states = at_least(step, states, tf.ones_like(lengths) * 3, END)
    return after_prefix(step, states, prefix)


def test_all_constraints_at_once():
    model, prefix = FakeModel(7), tf.constant([[3], [1], [0]])
    results = searches(*everything(model.step, model.states(KEYS), tf.constant(LENGTHS), prefix))

    def allowed(place, words):
        first = prefix.numpy()[place, 0]
        return first in (0, *words[:1]) and len(words) >= 3 and 0 not in words and not repeats(words, 2)

    check_allowed(model, results, allowed)


def test_constraints_on_an_empty_batch():
    model, none = FakeModel(8), tf.zeros([0], tf.int32)
    for found in searches(*everything(model.step, model.states(none), none, tf.zeros([0, 2], tf.int32)), none, none):
        assert found.ids.shape[0] == found.scores.shape[0] == 0


def of_attention(model):
    """The model's step, noting the attention only."""

    def step(ids, states, memory):
        log_probabilities, states, notes = model.step(ids, states, memory)
        return log_probabilities, states, (notes["attention"],)

    return step


def test_an_ensemble_of_two_models():
    """It is the model whose probabilities and attention are the means of theirs."""
    models, mean = [FakeModel(9), FakeModel(10)], FakeModel(11)
    mean.log_p = np.log(np.mean([np.exp(model.log_p) for model in models], axis=0))
    mean.attention = np.mean([model.attention for model in models], axis=0)
    together = ensemble([of_attention(model) for model in models])
    found = searches(together, tuple(model.states(KEYS) for model in models), memory=(KEYS, KEYS))
    for ours, theirs in zip(found, searches(of_attention(mean), mean.states(KEYS)), strict=True):
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5)
        np.testing.assert_allclose(ours.notes[0], theirs.notes[0], rtol=1e-5)


def test_an_ensemble_of_one_model_twice_is_that_model():
    model = FakeModel(12)
    model.log_p[..., 0] = NEVER
    model.log_p[..., 1] = -np.inf
    states = model.states(KEYS)
    found = searches(ensemble([of_attention(model)] * 2), (states, states), memory=(KEYS, KEYS))
    for ours, theirs in zip(found, searches(of_attention(model), states), strict=True):
        check_same(ours, theirs, range(3), rtol=1e-5)


def test_an_ensemble_without_notes():
    def step(ids, states, memory):
        return tf.math.log(tf.fill([tf.size(ids), 4], 0.25)), states, ()

    log_probabilities, states, notes = ensemble([step, step, step])(tf.constant([1, 2]), ((), (), ()), ((), (), ()))
    np.testing.assert_allclose(log_probabilities, np.full([2, 4], np.log(0.25)), rtol=1e-6)
    assert (states, notes) == (((), (), ()), ())
