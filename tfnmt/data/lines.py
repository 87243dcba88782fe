"""The lines of text files, plain or .gz, streamed. TensorFlow is not needed for that."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from tfnmt.errors import UserError

BYTE_ORDER_MARK = "\ufeff"
"""What programs on Windows put before UTF-8: no part of the text."""


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, plain or .gz, without their ends.

    Raises:
        UserError: the file cannot be read, is broken or not UTF-8 (names the line), as soon as it comes to the place.
    """
    for number, line in enumerate(_lines(path), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at byte {error.start + 1} "
                "of the line): convert the file to UTF-8"
            ) from error


def _lines(path: str | Path) -> Iterator[bytes]:
    """The lines of a file as bytes, as TensorFlow's TextLineDataset reads them, without byte order marks."""
    try:
        with (gzip.open if is_compressed(path) else open)(path, "rb") as file:
            for line in file:
                yield line.removesuffix(b"\n").replace(b"\r", b"").removeprefix(BYTE_ORDER_MARK.encode())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: a broken or incomplete .gz file: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def is_compressed(path: str | Path) -> bool:
    """Whether its name says that it is."""
    return Path(path).suffix == ".gz"
