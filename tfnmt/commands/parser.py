"""The option parser of all commands."""

import argparse
from pathlib import Path
from typing import NoReturn

from tfnmt.pretrained import find_model


class CommandParser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are one line on standard error and status 2."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line, and exit."""
        self.exit(2, f"error: {' '.join(message.splitlines())}; --help lists all options\n")


def positive(text: str) -> int:
    """For `type=` of an option: a whole number from 1."""
    return _whole_number(text, 1)


def not_negative(text: str) -> int:
    """For `type=` of an option: a whole number from 0."""
    return _whole_number(text, 0)


def _whole_number(text, minimum):
    if not text.isdecimal() or int(text) < minimum:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from {minimum}")
    return int(text)


def model_directory(text: str) -> str:
    """For `type=` of an option: the directory of a model, or the name of one that comes with the library."""
    found = find_model(text)
    return text if found == Path(text) else str(found)
