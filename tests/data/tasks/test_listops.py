"""ListOps: values by hand, expressions in brackets, and drawn at random."""

import random
from itertools import islice

import pytest

from tfnmt.data.tasks import listops
from tfnmt.data.tasks.listops import (
    MAXIMUM_DEPTH,
    OPERATORS,
    TooLongError,
    draw,
    draw_lines,
    evaluate,
    expressions,
    to_text,
    words_of,
)
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets, to_brackets


def depth(expression):
    return 0 if isinstance(expression, int) else 1 + max(map(depth, expression[1:]))


@pytest.mark.parametrize(
    "expression, value",
    [
        (7, 7),
        (("MIN", 2, 7), 2),
        (("MAX", 2, 7, 3), 7),
        (("MED", 2, 7, 3), 3),
        (("MED", 2, 7), 4),
        (("MED", 1, 9, 4, 5), 4),
        (("SM", 9, 8, 7), 4),
        (("SM", ("MAX", 1, ("MIN", 8, 6)), 5, 9), 0),
    ],
)
def test_values(expression, value):
    assert evaluate(expression) == value


def test_expressions_in_left_branching_brackets():
    assert to_text(3) == "3"
    assert to_text(("MIN", 2, 7)) == "( ( ( [MIN 2 ) 7 ) ] )"
    assert to_text(("SM", ("MED", 1, 4), 0)) == "( ( ( [SM ( ( ( [MED 1 ) 4 ) ] ) ) 0 ) ] )"


def test_drawn_expressions_follow_the_official_generator():
    rng = random.Random(1)
    drawn = [draw(rng) for _ in range(4000)]
    lists = [expression for expression in drawn if not isinstance(expression, int)]
    assert 0.22 < len(lists) / len(drawn) < 0.28
    assert {len(expression) - 1 for expression in lists} == {2, 3, 4, 5}
    assert {expression[0] for expression in lists} == set(OPERATORS)
    assert set(range(10)) < set(drawn)
    assert all(isinstance(draw(rng, levels=0), int) for _ in range(20))
    assert max(map(depth, drawn)) < MAXIMUM_DEPTH
    small = [draw(rng, ("MIN", "MAX"), arguments=(2, 3), levels=2) for _ in range(500)]
    assert max(map(depth, small)) == 2
    assert {expression[0] for expression in small if not isinstance(expression, int)} == {"MIN", "MAX"}
    assert max(len(expression) for expression in small if not isinstance(expression, int)) == 4


def test_numbers_of_words_and_arguments():
    """Expressions of some lengths are as frequent among each other as among all."""
    assert words_of(("SM", ("MED", 1, 4), 0)) == len(["[SM", "[MED", "1", "4", "]", "0", "]"])
    lines = [line.split("\t")[1] for line in islice(draw_lines(3, arguments=(4, 4), words=(6, 11)), 400)]
    lengths = [len(from_brackets(text)[0]) for text in lines]
    assert set(lengths) == {6, 11}  # one list of four digits, or two lists
    few = [text for text in lines if text.count("[") == 1]
    rng = random.Random(4)
    drawn = [words_of(draw(rng, arguments=(4, 4))) for _ in range(20_000)]
    one, two = drawn.count(6), drawn.count(11)
    assert abs(len(few) / len(lines) - one / (one + two)) < 0.1
    with pytest.raises(TooLongError):
        draw(random.Random(1), levels=5, arguments=(99, 99), most_words=0)


def test_no_expression_twice_and_none_that_is_excluded():
    lines = list(islice(draw_lines(5), 300))
    texts = [line.split("\t")[1] for line in lines]
    assert len(set(texts)) == 300
    assert all(to_brackets(*from_brackets(text)) == text for text in texts)
    assert list(islice(draw_lines(5), 300)) == lines
    assert list(islice(draw_lines(6), 300)) != lines
    others = {line.split("\t")[1] for line in islice(draw_lines(5, set(texts[:100])), 300)}
    assert others.isdisjoint(texts[:100]) and others.issuperset(texts[100:])


def test_few_levels_have_few_expressions(monkeypatch):
    monkeypatch.setattr(listops, "MAXIMUM_REPEATED_DRAWS", 2000)
    lines = draw_lines(1, {str(digit) for digit in range(3)}, levels=1)
    assert all(line.count("[") <= 1 for line in islice(lines, 500))
    monkeypatch.setattr(listops, "LIST_PROBABILITY", 0)  # digits are all there is
    with pytest.raises(
        UserError, match=r"no new expression in 2,000 draws after 10: ask for fewer lines, or for other"
    ):
        list(draw_lines(1))


def test_expressions_of_a_file(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("2\t( ( ( [MIN 2 ) 7 ) ] )\n3\t3\n")
    assert list(expressions(path)) == ["( ( ( [MIN 2 ) 7 ) ] )", "3"]
    path.write_text("2\t2\n22\t2\n")
    with pytest.raises(UserError, match=r"test\.tsv, line 2: a line must be a digit TAB"):
        list(expressions(path))
