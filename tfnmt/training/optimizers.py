"""Keras's optimizers and schedules, as a `TrainingConfiguration` asks for them."""

import functools
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfnmt.training.configuration import OPTIMIZERS, TrainingConfiguration
from tfnmt.training.keras_internals import OptimizerInternals, variable_handle


@keras.saving.register_keras_serializable("tfnmt")
class Adam(OptimizerInternals, keras.optimizers.Adam):
    """Keras's Adam (Kingma & Ba 2015) with `gradient_norm`. Each weight is updated by one operation, not a dozen; with
    `amsgrad`, as Keras does it.

    Of a sparse gradient with repeated rows, such as an `Embedding`'s, the operation sums the rows of one word before it
    squares them, as if the gradient were dense; Keras squares them apart.
    """

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: Any) -> None:
        """One update of one weight."""
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        beta_1, beta_2 = (tf.cast(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
        step = tf.cast(self.iterations + 1, variable.dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable_handle(variable),
            m=self.slot("momentum", variable),
            v=self.slot("velocity", variable),
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


@keras.saving.register_keras_serializable("tfnmt")
class Adadelta(OptimizerInternals, keras.optimizers.Adadelta):
    """Keras's Adadelta (Zeiler 2012) with `gradient_norm`."""


@keras.saving.register_keras_serializable("tfnmt")
class RMSprop(OptimizerInternals, keras.optimizers.RMSprop):
    """Keras's RMSprop (Tieleman & Hinton 2012) with `gradient_norm`. Each weight is updated by one operation; if
    `centered`, as Keras does it.

    The operation writes each step into a variable as large as the weight, the momentum's. It has to be there without
    momentum too, as the operation's working memory. It sums the rows of a sparse gradient as that of `Adam` does.
    """

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Make the optimizer's variables."""
        if not self.built:
            super().build(variables)
            if not self.momentum and not self.centered:
                self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: Any) -> None:
        """One update of one weight."""
        if self.centered:
            super().update_step(gradient, variable, learning_rate)
            return
        tf.raw_ops.ResourceApplyRMSProp(
            var=variable_handle(variable),
            ms=self.slot("velocity", variable),
            mom=self.slot("momentum", variable),
            lr=tf.cast(learning_rate, variable.dtype),
            rho=self.rho,
            momentum=self.momentum,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


@keras.saving.register_keras_serializable("tfnmt")
class SGD(OptimizerInternals, keras.optimizers.SGD):
    """Keras's gradient descent with `gradient_norm`, and a momentum that may grow.

    Args:
        momentum: of all updates, or the highest.
        momentum_steps: after so many updates each, the momentum's distance to 1, at first 1/2, is divided by 2, 3, 4 …:
            μ_t = min(1 − 2^(−1 − log₂(⌊t / steps⌋ + 1)), momentum) (Sutskever et al. 2013, "On the importance of
            initialization and momentum in deep learning", equation 5, where it is 250). None: it does not grow.
        options: of Keras's class.
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        momentum_steps: int | None = None,
        name: str = "SGD",
        **options: Any,
    ):
        super().__init__(learning_rate, momentum, nesterov, name=name, **options)
        self.momentum_steps = momentum_steps

    def momentum_at(self, update: tf.Tensor) -> tf.Tensor:
        """The momentum of an update, counted from 0; a float32 scalar."""
        if self.momentum_steps is None:
            return tf.constant(self.momentum)
        growing = 1 - 0.5 / (tf.cast(update // self.momentum_steps, tf.float32) + 1)
        return tf.minimum(growing, self.momentum)

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: Any) -> None:
        """One update of one weight."""
        if self.momentum_steps is None:
            super().update_step(gradient, variable, learning_rate)
            return
        tf.raw_ops.ResourceApplyKerasMomentum(
            var=variable_handle(variable),
            accum=self.slot("momentum", variable),
            lr=tf.cast(learning_rate, variable.dtype),
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
            momentum=tf.cast(self.momentum_at(self.iterations), variable.dtype),
            use_nesterov=self.nesterov,
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return super().get_config() | {"momentum_steps": self.momentum_steps}


def make_optimizer(configuration: TrainingConfiguration, total_updates: int) -> keras.optimizers.Optimizer:
    """The optimizer that a configuration asks for; `total_updates` is how many updates a cosine schedule spans.

    Its class is that of the registry, or one derived from it by `OptimizerInternals`, without which Keras would count
    batches for updates, and sum the gradients of several replicas twice.
    """
    options: dict[str, Any] = {"global_clipnorm": configuration.clip_norm}
    for key in ("momentum", "nesterov", "momentum_steps"):
        if getattr(configuration, key):
            options[key] = getattr(configuration, key)
    if configuration.weight_decay:
        options["weight_decay"] = configuration.weight_decay
    if configuration.accumulation_steps > 1:
        options["gradient_accumulation_steps"] = configuration.accumulation_steps
    if configuration.weight_average:
        options |= {"use_ema": True, "ema_momentum": configuration.weight_average}
    if configuration.optimizer == "muon" and configuration.mixed_precision:
        options["iterations_dtype"] = "bfloat16"
    cls = OPTIMIZERS[configuration.optimizer]
    return _with_internals(cls)(_learning_rate(configuration, total_updates), **options)


@functools.cache
def _with_internals(cls):
    """A class of optimizers that has `OptimizerInternals`. A `.keras` file names it as the class that was given, which
    Keras can find again."""
    if issubclass(cls, OptimizerInternals):
        return cls
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (OptimizerInternals, cls), names)


def _learning_rate(configuration, total_updates):
    highest, warmup = configuration.learning_rate, configuration.warmup_steps
    if configuration.schedule == "cosine":
        falling = max(1, total_updates - warmup)
        if not warmup:
            return keras.optimizers.schedules.CosineDecay(highest, falling)
        return keras.optimizers.schedules.CosineDecay(0.0, falling, warmup_target=highest, warmup_steps=warmup)
    if configuration.schedule == "inverse_square_root":
        return InverseSquareRoot(highest, max(1, warmup))
    if warmup:
        return Warmup(highest, warmup)
    return highest  # becomes a variable of the optimizer, which the plateau schedule halves


@keras.saving.register_keras_serializable("tfnmt")
class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    """Grows linearly to `highest` over `steps` updates, then stays."""

    def __init__(self, highest: float, steps: int):
        self.highest, self.steps = highest, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """The learning rate of that update, counted from 0."""
        return self.highest * tf.minimum(1.0, (tf.cast(step, tf.float32) + 1.0) / self.steps)

    def get_config(self) -> dict[str, float]:
        """The arguments of the class."""
        return {"highest": self.highest, "steps": self.steps}


@keras.saving.register_keras_serializable("tfnmt")
class InverseSquareRoot(Warmup):
    """Grows as `Warmup`, then falls with 1/√step (Vaswani et al. 2017, section 5.3)."""

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """The learning rate of that update, counted from 0."""
        falling = tf.sqrt(self.steps / tf.maximum(tf.cast(step, tf.float32) + 1.0, self.steps))
        return super().__call__(step) * falling
