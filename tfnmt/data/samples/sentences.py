"""Draws the sentences of the sample corpus, with words that go together (lexicon.py says which)."""

import functools
import random
from typing import Any

from tfnmt.data.samples.clauses import (
    MODALS,
    TENSES,
    Clause,
    Sentence,
    be_clause,
    because,
    fronted,
    if_clause,
    statement,
    that_clause,
    verb_clause,
    yes_no_question,
)
from tfnmt.data.samples.lexicon import (
    ADJECTIVES,
    ANIMATE,
    ANYTHING,
    CLAUSE_VERBS,
    GOODS,
    NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    TIMES,
    VERBS,
    Adjective,
    Noun,
    Verb,
)
from tfnmt.data.samples.phrases import (
    Phrase,
    noun_phrase,
    object_pronoun,
    prepositional,
    subject_pronoun,
    time_phrase,
)

TENSE_WEIGHTS = {"present": 5, "perfect": 3}
"""How often a tense is drawn, relative to each modal verb."""


def draw_sentence(rng: random.Random) -> Sentence:
    """A random sentence; statements are most frequent."""
    form = rng.choices(("statement", "fronted", "question", "that", "because", "if"), (8, 4, 3, 2, 2, 2))[0]
    if form == "statement":
        return statement(draw_clause(rng))
    if form == "fronted":
        return draw_fronted(rng)
    if form == "question":
        # Not in the present: it would put every German verb first, capitalised, too rarely to be learnt.
        return yes_no_question(draw_clause(rng, ("perfect", *MODALS), question=True))
    if form == "that":
        return that_clause(draw_subject(rng, ("person",)), rng.choice(CLAUSE_VERBS), draw_clause(rng))
    if form == "because":
        return because(draw_clause(rng), draw_clause(rng))
    condition = draw_clause(rng, ("present", "perfect", "can", "want"))
    return if_clause(condition, draw_clause(rng, ("present", "can", "must", "will")))


def draw_fronted(rng: random.Random) -> Sentence:
    """A time or a place stands first."""
    verb = rng.choice(VERBS)
    if "in" in verb.complements and rng.random() < 0.4:
        place = draw_prepositional(rng, "in")
        return fronted(place, draw_verb_clause(rng, verb, draw_tense(rng, TENSES), adverbials=False))
    time = rng.choice(list(TIMES))
    return fronted(time_phrase(time), draw_verb_clause(rng, verb, draw_tense(rng, TIMES[time][1]), adverbials=False))


def draw_clause(rng: random.Random, tenses: tuple[str, ...] = TENSES, question: bool = False) -> Clause:
    """A clause with any verb, to be among them, in one of the tenses that this one has."""
    if rng.random() < 0.15:
        return draw_be_clause(rng, question)
    return draw_verb_clause(rng, rng.choice(VERBS), draw_tense(rng, tenses), question)


def draw_tense(rng: random.Random, tenses: tuple[str, ...]) -> str:
    """One of the tenses, as often as `TENSE_WEIGHTS` says."""
    return rng.choices(tenses, [TENSE_WEIGHTS.get(tense, 1) for tense in tenses])[0]


def draw_verb_clause(
    rng: random.Random, verb: Verb, tense: str, question: bool = False, adverbials: bool = True
) -> Clause:
    """A clause with this verb and whatever goes with it. `adverbials`: whether it may say where, with whom and when."""
    subject = draw_subject(rng, verb.subjects)
    # Not with "must": its negation is another verb, nicht dürfen.
    negated = not question and tense != "must" and rng.random() < 0.2
    objects = draw_objects(rng, verb, subject, negated)
    if negated and any(phrase.noun for phrase in objects):
        adverbials = False  # Beside them, German leaves a choice where "nicht" stands.
    complement = time = None
    if adverbials and verb.complements and rng.random() < 0.4:
        complement = draw_prepositional(rng, rng.choice(verb.complements), subject)
    if adverbials and rng.random() < 0.15:
        time = time_phrase(rng.choice([name for name, (_, tenses) in TIMES.items() if tense in tenses]))
    return verb_clause(subject, verb, objects, tense, negated, question, complement, time)


def draw_be_clause(rng: random.Random, question: bool) -> Clause:
    """Something is somewhere, or somehow; never negated in a question."""
    negated = not question and rng.random() < 0.2
    if rng.random() < 0.5:
        subject = draw_noun_phrase(rng, (*ANIMATE, *GOODS, "opening"), bare=False)
        time = time_phrase("today") if rng.random() < 0.2 else None
        return be_clause(subject, draw_prepositional(rng, "in"), negated, time)
    subject = draw_noun_phrase(rng, ANYTHING, bare=False)
    assert subject.noun is not None
    return be_clause(subject, draw_adjective(rng, subject.noun, subject.pairs), negated)


def draw_subject(rng: random.Random, kinds: tuple[str, ...]) -> Phrase:
    """A pronoun, or a noun of one of the kinds."""
    if rng.random() < 0.3:
        # "I" is worth three: only there do the German verbs have their first-person forms.
        return subject_pronoun(rng.choice(("I", "I", "I", "he", "she", "we", "they")))
    return draw_noun_phrase(rng, kinds)


def draw_objects(rng: random.Random, verb: Verb, subject: Phrase, negated: bool) -> tuple[Phrase, ...]:
    """What the verb takes: nothing, an object, or somebody who receives it and the object."""
    if not verb.objects:
        return ()
    if verb.recipient:
        recipient = draw_partner(rng, ("person",), "dative", subject, determiners=("the", "my"))
        # Never in the plural without an article: "shows her dogs" would have two meanings.
        return recipient, draw_noun_phrase(rng, verb.objects, "accusative", negated=negated, bare=False)
    if "person" in verb.objects:
        return (draw_partner(rng, verb.objects, verb.object_case, subject, negated=negated),)
    return (draw_noun_phrase(rng, verb.objects, verb.object_case, negated=negated),)


def draw_prepositional(rng: random.Random, preposition: str, subject: Phrase | None = None) -> Phrase:
    """A preposition and what follows it: with "in" a place, otherwise somebody other than the subject."""
    _, case, kinds = PREPOSITIONS[preposition]
    if preposition == "in":
        return prepositional(preposition, draw_noun_phrase(rng, kinds, case, bare=False))
    assert subject is not None
    return prepositional(preposition, draw_partner(rng, kinds, case, subject))


def draw_partner(rng: random.Random, kinds: tuple[str, ...], case: str, subject: Phrase, **options: Any) -> Phrase:
    """Somebody other than the subject, as noun or pronoun; never "I see me"."""
    if rng.random() < 0.25:
        first_person = subject.english in ("I", "we")
        return object_pronoun(rng.choice(("he", "she", "they") if first_person else list(PRONOUNS)), case)
    while True:
        phrase = draw_noun_phrase(rng, kinds, case, **options)
        if phrase.noun is not subject.noun:
            return phrase


def draw_noun_phrase(
    rng: random.Random,
    kinds: tuple[str, ...],
    case: str = "nominative",
    determiners: tuple[str, ...] = ("the", "the", "a", "a", "my"),
    negated: bool = False,
    bare: bool = True,
) -> Phrase:
    """`bare`: whether a plural may stand without an article."""
    noun = rng.choice(nouns_of(kinds))
    determiner = rng.choice(determiners)
    plural = rng.random() < 0.3 and (bare or determiner != "a")
    adjective = draw_adjective(rng, noun) if rng.random() < 0.5 else None
    return noun_phrase(noun, case, determiner, adjective, plural, negated)


@functools.cache
def nouns_of(kinds: tuple[str, ...]) -> list[Noun]:
    """All nouns of these kinds."""
    return [noun for noun in NOUNS if noun.kind in kinds]


def draw_adjective(rng: random.Random, noun: Noun, but: tuple[tuple[str, str], ...] = ()) -> Adjective:
    """`but`: pairs of adjective and noun that are said already."""
    fitting = [word for word in ADJECTIVES if noun.kind in word.kinds and (word.english, noun.english) not in but]
    return rng.choice(fitting)
