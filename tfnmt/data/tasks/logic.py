"""Pairs of formulas of propositional logic and the relation between them (Bowman, Manning and Potts, 2015).

A formula is a variable (a string) or a tuple: `("not", formula)`, `("and", left, right)` or `("or", left, right)`.
A line is `relation TAB formula TAB formula`, with formulas in binary brackets: `>	( not ( c ( or d ) ) )	( not d )`.
"""

import itertools
import random
from collections.abc import Collection, Sequence
from pathlib import Path

from tfnmt.data.lines import read_lines
from tfnmt.data.progress import log_progress
from tfnmt.data.tasks.sentence_pairs import SentencePairTask
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets

VARIABLES = "abcdef"
RELATIONS = "=<>^|v#"
_CONVERSE = str.maketrans("<>", "><")
# The truth table of a formula is an integer with a bit for each of the 64 assignments of the variables.
_ASSIGNMENTS = 2 ** len(VARIABLES)
_TAUTOLOGY = 2**_ASSIGNMENTS - 1
_VARIABLE_TABLES = {
    variable: sum(1 << assignment for assignment in range(_ASSIGNMENTS) if assignment >> index & 1)
    for index, variable in enumerate(VARIABLES)
}

Formula = str | tuple


class Logic(SentencePairTask):
    """The relation between two formulas."""

    name = "logic"
    title = "relations between formulas of propositional logic"
    labels = tuple(RELATIONS)

    def draw_line(self, rng: random.Random) -> str:
        """A pair of small formulas. The relation is drawn first, so that all seven are equally probable; of some there
        are so few pairs that a corpus without repetitions has fewer of them."""
        label = rng.choice(RELATIONS)
        while True:
            variables = rng.sample("abc", 2)
            first, second = (draw(rng, rng.randrange(3), variables) for _ in range(2))
            if relation(first, second) == label:
                return f"{label}\t{to_text(first)}\t{to_text(second)}"


def truth_table(formula: Formula) -> int:
    """Bit i says whether the formula is true under the i-th assignment of the variables."""
    if isinstance(formula, str):
        return _VARIABLE_TABLES[formula]
    operator, *operands = formula
    tables = [truth_table(operand) for operand in operands]
    if operator == "not":
        return _TAUTOLOGY & ~tables[0]
    return tables[0] & tables[1] if operator == "and" else tables[0] | tables[1]


def relation(first: Formula, second: Formula) -> str:
    """The relation of natural logic that holds: = equivalence, < forward and > reverse entailment, ^ negation,
    | alternation (never both), v cover (always at least one), # independence."""
    p, q = truth_table(first), truth_table(second)
    if p == q:
        return "="
    if p ^ q == _TAUTOLOGY:
        return "^"
    if p & q == p:
        return "<"
    if p & q == q:
        return ">"
    if p & q == 0:
        return "|"
    return "v" if p | q == _TAUTOLOGY else "#"


def to_text(formula: Formula) -> str:
    """In binary brackets, as the published pairs are."""
    if isinstance(formula, str):
        return formula
    operator, *operands = formula
    if operator == "not":
        return f"( not {to_text(operands[0])} )"
    return f"( {to_text(operands[0])} ( {operator} {to_text(operands[1])} ) )"


def draw(rng: random.Random, operators: int, variables: Sequence[str]) -> Formula:
    """A random formula with this number of operators that is neither a tautology nor a contradiction."""
    while True:
        formula = _draw(rng, operators, variables)
        if 0 < truth_table(formula) < _TAUTOLOGY:
            return formula


def _draw(rng: random.Random, operators: int, variables: Sequence[str]) -> Formula:
    if operators == 0:
        return rng.choice(variables)
    operator = rng.choice(("not", "and", "or"))
    if operator == "not":
        return operator, _draw(rng, operators - 1, variables)
    left = rng.randrange(operators)
    return operator, _draw(rng, left, variables), _draw(rng, operators - 1 - left, variables)


def renamed(line: str, rng: random.Random) -> str:
    """The same pair with its variables renamed at random and, half of the time, its sides exchanged. What it says is as
    true as before: relations do not depend on names, and a < b says that b > a.

    Raises:
        UserError: the line is not `relation TAB formula TAB formula`, or a formula's brackets are no binary tree.
    """
    names = list(VARIABLES)
    rng.shuffle(names)
    new_name = dict(zip(VARIABLES, names, strict=True))
    fields = line.split("\t")
    if len(fields) != 3 or len(fields[0]) != 1 or fields[0] not in RELATIONS:
        raise UserError(
            f"a line must be one of {' '.join(RELATIONS)}, TAB, a formula, TAB, a formula; this one has"
            f" {len(fields)} columns"
        )
    for formula in fields[1:]:
        from_brackets(formula)
    first, second = (
        " ".join(new_name.get(word, word) for word in formula.split(" "))
        for formula in normalized(line).split("\t")[1:]
    )
    if rng.random() < 0.5:
        return f"{fields[0].translate(_CONVERSE)}\t{second}\t{first}"
    return f"{fields[0]}\t{first}\t{second}"


def normalized(line: str) -> str:
    """A pair as `renamed` writes it: with one space between words, and without further columns."""
    return "\t".join(" ".join(filter(None, field.split(" "))) for field in line.split("\t")[:3])


def renamed_copies(path: str | Path, copies: int, seed: int, exclude: Collection[str] = ()) -> list[str]:
    """So many copies of every line of a file, each `renamed` anew, in random order, without those that are equal to a
    line in `exclude`. Empty lines are left out.

    Raises:
        UserError: the file cannot be read or is empty, or a line is not a pair of formulas.
    """
    rng = random.Random(seed)
    lines, drawn = [(number, line) for number, line in enumerate(read_lines(path), start=1) if line], []
    if not lines:
        raise UserError(f"{path}: the file is empty")
    numbered = itertools.chain.from_iterable(itertools.repeat(lines, copies))
    for number, line in log_progress(numbered, "renaming variables", copies * len(lines)):
        try:
            drawn.append(renamed(line, rng))
        except UserError as error:
            raise UserError(f"{path}, line {number}: {error}") from error
    rng.shuffle(drawn)
    excluded = set(map(normalized, exclude))
    return [line for line in drawn if line not in excluded]
