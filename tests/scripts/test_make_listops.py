"""scripts/make_listops.py: what stands in the file."""

import io

import pytest
from make_listops import main, parser

from tfnmt.errors import UserError


def test_lines_are_written_that_no_excluded_file_has(tmp_path):
    def run(name, *options):
        arguments = ["--output", str(tmp_path / name), "--count", "40", "--seed", "2", *map(str, options)]
        main(parser().parse_args(arguments), io.StringIO())
        return (tmp_path / name).read_text().splitlines()

    first = run("first")
    second = run("second", "--exclude", tmp_path / "first")
    assert len(set(first)) == len(set(second)) == 40 and set(second).isdisjoint(first)
    assert set(run("third", "--exclude", tmp_path / "first", "--exclude", tmp_path / "second")).isdisjoint(
        first + second
    )
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        run("second", "--exclude", tmp_path / "none")
    assert run("first") == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second", "third"]
