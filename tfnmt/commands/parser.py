"""The option parser of all commands."""

import argparse
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tfnmt.errors import UserError
from tfnmt.pretrained import find_model

FILE, FOLDER = "F", "DIR"
"""What stands for a file and a folder in the help: the option's `metavar`."""
LARGEST = 10**15
"""The largest number that an option takes; Python and TensorFlow, which multiply some of them, end at 2^63."""


class CommandParser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are one line on standard error and status 2. An option of several values may be
    given several times: its values are those of all.

    Attributes:
        checks: what is called with the options once they are read, and may raise `UserError`.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.register("action", None, _Store)
        self.checks: list[Callable[[argparse.Namespace], None]] = []

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options, and the command itself as `command_line`."""
        words = sys.argv[1:] if args is None else args
        for word in words:
            if complaint := complaint_of_name(word):
                self.error(complaint)
        arguments = super().parse_args(args, namespace)
        arguments.command_line = shlex.join([*self.prog.split(), *words])
        return arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's; a file or folder without a name is an error, and not the lack of the option."""
        arguments, left = super().parse_known_args(args, namespace)
        for action in self._actions:
            values = getattr(arguments, action.dest, None)
            if action.metavar in (FILE, FOLDER) and "" in (values if isinstance(values, list) else [values]):
                self.error(f"argument {'/'.join(action.option_strings) or action.metavar}: the name is empty")
        for check in self.checks:
            try:
                check(arguments)
            except UserError as error:
                self.error(str(error))
        return arguments, left

    def _print_message(self, message, file=None):
        """As argparse's, which is silent where standard output cannot be written."""
        if file is sys.stdout is not None:
            file.write(message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line, and exit."""
        self.exit(2, f"error: {' '.join(message.splitlines())}; --help lists all options\n")


class _Store(argparse._StoreAction):
    """As argparse's, which forgets what a list had before."""

    def __call__(self, parser, namespace, values, option_string=None):
        before = getattr(namespace, self.dest)
        if self.nargs in ("+", "*") and before is not self.default:
            values = [*before, *values]
        setattr(namespace, self.dest, values)


def complaint_of_name(text: str) -> str | None:
    """What to say of an argument or file name that is not UTF-8, which TensorFlow does not take; None of any other."""
    found = re.search(r'[^"\n]*[\udc80-\udcff][^"\n]*', text)  # these stand for bytes that Python could not decode
    return f"{found[0]}: is not UTF-8; convert the text, or rename the file" if found else None


def positive(text: str) -> int:
    """For `type=` of an option: a whole number from 1."""
    return _whole_number(text, 1)


def not_negative(text: str) -> int:
    """For `type=` of an option: a whole number from 0."""
    return _whole_number(text, 0)


def parallel(text: str) -> int:
    """For `type=` of an option: how many threads or processes, from 1 to 1,024."""
    return _whole_number(text, 1, 1024)


def seconds(text: str) -> int:
    """For `type=` of an option: a time in seconds, from 1 to a million, which is eleven days."""
    return _whole_number(text, 1, 1_000_000)


def _whole_number(text, minimum, maximum=LARGEST):
    number = int(text[:1000]) if text.isdecimal() else -1  # Python reads up to 4,300 digits
    if not minimum <= number <= maximum:
        to = f" to {maximum:,}" if maximum < LARGEST or number > maximum else ""
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from {minimum}{to}")
    return number


def output_file(text: str) -> str:
    """For `type=` of an option: a file that is written after long work, in a folder that exists."""
    path = Path(text)
    if text and path.is_dir():  # of a name that is empty, the parser tells
        raise argparse.ArgumentTypeError(f"{text}: is a directory; name a file in it")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {path.parent}; make it first")
    return text


def refuse_same_files(arguments: argparse.Namespace, outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Refuse to write a file that is read, or two outputs to one file.

    Args:
        arguments: the options.
        outputs, inputs: the names of those that name files, as attributes; one may be None.

    Raises:
        UserError: an output is the file of another option; names both.
    """
    options: dict[str, str] = {}
    for name in (*inputs, *outputs):
        path, option = getattr(arguments, name), f"--{name.replace('_', '-')}"
        if path is None:
            continue
        other = options.setdefault(os.path.realpath(path), option)
        if name in outputs and other != option:
            raise UserError(f"{option} {path}: {other} is the same file; name another one")


def refuse_repeated(option: str, values: Iterable[Any], kind: str) -> None:
    """Raise `UserError` if an option names something twice; `kind` says what it names, such as "model"."""
    for value, times in Counter(values).items():
        if times > 1:
            raise UserError(f"{option} {value}: named {times} times; name each {kind} once")


def picture(*endings: str) -> Callable[[str], str]:
    """For `type=` of an option: a picture's `output_file`, whose name ends in one of these."""

    def checked(text: str) -> str:
        if text and Path(text).suffix not in endings:
            raise argparse.ArgumentTypeError(f"{text}: its name must end in {' or '.join(endings)}")
        return output_file(text)

    return checked


def model_directory(text: str) -> str:
    """For `type=` of an option: the directory of a model, or the name of one that comes with the library."""
    found = find_model(text)
    return text if found == Path(text) else str(found)
