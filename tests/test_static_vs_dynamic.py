"""The code that docs/static-vs-dynamic.md shows is that of the files it names."""

import re
from pathlib import Path

from tfnmt.commands.verbs import command_parser, load_command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "static-vs-dynamic.md").read_text(encoding="utf-8")


def stripped(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_excerpts_stand_in_their_files():
    excerpts = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.S)
    assert len(excerpts) == PAGE.count("```python")
    for path, code in excerpts:
        source = stripped((ROOT / path).read_text(encoding="utf-8"))
        for part in filter(str.strip, code.split("...\n")):
            assert stripped(part) in source, f"{path}: {part}"


def test_commands_name_verbs_and_options_that_exist():
    commands = re.findall(r"^tfnmt (\S+) (.*)$", PAGE, re.M)
    assert commands
    for verb, options in commands:
        command_parser(verb, load_command(verb)).parse_args(options.split())
