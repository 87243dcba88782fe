"""What the README and the pages in docs/ show works as shown."""

import re
from pathlib import Path

from tfnmt.commands.verbs import VERBS

DOCS = Path(__file__).parents[1] / "docs"
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch):
    example = next(block for block in re.findall(r"```python\n(.*?)```", README, re.S) if "import tfnmt" in block)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example, names)
    sentence = ["The small dog sees a red ball."]
    assert names["same_model"].translate(sentence) == names["model"].translate(sentence)


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
    shown = {path for page in DOCS.glob("*.md") for path in re.findall(r"figures/(\S+)\)", page.read_text("utf-8"))}
    assert {path.name for path in (DOCS / "figures").iterdir()} == shown


def test_every_link_and_picture_of_the_pages_exists():
    for page in [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", text)
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_link_to_a_heading_has_one():
    for page in [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")]:
        for path, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            headings = re.findall(r"^#+ (.*)$", (page.parent / path if path else page).read_text("utf-8"), re.M)
            anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, f"{page.name}: {path}#{anchor}"


def test_every_verb_and_script_it_names_exists():
    verbs, scripts = (
        set(re.findall(r"\btfnmt ([a-z]+(?:-[a-z]+)*)", README)),
        set(re.findall(r"scripts/\w+\.py", README)),
    )
    assert len(verbs) > 10 and verbs <= set(VERBS)
    assert scripts and all((Path(__file__).parents[1] / script).is_file() for script in scripts)


def test_every_preset_is_in_its_table():
    from tfnmt.translation.presets import PRESETS

    assert set(re.findall(r"^\| `(\w+)` \|", README, re.M)) == set(PRESETS)
