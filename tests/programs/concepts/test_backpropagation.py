"""Back-propagation by hand beside a pencil's numbers and TensorFlow's tape, and a net drawn layer by layer."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt_programs.concepts.backpropagation import (
    ACTIVATIONS,
    EXAMPLE_WEIGHTS,
    EXAMPLE_X,
    EXAMPLE_Y,
    backward,
    cross_entropy,
    forward,
    show,
)
from tfnmt_programs.concepts.network_layers import learned_weights, responses


def test_the_example_by_hand():
    """h = max(0, (1, 0.5)), logit = 1 − 1 + 0.1, loss = −log σ(0.1), and d = σ(0.1) − 1 goes back."""
    activation = ACTIVATIONS["ReLU"]
    sums, features = forward(EXAMPLE_X, EXAMPLE_WEIGHTS, activation)
    assert features[1].tolist() == [[1.0, 0.5]] and sums[1][0, 0] == pytest.approx(0.1)
    d = 1 / (1 + np.exp(-0.1)) - 1
    assert cross_entropy(sums[-1], EXAMPLE_Y) == pytest.approx(-np.log(1 + d))
    (dW_1, db_1), (dW_2, db_2) = backward(sums, features, EXAMPLE_WEIGHTS, EXAMPLE_Y, activation)
    np.testing.assert_allclose(dW_2, [[d], [0.5 * d]])
    np.testing.assert_allclose(db_2, [d])
    np.testing.assert_allclose(dW_1, [[d, -2 * d], [2 * d, -4 * d]])
    np.testing.assert_allclose(db_1, [d, -2 * d])


def test_the_picture_has_the_biases_and_their_gradients_at_the_units():
    figure, _ = show()
    drawn = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    units = [(place, text) for place, text in drawn.items() if text.startswith(("h", "logit\n"))]
    found = {}
    for (x, y), text in units:
        near = [other for place, other in drawn.items() if place[0] == x and abs(place[1] - y) < 0.5]
        found[text] = set(near) - {text}
    assert found == {
        "h₁\n1": {"b = 0", "−0.475"},
        "h₂\n0.5": {"b = 0.5", "+0.950"},
        "logit\n0.1": {"b = 0.1", "−0.475"},
    }


@pytest.mark.parametrize("name, f", [("sigmoid", tf.sigmoid), ("ReLU", tf.nn.relu)])
def test_it_is_the_gradient_of_the_tape(name, f):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(7, 3)), (random.random(7) < 0.5).astype(float)
    weights = [(random.normal(size=size), random.normal(size=size[1])) for size in ((3, 4), (4, 5), (5, 1))]
    found = backward(*forward(x, weights, ACTIVATIONS[name]), weights, y, ACTIVATIONS[name])
    variables = [[tf.Variable(part) for part in pair] for pair in weights]
    with tf.GradientTape() as tape:
        h = tf.constant(x)
        for number, (W, b) in enumerate(variables, start=1):
            h = h @ W + b
            h = f(h) if number < len(variables) else h
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, h[:, 0]))
    for pair, expected in zip(found, tape.gradient(loss, variables), strict=True):
        for gradient, expected_gradient in zip(pair, expected, strict=True):
            np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)


def test_responses_of_a_net_begin_with_the_plane_itself():
    columns = responses(learned_weights(steps=1), size=5)
    assert [values.shape[-1] for values in columns] == [2, 6, 4, 1]
    np.testing.assert_allclose(columns[0][0, :, 0], np.linspace(-2.5, 2.5, 5))
