"""The notebooks run as they are, and give what they show."""

import re

import pytest

from tests.notebooks.runner import FOLDER, code_cells, read, run, run_cell

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def texts(outputs):
    """What is compared: all text, and that there is a picture where one is shown."""
    return [
        "".join(output["text"]) if "text" in output else (set(output["data"]), "".join(output["data"]["text/plain"]))
        for output in outputs
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    for cell, outputs in zip(code_cells(notebook), run(notebook), strict=True):
        kept = texts(cell["outputs"])
        assert len(kept) == len(outputs)
        if "varies" not in cell["metadata"].get("tags", []):
            assert texts(outputs) == kept, "".join(cell["source"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_of_format_4_and_small(path):
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert [cell["execution_count"] for cell in code_cells(notebook)] == [*range(1, len(code_cells(notebook)) + 1)]
    assert path.stat().st_size < 250_000
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_there_are_five():
    assert [path.stem[0] for path in NOTEBOOKS] == list("12345")


def test_a_cell_is_run_as_a_kernel_would():
    names = {}
    printed, value = run_cell("%matplotlib inline\nprint('a')\nx = 2\nx + 1", names, 7)
    assert printed["text"] == ["a\n"] and value["data"] == {"text/plain": ["3"]} and value["execution_count"] == 7
    assert run_cell("x = 3", names, 8) == run_cell("", names, 9) == run_cell("None", names, 9) == []
