"""docs/posts.md: every test and command that it names exists. Its links are in test_readme.py's care."""

import re
from pathlib import Path

import pytest

from tfnmt.commands.verbs import command_parser, load_command

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "posts.md").read_text(encoding="utf-8")
ROWS = [
    line.strip("| ").split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and line != "| the post | here |"
]


def test_there_are_some_150_rows_and_each_says_where_or_why_not():
    assert len(ROWS) >= 150
    for row in ROWS:
        assert len(row) == 2, row
        assert re.search(r"\]\(|`|not |the same|line \d|said", row[1]), row


def test_there_are_many_links():
    assert len(re.findall(r"\]\(([^)]+)\)", TEXT)) > 100


def test_tests_and_commands_exist():
    tests = re.findall(r"`(tests/[^`]*)`", TEXT)
    assert len(tests) > 50
    for test in tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test
    for verb, options in re.findall(r"`tfnmt ([^\s`]+)([^`]*)`", TEXT):
        parser = command_parser(verb, load_command(verb))
        if options:
            parser.parse_args(options.split())


@pytest.mark.parametrize("target", re.findall(r"`make (\w+)`", TEXT))
def test_targets_of_make(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
