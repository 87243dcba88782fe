"""How long a recurrence remembers: an LSTM beside a simple recurrence, by the number of steps in between.

Every step has a random sign, and the first step a mark; after the last step, the sign at the mark is asked for (the
adding problem of Hochreiter and Schmidhuber 1997 with a single summand). A simple recurrence h' = tanh(sW + hU + b)
multiplies what it has read by U again in every step; an LSTM's memory c is only scaled by its forget gate, and added
to.
"""

from collections.abc import Sequence

import keras
import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure
from tfnmt.layers.cells import LSTMCell
from tfnmt.layers.rnn import RNN

UNITS, BATCH, STEPS = 16, 64, 500
LENGTHS = (5, 10, 20, 50, 100, 200)
OPEN = 4.0
"""What is added to the bias of the LSTM's forget gate at first, so that it begins nearly open: σ(1 + 4) = 0.993."""


def sequences(count: int, length: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Float32 [count, length, 2], signs −1 or 1 and the mark, 1 at the first step and 0 after it; and the marked sign
    as a class, 0 or 1 [count]."""
    signs = np.random.default_rng(seed).integers(2, size=[count, length])
    marks = np.zeros([count, length])
    marks[:, 0] = 1
    return np.stack([2 * signs - 1, marks], axis=-1).astype(np.float32), signs[:, 0]


def recurrent_classifier(kind: str, length: int, seed: int) -> keras.Model:
    """ "LSTM" or "simple", then a logistic regression on its last state: [batch, length, 2] → [batch, 1]."""
    keras.utils.set_random_seed(seed)
    recurrence = RNN(LSTMCell(UNITS)) if kind == "LSTM" else keras.layers.SimpleRNN(UNITS)
    model = keras.Sequential([keras.Input([length, 2]), recurrence, keras.layers.Dense(1)])
    if kind == "LSTM":
        blocks = [np.zeros(UNITS), np.full(UNITS, OPEN), np.zeros(UNITS), np.zeros(UNITS)]  # i, f, o, g
        recurrence.cell.b.assign(np.concatenate(blocks))
    return model


def remembers(kind: str, length: int, steps: int = STEPS, seed: int = 1) -> float:
    """The share of 500 new sequences that are right after so many batches of training by Adam."""
    model = recurrent_classifier(kind, length, seed)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01, global_clipnorm=1.0), loss)
    inputs, labels = sequences(steps * BATCH, length, seed + 1)
    model.fit(inputs, labels.astype(np.float32), batch_size=BATCH, verbose=0, shuffle=False)
    new, expected = sequences(500, length, seed + 2)
    return float(np.mean((model.predict(new, batch_size=500, verbose=0)[:, 0] > 0) == expected))


def show(lengths: Sequence[int] = LENGTHS, steps: int = STEPS) -> tuple[Figure, str]:
    """What both remember, by the length of the sequences."""
    figure = new_figure(6.5, 3.8)
    axes, said = figure.subplots(), []
    for kind, color, marker in (("LSTM", BLUE, "o"), ("simple", ORANGE, "^")):
        right = [remembers(kind, length, steps) for length in lengths]
        label = "LSTM" if kind == "LSTM" else "simple recurrence"
        axes.plot(lengths, right, color=color, marker=marker, label=label)
        said.append(f"{label}: " + ", ".join(f"{share:.0%} over {n}" for n, share in zip(lengths, right, strict=True)))
    axes.axhline(0.5, color="grey", linestyle=":", label="chance")
    axes.set(xscale="log", xlabel="steps of a sequence", ylabel="new sequences right", ylim=(0.4, 1.03))
    axes.set_xticks(list(lengths), [str(length) for length in lengths])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    return figure, "; ".join(said)
