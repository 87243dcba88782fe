"""Keras's optimizers and schedules, as a `TrainingConfiguration` asks for them."""

import keras
import tensorflow as tf


class _KnowsGradientNorm:
    """Keeps the norm of the whole gradient, before it is clipped, in the variable `gradient_norm`."""

    def build(self, variables):
        super().build(variables)
        self.gradient_norm = self.add_variable((), dtype="float32", name="gradient_norm")

    def apply(self, grads, trainable_variables=None):
        super().apply(grads, trainable_variables)
        self.gradient_norm.assign(tf.linalg.global_norm([tf.cast(gradient, tf.float32) for gradient in grads]))


@keras.saving.register_keras_serializable("tfnmt")
class Adam(_KnowsGradientNorm, keras.optimizers.Adam):
    """Keras's Adam (Kingma & Ba 2015) with `gradient_norm`."""


@keras.saving.register_keras_serializable("tfnmt")
class Adadelta(_KnowsGradientNorm, keras.optimizers.Adadelta):
    """Keras's Adadelta (Zeiler 2012) with `gradient_norm`."""


@keras.saving.register_keras_serializable("tfnmt")
class RMSprop(_KnowsGradientNorm, keras.optimizers.RMSprop):
    """Keras's RMSprop (Tieleman & Hinton 2012) with `gradient_norm`."""


@keras.saving.register_keras_serializable("tfnmt")
class SGD(_KnowsGradientNorm, keras.optimizers.SGD):
    """Keras's gradient descent with `gradient_norm`."""


def make_optimizer(configuration, total_steps):
    """The Keras optimizer of a `TrainingConfiguration`; `total_steps` is how many updates a cosine schedule spans."""
    kinds = {"adam": Adam, "adadelta": Adadelta, "rmsprop": RMSprop, "sgd": SGD}
    options = {"global_clipnorm": configuration.clip_norm}
    if configuration.weight_decay:
        options["weight_decay"] = configuration.weight_decay
    if configuration.accumulation_steps > 1:
        options["gradient_accumulation_steps"] = configuration.accumulation_steps
    if configuration.weight_average:
        options |= {"use_ema": True, "ema_momentum": configuration.weight_average}
    return kinds[configuration.optimizer](_learning_rate(configuration, total_steps), **options)


def _learning_rate(configuration, total_steps):
    highest, warmup = configuration.learning_rate, configuration.warmup_steps
    if configuration.schedule == "cosine":
        falling = max(1, total_steps - warmup)
        if not warmup:
            return keras.optimizers.schedules.CosineDecay(highest, falling)
        return keras.optimizers.schedules.CosineDecay(0.0, falling, warmup_target=highest, warmup_steps=warmup)
    if configuration.schedule == "inverse_square_root":
        return InverseSquareRoot(highest, max(1, warmup))
    if warmup:
        return Warmup(highest, warmup)
    return highest  # a number becomes a variable of the optimizer, which the plateau schedule halves


@keras.saving.register_keras_serializable("tfnmt")
class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    """Grows in a straight line to `highest` over `steps` updates, and stays."""

    def __init__(self, highest, steps):
        self.highest, self.steps = highest, steps

    def __call__(self, step):
        return self.highest * tf.minimum(1.0, (tf.cast(step, tf.float32) + 1.0) / self.steps)

    def get_config(self):
        return {"highest": self.highest, "steps": self.steps}


@keras.saving.register_keras_serializable("tfnmt")
class InverseSquareRoot(Warmup):
    """Grows as `Warmup`, then falls with 1/√step (Vaswani et al. 2017, section 5.3)."""

    def __call__(self, step):
        falling = tf.sqrt(self.steps / tf.maximum(tf.cast(step, tf.float32) + 1.0, self.steps))
        return super().__call__(step) * falling
