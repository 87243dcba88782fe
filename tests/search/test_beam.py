"""Beam search against all sequences that there are, and against a search in plain Python."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, PATHS, PLACES, START, VOCABULARY, FakeModel, check_same, in_numpy, words_of
from tfnmt.errors import UserError
from tfnmt.search.beam import beam_search
from tfnmt.search.configuration import BeamConfiguration
from tfnmt.search.greedy import greedy_search
from tfnmt.search.step import NEG_INF

ALL = 40  # results of 3 words at most: 1 + 3 + 9 + 27


def search(model, maximum_lengths, beam_size, sentences=None, coverage=None, number_of_results=None, **options):
    sentences = range(len(maximum_lengths)) if sentences is None else sentences
    lengths, c = tf.constant(maximum_lengths, tf.int32), BeamConfiguration(beam_size=beam_size, **options)
    found = in_numpy(
        beam_search(
            model.step,
            model.states(sentences),
            model.memory(sentences),
            START,
            END,
            lengths,
            c,
            coverage,
            number_of_results,
        )
    )
    model.check_auxiliary(found, sentences)
    return found


def attended(auxiliary, memory):
    return auxiliary["attention"]


def scorer(length_penalty=1.0, length_norm="length", coverage_penalty=0.0):
    """What the score of a result is to be, of its log-probabilities and attention; |y| counts END in any case."""

    def score(log_p, attention):
        length = len(attention) if length_norm == "length" else (5 + len(attention)) / 6
        uncovered = np.log(np.minimum(attention.sum(axis=0), 1.0)).sum()
        return log_p.sum() / length**length_penalty + coverage_penalty * uncovered

    return score


def check_best(found, place, expected):
    """The results of a place are the first of `expected`, (score, words) of all that there are, and no more."""
    beam_size = found.ids.shape[1]
    expected = expected[:beam_size]
    np.testing.assert_allclose(found.scores[place, : len(expected)], [score for score, _ in expected], rtol=1e-5)
    assert [words_of(found, place, n) for n in range(len(expected))] == [words for _, words in expected]
    assert (found.scores[place, len(expected) :] == NEG_INF).all()


OPTIONS = [
    *({"length_penalty": a, "length_norm": norm} for norm in ("length", "gnmt") for a in (0.0, 0.6, 1.0)),
    {"coverage_penalty": 0.4},
    {"coverage_penalty": 3.0, "length_penalty": 0.6, "length_norm": "gnmt"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(options):
    model, lengths = FakeModel(1), [3, 2, 3]
    found = search(model, lengths, ALL, coverage=attended, **options)
    for place, length in enumerate(lengths):
        check_best(found, place, model.all_results(place, length, scorer(**options)))


@pytest.mark.parametrize("options", OPTIONS[::3], ids=str)
def test_stopping_early_loses_nothing(options):
    """Where END is likely the best results are short; 121 are all of 4 words at most."""
    model = FakeModel(2, sharpness=3.0)
    model.log_p[0, :, [0, 1, 3]] = NEG_INF  # nothing goes on here
    found = search(model, [4, 4, 4], 121, coverage=attended, **options)
    check_best(found, 0, [(scorer(**options)(*model.of_words(0, (), 4)), ())])
    for place in (1, 2):
        check_best(found, place, model.all_results(place, 4, scorer(**options)))


@pytest.mark.parametrize("n_best", [1, 2])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_stops_when_nothing_that_is_left_can_win(options, n_best):
    """And not before: the results asked for are those of a search that goes on."""
    model, lengths = FakeModel(4, sharpness=2.0, sentences=20), [7, 12, 4, 9] * 5
    found, all_found = (
        search(model, lengths, 5, coverage=attended, number_of_results=n, **options) for n in (n_best, None)
    )
    for name in ("scores", "log_probabilities", "lengths"):
        np.testing.assert_array_equal(getattr(found, name)[:, :n_best], getattr(all_found, name)[:, :n_best])
    for place, n in np.ndindex(len(lengths), n_best):
        assert words_of(found, place, n) == words_of(all_found, place, n)
    if options == OPTIONS[0]:  # without a penalty, every further word costs
        assert found.ids.shape[2] < all_found.ids.shape[2]


def beam_search_in_python(model, sentence, maximum_length, beam_size, score):
    live, ended = [(0.0, ())], []
    for _ in range(maximum_length):
        nexts = []
        for total, words in live:
            log_p = model.log_p[sentence, model.path(words)]
            nexts += [(total + log_p[word], (*words, word)) for word in range(VOCABULARY)]
        nexts.sort(reverse=True)
        ended += [words[:-1] for _, words in nexts[:beam_size] if words[-1] == END]
        live = [(total, words) for total, words in nexts if words[-1] != END][:beam_size]
        if len(ended) >= beam_size:
            break
    else:
        ended += [words for _, words in live]
    results = [(score(*model.of_words(sentence, words, maximum_length)), words) for words in ended]
    return sorted(results, reverse=True)


@pytest.mark.parametrize("beam_size", [2, 3, 5])
@pytest.mark.parametrize("options", OPTIONS[::2], ids=str)
def test_a_narrow_beam_equals_one_in_plain_python(options, beam_size):
    lengths = [7, 4, 2] * 4
    model = FakeModel(beam_size, sentences=len(lengths))
    found = search(model, lengths, beam_size, coverage=attended, **options)
    for place, length in enumerate(lengths):
        check_best(found, place, beam_search_in_python(model, place, length, beam_size, scorer(**options)))


@pytest.mark.parametrize("options", OPTIONS[::2], ids=str)
def test_a_beam_of_one_is_greedy_search(options):
    lengths = [8, 4, 1] * 10
    model, sentences = FakeModel(3, sentences=len(lengths)), range(len(lengths))
    greedy = in_numpy(
        greedy_search(model.step, model.states(sentences), model.memory(sentences), START, END, tf.constant(lengths))
    )
    found = search(model, lengths, 1, coverage=attended, **options)
    check_same(found._replace(scores=greedy.scores), greedy, sentences)


def test_a_beam_of_one_is_greedy_search_where_words_are_equally_probable():
    model = FakeModel(3)
    model.log_p = np.round(model.log_p)
    greedy = in_numpy(
        greedy_search(model.step, model.states([0, 1, 2]), model.memory([0, 1, 2]), START, END, tf.constant([8, 8, 8]))
    )
    check_same(search(model, [8, 8, 8], 1, length_penalty=0.0), greedy, range(3))


@pytest.mark.parametrize("options", OPTIONS[::2], ids=str)
def test_scores_are_those_of_the_results(options):
    model, lengths = FakeModel(3), [6, 3, 1]
    found = search(model, lengths, 3, coverage=attended, **options)
    for place, length in enumerate(lengths):
        assert len({words_of(found, place, n) for n in range(3)}) == 3
        for n in range(3):
            log_p, attention = model.of_words(place, words_of(found, place, n), length)
            np.testing.assert_allclose(found.log_probabilities[place, n], log_p.sum(), rtol=1e-5)
            np.testing.assert_allclose(found.scores[place, n], scorer(**options)(log_p, attention), rtol=1e-5)


def test_a_longer_result_wins_by_the_length_penalty():
    """END at once has p = 0.4; three words and END have 0.6 · 0.8³ = 0.31, but 0.75 each."""
    after = {START: {END: 0.4, 3: 0.6}, 3: {0: 0.8, 1: 0.2}, 0: {4: 0.8, 1: 0.2}, 4: {END: 0.8, 1: 0.2}}
    p = np.full([5, 5], 1e-9)
    for word, nexts in after.items():
        p[word, list(nexts)] = list(nexts.values())
    table = tf.constant(np.log(p), tf.float32)

    def best(**options):
        def step(ids, states, memory):
            return tf.gather(table, ids), states, ()

        found = in_numpy(
            beam_search(step, (), (), START, END, tf.constant([9]), BeamConfiguration(beam_size=2, **options))
        )
        assert found.auxiliary == ()
        np.testing.assert_allclose(np.exp(found.log_probabilities[0, 0]), 0.6 * 0.8**3 if found.lengths[0, 0] else 0.4)
        return words_of(found, 0)

    assert best(length_penalty=0.0) == ()
    assert best(length_penalty=1.0) == (3, 0, 4)
    assert best(length_penalty=0.2, length_norm="gnmt") == ()
    assert best(length_penalty=1.0, length_norm="gnmt") == (3, 0, 4)


def test_a_hypothesis_that_can_only_win_at_the_maximum_length_goes_on():
    """END at once has log .7 = −.36. Three words that are certain after the first have (log .3) / 4 = −.30."""
    after = {START: {END: 0.7, 3: 0.3}, 3: {3: 1.0}}
    p = np.full([4, 4], 1e-9)
    for word, nexts in after.items():
        p[word, list(nexts)] = list(nexts.values())
    table = tf.constant(np.log(p), tf.float32)

    def step(ids, states, memory):
        return tf.gather(table, ids), states, ()

    found = in_numpy(beam_search(step, (), (), START, END, tf.constant([3]), BeamConfiguration(beam_size=2), None, 1))
    assert words_of(found, 0) == (3, 3, 3)
    np.testing.assert_allclose(found.scores[0, 0], np.log(0.3) / 4, rtol=1e-5)


def test_the_coverage_penalty_prefers_what_has_attended_to_all_places():
    model = FakeModel(4)
    model.attention[:] = 0.01
    model.attention[:, [path for path in range(PATHS) if "3" in str(path)]] = 1.0  # after the word 3 all is seen
    found = search(model, [2, 2, 2], 13, coverage=attended, coverage_penalty=10.0)
    for place in range(3):
        has_seen = [3 in words_of(found, place, n) for n in range(13)]
        assert has_seen == sorted(has_seen, reverse=True)
        assert 0 < sum(has_seen) < 13


def test_maximum_length_of_each_sentence():
    model = FakeModel(4)
    model.log_p[..., END] = -20.0
    found = search(model, [5, 0, 2], 3)
    assert found.lengths[:, 0].tolist() == [5, 0, 2]
    assert found.scores[1].tolist() == [0, NEG_INF, NEG_INF]


def test_all_maximum_lengths_zero():
    found = search(FakeModel(4), [0, 0, 0], 2)
    assert not found.lengths.any()
    assert found.scores.tolist() == [[0, NEG_INF]] * 3


@pytest.mark.parametrize("impossible", [-50.0, NEG_INF, -np.inf])
def test_an_end_that_never_comes(impossible):
    model = FakeModel(5)
    model.log_p[..., END] = impossible
    found = search(model, [4, 3, 2], 2)
    assert found.lengths.tolist() == [[4, 4], [3, 3], [2, 2]]
    assert (found.scores > -5).all()


def test_nothing_can_be_written():
    """Neither the end nor any word after the first."""
    model = FakeModel(5)
    model.log_p[..., END] = NEG_INF
    model.log_p[0] = NEG_INF
    model.log_p[0, :, 0] = -np.inf
    model.log_p[0, START] = -1.0
    model.log_p[0, START, END] = NEG_INF
    found = search(model, [4, 4, 4], 2)
    assert found.scores[0].tolist() == [NEG_INF, NEG_INF]
    assert found.lengths.tolist() == [[0, 0], [4, 4], [4, 4]]


def test_a_beam_wider_than_the_vocabulary():
    """Of one word or none there are four results, and no more are made up."""
    model, lengths = FakeModel(6), [1, 1, 3]
    found = search(model, lengths, 10)
    for place in (0, 1):
        check_best(found, place, model.all_results(place, 1, scorer()))


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("coverage_penalty", [0.0, 0.3])
def test_a_sentence_alone_and_among_others_in_any_order(coverage_penalty, beam_size):
    model, lengths = FakeModel(7, sentences=8), np.array([6, 2, 9, 5, 1, 7, 3, 0], np.int32)
    options = {"coverage": attended, "coverage_penalty": coverage_penalty, "length_penalty": 0.6}
    found = search(model, lengths, beam_size, **options)
    rtol = 1e-6 if coverage_penalty else 0.0  # TensorFlow's logarithm depends on the place, in its last digit
    for places in ([0], [3], [7], [7, 6, 5, 4, 3, 2, 1, 0], [5, 5, 1, 2]):
        check_same(search(model, lengths[places], beam_size, places, **options), found, places, rtol)


def test_an_empty_batch():
    found = search(FakeModel(7), [], 3)
    assert found.scores.shape == (0, 3)
    assert found.ids.shape[:2] == (0, 3)
    assert found.auxiliary["attention"].shape[::3] == (0, PLACES)


@pytest.mark.parametrize(
    "options", [{"beam_size": 0}, {"length_penalty": -1.0}, {"coverage_penalty": -1.0}, {"length_norm": "words"}]
)
def test_a_configuration_that_makes_no_sense(options):
    with pytest.raises(UserError, match=f"{list(options)[0]}=.*: allowed is"):
        BeamConfiguration(**options)


def test_a_coverage_penalty_without_attention():
    with pytest.raises(UserError, match="coverage_penalty=0.5: allowed is 0"):
        search(FakeModel(8), [1, 1, 1], 2, coverage_penalty=0.5)
