"""How every command starts and ends.

- `--help` and mistyped options answer at once: TensorFlow is imported after the arguments are parsed.
- Standard output carries results only. While `main` runs, `sys.stdout` is standard error, so whatever a
  library prints goes there; `output` is the true standard output, in UTF-8.
- What the library logs (Python's `logging`, from INFO on) appears as plain lines on standard error; on a terminal, how
  far something long is has one line there, which is written over.
- TensorFlow's start-up chatter stays out of sight (`tensorflow_start`).
- A command ends with status 0; with one line on standard error and status 2 for what the user got wrong
  (UserError, a file that cannot be read or written), or 130, 143 or 129 when interrupted by Ctrl-C, SIGTERM or
  SIGHUP; silently with 141 when the reader of its output has gone. Anything else is a bug and keeps its traceback.
"""

import argparse
import contextlib
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import tfnmt
from tfnmt.commands.parser import CommandParser, complaint_of_name
from tfnmt.commands.standard_streams import StandardOutput, complain, discard_unwritten
from tfnmt.data.progress import TerminalHandler
from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.signals import StopSignals
from tfnmt.tensorflow_start import import_tensorflow


def run(
    main: Callable[[argparse.Namespace, TextIO], None],
    parser: CommandParser,
    options: Sequence[str] | None = None,
    tensorflow: bool = True,
) -> NoReturn:
    """Parse the options, call `main(arguments, output)`, exit with the status told above.

    Args:
        main: what the command does.
        parser: of its options.
        options: to parse (default: those of the command line).
        tensorflow: import it before `main` is called; if not, `main` does.
    """
    for name, mode in (("stdin", "r"), ("stderr", "w")):  # closed ones are read and written as /dev/null
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (open as long as the command runs)
    if sys.stdout is None:
        sys.exit(complain("error: standard output is closed: there is nowhere to write results to", 2))
    output: Any = StandardOutput(sys.stdout)
    output.reconfigure(encoding="utf-8")
    arguments = parser.parse_args(options)
    try:
        with contextlib.redirect_stdout(sys.stderr), logging_to_standard_error(), StopSignals():
            if tensorflow:
                import_tensorflow()
            main(arguments, output)
        output.flush()
        status = 0
    except BrokenPipeError:
        status = 141
    except KeyboardInterrupt as error:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of a second one, while Python shuts down
        number = error.signal if isinstance(error, InterruptedBySignal) else signal.SIGINT
        status = complain(str(error) or "interrupted", 128 + number)
    except Exception as error:  # only the user's mistakes become a line: all else goes on up
        message = _user_message(error)
        if message is None:
            raise
        status = complain(f"error: {message}", 2)
    if status != 0:
        discard_unwritten(output)
    sys.exit(status)


@contextlib.contextmanager
def logging_to_standard_error() -> Iterator[None]:
    """What `tfnmt` and `tfnmt_programs` log from INFO on: one plain line each."""
    handler = TerminalHandler() if sys.stderr.isatty() else logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    TerminalHandler.shown = handler if isinstance(handler, TerminalHandler) else None
    loggers = [logging.getLogger(name) for name in ("tfnmt", "tfnmt_programs")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        logger.propagate = False  # other libraries give the root logger handlers of their own
    try:
        yield
    finally:
        if TerminalHandler.shown:
            TerminalHandler.shown.draw("")
            TerminalHandler.shown = None
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.propagate = True
            logger.setLevel(level)


def _user_message(error: Exception) -> str | None:
    """The line to show for an error of the user's making; None for any other error."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":  # TensorFlow's
        if re.search(r"No space left|[Qq]uota", str(error)):
            return "no space is left on a disk that TensorFlow writes to, such as that of logs/: make room"
        return "there is not enough memory for this: smaller sizes or batches need less"
    if type(error).__name__ == "DataLossError":  # TensorFlow's, which reads some files that Python has checked
        return "a file is broken, or has changed since it was checked: if it is a .gz file, compress it again"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, UnicodeEncodeError):
        return complaint_of_name(error.object)
    # A UserError raised inside a tf.data generator arrives as text within an error of TensorFlow's.
    passed_on = re.search(r"\bUserError: (.+)", str(error))
    return passed_on.group(1) if passed_on else None


def environment_with(root: str | None = None) -> dict[str, str]:
    """The environment of a process that imports tfnmt from a folder (default: the same as here)."""
    first = root or str(Path(tfnmt.__file__).parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join([first, *filter(None, [os.environ.get("PYTHONPATH")])])}
