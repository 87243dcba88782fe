"""Phrases of the sample corpus in English and German: nouns with their adjectives, pronouns, times and places.

A noun phrase agrees with its German gender and case: "a red ball" / "einen roten Ball". The words are in lexicon.py.
"""

from dataclasses import dataclass

from tfnmt.data.samples.lexicon import PREPOSITIONS, PRONOUNS, TIMES, Adjective, Noun

# Agreement of subject and verb, and the index of verb forms: I, he/she, we/they.
FIRST, THIRD, PLURAL = 0, 1, 2

# German declension, by case; the columns are masculine, feminine, neuter and plural.
GENDERS = ("masculine", "feminine", "neuter", "plural")
DEFINITE = {
    "nominative": ("der", "die", "das", "die"),
    "accusative": ("den", "die", "das", "die"),
    "dative": ("dem", "der", "dem", "den"),
}
EIN = {
    "nominative": ("", "e", "", "e"),
    "accusative": ("en", "e", "", "e"),
    "dative": ("em", "er", "em", "en"),
}
ADJECTIVE_AFTER_DEFINITE = {
    "nominative": ("e", "e", "e", "en"),
    "accusative": ("en", "e", "e", "en"),
    "dative": ("en", "en", "en", "en"),
}
ADJECTIVE_AFTER_EIN = {
    "nominative": ("er", "e", "es", "en"),
    "accusative": ("en", "e", "es", "en"),
    "dative": ("en", "en", "en", "en"),
}
ADJECTIVE_ALONE = {"nominative": "e", "accusative": "e", "dative": "en"}  # bare plural: rote Bälle


@dataclass(frozen=True)
class Phrase:
    """Part of a sentence in both languages."""

    english: str
    german: str
    agreement: int = THIRD
    pairs: tuple[tuple[str, str], ...] = ()  # the combinations in it that may be held out, as English words
    noun: Noun | None = None  # None for a pronoun and after a preposition
    negated: bool = False  # its German says kein


def join(*parts: str) -> str:
    """The parts with spaces between, empty ones left out."""
    return " ".join(part for part in parts if part)


def noun_phrase(
    noun: Noun,
    case: str = "nominative",
    determiner: str = "the",
    adjective: Adjective | None = None,
    plural: bool = False,
    negated: bool = False,
) -> Phrase:
    """`determiner`: "the", "my" or "a" (no article in the plural). `negated`: kein instead of ein."""
    gender = GENDERS.index("plural" if plural else noun.gender)
    negated = negated and determiner == "a"
    bare = determiner == "a" and plural
    if determiner == "the":
        article, ending = DEFINITE[case][gender], ADJECTIVE_AFTER_DEFINITE[case][gender]
    elif bare and not negated:
        article, ending = "", ADJECTIVE_ALONE[case]
    else:
        stem = "mein" if determiner == "my" else "kein" if negated else "ein"
        article, ending = stem + EIN[case][gender], ADJECTIVE_AFTER_EIN[case][gender]
    german_noun = noun.german_plural if plural else noun.german
    if plural and case == "dative" and german_noun[-1] not in "ns":
        german_noun += "n"
    if noun.weak and not plural and case != "nominative":
        german_noun = noun.german_plural
    english = join(adjective.english if adjective else "", noun.english_plural if plural else noun.english)
    if not bare:
        english = f"{'an' if determiner == 'a' and english[0] in 'aeiou' else determiner} {english}"
    return Phrase(
        english,
        join(article, adjective.stem + ending if adjective else "", german_noun),
        PLURAL if plural else THIRD,
        ((adjective.english, noun.english),) if adjective else (),
        noun,
        negated,
    )


def subject_pronoun(pronoun: str) -> Phrase:
    """ "I", "he", … / ich, er, …, in the nominative."""
    agreement = {"I": FIRST, "he": THIRD, "she": THIRD}.get(pronoun, PLURAL)
    return Phrase(pronoun, PRONOUNS[pronoun][1], agreement)


def object_pronoun(pronoun: str, case: str = "accusative") -> Phrase:
    """`pronoun` as it is called as subject, in the accusative or dative: "he" gives him / ihn or ihm."""
    english, _, accusative, dative = PRONOUNS[pronoun]
    return Phrase(english, dative if case == "dative" else accusative)


def prepositional(preposition: str, phrase: Phrase) -> Phrase:
    """`phrase` is in the case that PREPOSITIONS names. "in dem" becomes "im"."""
    german = f"{PREPOSITIONS[preposition][0]} {phrase.german}".replace("in dem ", "im ")
    return Phrase(f"{preposition} {phrase.english}", german, pairs=phrase.pairs)


def time_phrase(time: str) -> Phrase:
    """A time of `TIMES`, such as "in the evening" / am Abend."""
    return Phrase(time, TIMES[time][0])
