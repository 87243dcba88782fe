"""What all layers have in common that make a parent of two children."""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from tfnmt.layers.invariants import LoopInvariants, invariants_for_one_step


class Composition(keras.layers.Layer):
    """Two children, each (h, c), and optionally the tracker's state become their parent: what REDUCE does.

    A subclass has its weights by `build`, names those that `step` needs by `loop_weights` and `loop_constants`, and
    computes in `step`.

    Args:
        units: size of h.
        tracker_units: size of the tracker's state; 0 for none.
    """

    has_memory: ClassVar[bool]
    """Whether a phrase has a c of the size of h; without one it has size 0."""

    def __init__(self, units: int, tracker_units: int = 0, **options: Any):
        super().__init__(**options)
        self.units = units
        self.tracker_units = tracker_units

    @property
    def input_size(self) -> int:
        """The size of what `inputs` returns."""
        return 2 * self.units + self.tracker_units

    def build(self, input_shape: list[tuple] | None = None) -> None:
        """`input_shape`: those of the children's h, [parents, 2, units], and c, [parents, 2, units or 0].

        Raises:
            ValueError: h has another size than `units`.
        """
        if input_shape is not None and input_shape[0][-1] != self.units:
            raise ValueError(f"children of units={self.units} have size {self.units}, not {input_shape[0][-1]}")

    def call(
        self, children: tuple[tf.Tensor, tf.Tensor], tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Compose parents.

        Args:
            children: (h, c) of the children, float [parents, 2, units] and [parents, 2, units or 0], the left child
                first.
            tracking: h of the tracker, float [parents, tracker_units]; unused where tracker_units is 0.

        Returns:
            (h, c) of the parents, float [parents, units] and [parents, units or 0].

        Raises:
            ValueError: there is no tracking, and tracker_units is not 0.
        """
        if self.tracker_units and tracking is None:
            raise ValueError(f"tracking is missing: with tracker_units={self.tracker_units} the parents depend on it")
        return self.step(*children, invariants_for_one_step(self.loop_weights(), self.loop_constants()), tracking)

    def inputs(self, h: tf.Tensor, tracking: tf.Tensor | None) -> tf.Tensor:
        """[h_l; h_r; h_tracker], float [parents, input_size]."""
        h = tf.reshape(h, [-1, 2 * self.units])
        return tf.concat([h, tracking], axis=1) if self.tracker_units else h

    def loop_weights(self) -> dict[str, tf.Tensor]:
        """The matrices that `step` multiplies with, by name."""
        raise NotImplementedError

    def loop_constants(self) -> dict[str, tf.Tensor]:
        """The other tensors that `step` needs, by name."""
        raise NotImplementedError

    def step(
        self, h: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants, tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`call` in a loop that has the weights in its `invariants`; h and c are the children's."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        return {**super().get_config(), "units": self.units, "tracker_units": self.tracker_units}
