"""Learning rates at steps that can be computed by hand, and what an update is."""

import math
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.configuration import parse_overrides
from tfnmt.errors import UserError
from tfnmt.training import optimizers
from tfnmt.training.configuration import OPTIMIZERS, TrainingConfiguration
from tfnmt.training.keras_internals import averaged_weights
from tfnmt.training.optimizers import make_optimizer

INPUTS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
LABELS = np.random.default_rng(1).normal(size=(8, 2)).astype(np.float32)


def rates(steps, total_updates=100, **options):
    """The learning rates of updates number 0, 1, ... of the list."""
    optimizer = make_optimizer(TrainingConfiguration(**{"learning_rate": 0.8} | options), total_updates)
    found = []
    for step in steps:
        optimizer.iterations.assign(step)
        found.append(float(optimizer.learning_rate))
    return found


SCHEDULES = {
    "constant": ({}, {0: 0.8, 1000: 0.8}),
    "constant with warm-up": ({"warmup_steps": 4}, {0: 0.2, 1: 0.4, 3: 0.8, 4: 0.8, 1000: 0.8}),
    "plateau": ({"schedule": "plateau"}, {0: 0.8, 1000: 0.8}),
    "inverse square root": ({"schedule": "inverse_square_root"}, {0: 0.8, 3: 0.4, 99: 0.08}),
    "inverse square root with warm-up": (
        {"schedule": "inverse_square_root", "warmup_steps": 4},
        {0: 0.2, 1: 0.4, 3: 0.8, 15: 0.4, 399: 0.08},
    ),
    "cosine": ({"schedule": "cosine"}, {0: 0.8, 25: 0.4 + 0.2 * math.sqrt(2), 50: 0.4, 100: 0.0, 200: 0.0}),
    "cosine with warm-up": (
        {"schedule": "cosine", "warmup_steps": 20},
        {0: 0.0, 5: 0.2, 10: 0.4, 20: 0.8, 60: 0.4, 100: 0.0},
    ),
}


@pytest.mark.parametrize("options, expected", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules(options, expected):
    np.testing.assert_allclose(rates(expected, **options), list(expected.values()), rtol=1e-5, atol=1e-7)


def test_a_warm_up_longer_than_the_run():
    np.testing.assert_allclose(
        rates([0, 5], total_updates=3, schedule="cosine", warmup_steps=10), [0.0, 0.4], rtol=1e-6
    )


def test_a_run_has_an_update_for_every_accumulation_until_its_last_epoch_or_step():
    for options, updates in (
        ({"epochs": 3}, 30),
        ({"epochs": 3, "accumulation_steps": 4}, 7),
        ({"epochs": 3, "steps": 12}, 12),
        ({"epochs": 3, "steps": 12, "accumulation_steps": 5}, 2),
        ({"epochs": 3, "steps": 99}, 30),
    ):
        assert TrainingConfiguration(**options).total_updates(batches_per_epoch=10) == updates, options


def test_a_run_without_a_single_update_is_refused():
    configuration = TrainingConfiguration(epochs=3, accumulation_steps=31)
    with pytest.raises(UserError, match="accumulation_steps=31: allowed is at most 30, the batches of the run"):
        configuration.total_updates(batches_per_epoch=10)


def test_plateau_has_no_warm_up():
    with pytest.raises(UserError, match="warmup_steps=5: allowed is 0 with schedule=plateau"):
        TrainingConfiguration(schedule="plateau", warmup_steps=5)


@pytest.mark.parametrize("schedule", ["inverse_square_root", "constant"])
def test_schedules_are_saved_with_a_model(schedule):
    optimizer = make_optimizer(TrainingConfiguration(schedule=schedule, warmup_steps=4, learning_rate=0.8), 100)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    again.iterations.assign(1)
    assert float(again.learning_rate) == pytest.approx(0.4)


def trained(batches, **options):
    """A small linear model's weights after one epoch of these batches, in their order."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    configuration = TrainingConfiguration(**{"learning_rate": 0.1} | options)
    model.compile(make_optimizer(configuration, 100), "mse", jit_compile=False)
    for first, last in batches:
        model.train_on_batch(INPUTS[first:last], LABELS[first:last])
    return model


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adadelta"])
def test_accumulating_over_batches_is_an_update_with_one_large_batch(optimizer):
    options = {"optimizer": optimizer, "clip_norm": 0.1}
    small = trained([(0, 2), (2, 4), (4, 6), (6, 8)], accumulation_steps=2, **options)
    large = trained([(0, 4), (4, 8)], **options)
    for value, expected in zip(small.get_weights(), large.get_weights(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert int(small.optimizer.iterations) == int(large.optimizer.iterations) == 2


def test_nothing_is_updated_within_an_accumulation():
    begun = trained([], accumulation_steps=3)
    same = trained([(0, 2), (2, 4)], accumulation_steps=3)
    for value, expected in zip(same.get_weights(), begun.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_clipping_is_by_the_norm_of_the_whole_gradient():
    """A step of stochastic gradient descent is as long as the learning rate times the norm."""
    before, after = (trained(batches, optimizer="sgd", clip_norm=0.25) for batches in ([], [(0, 8)]))
    moved = [value - first for value, first in zip(after.get_weights(), before.get_weights(), strict=True)]
    assert math.sqrt(sum(np.sum(step**2) for step in moved)) == pytest.approx(0.1 * 0.25, rel=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"steps": 0},
        {"optimizer": "adamw"},
        {"learning_rate": 0},
        {"label_smoothing": 1.0},
        {"clip_norm": 0.0},
        {"weight_average": 1.0},
        {"keep_checkpoints": 1},
        {"warmup_steps": -1},
    ],
)
def test_wrong_values_name_the_key_and_what_is_allowed(wrong):
    (key,) = wrong
    with pytest.raises(UserError, match=f"{key}=.*: allowed is "):
        TrainingConfiguration(**wrong)


@pytest.mark.parametrize("optimizer", ["adam", "adadelta", "rmsprop", "sgd"])
def test_weight_decay_takes_a_part_of_every_weight(optimizer):
    """Where there is no gradient, it is all that an update does: w − rate · decay · w."""
    configuration = TrainingConfiguration(optimizer=optimizer, learning_rate=0.1, weight_decay=0.5)
    weight = keras.Variable(np.array([2.0, -4.0], np.float32))
    make_optimizer(configuration, 100).apply([np.zeros(2, np.float32)], [weight])
    np.testing.assert_allclose(weight, [1.9, -3.8], rtol=1e-6)


def assert_updates_are_those_of_keras(ours, theirs, rtol):
    """Three updates of the same weights with the same gradients."""
    gradients = np.random.default_rng(2).normal(size=(3, 4, 5)).astype(np.float32)
    weights = [keras.Variable(np.ones((4, 5), np.float32)) for _ in range(2)]
    for gradient in gradients:
        for optimizer, weight in zip((ours, theirs), weights, strict=True):
            optimizer.apply([gradient], [weight])
    np.testing.assert_allclose(weights[0], weights[1], rtol=rtol)
    assert np.mean(np.abs(weights[0].numpy() - 1)) > 0.1
    assert float(ours.gradient_norm) == pytest.approx(np.linalg.norm(gradients[-1]), rel=1e-6)


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_updates_in_one_operation_are_keras_own(optimizer):
    """A schedule and clipping included."""
    ours = make_optimizer(TrainingConfiguration(optimizer=optimizer, learning_rate=0.3, schedule="cosine"), 10)
    theirs = {"adam": keras.optimizers.Adam, "rmsprop": keras.optimizers.RMSprop}[optimizer]
    # 1 − β in float32 differs by 4e-5
    assert_updates_are_those_of_keras(ours, theirs.from_config(ours.get_config()), rtol=1e-4)


@pytest.mark.parametrize("name", ["Adam", "RMSprop"])
def test_of_a_sparse_gradient_the_rows_of_one_word_are_summed_first(name):
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, -1.0]]), tf.constant([1, 1]), tf.constant([3, 2]))
    weights = []
    for gradient in (rows, tf.convert_to_tensor(rows)):
        weights.append(keras.Variable(np.ones((3, 2), np.float32)))
        getattr(optimizers, name)(0.1).apply([gradient], [weights[-1]])
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-6)


OPTIONS = [
    ("Adam", {"amsgrad": True}),
    ("Adam", {"beta_1": 0.5, "beta_2": 0.6, "epsilon": 0.1}),
    ("Adam", {"clipnorm": 0.5}),
    ("Adam", {"clipvalue": 0.1}),
    ("RMSprop", {"momentum": 0.7}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"momentum": 0.7, "centered": True}),
    ("RMSprop", {"rho": 0.5, "epsilon": 0.1}),
    ("RMSprop", {"clipvalue": 0.1}),
    ("SGD", {"momentum": 0.7, "nesterov": True, "clipnorm": 0.5}),
]


@pytest.mark.parametrize("name, options", OPTIONS, ids=lambda value: str(value))
def test_every_option_does_what_it_does_in_keras(name, options):
    ours, theirs = (getattr(module, name)(0.3, **options) for module in (optimizers, keras.optimizers))
    assert_updates_are_those_of_keras(ours, theirs, rtol=1e-4)


def test_there_are_no_more_variables_than_in_keras_but_the_norm():
    """And RMSprop's working memory where it has no momentum."""
    for name, options, more in (
        ("Adam", {}, 1),
        ("RMSprop", {"momentum": 0.5}, 1),
        ("RMSprop", {"centered": True}, 1),
        ("RMSprop", {}, 2),
        ("SGD", {}, 1),
    ):
        ours, theirs = (getattr(module, name)(**options) for module in (optimizers, keras.optimizers))
        for optimizer in (ours, theirs):
            optimizer.build([keras.Variable(np.ones(3, np.float32))])
        assert len(ours.variables) == len(theirs.variables) + more, name


@pytest.mark.parametrize("name", ["Adam", "Adadelta", "RMSprop", "SGD"])
def test_building_again_makes_no_more_variables(name):
    """Keras builds once before each `fit`, and a run that is resumed within an epoch calls that twice."""
    optimizer, weight = getattr(optimizers, name)(), keras.Variable(np.ones(3, np.float32))
    optimizer.build([weight])
    made = [id(variable) for variable in optimizer.variables]
    optimizer.build([weight])
    assert [id(variable) for variable in optimizer.variables] == made
    optimizer.apply([np.array([0, 3, 4], np.float32)], [weight])
    (norm,) = [variable for variable in optimizer.variables if variable.name == "gradient_norm"]
    assert float(norm) == float(optimizer.gradient_norm) == 5


def test_averages_of_accumulated_updates_are_those_of_large_batches():
    """One step of the average for each update, and none for the batches between."""
    options = {"weight_average": 0.6, "optimizer": "sgd"}
    small = trained([(0, 2), (2, 4), (4, 6), (6, 8)], accumulation_steps=2, **options)
    large = trained([(0, 4), (4, 8)], **options)
    averages = []
    for model in (small, large):
        last = model.get_weights()
        with averaged_weights(model):
            averages.append(model.get_weights())
        for value, expected in zip(model.get_weights(), last, strict=True):
            np.testing.assert_array_equal(value, expected)
        assert not np.allclose(averages[-1][0], last[0], rtol=1e-3)
    for value, expected in zip(*averages, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)


def test_before_the_first_update_the_average_is_the_weights():
    model = trained([(0, 2)], accumulation_steps=2, weight_average=0.6)
    last = model.get_weights()
    with averaged_weights(model):
        for value, expected in zip(model.get_weights(), last, strict=True):
            np.testing.assert_array_equal(value, expected)


def test_averages_are_those_of_keras(monkeypatch):
    """To the last bit."""
    batches = [(0, 2), (2, 4), (4, 6), (6, 8)]
    ours = trained(batches, weight_average=0.6).optimizer.variables
    of_keras = keras.optimizers.Optimizer._update_model_variables_moving_average
    monkeypatch.setattr(optimizers.Adam, "_update_model_variables_moving_average", of_keras)
    theirs = trained(batches, weight_average=0.6).optimizer.variables
    for value, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("options", [{"schedule": "cosine"}, {"warmup_steps": 4}])
def test_schedules_count_updates_and_not_the_batches_accumulated(options):
    def rate_of_batches(accumulation_steps):
        configuration = TrainingConfiguration(accumulation_steps=accumulation_steps, **options)
        optimizer, weight = make_optimizer(configuration, 10), keras.Variable(np.ones(2, np.float32))
        for _ in range(8):
            yield float(optimizer.learning_rate)
            optimizer.apply([np.ones(2, np.float32)], [weight])

    updates = list(rate_of_batches(1))
    assert list(rate_of_batches(2)) == [rate for rate in updates[:4] for _ in range(2)]


@pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
def test_a_model_with_an_optimizer_that_was_added_is_saved_and_loaded(monkeypatch, tmp_path):
    monkeypatch.setitem(OPTIMIZERS, "lion", "keras.optimizers:Lion")
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    model.compile(make_optimizer(TrainingConfiguration(optimizer="lion", learning_rate=0.01), 10), "mse")
    model.train_on_batch(INPUTS, LABELS)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.optimizer, keras.optimizers.Lion)
    np.testing.assert_array_equal(loaded(INPUTS), model(INPUTS))


def test_the_norm_that_is_kept_is_finite_where_squares_overflow():
    """Such a gradient changes nothing; the run goes on. One that is not a number stays so, and is found."""
    weight = keras.Variable([1.0, 2.0])
    optimizer = make_optimizer(TrainingConfiguration(optimizer="sgd", clip_norm=1.0), total_updates=10)
    optimizer.apply([np.full(2, 1e20, np.float32)], [weight])
    assert float(optimizer.gradient_norm) == np.finfo(np.float32).max
    np.testing.assert_array_equal(weight, [1.0, 2.0])
    optimizer.apply([np.array([np.nan, 0], np.float32)], [weight])
    assert np.isnan(float(optimizer.gradient_norm))


def test_an_optimizer_that_was_added_counts_updates_too(monkeypatch):
    """And it is still of the class that was named."""
    monkeypatch.setitem(OPTIMIZERS, "lion", "keras.optimizers:Lion")
    options = {"optimizer": "lion", "schedule": "cosine", "weight_average": 0.6}
    small = trained([(0, 2), (2, 4), (4, 6), (6, 8)], accumulation_steps=2, **options)
    large = trained([(0, 4), (4, 8)], **options)
    assert isinstance(small.optimizer, keras.optimizers.Lion)
    assert float(small.optimizer.learning_rate) == float(large.optimizer.learning_rate)
    assert float(small.optimizer.gradient_norm) == pytest.approx(float(large.optimizer.gradient_norm))
    for model in (small, large):
        with averaged_weights(model):
            model.averages = model.get_weights()
    for value, expected in zip(small.averages, large.averages, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)


def test_a_growing_momentum_by_hand():
    """Twice two updates each at 1/2, 3/4, then 5/6 is more than the highest, 0.8."""
    optimizer = optimizers.SGD(0.1, momentum=0.8, momentum_steps=2)
    found = [float(optimizer.momentum_at(update)) for update in range(6)]
    assert found == pytest.approx([0.5, 0.5, 0.75, 0.75, 0.8, 0.8])


@pytest.mark.parametrize("nesterov", [False, True])
def test_updates_with_a_growing_momentum_by_hand(nesterov):
    """v ← μ v − 0.1 g; w ← w + v, or of Nesterov's w ← w + μ v − 0.1 g. The gradient of w²/2 is w."""
    options = {"optimizer": "sgd", "momentum": 0.9, "nesterov": nesterov, "momentum_steps": 1, "learning_rate": 0.1}
    optimizer = make_optimizer(TrainingConfiguration(**options, clip_norm=None), 100)
    optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    weight, w, v = keras.Variable([2.0]), 2.0, 0.0
    for momentum in (1 / 2, 3 / 4, 5 / 6):
        optimizer.apply([weight.value], [weight])
        v = momentum * v - 0.1 * w
        w += momentum * v - 0.1 * w if nesterov else v
        assert weight.numpy() == pytest.approx(w)


def test_a_momentum_that_cannot_grow_is_refused():
    with pytest.raises(UserError, match="momentum_steps=5: allowed is none unless momentum is over 0.5"):
        TrainingConfiguration(optimizer="sgd", momentum=0.5, momentum_steps=5)


@pytest.mark.parametrize("key, value", [("momentum", 0.9), ("nesterov", True), ("momentum_steps", 5)])
def test_momentum_needs_an_optimizer_that_has_it(key, value):
    with pytest.raises(UserError, match=f"{key}=.*allowed is") as caught:
        TrainingConfiguration(**{key: value})
    allowed = re.search(r"allowed is (\S+)", str(caught.value))[1]
    assert parse_overrides([f"{key}={allowed}"], TrainingConfiguration()) == (TrainingConfiguration(),)
