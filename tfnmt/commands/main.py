"""The command `tfnmt`: its verbs, and how one of them is found.

What takes long to import is imported within functions, so that Ctrl-C meanwhile is one line, too.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `tfnmt` with these arguments (default: the command line's) and exit.

    The status is 0; 2 for what the user got wrong, 128 + N when interrupted by signal N, 141 when nobody reads the
    output any more.
    """
    try:
        answer(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # while a verb runs, `run` looks after it
        with contextlib.suppress(OSError):
            os.write(2, b"interrupted\n")
        os._exit(130)  # after sys.exit Python ends by the signal itself, where that has come within an `exec`


def answer(arguments: Sequence[str]) -> NoReturn:
    """Do what is asked for, and write out what it has printed."""
    from tfnmt.commands.standard_streams import complain, discard_unwritten
    from tfnmt.tensorflow_start import missing_module

    try:
        try:
            dispatch(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        discard_unwritten(sys.stdout)
        sys.exit(141)
    except OSError as error:  # what a verb prints is looked after by `run`
        if error.filename is not None or error.strerror is None:  # then it is not the system's, such as a client's
            raise
        discard_unwritten(sys.stdout)
        sys.exit(complain(f"error: standard output: {error.strerror}", 2))
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("tfnmt"):
            raise  # a bug
        sys.exit(complain(f"error: {missing_module(error)}", 2))


def dispatch(arguments: Sequence[str]) -> NoReturn:
    """Find the verb and run it."""
    from tfnmt.commands.run import run
    from tfnmt.commands.standard_streams import complain
    from tfnmt.commands.verbs import VERBS, command_parser, load_command
    from tfnmt.errors import nearest_name

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
    from tfnmt.commands.verbs import main_parser

    parser = main_parser()
    shell = parser.parse_args(arguments).print_completion
    if shell is None:
        parser.exit(2, "error: a verb is missing; --help lists all verbs\n")
    from tfnmt.commands.completion import completion

    print(completion(shell))
    sys.exit(0)
