"""The wheel and the sdist: what they hold, and that the wheel works where there is nothing else of this project."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from pathspec import GitIgnoreSpec

import tfnmt

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SIZES = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")


def tracked_files():
    """The paths that git knows, those of new files too; in an unpacked sdist, all that git would not ignore."""
    if not (ROOT / ".git").exists():
        ignored = GitIgnoreSpec.from_lines((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
        return sorted(set(ignored.match_tree_files(ROOT, negate=True)) - {"PKG-INFO"})
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the tracked files."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in tracked_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    built = tmp_path_factory.mktemp("dist")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", built, checkout]
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", *options], check=True)
    (path,) = built.iterdir()
    return path


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory):
    """The command `tfnmt` of an environment that holds the wheel and, beside it, the packages installed here."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory)
    options = ["--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", directory / "bin" / "python", "install", *options], check=True
    )
    (packages,) = directory.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return directory / "bin" / "tfnmt"


def test_it_holds_the_library_and_the_programs_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    code = {name for name in tracked_files() if name.startswith(("tfnmt/", "tfnmt_programs/"))}
    assert {
        "tfnmt/serving/page_files/index.html",
        "tfnmt/py.typed",
        "tfnmt_programs/benchmarks/peers/spinn_worker.py",
    } <= code
    information = f"tfnmt-{tfnmt.__version__}.dist-info"
    assert {name for name in names if not name.startswith(information)} == code
    assert {f"{information}/METADATA", f"{information}/licenses/LICENSE"} <= set(names)


def test_the_sdist_holds_all_that_is_tracked(checkout, tmp_path):
    """The tests and the Makefile among it need the rest."""
    (path,) = SdistBuilder(str(checkout)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert names - {"PKG-INFO"} == set(tracked_files())


def ready(rest):
    try:
        return urllib.request.urlopen(f"{rest}/health/ready", timeout=60).status == 200
    except urllib.error.HTTPError as error:
        assert error.code == 503
        return False


def test_it_trains_and_serves_from_an_empty_folder(command, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def finish(*arguments):
        options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
        finished = subprocess.run([command, *arguments], **options)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    assert finish("--version") == f"tfnmt {tfnmt.__version__}\n"
    assert finish("plot", "--help").startswith("usage: tfnmt plot ")
    small = ["--no-board", "--steps", "3", "--set", "selection=loss", *(f"{size}=8" for size in SIZES)]
    small += ["bidirectional=false", "conditional=false", "attention=none"]
    assert finish("train-translator", "--output", "model", *small).startswith("model: best dev_loss ")
    assert finish("export", "--model", "model", "--name", "sample", "--beam-size", "1") == "saved_models/sample/1\n"

    options = ["--rest-port", "0", "--grpc-port", "0"]
    server = subprocess.Popen(
        [command, "serve", *options], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        _, rest, *_ = server.stdout.readline().split()
        assert rest.startswith("http://127.0.0.1:")
        while not ready(rest):
            time.sleep(0.05)
        request = urllib.request.Request(
            f"{rest}/v1/models/sample:predict", json.dumps({"instances": ["The dog sees a red ball."]}).encode()
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            (prediction,) = json.load(answer)["predictions"]
        assert isinstance(prediction["translation"], str)
        with urllib.request.urlopen(rest, timeout=60) as page:
            assert b"<html" in page.read()
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
