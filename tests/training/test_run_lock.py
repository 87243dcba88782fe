"""The lock of a run's directory: one run at a time, and none left by a killed one."""

import shutil
import subprocess
import sys

import pytest

from tfnmt.errors import UserError
from tfnmt.training.run_lock import LOCK, lock_directory

# Holds the lock as `lock_directory` does, without TensorFlow, until it is killed.
HOLDER = """import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()"""


def test_a_second_run_is_refused_while_the_first_goes_on(tmp_path):
    with lock_directory(tmp_path / "run"):
        with pytest.raises(UserError) as caught, lock_directory(tmp_path / "run"):
            pass
        with lock_directory(tmp_path / "other"):
            pass
    assert str(caught.value).startswith(f"{tmp_path / 'run'}: another run is writing there (process ")
    assert str(caught.value).endswith("); wait for its end, or name another --output")
    with lock_directory(tmp_path / "run"):
        pass


def test_a_killed_run_leaves_no_lock(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / LOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    with pytest.raises(UserError, match="another run is writing there"), lock_directory(tmp_path):
        pass
    process.kill()
    process.communicate()
    with lock_directory(tmp_path):
        pass


def test_whether_the_directory_is_still_the_runs_own(tmp_path):
    directory = tmp_path / "run"
    with lock_directory(directory) as check:
        check()
        shutil.rmtree(directory)
        with pytest.raises(UserError, match=r"run.lock: was removed or replaced while the run was writing there"):
            check()
        with lock_directory(directory):  # another run's
            with pytest.raises(UserError, match=r"run.lock: was removed or replaced"):
                check()
            (directory / "file").touch()
    assert directory.exists(), "it is the other run's"


def test_a_directory_is_made_and_does_not_stay_empty(tmp_path):
    with lock_directory(tmp_path / "new" / "run"):
        assert (tmp_path / "new" / "run").is_dir()
    assert not (tmp_path / "new" / "run").exists()
    with lock_directory(tmp_path / "run"):
        (tmp_path / "run" / "file").write_text("x")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["file"]


def test_a_directory_that_cannot_be_made_or_written_to_is_told_at_once(tmp_path, full_disk):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"file/run: cannot be written \(Not a directory\)"):  # noqa: SIM117
        with lock_directory(tmp_path / "file" / "run"):
            pass
    with full_disk(0), pytest.raises(UserError, match="cannot be written"), lock_directory(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()
