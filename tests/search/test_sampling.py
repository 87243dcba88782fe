"""Sampling: how often tokens are drawn, and on what a draw depends. What greedy search and sampling have in common."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, PLACES, START, FakeModel, check_same, in_numpy, words_of
from tests.search.test_greedy import greedy
from tfnmt.errors import UserError
from tfnmt.search.configuration import SampleConfiguration
from tfnmt.search.sampling import _gumbel_noise, sample
from tfnmt.search.step import NEG_INF


def draw(model, maximum_lengths, sentences=None, keys=None, seed=1, **options):
    sentences = range(len(maximum_lengths)) if sentences is None else sentences
    lengths = tf.constant(maximum_lengths, tf.int32)
    keys = tf.constant(sentences if keys is None else keys, tf.int32)
    c = SampleConfiguration(**options)
    found = in_numpy(
        sample(model.step, model.states(sentences), model.memory(sentences), START, END, lengths, c, seed, keys)
    )
    model.check_auxiliary(found, sentences)
    return found


@pytest.mark.parametrize("impossible", [NEG_INF, -np.inf])
@pytest.mark.parametrize("method", [greedy, draw])
def test_nothing_can_be_written(method, impossible):
    model = FakeModel(2)
    model.log_p[1] = impossible
    model.log_p[1, START] = [-1.0, -1.0, impossible, -1.0]  # but one word can
    found = method(model, [4, 4, 0])
    assert found.scores[1].tolist() == [NEG_INF]
    assert found.lengths[1].tolist() == [0]
    assert (found.scores[[0, 2]] > NEG_INF).all()


@pytest.mark.parametrize("method", [greedy, draw])
def test_an_empty_batch(method):
    found = method(FakeModel(3), [])
    assert found.scores.shape == (0, 1)
    assert found.ids.shape[:2] == (0, 1)
    assert found.auxiliary["attention"].shape[::3] == (0, PLACES)


@pytest.mark.parametrize("method", [greedy, draw])
def test_a_sentence_alone_and_among_others_in_any_order(method):
    model, lengths = FakeModel(4, sentences=8), np.array([6, 2, 9, 5, 1, 7, 3, 0], np.int32)
    found = method(model, lengths)
    for places in ([0], [3], [7], [7, 6, 5, 4, 3, 2, 1, 0], [5, 5, 1, 2]):
        check_same(method(model, lengths[places], places), found, places)


def test_random_words_depend_on_seed_and_key():
    """And on nothing else: a greater maximum length lets a sentence go on as it began."""
    model, lengths = FakeModel(5, sentences=10), [6] * 10
    model.log_p[:] = model.log_p[0]
    model.log_p[..., END] = -3.0
    first = draw(model, lengths)
    check_same(draw(model, lengths), first, range(10))
    results = {words_of(first, n) for n in range(10)}
    assert len(results) > 8
    for other in ({"seed": 2}, {"keys": range(10, 20)}):
        assert len(results & {words_of(draw(model, lengths, **other), n) for n in range(10)}) < 3
    longer = draw(model, [9] * 10)
    assert [words_of(longer, n)[:6] for n in range(10)] == [words_of(first, n) for n in range(10)]
    assert max(longer.lengths) > 6


COUNT = 4000


def distribution(log_p, temperature=1.0, top_k=None, top_p=None):
    """The probabilities with which words are to be drawn, in plain NumPy."""
    p = np.exp(log_p.astype(float) / temperature)
    order = np.argsort(-p)
    if top_k:
        p[order[top_k:]] = 0
    p /= p.sum()
    if top_p:
        p[order[1:][np.cumsum(p[order])[:-1] >= top_p]] = 0
    return p / p.sum()


OPTIONS = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 3},
    {"top_k": 100},
    {"top_p": 0.6},
    {"top_p": 1.0},
    {"top_k": 4, "top_p": 0.7, "temperature": 1.5},
    {"top_k": 2, "top_p": 1.0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_words_are_drawn_as_often_as_they_are_probable(options):
    """χ² of the first words, and of the second ones after the most frequent first one."""
    model = FakeModel(6, vocabulary_size=6, sentences=1)

    @tf.function(autograph=False)
    def run(keys):
        zeros = tf.zeros_like(keys)
        c = SampleConfiguration(**options)
        return sample(model.step, model.states(zeros), zeros, START, END, zeros + 2, c, 1, keys)

    found = run(tf.range(COUNT))
    lengths = found.lengths[:, 0]
    words = np.where(np.arange(2) < lengths[:, np.newaxis], found.ids[:, 0], END)
    best = np.bincount(words[words[:, 0] != END, 0]).argmax()
    for drawn, before in ((words[:, 0], ()), (words[words[:, 0] == best, 1], (best,))):
        expected = len(drawn) * distribution(model.log_p[0, model.path(before)], **options)
        observed = np.bincount(drawn, minlength=6)
        possible = expected > 0
        assert not observed[~possible].any()
        chi_squared = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
        # Greater in 1 of 1,000 cases, for 0 to 5 degrees of freedom; but seed and keys are fixed.
        assert chi_squared < [1e-9, 10.8, 13.8, 16.3, 18.5, 20.5][possible.sum() - 1]


def test_scores_of_what_was_drawn_are_those_of_the_model():
    model, lengths = FakeModel(7), [6, 3, 5]
    found = draw(model, lengths, temperature=2.0, top_k=3)
    for sentence, length in enumerate(lengths):
        log_p, _ = model.of_words(sentence, words_of(found, sentence), length)
        np.testing.assert_allclose(found.scores[sentence, 0], log_p.sum(), rtol=1e-5)


@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 0.001}], ids=str)
def test_where_sampling_is_greedy_search(options):
    lengths = [6, 3, 5] * 5
    model = FakeModel(8, sentences=len(lengths))
    check_same(draw(model, lengths, **options), greedy(model, lengths), range(len(lengths)))


def test_a_temperature_however_high_leaves_out_what_must_not_be_chosen():
    model = FakeModel(9)
    model.log_p[..., [END, 0]] = NEG_INF
    found = draw(model, [50] * 3, temperature=1000.0)
    assert (found.lengths == 50).all()
    assert set(found.ids.flat) == {1, 3}


def test_as_few_words_as_have_the_probability_together():
    """Of two with a half each, and top_p of a half, one is enough."""
    model = FakeModel(9)
    model.log_p[:] = NEG_INF
    model.log_p[..., [1, 3]] = np.log(0.5)
    assert set(draw(model, [50] * 3, top_p=0.5).ids.flat) == {1}
    assert set(draw(model, [50] * 3, top_p=0.51).ids.flat) == {1, 3}


@pytest.mark.parametrize(
    "options", [{"temperature": 0.0}, {"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}], ids=str
)
def test_a_configuration_that_makes_no_sense(options):
    with pytest.raises(UserError, match=f"{list(options)[0]}=.*: allowed is"):
        SampleConfiguration(**options)


def test_noise_is_finite():
    """Or else a token that is banned would be drawn now and then."""
    noise = _gumbel_noise(tf.cast(tf.range(2**24)[:, tf.newaxis], tf.uint32), tf.zeros([2**24, 1], tf.int32))
    assert np.isfinite(noise).all()


def test_top_p_counts_the_probabilities_that_the_temperature_makes():
    """Of 0.8 and 0.2, the first alone has 0.7; at a temperature of 10 they are 0.53 and 0.47, and it needs both."""
    model = FakeModel(9)
    model.log_p[:] = NEG_INF
    model.log_p[..., [1, 3]] = np.log([0.8, 0.2])
    assert set(draw(model, [50] * 3, top_p=0.7).ids.flat) == {1}
    assert set(draw(model, [50] * 3, top_p=0.7, temperature=10.0).ids.flat) == {1, 3}
