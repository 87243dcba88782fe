"""Small trained models that come with the library, each a model directory in this folder, found by its name.

They were trained on the sample corpora by `make models` (`python -m tfnmt_programs.pretraining`); about.json in each
directory tells by which command, and what it scores.
"""

import json
from pathlib import Path

from pydantic import Field

from tfnmt.configuration import Configuration, from_json

FOLDER = Path(__file__).parent
ABOUT = "about.json"


class About(Configuration):
    """What a model is, and how good."""

    title: str = Field(description="what it does")
    command: str = Field(description="that trained it")
    scores: dict[str, float] = Field(description="by measure")


def pretrained_names() -> list[str]:
    """The names of the models that are there."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{ABOUT}"))


def about(name: str) -> About:
    """What the model of that name is."""
    path = FOLDER / name / ABOUT
    return from_json(About, json.loads(path.read_text(encoding="utf-8")), path)


def find_model(name: str | Path) -> Path:
    """The directory of a model: where there is a folder of that name it is that, or else the model that is there by
    that name. Of neither, the path as it is: what loads it tells what is wrong.
    """
    path = Path(name)
    return FOLDER / str(name) if not path.is_dir() and str(name) in pretrained_names() else path
