"""Checkpoints of a run: weights, optimizer, dropout's random state and progress, the newest few of them."""

import re
import sys
from pathlib import Path

import tensorflow as tf

from tfnmt.training.files import saving


class Checkpoints:
    """Saves and restores a run, with `tf.train.Checkpoint`, which writes files whole and checks what it reads.

    Args:
        directory: where checkpoints are kept.
        model: a compiled Keras model with a built optimizer.
        progress: the run's `Progress`.
        keep: how many of the newest are kept.
    """

    def __init__(self, directory, model, progress, keep):
        self.directory = Path(directory)
        self.model, self.progress = model, progress
        self.text = tf.Variable(progress.to_tensor())
        variables = {variable.path: variable.value for variable in model.variables + model.optimizer.variables}
        self.checkpoint = tf.train.Checkpoint(progress=self.text, variables=variables)
        self.manager = tf.train.CheckpointManager(self.checkpoint, str(directory), keep, checkpoint_name="step")

    def save(self):
        """Write a checkpoint, then delete the oldest beyond `keep`.

        Raises:
            UserError: the disk is full or refuses otherwise; the half-written checkpoint is removed, older ones stay.
        """
        self.text.assign(self.progress.to_tensor())
        name = f"step-{self.progress.steps}"
        try:
            with saving(self.directory / name):
                self.manager.save(checkpoint_number=self.progress.steps)
        except BaseException:
            for rest in self.directory.glob(f"{name}*temp*"):
                rest.unlink()
            raise

    def restore(self):
        """Go back to the newest checkpoint that can be read; True if there is one."""
        for path in self._newest_first():
            try:
                self.checkpoint.restore(path).assert_existing_objects_matched()
                self.progress.restore(self.text.numpy())
            except (tf.errors.OpError, AssertionError, ValueError) as error:
                reason = str(error).strip().splitlines()[0][:200]
                print(
                    f"{path}: this checkpoint cannot be read, trying the one before it ({reason})",
                    file=sys.stderr,
                )
            else:
                return True
        return False

    def _newest_first(self):
        found = {int(match[1]): match[0] for path in self.directory.glob("step-*.index") if (match := _step(path))}
        return [str(self.directory / found[step]) for step in sorted(found, reverse=True)]


def _step(path):
    return re.fullmatch(r"step-(\d+)", path.stem)
