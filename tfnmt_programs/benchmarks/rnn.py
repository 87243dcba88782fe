"""A recurrent layer's training step: `tfnmt.layers.RNN`, `keras.layers.RNN` with the same cell, and `keras.layers.GRU`.

A step is the layer's forward pass, a loss of all its outputs, and the gradients of inputs and weights, in one
`tf.function`. The size of the inputs is that of the states.
"""

import statistics
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from tfnmt.layers.cells import GRUCell
from tfnmt.layers.rnn import RNN
from tfnmt_programs.benchmarks.alternation import alternate
from tfnmt_programs.benchmarks.machine_rates import machine_rate
from tfnmt_programs.measuring import seconds_of

LAYERS = {
    "ours": lambda units: RNN(GRUCell(units), return_sequences=True),
    "keras_rnn": lambda units: keras.layers.RNN(GRUCell(units), return_sequences=True),
    "keras_gru": lambda units: keras.layers.GRU(units, return_sequences=True),
}
SECONDS = 0.2
"""How long each layer works in a round, at least."""


class Shape(NamedTuple):
    """The sizes of a batch of sequences."""

    time: int
    batch: int
    units: int

    def __str__(self) -> str:
        return "x".join(map(str, self))


SHAPES = (Shape(30, 64, 256), Shape(30, 64, 512), Shape(100, 16, 64), Shape(30, 8, 128))


def compare_rnn(shapes: tuple[Shape, ...] = SHAPES, rounds: int = 15) -> dict:
    """Measure all layers in turn at each shape.

    Returns:
        A dictionary: "matrix_gflops", this machine's rate; "shapes", a list of {"shape", "ours", "keras_rnn",
        "keras_gru", in seconds a step, the median of all rounds, "ratio" {"keras_rnn", "keras_gru"}, the median over
        the rounds of that layer's time over ours}; and "mean_ratio" {"keras_rnn", "keras_gru"} over the shapes.
    """
    figures = [{"shape": str(shape)} | _compare(shape, rounds) for shape in shapes]
    mean = {name: statistics.mean(each["ratio"][name] for each in figures) for name in ("keras_rnn", "keras_gru")}
    return {"matrix_gflops": machine_rate(), "shapes": figures, "mean_ratio": mean}


def _compare(shape, rounds):
    steps = {name: training_step(layer(shape.units), shape) for name, layer in LAYERS.items()}
    repetitions = max(1, round(SECONDS * min(_steps_per_second(step) for step in steps.values())))
    rates = alternate(
        {name: lambda step=step: _steps_per_second(step, repetitions) for name, step in steps.items()}, rounds
    )
    figures = {name: 1 / statistics.median(values) for name, values in rates.items()}
    figures["ratio"] = {
        name: statistics.median(ours / theirs for ours, theirs in zip(rates["ours"], rates[name], strict=True))
        for name in ("keras_rnn", "keras_gru")
    }
    return figures


def training_step(layer: keras.layers.Layer, shape: Shape) -> Callable[[], list[tf.Tensor]]:
    """A function, traced and warm, that returns the gradients of one batch."""
    sequences = tf.random.stateless_normal([shape.batch, shape.time, shape.units], seed=[1, 2])
    layer.build(sequences.shape)
    variables = [variable.value for variable in layer.trainable_variables]

    @tf.function(autograph=False)
    def gradients(sequences):
        with tf.GradientTape() as tape:
            tape.watch(sequences)
            loss = tf.reduce_sum(tf.sin(layer(sequences)))
        return tape.gradient(loss, [sequences, *variables])

    for _ in range(2):
        gradients(sequences)
    return lambda: gradients(sequences)


def _steps_per_second(step, repetitions=1):
    return repetitions / sum(seconds_of(step) for _ in range(repetitions))
