"""Signals that end a run: at once or when it may, with a line; a second one ends the process."""

import signal
import subprocess
import sys
import time
import weakref

import pytest

from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.signals import AGAIN_SECONDS, SIGNALS, StopSignals, keep_handlers


@pytest.mark.usefixtures("heeded_signals")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_at_once_what_may_be_ended(number):
    handlers = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(InterruptedBySignal) as caught, StopSignals(lambda: "go on there"):
        signal.raise_signal(number)
    assert str(caught.value) == f"interrupted by {signal.Signals(number).name}; go on there"
    assert caught.value.signal == number
    assert [signal.getsignal(each) for each in SIGNALS] == handlers


def test_handlers_are_kept_from_other_code():
    handlers = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(InterruptedBySignal, match="SIGTERM"), StopSignals(), keep_handlers():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.raise_signal(signal.SIGTERM)  # os.kill would leave it to any thread, and TensorFlow may have some
    assert [signal.getsignal(each) for each in SIGNALS] == handlers


def test_no_thread_but_the_main_one_takes_signals_while_handlers_are_kept():
    """Those that NumPy starts are there before, in a command."""
    program = """import signal, sys
from pathlib import Path
from unittest import mock
from tfnmt.tensorflow_start import import_tensorflow
from tfnmt.signals import keep_handlers
names = ("absl", "absl.logging", "keras", "tensorflow", "tensorflow_text")  # which take seconds to import
with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in names}):
    import_tensorflow()
    import numpy
    with keep_handlers():
        for status in Path("/proc/self/task").glob("*/status"):
            (blocked,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigBlk:"))
            print([number.name for number in (signal.SIGINT, signal.SIGTERM) if not int(blocked, 16) >> number - 1 & 1])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0 and set(ended.stdout.splitlines()) == {"[]"}, ended


def test_a_signal_waits_until_what_is_begun_is_done():
    with pytest.raises(InterruptedBySignal, match="^interrupted by SIGTERM$"), StopSignals() as signals:
        signals.deferred = True
        signal.raise_signal(signal.SIGTERM)
        assert signals.received == signal.SIGTERM
        signals.end()


def test_what_is_made_of_the_exception_on_its_way_does_not_count():
    """SentencePiece, in C++, makes a RuntimeError of whatever its iterator of lines raises."""
    with pytest.raises(InterruptedBySignal), StopSignals():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("INTERNAL: InterruptedBySignal") from None


@pytest.mark.usefixtures("heeded_signals")
def test_what_python_loses_in_a_callback_is_raised_again(capfd):
    """It lets no exception out of the callback of a weak reference, nor out of a finalizer."""
    handlers, hook = [signal.getsignal(each) for each in SIGNALS], sys.unraisablehook
    loops = 0
    with pytest.raises(InterruptedBySignal, match="^interrupted by SIGTERM$"), StopSignals():
        while loops < 3:  # the second and the third are never begun
            loops += 1
            something = set()
            reference = weakref.ref(something, lambda _: signal.raise_signal(signal.SIGTERM))
            del something
            time.sleep(10)
    assert (loops, reference(), capfd.readouterr()) == (1, None, ("", ""))
    assert ([signal.getsignal(each) for each in SIGNALS], sys.unraisablehook) == (handlers, hook)


@pytest.mark.usefixtures("heeded_signals")
def test_what_python_loses_at_the_end_is_raised_there():
    with pytest.raises(InterruptedBySignal, match="^interrupted by SIGTERM$"), StopSignals():
        something = set()
        reference = weakref.ref(something, lambda _: signal.raise_signal(signal.SIGTERM))
        del something
    assert reference() is None
    time.sleep(2 * AGAIN_SECONDS)  # in which no other signal comes


def test_what_else_python_loses_goes_where_it_went(monkeypatch):
    lost = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: lost.append(unraisable.exc_type))
    with StopSignals():
        something = set()
        reference = weakref.ref(something, lambda _: 1 / 0)
        del something
    assert reference() is None and lost == [ZeroDivisionError]


def test_other_errors_stay_what_they_are():
    with pytest.raises(UserError), StopSignals() as signals:
        signals.deferred = True
        signal.raise_signal(signal.SIGTERM)
        raise UserError("the disk is full")


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_ends_the_process_without_a_word():
    program = """import signal
from tfnmt.signals import StopSignals
signal.signal(signal.SIGINT, signal.default_int_handler)
with StopSignals() as signals:
    signals.deferred = True
    signal.raise_signal(signal.SIGINT)
    print("first", flush=True)
    signal.raise_signal(signal.SIGINT)
    print("second", flush=True)"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "first\n", "")


def test_ctrl_c_ends_a_process_of_a_pool_without_a_traceback(heeded_signals):
    """Also one that has only begun: once Python has its handler of SIGINT, it imports modules."""
    program = f"""import multiprocessing, os, pathlib, re, time
from concurrent.futures.process import BrokenProcessPool
from tfnmt.tensorflow_start import process_pool
with process_pool(1, print) as pool:
    work = pool.submit(int)
    (process,) = multiprocessing.active_children()
    status = pathlib.Path("/proc", str(process.pid), "status")
    while not int(re.search("SigCgt:(.*)", status.read_text())[1], 16) >> {signal.SIGINT - 1} & 1:
        time.sleep(0.001)
    os.kill(process.pid, {int(signal.SIGINT)})
    try:
        work.result()
    except BrokenProcessPool:
        print("ended")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("ended\n", "")
