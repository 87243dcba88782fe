"""Keras's optimizers and schedules, as a `TrainingConfiguration` asks for them."""

import keras
import tensorflow as tf


def make_optimizer(configuration, total_steps):
    """The Keras optimizer of a `TrainingConfiguration`; `total_steps` is how many updates a cosine schedule spans."""
    kinds = {
        "adam": keras.optimizers.Adam,
        "adadelta": keras.optimizers.Adadelta,
        "rmsprop": keras.optimizers.RMSprop,
        "sgd": keras.optimizers.SGD,
    }
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
