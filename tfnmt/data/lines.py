"""The lines of text files, plain or .gz, and of standard input: streamed, without TensorFlow."""

import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tfnmt.errors import UserError

BYTE_ORDER_MARK = "\ufeff"
"""Programs on Windows write it before UTF-8. It is not part of the text."""

Item = TypeVar("Item")


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, plain or .gz, as `decode_lines` gives them.

    Raises:
        UserError: the file cannot be read, is broken or not UTF-8; raised when that line is reached.
    """
    try:
        with (gzip.open if is_compressed(path) else open)(path, "rb") as file:
            yield from decode_lines(file, path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: a broken or incomplete .gz file: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def decode_lines(lines: Iterable[bytes], file: str | Path) -> Iterator[str]:
    """Lines of bytes as text, without their ends, carriage returns and byte order marks, as TextLineDataset reads them.

    Args:
        lines: such as a file or standard input opened for reading bytes.
        file: where they come from, for the error message.

    Raises:
        UserError: a line is not UTF-8; names it.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip(b"\r"):
            return  # the end of the file, after the last line feed: no line for TextLineDataset
        line = line.removesuffix(b"\n").replace(b"\r", b"").removeprefix(BYTE_ORDER_MARK.encode())
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{file}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at byte {error.start + 1} "
                "of the line): convert it to UTF-8"
            ) from error


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
    if is_compressed(path) or not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as file:
            ends, last = 0, b"\n"
            while part := file.read(2**20):
                ends, last = ends + part.count(b"\n"), part[-1:]
    except OSError:
        return None
    return ends + (last != b"\n")


def is_compressed(path: str | Path) -> bool:
    """Whether the name ends in .gz."""
    return Path(path).suffix == ".gz"
