"""Figures that commands print."""

import io
import json
import math
import re
from pathlib import Path

import tfnmt.commands
import tfnmt_programs.commands
from tests.commands.calls import call
from tfnmt.commands.figures import print_figures


def test_what_is_not_finite_is_null_at_every_depth():
    output = io.StringIO()
    figures = {"a": {"perplexity": math.inf, "bleu": 2.5}, "loss": math.nan, "name": "b"}
    print_figures(figures | {"explained": [math.nan, (-math.inf, 1)]}, True, output)
    expected = {"a": {"perplexity": None, "bleu": 2.5}, "loss": None, "name": "b", "explained": [None, [None, 1]]}
    assert output.getvalue() == json.dumps(expected) + "\n"


def test_a_small_p_value_is_not_0():
    output = io.StringIO()
    print_figures({"loss": 9.6e-9, "mcnemar_p": 9.6e-9, "bleu_p": 1 / 1001, "ter_p": 0.0}, False, output)
    assert [line.split()[1] for line in output.getvalue().splitlines()] == ["0.0000", "9.6e-09", "0.0010", "0.0000"]


def test_every_command_prints_its_figures_so(monkeypatch):
    """Those, too, that print no line for each figure."""
    monkeypatch.setattr("tfnmt_programs.commands.cost.chosen_model", lambda arguments: None)
    monkeypatch.setattr("tfnmt_programs.benchmarks.cost.cost", lambda *_: {"parts": {}, "seconds": math.nan})
    assert call("cost", "--json") == '{"parts": {}, "seconds": null}\n'
    folders = [Path(package.__file__).parent for package in (tfnmt.commands, tfnmt_programs.commands)]
    commands = [path for folder in folders for path in folder.rglob("*.py")]
    printing = {path.name for path in commands if re.search(r"print\(json\.dumps", path.read_text(encoding="utf-8"))}
    assert not printing
