"""The files of a corpus, and their pairs as bytes, in parts of as many lines as a shard is made from.

Files are plain text, .gz or .zst: pyarrow decompresses them as they are read.
"""

import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tfnmt.data.lines import BYTE_ORDER_MARK, matching_files
from tfnmt.errors import UserError

# What is left of a .tsv without these is a TAB and an end for each line: looking at the lines one by one is slow.
_ALL_BUT_TAB_AND_END = bytes(byte for byte in range(256) if byte not in b"\t\n")


@dataclass(frozen=True)
class Input:
    """Pairs in two line-aligned files, or in one .tsv of source TAB target."""

    number: int
    """Its place among the inputs, from 0."""
    source: str
    target: str | None = None

    def part_name(self, part: int) -> str:
        """The name of one of its parts. Names sort as the corpus is read."""
        return f"{self.number:05}-{part:06}"


class Part(NamedTuple):
    """Consecutive lines of an input."""

    name: str
    first_line: int
    """Counted from 1."""
    source: bytes
    """Its lines, each with a line feed at the end; those of a .tsv with both sides."""
    target: bytes | None


def find_inputs(sources: Sequence[str], targets: Sequence[str] | None) -> list[Input]:
    """The inputs that names and patterns such as "corpus-*.en.gz" stand for; a pattern's files in the order of names.

    Raises:
        UserError: no file matches a name or pattern, the sides have different numbers of files, there is but one side
            and it is no .tsv, or a file or a pair of files is named twice.
    """
    source_files = _find(sources)
    target_files = None if targets is None else _find(targets)
    if target_files is not None and len(source_files) != len(target_files):
        raise UserError(
            f"--source names {len(source_files)} files and --target {len(target_files)}: there must be as many of both"
        )
    for file in source_files:
        is_tsv = Path(file).name.removesuffix(".gz").removesuffix(".zst").endswith(".tsv")
        if is_tsv != (target_files is None):
            advice = "has both sides: leave out --target" if is_tsv else "name the files of its translations too"
            raise UserError(f"{file}: {advice}; without --target, all files are .tsv")
    pairs = list(itertools.zip_longest(source_files, target_files or []))
    for files, times in Counter(pairs).items():
        if times > 1:
            raise UserError(f"{files[0]}: named {times} times; name each file once")
    return [Input(number, *files) for number, files in enumerate(pairs)]


def read_parts(files: Input, lines: int) -> Iterator[Part]:
    """The parts of an input, each of so many lines, the last one shorter.

    Raises:
        UserError: a file cannot be read or is broken, a line of a .tsv has not exactly one TAB, one file has more lines
            than the other.
    """
    sides = [_lines(file) for file in (files.source, files.target) if file is not None]
    for number in itertools.count():
        texts = [_join(side, lines) for side in sides]
        counts = [text.count(b"\n") for text in texts]
        first_line = number * lines + 1
        if len(set(counts)) > 1:
            short, long = sorted(zip(counts, (files.source, files.target), strict=True))
            raise UserError(
                f"{short[1]} ends after line {first_line - 1 + short[0]:,}, and {long[1]} has more:"
                " line-aligned files must have the same number"
            )
        if not counts[0]:
            return
        if files.target is None and texts[0].translate(None, _ALL_BUT_TAB_AND_END) != b"\t\n" * counts[0]:
            _refuse_tabs(files.source, first_line, texts[0])
        yield Part(files.part_name(number), first_line, texts[0], texts[1] if len(texts) > 1 else None)
        if counts[0] < lines:
            return


def split_sides(part: Part) -> tuple[list[bytes], list[bytes]]:
    """The source and the target lines of a part, without line feeds."""
    lines = part.source.split(b"\n")[:-1]
    if part.target is not None:
        return lines, part.target.split(b"\n")[:-1]
    sources, _, targets = zip(*(line.partition(b"\t") for line in lines), strict=True)
    return list(sources), list(targets)


def _find(patterns):
    # Absolute, for processes that run elsewhere.
    return [str(path.absolute()) for pattern in patterns for path in matching_files(pattern)]


def _lines(file: str) -> Iterator[bytes]:
    try:
        with io.BufferedReader(pa.input_stream(file), 2**20) as stream:
            yield from stream
    except OSError as error:  # pyarrow's errors of decompression, too
        raise UserError(f"{file}: cannot be read, or is broken: {str(error).splitlines()[0]}") from error


def _join(lines: Iterator[bytes], number: int) -> bytes:
    """The next lines as one text, without carriage returns and byte order marks; each ends with a line feed."""
    mark = BYTE_ORDER_MARK.encode()
    text = b"".join(itertools.islice(lines, number)).replace(b"\r", b"")
    if text and not text.endswith(b"\n"):
        text += b"\n"
    return text.removeprefix(mark).replace(b"\n" + mark, b"\n")


def _refuse_tabs(file, first_line, text):
    for number, line in enumerate(text.split(b"\n")[:-1], start=first_line):
        if (tabs := line.count(b"\t")) != 1:
            raise UserError(f"{file}, line {number}: {tabs} TABs; there must be one, between source and target")
