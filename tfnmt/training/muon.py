"""Muon: updates of matrices by which all directions are learned at the same pace."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.training.keras_internals import OptimizerInternals

BY_ADAM = r"(^|/)[wv]$"
"""Paths of matrices that are no map from one layer to the next: a decoder's word vectors, an attention's v."""


@keras.saving.register_keras_serializable("tfnmt")
class Muon(OptimizerInternals, keras.optimizers.Muon):
    """Keras's Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; scaled as by Liu et al. 2025,
    arXiv:2502.16982) with `gradient_norm`.

    The update of a matrix is its momentum with all singular values made nearly the same, by five Newton–Schulz
    iterations, and as large as Adam's usually is. Vectors, embeddings, the kernels of convolutions and the matrices of
    `BY_ADAM` are updated by Adam. The iterations cost as much whatever the batch's size, so batches should be large:
    128 rather than 64.

    Args:
        weight_decay: of all weights.
        iterations_dtype: of the iterations' products. "bfloat16", as in Jordan's own program, is three times as fast
            where the processor multiplies it.
        options: of Keras's class.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float | None = None,
        iterations_dtype: str = "float32",
        **options: Any,
    ):
        options = {"adam_weight_decay": weight_decay, "exclude_layers": [BY_ADAM]} | options
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
        self.iterations_dtype = iterations_dtype

    def zeropower_via_newtonschulz5(self, x: tf.Tensor, steps: int) -> tf.Tensor:
        """A matrix with all singular values made nearly 1, in the matrix's own dtype."""
        return tf.cast(super().zeropower_via_newtonschulz5(tf.cast(x, self.iterations_dtype), steps), x.dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return super().get_config() | {"iterations_dtype": self.iterations_dtype}
