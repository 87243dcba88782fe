"""What the README and the pages in docs/ show works as shown."""

import re
from pathlib import Path

import pytest

from tfnmt.commands.verbs import VERBS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]


@pytest.mark.slow
def test_the_python_examples_run(tmp_path, monkeypatch):
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), names)
    sentence = ["The small dog sees a red ball."]
    assert names["same_model"].translate(sentence) == names["model"].translate(sentence)
    assert names["classifier"].count_params() == 100 * 16 + (16 + 8 + 1) * 3 * 8 + (8 + 1) * 2


def test_the_page_on_translation_runs(capsys):
    page = (Path(__file__).parents[1] / "docs" / "translation.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), {})
    assert "loss" in capsys.readouterr().out


def test_the_page_on_concepts_runs(capsys):
    page = (DOCS / "concepts.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), {})
    assert "found at (34, 38) drawn at (34, 38)" in capsys.readouterr().out


def test_the_page_on_trees_runs(capsys):
    page = (DOCS / "spinn.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), {})
    assert "SSRSSSSSRRRRSRR" in capsys.readouterr().out


def test_every_picture_is_shown_on_a_page():
    shown = {path for page in PAGES for path in re.findall(r"figures/(\S+)\)", page.read_text("utf-8"))}
    assert {path.name for path in (DOCS / "figures").iterdir()} == shown


def test_every_link_and_picture_of_the_pages_exists():
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"""(?:\]\(|src=")([^):#"]+)(?:#[^)]*)?[)"]""", text)
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_link_to_a_heading_has_one():
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for path, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            headings = re.findall(r"^#+ (.*)$", (page.parent / path if path else page).read_text("utf-8"), re.M)
            anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, f"{page.name}: {path}#{anchor}"


def test_every_verb_and_script_they_name_exists():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        verbs = re.findall(r"(?:^|[`/|] ?)tfnmt ([a-z]+(?:-[a-z]+)*)", text, re.M)
        assert [verb for verb in verbs if verb not in VERBS] == [], page.name
        assert [path for path in re.findall(r"scripts/\w+\.py", text) if not (DOCS.parent / path).is_file()] == []


def test_every_verb_is_named_on_a_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [verb for verb in VERBS if f"tfnmt {verb}" not in text] == []


def test_every_preset_is_in_the_table():
    from tfnmt.translation.presets import PRESETS

    page = (DOCS / "own-data.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == set(PRESETS)
