"""Shell completion: the script that `tfnmt --print-completion` prints."""

import argparse
from typing import Any

import shtab

from tfnmt.commands.parser import CommandParser
from tfnmt.commands.verbs import VERBS, load_command, main_parser

COMPLETED = {"F": shtab.FILE, "FILE": shtab.FILE, "PATH": shtab.FILE, "DIR": shtab.DIRECTORY, "RUN": shtab.DIRECTORY}
"""What completes an option's value, by its metavar."""


class CompletedParser(CommandParser):
    """A parser that tells shtab which options take files and folders."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """As in `ArgumentParser`."""
        action = super().add_argument(*names, **options)
        if options.get("metavar") in COMPLETED:
            action.complete = COMPLETED[options["metavar"]]  # type: ignore[attr-defined]  # shtab reads it
        return action


def completion(shell: str) -> str:
    """A script that completes verbs, options, their choices and file names.

    Args:
        shell: "bash" or "zsh".
    """
    parser = main_parser(CompletedParser)
    verbs = parser.add_subparsers()
    for verb, meaning in VERBS.items():
        load_command(verb).add_options(verbs.add_parser(verb, help=meaning))
    return shtab.complete(parser, shell)
