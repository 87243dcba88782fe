"""This version beside an earlier one: the same trainings and searches, in turn, on the same machine.

The earlier version is a checkout. Both sides are asked by the scripts that they have in common, on their own sample
corpora, each run in a process of its own, so nothing is shared but the machine.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfnmt.data.samples.translation import write_sample
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures

ROOT = Path(__file__).parents[2]
TRAININGS = {
    "multi30k": ("train_translator", "--preset", "multi30k", "--set", "vocabulary_size=400", "--epochs", "3"),
    **{
        encoder: ("train_classifier", "--task", "snli", "--preset", "snli", "--encoder", encoder, "--epochs", "2")
        for encoder in ("spinn-pi-nt", "spinn-pi", "spinn", "rl-spinn")
    },
}
"""Every training, by name: a script and its options. The first makes the translator of the searches."""
SEARCHES = {"greedy": 1, "beam5": 5}
"""Beam sizes of the searches, by name."""


class Checkout:
    """One of the two versions, with a folder for what it trains.

    Args:
        root: the checkout's folder.
        runs: where model directories go.

    Raises:
        UserError: a script is not there, or ends with an error.
    """

    def __init__(self, root: str | Path, runs: Path):
        self.root, self.runs = Path(root).resolve(), runs

    def epochs_per_second(self, training: str) -> float:
        """Train once more from the start; the rate of the epochs after the first, in which functions are traced."""
        script, *options = TRAININGS[training]
        output = self.runs / training
        shutil.rmtree(output, ignore_errors=True)
        self._run(script, *options, "--no-board", "--output", str(output))
        seconds = [float(row["seconds"]) for row in self.history(training)]
        return (len(seconds) - 1) / (seconds[-1] - seconds[0])

    def history(self, training: str) -> list[dict[str, str]]:
        """The rows of a training's history.csv, one an epoch."""
        with open(self.runs / training / "history.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def sentences_per_second(self, search: str, source: Path) -> float:
        """Translate a file with the translator that was trained last."""
        options = ["--model", self.runs / "multi30k", "--source", source, "--beam-size", SEARCHES[search]]
        printed = self._run("benchmark", "translate", *map(str, options), "--rounds", "3", "--json")
        return json.loads(printed.splitlines()[-1])["ours"]

    def _run(self, script, *options):
        command = [sys.executable, str(self.root / "scripts" / f"{script}.py"), *options]
        environment = os.environ | {"PYTHONPATH": str(self.root)}
        done = subprocess.run(command, cwd=self.runs, env=environment, capture_output=True, text=True)
        if done.returncode:
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it did not say why")
            raise UserError(f"{' '.join(command)}: status {done.returncode}: {last}")
        return done.stdout


def compare_versions(before: str | Path, rounds: int, works: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure the works on both sides in turn.

    Args:
        before: the folder of a checkout of the earlier version, whose dependencies this Python has.
        rounds: how often each side does each work.
        works: names of `TRAININGS` and `SEARCHES`; all of them if None. Searches need "multi30k" before them.

    Returns:
        For each work the medians `after` and `before` (epochs or sentences a second), `ratio`, the median of after /
        before round by round, `ratio_min`, `ratio_max`; and for trainings `dev_after` and `dev_before`, the dev score
        after the last epoch.

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
        source = Path(folder, "sentences.en")
        source.write_text(10 * write_sample(folder)["test.en"].read_text(encoding="utf-8"), encoding="utf-8")
        sides = {}
        for name, root in (("after", ROOT), ("before", before)):
            runs = Path(folder, name)
            runs.mkdir()
            sides[name] = Checkout(root, runs)
        return {work: _compare(work, sides, rounds, source) for work in works}


def _compare(work, sides, rounds, source):
    if work in TRAININGS:
        measurements = {name: lambda side=side: side.epochs_per_second(work) for name, side in sides.items()}
    else:
        measurements = {name: lambda side=side: side.sentences_per_second(work, source) for name, side in sides.items()}
    rates = alternate(measurements, rounds)
    figures = ratio_figures(rates["after"], rates["before"])
    figures = {"after": figures.pop("ours"), "before": figures.pop("peer")} | figures
    if work in TRAININGS:
        figures |= {f"dev_{name}": _dev_score(side.history(work)[-1]) for name, side in sides.items()}
    return figures


def _dev_score(row):
    """BLEU of a translator, accuracy of a classifier."""
    return float(row.get("dev_bleu") or row["dev_accuracy"])
