"""The examples of docs/extending.md run as shown."""

import re
from pathlib import Path

import pytest

from tfnmt.classification.encoders import ENCODERS
from tfnmt.data.tasks import TASKS
from tfnmt.layers.registry import ATTENTIONS, CELLS, COMPOSITIONS
from tfnmt.training.configuration import OPTIMIZERS

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(section.split("\n", maxsplit=1) for section in re.split(r"^## ", PAGE, flags=re.M)[1:])
REGISTRIES = (ATTENTIONS, CELLS, COMPOSITIONS, ENCODERS, OPTIMIZERS, TASKS)


@pytest.fixture(autouse=True)
def _restore_registries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, entries in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(entries)


def test_the_parts_that_can_be_added():
    assert list(SECTIONS) == [
        "An encoder",
        "A task",
        "A cell",
        "A composition",
        "An attention",
        "A search rule",
        "An optimizer",
    ]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_a_section_run(title):
    namespace = {"__name__": title}
    blocks = re.findall(r"```python\n(.*?)```", SECTIONS[title], re.S)
    assert blocks
    for block in blocks:
        exec(block, namespace)
