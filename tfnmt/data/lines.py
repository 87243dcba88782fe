"""The lines of text files, plain, .gz or .zst, and of standard input: streamed, without TensorFlow."""

import contextlib
import glob
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from tfnmt.errors import UserError

BYTE_ORDER_MARK = "\ufeff"
"""Programs on Windows write it before UTF-8. It is not part of the text."""

_GZIP_LEVEL = 6

Item = TypeVar("Item")


def matching_files(pattern: str) -> list[Path]:
    """The file of that name; or else those that match it as a glob, in order.

    Raises:
        UserError: there is none.
    """
    files = [Path(pattern)] if Path(pattern).is_file() else sorted(filter(Path.is_file, map(Path, glob.glob(pattern))))
    if not files:
        raise UserError(f"{pattern}: no file matches")
    return files


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, plain, .gz or .zst, as `decode_lines` gives them.

    Raises:
        UserError: the file cannot be read, is broken or not UTF-8; raised when that line is reached.
    """
    with open_lines(path) as file:
        yield from decode_lines(file, path)


@contextlib.contextmanager
def open_lines(path: str | Path) -> Iterator[IO[bytes]]:
    """A file of lines, opened for reading bytes; .gz and .zst are unpacked.

    Raises:
        UserError: the file cannot be read or is broken, then or within the block; or pyarrow is missing for .zst.
    """
    try:
        with _open_unpacked(path) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: a broken or incomplete .gz file: {error}") from error
    except OSError as error:
        if error.errno is None:  # not from the file system, but from pyarrow
            raise UserError(f"{path}: a broken or incomplete .zst file: {error}") from error
        raise UserError(f"{path}: cannot be read: {os.strerror(error.errno)}") from error


@contextlib.contextmanager
def create_lines(path: str | Path) -> Iterator[IO[bytes]]:
    """A new file for lines of bytes, packed if its name ends in .gz or .zst.

    Raises:
        UserError: pyarrow is missing for .zst. Errors of the file system stay what they are.
    """
    suffix = Path(path).suffix
    with contextlib.ExitStack() as stack:
        if suffix == ".zst":
            yield stack.enter_context(_pyarrow(path).output_stream(str(path), compression="zstd"))
            return
        file: Any = stack.enter_context(open(path, "wb"))
        if suffix == ".gz":  # no name and no time in it: the same lines give the same file
            file = stack.enter_context(gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0))
        yield file


def _open_unpacked(path: str | Path) -> Any:
    if Path(path).suffix == ".zst":
        return io.BufferedReader(_pyarrow(path).input_stream(str(path), compression="zstd"))
    return (gzip.open if is_gzip(path) else open)(path, "rb")


def _pyarrow(path: str | Path) -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise UserError(f"{path}: for .zst, pyarrow is missing: `pip install '.[ray]'` in the checkout") from error
    return pyarrow


def decode_lines(lines: Iterable[bytes], file: str | Path) -> Iterator[str]:
    """Lines of bytes as text, as `decode_line` gives them.

    Args:
        lines: such as a file or standard input opened for reading bytes.
        file: where they come from, for the error message.

    Raises:
        UserError: a line is not UTF-8; names it.
    """
    for number, line in enumerate(whole_lines(lines), start=1):
        try:
            yield decode_line(line)
        except UserError as error:
            raise UserError(f"{file}, line {number}: {error}: convert it to UTF-8") from error


def whole_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The same lines, without what is no line for TextLineDataset: carriage returns alone after the last line feed."""
    return itertools.takewhile(lambda line: line.strip(b"\r"), lines)


def decode_line(line: bytes) -> str:
    """A line as text, without its end, carriage returns and byte order mark, as TextLineDataset reads it.

    Raises:
        UserError: it is not UTF-8.
    """
    line = line.removesuffix(b"\n").replace(b"\r", b"").removeprefix(BYTE_ORDER_MARK.encode())
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
        raise UserError(f"not UTF-8 ({place})") from error


def batch_lines(lines: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` lines, the last one shorter.

    If reading a line raises `UserError`, the lines before it are given first.
    """
    lines = iter(lines)
    batch: list[Item] = []
    try:
        while True:
            batch = []
            for line in itertools.islice(lines, size):
                batch.append(line)
            if not batch:
                return
            yield batch
    except UserError:
        if batch:
            yield batch
        raise


def count_lines(path: str | Path) -> int | None:
    """The number of lines of a plain file, a quick look; None of a compressed one or one that cannot be read."""
    if Path(path).suffix in (".gz", ".zst") or not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as file:
            ends, last = 0, b"\n"
            while part := file.read(2**20):
                ends, last = ends + part.count(b"\n"), part[-1:]
    except OSError:
        return None
    return ends + (last != b"\n")


def is_gzip(path: str | Path) -> bool:
    """Whether the name ends in .gz."""
    return Path(path).suffix == ".gz"
