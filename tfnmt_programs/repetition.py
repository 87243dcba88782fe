"""An experiment over several seeds: the same training with each, the same evaluations of each model, and a table.

Everything lies in one folder: the model directories seed-1, seed-2, …, for each that is finished seed-1.json with its
figures, commands.json, files.json, and table.md. What is finished is not done again, so a test set is scored once for
each seed.
"""

import json
import math
import re
import shlex
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfnmt.commands.training_options import read_best_score
from tfnmt.data.records import INDEX
from tfnmt.errors import UserError
from tfnmt.files import file_digest, write_file
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import CHECKPOINTS, HISTORY, WEIGHTS
from tfnmt.training.progress import read_history
from tfnmt_programs.command_process import parse_command, resumed, run_command
from tfnmt_programs.experiment_record import read_record, record_experiment
from tfnmt_programs.model_names import distinct_names

Command = Sequence[str]
TRAININGS = ("train-translator", "train-classifier")


class Repetition:
    """One experiment.

    Args:
        folder: where it lies; made if it is not there.
        training: a verb that trains and its options, without --output and without a seed.
        evaluations: verbs that evaluate and their options, without --model and --json.

    Raises:
        UserError: the commands are not such; an experiment with other commands, or with files of other contents, lies
            there.
    """

    def __init__(self, folder: Path, training: Command, evaluations: Sequence[Command]):
        self.folder, self.training, self.evaluations = folder, list(training), [list(each) for each in evaluations]
        self._check_commands()
        folder.mkdir(parents=True, exist_ok=True)
        commands = {"training": self.training, "evaluations": self.evaluations}
        record_experiment(folder / "commands.json", commands)
        words = [word for command in (self.training, *self.evaluations) for word in command]
        named = [part for word in words for part in (word, word.partition("=")[2])]  # --train FILE, --train=FILE
        # Of a folder, the file that has the digests of the records in it, or the weights of a model to begin with.
        paths = [path for name in named if name for path in (name, f"{name}/{INDEX}", f"{name}/{WEIGHTS}")]
        self._record_files({path: file_digest(path) for path in paths if Path(path).is_file()})

    def run(self, seeds: Sequence[int]) -> str:
        """Train and evaluate with each seed, unless that is done, and write table.md.

        Returns:
            The table, in Markdown.

        Raises:
            UserError: a command ends with another status than 0.
        """
        table = markdown_table({seed: self.figures(seed) for seed in seeds})
        commands = [self.training_command("S"), *(self.evaluation_command(each, "S") for each in self.evaluations)]
        table += "\n```\n" + "".join(f"tfnmt {shlex.join(command)}\n" for command in commands) + "```\n"
        (self.folder / "table.md").write_text(table, encoding="utf-8")
        return table

    def figures(self, seed: int) -> dict[str, float]:
        """The figures of one seed, by name: minutes of training, the best dev score, and those of the evaluations."""
        path = self.folder / f"seed-{seed}.json"
        if not path.exists():
            figures = self._train(seed)
            for evaluation, of_which in zip(self.evaluations, self._differences(), strict=True):
                of_evaluation = _numbers(run_command(self.evaluation_command(evaluation, seed)))
                figures |= {f"{name}{of_which}": value for name, value in of_evaluation.items()}
            write_file(path, json.dumps(figures, indent=1) + "\n")
        return read_record(path)

    def training_command(self, seed: int | str) -> list[str]:
        """That of a seed, from its beginning."""
        return [*self.training, "--set", f"seed={seed}", "--output", str(self.folder / f"seed-{seed}")]

    def evaluation_command(self, evaluation: Command, seed: int | str) -> list[str]:
        """An evaluation of the model of a seed."""
        return [*evaluation, "--model", str(self.folder / f"seed-{seed}"), "--json"]

    def _train(self, seed):
        directory = self.folder / f"seed-{seed}"
        training = self.training_command(seed)
        has_begun = bool(checkpoint_names(directory / CHECKPOINTS))
        printed = run_command(resumed(training) if has_begun else training)
        measure, score = read_best_score(printed)
        return {"minutes": read_history(directory / HISTORY)[-1]["seconds"] / 60, measure: score}

    def _record_files(self, digests):
        path = self.folder / "files.json"
        if path.exists() and read_record(path).items() < digests.items():
            path.unlink()  # a file that was missing, so that an evaluation failed, is there by now
        record_experiment(path, digests)

    def _differences(self):
        """What tells the figures of each evaluation from those of the others: the words that not all of them have, or
        all words where these are not enough."""
        every = [word for each in self.evaluations for word in each]
        differing = [word for word in every if any(word not in other for other in self.evaluations)]
        names = dict(zip(differing, distinct_names(differing), strict=True))
        found = [" ".join(names[word] for word in each if word in names) for each in self.evaluations]
        if len(set(found)) < len(found):
            found = [" ".join(each) for each in self.evaluations]
        return [f", {words}" if words else "" for words in found]

    def _check_commands(self):
        if not self.training or self.training[0] not in TRAININGS:
            raise UserError(f"after -- there should be one of {', '.join(TRAININGS)} and its options")
        for command in (self.training, *self.evaluations):
            given = [re.sub("^--se?t?=", "", word).split("=")[0] for word in command]
            for option in ("--output", "--resume", "--model", "seed"):
                # The parser of a command takes the beginning of an option for it.
                if option in given or any(option.startswith(word) for word in given if word[:2] == "--" < word):
                    raise UserError(f"{command[0]} {option}: leave it out, since it is another one for each seed")
        if parse_command(self.training_command("S")).dry_run:
            raise UserError(f"{self.training[0]} --dry-run: leave it out, since nothing would be trained")
        for each in self.evaluations:  # now, not after hours of training
            parse_command(self.evaluation_command(each, "S"))


def markdown_table(figures_by_seed: dict[int, dict[str, float]]) -> str:
    """Mean, standard deviation (of a sample, n − 1) and each seed's value of every figure; no deviation of one seed,
    and neither of figures that a seed does not have, or that are no finite numbers."""
    seeds = list(figures_by_seed)
    names = dict.fromkeys(name for figures in figures_by_seed.values() for name in figures)
    header = ["", "mean", "deviation", *(f"seed {seed}" for seed in seeds)]
    rows = [header, ["---"] * len(header)]
    for name in names:
        values = [figures_by_seed[seed].get(name) for seed in seeds]
        mean = None if None in values else statistics.mean(values)
        has_deviation = len(values) > 1 and mean is not None and math.isfinite(mean)
        deviation = f"{statistics.stdev(values):.4g}" if has_deviation else ""
        rows.append([name, _short(mean), deviation, *map(_short, values)])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _short(value):
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"


def _numbers(printed: str) -> dict[str, float]:
    """The numbers of the JSON object that an evaluation prints; how fast it was is none of the model's figures."""
    figures: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return {
        name: value
        for name, value in figures.items()
        if isinstance(value, int | float) and not name.endswith("_per_second")
    }
