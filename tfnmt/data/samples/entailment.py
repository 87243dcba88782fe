"""Pairs of sentences in a small world where it is known what follows from what, with their trees.

A sentence tells that somebody does something, perhaps somewhere: `( ( a ( small dog ) ) ( ( is running ) outside ) )`.
It entails another that says no more; it contradicts one that says what excludes it; else the pair is neutral. As in
SNLI, both sentences are about the same moment and the same somebody.
"""

import random
from typing import NamedTuple

# Word -> the more general word that it implies. Words exclude each other unless one implies the other.
SUBJECTS = {
    "animal": None,
    "dog": "animal",
    "cat": "animal",
    "person": None,
    "woman": "person",
    "man": "person",
}
ACTIONS = {
    "moving": None,
    "running": "moving",
    "walking": "moving",
    "resting": None,
    "sleeping": "resting",
    "sitting": "resting",
}
PLACES = {
    "outside": None,
    "( in ( a park ) )": "outside",
    "inside": None,
    "( in ( a kitchen ) )": "inside",
}
ADJECTIVES = ("small", "big")
ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"


class Scene(NamedTuple):
    """What a sentence tells."""

    subject: str
    action: str
    adjective: str | None = None
    place: str | None = None

    def to_brackets(self) -> str:
        noun = f"( {self.adjective} {self.subject} )" if self.adjective else self.subject
        article = "an" if noun[0] in "aeiou" else "a"
        predicate = f"( is {self.action} )"
        if self.place:
            predicate = f"( {predicate} {self.place} )"
        return f"( ( {article} {noun} ) {predicate} )"


def relation(premise: Scene, hypothesis: Scene) -> str:
    """Which of the three holds."""
    parts = (
        _of_words(premise.subject, hypothesis.subject, SUBJECTS),
        _of_words(premise.action, hypothesis.action, ACTIONS),
        _of_adjectives(premise.adjective, hypothesis.adjective),
        _of_words(premise.place, hypothesis.place, PLACES),
    )
    for found in (CONTRADICTION, NEUTRAL):
        if found in parts:
            return found
    return ENTAILMENT


def draw(rng: random.Random, relation_wanted: str) -> tuple[Scene, Scene]:
    """A random pair, premise and hypothesis, of that relation."""
    while True:
        premise = _draw_scene(rng)
        hypothesis = Scene(
            _nearby(rng, premise.subject, SUBJECTS),
            _nearby(rng, premise.action, ACTIONS),
            rng.choice((None, premise.adjective, rng.choice(ADJECTIVES))),
            rng.choice((None, premise.place, rng.choice(list(PLACES)))),
        )
        if premise != hypothesis and relation(premise, hypothesis) == relation_wanted:
            return premise, hypothesis


def _draw_scene(rng: random.Random) -> Scene:
    adjective = rng.choice(ADJECTIVES) if rng.random() < 0.5 else None
    place = rng.choice(list(PLACES)) if rng.random() < 0.6 else None
    return Scene(rng.choice(list(SUBJECTS)), rng.choice(list(ACTIONS)), adjective, place)


def _nearby(rng: random.Random, word: str, words: dict[str, str | None]) -> str:
    """The word itself, what it implies, or any."""
    return rng.choice((word, rng.choice(_implied(word, words)), rng.choice(list(words))))


def _implied(word: str | None, words: dict[str, str | None]) -> list[str]:
    implied = []
    while word is not None:
        implied.append(word)
        word = words[word]
    return implied


def _of_words(premise: str | None, hypothesis: str | None, words: dict[str, str | None]) -> str:
    if hypothesis is None or hypothesis in _implied(premise, words):
        return ENTAILMENT
    return NEUTRAL if premise is None or premise in _implied(hypothesis, words) else CONTRADICTION


def _of_adjectives(premise: str | None, hypothesis: str | None) -> str:
    """They exclude each other."""
    if hypothesis in (None, premise):
        return ENTAILMENT
    return NEUTRAL if premise is None else CONTRADICTION
