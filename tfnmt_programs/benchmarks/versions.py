"""This version beside an earlier one: the same trainings and searches, in turn, on the same machine.

The earlier version is a checkout. Both sides are asked by the scripts that they have in common, on their own sample
corpora, each in a process of its own, which is stopped while the other runs.
"""

import itertools
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfnmt.data.samples.translation import write_sample
from tfnmt.errors import UserError
from tfnmt.training.model_directory import HISTORY
from tfnmt.training.progress import read_history
from tfnmt_programs.benchmarks.alternation import ratio_figures
from tfnmt_programs.benchmarks.slices import SlicedProgram, lines_in, run_in_turn

logger = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]
TRAININGS = {
    "multi30k": ("train_translator", "--preset", "multi30k", "--set", "vocabulary_size=400"),
    **{
        encoder: ("train_classifier", "--task", "snli", "--preset", "snli", "--encoder", encoder)
        for encoder in ("spinn-pi-nt", "spinn-pi", "spinn", "rl-spinn")
    },
}
"""Every training, by name: a script and its options. The first makes the translator of the searches."""
SEARCHES = {"greedy": 1, "beam5": 5}
"""Beam sizes of the searches, by name."""
WINDOW = 3200
"""Sentences in a round of a search: as many as `tfnmt translate` reads at once."""
BUFFERED = 400
"""More lines than lie in the output's buffer until the next window is written."""


class Checkout:
    """One of the two versions, with a folder for what it trains.

    Args:
        root: the checkout's folder.
        runs: where model directories go.
        rounds: epochs of a training, and rounds of a search, that are measured; there is one more before them.

    Raises:
        UserError: a script is not there, or ends with an error.
    """

    def __init__(self, root: str | Path, runs: Path, rounds: int):
        self.root, self.runs, self.rounds = Path(root).resolve(), runs, rounds

    def training(self, name: str) -> SlicedProgram:
        """A training from the start; its units are epochs."""
        script, *options = TRAININGS[name]
        output = self.runs / name
        options += ["--epochs", str(self.rounds + 1), "--no-board", "--output", str(output)]
        return self._program(script, options, lambda: max(0, lines_in(output / HISTORY) - 1))

    def search(self, name: str, source: Path) -> SlicedProgram:
        """Translating with the trained translator, the same sentences in each round; its units are rounds."""
        sentences = itertools.cycle(source.read_text(encoding="utf-8").splitlines(keepends=True))
        repeated = self.runs / "sentences"
        repeated.write_text((self.rounds + 1) * "".join(itertools.islice(sentences, WINDOW)), encoding="utf-8")
        options = ["--model", str(self.runs / "multi30k"), "--beam-size", str(SEARCHES[name])]

        def units_done():
            return (lines_in(self.runs / "stdout") + BUFFERED) // WINDOW

        return self._program("translate", options, units_done, repeated)

    def dev_score(self, training: str) -> float:
        """That of the last epoch: BLEU of a translator, accuracy of a classifier."""
        row = read_history(self.runs / training / HISTORY)[-1]
        return row["dev_bleu"] if "dev_bleu" in row else row["dev_accuracy"]

    def _program(self, script, options, units_done, standard_input=os.devnull):
        command = [sys.executable, str(self.root / "scripts" / f"{script}.py"), *options]
        environment = os.environ | {"PYTHONPATH": str(self.root)}
        return SlicedProgram(command, self.runs, environment, units_done, standard_input)


def compare_versions(before: str | Path, rounds: int, works: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure the works on both sides in turn.

    Args:
        before: the folder of a checkout of the earlier version, whose dependencies this Python has.
        rounds: epochs of each training and repetitions of each search that are measured, after a first one.
        works: names of `TRAININGS` and `SEARCHES`; all of them if None. Searches need "multi30k" before them.

    Returns:
        For each work the medians `after` and `before` (rounds a minute), `ratio`, the median of after / before round
        by round, `ratio_min`, `ratio_max`; and for trainings `dev_after` and `dev_before`, the dev score after the last
        epoch.

    Raises:
        UserError: there is no such work, or a script fails.
    """
    works = [*TRAININGS, *SEARCHES] if works is None else list(works)
    for work in works:
        if work not in TRAININGS | SEARCHES:
            raise UserError(f"{work}: there is no such work; there are {', '.join(TRAININGS | SEARCHES)}")
        if work in SEARCHES and "multi30k" not in works[: works.index(work)]:
            raise UserError(f"{work} needs the work multi30k before it: the translator that is trained there")
    with tempfile.TemporaryDirectory() as folder:
        source = write_sample(folder)["test.en"]
        sides = {}
        for name, root in (("after", ROOT), ("before", before)):
            runs = Path(folder, name)
            runs.mkdir()
            sides[name] = Checkout(root, runs, rounds)
        return {work: _compare(work, sides, source) for work in works}


def _compare(work, sides, source):
    is_training = work in TRAININGS
    programs = {name: side.training(work) if is_training else side.search(work, source) for name, side in sides.items()}
    run_in_turn(list(programs.values()))
    rates = {name: [60 / seconds for seconds in program.seconds_of_units()] for name, program in programs.items()}
    figures = ratio_figures(rates["after"], rates["before"])
    figures = {"after": figures.pop("ours"), "before": figures.pop("peer")} | figures
    if is_training:
        figures |= {f"dev_{name}": side.dev_score(work) for name, side in sides.items()}
    logger.info("%s: %.2f (%.2f to %.2f)", work, *(figures[key] for key in ("ratio", "ratio_min", "ratio_max")))
    return figures
