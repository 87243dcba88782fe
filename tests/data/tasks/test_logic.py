"""Formulas: their relations by hand, in brackets, and drawn at random."""

import random
from collections import Counter

import pytest

from tests.commands.calls import call
from tfnmt.data.lines import read_lines
from tfnmt.data.tasks.logic import RELATIONS, draw, relation, renamed, renamed_copies, to_text, truth_table
from tfnmt.errors import UserError

NOT_A = ("not", "a")


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ("a", "a", "="),
        ("a", "b", "#"),
        (NOT_A, "a", "^"),
        (("and", "a", "b"), "a", "<"),
        ("a", ("and", "a", "b"), ">"),
        ("a", ("or", "a", "b"), "<"),
        (("and", "a", "b"), NOT_A, "|"),
        (("or", "a", "b"), NOT_A, "v"),
        (("not", ("and", "a", "b")), ("or", NOT_A, ("not", "b")), "="),
    ],
)
def test_relations(first, second, expected):
    assert relation(first, second) == expected


def test_formulas_in_brackets():
    assert to_text("f") == "f"
    assert to_text(("not", ("or", "a", ("and", "b", NOT_A)))) == "( not ( a ( or ( b ( and ( not a ) ) ) ) ) )"


def test_drawn_formulas_have_the_operators_asked_for_and_are_contingent():
    rng = random.Random(1)
    for operators in range(5):
        text = to_text(draw(rng, operators, "abc"))
        assert sum(text.count(word) for word in ("not", "and", "or")) == operators
        assert set("def").isdisjoint(text.replace("not", "").replace("and", "").replace("or", ""))
    assert all(0 < truth_table(draw(rng, 3, "ab")) < 2**64 - 1 for _ in range(200))


def _read(text):
    """A formula from its brackets."""

    def read():
        word = next(words)
        if word != "(":
            return word
        parts = []
        while (part := read()) != ")":
            parts.append(part)
        if parts[0] in ("not", "and", "or"):  # the latter with their right side alone
            return tuple(parts)
        left, (operator, right) = parts
        return operator, left, right

    words = iter(text.split())
    return read()


def _drawn_line(rng):
    first, second = (draw(rng, rng.randrange(5), "abcdef") for _ in range(2))
    return f"{relation(first, second)}\t{to_text(first)}\t{to_text(second)}"


def test_renamed_pairs_have_the_relation_that_they_name():
    rng = random.Random(3)
    lines = [_drawn_line(rng) for _ in range(300)]
    for line in lines:
        label, first, second = renamed(line, rng).split("\t")
        assert label == relation(_read(first), _read(second))
    assert {line[0] for line in lines} > set("<>#|v")


def test_a_pair_gets_all_names_and_both_sides():
    rng = random.Random(4)
    drawn = Counter(renamed("<\ta\t( a ( or b ) )", rng) for _ in range(1000))
    assert len(drawn) == 2 * 6 * 5 and {line[0] for line in drawn} == set("<>")


@pytest.mark.parametrize("line", ["", "a", "=\ta", "?\ta\tb", "==\ta\tb", "=\ta\tb\tc"])
def test_what_is_no_pair_of_formulas_is_refused(line):
    columns = line.count("\t") + 1
    with pytest.raises(UserError, match=f"a line must be one of {' '.join(RELATIONS)[:4]}.* has {columns} columns"):
        renamed(line, random.Random(1))


def test_augment_logic_writes_copies_without_what_is_excluded(tmp_path):
    rng = random.Random(5)
    lines = [_drawn_line(rng) for _ in range(50)]
    given, written, dev = (tmp_path / name for name in ("given", "written", "dev"))
    given.write_text("\n".join(lines) + "\n")

    def augment(*options):
        call("augment-logic", "--input", str(given), "--output", str(written), "--copies", "4", *options)
        return written.read_text().splitlines()

    first = augment("--seed", "1")
    assert len(first) == 200 and augment("--seed", "1") == first != augment("--seed", "2")
    packed = tmp_path / "packed.gz"
    call("augment-logic", "--input", str(given), "--output", str(packed), "--copies", "4", "--seed", "1")
    assert list(read_lines(packed)) == first
    dev.write_text("\n".join(first[:10]) + "\n")
    assert augment("--seed", "1", "--exclude", str(dev)) == [line for line in first if line not in first[:10]]
    given.write_text(lines[0] + "\nno formula\n")
    with pytest.raises(UserError, match=f"{given}, line 2: a line must be one of"):
        augment("--seed", "1")


def test_excluded_pairs_are_known_whatever_their_spaces(tmp_path):
    """A pair of two variables has 60 lines; all of them are excluded, written otherwise."""
    path = tmp_path / "pairs"
    path.write_text("<\ta\t( a ( or b ) )\n\n")
    drawn = renamed_copies(path, copies=300, seed=1)
    assert len(drawn) == 300 and len(set(drawn)) > 20
    exclude = [line.replace("( or", "(  or") + "\t0.5" for line in drawn]
    assert not renamed_copies(path, copies=300, seed=1, exclude=exclude)


def test_words_end_at_plain_spaces_alone():
    word = "a\u00a0"
    label, first, second = renamed(f"#\t( {word} ( or b ) )\tc", random.Random(1)).split("\t")
    assert label == "#" and word in (first + " " + second).split(" ")


@pytest.mark.parametrize("formula", ["( c", "( c d e )", "( ) )", "( not )"])
def test_what_is_no_formula_is_refused(formula, tmp_path):
    path = tmp_path / "pairs"
    path.write_text(f"=\ta\tb\n=\ta\t{formula}\n")
    with pytest.raises(UserError, match=f"^{path}, line 2: "):
        renamed_copies(path, copies=1, seed=1)
