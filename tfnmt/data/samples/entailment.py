"""Pairs of sentences about small scenes, with their trees, and whether one entails the other.

A sentence describes somebody who does something, perhaps somewhere: `( ( a man ) ( ( is running ) outside ) )`. It
entails a sentence that says nothing more, contradicts one that cannot be true at the same time, and is neutral to all
others. As in SNLI, both sentences are about the same person or animal at the same moment.
"""

import random
from typing import NamedTuple

# Word -> the more general word that it implies. Two words are incompatible unless one implies the other.
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
    """What a sentence describes."""

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
    """ENTAILMENT, NEUTRAL or CONTRADICTION."""
    relations = (
        _word_relation(premise.subject, hypothesis.subject, SUBJECTS),
        _word_relation(premise.action, hypothesis.action, ACTIONS),
        _adjective_relation(premise.adjective, hypothesis.adjective),
        _word_relation(premise.place, hypothesis.place, PLACES),
    )
    for found in (CONTRADICTION, NEUTRAL):
        if found in relations:
            return found
    return ENTAILMENT


def draw(rng: random.Random, label: str) -> tuple[Scene, Scene]:
    """A random pair of premise and hypothesis with this relation."""
    while True:
        premise = _draw_scene(rng)
        hypothesis = Scene(
            _nearby(rng, premise.subject, SUBJECTS),
            _nearby(rng, premise.action, ACTIONS),
            rng.choice((None, premise.adjective, rng.choice(ADJECTIVES))),
            rng.choice((None, premise.place, rng.choice(list(PLACES)))),
        )
        if premise != hypothesis and relation(premise, hypothesis) == label:
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


def _word_relation(premise: str | None, hypothesis: str | None, words: dict[str, str | None]) -> str:
    if hypothesis is None or hypothesis in _implied(premise, words):
        return ENTAILMENT
    return NEUTRAL if premise is None or premise in _implied(hypothesis, words) else CONTRADICTION


def _adjective_relation(premise: str | None, hypothesis: str | None) -> str:
    """Adjectives are incompatible with each other."""
    if hypothesis in (None, premise):
        return ENTAILMENT
    return NEUTRAL if premise is None else CONTRADICTION
