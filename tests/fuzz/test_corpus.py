"""What fuzzing has found is an error of the user's now; and the inputs that it begins with are read."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")
FOUND = [pytest.param(path.parent.name, path, id=f"{path.parent.name}/{path.name}") for path in CORPUS.glob("*/*")]


@pytest.mark.parametrize(("name", "path"), sorted(FOUND, key=lambda each: each.id))
def test_a_found_input(name, path, tmp_path):
    TARGETS[name](path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_the_examples_and_nothing(name, tmp_path):
    for data in (*TARGETS[name].examples, b""):
        TARGETS[name](data, tmp_path)
