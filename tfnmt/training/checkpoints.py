"""Checkpoints of a run: weights, optimizer, dropout's random state and progress, the newest few of them."""

import logging
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.files import file_errors
from tfnmt.training.progress import Progress

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable-"

# Of a file that is missing, broken or of another model: TensorFlow's own errors; those that its reader of checkpoints
# turns a status into (IndexError, RuntimeError, ValueError); AssertionError for a variable that is not there.
READING_ERRORS = (OSError, tf.errors.OpError, IndexError, RuntimeError, ValueError, AssertionError)


class Checkpoints:
    """Saves and restores a run with `tf.train.Checkpoint`, which verifies what it reads.

    A checkpoint is two files, step-N.data-00000-of-00001 and, written last, step-N.index. The directory itself is the
    list of checkpoints; there is no second list that could disagree with it.

    Args:
        directory: where checkpoints are; made, in a directory that is there, when the first is saved.
        model: a compiled Keras model with a built optimizer.
        progress: the run's progress.
        keep: how many of the newest to keep.
    """

    def __init__(self, directory: str | Path, model: keras.Model, progress: Progress, keep: int):
        self.directory = Path(directory)
        self.progress, self.keep = progress, keep
        self.passing: str | None = None
        self.text = tf.Variable(progress.to_text())
        # By their order, not by name: Keras numbers the names of all that one process makes.
        self.variables = [variable.value for variable in model.variables + model.optimizer.variables]
        self.checkpoint = tf.train.Checkpoint(progress=self.text, variables=self.variables)

    def newest(self) -> Path | None:
        """The path of the newest checkpoint, without ".index"; None if there is none."""
        return next((self.directory / name for name in checkpoint_names(self.directory)), None)

    def require_space(self) -> None:
        """Raise `UserError` unless the disk has room for the checkpoints to come: those kept, and the next."""
        size = sum(variable.dtype.size * variable.shape.num_elements() for variable in self.variables)
        to_come = max(1, self.keep + 1 - len(checkpoint_names(self.directory)))
        free = shutil.disk_usage(self.directory.parent).free
        if free < to_come * size:
            raise UserError(
                f"{self.directory}: there is room for {free // size} checkpoints of {size / 1e6:,.1f} MB, and"
                f" {to_come} are to come; free some, keep fewer (keep_checkpoints), or name another --output"
            )

    def all_finite(self) -> bool:
        """Whether all weights and all variables of the optimizer are finite."""
        floats = [variable for variable in self.variables if variable.dtype.is_floating]
        return all(bool(tf.reduce_all(tf.math.is_finite(variable))) for variable in floats)

    def save(self, passing: bool = False) -> None:
        """Write a checkpoint, then delete the oldest beyond `keep`.

        Args:
            passing: whether it is deleted once there is the next one, instead of being one of those kept.

        Raises:
            UserError: the file system refuses, for example because it is full; the half-written checkpoint is removed,
                those that were there stay.
        """
        name, before = f"step-{self.progress.steps}", checkpoint_names(self.directory)
        self.progress.passing = passing
        self.text.assign(self.progress.to_text())
        try:
            with file_errors(self.directory / name):
                self.directory.mkdir(exist_ok=True)
                self.checkpoint.write(str(self.directory / name))
        except UserError:
            self._remove_all_but(before)  # one of this step may have been among them
            raise
        names = [other for other in checkpoint_names(self.directory) if other != self.passing or other == name]
        self._remove_all_but(names[: self.keep])
        self.passing = name if passing else None

    def restore(self) -> bool:
        """Go back to the newest checkpoint that can be read. Newer ones are set aside, as unreadable-step-N.

        Returns:
            Whether there is a checkpoint.

        Raises:
            UserError: there are some, and none of them can be read.
        """
        names = checkpoint_names(self.directory)
        for i, name in enumerate(names):
            try:
                self.checkpoint.read(str(self.directory / name)).assert_existing_objects_matched()
                self.progress.restore(self.text.numpy())
                self.passing = name if self.progress.passing else None
            except READING_ERRORS as error:
                reason = str(error).strip().splitlines()[0][:200]
                path = self.directory / name
                logger.warning("%s: this checkpoint cannot be read, trying the one before it (%s)", path, reason)
            else:
                self._set_aside(names[:i])
                self._remove_all_but(names[i:])
                return True
        if names:
            raise UserError(f"{self.directory}: no checkpoint there can be read; train anew, in another directory")
        return False

    def _set_aside(self, names: Iterable[str]) -> None:
        for name in names:
            for path in sorted(self.directory.glob(f"{name}.*"), reverse=True):  # the .index before its .data
                path.rename(path.with_name(UNREADABLE + path.name))

    def _remove_all_but(self, names: Iterable[str]) -> None:
        """Remove other checkpoints, and the remains of any that were never finished."""
        names = set(names)
        for path in sorted(self.directory.glob("step-*"), reverse=True):  # the .index before its .data
            name = path.name.split(".")[0].removesuffix("_temp")
            if _step(name) is not None and (name not in names or path.is_dir()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def saved_progress(directory: str | Path) -> Progress:
    """The progress in the newest checkpoint in a directory, which has one."""
    reader = tf.train.load_checkpoint(str(Path(directory, checkpoint_names(directory)[0])))
    progress = Progress()
    progress.restore(reader.get_tensor("progress/.ATTRIBUTES/VARIABLE_VALUE"))
    return progress


def variable_key(place: int) -> str:
    """What a checkpoint calls the variable in that place of `model.variables`; the optimizer's come after them."""
    return f"variables/{place}/.ATTRIBUTES/VARIABLE_VALUE"


def checkpoint_names(directory: str | Path) -> list[str]:
    """The names of the checkpoints in a directory, such as "step-500", newest first."""
    names = [path.stem for path in Path(directory).glob("step-*.index") if _step(path.stem) is not None]
    return sorted(names, key=_step, reverse=True)


def _step(name):
    """500 of "step-500"; None of other names."""
    match = re.fullmatch(r"step-(\d+)", name)
    return match and int(match[1])
