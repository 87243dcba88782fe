"""Train the models of `tfnmt/pretrained/` again: python -m tfnmt_programs.pretraining [NAME ...]"""

import json
import logging
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.pretrained import ABOUT, FOLDER, About
from tfnmt_programs.command_process import run_command

LARGEST = 2_000_000
"""Bytes of a model."""
NOT_KEPT = ("checkpoints", "history.csv", "log.txt", "run.json", "sample", "run.lock")
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
        measure, score = re.findall(r"best (dev_\w+) ([\d.]+), of epoch", printed)[-1]
        scores = {measure: float(score)}
        if command.startswith(TRANSLATOR):
            figures = json.loads(run_command(["evaluate-translator", "--model", str(run), "--json"]).splitlines()[-1])
            scores = {f"test_{measure}": round(figures[measure], 2) for measure in ("bleu", "chrf", "perplexity")}
        about = About(title=title, command=f"tfnmt {command} --output {name}", scores=scores)
        (run / ABOUT).write_text(about.model_dump_json(indent=2) + "\n", encoding="utf-8")
        size = sum(path.stat().st_size for path in run.iterdir() if path.name not in NOT_KEPT)
        if size > LARGEST:
            raise UserError(f"{name}: has {size:,} bytes; at most {LARGEST:,} are allowed")
        shutil.rmtree(folder / name, ignore_errors=True)
        return Path(shutil.copytree(run, folder / name, ignore=shutil.ignore_patterns(*NOT_KEPT)))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for each in sys.argv[1:] or MODELS:
        print(pretrain(each))
