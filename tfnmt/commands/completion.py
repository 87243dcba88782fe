"""Shell completion: the script that `tfnmt --print-completion` prints."""

import shtab

from tfnmt.commands.parser import FILE, FOLDER, CommandParser
from tfnmt.commands.verbs import VERBS, load_command, main_parser

COMPLETED = {FILE: shtab.FILE, FOLDER: shtab.DIRECTORY}
"""What completes an option's value, by its metavar."""


class CompletedParser(CommandParser):
    """A parser that tells shtab which options take files and folders."""

    def _add_action(self, action):  # what add_argument ends with, here and in a mutually exclusive group
        if action.metavar in COMPLETED:
            action.complete = COMPLETED[action.metavar]  # shtab reads it
        return super()._add_action(action)


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
