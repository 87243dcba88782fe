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
from tfnmt.data.progress import log_waiting
from tfnmt.data.tasks.listops_lengths import Lengths
from tfnmt.data.tasks.task import Task
from tfnmt.errors import UserError

OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "MIN": min,
    "MAX": max,
    "MED": lambda values: int(median(values)),
    "SM": lambda values: sum(values) % 10,
}
LIST_PROBABILITY = 0.25
ARGUMENTS = (2, 5)
"""The fewest and the most arguments of a list."""
MAXIMUM_DEPTH = 20
# Few levels have few expressions. After this number of draws in a row with nothing to use, there may be no others.
MAXIMUM_REPEATED_DRAWS = 100_000
# Of expressions whose number of words is asked for: computing how probable each number is takes up to a minute then.
MAXIMUM_WORDS = 10_000
_LARGEST_COUNT = 2 * 10**11
"""Products that this may take."""
# Each level is a call within a call, of which Python allows a thousand.
MAXIMUM_LEVELS = 200

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
        expression = draw(rng, ("MIN", "MAX"), arguments=(2, 3), levels=4)
        return f"{evaluate(expression)}\t{to_text(expression)}"


def draw(
    rng: random.Random,
    operators: Sequence[str] = tuple(OPERATORS),
    arguments: tuple[int, int] = ARGUMENTS,
    levels: int = MAXIMUM_DEPTH - 1,
) -> Expression:
    """A random expression.

    Args:
        rng: decides which.
        operators: those of the lists.
        arguments: the fewest and the most of a list.
        levels: lists within each other at most.
    """
    if levels == 0 or rng.random() >= LIST_PROBABILITY:
        return rng.randrange(10)
    count = rng.randint(*arguments)
    return rng.choice(operators), *(draw(rng, operators, arguments, levels - 1) for _ in range(count))


def draw_of_length(rng: random.Random, lengths: Lengths, levels: int, words: int) -> Expression:
    """A random expression of so many words, as probable as it is among those that `draw` gives.

    Args:
        rng: decides which.
        lengths: of the numbers of arguments, with at least so many levels and words.
        levels: lists within each other at most.
        words: operators, digits and closing brackets.
    """
    if words == 1:
        return rng.randrange(10)
    operator = rng.choice(tuple(OPERATORS))
    return operator, *(
        draw_of_length(rng, lengths, levels - 1, own) for own in lengths.of_arguments(rng, levels, words)
    )


def words_of(expression: Expression) -> int:
    """How many words it has: operators, digits and closing brackets."""
    if isinstance(expression, int):
        return 1
    return 2 + sum(map(words_of, expression[1:]))


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


def draw_lines(
    seed: int,
    exclude: Collection[str] = (),
    levels: int = MAXIMUM_DEPTH - 1,
    arguments: tuple[int, int] = ARGUMENTS,
    words: tuple[int, int] | None = None,
) -> Iterator[str]:
    """Lines of a ListOps file, without end: all expressions differ, and none is in `exclude`.

    Args:
        seed: decides which.
        exclude: expressions that must not occur.
        levels, arguments: as for `draw`.
        words: the fewest and the most of an expression; each is as frequent as it would be among all. None: any.

    Raises:
        UserError: no new expression was found, or none has so many words; more than `MAXIMUM_WORDS` or `MAXIMUM_LEVELS`
            are asked for, expressions have more words on average, or counting those of so many words takes too long.
    """
    _check_sizes(levels, arguments, words)
    rng = random.Random(seed)
    seen = set(exclude)
    lengths = None
    if words:
        with log_waiting("computing how probable each number of words is"):
            lengths = Lengths(LIST_PROBABILITY, arguments, levels, words[1])

    def drawn():
        if not lengths:
            return draw(rng, arguments=arguments, levels=levels)
        number = lengths.draw(rng, *words)
        if number is None:
            fewest, most = words
            raise UserError(
                f"expressions of {fewest:,} to {most:,} words do not exist, or are too improbable: "
                "ask for other numbers of levels or arguments"
            )
        return draw_of_length(rng, lengths, levels, number)

    while True:
        expression, text = _new(drawn, seen)
        seen.add(text)
        yield f"{evaluate(expression)}\t{text}"


def _check_sizes(levels, arguments, words):
    """Raise `UserError` if what is asked for would fill the memory, or take too long."""
    if levels > MAXIMUM_LEVELS:
        raise UserError(f"{levels:,} levels: at most {MAXIMUM_LEVELS:,} can be asked for")
    if words and words[1] > MAXIMUM_WORDS:
        raise UserError(f"expressions of {words[1]:,} words: at most {MAXIMUM_WORDS:,} can be asked for")
    if words and min(arguments[1], words[1]) * (levels + 1) * words[1] ** 2 > _LARGEST_COUNT:
        raise UserError(
            f"expressions of {words[1]:,} words, in {levels:,} levels of up to {arguments[1]:,} arguments: counting"
            " them takes too long; ask for less of one of these"
        )
    if not words and _mean_words(arguments, levels) > MAXIMUM_WORDS:  # some are far longer, and would fill the memory
        raise UserError(
            f"lists of {arguments[0]:,} to {arguments[1]:,} arguments in {levels:,} levels: expressions have over"
            f" {MAXIMUM_WORDS:,} words on average; ask for fewer levels or arguments, or for a number of words"
        )


def _mean_words(arguments, levels):
    """How many words an expression has on average; the numbers of arguments are equally probable."""
    mean = 1.0
    for _ in range(levels):
        mean = 1 - LIST_PROBABILITY + LIST_PROBABILITY * (2 + sum(arguments) / 2 * mean)
    return mean


def _new(drawn, seen):
    """An expression that is not in `seen`, and its text."""
    for _ in range(MAXIMUM_REPEATED_DRAWS):
        expression = drawn()
        if (text := to_text(expression)) not in seen:
            return expression, text
    raise UserError(
        f"no new expression in {MAXIMUM_REPEATED_DRAWS:,} draws after {len(seen):,}: "
        "ask for fewer lines, or for other numbers of levels, arguments or words"
    )


def expressions(path: str | Path) -> Iterator[str]:
    """The expression of every line of a ListOps file, with one space between words. Empty lines are left out.

    Raises:
        UserError: the file cannot be read, or a line is not one of ListOps.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            continue
        try:
            yield " ".join(filter(None, _split(line)[1].split(" ")))
        except UserError as error:
            raise UserError(f"{path}, line {number}: {error}") from error


def _split(line: str) -> tuple[str, str]:
    value, tab, text = line.partition("\t")
    if not tab or "\t" in text or len(value) != 1 or value not in "0123456789":
        raise UserError("a line must be a digit TAB an expression in binary brackets")
    return value, text
