"""Parallel files: the same pairs from every kind of file, and errors that name file and line."""

import gzip
import os

import pytest

from tfnmt.data.lines import read_lines
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError

SOURCE = ["A dog runs.", "", 'Two men, "talking".', "x" * 1_000_000, "The end\u2028of it"]
TARGET = ["Ein Hund läuft.", "leer", "Zwei Männer, „redend“.", "kurz", "Das Ende"]
PAIRS = list(zip(SOURCE, TARGET, strict=True))


def write(path, lines, end="\n"):
    data = "".join(line + end for line in lines).encode("utf-8")
    (gzip.open if path.suffix == ".gz" else open)(path, "wb").write(data)
    return path


def write_files(directory, kind):
    """The same pairs in files of one kind; returns the arguments that name them."""
    tabbed = [f"{source}\t{target}" for source, target in PAIRS]
    if kind == "tsv":
        return [write(directory / "pairs.tsv", tabbed)]
    if kind == "tsv.gz":
        return [write(directory / "pairs.tsv.gz", tabbed)]
    suffix = ".gz" if kind == "gz" else ""
    end = "\r\n" if kind == "windows" else "\n"
    return [write(directory / f"text.{side}{suffix}", lines, end) for side, lines in (("en", SOURCE), ("de", TARGET))]


@pytest.mark.parametrize("kind", ["plain", "gz", "windows", "tsv", "tsv.gz"])
def test_every_kind_of_file_gives_the_same_pairs(kind, tmp_path):
    files = write_files(tmp_path, kind)
    assert ParallelFiles(*files).check() == len(PAIRS)
    for _ in range(2):
        read = [tuple(side.decode() for side in pair) for pair in ParallelFiles(*files).pairs().as_numpy_iterator()]
        assert read == PAIRS
    assert list(zip(*ParallelFiles(*files).sides(), strict=True)) == PAIRS


@pytest.mark.parametrize("parts", [(b"a\nb\n", b"", b"c\nd\n"), (b"a\nb", b"", b"", b"\nc\nd\n", b"")])
def test_a_gz_file_may_have_several_parts_and_empty_ones(parts, tmp_path):
    """As bgzip writes it, whose files end with an empty part, and `cat` puts together."""
    files = [tmp_path / "text.en.gz", write(tmp_path / "text.de", "wxyz")]
    files[0].write_bytes(b"".join(map(gzip.compress, parts)))
    assert ParallelFiles(*files).check() == 4
    assert list(ParallelFiles(*files).pairs().as_numpy_iterator()) == [
        (b"a", b"w"),
        (b"b", b"x"),
        (b"c", b"y"),
        (b"d", b"z"),
    ]


def test_lines_keep_their_order_over_chunks(tmp_path):
    pairs = [(f"source {i}", f"target {i}") for i in range(1100)]
    files = [write(tmp_path / f"text.{side}", [pair[side] for pair in pairs]) for side in (0, 1)]
    read = [tuple(side.decode() for side in pair) for pair in ParallelFiles(*files).pairs().as_numpy_iterator()]
    assert read == pairs
    tabbed = write(tmp_path / "pairs.tsv", map("\t".join, pairs))
    assert list(ParallelFiles(tabbed).pairs().as_numpy_iterator()) == list(
        ParallelFiles(*files).pairs().as_numpy_iterator()
    )


@pytest.mark.parametrize("name", ["pairs.tsv.zst", "text.en.zst"])
@pytest.mark.parametrize("read", [ParallelFiles.check, ParallelFiles.pairs])
def test_packed_bytes_are_not_read_as_text(read, name, tmp_path):
    packed = write(tmp_path / name, ["a\tb"])
    files = [packed] if "tsv" in name else [write(tmp_path / "text.de", ["b"]), packed]
    with pytest.raises(UserError, match=rf"{name}: sentence pairs are read from plain text or \.gz; unpack it"):
        read(ParallelFiles(*files))


def test_byte_order_marks_are_no_part_of_the_text(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("a\nb\n", encoding="utf-8-sig")
    target.write_text("c\nd\n", encoding="utf-8-sig")
    assert [list(side) for side in ParallelFiles(source, target).sides()] == [["a", "b"], ["c", "d"]]
    assert list(ParallelFiles(source, target).pairs().as_numpy_iterator()) == [(b"a", b"c"), (b"b", b"d")]


def test_a_tsv_file_has_both_sides(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n")
    with pytest.raises(UserError, match="has both sides; leave out b.de"):
        ParallelFiles(path, "b.de").check()


def test_the_last_line_needs_no_end(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo")
    assert list(read_lines(path)) == ["one", "two"]
    assert ParallelFiles(path, path).check() == 2


def test_files_are_not_read_before_they_are_asked_for(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\n\xff\n")
    lines = read_lines(path)
    assert [next(lines), next(lines)] == ["one", "two"]


def test_unequal_lengths_tell_both_counts(tmp_path):
    source, target = write(tmp_path / "text.en", SOURCE), write(tmp_path / "text.de", TARGET[:-1])
    with pytest.raises(UserError, match=r"text\.en has 5 lines and .*text\.de 4:"):
        ParallelFiles(source, target).check()


@pytest.mark.parametrize("name", ["text.de", "text.de.gz"])
def test_bytes_that_are_not_utf8_are_found(name, tmp_path):
    source = write(tmp_path / "text.en", SOURCE)
    target = tmp_path / name
    (gzip.open if target.suffix == ".gz" else open)(target, "wb").write(b"gut\nl\xe4uft\n")
    with pytest.raises(UserError, match=rf"{name}, line 2: not UTF-8 \(byte 0xe4 at byte 2 of the line\)"):
        ParallelFiles(source, target).check()


@pytest.mark.parametrize("line", ["no tab", "one\ttwo\tthree"])
def test_a_line_of_a_tsv_file_without_exactly_one_tab(line, tmp_path):
    path = write(tmp_path / "pairs.tsv", ["a\tb", line])
    with pytest.raises(UserError, match=r"pairs\.tsv, line 2: [02] TABs"):
        ParallelFiles(path).check()


def test_missing_empty_and_broken_files(tmp_path):
    source = write(tmp_path / "text.en", SOURCE)
    with pytest.raises(UserError, match=r"text\.de: cannot be read: No such file"):
        ParallelFiles(source, tmp_path / "text.de").check()
    with pytest.raises(UserError, match=r"cannot be read: Is a directory"):
        ParallelFiles(source, tmp_path).check()
    (tmp_path / "text.de").touch()
    with pytest.raises(UserError, match=r"text\.de: the file is empty"):
        ParallelFiles(source, tmp_path / "text.de").check()
    whole = write(tmp_path / "whole.gz", SOURCE).read_bytes()
    for name, data in (
        ("cut.gz", whole[:-20]),
        ("plain.gz", b"not compressed\n"),
        ("wrong.gz", whole[:10] + b"\xff" * 9),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=rf"{name}: a broken or incomplete \.gz file"):
            ParallelFiles(source, tmp_path / name).check()


@pytest.mark.parametrize("function", [ParallelFiles.check, ParallelFiles.pairs])
def test_pipes_which_can_be_read_but_once_are_refused(function, tmp_path):
    plain = write(tmp_path / "text.en", ["a"])
    for is_source in (True, False):
        reader, writer = os.pipe()
        os.write(writer, b"a\n")
        os.close(writer)
        with open(reader):
            files = [f"/dev/fd/{reader}", plain] if is_source else [plain, f"/dev/fd/{reader}"]
            with pytest.raises(UserError, match="no file on a disk: .* read more than once, so unpack it first"):
                function(ParallelFiles(*files))


def test_three_columns_are_told_with_the_way_out(tmp_path):
    path = write(tmp_path / "pairs.tsv", ["a\tb\tc"])
    advice = f"; cut -f1,2 {path} > NEW.tsv keeps the first two columns"
    with pytest.raises(UserError, match=f"line 1: 2 TABs; there must be one, between source and target{advice}$"):
        ParallelFiles(path).check()


def test_comma_separated_values_are_not_read(tmp_path):
    with pytest.raises(UserError, match=r"one \.tsv file of source TAB target; no \.csv is read$"):
        ParallelFiles(write(tmp_path / "pairs.csv.gz", ["a,b"])).check()


@pytest.mark.parametrize("function", [ParallelFiles.check, ParallelFiles.pairs, ParallelFiles.sides])
def test_one_file_alone_must_be_a_tsv_file(function, tmp_path):
    with pytest.raises(UserError, match=r"text\.en: name the file of its translations too"):
        function(ParallelFiles(write(tmp_path / "text.en", SOURCE)))
