"""What tests/conftest.py says of all tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest

@pytest.mark.skip(reason="there is no browser")
def test_skipped():
    pass

@pytest.mark.xfail(reason="not mended yet")
def test_expected_to_fail():
    assert False
"""


@pytest.mark.parametrize("ci, status", [("true", 1), ("", 0)])
def test_a_skipped_test_fails_where_everything_must_be_installed(ci, status, tmp_path):
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={tmp_path}", tmp_path]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=os.environ | {"CI": ci}, capture_output=True, text=True)
    assert done.returncode == status
    assert ("skipped, although CI=true: Skipped: there is no browser" in done.stdout) == (ci == "true")
    assert "1 xfailed" in done.stdout
