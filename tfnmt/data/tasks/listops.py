"""ListOps: nested lists of digits under MIN, MAX, MED and SM, and their value (Nangia and Bowman 2018,
arXiv:1804.06028).

A line is `value TAB expression`, where the expression is in binary brackets that branch to the left:
`2 TAB ( ( ( [MIN 2 ) 7 ) ] )`. Expressions are drawn as in the official generator: an expression is a list with
probability 0.25 (never below depth 20), else a digit; operators, digits and numbers of arguments from 2 to 5 are all
drawn uniformly. A list is a tuple `(operator, argument, ...)`, a digit an integer.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from statistics import median

from tfnmt.data.examples import Example, SentenceReader, SkippedExampleError
from tfnmt.data.lines import read_lines
from tfnmt.data.tasks.task import Task
from tfnmt.errors import UserError

OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "MIN": min,
    "MAX": max,
    "MED": lambda values: int(median(values)),
    "SM": lambda values: sum(values) % 10,
}
LIST_PROBABILITY = 0.25
FEWEST_ARGUMENTS, MOST_ARGUMENTS = 2, 5
MAXIMUM_DEPTH = 20
# Few levels have few expressions. After this number of draws in a row with nothing new, there may be no others.
MAXIMUM_REPEATED_DRAWS = 100_000

Expression = int | tuple


class ListOps(Task):
    """The value of an expression."""

    name = "listops"
    title = "ListOps: the value of nested lists"
    labels = tuple("0123456789")

    def read_line(self, line: str, reader: SentenceReader) -> Example:
        """The example on a line of value TAB expression."""
        if not line:
            raise SkippedExampleError("empty")
        value, expression = _split(line)
        return Example((reader.read(expression),), self.label_id(value))

    def draw_line(self, rng: random.Random) -> str:
        """A small expression of MIN and MAX alone."""
        expression = draw(rng, ("MIN", "MAX"), most_arguments=3, levels=4)
        return f"{evaluate(expression)}\t{to_text(expression)}"


def draw(
    rng: random.Random,
    operators: Sequence[str] = tuple(OPERATORS),
    most_arguments: int = MOST_ARGUMENTS,
    levels: int = MAXIMUM_DEPTH - 1,
) -> Expression:
    """A random expression with lists nested at most `levels` deep."""
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


def draw_lines(seed: int, exclude: Collection[str] = (), levels: int = MAXIMUM_DEPTH - 1) -> Iterator[str]:
    """Lines of a ListOps file, without end: all expressions differ, and none is in `exclude`.

    Raises:
        UserError: no new expression with this number of levels was found.
    """
    rng = random.Random(seed)
    seen = set(exclude)
    while True:
        for _ in range(MAXIMUM_REPEATED_DRAWS):
            expression = draw(rng, levels=levels)
            text = to_text(expression)
            if text not in seen:
                break
        else:
            raise UserError(
                f"no new expression in {MAXIMUM_REPEATED_DRAWS:,} draws after {len(seen):,}: "
                "ask for fewer lines or more levels"
            )
        seen.add(text)
        yield f"{evaluate(expression)}\t{text}"


def expressions(path: str | Path) -> Iterator[str]:
    """The expression of every line of a ListOps file.

    Raises:
        UserError: the file cannot be read, or a line is not one of ListOps.
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
