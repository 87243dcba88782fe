"""The command `tfnmt`: its verbs, and how one of them is found."""

import errno
import sys
from collections.abc import Sequence
from typing import NoReturn

from tfnmt.commands.run import complain, discard_unwritten, run
from tfnmt.commands.verbs import VERBS, command_parser, load_command, main_parser
from tfnmt.errors import nearest_name
from tfnmt.tensorflow_start import missing_module


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `tfnmt` with these arguments (default: the command line's) and exit.

    The status is 0; 2 for what the user got wrong, 128 + N when interrupted by signal N, 141 when nobody reads the
    output any more.
    """
    try:
        try:
            dispatch(sys.argv[1:] if arguments is None else arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        discard_unwritten(sys.stdout)
        sys.exit(141)
    except OSError as error:  # what a verb prints is looked after by `run`
        if error.errno != errno.ENOSPC:
            raise
        discard_unwritten(sys.stdout)
        sys.exit(complain(f"error: standard output: {error.strerror}", 2))
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("tfnmt"):
            raise  # a bug
        sys.exit(complain(f"error: {missing_module(error)}", 2))


def dispatch(arguments: Sequence[str]) -> NoReturn:
    """Find the verb and run it."""
    if not arguments or arguments[0].startswith("-"):
        answer_without_verb(arguments)
    verb, *options = arguments
    if verb not in VERBS:
        sys.exit(complain(f"error: unknown verb {verb!r}{nearest_name(verb, VERBS)}; --help lists all verbs", 2))
    command = load_command(verb)
    tensorflow = getattr(command, "IMPORT_TENSORFLOW", True)
    run(command.main, command_parser(verb, command), options, tensorflow)


def answer_without_verb(arguments: Sequence[str]) -> NoReturn:
    """`--help`, `--version` and `--print-completion`; anything else is an error."""
    parser = main_parser()
    shell = parser.parse_args(arguments).print_completion
    if shell is None:
        parser.exit(2, "error: a verb is missing; --help lists all verbs\n")
    from tfnmt.commands.completion import completion

    print(completion(shell))
    sys.exit(0)
