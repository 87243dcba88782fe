"""Short film reviews from a small grammar, with the sentiment of every phrase from 0 to 4.

`(4 (2 (2 the) (2 plot)) (4 (2 is) (4 (2 very) (3 nice))))`: a noun is neutral (2), an adjective has a sentiment, "very"
doubles it, "hardly" negates it, and a sentence with "but" has the sentiment of its right side.
"""

import random
from typing import NamedTuple

NOUNS = ("film", "plot", "cast", "music", "ending", "script", "camera", "hero")
ADJECTIVES = {
    "dreadful": -2,
    "awful": -2,
    "dull": -1,
    "clumsy": -1,
    "long": 0,
    "new": 0,
    "nice": 1,
    "funny": 1,
    "brilliant": 2,
    "superb": 2,
}


class Phrase(NamedTuple):
    """A tree with labels, and its sentiment from -2 to 2."""

    text: str
    sentiment: int


def draw(rng: random.Random) -> str:
    """A random review, as a tree with labels."""
    review = _draw_clause(rng)
    form = rng.choice(("alone", "but", "and"))
    if form == "but":
        after = _draw_clause(rng)
        review = _join(review, _join(_word("but"), after, after.sentiment), after.sentiment)
    elif form == "and":
        other = _draw_clause(rng)
        review = _join(review, _join(_word("and"), other, other.sentiment), review.sentiment + other.sentiment)
    return _join(review, _word("."), review.sentiment).text


def _draw_clause(rng: random.Random) -> Phrase:
    subject = _join(_word(rng.choice(("the", "this", "its"))), _word(rng.choice(NOUNS)), 0)
    said = _draw_adjective_phrase(rng)
    return _join(subject, _join(_word("is"), said, said.sentiment), said.sentiment)


def _draw_adjective_phrase(rng: random.Random) -> Phrase:
    adjective = rng.choice(list(ADJECTIVES))
    phrase = _word(adjective, ADJECTIVES[adjective])
    if rng.random() < 0.4:
        phrase = _join(_word("very"), phrase, 2 * phrase.sentiment)
    if rng.random() < 0.3:
        phrase = _join(_word("hardly"), phrase, -phrase.sentiment)
    return phrase


def _word(word: str, sentiment: int = 0) -> Phrase:
    return Phrase(f"({sentiment + 2} {word})", sentiment)


def _join(left: Phrase, right: Phrase, sentiment: int) -> Phrase:
    sentiment = max(-2, min(2, sentiment))
    return Phrase(f"({sentiment + 2} {left.text} {right.text})", sentiment)
