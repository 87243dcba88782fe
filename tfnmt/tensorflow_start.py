"""TensorFlow without its start-up chatter, in this process and in others; TF_CPP_MIN_LOG_LEVEL=0 brings it back."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from tfnmt.errors import UserError
from tfnmt.processors import processors
from tfnmt.signals import SIGNALS, signals_wait

INSTALL = "in a checkout, run `make`, then use .venv/bin/python; elsewhere, `pip install` tfnmt again"
_EXTRAS = {"markdown": "docs", "selenium": "docs", "PIL": "docs", "ray": "ray", "pyarrow": "ray"}
"""The extra of pyproject.toml that a module comes with."""


def import_tensorflow() -> None:
    """Import TensorFlow, TensorFlow Text and Keras, showing what they say only if that fails. With
    TF_CPP_MIN_LOG_LEVEL=0 that is left to the code which needs them: all they say is to be seen."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    limit_threads()
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0":
        return
    os.environ["GRPC_VERBOSITY"] = "NONE"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # silences C++ from the end of the import on, not during it
    try:
        with signals_wait():
            import numpy  # noqa: F401  It starts threads, see `keep_handlers`.
        with _standard_error_held_back():
            import absl.logging
            import keras  # noqa: F401
            import tensorflow as tf
            import tensorflow_text  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(missing_module(error)) from None
    absl.logging.set_verbosity(absl.logging.ERROR)
    tf.get_logger().setLevel("ERROR")


def limit_threads() -> None:
    """Have TensorFlow, unless it has computed already, start as many threads as this process may use processors. By
    itself it does not see a container's limit, and would start one for each processor of the machine."""
    if processors() < len(os.sched_getaffinity(0)):
        for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
            os.environ.setdefault(name, str(processors()))


@contextlib.contextmanager
def _standard_error_held_back() -> Iterator[None]:
    """Keep file descriptor 2, where C++ writes too, in a temporary file; show it on failure."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held_back:
        true_standard_error = os.dup(2)
        os.dup2(held_back.fileno(), 2)
        failed = False
        try:
            yield
        except ModuleNotFoundError:  # whose own line says all
            raise
        except Exception:  # it goes on up, and what was held back is shown
            failed = True
            raise
        finally:
            sys.stderr.flush()
            os.dup2(true_standard_error, 2)
            os.close(true_standard_error)
            if failed:
                held_back.seek(0)
                sys.stderr.write(held_back.read().decode(errors="replace"))


def missing_module(error: ModuleNotFoundError) -> str:
    """The line to show when a package is not installed."""
    extra = _EXTRAS.get(str(error.name).partition(".")[0])
    advice = f"in a checkout, `pip install '.[{extra}]'`" if extra else INSTALL
    return f"Python finds no module {error.name!r}: {advice}"


def process_pool(processes: int, begin: Callable[..., None], *arguments: Any) -> ProcessPoolExecutor:
    """So many new processes, each with TensorFlow; each begins by `begin(*arguments)`."""
    context = multiprocessing.get_context("spawn")  # a fork of a process in which TensorFlow runs would hang
    return _ProcessPool(processes, context, _begin, (pickle.dumps((begin, arguments)),))


class _ProcessPool(ProcessPoolExecutor):
    def submit(self, *arguments: Any, **options: Any) -> Future:
        """As the library's. Where this starts a process, signals wait in it until it can end without a traceback."""
        with signals_wait():
            return super().submit(*arguments, **options)


def _begin(pickled):
    """Let signals end this process without a word, then import TensorFlow quietly, before unpickling imports it."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    import_tensorflow()
    begin, arguments = pickle.loads(pickled)
    begin(*arguments)
