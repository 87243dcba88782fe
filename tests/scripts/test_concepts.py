"""The script that draws concepts."""

import io

import concepts
import pytest

from tfnmt.concepts import CONCEPTS, find_concept
from tfnmt.errors import UserError


def call(*arguments):
    output = io.StringIO()
    concepts.main(concepts.parser().parse_args([str(argument) for argument in arguments]), output)
    return output.getvalue()


# The others take their time; each of their parts has a test of its own.
@pytest.mark.parametrize("name", ["logistic_regression", "units", "nonlinearity", "convolution", "cross_correlation"])
def test_a_concept_is_drawn_twice_alike(name, tmp_path):
    for folder in ("a", "b"):
        line = call(name, "--output", tmp_path / folder)
        assert line.startswith(f"{name}: ") and line.count("\n") == 1
    for ending, beginning in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        content = (tmp_path / "a" / f"{name}.{ending}").read_bytes()
        assert content.startswith(beginning)
        assert content == (tmp_path / "b" / f"{name}.{ending}").read_bytes()


def test_every_concept_can_be_shown():
    assert all(callable(find_concept(name).show) for name in CONCEPTS)


def test_a_concept_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="unknown concept 'pool'; the nearest is 'pooling' of logistic_regression, "):
        call("pool", "--output", tmp_path / "none")
    assert not (tmp_path / "none").exists()
