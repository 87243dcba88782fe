"""The command `tfnmt` itself: its verbs, its help, completion."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tfnmt
from tfnmt.commands.main import main
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.verbs import VERBS, load_command
from tfnmt.tensorflow_start import missing_module

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def ended(capsys, *arguments):
    """Status, standard output and standard error of `tfnmt` with these arguments."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code, *capsys.readouterr()


def test_every_script_is_a_verb_and_every_verb_a_script():
    assert {path.stem.replace("_", "-") for path in SCRIPTS.glob("*.py")} == set(VERBS)


def test_help_lists_every_verb_in_one_line(capsys):
    status, output, errors = ended(capsys, "--help")
    assert (status, errors) == (0, "")
    lines = [line.split(maxsplit=1) for line in output.splitlines()]
    assert [line for line in lines if line[:1] in [[verb] for verb in VERBS]] == [list(item) for item in VERBS.items()]


def test_an_option_of_several_values_may_be_given_several_times():
    parser = CommandParser()
    parser.add_argument("--model", nargs="+")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--words", type=int, nargs=2)
    work = parser.add_subparsers().add_parser("work")
    work.add_argument("--clients", nargs="+", type=int, default=[1, 8])
    given = parser.parse_args(["--model", "a", "b", "--seed", "1", "--model", "c", "--seed", "2", "work"])
    assert (given.model, given.seed, given.clients) == (["a", "b", "c"], 2, [1, 8])
    assert parser.parse_args(["--words", "1", "2", "--words", "3", "4", "work"]).words == [3, 4]
    given = parser.parse_args(["work", "--clients", "4", "--clients", "5", "6"])
    assert (given.model, given.clients, work.get_default("clients")) == (None, [4, 5, 6], [1, 8])


def test_a_verb_says_what_it_does():
    assert all(load_command(verb).__doc__ for verb in VERBS)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["tain-translator"], "unknown verb 'tain-translator'; the nearest is 'train-translator'"),
        ([""], "unknown verb ''; the nearest is "),
        ([], "a verb is missing"),
        (["--nothing"], "unrecognized arguments: --nothing"),
        (["translate", "--modle", "m"], "the following arguments are required: --model"),
        (["translate", "--model", "m", "--prefix-file", ""], "argument --prefix-file: the name is empty"),
        (["plot", "tree", "--output", ""], "argument --output: the name is empty"),
        (
            ["translate", "--model", "m", "--threads", "1025"],
            "argument --threads: 1025 is not a whole number from 1 to 1,024",
        ),
        (["plot", "tree"], "the following arguments are required: --output"),
        (
            ["make-shortlist", "--model", "m", "--output", "/"],
            "argument --output: /: is a directory; name a file in it",
        ),
        (
            ["book", "--output", "none/a.pdf"],
            "argument --output: none/a.pdf: there is no folder none; make it first",
        ),
        (
            ["plot", "stack", "--output", "/none/a.png"],
            "argument --output: /none/a.png: there is no folder /none; make",
        ),
        (["plot", "stack", "--output", "a.jpg"], "argument --output: a.jpg: its name must end in .png or .svg"),
        (["plot", "saddle", "--output", "a"], "argument --output: a: its name must end in .png or .svg or .gif"),
        (
            ["evaluate-classifier", "--model", "m", "--picture", ".png"],
            "argument --picture: .png: its name must end in .png or .svg",
        ),
        (["report", "m", "--picture", "a.jpg"], "argument --picture: a.jpg: its name must end in .png;"),
        (
            ["benchmark", "prepare", "--preset", "none", "--figure", "a.txt"],
            "argument --figure: a.txt: its name must end in .png or .svg",
        ),
        (
            ["client", "--url", "http://a:1", "--model", "m", "--deadline", "9300000000"],
            "argument --deadline: 9300000000 is not a whole number from 1 to 1,000,000",
        ),
        (["--print-completion", "fish"], "argument --print-completion: invalid choice: 'fish'"),
    ],
)
def test_what_is_mistyped_is_one_line_and_status_2(arguments, complaint, capsys):
    status, output, errors = ended(capsys, *arguments)
    assert (status, output) == (2, "") and errors.startswith(f"error: {complaint}") and errors.count("\n") == 1


def test_version_of_the_package_as_a_process():
    finished = subprocess.run(
        [sys.executable, "-m", "tfnmt", "--version"], capture_output=True, text=True, cwd=SCRIPTS.parent
    )
    assert (finished.returncode, finished.stdout) == (0, f"tfnmt {tfnmt.__version__}\n")


@pytest.mark.parametrize("option", ["--help", "--print-completion=bash"])
def test_a_reader_that_leaves_is_no_error(option):
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "tfnmt", option]
    process = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=SCRIPTS.parent, env=buffered)
    os.close(writing)
    assert (process.returncode, process.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("options", [["--print-completion=bash"], ["--help"], ["translate", "--help"], ["models"]])
def test_a_full_disk_is_one_line(options):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tfnmt", *options]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=SCRIPTS.parent)
    complaint = b"error: standard output: No space left on device\n"
    assert (process.returncode, process.stderr) == (2, complaint)


def test_a_file_that_may_not_grow_is_one_line(tmp_path):
    command = f"ulimit -f 4; exec {sys.executable} -m tfnmt --print-completion=bash > {tmp_path}/completion"
    process = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, cwd=SCRIPTS.parent)
    assert (process.returncode, process.stderr) == (2, b"error: standard output: File too large\n")


@pytest.mark.parametrize("imported", ["pydantic", "shtab"])
def test_an_interrupt_before_a_verb_runs_is_one_line(imported, tmp_path):
    lines = ["import signal", "signal.signal(signal.SIGINT, signal.default_int_handler)"]
    (tmp_path / f"{imported}.py").write_text("\n".join([*lines, "exec('signal.raise_signal(signal.SIGINT)')"]))
    command = [sys.executable, "-m", "tfnmt", "--print-completion=bash"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    process = subprocess.run(command, capture_output=True, cwd=SCRIPTS.parent, env=environment)
    assert (process.returncode, process.stdout, process.stderr) == (130, b"", b"interrupted\n")


@pytest.mark.parametrize("missing", ["shtab", "pydantic"])
def test_a_package_that_is_not_installed_is_one_line(missing, monkeypatch, capsys):
    for name in ("tfnmt.commands.completion", "tfnmt.commands.train_translator", "tfnmt.configuration"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    options = ["--print-completion", "bash"] if missing == "shtab" else ["train-translator", "--output", "x"]
    status, output, errors = ended(capsys, *options)
    assert (status, output) == (2, "")
    assert errors.startswith(f"error: Python finds no module '{missing}': ") and errors.count("\n") == 1


@pytest.mark.parametrize("missing", ["pydantic", "requests"])
def test_a_package_that_much_needs_is_one_line_from_the_start_too(missing, tmp_path):
    """Both in a process of its own, where nothing has been imported; TensorFlow's import logs before it fails."""
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError(name={missing!r})")
    command = [sys.executable, "-m", "tfnmt", "translate", "--model", "sample-en-de"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(SCRIPTS.parent)])}
    process = subprocess.run(command, capture_output=True, text=True, env=environment, input="")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith(f"error: Python finds no module '{missing}': ") and process.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "module, extra", [("markdown", "docs"), ("selenium.webdriver", "docs"), ("PIL", "docs"), ("pyarrow", "ray")]
)
def test_a_package_of_an_extra_is_installed_by_it(module, extra):
    line = missing_module(ModuleNotFoundError(name=module))
    assert line == f"Python finds no module '{module}': in a checkout, `pip install '.[{extra}]'`"
    project = tomllib.loads((SCRIPTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extra in project["optional-dependencies"]


@pytest.mark.parametrize(
    "words, expected",
    [
        (["tfnmt", "train-"], {"train-translator", "train-classifier"}),
        (["tfnmt", "translate", "--le"], {"--length-norm", "--length-penalty"}),
        (["tfnmt", "translate", "--method", ""], {"greedy", "sample", "beam"}),
        (["tfnmt", "plot", "len"], {"length"}),
        (["tfnmt", "parse", "--model", "mod"], {"models"}),
        (["tfnmt", "serve", "--model", "m", "--key", "mod"], {"models", "modest.txt"}),
        (["tfnmt", "train-translator", "--output", "mod"], {"models"}),
        (["tfnmt", "train-classifier", "--resume", "mod"], {"models"}),
    ],
)
def test_bash_completes(words, expected, tmp_path, capsys):
    (tmp_path / "models").mkdir()
    (tmp_path / "modest.txt").touch()  # a file, where a folder is asked for
    status, script, _ = ended(capsys, "--print-completion", "bash")
    assert status == 0
    typed = " ".join(f"'{word}'" for word in words)
    script += (
        f"\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _shtab_tfnmt\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    finished = subprocess.run(["bash"], input=script, capture_output=True, text=True, cwd=tmp_path)
    assert set(finished.stdout.split()) == expected, finished.stderr
