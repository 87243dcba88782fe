"""Train the models of `tfnmt/pretrained/` again: python -m tfnmt_programs.pretraining [--cards] [NAME ...]

With `--cards`, only write their model cards.
"""

import json
import logging
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import tfnmt
from tfnmt.classification import model_card as classification
from tfnmt.classification.evaluation import evaluation_dataset
from tfnmt.classification.presets import ClassifierPreset
from tfnmt.commands.training_options import read_best_score
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import write_sample as write_translations
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.pretrained import ABOUT, FOLDER, About, about
from tfnmt.training.model_directory import HISTORY
from tfnmt.training.progress import read_history
from tfnmt.training.run_record import SAMPLE, RunRecord, read_preset
from tfnmt.translation import model_card as translation
from tfnmt.translation.presets import Preset
from tfnmt_programs.command_process import run_command

LARGEST = 2_000_000
"""Bytes of a model."""
NOT_KEPT = ("README.md", "checkpoints", "log.txt", "run.json", "sample", "run.lock")
"""What a run writes and a model does not need."""

TRANSLATOR = "train-translator --preset tiny --no-board"
CLASSIFIER = "train-classifier --preset tiny --no-board"
MODELS = {
    "sample-en-de": ("English to German, of the sample corpus, with attention", TRANSLATOR),
    "sample-en-de-summary": (
        "the same from one summary vector, the post's encoder–decoder without attention",
        f"{TRANSLATOR} --set attention=none bidirectional=false conditional=false deep_output=false",
    ),
    "sample-spinn": (
        "entailment of the sample corpus; learned to parse from parses",
        f"{CLASSIFIER} --task snli --encoder spinn",
    ),
    "sample-rl-spinn": (
        "entailment of the sample corpus; learned to parse without parses",
        f"{CLASSIFIER} --task snli --encoder rl-spinn",
    ),
    "listops-spinn": (
        "the value of short ListOps expressions; learned to parse from parses",
        f"{CLASSIFIER} --task listops --encoder spinn",
    ),
    "listops-rl-spinn": (
        "the value of short ListOps expressions; learned to parse without parses",
        f"{CLASSIFIER} --task listops --encoder rl-spinn",
    ),
}
"""Name -> what it is, and the command that trains it."""


def pretrain(name: str, folder: Path = FOLDER) -> Path:
    """Train a model on its sample corpus, and leave what it needs, and what it scores, in a folder.

    Returns:
        Its directory.

    Raises:
        UserError: it is larger than `LARGEST`; a command fails.
    """
    title, command = MODELS[name]
    with tempfile.TemporaryDirectory() as temporary:
        run = Path(temporary, name)
        printed = run_command([*shlex.split(command), "--output", str(run)])
        scores = dict([read_best_score(printed)])
        if command.startswith(TRANSLATOR):
            figures = json.loads(run_command(["evaluate-translator", "--model", str(run), "--json"]).splitlines()[-1])
            scores = {f"test_{measure}": round(figures[measure], 2) for measure in ("bleu", "chrf", "perplexity")}
        of_model = About(title=title, command=f"tfnmt {command} --output {name}", scores=scores)
        (run / ABOUT).write_text(of_model.model_dump_json(indent=2) + "\n", encoding="utf-8")
        size = sum(path.stat().st_size for path in run.iterdir() if path.name not in NOT_KEPT)
        if size > LARGEST:
            raise UserError(f"{name}: has {size:,} bytes; at most {LARGEST:,} are allowed")
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(run, folder / name, ignore=shutil.ignore_patterns(*NOT_KEPT))
    return write_card(folder / name)


def write_card(directory: Path) -> Path:
    """Write the model card of a model that `pretrain` has left in a directory; returns the directory."""
    model, of_model = tfnmt.load(directory), about(str(directory.resolve()))
    known = of_model.scores, read_history(directory / HISTORY)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if isinstance(model, tfnmt.Translator):
            files = write_translations(folder / SAMPLE)
            training, dev = ([files[f"{split}.{side}"] for side in ("en", "de")] for split in ("train", "dev"))
            record = RunRecord.of(folder, training, dev, command=of_model.command)
            preset, dev_files = read_preset(directory, Preset), ParallelFiles(*dev)
            card = translation.model_card(model, preset, record, *known, dev_files)
        else:
            files = TASKS[model.configuration.task].write_sample(folder / SAMPLE)
            record = RunRecord.of(folder, [files["train"]], [files["dev"]], command=of_model.command)
            preset, dev_examples = (
                read_preset(directory, ClassifierPreset),
                evaluation_dataset(model.configuration, [files["dev"]]),
            )
            card = classification.model_card(model, preset, record, *known, dev_examples)
        card.write(directory)
    return directory


def main(arguments: list[str]) -> None:
    """Train the models named, or all; with `--cards`, only write their cards."""
    make = (lambda name: write_card(FOLDER / name)) if "--cards" in arguments else pretrain
    for name in [each for each in arguments if each != "--cards"] or MODELS:
        print(make(name))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(sys.argv[1:])
