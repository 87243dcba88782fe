"""What a recipe says: which files, which commands, which scores."""

import functools
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, model_validator

from tfnmt.commands.configuration_file import read_yaml
from tfnmt.configuration import Configuration, from_json, require
from tfnmt.errors import UserError, nearest_name

FOLDER = Path(__file__).parent


class PublishedFile(Configuration):
    """A file of a data set, as the commands read it. A name alone stands for that file in `published_files`.

    Raises: UserError as `Configuration`; no such name.
    """

    name: str = Field(description="where it is below the folder of all data, such as sst/train.txt")
    sha256: str = Field(description="the digest of what is in it")
    url: str | None = Field(
        None, description="its address, or that of what it is taken from; none: it is not published"
    )
    member: str | None = Field(None, description="which file of the .zip at that address it is")
    lines: int | None = Field(None, description="how many of the first lines of what is there it is", ge=1)

    @model_validator(mode="after")
    def _check(self):
        require(not (self.member and self.lines), "lines", self.lines, "none beside member")
        return self

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        known = published_files()
        if given not in known:
            raise UserError(
                f"files: no file {given!r} is known{nearest_name(given, known)}; give another's name, sha256 and url"
            )
        return known[given]


@functools.cache
def published_files() -> dict[str, dict[str, Any]]:
    """The files that recipes share, by their names: the fields of a `PublishedFile` each."""
    files = yaml.safe_load((FOLDER / "published" / "files.yaml").read_text(encoding="utf-8"))
    return {file["name"]: file for file in files}


class Score(Configuration):
    """A cell of the row."""

    name: str = Field(description="what is scored")
    command: str = Field(description="an evaluation, which prints JSON with --json")
    key: str = Field(description="of the figure in that JSON")
    documented: float | str = Field(description="the figure in docs/results/; as text where its last digit is a 0")


class Recipe(Configuration):
    """From published files to a row of docs/results/.

    In its commands $DATA stands for the folder of all data, and $RUN for that of the recipe's own files.
    """

    title: str = Field(description="what is trained, and on what")
    section: str | None = Field(None, description="the heading in docs/results/ that tells more")
    licence: str = Field(description="of the data")
    asks: bool = Field(description="whether one has to agree to the licence first, as to one that is not for commerce")
    minutes: int = Field(description="how long it takes on two cores, roughly", ge=1)
    files: tuple[PublishedFile, ...] = Field(description="what is read", strict=False)
    conversion: str | None = Field(None, description="a script of bash that makes further files")
    commands: tuple[str, ...] = Field(
        description="verbs of tfnmt with their options, in order; one may end in < FILE > FILE", strict=False
    )
    scores: tuple[Score, ...] = Field(description="of the trained model", strict=False)


def recipe_names() -> list[str]:
    """The names of all recipes."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def find_recipe(name: str) -> Recipe:
    """The recipe of that name, or in the file of that path.

    Raises:
        UserError: there is none, or the file is not a recipe.
    """
    path = Path(name)
    if path.suffix != ".yaml":
        if name not in recipe_names():
            names = recipe_names()
            raise UserError(f"unknown recipe {name!r}{nearest_name(name, names)} of {', '.join(names)}")
        path = FOLDER / f"{name}.yaml"
    fields = read_yaml(path)
    if not isinstance(fields, dict):
        raise UserError(f"{path}: is not a recipe: it has no keys such as title and commands")
    return from_json(Recipe, fields, path)
