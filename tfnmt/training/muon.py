"""Muon: updates of matrices whose directions all have the same length."""

from typing import Any

import keras

from tfnmt.training.keras_internals import OptimizerInternals


@keras.saving.register_keras_serializable("tfnmt")
class Muon(OptimizerInternals, keras.optimizers.Muon):
    """Keras's Muon (Jordan et al. 2024) with `gradient_norm`, and Adam for what is no matrix of a layer."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float | None = None, **options: Any):
        options = {"adam_weight_decay": weight_decay, "exclude_layers": [r"(^|/)[wv]$"]} | options
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
