"""Lines held out of the training files: as many as asked for, whatever their order, and none on both sides."""

import gzip

import pytest

from tfnmt.data.dev_split import split_examples, split_pairs
from tfnmt.errors import UserError

PAIRS = [(f"sentence {i}", f"Satz {i}") for i in range(50)]


def write_pairs(folder, pairs):
    (folder / "en.gz").write_bytes(gzip.compress("".join(f"{source}\n" for source, _ in pairs).encode()))
    (folder / "de").write_text("".join(f"{target}\n" for _, target in pairs))
    return [folder / "en.gz", folder / "de"]


def read_pairs(paths):
    source, target = paths
    return list(
        zip(gzip.decompress(source.read_bytes()).decode().splitlines(), target.read_text().splitlines(), strict=True)
    )


def test_pairs_stay_pairs_and_in_order(tmp_path):
    training, dev = map(read_pairs, split_pairs(write_pairs(tmp_path, PAIRS), 7, tmp_path / "split"))
    assert len(dev) == 7 and len(training) == 43
    assert training == [pair for pair in PAIRS if pair not in dev] and dev == [pair for pair in PAIRS if pair in dev]


def test_the_order_of_the_lines_does_not_matter(tmp_path):
    (tmp_path / "other").mkdir()
    _, dev = split_pairs(write_pairs(tmp_path, PAIRS), 7, tmp_path / "split")
    _, other = split_pairs(write_pairs(tmp_path / "other", PAIRS[::-1]), 7, tmp_path / "other" / "split")
    assert sorted(read_pairs(dev)) == sorted(read_pairs(other))


def test_repeated_sources_are_on_one_side(tmp_path):
    pairs = PAIRS + [(source, f"{target} noch einmal") for source, target in PAIRS]
    training, dev = map(read_pairs, split_pairs(write_pairs(tmp_path, pairs), 8, tmp_path / "split"))
    assert len(dev) == 8 and not {source for source, _ in training} & {source for source, _ in dev}


def test_repetitions_that_leave_nothing_to_train_on_are_told(tmp_path):
    files = write_pairs(tmp_path, [("one", "eins")] * 3 + [("two", "zwei")])
    assert [len(read_pairs(part)) for part in split_pairs(files, 1, tmp_path / "split")] in ([3, 1], [1, 3])
    files = write_pairs(tmp_path, [("one", "eins")] * 5)
    with pytest.raises(UserError, match="--dev-split 1: .*en.gz repeats its lines, so that all would be held out"):
        split_pairs(files, 1, tmp_path / "split")


def test_pairs_of_a_tsv_with_the_same_source_are_on_one_side(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n{source}\tanders\n" for source, target in PAIRS))
    (training,), (dev,) = split_pairs([path], 10, tmp_path / "split")
    assert (training.name, dev.name) == ("1-pairs.tsv", "1-pairs.tsv")
    sides = [{line.split("\t")[0] for line in file.read_text().splitlines()} for file in (training, dev)]
    assert [len(side) for side in sides] == [45, 5] and not sides[0] & sides[1]


def test_examples_of_several_files_of_which_one_has_a_header(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("label\ttext\n" + "".join(f"yes\tnumber {i}\n" for i in range(20)))
    second.write_text("".join(f"no\tnumber {i}\n" for i in range(20)))
    training, dev = split_examples([first, second], 6, tmp_path / "split", [True, False])
    lines = [[path.read_text().splitlines() for path in paths] for paths in (training, dev)]
    assert [part[0].pop(0) for part in lines] == ["label\ttext"] * 2
    numbers = [sum(map(len, part)) for part in lines]
    assert numbers == [34, 6]
    assert sorted(lines[0][0] + lines[1][0]) == sorted(first.read_text().splitlines()[1:])


@pytest.mark.parametrize("headers", [[False, False], [True, True]])
def test_a_file_that_gives_no_line_to_a_part_is_not_in_it(tmp_path, headers):
    paths = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    header = "label\ttext\n" if headers[0] else ""
    paths[0].write_text(header + "".join(f"yes\tnumber {i}\n" for i in range(40)))
    paths[1].write_text(header + "no\tone\n")
    lone = "no\tone"
    for number in (
        1,
        40,
    ):  # of 41 lines the one of the second file is held out by 40, unless its digest is the greatest
        parts = split_examples(paths, number, tmp_path / f"split{number}", headers)
        for part in parts:
            lines = [path.read_text().splitlines()[len(header) > 0 :] for path in part]
            assert all(lines) and sorted(path.name[0] for path in part) == sorted(
                {"1", "2"} if [lone] in lines else "1"
            )
        assert sum(len(path.read_text().splitlines()) - headers[0] for part in parts for path in part) == 41


def test_nothing_is_held_out_of_an_empty_file(tmp_path):
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(UserError, match="empty.tsv: the file is empty"):
        split_examples([tmp_path / "empty.tsv"], 6, tmp_path / "split", [False])


@pytest.mark.parametrize("number", [50, 1000])
def test_something_must_be_left_to_train_on(tmp_path, number):
    with pytest.raises(UserError, match=f"--dev-split {number}: .*en.gz has 50 lines; hold out fewer"):
        split_pairs(write_pairs(tmp_path, PAIRS), number, tmp_path / "split")
