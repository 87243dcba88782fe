"""`tfnmt translate-corpus` beside `tfnmt translate`, undisturbed and killed twice on the way."""

import contextlib
import filecmp
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tfnmt.data.lines import count_lines
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.translation.streaming import WINDOW
from tfnmt_programs.soak.processes import replicas

_DISTINCT = 100_000
"""Sentences that are drawn; they come again and again."""


def compare_corpus(
    model: Path, lines: int, processes: int, search: list[str], batch_size: int, seed: int, folder: Path
) -> dict[str, Any]:
    """Translate the same lines three times: by `translate`; by `translate-corpus`; and by `translate-corpus` of which
    one replica is killed when a third is done, the command when two thirds are, and which is then called again.

    Args:
        model: a translator's directory.
        lines: how many.
        processes: replicas of one thread each; `translate` has as many threads.
        search: options of the search.
        batch_size: sentences at once.
        seed: of the sentences.
        folder: for the files.

    Returns:
        Lines a second of each, from the start of the command to its end, and what came out.

    Raises:
        UserError: a command fails.
    """
    search = [*search, "--batch-size", str(batch_size)]
    threads = ["--threads", processes]
    source, expected = folder / "source.en", folder / "expected.de"
    _write_sentences(source, lines, seed)
    with open(source, "rb") as standard_input, open(expected, "wb") as standard_output:
        began = time.perf_counter()
        _ended(_start(["translate", "--model", model, *search, *threads], stdin=standard_input, stdout=standard_output))
        alone = time.perf_counter() - began

    options = ["--model", model, "--input", source, *search, "--replicas", processes, "--output"]
    began = time.perf_counter()
    _ended(_start(["translate-corpus", *options, folder / "undisturbed"]))
    undisturbed = time.perf_counter() - began

    began = time.perf_counter()
    unfinished, shards = folder / "killed" / "unfinished", lines / (WINDOW * batch_size)
    done = _killed_twice(["translate-corpus", *options, folder / "killed"], unfinished, shards)
    printed = _ended(_start(["translate-corpus", *options, folder / "killed"], stdout=subprocess.PIPE))
    killed = time.perf_counter() - began
    again = int(re.search(r"lines done now: ([\d,]+)", printed)[1].replace(",", ""))
    return {
        "lines": lines,
        "lines_per_second_translate": lines / alone,
        "lines_per_second_corpus": lines / undisturbed,
        "ratio": alone / undisturbed,
        "lines_per_second_corpus_killed_twice": lines / killed,
        "ratio_killed_twice": alone / killed,
        "lines_done_when_killed": done,
        "lines_done_afterwards": again,
        "lines_done_twice": done + again - lines,
        "lines_out": count_lines(folder / "killed" / source.name),
        "same_as_translate": filecmp.cmp(expected, folder / "undisturbed" / source.name, shallow=False),
        "same_as_translate_killed_twice": filecmp.cmp(expected, folder / "killed" / source.name, shallow=False),
    }


def _write_sentences(path, lines, seed):
    sentences = [f"{source}\n" for source, _ in sample_pairs(min(lines, _DISTINCT), seed, "train")]
    with open(path, "w", encoding="utf-8") as file:
        for first in range(0, lines, len(sentences)):
            file.writelines(sentences[: lines - first])


def _killed_twice(command, unfinished, shards):
    """Kill a replica after a third of the shards, the command after two thirds; how many lines are done then."""
    process = _start(command, stdout=subprocess.DEVNULL)
    with _ended_with_this(process):
        _wait_for_shards(process, unfinished, shards / 3)
        found = replicas(process.pid)
        if not found:
            raise UserError("translate-corpus has no replica that could be killed")
        os.kill(found[0], signal.SIGKILL)
        _wait_for_shards(process, unfinished, 2 * shards / 3)
        process.kill()
        process.communicate()
    return sum(count_lines(part) or 0 for part in _parts(unfinished))


def _wait_for_shards(process, unfinished, number):
    while len(_parts(unfinished)) < number:
        if process.poll() is not None:
            raise UserError(f"translate-corpus ended before it could be killed: {process.stderr.read().strip()}")
        time.sleep(0.2)


def _parts(unfinished):
    return [part for part in unfinished.glob("*/*") if part.name.isdecimal()]


def _start(command, **options):
    command = [sys.executable, "-m", "tfnmt", *map(str, command)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


@contextlib.contextmanager
def _ended_with_this(process):
    try:
        yield
    except BaseException:  # an interrupt, too
        process.terminate()
        process.communicate()
        raise


def _ended(process):
    """What a command has printed when it has come to its end; it is ended, too, if this process is interrupted."""
    with _ended_with_this(process):
        printed, errors = process.communicate()
    if process.returncode:
        raise UserError(f"a command ended with status {process.returncode}: {errors.strip()}")
    return printed
