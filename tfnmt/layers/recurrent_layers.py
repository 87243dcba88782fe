"""Recurrent layers one above the other, each in one direction or both: what the encoders of sentences share."""

import keras
import tensorflow as tf

from tfnmt.layers.cells import Cell
from tfnmt.layers.options import require_whole
from tfnmt.layers.registry import CELLS
from tfnmt.layers.rnn import read_sequences, state_dropout_mask
from tfnmt.registry import find_entry

DIRECTIONS = ("forward", "backward")


def make_cells(
    cell: str, units: int, layers: int, bidirectional: bool, dtype: str, layer_normalization: bool = False
) -> list[Cell]:
    """The cells of all layers, from below, those of one layer side by side.

    One flat list: Keras saves no layers that are in a list in a list.

    Raises:
        ValueError: there is no such cell, or layers or units are no whole numbers from 1.
    """
    require_whole(1, layers=layers, units=units)
    make = find_entry("cell", cell, CELLS)
    return [
        make(units, layer_normalization, name=f"layer_{i}_{direction}", dtype=dtype)
        for i in range(layers)
        for direction in DIRECTIONS[: 2 if bidirectional else 1]
    ]


def build_cells(cells: list[Cell], directions: int, input_size: int) -> None:
    """Build the cells of `make_cells`, of which the first layer's read vectors of `input_size`."""
    for i, cell in enumerate(cells):
        cell.build((None, directions * cell.units if i >= directions else input_size))


def read_layers(
    s: tf.Tensor,
    mask: tf.Tensor,
    cells: list[Cell],
    directions: int,
    state_dropout: keras.layers.Dropout,
    training: bool | None = False,
    residual: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """All layers, each of which reads what the one below gives.

    Args:
        s: the inputs of the first, float [time, batch, size].
        mask: bool [time, batch], False at padding, which changes no state.
        cells: built ones of `make_cells`.
        directions: 1 or 2.
        state_dropout: a `Dropout` layer of h in its product with U; one mask for all times.
        training: whether to drop out.
        residual: add each layer's input to its output, from the second layer on.

    Returns:
        Of the last layer (h [time, batch, directions · units], the last h of each direction [batch, directions ·
        units]).
    """
    for i in range(0, len(cells), directions):
        h, summary = _read_layer(s, mask, cells[i : i + directions], state_dropout, training)
        s = s + h if residual and i else h
    return s, summary


def _read_layer(s, mask, cells, state_dropout, training):
    """One layer: its first cell reads forward, the second one, if there is one, backward."""
    h, summaries = [], []
    for cell, reverse in zip(cells, (False, True), strict=False):
        states = tuple(tf.cast(state, s.dtype) for state in cell.get_initial_state(tf.shape(s)[1]))
        dropout_mask = state_dropout_mask(cell, s, state_dropout, training)
        of_direction, last = read_sequences(cell, s, states, mask, dropout_mask, reverse)
        h.append(of_direction)
        summaries.append(last[0])
    return tf.concat(h, axis=-1), tf.concat(summaries, axis=-1)
