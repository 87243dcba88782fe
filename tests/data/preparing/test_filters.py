"""Which pairs the filters drop, and why: cases counted by hand."""

import numpy as np
import pytest

from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.data.preparing.filters import REASONS, check_script, decode, outcomes
from tfnmt.errors import UserError


def reasons(pairs, **options):
    """The outcome of each pair of strings or bytes, by name."""
    sides = [
        decode([line if isinstance(line, bytes) else line.encode() for line in side])
        for side in zip(*pairs, strict=True)
    ]
    (source, source_is_text), (target, target_is_text) = sides
    found = outcomes(source, target, source_is_text & target_is_text, FilterConfiguration(**options))
    return [list(REASONS)[number] for number in found]


# 41 letters, with 10 on the other side: 41 > 4 * 10. With 40 letters the longer side is still free of the ratio.
@pytest.mark.parametrize(
    "source, target, reason",
    [
        ("A dog runs.", "Ein Hund rennt.", "kept"),
        (b"A dog \xff runs.", "Ein Hund rennt.", "encoding"),
        ("A dog runs.", " \t\u00a0", "empty"),
        ("", "", "empty"),
        ("a" * 1000, "b" * 1000, "kept"),
        ("a" * 1001, "b" * 1000, "length"),
        (" a" * 1000, "b" * 1000, "kept"),
        ("a" * 41, "b" * 10, "ratio"),
        ("a" * 41, "b" * 11, "kept"),
        ("a" * 40, "b", "kept"),
        ("Berlin , 2020", "Berlin, 2020", "identical"),
        ("12/34", "11/34 Uhr", "characters"),
        ("ab12", "cd", "kept"),
        ("abc\x07de", "abcd", "characters"),
        ("a\ufffdb", "abcd", "characters"),
        ("a\ue000b", "abcd", "characters"),
    ],
)
def test_a_pair_is_dropped_for_the_first_reason_that_applies(source, target, reason):
    assert reasons([(source, target)]) == [reason]


def test_half_the_letters_in_another_script():
    pairs = [("Это собака", "A dog"), ("Это dog и cat собака", "A dog"), ("Да ok", "Yes"), ("A dog", "Это собака")]
    assert reasons(pairs, source_script="Cyrillic", target_script="Latin") == ["kept", "kept", "script", "script"]
    assert reasons(pairs) == ["kept"] * 4


@pytest.mark.parametrize(
    "text, script",
    [
        ("कि की कु कू के", "Devanagari"),
        ("ကို မြို့ သို့ပြီး", "Myanmar"),
        ("தமிழில் எழுதிய கேள்வி", "Tamil"),
        ("بِسْمِ ٱللَّهِ", "Arabic"),  # with vowel signs, which Unicode counts to no script
        ("e\u0302\u0301 o\u0302\u0309 a\u0306\u0301", "Latin"),  # with accents written apart
    ],
)
def test_marks_count_as_letters(text, script):
    assert reasons([(text, "A dog")], minimum_letters=1.0) == ["kept"]
    assert reasons([(text, "A dog")], source_script=script, target_script="Latin") == ["kept"]
    assert reasons([(text, "A dog")], source_script="Cyrillic") == ["script"]


def test_pairs_do_not_influence_one_another():
    pairs = [("A dog", "A dog"), ("a" * 2000, "b" * 2000), ("A dog runs", "Ein Hund rennt"), (b"\xff", "b")]
    expected = ["identical", "length", "kept", "encoding"]
    assert reasons(pairs) == expected
    assert [reasons([pair])[0] for pair in pairs] == expected
    assert reasons(pairs, drop_identical=False)[0] == "kept"


def test_lines_that_are_no_text_are_empty_and_the_others_stay():
    text, is_text = decode([b"a", b"\xc3", "ü".encode()])
    assert text.to_pylist() == ["a", "", "ü"]
    np.testing.assert_array_equal(is_text, [True, False, True])


def test_a_script_that_unicode_has_not():
    check_script("Han")
    check_script(None)
    check_script("Yi")
    for name in ("German", "", "L", "Lu", "Any"):
        with pytest.raises(UserError, match=f"script '{name}': Unicode has none"):
            check_script(name)
