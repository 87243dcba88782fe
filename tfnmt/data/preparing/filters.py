"""Which sentence pairs are worth training on, decided from each pair alone, for thousands of pairs at once.

The checks are Arrow's, on columns of strings: over a hundred thousand pairs a second on one core.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.errors import UserError

REASONS = {
    "kept": "kept",
    "encoding": "not UTF-8",
    "empty": "with an empty side",
    "length": "too long",
    "ratio": "with sides of too different lengths",
    "identical": "with identical sides",
    "characters": "with too few letters, or control characters",
    "script": "in another script",
    "duplicate": "there before",
}
"""Why a pair is dropped -> in words; the first that applies counts. "kept" is no reason: its index 0 is of pairs that
stay."""
_NUMBER = {reason: number for number, reason in enumerate(REASONS)}

# Pairs are not filtered by length ratio up to this length of the longer side.
_RATIO_FREE_CHARACTERS = 40
# Beside white space: control characters, those for private use, and the one that stands for what could not be decoded.
_WHITE_SPACE = r"[\s\x0B\x{85}\p{Z}]+"
_UNFIT = r"[\p{Cc}\p{Co}\x{FFFD}]"
# Marks count as letters: they are the vowels of many scripts, such as Devanagari, and accents that are written apart.
_NO_LETTERS = r"[^\p{L}\p{M}]+"


def decode(lines: list[bytes]) -> tuple[pa.Array, np.ndarray]:
    """Lines as strings [pairs], and a mask, bool [pairs], of those that are UTF-8; of others the string is empty."""
    column = pa.array(lines, pa.binary())
    try:
        return column.cast(pa.string()), np.ones(len(lines), bool)
    except pa.ArrowInvalid:
        is_text = np.array([_is_utf8(line) for line in lines], bool)
        return pa.array([line if good else b"" for line, good in zip(lines, is_text, strict=True)]).cast(
            pa.string()
        ), is_text


def outcomes(source: pa.Array, target: pa.Array, is_text: np.ndarray, configuration: FilterConfiguration) -> np.ndarray:
    """For each pair an index into REASONS: 0, or the first reason to drop it, other than that it is a duplicate.

    Args:
        source, target: strings [pairs].
        is_text: bool [pairs], whether both sides were UTF-8.
        configuration: a `FilterConfiguration`.

    Returns:
        int8 [pairs].

    Raises:
        UserError: Unicode has no such script.
    """
    sides = [pc.replace_substring_regex(side, _WHITE_SPACE, "") for side in (source, target)]
    lengths = [_array(pc.utf8_length(side)) for side in sides]
    words = [pc.replace_substring_regex(side, _NO_LETTERS, "") for side in sides]
    letters = [_array(pc.utf8_length(side)) for side in words]
    shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
    few_letters = [
        found < configuration.minimum_letters * length for found, length in zip(letters, lengths, strict=True)
    ]
    unfit = [_array(pc.match_substring_regex(side, _UNFIT)) for side in sides]
    scripts = configuration.source_script, configuration.target_script
    foreign = [_in_another_script(side, script) for side, script in zip(words, scripts, strict=True)]
    dropped = {
        "encoding": ~is_text,
        "empty": shorter == 0,
        "length": longer > configuration.maximum_characters,
        "ratio": (longer > _RATIO_FREE_CHARACTERS) & (longer > configuration.maximum_character_ratio * shorter),
        "identical": np.full(len(source), configuration.drop_identical) & _array(pc.equal(*sides)),
        "characters": np.logical_or.reduce([*few_letters, *unfit]),
        "script": np.logical_or(*foreign),
    }
    found = np.zeros(len(source), np.int8)
    for reason in reversed(dropped):
        found[dropped[reason]] = _NUMBER[reason]
    return found


def check_script(name: str | None) -> None:
    """Raise `UserError` unless Unicode has a script of this name."""
    if name is None:
        return
    try:
        if not re.fullmatch("(?!Any$)(Yi|[A-Z][A-Za-z_]{2,})", name):  # L and Lu, say, are categories
            raise pa.ArrowInvalid(name)
        _count(pa.array(["a"]), name)
    except pa.ArrowInvalid:
        raise UserError(f"script {name!r}: Unicode has none of this name; Latin, Cyrillic, Han are some") from None


def _in_another_script(words, script):
    """Of which strings of letters and marks at least half are of another script, bool [pairs]."""
    if script is None:
        return np.zeros(len(words), bool)
    words = pc.replace_substring_regex(words, r"\p{Inherited}+", "")  # marks that go with letters of several scripts
    letters = _array(pc.utf8_length(words))
    return (2 * _count(words, script) <= letters) & (letters > 0)


def _count(side, script):
    """How many characters of each string are of a script. (Counting matches takes three times as long as removing runs
    of the others.)
    """
    return _array(pc.utf8_length(pc.replace_substring_regex(side, rf"\P{{{script}}}+", "")))


def _array(column):
    return column.to_numpy(zero_copy_only=False)


def _is_utf8(line):
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
