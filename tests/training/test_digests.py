"""Digests of files that could not be written."""

import pytest

from tfnmt.errors import UserError
from tfnmt.training.digests import check_digests, write_with_digest


def test_writes_that_fail_again_and_again_leave_what_was_there(full_disk, tmp_path):
    path = tmp_path / "weights"
    write_with_digest(path, b"a" * 5000)
    for letter in (b"b", b"c", b"d"):
        with full_disk(2000), pytest.raises(UserError, match="weights"):
            write_with_digest(path, letter * 5000)
        check_digests(tmp_path)
    assert path.read_bytes() == b"a" * 5000
    path.write_bytes(b"b" * 5000)
    with pytest.raises(UserError, match="weights"):
        check_digests(tmp_path)


def test_a_file_that_was_changed_is_not_taken_for_what_was_written_after_a_write_that_failed(full_disk, tmp_path):
    path = tmp_path / "weights"
    write_with_digest(path, b"a" * 5000)
    path.write_bytes(b"b" * 5000)
    with full_disk(2000), pytest.raises(UserError, match="weights: cannot be written"):
        write_with_digest(path, b"c" * 5000)
    with pytest.raises(UserError, match="weights: has changed since it was written"):
        check_digests(tmp_path)
