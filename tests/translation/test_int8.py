"""Search in int8: near float32, the same in every batch, and refused where there is none."""

import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_searcher import SOURCES, TARGETS, TEXTS, made, texts_of
from tfnmt.errors import UserError
from tfnmt.layers import int8, product_timing
from tfnmt.layers.cells import GRUCell
from tfnmt.layers.int8 import Int8Matrix, require_int8, weight_levels
from tfnmt.layers.registry import CELLS
from tfnmt.quantization import StoredWeights
from tfnmt.translation import int8_weights
from tfnmt.translation.ensemble import Ensemble
from tfnmt.translation.scoring import Scorer, log_probabilities
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


def quantized(matrix, bound, transposed=False, levels=None):
    """A matrix [in, out] as an `Int8Matrix`, with as many levels as are exact here, or so many."""
    levels = levels or weight_levels()
    scales = np.abs(matrix).max(axis=0) / levels
    values = np.round(matrix / scales).astype(np.int8)
    return Int8Matrix(tf.constant(values.T if transposed else values), tf.constant(127 * scales), bound, transposed)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("most", [weight_levels, lambda: int8.REDUCED_LEVELS], ids=["best here", "without VNNI"])
def test_a_product_is_that_of_the_rounded_numbers(transposed, constant, most):
    """Exactly, but for float32's rounding of the result; what is beyond the bound counts as the bound."""
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(37, 21)).astype(np.float32)
    levels = most()
    int8_matrix = quantized(matrix, 0.5, transposed, levels)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, 37])])
    def multiply(x):
        return int8.dataclasses.replace(int8_matrix, constant=constant).multiply(x)

    for rows in (1, 7, 64, 2, 0):
        x = rng.uniform(-0.6, 0.6, [rows, 37]).astype(np.float32)
        rounded = np.round(np.clip(x, -0.5, 0.5) * 254) / 254
        scales = np.abs(matrix).max(axis=0) / levels
        expected = rounded.astype(np.float64) @ (np.round(matrix / scales) * scales)
        np.testing.assert_allclose(multiply(x), expected, atol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_without_a_bound_a_row_is_scaled_by_its_own_largest_value(transposed):
    """So that it is the same in any batch, to the last bit."""
    rng = np.random.default_rng(3)
    matrix = quantized(rng.normal(size=(37, 21)).astype(np.float32), None, transposed)
    multiply = tf.function(matrix.multiply, input_signature=[tf.TensorSpec([None, 37])], autograph=False)
    x = (rng.normal(size=[5, 37]) * [[1e-6], [0.3], [1.0], [40.0], [0.0]]).astype(np.float32)
    product = multiply(x).numpy()
    for row in range(5):
        np.testing.assert_array_equal(multiply(x[row : row + 1])[0], product[row])
    assert not product[4].any()
    exact = x @ matrix.columns(tf.range(21)).numpy()
    assert (np.abs(product - exact) <= 0.02 * np.abs(exact).max(axis=1, keepdims=True)).all()


def test_a_table():
    table = np.random.default_rng(2).normal(size=(9, 4)).astype(np.float32)
    limits = np.abs(table).max(axis=1)
    matrix = Int8Matrix(tf.constant(np.round(table / limits[:, None] * 127), tf.int8), tf.constant(limits), 1.0, True)
    assert matrix.shape == (4, 9)
    vectors = matrix.vectors(tf.constant([[3, 8]]))
    assert (np.abs(vectors[0] - table[[3, 8]]) <= limits[[3, 8], None] / 254 + 1e-6).all()
    not_transposed = Int8Matrix(tf.transpose(matrix.values), matrix.limits, 1.0)
    for columns in (matrix.columns(tf.constant([3, 8])), not_transposed.columns(tf.constant([3, 8]))):
        np.testing.assert_array_equal(columns, tf.transpose(vectors[0]))


@pytest.mark.parametrize(
    "options",
    [
        {"bidirectional": True, "conditional": True},
        {"attention": "none", "deep_output": False, "cell": "lstm"},
        {"attention": "general", "tied_embeddings": True, "encoder_layers": 2, "decoder_layers": 2, "residual": True},
        {"attention": "dot", "input_feeding": True, "layer_normalization": True},
        {"conditional": False, "attend_first": True, "output_activation": "maxout"},
    ],
    ids=["conditional", "no attention", "deep and tied", "input feeding", "maxout"],
)
def test_it_is_near_float32(options):
    """The log-probabilities of given words, of one translation and of many, the empty one and one word among them."""
    model = made(sharpness=1.5, **options)
    sources, targets = [*SOURCES[:20], "", "dog"], [*TARGETS[:20], "", "Hund"]
    exact, rough = Scorer(model), Scorer(model, "int8")
    for first in (0, len(sources) - 1):
        of_exact, of_rough = (
            np.concatenate([scored.words for scored in scorer.score(sources[first:], targets[first:])])
            for scorer in (exact, rough)
        )
        assert np.abs(of_rough - of_exact).max() < 0.3
        assert 0 < np.abs(of_rough - of_exact).mean() < 0.05


@pytest.mark.parametrize(
    "options",
    [
        {"encoder_layers": 3, "decoder_layers": 2, "residual": True},
        {
            **{"encoder_layers": 2, "residual": True, "bidirectional": True, "conditional": True},
            **{"attention": "general", "input_feeding": True},
        },
        {"encoder_layers": 2, "residual": True, "attend_first": True},
        {"encoder_layers": 2, "decoder_layers": 3, "residual": True, "attention": "none", "deep_output": False},
    ],
    ids=["attention", "conditional", "attend first", "no attention"],
)
def test_no_value_is_beyond_its_bound_where_all_states_are_as_large_as_can_be(options, monkeypatch):
    """Biases of ±100 make every state 1; residual layers add them up. What is beyond a bound would be cut."""
    model = made(**options)
    for cell in (*model.encoder.cells, model.decoder.first, *model.decoder.upper):
        cell.b.assign(np.repeat([0.0, -100.0, 100.0], 8))
    multiply, shares = Int8Matrix.multiply, []

    def watched(matrix, x):
        if tf.executing_eagerly() and matrix.bound is not None and tf.size(x):
            shares.append(float(tf.reduce_max(tf.abs(x))) / matrix.bound)
        return multiply(matrix, x)

    monkeypatch.setattr(Int8Matrix, "multiply", watched)
    with int8_weights.Int8Weights([model]).in_use([model]):
        model({"source": tf.constant([[5, 6, 3]]), "target": tf.constant([[2, 5]])})
    assert len(shares) > 10 and max(shares) <= 1 + 1e-5


def test_states_without_a_bound_are_refused(monkeypatch):
    """int8 would cut what is beyond ±1."""

    class Unbounded(GRUCell):
        is_bounded = False

    monkeypatch.setitem(CELLS, "unbounded", Unbounded)
    with pytest.raises(UserError, match="precision=int8: allowed is float32 or bfloat16 with cell=unbounded, whose"):
        made(cell="unbounded").translate(["a dog"], precision="int8")


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_translation_does_not_depend_on_its_batch(method):
    """To the letter."""
    searcher = Searcher(made(), SearchConfiguration(method=method, precision="int8"))
    expected = texts_of(searcher.translate(TEXTS))
    assert len({texts[0] for texts in expected}) > 12
    assert expected[24][0] == expected[25][0] == ""
    for batch_size in (1, 7, 64):
        order = np.random.default_rng(batch_size).permutation(len(TEXTS))
        found = searcher.translate([TEXTS[i] for i in order], batch_size)
        assert texts_of(found) == [expected[i] for i in order]


@pytest.mark.slow
def test_further_training_counts():
    """A model translates with the weights that it has by then, and an ensemble makes them anew."""
    model, other = made(), made(seed=2)
    assert model.tokenizers[1].get_config() == other.tokenizers[1].get_config()
    options = {"beam_size": 1, "precision": "int8"}
    first, expected = (each.translate(SOURCES, **options) for each in (model, other))
    assert first != expected
    ensemble, configuration = Ensemble(model), SearchConfiguration(**options)
    assert model.searcher(configuration) is model.searcher(configuration)
    assert ensemble.int8_weights() is ensemble.int8_weights()
    before = Searcher(ensemble, configuration)
    assert [texts[0] for texts in texts_of(before.translate(SOURCES))] == first
    model.set_weights(other.get_weights())
    assert model.translate(SOURCES, **options) == expected
    assert [texts[0] for texts in texts_of(Searcher(ensemble, configuration).translate(SOURCES))] == expected
    assert [texts[0] for texts in texts_of(before.translate(SOURCES))] == first


def test_it_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr(int8, "_is_exact", lambda levels: False)
    with pytest.raises(UserError, match="precision=int8: this processor, .* choose float32 or bfloat16"):
        Searcher(made(), SearchConfiguration(precision="int8"))
    Searcher(made(), SearchConfiguration(precision="bfloat16")).translate(SOURCES[:1])


def test_weights_of_seven_bits_without_vnni(monkeypatch):
    """Weights within ±64, of which no sum overflows where products are added in pairs of 16 bits; and near float32."""
    assert (127 + 128) * 2 * int8.REDUCED_LEVELS < 2**15 < (127 + 128) * 2 * (int8.REDUCED_LEVELS + 1)
    monkeypatch.setattr(int8, "_is_exact", lambda levels: levels <= 64)
    model = made(sharpness=1.5)
    matrices = [matrix for _, matrix in Ensemble(model).int8_weights()._matrices()]
    assert {int(np.abs(matrix.values).max()) for matrix in matrices} == {64}
    exact, rough = (
        np.concatenate([scored.words for scored in scorer.score(SOURCES[:20], TARGETS[:20])])
        for scorer in (Scorer(model), Scorer(model, "int8"))
    )
    assert np.abs(rough - exact).max() < 0.3
    assert 0 < np.abs(rough - exact).mean() < 0.05


def test_what_eight_bits_were_exported_for(monkeypatch):
    """A machine without VNNI refuses it, and takes weights of seven bits; one with VNNI takes both."""
    monkeypatch.setattr(int8, "_is_exact", lambda levels: levels <= 64)
    require_int8(64)
    with pytest.raises(UserError, match="^precision=int8: this processor has no VNNI: .* when it is exported$"):
        require_int8(127)
    monkeypatch.setattr(int8, "_is_exact", lambda levels: True)
    require_int8(64)
    require_int8(127)


def test_products_left_in_float32():
    """Those of the sizes that are told, with the numbers that are stored; the others stay as they are."""
    model = made(sharpness=1.5, tied_embeddings=True)
    ensemble = Ensemble(model)
    weights = ensemble.int8_weights()
    sizes = {tuple(matrix.shape) for _, matrix in weights._matrices()}
    some = (min(sizes), max(sizes))
    mixed = ensemble.int8_weights(some)
    assert {tuple(matrix.shape) for _, matrix in mixed._matrices()} == sizes - set(some)
    assert mixed is ensemble.int8_weights(some)

    def scores(weights):
        with weights.in_use([model]):
            log_p, _ = log_probabilities(ensemble, tf.constant(SOURCES[:20]), tf.constant(TARGETS[:20]))
        return log_p

    none_left = ensemble.int8_weights(tuple(sizes))
    assert not list(none_left._matrices())
    stored = StoredWeights([model], "int8", weights.levels)
    np.testing.assert_allclose(scores(none_left), scores(stored), atol=1e-5)
    in_int8, in_both = scores(weights), scores(mixed)
    assert 0 < np.abs(in_both - in_int8).mean() < 0.05


def test_what_is_faster_in_float32_is_measured(monkeypatch):
    """By a tenth at least, of the least times; all matrices of one size are measured once."""
    times = iter([9.0, 9.0, *[1.2, 1.0] * product_timing.ROUNDS])
    monkeypatch.setattr(product_timing, "_seconds", lambda product, x: next(times))
    matrix = quantized(np.ones([4, 3], np.float32), 1.0)
    assert product_timing.is_faster_in_float32(matrix)
    times = iter([9.0, 9.0, *[1.2, 1.0] * (product_timing.ROUNDS - 1), 1.05, 1.0])
    assert not product_timing.is_faster_in_float32(matrix)
    measured = []
    monkeypatch.setattr(int8_weights, "is_faster_in_float32", lambda matrix: measured.append(matrix) or True)
    weights = Ensemble(made()).int8_weights()
    assert len(weights.sizes_faster_in_float32()) == len(measured) < len(list(weights._matrices()))


@pytest.mark.parametrize("seconds, slower", [(1.2, True), (1.05, False), (0.5, False)])
def test_what_is_slower_in_bfloat16_is_measured(seconds, slower, monkeypatch):
    times = iter([9.0, 9.0, *[seconds, 1.0] * product_timing.ROUNDS])
    monkeypatch.setattr(product_timing, "_seconds", lambda product, x: next(times))
    assert product_timing.bfloat16_is_slower() == slower


def test_products_in_bfloat16_and_float32_that_are_timed_differ_by_rounding(monkeypatch):
    found = []
    monkeypatch.setattr(product_timing, "_seconds", lambda product, x: found.append(product(x).numpy() - x) or 1.0)
    product_timing.bfloat16_is_slower()
    in_bfloat16, in_float32 = found[0], found[1]
    assert 0 < np.abs(in_bfloat16 - in_float32).mean() < 0.05 * np.abs(in_float32).mean()


@pytest.mark.parametrize("transposed", [False, True])
def test_both_ways_that_are_timed_compute_the_same(transposed, monkeypatch):
    rng = np.random.default_rng(1)
    found = []
    monkeypatch.setattr(product_timing, "_seconds", lambda product, x: found.append(product(x).numpy()) or 1.0)
    product_timing.is_faster_in_float32(quantized(rng.normal(size=(37, 21)).astype(np.float32), 1.0, transposed))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_sums_that_overflow_are_noticed(monkeypatch):
    """As those of processors without VNNI: pairs of products are added in 16 bits, of values that are 128 greater."""

    def added_in_pairs(x, matrix):
        x, weights = (tf.cast(tf.bitcast(each, tf.int8), tf.int32) for each in (x, matrix.values))
        pairs = tf.reshape(x + 128, [-1, 32, 2, 1]) * tf.reshape(weights, [32, 2, 16])
        sums = tf.reduce_sum(tf.clip_by_value(tf.reduce_sum(pairs, axis=2), -(2**15), 2**15 - 1), axis=1)
        return tf.cast(sums - 128 * tf.reduce_sum(weights, axis=0), tf.float32)

    monkeypatch.setattr(int8, "_sums_of_products", added_in_pairs)
    is_exact = int8._is_exact.__wrapped__  # without the cache, which knows of this machine
    assert is_exact(int8.REDUCED_LEVELS) and not is_exact(int8.LEVELS)


def test_the_weights_of_every_model_of_an_ensemble_count():
    first = made()
    second = made(first.tokenizers, seed=2)
    ensemble = Ensemble([first, second])
    before = ensemble.int8_weights()
    assert ensemble.int8_weights() is before
    second.decoder.b.assign_add(tf.ones_like(second.decoder.b))
    assert ensemble.int8_weights() is not before
