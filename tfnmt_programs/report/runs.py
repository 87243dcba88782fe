"""What a report reads of each run: its settings, its curve, and the files that it was scored on."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfnmt.classification.presets import CLASSIFIER_PRESETS, ClassifierPreset
from tfnmt.configuration import setting_text
from tfnmt.data.samples.translation import write_sample
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.pretrained import find_model
from tfnmt.training.model_card import nearest_preset
from tfnmt.training.model_directory import HISTORY, read_kind
from tfnmt.training.progress import read_history
from tfnmt.training.run_record import RECORD, read_preset, read_record
from tfnmt.translation.presets import PRESETS, Preset
from tfnmt_programs.model_names import distinct_names


@dataclasses.dataclass(frozen=True)
class Run:
    """A run, or a model that comes with the library."""

    name: str
    directory: Path
    preset: Any
    history: Sequence[Mapping[str, float]]
    """A row of figures for each epoch; empty where it is not known."""

    @property
    def kind(self) -> str:
        """ "translator" or "classifier"."""
        return self.preset.kind

    def settings(self) -> dict[str, str]:
        """{key: value} of all its settings, as `--set` takes them."""
        return {key: setting_text(value) for _, section in self.preset for key, value in section}

    def preset_name(self) -> str:
        """The preset with most of its settings."""
        presets: Mapping[str, Any] = PRESETS if self.kind == Preset.kind else CLASSIFIER_PRESETS
        return nearest_preset(self.preset, presets)[0]

    def dev_files(self, folder: Path) -> tuple[Path, ...]:
        """The files that it was scored on; where it has none, those of the sample corpus, which go to a folder.

        Raises:
            UserError: one is not there any more, or has changed.
        """
        if not (self.directory / RECORD).exists():
            return self._sample(folder)
        record = read_record(self.directory)
        _, paths = record.paths(self.directory)
        for path, file in zip(paths, record.dev, strict=True):
            options = "--source and --target" if self.kind == Preset.kind else "--data"
            if not path.exists() or file_digest(path) != file.blake2b:
                raise UserError(f"{path}: is not what {self.directory} was scored on; name other files by {options}")
        return tuple(paths)

    def _sample(self, folder):
        if self.kind == Preset.kind:
            files = write_sample(folder)
            return Path(files["dev.en"]), Path(files["dev.de"])
        return (Path(TASKS[self.preset.model.task].write_sample(folder)["dev"]),)


def read_runs(directories: Sequence[str]) -> list[Run]:
    """The runs in these directories, each with a name of its own.

    Raises:
        UserError: there is no model in one, or a file is broken.
    """
    paths = list({found.resolve(): found for found in map(find_model, directories)}.values())
    return [
        Run(
            name,
            path,
            read_preset(path, Preset if read_kind(path) == Preset.kind else ClassifierPreset),
            read_history(path / HISTORY),
        )
        for path, name in zip(paths, distinct_names(paths), strict=True)
    ]


def different_settings(runs: Sequence[Run]) -> dict[str, list[str]]:
    """{key: its value in each run}, of the keys whose values differ; the runs are of one kind."""
    settings = [run.settings() for run in runs]
    rows = {key: [of_run[key] for of_run in settings] for key in (settings[0] if settings else {})}
    return {key: values for key, values in rows.items() if len(set(values)) > 1}
