"""Entailment between two sentences: SNLI, MultiNLI and SICK, and the formats of files of sentence pairs.

- .jsonl of SNLI and MultiNLI: an object a line, with gold_label, sentence1_binary_parse and sentence2_binary_parse;
- .txt of SNLI and MultiNLI: columns separated by TABs, whose names in the first line are the same;
- any other file: label TAB sentence TAB sentence, and further columns, which are ignored: SICK with binary parses, and
  the pairs of formulas of Bowman, Manning and Potts (2015).
"""

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path

from tfnmt.data.examples import Example, SentenceReader, SkippedExampleError
from tfnmt.data.samples import entailment
from tfnmt.data.tasks.task import LineReader, Task
from tfnmt.errors import UserError
from tfnmt.text.characters import refuse_surrogates

_FIELDS = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")
_LABELS = ("entailment", "neutral", "contradiction")


class SentencePairTask(Task):
    """A task of labelled pairs of sentences, in any of the formats above."""

    sentences = 2

    def read_line(self, line: str, reader: SentenceReader) -> Example:
        """The pair on a line of label TAB sentence TAB sentence."""
        return self._example(_first_columns, line, reader)

    def file_format(self, path: Path, first_line: str) -> tuple[LineReader, bool]:
        """By the file's suffix and its first line."""
        if path.suffix.lower() == ".jsonl":
            return functools.partial(self._example, _json_fields), False
        if "gold_label" in first_line.split("\t"):
            return functools.partial(self._example, _named_columns(first_line)), True
        return self.read_line, False

    def _example(self, fields: Callable[[str], tuple[str, ...]], line: str, reader: SentenceReader) -> Example:
        if not line:
            raise SkippedExampleError("empty")
        label, first, second = fields(line)
        if label == "-":  # the annotators did not agree
            raise SkippedExampleError("labelled -")
        return Example((reader.read(first), reader.read(second)), self.label_id(label))


class SNLI(SentencePairTask):
    """Bowman et al. 2015, arXiv:1508.05326; MultiNLI: Williams et al. 2018, arXiv:1704.05426."""

    name = "snli"
    title = "SNLI or MultiNLI: entailment between sentences"
    labels = _LABELS
    sample_suffix = ".jsonl"

    def draw_line(self, rng: random.Random) -> str:
        """A pair of sentences about a scene; see `tfnmt.data.samples.entailment`."""
        return json.dumps(dict(zip(_FIELDS, _draw_pair(rng), strict=True)))


class SICK(SentencePairTask):
    """Marelli et al. 2014, https://aclanthology.org/L14-1314."""

    name = "sick"
    title = "SICK: entailment between sentences"
    labels = tuple(label.upper() for label in _LABELS)

    def draw_line(self, rng: random.Random) -> str:
        """As for SNLI."""
        label, premise, hypothesis = _draw_pair(rng)
        return f"{label.upper()}\t{premise}\t{hypothesis}"


def _draw_pair(rng: random.Random) -> tuple[str, str, str]:
    label = rng.choice(_LABELS)
    premise, hypothesis = entailment.draw(rng, label)
    return label, premise.to_brackets(), hypothesis.to_brackets()


def _json_fields(line: str) -> tuple[str, ...]:
    try:
        record = json.loads(line)
        fields = tuple(record[name] for name in _FIELDS)
    except (ValueError, RecursionError) as error:  # the latter of a line that is nested too deeply
        raise UserError(f"not JSON: {error}") from error
    except KeyError as error:
        raise UserError(f"the object has no {error.args[0]!r}") from error
    except TypeError as error:
        raise UserError("not a JSON object") from error
    if not all(isinstance(value, str) for value in fields):
        raise UserError(f"{', '.join(_FIELDS)} must be text")
    if "\\ud" in line.lower():  # so that JSON can escape half a surrogate pair
        refuse_surrogates("".join(fields))
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
            raise UserError(f"{len(columns)} columns, but the first line names {len(names)}")
        return tuple(columns[place] for place in places)

    return fields


def _first_columns(line: str) -> tuple[str, ...]:
    columns = line.split("\t")
    if len(columns) < 3:
        if line.startswith("{"):
            raise UserError("JSON is read from files whose names end in .jsonl: rename this one")
        raise UserError(f"{len(columns)} columns instead of 3: label TAB sentence TAB sentence")
    return tuple(columns[:3])
