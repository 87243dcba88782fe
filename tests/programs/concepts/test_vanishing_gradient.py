"""Gradients that vanish in sigmoids and not in rectified units, and what both learn."""

import numpy as np

from tfnmt_programs.concepts.vanishing_gradient import gradient_norms, new_weights, rings, show, train


def test_the_first_layers_gradient_vanishes_in_sigmoids_alone():
    """Each layer's derivative is at most a quarter, so thirty of them leave nothing."""
    sigmoid, relu = gradient_norms(30, "sigmoid"), gradient_norms(30, "ReLU")
    assert sigmoid[0] < 1e-12 < 1e-4 < relu[0]
    assert np.all(np.diff(np.log(sigmoid)) > 0)  # from layer to layer, less towards the input


def test_weights_have_the_layers_that_are_asked_for():
    assert [W.shape for W, _ in new_weights(2, "ReLU", 1)] == [(2, 24), (24, 24), (24, 1)]


def test_a_shallow_net_learns():
    assert rings(1000, 1)[1].mean() > 0.3
    assert train(2, "ReLU", steps=400) > 0.85


def test_the_picture_has_both_activations():
    figure, sentence = show(depths=(1, 3), steps=2)
    assert len(figure.axes) == 3 and "sigmoid" in sentence and "ReLU" in sentence
