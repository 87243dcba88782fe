"""What a user sees of a command: each test runs one, as a user would."""

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tfnmt.commands.main import main
from tfnmt.commands.run import environment_with, logging_to_standard_error
from tfnmt.commands.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def start(tmp_path):
    """Write a command with the given body of `main` and start it in an empty folder; return the process."""

    def start_command(body, *arguments, **options):
        script = tmp_path / "command.py"
        script.write_text(
            "import os, signal, sys\n"
            "from tfnmt.commands.parser import CommandParser\n"
            "from tfnmt.commands.run import run\n"
            "def main(arguments, output):\n"
            + "".join(f"    {line}\n" for line in body.splitlines())
            + "run(main, CommandParser())\n"
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        return subprocess.Popen(
            [sys.executable, script, *arguments],
            env=environment | {"PYTHONPATH": str(ROOT)} | options.pop("env", {}),
            cwd=tmp_path,
            **options,
        )

    return start_command


def finish(process):
    """Wait for the process; return its status, standard output and standard error."""
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


# Stands in for TensorFlow where a test is not about TensorFlow: five seconds saved.
WITHOUT_TENSORFLOW = {"TF_CPP_MIN_LOG_LEVEL": "0"}


@pytest.mark.slow
def test_tensorflow_comes_in_without_a_word(start):
    body = """\
import keras, tensorflow as tf, tensorflow_text
print(tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0)).numpy(), file=output)
print(list(tf.data.Dataset.range(2).as_numpy_iterator()) == [0, 1], file=output)
os.write(2, b"heard again")"""
    assert finish(start(body)) == (0, "2.0\nTrue\n", "heard again")


@pytest.mark.slow
def test_standard_output_carries_only_results(start):
    body = """\
import keras, numpy
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(numpy.zeros((4, 2)), numpy.zeros(4))
model.predict(numpy.zeros((4, 2)))
print("chatter of some library")
print("Übersetzung", file=output)"""
    status, output, errors = finish(start(body, env={"PYTHONIOENCODING": "ascii"}, encoding="utf-8"))
    assert (status, output) == (0, "Übersetzung\n")
    assert "chatter of some library" in errors
    assert "loss" in errors


def test_what_a_failing_import_said_is_shown(start):
    body = """\
from tfnmt.tensorflow_start import _standard_error_held_back
with _standard_error_held_back():
    os.write(2, b"said in C++\\n")
    raise ImportError("library missing")"""
    status, _, errors = finish(start(body, env=WITHOUT_TENSORFLOW))
    assert status == 1
    assert errors.startswith("said in C++\n")
    assert "ImportError: library missing" in errors


def test_a_user_error_is_one_line_and_status_2(start):
    body = """\
from tfnmt.errors import UserError
print("found so far", file=output)
raise UserError("a.txt:3: not UTF-8;\\nconvert it")"""
    status, output, errors = finish(start(body, env=WITHOUT_TENSORFLOW))
    assert (status, output, errors) == (2, "found so far\n", "error: a.txt:3: not UTF-8; convert it\n")


def test_what_the_library_logs_is_a_plain_line(start):
    body = """\
import logging
logging.basicConfig()
logging.getLogger("tfnmt.training.trainer").info("kept all %d pairs", 90)
logging.getLogger("tfnmt.training.trainer").debug("nobody asked")
logging.getLogger("other").info("nor for this")"""
    assert finish(start(body, env=WITHOUT_TENSORFLOW)) == (0, "", "kept all 90 pairs\n")


def test_after_it_the_library_logs_as_before(capfd):
    logger = logging.getLogger("tfnmt")
    before = logger.level, logger.propagate, logger.handlers[:]
    with logging_to_standard_error():
        logger.info("shown")
    assert (logger.level, logger.propagate, logger.handlers) == before
    logger.info("not shown")
    assert capfd.readouterr().err == "shown\n"


def test_a_user_error_within_a_dataset_is_one_line_too(start):
    body = """\
import tensorflow as tf
from tfnmt.errors import UserError
def lines():
    yield 1
    raise UserError("a.txt:3: not UTF-8")
dataset = tf.data.Dataset.from_generator(lines, output_signature=tf.TensorSpec([], tf.int32))
list(dataset.prefetch(1))"""
    assert finish(start(body)) == (2, "", "error: a.txt:3: not UTF-8\n")


def test_a_process_imports_first_from_the_folder_asked_for(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert environment_with("here")["PYTHONPATH"] == os.pathsep.join(["here", "elsewhere"])
    assert environment_with()["PYTHONPATH"] == os.pathsep.join([str(ROOT), "elsewhere"])
    monkeypatch.delenv("PYTHONPATH")
    assert environment_with("here")["PYTHONPATH"] == "here"


def test_an_empty_output_is_one_line(capfd):
    with pytest.raises(SystemExit) as ended:
        main(["make-listops", "--output", "", "--count", "1", "--seed", "1"])
    complaint = "error: argument --output: the name is empty; --help lists all options\n"
    assert (ended.value.code, capfd.readouterr()) == (2, ("", complaint))


def test_a_file_name_that_is_not_utf_8_is_one_line(start, tmp_path):
    """Among the arguments, and where a pattern or a folder brings it."""
    line = r"error: a \udcff.en: is not UTF-8; convert the text, or rename the file"
    body = "pass", r"""print('{"file": "a \udcff.en"}', file=output)"""
    status, output, errors = finish(start(body[0], b"a \xff.en", env=WITHOUT_TENSORFLOW))
    assert (status, output, errors) == (2, "", f"{line}; --help lists all options\n")
    assert finish(start(body[1], env=WITHOUT_TENSORFLOW)) == (2, "", f"{line}\n")


def test_closed_standard_output_is_one_line_and_closed_input_is_empty(start, tmp_path):
    start("print(repr(sys.stdin.read()), file=output)", env=WITHOUT_TENSORFLOW).communicate()
    environment = os.environ | WITHOUT_TENSORFLOW | {"PYTHONPATH": str(ROOT)}

    def run_with(closed):
        command = f"exec {sys.executable} command.py {closed}"
        told = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return told.returncode, told.stdout, told.stderr

    assert run_with("<&-") == (0, "''\n", "")
    status, _, line = run_with(">&-")
    assert (status, line) == (2, "error: standard output is closed: there is nowhere to write results to\n")


def test_a_missing_file_is_one_line(start):
    assert finish(start("open('absent.txt')", env=WITHOUT_TENSORFLOW)) == (
        2,
        "",
        "error: absent.txt: No such file or directory\n",
    )


def test_too_little_memory_is_one_line(start):
    status, _, errors = finish(start("raise MemoryError", env=WITHOUT_TENSORFLOW))
    assert (status, errors) == (2, "error: there is not enough memory for this: smaller sizes or batches need less\n")


def test_a_full_disk_that_tensorflow_meets_is_not_told_as_a_lack_of_memory(start):
    body = """\
class ResourceExhaustedError(Exception):
    pass
raise ResourceExhaustedError("logs/events.v2; No space left on device\\n Could not flush events file.")"""
    status, _, errors = finish(start(body, env=WITHOUT_TENSORFLOW))
    told = "error: no space is left on a disk that TensorFlow writes to, such as that of logs/: make room\n"
    assert (status, errors) == (2, told)


def test_what_tensorflow_says_of_a_broken_file_is_one_line(start):
    body = """\
class DataLossError(Exception):
    pass
raise DataLossError("inflate() failed with error -3")"""
    status, _, errors = finish(start(body, env=WITHOUT_TENSORFLOW))
    assert status == 2
    assert errors.startswith("error: a file is broken, or has changed since it was checked") and errors.count("\n") == 1


def test_a_bug_keeps_its_traceback(start):
    status, _, errors = finish(start("1 / 0", env=WITHOUT_TENSORFLOW))
    assert status == 1
    assert "Traceback" in errors and "ZeroDivisionError" in errors


def test_an_interrupt_is_one_line(start):
    # A background job of a shell ignores SIGINT, and hands that down.
    body = "signal.signal(signal.SIGINT, signal.default_int_handler)\nprint('first', file=output)\n"
    body += "signal.raise_signal(signal.SIGINT)"
    assert finish(start(body, env=WITHOUT_TENSORFLOW)) == (130, "first\n", "interrupted\n")


@pytest.mark.parametrize("name, status", [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_is_one_line(name, status, start):
    body = f"""\
from tfnmt.signals import StopSignals
signal.signal(signal.{name}, signal.SIG_DFL)  # a background job of a shell, or nohup, hands down that it is ignored
with StopSignals(lambda: "tfnmt train-translator --resume DIR goes on"):
    signal.raise_signal(signal.{name})"""
    line = f"interrupted by {name}; tfnmt train-translator --resume DIR goes on\n"
    assert finish(start(body, env=WITHOUT_TENSORFLOW)) == (status, "", line)


def test_a_signal_to_any_command_is_one_line(start):
    body = "signal.raise_signal(signal.SIGTERM)"
    assert finish(start(body, env=WITHOUT_TENSORFLOW)) == (143, "", "interrupted by SIGTERM\n")


def test_a_reader_that_leaves_is_no_error(start):
    reading, writing = os.pipe()
    os.close(reading)
    body = "print('line', file=output)"
    process = start(body, env=WITHOUT_TENSORFLOW, stdout=writing)
    os.close(writing)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_under_standard_output_is_one_line(start):
    with open("/dev/full", "w") as full:
        process = start("print('line', file=output)", env=WITHOUT_TENSORFLOW, stdout=full)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (2, "error: standard output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("standard_error", ["2>/dev/full", "2>&-"])
def test_where_nobody_can_be_told_the_status_still_tells(standard_error):
    command = f"exec {sys.executable} -m tfnmt nosuch {standard_error}"
    told = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE)
    assert (told.returncode, told.stdout) == (2, b"")


@pytest.fixture
def tensorflow_forbidden(tmp_path):
    """Importing TensorFlow fails in the commands that the test starts with this environment."""
    (tmp_path / "tensorflow.py").write_text("raise AssertionError('TensorFlow was imported')")
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}


def test_mistyped_options_do_not_wait_for_tensorflow(start, tensorflow_forbidden):
    status, output, errors = finish(start("pass", "--nothing", env=tensorflow_forbidden))
    assert (status, output) == (2, "")
    assert "unrecognized arguments: --nothing" in errors


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_does_not_wait_for_tensorflow(verb, tensorflow_forbidden, tmp_path):
    finished = subprocess.run(
        [sys.executable, ROOT / "scripts" / f"{verb.replace('-', '_')}.py", "--help"],
        env=os.environ | tensorflow_forbidden,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith(f"usage: tfnmt {verb} ")
