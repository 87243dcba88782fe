"""Writing files so that a run that is killed, or a disk that is full, leaves the old ones whole."""

import contextlib
import os
from pathlib import Path

import tensorflow as tf

from tfnmt.errors import UserError

_GO_ON = "what was saved before is whole: put that right, then run it again (training: with --resume)"


@contextlib.contextmanager
def written_whole(path, way_out=_GO_ON):
    """Write to the path that this gives; when all is written it takes the place of `path`, at once or not at all.

    Args:
        path: the file. A device or a pipe, such as /dev/stdout, is written to as it is.
        way_out: what the error's message advises.

    Raises:
        UserError: the file system refuses, for example because it is full. What stood at `path` stays.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe cannot be replaced
        with saving(path, way_out):
            yield path
        return
    whole = path.resolve()  # what a link points to is replaced, not the link
    part = whole.with_name(f"part-{whole.name}")
    try:
        with saving(path, way_out):
            yield part
            os.replace(part, whole)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def saving(path, way_out=_GO_ON):
    """Turn whatever the file system says against writing `path` into a `UserError` of one line."""
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        raise UserError(f"{path}: cannot be written ({_reason(error)}); {way_out}") from error


def _reason(error):
    """What the file system said, without what TensorFlow or HDF5 say around it."""
    if isinstance(error, tf.errors.OpError):
        return error.message.splitlines()[0].partition(" [Op:")[0].rpartition("; ")[2]
    if error.errno is not None:
        return os.strerror(error.errno)
    return str(error).splitlines()[0]
