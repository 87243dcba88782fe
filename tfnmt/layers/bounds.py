"""How large the values become that a translator's matrices are multiplied with: the scales of products in int8.

No text is needed to know it. A state of a GRU or an LSTM is within ±1 (`Cell.is_bounded`), and so are means of such
states and what comes out of tanh; where layers are added to their inputs, the bounds are added. Words' vectors are rows
of a given table. Maxout has no bound.
"""

import keras
import numpy as np

from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder

Bounds = dict[int, float | None]
"""By the `id` of a matrix's variable: the largest absolute value of what it is multiplied with, or None: not known."""


def encoder_bounds(encoder: Encoder) -> Bounds:
    """Those of the encoder's matrices, and of its table."""
    bounds: Bounds = {id(encoder.E.embeddings): 1.0}
    for i, cell in enumerate(encoder.cells):
        layer = i // encoder.directions
        bounds[id(cell.W)] = _after(layer, encoder.residual) if layer else _largest(encoder.E.embeddings)
        bounds[id(cell.U)] = 1.0
    return bounds


def decoder_bounds(decoder: Decoder, encoder: Encoder) -> Bounds:
    """Those of the decoder's matrices, and of its table, if it reads that encoder."""
    word = _largest(decoder.E.embeddings)
    context = _after(len(encoder.cells) // encoder.directions, encoder.residual) if decoder.attention else 1.0
    state = _after(1 + len(decoder.upper), decoder.residual)
    readout = 1.0 if decoder.readout else state
    has_bound = not decoder.readout or decoder.readout.activation == "tanh"  # maxout has none
    bounds: Bounds = {id(layer.kernel): 1.0 for layer in decoder.initial}
    bounds[id(decoder.first.W)] = word if decoder.attention else max(word, context)
    for i, cell in enumerate(decoder.upper, start=1):
        bounds[id(cell.W)] = max(_after(i, decoder.residual), context)
    if decoder.second:
        bounds[id(decoder.second.W)] = context
        bounds[id(decoder.second.U)] = 1.0
    for cell in (decoder.first, *decoder.upper):
        bounds[id(cell.U)] = 1.0
    if decoder.attention:
        bounds |= {id(matrix): bound for matrix, bound in decoder.attention.factors(1.0, context)}
    if decoder.readout:
        readout_bounds = {"W_1": state, "W_2": word, "W_3": context}
        bounds |= {id(getattr(decoder.readout, name)): bound for name, bound in readout_bounds.items()}
    if decoder.attend_first:
        bounds[id(decoder.W_c)] = context
    if decoder.input_feeding:
        bounds[id(decoder.W_f)] = readout
    bounds[id(decoder.E.embeddings)] = readout  # as the matrix of the logits, if it is that too
    if not decoder.tied_embeddings:
        bounds[id(decoder.w)] = readout if has_bound else None
    return bounds


def _after(layers: int, residual: bool) -> float:
    """The bound of what comes out of so many recurrent layers, of which all but the first add their input."""
    return float(layers) if residual else 1.0


def _largest(table: keras.Variable) -> float:
    return float(np.max(np.abs(table.numpy())))
