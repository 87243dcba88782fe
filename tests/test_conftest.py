"""What tests/conftest.py says of all tests."""

import os
import subprocess
import sys
from pathlib import Path

SKIPPED = """
import pytest

@pytest.mark.skip(reason="there is no browser")
def test_skipped():
    pass

@pytest.mark.xfail(reason="not mended yet")
def test_expected_to_fail():
    assert False
"""


def test_a_skipped_test_fails_where_everything_must_be_installed(tmp_path):
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={tmp_path}", tmp_path]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=os.environ | {"CI": "true"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "skipped, although CI=true: Skipped: there is no browser" in done.stdout
    assert "1 xfailed" in done.stdout
