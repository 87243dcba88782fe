"""Pairs of sentences in the formats of SNLI, MultiNLI, SICK and propositional logic.

- .jsonl of SNLI and MultiNLI: an object a line, with gold_label, sentence1_binary_parse and sentence2_binary_parse;
- .txt of SNLI and MultiNLI: columns parted by TABs, named in the first line as above;
- anything else: label TAB sentence TAB sentence, and columns that are not read; so SICK with binary parses, and the
  pairs of formulas of Bowman, Manning and Potts (2015).
"""

import json
from collections.abc import Callable
from pathlib import Path

from tfnmt.data.examples import Example, LeftOutError, Reading
from tfnmt.errors import UserError

_FIELDS = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")


def pair_parser(
    labels: tuple[str, ...], path: Path, first_line: str, reading: Reading
) -> tuple[Callable[[str], Example], bool]:
    """What turns a line of the file into an `Example`, and whether its first line names columns instead."""
    official_text = first_line.startswith("gold_label\t")
    if path.suffix == ".jsonl":
        fields = _json_fields
    elif official_text:
        fields = _named_columns(first_line)
    else:
        fields = _first_columns
    numbers = {label: number for number, label in enumerate(labels)}

    def parse(line: str) -> Example:
        if not line:
            raise LeftOutError("empty")
        label, first, second = fields(line)
        if label not in numbers:
            if label == "-":
                raise LeftOutError("labelled -")
            raise UserError(f"the label is {label!r}; it must be one of {' '.join(labels)}")
        return Example((reading.sentence(first), reading.sentence(second)), numbers[label])

    return parse, official_text


def _json_fields(line: str) -> tuple[str, ...]:
    try:
        record = json.loads(line)
        fields = tuple(record[name] for name in _FIELDS)
    except ValueError as error:
        raise UserError(f"not JSON: {error}") from error
    except KeyError as error:
        raise UserError(f"the object has no {error.args[0]!r}") from error
    except TypeError as error:
        raise UserError("not a JSON object") from error
    if not all(isinstance(value, str) for value in fields):
        raise UserError(f"{', '.join(_FIELDS)} must be text")
    if "\\ud" in line.lower():  # JSON can write half a character, which is no text
        try:
            "".join(fields).encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(f"half a surrogate pair, {error.object[error.start]!r}, is no character") from error
    return fields


def _named_columns(header: str) -> Callable[[str], tuple[str, ...]]:
    names = header.split("\t")
    for name in _FIELDS:
        if name not in names:
            raise UserError(f"no column is named {name!r}")
    places = [names.index(name) for name in _FIELDS]

    def fields(line: str) -> tuple[str, ...]:
        columns = line.split("\t")
        if len(columns) <= max(places):
            raise UserError(f"{len(columns)} columns, where the first line names {len(names)}")
        return tuple(columns[place] for place in places)

    return fields


def _first_columns(line: str) -> tuple[str, ...]:
    columns = line.split("\t")
    if len(columns) < 3:
        raise UserError(f"{len(columns)} columns instead of 3: label TAB sentence TAB sentence")
    return tuple(columns[:3])
