"""Lines in batches, and what an error among them does."""

import itertools

import pytest

from tfnmt.data.lines import batch_lines, create_lines, decode_lines
from tfnmt.errors import UserError


def test_lines_without_their_ends():
    lines = [b"\xef\xbb\xbfa\r\n", b"\n", "é ".encode() + b"\n", b"last"]
    assert list(decode_lines(lines, "input")) == ["a", "", "é ", "last"]
    assert list(decode_lines([b"a\n", b"\r\n", b"\r"], "input")) == ["a", ""]  # after a line feed "\r" is no line


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_batches_hold_every_line_in_order(size):
    batches = list(batch_lines(map(str, range(7)), size))
    assert [line for batch in batches for line in batch] == [str(i) for i in range(7)]
    assert {len(batch) for batch in batches[:-1]} <= {size} and 1 <= len(batches[-1]) <= size
    assert list(batch_lines([], size)) == []


def test_a_batch_is_given_before_the_next_line_is_read():
    lines = itertools.count()
    assert next(batch_lines(lines, 3)) == [0, 1, 2]
    assert next(lines) == 3


@pytest.mark.parametrize("good", [0, 2, 3, 4])
def test_lines_before_an_error_come_first(good):
    lines = [b"a\n"] * good + [b"b\xff\n"] + [b"c\n"] * 5
    batches, given = batch_lines(decode_lines(lines, "input"), 3), []
    with pytest.raises(UserError, match=rf"input, line {good + 1}: not UTF-8 \(byte 0xff at byte 2 of the line\)"):
        for batch in batches:
            given += batch
    assert given == ["a"] * good


def test_the_same_lines_give_the_same_gz(tmp_path):
    """No time stands in it, and no name."""
    with create_lines(tmp_path / "a.gz") as file:
        file.write(b"a\n")
    assert (tmp_path / "a.gz").read_bytes()[3:8] == bytes(5)
