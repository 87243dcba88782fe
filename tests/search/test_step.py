"""Ensembles of step functions."""

import numpy as np
import tensorflow as tf

from tests.search.fake_models import FakeModel, check_same
from tests.search.test_constraints import KEYS, searches
from tfnmt.search.step import NEG_INF, ensemble


def of_attention(model):
    """The model's step, noting the attention only."""

    def step(ids, states, memory):
        log_probabilities, states, auxiliary = model.step(ids, states, memory)
        return log_probabilities, states, (auxiliary["attention"],)

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
        np.testing.assert_allclose(ours.auxiliary[0], theirs.auxiliary[0], rtol=1e-5)


def test_an_ensemble_of_one_model_twice_is_that_model():
    model = FakeModel(12)
    model.log_p[..., 0] = NEG_INF
    model.log_p[..., 1] = -np.inf
    states = model.states(KEYS)
    found = searches(ensemble([of_attention(model)] * 2), (states, states), memory=(KEYS, KEYS))
    for ours, theirs in zip(found, searches(of_attention(model), states), strict=True):
        check_same(ours, theirs, range(3), rtol=1e-5)


def test_an_ensemble_without_notes():
    def step(ids, states, memory):
        return tf.math.log(tf.fill([tf.size(ids), 4], 0.25)), states, ()

    log_probabilities, states, auxiliary = ensemble([step, step, step])(tf.constant([1, 2]), ((), (), ()), ((), (), ()))
    np.testing.assert_allclose(log_probabilities, np.full([2, 4], np.log(0.25)), rtol=1e-6)
    assert (states, auxiliary) == (((), (), ()), ())
