"""ListOps: nested lists of digits under MIN, MAX, MED and SM, and their value (Nangia and Bowman, 2018).

A line is `value TAB expression`, where the expression stands in brackets that branch to the left:
`2 TAB ( ( ( [MIN 2 ) 7 ) ] )`. Expressions are drawn as in the official generator: an expression is a list with
probability .25 (never below depth 20), else a digit; operators, digits, and numbers of arguments from 2 to 5 are
all drawn uniformly. A list is a tuple `(operator, argument, ...)`, a digit an integer.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from tfnmt.data.examples import Example, LeftOutError, Reading
from tfnmt.data.lines import read_lines
from tfnmt.errors import UserError

OPERATORS = {
    "MIN": min,
    "MAX": max,
    "MED": lambda values: int(median(values)),
    "SM": lambda values: sum(values) % 10,
}
LIST_PROBABILITY = 0.25
FEWEST_ARGUMENTS, MOST_ARGUMENTS = 2, 5
DEEPEST = 20
# Few levels have few expressions: after so many draws in a row that were known already, there may be no other.
DRAWS_IN_VAIN = 100_000

Expression = int | tuple


def listops_parser(
    labels: tuple[str, ...], path: Path, first_line: str, reading: Reading
) -> tuple[Callable[[str], Example], bool]:
    """What turns a line into an `Example`; there is never a header."""

    def parse(line: str) -> Example:
        if not line:
            raise LeftOutError("empty")
        value, text = _split(line)
        return Example((reading.sentence(text),), labels.index(value))

    return parse, False


def draw(
    rng: random.Random,
    operators: Sequence[str] = tuple(OPERATORS),
    most_arguments: int = MOST_ARGUMENTS,
    levels: int = DEEPEST - 1,
) -> Expression:
    """A random expression of at most so many lists within each other."""
    if levels == 0 or rng.random() >= LIST_PROBABILITY:
        return rng.randrange(10)
    count = rng.randint(FEWEST_ARGUMENTS, most_arguments)
    return rng.choice(operators), *(draw(rng, operators, most_arguments, levels - 1) for _ in range(count))


def evaluate(expression: Expression) -> int:
    """Its value, a digit."""
    if isinstance(expression, int):
        return expression
    operator, *arguments = expression
    return OPERATORS[operator]([evaluate(argument) for argument in arguments])


def to_text(expression: Expression) -> str:
    """The expression in binary brackets that branch to the left."""
    if isinstance(expression, int):
        return str(expression)
    operator, *arguments = expression
    text = f"[{operator}"
    for item in (*map(to_text, arguments), "]"):
        text = f"( {text} {item} )"
    return text


def draw_lines(seed: int, exclude: set[str] = frozenset(), levels: int = DEEPEST - 1) -> Iterator[str]:
    """Lines of a ListOps file, no two of one expression, none of an expression in `exclude`; without end, as long as
    new ones are found.

    Raises:
        UserError: no new expression of so few levels was found.
    """
    rng = random.Random(seed)
    seen = set(exclude)
    while True:
        for _ in range(DRAWS_IN_VAIN):
            expression = draw(rng, levels=levels)
            text = to_text(expression)
            if text not in seen:
                break
        else:
            raise UserError(
                f"no new expression in {DRAWS_IN_VAIN:,} draws after {len(seen):,}: ask for fewer lines or more levels"
            )
        seen.add(text)
        yield f"{evaluate(expression)}\t{text}"


def expressions(path: str | Path) -> Iterator[str]:
    """The expression of every line of a ListOps file.

    Raises:
        UserError: the file cannot be read, or a line is none of ListOps.
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield _split(line)[1]
        except UserError as error:
            raise UserError(f"{path}, line {number}: {error}") from error


def _split(line: str) -> tuple[str, str]:
    value, tab, text = line.partition("\t")
    if not tab or len(value) != 1 or value not in "0123456789":
        raise UserError("a line must be a digit TAB an expression in binary brackets")
    return value, text
