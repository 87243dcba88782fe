"""All that the project needs of Keras for which it has no public name. No other file uses private names.

Of models:

- `_maybe_symbolic_build` averages the replicas' slices of a batch, only to learn the shape of one. They have different
  lengths, so that fails. The models here are built when they are made, and need no build.

Under `MultiWorkerMirroredStrategy` Keras's `fit` stumbles there, and once more where it reduces the losses of the
workers, which are scalars, along an axis (keras-team/keras#20585). So a worker's model is not made in that strategy's
scope: Keras sees one model on one device, and `tfnmt.training.workers` sums in the training step what is to be summed.

Of optimizers:

- `_clip_gradients` is where an optimizer has the gradient of a whole update, after accumulation. To compute its norm
  elsewhere would read all gradients once more.
- `_get_variable_index` finds a weight's place among an optimizer's variables under `tf.distribute` too, where an update
  is given one replica's variable.
- `_model_variables_moving_average` are the moving averages. Keras's callback `SwapEMAWeights` exchanges them and the
  weights by adding and subtracting, which changes the last bits of the weights: a run that was scored or resumed at
  another batch would then end otherwise.
- `_iterations` counts batches. `iterations` counts updates, each of several batches where gradients are accumulated.
- `_all_reduce_sum_gradients` sums the gradients of `MirroredStrategy`'s replicas after each was clipped on its own. The
  training step has summed them before, so that one norm is clipped, as with one replica.
- `_get_current_learning_rate` and `_update_model_variables_moving_average` take every batch for an update, even where
  gradients are accumulated over several; and the latter computes for every weight anew what is the same for all.

Of batches that a strategy divides among replicas:

- `_cardinality`, how many there are. Where `fit` does not know that, it begins a step to learn that there is no other
  batch, and in that step the optimizer counts an update, and layers draw random numbers.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf


class ModelInternals:
    """A mixin, before `keras.Model`, for a model that is built when it is made."""

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Nothing."""


class OptimizerInternals:
    """A mixin, before a Keras optimizer, for fused updates (`slot`) and the variable `gradient_norm`: the norm of the
    whole gradient before it is clipped. Where gradients are accumulated over batches, learning rate schedules and
    moving averages go by updates."""

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Make the optimizer's variables."""
        if not self.built:
            super().build(variables)
            self.gradient_norm = self.add_variable((), dtype="float32", name="gradient_norm")

    def add_optimizer_variables(self, trainable_variables: Any, name: Any, initializer: Any = "zeros") -> Any:
        """Keras's; also keeps the variables by their name, for `slot`."""
        made = super().add_optimizer_variables(trainable_variables, name, initializer)
        lists = zip([name], [made], strict=True) if isinstance(name, str) else zip(name, made, strict=True)
        self.__dict__.setdefault("slots", {}).update(lists)
        return made

    def slot(self, name: str, variable: Any) -> Any:
        """The handle of what the optimizer keeps of that name (Keras's: "momentum", "velocity") for a weight."""
        return variable_handle(self.slots[name][self._get_variable_index(variable)])

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return grads_and_vars

    def _clip_gradients(self, grads):
        norm = tf.linalg.global_norm([tf.cast(gradient, tf.float32) for gradient in grads])
        self.gradient_norm.assign(tf.minimum(norm, norm.dtype.max))  # finite where squares overflow: no update follows
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        scale = self.global_clipnorm / tf.maximum(norm, self.global_clipnorm)
        return [gradient * tf.cast(scale, gradient.dtype) for gradient in grads]

    def _get_current_learning_rate(self):
        if isinstance(self._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return super()._get_current_learning_rate()

    def _update_model_variables_moving_average(self, trainable_variables):
        steps = self.gradient_accumulation_steps
        if not steps:
            return self._update_averages(trainable_variables)
        is_due = ((self._iterations + 1) % steps == 0) | (self._iterations == 0)  # at first, the average is the weights
        return keras.ops.cond(is_due, lambda: self._update_averages(trainable_variables), lambda: None)

    def _update_averages(self, trainable_variables):
        """As Keras's, by fewer operations."""
        momentum = tf.where(self.iterations == 0, 0.0, self.ema_momentum)
        rest = 1 - momentum
        for weight, average in zip(trainable_variables, self._model_variables_moving_average, strict=True):
            average.assign(momentum * tf.convert_to_tensor(average) + rest * tf.convert_to_tensor(weight))


def trained_batches(optimizer: keras.optimizers.Optimizer) -> int:
    """How many batches an optimizer has been given the gradients of."""
    return int(optimizer._iterations)


def variable_handle(variable: Any) -> tf.Tensor:
    """The resource by which TensorFlow's raw operations know a variable of Keras or TensorFlow."""
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle


@contextlib.contextmanager
def averaged_weights(model: keras.Model) -> Iterator[None]:
    """Within the block, the model has the moving averages of its weights (Polyak & Juditsky 1992), if there are any."""
    if not model.optimizer.use_ema:
        yield
        return
    trained = [variable.numpy() for variable in model.trainable_variables]
    averages = model.optimizer._model_variables_moving_average
    for variable, average in zip(model.trainable_variables, averages, strict=True):
        variable.assign(average)
    try:
        yield
    finally:
        for variable, value in zip(model.trainable_variables, trained, strict=True):
            variable.assign(value)


def set_number_of_batches(divided: tf.distribute.DistributedDataset, number: int) -> None:
    """Tell how many batches a strategy has divided."""
    divided._cardinality = number
