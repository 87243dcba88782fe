"""What holds for the results of any search over any model."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.fake_models import FakeModel, check_same, words_of
from tests.search.test_beam import attended, scorer, search
from tests.search.test_greedy import greedy
from tests.search.test_sampling import draw
from tfnmt.search.step import NEG_INF

SEEDS = st.integers(0, 2**32 - 1)
MODELS = st.builds(FakeModel, SEEDS, sharpness=st.sampled_from([0.1, 1.0, 4.0]), sentences=st.just(4))
# A search takes as long as a hundred readings of a text.
FEWER = settings(max_examples=max(1, settings().max_examples // 3))

LENGTHS = st.lists(st.integers(0, 5), min_size=4, max_size=4)
SCORES = st.fixed_dictionaries(
    {
        "length_penalty": st.sampled_from([0.0, 0.6, 1.0, 2.0]),
        "length_norm": st.sampled_from(["length", "gnmt"]),
        "coverage_penalty": st.sampled_from([0.0, 0.4]),
    }
)
DRAWS = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.3, 1.0, 5.0]),
        "top_k": st.none() | st.integers(1, 5),
        "top_p": st.none() | st.floats(0.01, 1.0),
    }
)


def check_scores(model, found, lengths, score=lambda log_p, attention: log_p.sum()):
    """Those of every result are those of its words."""
    for place, n in np.ndindex(*found.scores.shape):
        if found.scores[place, n] > NEG_INF:
            words = words_of(found, place, n)
            assert len(words) <= lengths[place]
            log_p, attention = model.of_words(place, words, lengths[place])
            np.testing.assert_allclose(found.log_probabilities[place, n], log_p.sum(), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found.scores[place, n], score(log_p, attention), rtol=1e-5, atol=1e-5)


@FEWER
@given(model=MODELS, lengths=LENGTHS, beam_size=st.integers(1, 6), options=SCORES)
def test_results_of_a_beam(model, lengths, beam_size, options):
    """All different, each with the score of its words."""
    found = search(model, lengths, beam_size, coverage=attended, **options)
    check_scores(model, found, lengths, scorer(**options))
    for place in range(4):
        results = [words_of(found, place, n) for n in range(beam_size) if found.scores[place, n] > NEG_INF]
        assert len(set(results)) == len(results) > 0


@FEWER
@given(model=MODELS, lengths=LENGTHS, options=SCORES)
def test_a_beam_of_one_is_greedy_search(model, lengths, options):
    expected = greedy(model, lengths)
    check_scores(model, expected, lengths)
    found = search(model, lengths, 1, coverage=attended, **options)
    check_same(found._replace(scores=expected.scores), expected, range(4))


@FEWER
@given(model=MODELS, lengths=st.lists(st.integers(0, 3), min_size=4, max_size=4), options=SCORES)
def test_no_result_is_better_than_the_best_that_there_is(model, lengths, options):
    """And a beam that nothing falls out of finds it: all results of 3 words at most are 40."""
    narrow, wide = (search(model, lengths, size, coverage=attended, **options) for size in (2, 40))
    for place, length in enumerate(lengths):
        best, _ = model.all_results(place, length, scorer(**options))[0]
        np.testing.assert_allclose(wide.scores[place, 0], best, rtol=1e-5, atol=1e-5)
        assert narrow.scores[place, 0] <= wide.scores[place, 0] + 1e-5


@FEWER
@given(model=MODELS, lengths=LENGTHS, beam_size=st.integers(1, 4), places=st.lists(st.integers(0, 3), min_size=1))
def test_a_beam_does_not_depend_on_the_batch(model, lengths, beam_size, places):
    found = search(model, lengths, beam_size)
    check_same(search(model, [lengths[place] for place in places], beam_size, places), found, places)


@FEWER
@given(model=MODELS, lengths=LENGTHS, options=DRAWS, seed=SEEDS, places=st.lists(st.integers(0, 3), min_size=1))
def test_what_is_drawn(model, lengths, options, seed, places):
    """Its score is the model's, and it does not depend on the batch; of the best word alone it is greedy search."""
    found = draw(model, lengths, seed=seed, **options)
    check_scores(model, found, lengths)
    again = draw(model, [lengths[place] for place in places], places, seed=seed, **options)
    check_same(again, found, places)
    if options["top_k"] == 1:
        check_same(found, greedy(model, lengths), range(4))
