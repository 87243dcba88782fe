"""Checkpoints of a run: weights, optimizer, dropout's random state and progress, the newest few of them."""

import re
import shutil
import sys
from pathlib import Path

import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.files import saving


class Checkpoints:
    """Saves and restores a run, with `tf.train.Checkpoint`, which checks what it reads.

    Each is a pair of files, step-N.data-00000-of-00001 and, written last, step-N.index. Which are there is read off the
    directory, so that no list of them can be wrong.

    Args:
        directory: where checkpoints are kept; made when the first is saved.
        model: a compiled Keras model with a built optimizer.
        progress: the run's `Progress`.
        keep: how many of the newest are kept.
    """

    def __init__(self, directory, model, progress, keep):
        self.directory = Path(directory)
        self.progress, self.keep = progress, keep
        self.text = tf.Variable(progress.to_tensor())
        # In their order and not by name: Keras counts on in the names of what one process makes.
        self.variables = [variable.value for variable in model.variables + model.optimizer.variables]
        self.checkpoint = tf.train.Checkpoint(progress=self.text, variables=self.variables)

    def newest(self):
        """The path of the newest checkpoint, without ".index"; None if there is none."""
        return next((self.directory / name for name in self._newest_first()), None)

    def all_finite(self):
        """Whether no weight and nothing of the optimizer is infinite or not a number."""
        floats = [variable for variable in self.variables if variable.dtype.is_floating]
        return all(bool(tf.reduce_all(tf.math.is_finite(variable))) for variable in floats)

    def save(self):
        """Write a checkpoint, then delete the oldest beyond `keep`.

        Raises:
            UserError: the disk is full or refuses otherwise; the half-written checkpoint is removed, older ones stay.
        """
        name = f"step-{self.progress.steps}"
        self.text.assign(self.progress.to_tensor())
        try:
            with saving(self.directory / name):
                self.directory.mkdir(parents=True, exist_ok=True)
                self.checkpoint.write(str(self.directory / name))
        except UserError:
            self._remove_all_but(kept for kept in self._newest_first() if kept != name)
            raise
        self._remove_all_but(self._newest_first()[: self.keep])

    def restore(self):
        """Go back to the newest checkpoint that can be read; True if there is one, False if there is none at all.

        Raises:
            UserError: there are some, and none of them can be read.
        """
        found = self._newest_first()
        for i, name in enumerate(found):
            try:
                self.checkpoint.read(str(self.directory / name)).assert_existing_objects_matched()
                self.progress.restore(self.text.numpy())
            except Exception as error:  # TensorFlow has many kinds for a broken file
                reason = str(error).strip().splitlines()[0][:200]
                print(
                    f"{self.directory / name}: this checkpoint cannot be read, trying the one before it ({reason})",
                    file=sys.stderr,
                )
            else:
                self._remove_all_but(found[i:])
                return True
        if found:
            raise UserError(f"{self.directory}: no checkpoint there can be read; train anew, in another directory")
        return False

    def _newest_first(self):
        return checkpoint_names(self.directory)

    def _remove_all_but(self, kept):
        """Remove other checkpoints, and what is left of any that were never finished."""
        kept = set(kept)
        for path in sorted(self.directory.glob("step-*"), reverse=True):  # the .index before its .data
            name = path.name.split(".")[0].removesuffix("_temp")
            if _step(name) and (name not in kept or path.is_dir()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def checkpoint_names(directory):
    """The names of the checkpoints in a directory, such as "step-500", newest first."""
    names = [path.stem for path in Path(directory).glob("step-*.index") if _step(path.stem)]
    return sorted(names, key=lambda name: int(_step(name)[1]), reverse=True)


def _step(name):
    return re.fullmatch(r"step-(\d+)", name)
