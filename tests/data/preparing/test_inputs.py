"""The files of a corpus: patterns, compression, parts, and what is wrong with them."""

import gzip

import pyarrow as pa
import pytest

from tfnmt.data.lines import read_lines
from tfnmt.data.preparing.inputs import find_inputs, read_parts, split_sides
from tfnmt.errors import UserError

LINES = [f"line {number}" for number in range(7)]


@pytest.fixture
def written(tmp_path):
    """`written(name, text)` writes a file, compressed as its name says, and returns its path."""

    def write(name, text):
        path = tmp_path / name
        content = text.encode() if isinstance(text, str) else text
        if name.endswith(".zst"):
            with pa.output_stream(str(path), compression="zstd") as stream:
                stream.write(content)
        else:
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return str(path)

    return write


def pairs_of(files, lines=3):
    return [pair for part in read_parts(files, lines) for pair in zip(*split_sides(part), strict=True)]


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_pairs_are_the_same_however_they_are_stored(written, end):
    text = "\ufeff" + "\r\n".join(LINES)
    source, target = written(f"a{end}", text), written(f"b{end}", "".join(f"{line}!\n" for line in LINES))
    tsv = written(f"ab.tsv{end}", "".join(f"{line}\t{line}!\n" for line in LINES))
    expected = [(line.encode(), f"{line}!".encode()) for line in LINES]
    assert pairs_of(find_inputs([source], [target])[0]) == expected
    assert pairs_of(find_inputs([tsv], None)[0]) == expected


def test_parts_are_numbered_and_know_their_first_line(written):
    tsv = written("ab.tsv", "".join(f"{line}\tx\n" for line in LINES))
    parts = list(read_parts(find_inputs([tsv], None)[0], 3))
    assert [(part.name, part.first_line) for part in parts] == [
        ("00000-000000", 1),
        ("00000-000001", 4),
        ("00000-000002", 7),
    ]


@pytest.mark.parametrize("text", ["a", "a\n", "a\r\n\ufeff", "\ufeffa\n\ufeffb", "a\n\r", "\ufeff", ""])
def test_there_are_as_many_lines_as_for_a_training_on_the_text(written, text):
    """Also where the last has a byte order mark alone and no end."""
    path = written("source", text)
    (files,) = find_inputs([path], [path])
    assert pairs_of(files) == [(line.encode(), line.encode()) for line in read_lines(path)]


def test_a_pattern_stands_for_its_files_in_order(written, tmp_path):
    for name in ("b-2.en", "b-1.en", "b-1.de", "b-2.de"):
        written(name, "x\n")
    inputs = find_inputs([str(tmp_path / "b-*.en")], [str(tmp_path / "b-*.de")])
    assert [(files.number, files.source[-6:], files.target[-6:]) for files in inputs] == [
        (0, "b-1.en", "b-1.de"),
        (1, "b-2.en", "b-2.de"),
    ]


def test_what_is_wrong_with_the_files_is_one_line(written, tmp_path):
    one, two = written("one", "a\n"), written("two", "a\nb\n")
    with pytest.raises(UserError, match=r"nothing-\*: no file matches"):
        find_inputs([str(tmp_path / "nothing-*")], None)
    with pytest.raises(UserError, match="--source names 2 files and --target 1"):
        find_inputs([one, two], [one])
    with pytest.raises(UserError, match="one: name the files of its translations too"):
        find_inputs([one], None)
    with pytest.raises(UserError, match="one: named 2 times; name each file once"):
        find_inputs([one, two, one], [two, one, two])
    assert len(find_inputs([one, one], [one, two])) == 2
    with pytest.raises(UserError, match="x.tsv: has both sides: leave out --target"):
        find_inputs([written("x.tsv", "a\tb\n")], [one])
    with pytest.raises(UserError, match="one ends after line 1, and .*two has more"):
        pairs_of(find_inputs([two], [one])[0])
    with pytest.raises(UserError, match=r"t\.tsv, line 2: 2 TABs"):
        pairs_of(find_inputs([written("t.tsv", "a\tb\na\tb\tc\n")], None)[0])
    with pytest.raises(UserError, match=r"t\.tsv, line 2: 2 TABs"):  # one too many, and one too few after it
        pairs_of(find_inputs([written("t.tsv", "a\tb\na\tb\tc\nabc\na\tb\n")], None)[0])
    with pytest.raises(UserError, match=r"t\.tsv, line 1: 0 TABs"):
        pairs_of(find_inputs([written("t.tsv", "abc\na\tb\tc\n")], None)[0])
    cut = written("cut.gz", "a\n" * 9999)
    with open(cut, "r+b") as file:
        file.truncate(30)
    with pytest.raises(UserError, match=r"cut\.gz: cannot be read, or is broken"):
        pairs_of(find_inputs([cut], [two])[0])
