"""README.md of a model directory, its model card: what the model is, what it was trained on, and how good it is."""

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tfnmt
from tfnmt.configuration import setting_text
from tfnmt.data.progress import duration
from tfnmt.files import write_file
from tfnmt.training.progress import Progress
from tfnmt.training.run_record import RunRecord

logger = logging.getLogger(__name__)

CARD = "README.md"
MARK = "<!-- Written by tfnmt, and again when the run is resumed; without this line it leaves the file alone. -->"
SAMPLES = 5
"""Dev examples of which the card shows what the model makes."""
LONGEST_SAMPLE = 300
"""Characters."""
ROWS = 12
"""Epochs in the table of scores; of more, some are left out."""
BARS = "▁▂▃▄▅▆▇█"


@dataclasses.dataclass(frozen=True)
class ModelCard:
    """What a model card tells."""

    what: str
    """What the model is, in a sentence or two."""
    uses: Sequence[str]
    """Commands that use it, with DIR for its directory."""
    preset: Any
    """The run's, a configuration made of configurations."""
    presets: Mapping[str, Any]
    """Presets by name, to one of which it is compared."""
    record: RunRecord
    """The run's data and command."""
    scores: Mapping[str, float]
    """Of its weights, by measure."""
    signatures: Mapping[str, str]
    """Measure -> sacrebleu's signature."""
    history: Sequence[Mapping[str, float]]
    """A row of figures for each epoch; empty where it is not known."""
    samples: str
    """What it makes of some dev examples, as lines of text; empty where there are none."""
    weights: str = ""
    """Which weights it has; empty for those of a run's best epoch."""

    def text(self, name: str) -> str:
        """The card of a model directory of that name, in Markdown."""
        preset, changes = nearest_preset(self.preset, self.presets)
        sections = {
            "Data": _data(self.record),
            "Settings": f"Those of the preset `{preset}`" + (f", with these changes:\n\n{changes}" if changes else "."),
            "Scores": self._scores() if self.scores else "",
            "Curve": curve(self.history) if self.history else "",
            "Samples": f"Of the first dev examples it makes:\n\n{_indented(self.samples)}" if self.samples else "",
            "Command": _indented(self.record.command or "# trained from Python"),
        }
        uses = "\n".join(self.uses).replace("DIR", name)
        head = f"{MARK}\n\n# {name}\n\n{self.what} Made by tfnmt {tfnmt.__version__}.\n\n{_indented(uses)}\n"
        return head + "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items() if text)

    def write(self, directory: Path) -> None:
        """Write README.md into a model directory, unless somebody else's is there.

        Raises:
            UserError: the file system refuses, for example because it is full.
        """
        path = directory / CARD
        if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
            logger.info("%s: is not tfnmt's, and stays as it is", path)
            return
        write_file(path, self.text(directory.resolve().name))

    def _scores(self):
        weights = self.weights or f"the weights with the best {self.preset.training.selection}"
        lines = [f"Of {weights} on dev data:", ""]
        for measure, score in self.scores.items():
            signature = self.signatures.get(measure)
            lines.append(f"- {measure} {score:.4g}" + (f", signature `{signature}`" if signature else ""))
        return "\n".join(lines)


def best_scores(progress: Progress, selection: str) -> dict[str, float]:
    """The dev scores of a run's best weights, by measure.

    Args:
        progress: the run's.
        selection: the measure by which the weights were selected, such as "bleu".
    """
    measure = f"dev_{selection}"
    for row in progress.history:
        if row["epoch"] == progress.best_epoch and row[measure] == abs(progress.best_score or 0):
            return {name: value for name, value in row.items() if name.startswith("dev_")}
    # The weights are of a moment within an epoch, where the run was stopped once: its other scores are gone.
    return {} if progress.best_score is None else {measure: abs(progress.best_score)}


def nearest_preset(preset: Any, presets: Mapping[str, Any]) -> tuple[str, str]:
    """(name, changes): the preset with the fewest settings of other values than in `preset`, and a table of these."""

    def changes(name):
        return [
            (key, setting_text(value), setting_text(getattr(getattr(presets[name], section), key)))
            for section, configuration in preset
            for key, value in configuration
            if value != getattr(getattr(presets[name], section), key)
        ]

    name = min(presets, key=lambda name: len(changes(name)))
    rows = [f"| `{key}` | {here} | {there} |" for key, here, there in changes(name)]
    return name, "\n".join(["| key | here | preset |", "|---|---|---|", *rows]) if rows else ""


def curve(history: Sequence[Mapping[str, float]]) -> str:
    """The dev scores of every epoch, in Markdown: a line of bars for each, and a table.

    Args:
        history: a row of figures for each epoch.
    """
    last = history[-1]
    measures = [name for name in last if name.startswith("dev_")]
    width = max(map(len, measures), default=0)
    bars = [f"{name:{width}}  {sparkline([row.get(name, math.nan) for row in history])}" for name in measures]
    columns = ["epoch", "loss", *measures]
    step = -(-len(history) // ROWS)
    chosen = [row for i, row in enumerate(history) if i % step == 0 or row is last]
    table = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in chosen:
        figures = [f"{row[name]:.4g}" if name in row else "" for name in columns[1:]]
        table.append(f"| {int(row['epoch'])} | {' | '.join(figures)} |")
    told = f"{int(last['steps']):,} batches in {duration(last['seconds'])}."
    return "\n".join([told, "", _indented("\n".join(bars)), "", *table])


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, as high as it lies between the lowest and the highest; a space for one not finite."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0), max(finite, default=0)
    scale = (len(BARS) - 1) / (high - low or 1)
    return "".join(BARS[round((value - low) * scale)] if math.isfinite(value) else " " for value in values)


def shortened(text: str) -> str:
    """A text for a sample, cut if it is longer than `LONGEST_SAMPLE` characters."""
    return text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]} …"


def _data(record):
    rows = [("training", file) for file in record.training] + [("dev", file) for file in record.dev]
    rows += [("word vectors", record.vectors)] if record.vectors else []
    table = ["| | file | BLAKE2b, as of `b2sum -l 256` |", "|---|---|---|"]
    for use, file in rows:
        path = Path(file.path)
        table.append(f"| {use} | {path.name if path.is_absolute() else path} | `{file.blake2b}` |")
    return "\n".join(table)


def _indented(text):
    """Text as it is, in Markdown."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
