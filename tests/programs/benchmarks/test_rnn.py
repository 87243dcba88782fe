"""The benchmark of recurrent layers measures layers that compute the same."""

import numpy as np
import pytest

from tfnmt_programs.benchmarks.rnn import LAYERS, Shape, compare_rnn, training_step


@pytest.mark.slow
def test_figures_of_each_shape():
    figures = compare_rnn((Shape(9, 2, 3), Shape(2, 3, 4)), rounds=2)
    assert figures["matrix_gflops"] > 0
    assert [each["shape"] for each in figures["shapes"]] == ["9x2x3", "2x3x4"]
    for each in figures["shapes"]:
        assert all(each[name] > 0 for name in LAYERS)
        assert set(each["ratio"]) == {"keras_rnn", "keras_gru"}
    ratios = [each["ratio"]["keras_rnn"] for each in figures["shapes"]]
    assert np.isclose(figures["mean_ratio"]["keras_rnn"], np.mean(ratios))


def test_the_same_gradients_are_measured():
    shape = Shape(9, 2, 3)
    ours, theirs = (LAYERS[name](shape.units) for name in ("ours", "keras_rnn"))
    of_ours, of_theirs = training_step(ours, shape), training_step(theirs, shape)
    theirs.set_weights(ours.get_weights())
    for x, y in zip(of_ours(), of_theirs(), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)
