"""`tfnmt make-listops`: what stands in the file."""

import pytest

from tests.commands.calls import call
from tfnmt.data.lines import read_lines
from tfnmt.errors import UserError


def test_lines_are_written_that_no_excluded_file_has(tmp_path):
    def run(name, *options):
        arguments = ["--output", str(tmp_path / name), "--count", "40", "--seed", "2", *map(str, options)]
        call("make-listops", *arguments)
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
    arguments = ["--output", str(tmp_path / "first.gz"), "--count", "40", "--seed", "2"]
    call("make-listops", *arguments)
    assert list(read_lines(tmp_path / "first.gz")) == first
    (tmp_path / "first.gz").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second", "third"]
    long = run("long", "--words", 30, 40, "--arguments", 3, 3)
    assert all(30 <= len(line.translate(str.maketrans("()", "  ")).split()) - 1 <= 40 for line in long)
    with pytest.raises(UserError, match="--words 4 3: the first number must not be greater than the second"):
        run("wrong", "--words", 4, 3)


def test_there_are_no_copies_of_nothing(tmp_path):
    (tmp_path / "empty").touch()
    command = ["augment-logic", "--input", tmp_path / "empty", "--copies", 2, "--seed", 1]
    with pytest.raises(UserError, match="empty: the file is empty"):
        call(*command, "--output", tmp_path / "copies")
    assert not (tmp_path / "copies").exists()


def test_a_file_of_which_every_copy_is_excluded_is_not_written(tmp_path):
    (tmp_path / "pairs").write_text("=\ta\ta\n")
    (tmp_path / "all").write_text("".join(f"=\t{name}\t{name}\n" for name in "abcdefghijklmnopqrstuvwxyz"))
    options = "--input", tmp_path / "pairs", "--copies", 3, "--seed", 1, "--exclude", tmp_path / "all"
    with pytest.raises(UserError, match="pairs: no line is left: --exclude has them all"):
        call("augment-logic", *options, "--output", tmp_path / "copies")
    assert not (tmp_path / "copies").exists()


@pytest.mark.parametrize("command", ["make-listops", "augment-logic"])
def test_a_seed_is_not_negative_since_python_draws_the_same_for_it_as_without_the_sign(command, capsys):
    with pytest.raises(SystemExit) as ended:
        call(command, "--output", "never", "--seed", -1)
    assert ended.value.code == 2 and "--seed: -1 is not a whole number from 0" in capsys.readouterr().err


def test_levels(tmp_path):
    call("make-listops", "--output", tmp_path / "flat", "--count", 40, "--seed", 2, "--levels", 1)
    assert max(line.count("[") for line in (tmp_path / "flat").read_text().splitlines()) == 1
