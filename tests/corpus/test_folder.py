"""The output folder: what is done is not done again, and belongs to one task."""

import errno
import gzip
import os

import pytest

from tfnmt.corpus import folder
from tfnmt.corpus.folder import open_folder
from tfnmt.corpus.process import find_inputs
from tfnmt.corpus.shards import Result
from tfnmt.corpus.tasks import Task
from tfnmt.data.lines import create_lines, read_lines
from tfnmt.errors import UserError
from tfnmt.translation.search_configuration import SearchConfiguration


class Louder(Task):
    """Capital letters, by a task of three lines a shard."""

    weights: str
    louder: bool = True
    search: SearchConfiguration = SearchConfiguration()

    @property
    def files(self):
        return (self.weights,)

    @property
    def shard_lines(self):
        return 3

    def load(self):
        raise NotImplementedError


@pytest.fixture
def task(tmp_path):
    (tmp_path / "weights").write_bytes(b"1")
    return Louder(weights=str(tmp_path / "weights"))


@pytest.fixture
def inputs(tmp_path):
    """Files of 7, 6, 1 and 0 lines."""
    paths = [tmp_path / name for name in ("a.gz", "b.zst", "c", "empty")]
    for path, count in zip(paths, (7, 6, 1, 0), strict=True):
        with create_lines(path) as file:
            file.write(b"".join(b"%s%d\n" % (path.stem.encode(), i) for i in range(count)))
    return paths


def result_of(shard):
    problems = [f"line {shard.first + 1}: bad"] if shard.number == 1 else []
    return Result(shard.file, shard.number, len(shard.lines), b"".join(shard.lines).upper(), problems)


def do(task, inputs, output, at_most=100):
    """Work on shards in an order that is not theirs; the names and numbers of those that were done."""
    with open_folder(output, task, inputs) as folder:
        shards = list(folder.shards_to_do())[::-1][:at_most]
        for shard in shards:
            folder.write(result_of(shard))
        return [(shard.file, shard.number) for shard in shards]


def test_shards_are_done_once_and_joined(task, inputs, tmp_path, logged):
    output = tmp_path / "output"
    first = do(task, inputs, output, at_most=2)
    assert first == [("c", 0), ("b.zst", 1)]
    assert sorted(path.name for path in output.iterdir()) == ["c", "corpus.json", "empty", "unfinished"]
    for torn in (".part-0", "0.problems"):  # what a kill leaves behind does not count
        (output / "unfinished" / "b.zst" / torn).write_text("torn\n")
    second = do(task, inputs, output)
    assert sorted(first + second) == [*(("a.gz", i) for i in range(3)), ("b.zst", 0), ("b.zst", 1), ("c", 0)]
    assert do(task, inputs, output) == []
    for path in inputs:
        assert list(read_lines(output / path.name)) == [line.upper() for line in read_lines(path)]
    assert (output / "a.gz").read_bytes()[:2] == b"\x1f\x8b" and (output / "b.zst").read_bytes()[:2] == b"\x28\xb5"
    assert (output / "a.gz.problems").read_text() == "line 4: bad\n"
    assert set(logged()) == {f"{output / name}, line 4: bad" for name in ("a.gz", "b.zst")}
    assert not (output / "unfinished").exists()


def test_shards_are_joined_in_the_order_of_their_numbers(task, tmp_path):
    """Of which the tenth has two digits."""
    many = tmp_path / "many"
    many.write_bytes(b"".join(b"line %d\n" % i for i in range(35)))
    assert len(do(task, [many], tmp_path / "output")) == 12
    assert (tmp_path / "output" / "many").read_bytes() == many.read_bytes().upper()


def test_lines_to_do_are_those_of_the_shards_that_are_not_done(task, inputs, tmp_path):
    """What is wrong with a shard's lines, a file beside it, is no shard. Packed files are not counted."""
    plain, output = tmp_path / "plain", tmp_path / "output"
    plain.write_bytes(b"line\n" * 13)
    with open_folder(output, task, [plain, inputs[2]]) as folder:
        assert folder.lines_to_do() == 14
        _, second, third, *_ = folder.shards_to_do()
        for shard in (second, third):
            folder.write(result_of(shard))
        assert (output / "unfinished" / "plain" / "1.problems").exists()
        assert folder.lines_to_do() == 14 - 2 * 3
    with open_folder(output, task, [plain, inputs[0]]) as folder:
        assert folder.lines_to_do() is None


def test_a_problem_is_one_line_whatever_it_quotes(task, inputs, tmp_path):
    output = tmp_path / "output"
    problem = "line 1: bad: a\u2028b\fc"
    with open_folder(output, task, inputs) as folder:
        for shard in list(folder.shards_to_do()):
            folder.write(result_of(shard)._replace(problems=[problem]))
    assert (output / "c.problems").read_text() == problem + "\n"


def test_a_file_without_its_last_line_feed_and_an_input_that_has_come(task, inputs, tmp_path):
    do(task, inputs[2:3], tmp_path / "output")
    late = tmp_path / "late"
    late.write_bytes(b"one\r\ntwo")
    assert do(task, [inputs[2], late], tmp_path / "output") == [("late", 0)]
    assert (tmp_path / "output" / "late").read_bytes() == b"ONE\r\nTWO"


def test_an_input_that_has_changed_is_done_again(task, inputs, tmp_path, logged):
    output = tmp_path / "output"
    do(task, inputs, output, at_most=4)
    inputs[2].write_bytes(b"new\n")
    with gzip.open(inputs[0], "wb") as file:
        file.write(b"".join(b"new %d\n" % i for i in range(4)))
    assert do(task, inputs, output) == [("c", 0), ("a.gz", 1), ("a.gz", 0)]
    assert list(read_lines(output / "a.gz")) == [f"NEW {i}" for i in range(4)]
    assert (output / "c").read_bytes() == b"NEW\n"
    assert f"{inputs[2]}: has changed since it was read: it is done again" in logged()


def test_what_was_written_of_an_older_input_does_not_stay(task, tmp_path, monkeypatch):
    """Where it cannot be removed, nothing is done; or else it would count as done."""
    path, output = tmp_path / "a", tmp_path / "output"
    path.write_text("".join(f"old {i}\n" for i in range(7)))
    do(task, [path], output, at_most=2)
    path.write_text("".join(f"new {i}\n" for i in range(9)))

    unlink = os.unlink

    def refuse(name, **options):
        if str(name) == "1":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        unlink(name, **options)

    with (
        monkeypatch.context() as patched,
        pytest.raises(UserError, match="a: cannot be written .*; what is done stays"),
    ):
        patched.setattr(os, "unlink", refuse)
        do(task, [path], output)
    do(task, [path], output)
    assert (output / "a").read_text() == path.read_text().upper()


def test_shards_that_a_kill_left_beside_their_joined_file_are_removed(task, inputs, tmp_path, monkeypatch):
    output = tmp_path / "output"
    with monkeypatch.context() as patched:
        patched.setattr(folder, "_remove", lambda _: None)
        do(task, inputs, output)
    assert (output / "unfinished" / "c" / "0").exists()
    assert do(task, inputs, output) == []
    assert not (output / "unfinished").exists()


def test_all_inputs_of_earlier_commands_are_known_as_they_were_last(task, inputs, tmp_path):
    """Those that the last command did not name too, and changed ones as they are since then."""
    output, earlier, later = tmp_path / "output", inputs[2:3], inputs[1:2]
    do(task, earlier, output)
    do(task, later, output)
    assert do(task, earlier + later, output) == []
    earlier[0].write_bytes(b"new\n")
    assert do(task, earlier, output) == [("c", 0)]
    assert do(task, earlier + later, output) == []


def test_another_task_does_not_go_on(task, inputs, tmp_path, monkeypatch):
    output = tmp_path / "output"
    do(task, inputs, output, at_most=1)
    with pytest.raises(UserError, match=r"corpus\.json: was begun with another louder: give the same options"):
        do(task.replace(louder=False), inputs, output)
    other = task.replace(louder=False, search=SearchConfiguration(beam_size=7, length_penalty=0.5))
    with pytest.raises(UserError, match="was begun with another louder, beam size, length penalty: give"):
        do(other, inputs, output)
    (tmp_path / "weights").write_bytes(b"2")
    with pytest.raises(UserError, match="another content of the model's files"):
        do(task, inputs, output)
    (tmp_path / "weights").write_bytes(b"1")

    with monkeypatch.context() as patched, pytest.raises(UserError, match="another size of shards"):
        patched.setattr(Louder, "shard_lines", 4)
        do(task, inputs, output)
    (output / "corpus.json").write_text('{"task": {}, "digests": [], "inputs": {}}')
    with pytest.raises(UserError, match="was begun with another kind"):
        do(task, inputs, output)
    (output / "corpus.json").write_text("[")
    with pytest.raises(UserError, match=r"corpus\.json: is broken"):
        do(task, inputs, output)


def test_other_files_stay(task, inputs, tmp_path):
    output = tmp_path / "output"
    output.mkdir()
    (output / "c").write_text("mine")
    with pytest.raises(UserError, match="c: is there already, and not of this corpus"):
        do(task, inputs, output)
    assert [path.name for path in output.iterdir()] == ["c"] and (output / "c").read_text() == "mine"
    with pytest.raises(UserError, match=r"c: cannot be written \(File exists\); name another --output"):
        do(task, inputs, output / "c")


def test_other_reports_of_problems_stay(task, inputs, tmp_path):
    output = tmp_path / "output"
    output.mkdir()
    (output / "c.problems").write_text("mine")
    with pytest.raises(UserError, match=r"c\.problems: is there already, and not of this corpus"):
        do(task, inputs, output)
    assert [path.name for path in output.iterdir()] == ["c.problems"]


def test_no_output_is_the_report_of_another(task, inputs, tmp_path):
    """Neither in one command, nor in one that goes on."""
    named_as_a_report = tmp_path / "c.problems"
    named_as_a_report.touch()
    complaint = "the output of c.problems would be the report on c; rename one"
    for first in ([named_as_a_report, *inputs], [named_as_a_report], inputs):
        output = tmp_path / f"output-{len(first)}"
        with pytest.raises(UserError, match=complaint):
            do(task, first, output, at_most=1)
            do(task, [named_as_a_report, *inputs], output)


def test_a_command_that_came_to_nothing_leaves_nothing(task, inputs, tmp_path):
    assert do(task, inputs[2:3], tmp_path / "output", at_most=0) == []
    assert not (tmp_path / "output").exists()


def test_one_process_at_a_time(task, inputs, tmp_path):
    with (
        open_folder(tmp_path / "output", task, inputs),
        pytest.raises(UserError, match="another run is writing there"),
        open_folder(tmp_path / "output", task, inputs),
    ):
        pass


def test_a_broken_file_ends_after_the_shards_before(task, inputs, tmp_path):
    for name, kept in (("a.gz", 40), ("b.zst", 20)):
        broken = tmp_path / f"broken-{name}"
        broken.write_bytes((tmp_path / name).read_bytes()[:kept])
        with pytest.raises(UserError, match=rf"{broken.name}: a broken or incomplete \.\w+ file: "):
            do(task, [inputs[2], broken], tmp_path / f"output-{name}")


def test_inputs_are_found(tmp_path):
    for name in ("x/b.en", "x/a.en", "x/[c].en", "y/a.en"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.mkdir(tmp_path / "x" / "folder.en")

    def find(*patterns, output="z"):
        return [str(path.relative_to(tmp_path)) for path in find_inputs([f"{tmp_path}/{p}" for p in patterns], output)]

    assert find("x/b.en", "x/*.en") == ["x/b.en", "x/[c].en", "x/a.en"]
    assert find("x/[c].en") == ["x/[c].en"]
    for patterns, complaint in (
        (["x/*.de"], "no file matches"),
        (["x/folder.en"], "no file matches"),
        (["x/a.en", "y/a.en"], "files of the same name would have the same output"),
    ):
        with pytest.raises(UserError, match=complaint):
            find(*patterns)
    with pytest.raises(UserError, match="is in the output folder itself"):
        find("x/a.en", output=tmp_path / "x")
