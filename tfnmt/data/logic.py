"""Pairs of formulas of propositional logic and the relation between them (Bowman, Manning and Potts, 2015).

A formula is a variable (a string) or a tuple: `("not", formula)`, `("and", left, right)` or `("or", left, right)`.
A line is `relation TAB formula TAB formula`, with formulas in binary brackets: `>	( not ( c ( or d ) ) )	( not d )`.
"""

import random
from collections.abc import Sequence

VARIABLES = "abcdef"
# A formula's meaning is a bit for each of the 64 ways to make the variables true or false: whether it is true then.
_WAYS = 2 ** len(VARIABLES)
_ALWAYS = 2**_WAYS - 1
_MEANINGS = {
    variable: sum(1 << way for way in range(_WAYS) if way >> place & 1) for place, variable in enumerate(VARIABLES)
}

Formula = str | tuple


def meaning(formula: Formula) -> int:
    """When it is true: bit i stands for the i-th way to make the variables true or false."""
    if isinstance(formula, str):
        return _MEANINGS[formula]
    operator, *operands = formula
    values = [meaning(operand) for operand in operands]
    if operator == "not":
        return _ALWAYS & ~values[0]
    return values[0] & values[1] if operator == "and" else values[0] | values[1]


def relation(first: Formula, second: Formula) -> str:
    """Which of the seven holds: = equivalent, < entails, > is entailed, ^ the negation, | both never at once, v always
    one or both, # none of these."""
    one, other = meaning(first), meaning(second)
    if one == other:
        return "="
    if one ^ other == _ALWAYS:
        return "^"
    if one & other == one:
        return "<"
    if one & other == other:
        return ">"
    if one & other == 0:
        return "|"
    return "v" if one | other == _ALWAYS else "#"


def to_text(formula: Formula) -> str:
    """In binary brackets, as the published pairs are."""
    if isinstance(formula, str):
        return formula
    operator, *operands = formula
    if operator == "not":
        return f"( not {to_text(operands[0])} )"
    return f"( {to_text(operands[0])} ( {operator} {to_text(operands[1])} ) )"


def draw(rng: random.Random, operators: int, variables: Sequence[str]) -> Formula:
    """A random formula with so many operators that is neither always true nor always false."""
    while True:
        formula = _draw(rng, operators, variables)
        if 0 < meaning(formula) < _ALWAYS:
            return formula


def _draw(rng: random.Random, operators: int, variables: Sequence[str]) -> Formula:
    if operators == 0:
        return rng.choice(variables)
    operator = rng.choice(("not", "and", "or"))
    if operator == "not":
        return operator, _draw(rng, operators - 1, variables)
    left = rng.randrange(operators)
    return operator, _draw(rng, left, variables), _draw(rng, operators - 1 - left, variables)
