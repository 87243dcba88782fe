"""A recipe, run: files, conversion, commands, scores. What is done is not done again."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.commands.training_options import chosen_settings
from tfnmt.errors import UserError, errors_in
from tfnmt.files import file_errors, write_file
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import CHECKPOINTS
from tfnmt.translation.presets import PRESETS, find_preset
from tfnmt_programs.command_process import parse_command, resumed, run_command
from tfnmt_programs.experiment_record import read_record, record_experiment
from tfnmt_programs.recipes.recipe import Recipe

DONE, SETTINGS = "done.json", "settings.json"
"""In the folder of a run: the steps that are done; what it was begun with."""


def check_commands(recipe: Recipe) -> None:
    """Find out, before anything is fetched, whether `tfnmt` has the recipe's commands.

    Raises:
        UserError: a verb or an option is none, or a training names no --output.
    """
    for command in recipe.commands:
        words = _split(_parts(command)[0])
        options = parse_command(words)
        if words[0].startswith("train-"):
            if not options.output:
                raise UserError(f"tfnmt {words[0]}: a training of a recipe needs --output, such as --output $RUN/model")
            if options.dry_run:
                raise UserError(f"tfnmt {words[0]} --dry-run: leave it out, since nothing would be trained")
    for score in recipe.scores:
        parse_command([*_split(score.command), "--json"])


def check_settings(recipe: Recipe, settings: Sequence[str]) -> None:
    """Find out, before anything is fetched, whether the trainings can have these settings `key=value`.

    Raises:
        UserError: a key or a value is none; the recipe trains nothing; there is a seed among them, and it trains
            several models with seeds of their own.
    """
    trainings = [_split(_parts(command)[0]) for command in recipe.commands if command.startswith("train-")]
    if settings and not trainings:
        raise UserError(f"--set {settings[0]}: the recipe trains nothing; leave it out")
    own_seeds = sum(any("seed=" in word for word in words) for words in trainings)
    if own_seeds > 1 and any(setting.startswith("seed=") for setting in settings):
        raise UserError("--set seed: the recipe trains models with seeds of their own; copy it, and change these")
    for words in trainings if settings else ():
        options = parse_command(words)
        presets, keys = (PRESETS, ()) if words[0] == "train-translator" else (CLASSIFIER_PRESETS, ("task", "encoder"))
        preset = find_preset(options.preset or "tiny", presets)
        with errors_in("--set"):
            preset.override([*chosen_settings(options, *keys), *settings])


class RecipeRun:
    """A recipe in a folder.

    Args:
        recipe: the recipe, which `check_commands` has passed; its files are in `data` already.
        data: the folder of all data.
        folder: of the recipe's own files; made if it is not there.
        settings: `key=value`, for all trainings: other ones than those of the documented row; `check_settings` has
            passed them.

    Raises:
        UserError: a run of another recipe, or with other settings, lies in the folder.
    """

    def __init__(self, recipe: Recipe, data: Path, folder: Path, settings: Sequence[str] = ()):
        self.recipe, self.folder, self.settings = recipe, folder, list(settings)
        self.variables = {"DATA": str(data.resolve()), "RUN": str(folder.resolve())}
        with file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._record()

    def run(self) -> str:
        """Do all that is not done yet.

        Returns:
            The row as it is here and as it is documented, in Markdown.

        Raises:
            UserError: a step fails; an evaluation does not tell the figure that is to be shown.
        """
        if self.recipe.conversion is not None:
            self._once(self.recipe.conversion, self._convert)
        for command in self.recipe.commands:
            self._once(command, self._command)
        rows = [f"| {self.recipe.title} | here | documented |", "|---|---|---|"]
        for score in self.recipe.scores:
            figures = json.loads(run_command([*self._words(score.command), "--json"]).splitlines()[-1])
            numbers = [name for name, value in figures.items() if isinstance(value, int | float)]
            if score.key not in numbers:
                raise UserError(
                    f"score {score.name!r}: {score.command} tells no number {score.key!r}; key: should be one of"
                    f" {', '.join(numbers)}"
                )
            digits = len(str(score.documented).partition(".")[2])
            rows.append(f"| {score.name} | {figures[score.key]:.{digits}f} | {score.documented} |")
        return "\n".join(rows) + "\n"

    def _record(self):
        """Write what the run is of, or compare it with what is written. Scores are not part of it: they are always
        computed anew, so that a wrong one can be put right after the training."""
        experiment = {
            "settings": self.settings,
            "files": {file.name: file.sha256 for file in self.recipe.files},
            "conversion": self.recipe.conversion,
            "commands": list(self.recipe.commands),
        }
        path = self.folder / SETTINGS
        if path.exists() and isinstance(read_record(path), list):
            record_experiment(path, self.settings)  # it was begun when they alone were recorded
        else:
            record_experiment(path, experiment)

    def _once(self, step, do):
        """Do a step, unless it is noted as done."""
        path = self.folder / DONE
        done = read_record(path) if path.exists() else []
        if step not in done:
            do(step)
            write_file(path, json.dumps([*done, step], indent=1) + "\n")

    def _convert(self, script):
        command = ["bash", "-euo", "pipefail", "-c", script]
        status = subprocess.run(command, env=os.environ | self.variables).returncode
        if status:
            raise UserError(f"{script}: status {status}")

    def _command(self, command):
        command, standard_input, output = _parts(command)
        words = self._words(command)
        if words[0].startswith("train-"):
            options = parse_command(words)
            if checkpoint_names(Path(options.output, CHECKPOINTS)):
                words = resumed(words)
            else:
                words += [word for setting in self.settings for word in _changed(options, setting)]
        printed = run_command(words, Path(*self._words(standard_input)) if standard_input else None)
        if output:
            write_file(Path(*self._words(output)), printed)

    def _words(self, command):
        words = _split(command)
        for name, value in self.variables.items():
            words = [word.replace(f"${name}", value) for word in words]
        return words


def _changed(options, setting):
    """The option that changes a training by a setting: one that the training has already counts more than `--set`."""
    key, _, value = setting.partition("=")
    return [f"--{key}", value] if getattr(options, key, None) is not None else ["--set", setting]


def _parts(command):
    """(The verb with its options, the file that it reads or "", the file that it writes or "")."""
    command, _, output = command.partition(" > ")
    command, _, standard_input = command.partition(" < ")
    return command, standard_input, output


def _split(command):
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"{command}: {error}; close the quotation") from error
    if not words:
        raise UserError("a command is empty; it should be a verb of tfnmt with its options")
    return words
