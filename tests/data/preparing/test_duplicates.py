"""Duplicates are found by hashes on disk, and the sample of the corpus has none."""

import random

import numpy as np
import pytest

from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.data.preparing.duplicates import (
    count_duplicates,
    find_duplicates,
    first_duplicate,
    read_duplicates,
)
from tfnmt.data.preparing.inputs import Input, Part
from tfnmt.data.preparing.parts import read_part, write_part
from tfnmt.data.preparing.sample import sample_of_part

FILES = Input(0, "a", "b")


def write(directory, number, pairs):
    """Write a part of these pairs; returns its name."""
    sides = ("".join(f"{line}\n" for line in side).encode() for side in zip(*pairs, strict=True))
    part = Part(FILES.part_name(number), 1 + 100 * number, *sides)
    write_part(directory, FILES, part, FilterConfiguration())
    return part.name


def test_by_hand(tmp_path):
    first = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ("a  dog ", "ein Hund")]
    second = [("a cat", "die Katze"), ("a cat", "eine Katze"), ("a dog", "ein Hund")]
    names = [write(tmp_path, 0, first), write(tmp_path, 1, second)]
    find_duplicates(tmp_path, names, 0, 1)
    assert read_duplicates(tmp_path, 0).tolist() == [2]
    assert read_duplicates(tmp_path, 1).tolist() == [1, 2]
    assert first_duplicate(tmp_path) == (0, 2)
    assert read_part(tmp_path, names[1])["line"].to_pylist() == [101, 102, 103]


@pytest.mark.parametrize("ranges", [1, 7])
def test_as_a_set_in_memory_finds_them(tmp_path, ranges):
    draw = random.Random(1)
    parts = [[(f"word {draw.randrange(40)}", "Wort") for _ in range(50)] for _ in range(3)]
    names = [write(tmp_path, number, pairs) for number, pairs in enumerate(parts)]
    for number in range(ranges):
        find_duplicates(tmp_path, names, number, ranges)
    seen = set()
    for place, pairs in enumerate(parts):
        expected = [row for row, pair in enumerate(pairs) if pair in seen or seen.add(pair)]
        assert read_duplicates(tmp_path, place).tolist() == expected


def test_a_sample_has_no_pair_twice_and_about_the_share_asked_for(tmp_path):
    pairs = [(f"word {'abcdefghij'[n % 10]} {n // 2 % 500}", "Wort") for n in range(2000)]
    name = write(tmp_path, 0, pairs)
    find_duplicates(tmp_path, [name], 0, 1)
    different = len(set(pairs))
    assert count_duplicates(tmp_path) == len(pairs) - different
    whole = sample_of_part(tmp_path, name, 0, 1.0, 1)
    assert len(whole) == different == len(set(whole["source"].to_pylist()))
    some = sample_of_part(tmp_path, name, 0, 0.25, 1)["source"].to_pylist()
    assert abs(len(some) - different / 4) < 4 * np.sqrt(different / 4)
    assert set(some) < set(whole["source"].to_pylist())


def test_where_duplicates_stay_a_sample_has_them_as_often_as_the_corpus(tmp_path):
    """And not all copies of a few pairs."""
    pairs = [("often", "oft")] * 1000 + [(f"word {n}", "Wort") for n in range(1000)]
    name = write(tmp_path, 0, pairs)
    draws = [sample_of_part(tmp_path, name, 0, 0.2, seed)["source"].to_pylist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    often = draws[0].count("often")
    assert abs(often - 200) < 50 and abs(len(draws[0]) - often - 200) < 50
    assert draws[0] == sorted(draws[0], key=[source for source, _ in pairs].index), "in the order of the corpus"


def test_each_part_has_draws_of_its_own(tmp_path):
    parts = [[(f"word {n} {side}", "Wort") for n in range(100)] for side in ("one", "two")]
    names = [write(tmp_path, number, pairs) for number, pairs in enumerate(parts)]
    first, second = (sample_of_part(tmp_path, name, place, 0.5, 1)["line"] for place, name in enumerate(names))
    assert first.to_pylist() != [line - 100 for line in second.to_pylist()]


def test_where_the_sides_part_counts(tmp_path):
    find_duplicates(tmp_path, [write(tmp_path, 0, [("a b", "c"), ("a", "b c")])], 0, 1)
    assert read_duplicates(tmp_path, 0).tolist() == []
