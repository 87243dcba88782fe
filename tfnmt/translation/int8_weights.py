"""The weights of translators for products in int8."""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.files import digest
from tfnmt.layers.bounds import Bounds, decoder_bounds, encoder_bounds
from tfnmt.layers.int8 import LEVELS, Int8Matrix, int8_matrices, weight_levels
from tfnmt.layers.product_timing import is_faster_in_float32
from tfnmt.quantization import StoredWeights


def weights_digest(models: Sequence[keras.Model]) -> str:
    """The digest of all weights as they are now, by which it is known that they have changed. About 1 GB a second: far
    less than it takes to make `Int8Weights`."""
    found = digest()
    for model in models:
        for weight in model.weights:
            found.update(weight.numpy().tobytes())
    return found.hexdigest()


class Int8Weights(StoredWeights):
    """A copy of the weights of translators, whose matrices are int8: stored so, and multiplied so.

    Args:
        models: `Translator`s.
        float32_products: sizes [in, out] of matrices that are stored as int8 too, but multiplied in float32.

    Attributes:
        levels: the largest int8 of a weight, the largest with which this machine's products are exact.

    Raises:
        UserError: this machine has no products in int8, or the states of a model's cell have no known bound.
    """

    def __init__(self, models: Sequence[keras.Model], float32_products: Sequence[tuple[int, int]] = ()):
        self.levels = weight_levels()
        super().__init__(models, "int8", self.levels)
        bounds: Bounds = {}
        for model in models:
            bounded = all(cell.is_bounded for cell in model.encoder.cells)
            without = f"float32 or bfloat16 with cell={model.configuration.cell}, whose states may exceed ±1"
            require(bounded, "precision", "int8", f"{without} (Cell.is_bounded)")
            bounds |= encoder_bounds(model.encoder) | decoder_bounds(model.decoder, model.encoder)
        # (bound or None,) of a matrix that is multiplied in int8; None of any other weight.
        of_weights = (id(weight) for model in models for weight in model.weights)
        self._bounds = [(bounds[key],) if key in bounds else None for key in of_weights]
        for i, matrix in self._matrices():
            if tuple(matrix.shape) in float32_products:
                self._bounds[i] = None

    def sizes_faster_in_float32(self) -> tuple[tuple[int, int], ...]:
        """The sizes [in, out] of those matrices whose products this machine computes faster in float32, as
        measured."""
        by_size = {tuple(matrix.shape): matrix for _, matrix in self._matrices()}
        return tuple(size for size in sorted(by_size) if is_faster_in_float32(by_size[size]))

    @contextlib.contextmanager
    def in_use(self, models: Sequence[keras.Model]) -> Iterator[None]:
        """`with weights.in_use(models):` the same models compute with the stored weights within it, in int8."""
        weights = [weight for model in models for weight in model.weights]
        matrices = {id(weights[i]): matrix for i, matrix in self._matrices()}
        others = [(weights[i], self._stored[i]()) for i, bound in enumerate(self._bounds) if bound is None]
        with keras.StatelessScope(state_mapping=others), int8_matrices(matrices):
            yield

    def _matrices(self) -> Iterator[tuple[int, Int8Matrix]]:
        """Those that are multiplied in int8, each with its position among the weights."""
        for i, (stored, bound) in enumerate(zip(self._stored, self._bounds, strict=True)):
            if bound is not None:
                values, limits = tf.convert_to_tensor(stored.value), LEVELS * tf.reshape(stored.scale, [-1])
                yield i, Int8Matrix(values, limits, *bound, transposed=stored.is_table)
