"""Formulas: their relations by hand, in brackets, and drawn at random."""

import random

import pytest

from tfnmt.data.tasks.logic import draw, relation, to_text, truth_table

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
