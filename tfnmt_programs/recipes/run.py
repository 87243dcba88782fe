"""A recipe, run: files, conversion, commands, scores. What is done is not done again."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.files import atomic_write, file_errors
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import CHECKPOINTS
from tfnmt_programs.command_process import run_command
from tfnmt_programs.experiment_record import record_experiment
from tfnmt_programs.recipes.recipe import Recipe

DONE, SETTINGS = "done.json", "settings.json"
"""In the folder of a run: the steps that are done; what it was begun with."""


class RecipeRun:
    """A recipe in a folder.

    Args:
        recipe: the recipe; its files are in `data` already.
        data: the folder of all data.
        folder: of the recipe's own files; made if it is not there.
        settings: `key=value`, for all trainings: other ones than those of the documented row.

    Raises:
        UserError: a run with other settings lies in the folder; or there is a seed among them, and the recipe trains
            several models with seeds of their own.
    """

    def __init__(self, recipe: Recipe, data: Path, folder: Path, settings: Sequence[str] = ()):
        self.recipe, self.folder, self.settings = recipe, folder, list(settings)
        self.variables = {"DATA": str(data.resolve()), "RUN": str(folder.resolve())}
        own_seeds = sum("seed=" in command for command in recipe.commands if command.startswith("train-"))
        if own_seeds > 1 and any(setting.startswith("seed=") for setting in settings):
            raise UserError("--set seed: the recipe trains models with seeds of their own; copy it, and change these")
        with file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        record_experiment(folder / SETTINGS, self.settings)

    def run(self) -> str:
        """Do all that is not done yet.

        Returns:
            The row as it is here and as it is documented, in Markdown.

        Raises:
            UserError: a step fails.
        """
        if self.recipe.conversion is not None:
            self._once(self.recipe.conversion, self._convert)
        for command in self.recipe.commands:
            self._once(command, self._command)
        rows = [f"| {self.recipe.title} | here | documented |", "|---|---|---|"]
        for score in self.recipe.scores:
            figures = json.loads(run_command([*self._words(score.command), "--json"]).splitlines()[-1])
            if score.key not in figures:
                raise UserError(f"{score.name}: {score.command} tells no {score.key!r}, only {', '.join(figures)}")
            digits = len(str(score.documented).partition(".")[2])
            rows.append(f"| {score.name} | {figures[score.key]:.{digits}f} | {score.documented} |")
        return "\n".join(rows) + "\n"

    def _once(self, step, do):
        """Do a step, unless it is noted as done."""
        path = self.folder / DONE
        done = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        if step not in done:
            do(step)
            with atomic_write(path) as part:
                part.write_text(json.dumps([*done, step], indent=1) + "\n", encoding="utf-8")

    def _convert(self, script):
        command = ["bash", "-euo", "pipefail", "-c", script]
        status = subprocess.run(command, env=os.environ | self.variables).returncode
        if status:
            raise UserError(f"{script}: status {status}")

    def _command(self, command):
        command, _, output = command.partition(" > ")
        command, _, standard_input = command.partition(" < ")
        verb, *options = self._words(command)
        if verb.startswith("train-"):
            directory = options[options.index("--output") + 1]
            if checkpoint_names(Path(directory, CHECKPOINTS)):
                options = ["--resume", directory]
            elif self.settings:
                options += ["--set", *self.settings]
        printed = run_command([verb, *options], Path(*self._words(standard_input)) if standard_input else None)
        if output:
            with atomic_write(Path(*self._words(output))) as part:
                part.write_text(printed, encoding="utf-8")

    def _words(self, command):
        words = shlex.split(command)
        for name, value in self.variables.items():
            words = [word.replace(f"${name}", value) for word in words]
        return words
