"""Writing files so that a killed run or a full disk leaves the old ones whole, and their digests."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfnmt.errors import UserError

_TRY_AGAIN = "what was saved before is whole: put that right, then run it again (training: with --resume)"


@contextlib.contextmanager
def atomic_write(path: str | Path, advice: str = _TRY_AGAIN) -> Iterator[Path]:
    """Give a temporary path to write to; when all is written, it replaces `path` at once.

    Args:
        path: the file. A device or a pipe is written to directly. A file that this process has open, as /dev/stdout may
            be, is not replaced: what is written follows what it has written there before.
        advice: the advice at the end of an error's message.

    Raises:
        UserError: the file system refuses, for example because it is full; a directory, before anything is written.
            The old file stays.
    """
    path = Path(path)
    with file_errors(path, advice):
        if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe cannot be replaced
            yield path
            return
        if path.is_file() and (descriptor := _descriptor(path)) is not None:
            with tempfile.NamedTemporaryFile() as written:
                yield Path(written.name)
                with open(os.dup(descriptor), "wb") as file:
                    shutil.copyfileobj(written, file)
            return
    target = path.resolve()  # a link stays, and the file that it points to is replaced
    part = target.with_name(f".part-{target.name}")  # no file of a user's; one that a kill has left is overwritten
    try:
        with file_errors(path, advice):
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            yield part
            os.replace(part, target)
    finally:
        with contextlib.suppress(OSError):  # the error that matters has been raised already
            part.unlink(missing_ok=True)


def write_file(path: str | Path, content: str | bytes | memoryview, advice: str = _TRY_AGAIN) -> None:
    """Write a file whole, text in UTF-8; see `atomic_write` for `advice` and what it raises."""
    with atomic_write(path, advice) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextlib.contextmanager
def file_errors(path: str | Path, advice: str = _TRY_AGAIN) -> Iterator[None]:
    """Turn the file system's errors while `path` is written into a `UserError` of one line."""
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        raise UserError(f"{path}: cannot be written ({_reason(error)}); {advice}") from error


def read_json(path: Path, advice: str) -> Any:
    """What a JSON file says.

    Raises:
        UserError: it cannot be read or is broken; ends with the way out.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is broken ({error}); {advice}") from error


def file_digest(path: str | Path) -> str:
    """The BLAKE2b digest of a file, 256 bits in hexadecimal: what `b2sum -l 256` prints. About 1 GB a second.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, digest).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def digest(content: bytes | memoryview = b"") -> Any:
    """The BLAKE2b digest of bytes, as `hashlib` gives it."""
    return hashlib.blake2b(content, digest_size=32)


def _descriptor(path):
    """The number of the open file of this process that a path leads to, as /dev/stdout leads to 1; None: to none."""
    while path.is_symlink():
        folder = path.parent.resolve()
        if folder == Path("/proc/self/fd").resolve():
            return int(path.name)
        path = folder / path.readlink()
    return None


def _reason(error):
    """What the file system said, without what TensorFlow or HDF5 add around it."""
    if isinstance(error, tf.errors.OpError):
        return _first_line(error.message, error).partition(" [Op:")[0].rpartition("; ")[2]
    if error.errno is not None:
        return os.strerror(error.errno)
    return _first_line(str(error), error)


def _first_line(message, error):
    return next(iter(message.splitlines()), type(error).__name__)
