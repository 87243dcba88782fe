"""The folders, files and functions that docs/architecture.md names exist, and its walks go through them in order."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = re.search(r"```\n(tfnmt/\n.*?)```", PAGE, re.S)[1]
WALKS = ["A sentence, from file to translation", "A tree, from brackets to label and back"]


def listed(package):
    """The folders in the picture under a package, in order."""
    return re.findall(r"^  (\w+)/", re.search(rf"^{package}/\n((?:  .*\n)+)", PICTURE, re.M)[1], re.M)


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def named(text):
    """Pairs (path, name) in the order of a text: each path with the names in backticks that follow it."""
    path = None
    for word in re.findall(r"`([^`\n]+)`", text):
        if word.endswith(".py"):
            path = word
            yield path, None
        elif path and re.fullmatch(r"\w+(\.\w+)?", word):
            yield path, word


def definitions(path):
    """Names of the classes and functions of a file, and Class.method."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = ast.ClassDef | ast.FunctionDef
    top = [node for node in tree.body if isinstance(node, kinds)]
    methods = [
        f"{node.name}.{method.name}"
        for node in top
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, kinds)
    ]
    return {node.name for node in top} | set(methods)


@pytest.mark.parametrize("package", ["tfnmt", "tfnmt_programs"])
def test_the_picture_has_every_folder(package):
    folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert sorted(listed(package)) == sorted(folders)


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_names_what_exists(title):
    names = list(named(section(title)))
    assert len(names) > 20
    for path, name in names:
        assert (ROOT / path).is_file(), path
        assert name is None or name in definitions(path), f"{path}: {name}"


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_enters_each_folder_once_in_the_order_of_the_picture(title):
    rooms = [path.split("/")[1] for path, name in named(section(title)) if name is None]
    entered = [room for i, room in enumerate(rooms) if i == 0 or room != rooms[i - 1]]
    assert entered == [room for room in listed("tfnmt") if room in entered]


def test_a_walk_has_ten_lines():
    assert [len(re.findall(r"^\d+\. ", section(title), re.M)) for title in WALKS] == [10, 10]


def test_the_other_files_exist():
    files = re.findall(r"`([\w/]+\.py)`", section("The folders")) + re.findall(r"`(tfnmt/[\w/]+\.py)`", PAGE)
    assert [file for file in files if not ((ROOT / file).is_file() or (ROOT / "tfnmt" / file).is_file())] == []


def test_loops_are_where_it_says():
    loops = {
        str(path.relative_to(ROOT / "tfnmt"))
        for path in (ROOT / "tfnmt").rglob("*.py")
        if "tf.while_loop(" in path.read_text(encoding="utf-8")
    }
    assert loops and all(re.match(r"layers/recurrence\.py|layers/trees/|search/", path) for path in loops), loops
