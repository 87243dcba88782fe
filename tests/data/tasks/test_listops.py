"""ListOps: values by hand, expressions in brackets, and drawn at random."""

import itertools
import math
import random
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from tfnmt.data.tasks import listops
from tfnmt.data.tasks.listops import (
    LIST_PROBABILITY,
    MAXIMUM_DEPTH,
    OPERATORS,
    _mean_words,
    draw,
    draw_lines,
    draw_of_length,
    evaluate,
    expressions,
    to_text,
    words_of,
)
from tfnmt.data.tasks.listops_lengths import Lengths
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


def test_lengths_are_as_probable_as_drawn_ones():
    """Here all shapes of at most two levels and 17 words are listed, with the probability of each."""

    def shapes(levels):
        """(probability, number of words) of every shape."""
        yield 1.0 if levels == 0 else 1 - LIST_PROBABILITY, 1
        if levels:
            for count in (2, 3):
                for arguments in itertools.product(list(shapes(levels - 1)), repeat=count):
                    p, words = zip(*arguments, strict=True)
                    yield LIST_PROBABILITY / 2 * math.prod(p), 2 + sum(words)

    expected = np.zeros(18)
    for p, words in shapes(2):
        expected[words] += p
    assert expected.sum() == pytest.approx(1)
    np.testing.assert_allclose(Lengths(LIST_PROBABILITY, (2, 3), 2, 17)._of_several[-1][1], expected, atol=1e-12)


def test_more_arguments_than_words_cost_nothing():
    """They take their share of the probability, and no expression has them."""
    many, few = (Lengths(LIST_PROBABILITY, (2, most), 2, 9) for most in (10**9, 9))
    assert len(many._of_several[-1]) == len(few._of_several[-1]) == 10
    assert many.draw(random.Random(1), 2, 9) is not None
    none = Lengths(LIST_PROBABILITY, (20, 30), 2, 9)
    np.testing.assert_array_equal(none._of_several[-1][1], 0.75 * np.eye(1, 10, 1)[0])


def test_expressions_of_one_length_have_all_shapes_with_their_probability():
    lengths, rng = Lengths(LIST_PROBABILITY, (2, 3), 2, 17), random.Random(1)
    of_length = Counter(shape(draw_of_length(rng, lengths, 2, 8)) for _ in range(4000))
    drawn = (draw(rng, arguments=(2, 3), levels=2) for _ in range(200_000))
    expected = Counter(shape(expression) for expression in drawn if words_of(expression) == 8)
    assert len(expected) > 4 and set(of_length) == set(expected)
    for key, count in expected.items():
        assert of_length[key] / 4000 == pytest.approx(count / expected.total(), abs=0.04)


def shape(expression):
    return 0 if isinstance(expression, int) else tuple(map(shape, expression[1:]))


def test_expressions_of_a_thousand_words():
    """One of 70,000 has 900 to 1,000 words."""
    lines = list(islice(draw_lines(11, words=(900, 1000)), 5))
    for value, text in (line.split("\t") for line in lines):
        assert 900 <= len(from_brackets(text)[0]) <= 1000
        assert value in "0123456789"
    assert list(islice(draw_lines(11, words=(900, 1000)), 5)) == lines
    with pytest.raises(UserError, match="expressions of 2 to 3 words do not exist, or are too improbable"):
        next(draw_lines(1, words=(2, 3)))
    with pytest.raises(UserError, match="201 levels: at most 200 can be asked for"):
        next(draw_lines(1, levels=201))
    with pytest.raises(UserError, match="expressions of 10,001 words: at most 10,000 can be asked for"):
        next(draw_lines(1, words=(200, 10_001)))
    assert next(draw_lines(1, words=(1, 1))).split("\t")[0] in "0123456789"


def test_expressions_that_would_fill_the_memory():
    """Of five arguments or more, each a list with probability 1/4, more than one is: lists grow from level to level."""
    with pytest.raises(UserError, match="lists of 10 to 20 arguments in 19 levels: expressions have over 10,000 words"):
        next(draw_lines(1, arguments=(10, 20)))
    assert next(draw_lines(1, arguments=(10, 20), words=(1, 100)))
    drawn = [words_of(draw(random.Random(seed), arguments=(4, 6), levels=4)) for seed in range(4000)]
    assert abs(np.mean(drawn) / _mean_words((4, 6), 4) - 1) < 0.1


def test_expressions_that_would_take_too_long_to_count():
    with pytest.raises(UserError, match="of 10,000 words, in 19 levels of up to 10,000 arguments: counting them takes"):
        next(draw_lines(1, arguments=(2, 10_000), words=(5, 10_000)))


def test_no_expression_twice_and_none_that_is_excluded():
    lines = list(islice(draw_lines(5), 300))
    texts = [line.split("\t")[1] for line in lines]
    assert len(set(texts)) == 300
    assert all(to_brackets(*from_brackets(text)) == text for text in texts)
    assert list(islice(draw_lines(5), 300)) == lines
    assert list(islice(draw_lines(6), 300)) != lines
    others = {line.split("\t")[1] for line in islice(draw_lines(5, set(texts[:100])), 300)}
    assert others.isdisjoint(texts[:100]) and others.issuperset(texts[100:])


def test_the_most_levels_can_be_drawn():
    _, text = next(draw_lines(1, levels=200, arguments=(1, 1), words=(401, 401))).split("\t")
    assert text.count("[") == 200


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
    path.write_text("2\t( (  ( [MIN 2 ) 7 ) ] )\n\n3\t3 \n")
    assert list(expressions(path)) == ["( ( ( [MIN 2 ) 7 ) ] )", "3"]
    path.write_text("2\t2\n22\t2\n")
    with pytest.raises(UserError, match=r"test\.tsv, line 2: a line must be a digit TAB"):
        list(expressions(path))


def test_no_number_of_words_that_no_expression_has_is_drawn():
    """Not even by the smallest random number: a list has four words or more."""
    assert Lengths(0.25, (2, 5), 3, 20).draw(SimpleNamespace(random=lambda: 0.0), 2, 20) == 4
