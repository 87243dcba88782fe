"""The weights of translators for products in int8."""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf

from tfnmt.layers.bounds import Bounds, decoder_bounds, encoder_bounds
from tfnmt.layers.int8 import LEVELS, Int8Matrix, int8_matrices, require_int8
from tfnmt.quantization import StoredWeights


class Int8Weights(StoredWeights):
    """A copy of the weights of translators, whose matrices are int8: stored so, and multiplied so.

    Args:
        models: `Translator`s.

    Raises:
        UserError: this machine has no products in int8.
    """

    def __init__(self, models: Sequence[keras.Model]):
        require_int8()
        super().__init__(models, "int8")
        bounds: Bounds = {}
        for model in models:
            bounds |= encoder_bounds(model.encoder) | decoder_bounds(model.decoder, model.encoder)
        # (bound or None,) of a matrix that is multiplied in int8; None of any other weight.
        of_weights = (id(weight) for model in models for weight in model.weights)
        self._bounds = [(bounds[key],) if key in bounds else None for key in of_weights]

    @contextlib.contextmanager
    def in_use(self, models: Sequence[keras.Model]) -> Iterator[None]:
        """`with weights.in_use(models):` the same models compute with the stored weights within it, in int8."""
        matrices, others = {}, []
        weights = (weight for model in models for weight in model.weights)
        for weight, stored, bound in zip(weights, self._stored, self._bounds, strict=True):
            if bound is None:
                others.append((weight, stored()))
            else:
                values, limits = tf.convert_to_tensor(stored.value), LEVELS * tf.reshape(stored.scale, [-1])
                matrices[id(weight)] = Int8Matrix(values, limits, *bound, transposed=stored.is_table)
        with keras.StatelessScope(state_mapping=others), int8_matrices(matrices):
            yield
