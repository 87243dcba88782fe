"""The command that draws concepts."""

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.concepts import CONCEPTS, find_concept


def test_a_concept_is_drawn_twice_alike(tmp_path):
    for folder in ("a", "b"):
        line = call("concepts", "units", "--output", tmp_path / folder)
        assert line.startswith("units: ") and line.count("\n") == 1
    for ending, beginning in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        content = (tmp_path / "a" / f"units.{ending}").read_bytes()
        assert content.startswith(beginning)
        assert content == (tmp_path / "b" / f"units.{ending}").read_bytes()


def test_several_concepts_are_drawn_in_the_order_asked_for(tmp_path):
    names = ["cross_correlation", "nonlinearity", "convolution", "logistic_regression"]  # the others take their time
    told = call("concepts", *names, "--output", tmp_path, "--format", "svg")
    assert [line.split(":")[0] for line in told.splitlines()] == names
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.svg" for name in names}


@pytest.mark.slow
def test_processes_draw_what_one_draws(tmp_path):
    names = ["nonlinearity", "convolution"]
    told = [call("concepts", *names, "--output", tmp_path / n, "--format", "png", "--processes", n) for n in ("1", "2")]
    assert told[0] == told[1]
    for name in names:
        assert len({(tmp_path / n / f"{name}.png").read_bytes() for n in ("1", "2")}) == 1


def test_every_concept_can_be_shown():
    assert all(callable(find_concept(name).show) for name in CONCEPTS)


def test_a_concept_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="unknown concept 'pool'; the nearest is 'pooling' of logistic_regression, "):
        call("concepts", "pool", "--output", tmp_path / "none")
    assert not (tmp_path / "none").exists()
