"""Training files divided into lines to train on and lines to choose the best weights by, where no dev files are given.

Lines are chosen by a digest of what is in them, or of the source or first sentence of a pair: the same files are always
divided alike, in whatever order their lines are, and lines that are repeated never stand on both sides.
"""

import hashlib
import heapq
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tfnmt.data.lines import create_lines, read_lines
from tfnmt.errors import UserError
from tfnmt.files import file_errors

logger = logging.getLogger(__name__)

SPLIT = "split"
"""The folder of the divided files in a run's directory."""


def split_pairs(paths: Sequence[str | Path], number: int, directory: Path) -> tuple[list[Path], list[Path]]:
    """Divide sentence pairs; those with the same source stay together.

    Args:
        paths: two files, aligned line by line, or one .tsv.
        number: how many pairs are held out, besides repetitions of the last.
        directory: where the folders `train` and `dev` are made, with files of the same names and packing.

    Returns:
        The paths of the files to train on, and of those held out.

    Raises:
        UserError: there are no more pairs than that, repetitions aside; a file cannot be read or written.
    """

    def sources() -> Iterator[str]:
        return (line.split("\t")[0] for line in read_lines(paths[0]))

    limit = _limit(sources(), number, paths[0])
    held_out = [(_digest(source) <= limit for source in sources()) for _ in paths]
    return _divide(paths, [False for _ in paths], held_out, directory)


def split_examples(
    paths: Sequence[str | Path],
    number: int,
    directory: Path,
    headers: Sequence[bool],
    key: Callable[[str | Path, str], str] = lambda path, line: line,
) -> tuple[list[Path], list[Path]]:
    """Divide files with an example a line; arguments and result as of `split_pairs`.

    Args:
        headers: for each file, whether its first line is a header, which both parts get.
        key: `key(path, line)`, of a line of a file: those with the same one stay together.
    """

    def keys(path: str | Path, header: bool) -> Iterator[str]:
        return (key(path, line) for line in itertools.islice(read_lines(path), int(header), None))

    files = list(zip(paths, headers, strict=True))
    every = itertools.chain.from_iterable(keys(*file) for file in files)
    limit = _limit(every, number, ", ".join(map(str, paths)))
    held_out = [(_digest(each) <= limit for each in keys(*file)) for file in files]
    return _divide(paths, headers, held_out, directory)


def _limit(keys: Iterator[str], number: int, name: str | Path) -> int:
    """The largest digest of those that are held out."""
    largest = 0

    def digests() -> Iterator[int]:
        nonlocal largest
        for each in map(_digest, keys):
            largest = max(largest, each)
            yield each

    smallest = heapq.nsmallest(number + 1, digests())
    if not smallest:
        raise UserError(f"{name}: the file is empty")
    if len(smallest) <= number:
        raise UserError(f"--dev-split {number}: {name} has {len(smallest):,} lines; hold out fewer")
    limit = smallest[number - 1]
    if limit == largest:
        raise UserError(
            f"--dev-split {number}: {name} repeats its lines, so that all would be held out; hold out fewer"
        )
    return limit


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _divide(paths, headers, held_out, directory):
    """Write each file's lines to two files, those to train on and those held out; a header to both."""
    divided: tuple[list[Path], list[Path]] = ([], [])
    for number, (path, header, choices) in enumerate(zip(paths, headers, held_out, strict=True), start=1):
        outputs = [directory / part / f"{number}-{Path(path).name}" for part in ("train", "dev")]
        counts = [0, 0]
        for output in outputs:
            with file_errors(output):
                output.parent.mkdir(parents=True, exist_ok=True)
        with file_errors(directory), create_lines(outputs[0]) as training, create_lines(outputs[1]) as dev:
            lines, files = read_lines(path), (training, dev)
            for line in itertools.islice(lines, int(header)):
                for file in files:
                    file.write(line.encode() + b"\n")
            for line, choice in zip(lines, choices, strict=True):
                files[choice].write(line.encode() + b"\n")
                counts[choice] += 1
        logger.info("%s: %s lines to train on, %s held out", path, f"{counts[0]:,}", f"{counts[1]:,}")
        for paths_of_part, output, count in zip(divided, outputs, counts, strict=True):
            if count:  # a file may give no line to a part
                paths_of_part.append(output)
            else:
                output.unlink()
    return divided
