"""Constraints: what every search finds under them, against all sequences that they allow."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel, in_numpy, words_of
from tfnmt.errors import UserError
from tfnmt.search.beam import beam_search
from tfnmt.search.configuration import BeamConfiguration, SampleConfiguration
from tfnmt.search.constraints import (
    ban_tokens,
    block_repeated_ngrams,
    choose_by_rank,
    force_prefix,
    require_minimum_length,
)
from tfnmt.search.greedy import greedy_search
from tfnmt.search.sampling import sample
from tfnmt.search.step import NEG_INF

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
        model.check_auxiliary(found, range(3))
        for place, n in np.ndindex(*found.lengths.shape):
            assert allowed(place, words_of(found, place, n)) or found.scores[place, n] == NEG_INF
    for place, length in enumerate(lengths):
        expected = model.all_results(place, length, allowed=lambda words, place=place: allowed(place, words))
        found = results[0]
        assert [words_of(found, place, n) for n in range(len(expected))] == [words for _, words in expected]
        scores = found.scores[place]
        np.testing.assert_allclose(scores[: len(expected)], [score for score, _ in expected], rtol=1e-5)
        assert (scores[len(expected) :] == NEG_INF).all()


@pytest.mark.parametrize("banned", [[], [3], [0, 3, 3]], ids=str)
def test_banned_words(banned):
    model = FakeModel(1)
    results = searches(*ban_tokens(model.step, model.states(KEYS), banned))
    check_allowed(model, results, lambda place, words: not set(banned) & set(words))


def test_end_itself_banned():
    model = FakeModel(1)
    results = searches(*ban_tokens(model.step, model.states(KEYS), [END]))
    check_allowed(model, results, lambda place, words: len(words) == LENGTHS[place])


def test_all_words_banned():
    model = FakeModel(1)
    for found in searches(*ban_tokens(model.step, model.states(KEYS), [0, 1, 2, 3]), [4, 1, 0]):
        assert found.scores[:, 0].tolist() == [NEG_INF, NEG_INF, 0]


def test_minimum_lengths():
    """Where a maximum length is less, that holds."""
    model, least = FakeModel(2, sharpness=2.0), [2, 7, 0]
    results = searches(*require_minimum_length(model.step, model.states(KEYS), tf.constant(least), END))
    check_allowed(model, results, lambda place, words: len(words) >= min(least[place], LENGTHS[place]))


@pytest.mark.parametrize("width", [0, 3, 6])
def test_prefixes(width):
    """Also none, and one longer than the maximum length, which is cut."""
    model = FakeModel(3)
    prefixes = [[3], [1, 3, 3, 1, 1, 1], []] if width == 6 else [[3, 1, 3], [], [1]] if width else [[], [], []]
    padded = tf.constant([prefix + [0] * (width - len(prefix)) for prefix in prefixes], tf.int32, [3, width])
    results = searches(*force_prefix(model.step, model.states(KEYS), padded))

    def allowed(place, words):
        prefix = tuple(prefixes[place][: LENGTHS[place]])
        return words[: len(prefix)] == prefix

    check_allowed(model, results, allowed)


def test_a_prefix_overrules_the_constraints():
    """Its tokens have the log-probability that the model gives them, however small; what is banned is so after it."""
    model = FakeModel(4)
    model.log_p[..., 1] = -200.0
    prefix = tf.constant([[1, 3], [3, 1], [0, 0]])
    ban = functools.partial(ban_tokens, banned=[1])
    results = searches(*force_prefix(model.step, model.states(KEYS), prefix, [ban]))
    for found in results:
        assert words_of(found, 0)[:2] == (1, 3)
        assert words_of(found, 1)[:2] == (3, 1)
        assert 1 not in words_of(found, 2) + words_of(found, 0)[1:] + words_of(found, 1)[2:]
        for place in range(3):
            log_p, _ = model.of_words(place, words_of(found, place), LENGTHS[place])
            np.testing.assert_allclose(found.log_probabilities[place, 0], log_p.sum(), rtol=1e-5)


@pytest.mark.parametrize("impossible", [NEG_INF, -np.inf])
def test_a_prefix_that_the_model_excludes_is_not_found(impossible):
    model = FakeModel(4)
    model.log_p[..., 1] = impossible
    for found in searches(*force_prefix(model.step, model.states(KEYS), tf.constant([[1, 3], [3, 1], [0, 0]]))):
        assert (found.scores[:2] == NEG_INF).all()
        assert found.scores[2, 0] > NEG_INF


def repeats(words, n):
    runs = [words[i : i + n] for i in range(len(words) - n + 1)]
    return len(set(runs)) < len(runs)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_no_repetition(n):
    """The start word stands in no run, though a model may write it itself."""
    model = FakeModel(5)
    model.log_p[..., END] -= 2.0  # so that results are long
    results = searches(*block_repeated_ngrams(model.step, model.states(KEYS), n, tf.constant(LENGTHS)))
    check_allowed(model, results, lambda place, words: not repeats(words, n))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_repetition_in_long_results(n):
    model, lengths = FakeModel(6, vocabulary_size=8), tf.constant([15, 5, 8])
    model.log_p[..., END] = -50.0
    step, states = block_repeated_ngrams(model.step, model.states(KEYS), n, lengths)
    for found in searches(step, states, lengths)[1:]:
        assert found.lengths[0, 0] == (7 if n == 1 else 15)
        assert not any(repeats(words_of(found, place, m), n) for place, m in np.ndindex(*found.lengths.shape))


def test_no_repetition_of_nothing():
    with pytest.raises(UserError, match="n=0: allowed is"):
        block_repeated_ngrams(FakeModel(6).step, (), 0, tf.constant(LENGTHS))


def everything(step, states, lengths, prefix):
    """All constraints at once."""
    constraints = [
        functools.partial(ban_tokens, banned=[0]),
        functools.partial(block_repeated_ngrams, n=2, maximum_lengths=lengths),
        functools.partial(require_minimum_length, minimum_lengths=tf.ones_like(lengths) * 3, end=END),
    ]
    return force_prefix(step, states, prefix, constraints)


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


def test_a_token_by_rank():
    """After so many tokens the most probable one but END, the second, and so on; its log-probability is noted."""
    model, after = FakeModel(9), [0, 2, 1]
    for rank in range(5):
        ranked = choose_by_rank(model.step, model.states(KEYS), tf.fill([3], rank), 5, tf.constant(after), END)
        best = greedy_search(*ranked, KEYS, START, END, tf.constant(LENGTHS))
        for place, width in enumerate(after):
            words = words_of(in_numpy(best), place, 0)
            log_p = model.log_p[place, model.path(words[:width])].copy()
            log_p[END] = -np.inf
            if len(words) <= width:  # END came before, or there are but three tokens
                assert rank > 2 or (len(words) < width)
                continue
            assert rank <= 2 and words[width] == np.argsort(-log_p)[rank]
            noted = best.auxiliary["log_p_of_rank"][place, 0].numpy()
            np.testing.assert_allclose(noted[width], log_p[words[width]], rtol=1e-6)
            assert np.count_nonzero(noted) == 1
