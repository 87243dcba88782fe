"""Parallel text: two line-aligned files, or one .tsv of source TAB target; plain or .gz; streamed.

Lines end with a line feed. Carriage returns and byte order marks are removed, so that files from Windows give the same
text.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from tfnmt.data.lines import BYTE_ORDER_MARK, batch_lines, count_lines, is_gzip, read_lines
from tfnmt.data.progress import log_progress
from tfnmt.errors import UserError

# A call of a function costs as much for one line as for a hundred.
_LINES_AT_ONCE = 512


@dataclass(frozen=True)
class ParallelFiles:
    """Sentence pairs in two line-aligned files, or in one .tsv file of source TAB target."""

    source: str | Path
    target: str | Path | None = None

    def paths(self) -> list[str | Path]:
        """The one file or both."""
        return [path for path in (self.source, self.target) if path is not None]

    def check(self) -> int:
        """Check the whole files; returns the number of pairs. Empty and very long lines are not errors.

        Raises:
            UserError: a file is missing, empty, .zst, a pipe, broken or not UTF-8 (names the line), a line of a .tsv
                has not exactly one TAB, or the files have different numbers of lines.
        """
        source, target = self.source, self.target
        _refuse_unreadable(*self.paths())
        if target is None:
            _require_tsv(source)
            return _check(source, tabs=1)
        if _is_tsv(source):
            raise UserError(
                f"{source}: a .tsv file has both sides; leave out {target}, or give the sentences another name"
            )
        source_count, target_count = _check(source), _check(target)
        if source_count != target_count:
            raise UserError(
                f"{source} has {source_count:,} lines and {target} {target_count:,}: "
                "line-aligned files must have the same number"
            )
        return source_count

    def pairs(self) -> tf.data.Dataset:
        """A dataset of the pairs (source, target), scalar strings, in order.

        Raises:
            UserError: a file is .zst or a pipe.
        """
        _refuse_unreadable(*self.paths())
        if self.target is not None:
            return tf.data.Dataset.zip(*(_text_chunks(path).unbatch() for path in self.paths()))
        _require_tsv(self.source)

        def split(lines: tf.Tensor):
            before, after = r"^[^\t]*\t", r"\t[^\t]*$"
            return tf.strings.regex_replace(lines, after, ""), tf.strings.regex_replace(lines, before, "")

        return _text_chunks(self.source).map(split).unbatch()

    def sides(self) -> tuple[Iterator[str], Iterator[str]]:
        """The lines of the source and the lines of the target."""
        if self.target is not None:
            return read_lines(self.source), read_lines(self.target)
        _require_tsv(self.source)

        def column(number: int) -> Iterator[str]:
            return (line.split("\t")[number] for line in read_lines(self.source))

        return column(0), column(1)


def _is_tsv(path: str | Path) -> bool:
    return Path(path).name.removesuffix(".gz").endswith(".tsv")


def _require_tsv(path: str | Path) -> None:
    if not _is_tsv(path):
        csv = "; no .csv is read" if ".csv" in Path(path).suffixes else ""
        raise UserError(f"{path}: name the file of its translations too, or one .tsv file of source TAB target{csv}")


def _refuse_unreadable(*paths: str | Path) -> None:
    """TensorFlow would read packed bytes as if they were the text, and of a pipe nothing is left for a second time."""
    for path in paths:
        if Path(path).suffix == ".zst":
            raise UserError(f"{path}: sentence pairs are read from plain text or .gz; unpack it, or see tfnmt prepare")
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise UserError(f"{path}: no file on a disk: sentence pairs are read more than once, so unpack it first")


def _check(path: str | Path, tabs: int | None = None) -> int:
    """The number of lines of a file. Every line must have `tabs` TABs, unless that is None."""
    number = 0
    lines = log_progress(read_lines(path), f"{path}, reading", count_lines(path))
    for number, line in enumerate(lines, start=1):
        found = line.count("\t")
        if tabs is not None and found != tabs:
            advice = f"; cut -f1,2 {path} > NEW.tsv keeps the first two columns" if found > 1 else ""
            raise UserError(
                f"{path}, line {number}: {found} TABs; there must be one, between source and target" + advice
            )
    if not number:
        raise UserError(f"{path}: the file is empty")
    return number


def _text_chunks(path: str | Path) -> tf.data.Dataset:
    """The lines of a file, strings [lines], some at a time."""
    if is_gzip(path):  # by Python: TensorFlow ends at an empty part, which bgzip writes at the end of its files
        chunk = tf.TensorSpec([None], tf.string)
        return tf.data.Dataset.from_generator(
            lambda: batch_lines(read_lines(path), _LINES_AT_ONCE), output_signature=chunk
        )
    lines = tf.data.TextLineDataset(str(path))
    return lines.batch(_LINES_AT_ONCE).map(lambda chunk: tf.strings.regex_replace(chunk, f"^{BYTE_ORDER_MARK}", ""))
