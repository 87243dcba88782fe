"""Keras's optimizers and schedules, as a `TrainingConfiguration` asks for them."""

import keras
import tensorflow as tf


class _KnowsGradientNorm:
    """Keeps the norm of the whole gradient, before it is clipped by that norm, in the variable `gradient_norm`."""

    def build(self, variables):
        super().build(variables)
        self.gradient_norm = self.add_variable((), dtype="float32", name="gradient_norm")

    def _clip_gradients(self, grads):
        # Keras's own would read all gradients once more to find the same norm.
        norm = tf.linalg.global_norm([tf.cast(gradient, tf.float32) for gradient in grads])
        self.gradient_norm.assign(norm)
        if self.global_clipnorm is None:
            return grads
        kept = self.global_clipnorm / tf.maximum(norm, self.global_clipnorm)
        return [gradient * tf.cast(kept, gradient.dtype) for gradient in grads]


@keras.saving.register_keras_serializable("tfnmt")
class Adam(_KnowsGradientNorm, keras.optimizers.Adam):
    """Keras's Adam (Kingma & Ba 2015) with `gradient_norm`, each weight updated in one pass over it, not a dozen."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        beta_1, beta_2 = (tf.cast(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
        step = tf.cast(self.iterations + 1, variable.dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


@keras.saving.register_keras_serializable("tfnmt")
class Adadelta(_KnowsGradientNorm, keras.optimizers.Adadelta):
    """Keras's Adadelta (Zeiler 2012) with `gradient_norm`."""


@keras.saving.register_keras_serializable("tfnmt")
class RMSprop(_KnowsGradientNorm, keras.optimizers.RMSprop):
    """Keras's RMSprop (Tieleman & Hinton 2012) with `gradient_norm`, each weight updated in one pass over it."""

    def build(self, variables):
        super().build(variables)
        self.last_steps = self.add_optimizer_variables(self._trainable_variables, "last_step")

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyRMSProp(
            var=_handle(variable),
            ms=_handle(self._velocities[index]),
            mom=_handle(self.last_steps[index]),  # the operation wants it, though there is no momentum
            lr=tf.cast(learning_rate, variable.dtype),
            rho=self.rho,
            momentum=0.0,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


@keras.saving.register_keras_serializable("tfnmt")
class SGD(_KnowsGradientNorm, keras.optimizers.SGD):
    """Keras's gradient descent with `gradient_norm`."""


def _handle(variable):
    """What TensorFlow's own operations know a variable by."""
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle


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
