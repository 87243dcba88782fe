"""A small English-German corpus of the project's own, from a seeded grammar: the default data of the commands.

About a hundred English words and their inflections make sentences with agreement, German gender and case, and
German word order: verb second, verb last in a subordinate clause, separable verbs, participles and
infinitives at the end. One English sentence has exactly one German translation. sample_grammar.py builds the
sentences; here they are drawn.

The hold-out is compositional: some pairs of adjective and noun, and of verb and object, occur only in the
test set, though each of their words is in the training sentences with other partners.
"""

import functools
import random
import re
import zlib
from pathlib import Path

from tfnmt.data.samples.grammar import (
    MODALS,
    TENSES,
    Clause,
    Phrase,
    Sentence,
    be_clause,
    because,
    fronted,
    if_clause,
    noun_phrase,
    object_pronoun,
    prepositional,
    statement,
    subject_pronoun,
    that_clause,
    time_phrase,
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

TRAIN_SIZE, DEV_SIZE, TEST_SIZE = 6000, 300, 500  # sentence pairs that write_sample writes
SHORTEST, LONGEST = 4, 14  # English words in a sentence
TENSE_WEIGHTS = {"present": 5, "perfect": 3}  # against 1 of every modal verb
DEV_SHARE = 16  # one in so many sentences without a held-out pair belongs to the dev set


def sample_pairs(count: int, seed: int, split: str) -> list[tuple[str, str]]:
    """`count` different pairs (English, German) of a split: "train", "dev" or "test".

    With one seed, no two splits share a sentence: "test" has the sentences with a held-out pair of words, a
    stable hash of the English sentence parts the rest into "train" and "dev". Every word form of "test" is in
    the first TRAIN_SIZE pairs of "train". The seed chooses the held-out pairs too, so the test set of another
    seed is not a hold-out of this one's training set.

    Raises ValueError for another split.
    """
    if split not in ("train", "dev", "test"):
        raise ValueError(f"split is {split!r}; it must be 'train', 'dev' or 'test'")
    held_out = held_out_pairs(seed)
    known = words_of(sample_pairs(TRAIN_SIZE, seed, "train")) if split == "test" else set()
    rng = random.Random(f"{split} {seed}")
    pairs = {}
    while len(pairs) < count:
        drawn = draw_sentence(rng)
        pair = (drawn.english, drawn.german)
        if not SHORTEST <= len(drawn.english.split()) <= LONGEST or split_of(drawn, held_out) != split:
            continue
        if split != "test" or words_of([pair]) <= known:
            pairs[drawn.english] = drawn.german
    return list(pairs.items())


def words_of(pairs: list[tuple[str, str]]) -> set[str]:
    """The word forms of both languages, as written."""
    return set(re.findall(r"\w+", " ".join(line for pair in pairs for line in pair)))


def write_sample(directory: str | Path, seed: int = 0) -> dict[str, Path]:
    """Writes train.en, train.de, dev.en, dev.de, test.en and test.de, a sentence a line; returns their paths.

    The dictionary's keys are the files' names."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for split, count in (("train", TRAIN_SIZE), ("dev", DEV_SIZE), ("test", TEST_SIZE)):
        english, german = zip(*sample_pairs(count, seed, split), strict=True)
        for language, lines in (("en", english), ("de", german)):
            path = paths[f"{split}.{language}"] = directory / f"{split}.{language}"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


# The hold-out


def held_out_pairs(seed: int) -> frozenset[tuple[str, str]]:
    """The combinations of the test set, as English words: (adjective, noun) and (verb, noun as its object).

    Every noun gives up one adjective and one verb; the nouns of a kind take turns over the adjectives and
    verbs that go with it, so that none is left without partners."""
    rng = random.Random(f"hold-out {seed}")
    pairs = set()
    for kind in ANYTHING:
        nouns = [noun.english for noun in nouns_of((kind,))]
        adjectives = [adjective.english for adjective in ADJECTIVES if kind in adjective.kinds]
        verbs = [verb.english for verb in VERBS if kind in verb.objects]
        for partners in (adjectives, verbs):
            rng.shuffle(partners)
            pairs.update((partners[index % len(partners)], noun) for index, noun in enumerate(nouns))
    return frozenset(pairs)


def split_of(drawn: Sentence, held_out: frozenset[tuple[str, str]]) -> str:
    """Whether a sentence is for "train", "dev" or "test": the last where it says a pair of words that is held out."""
    if not held_out.isdisjoint(drawn.pairs):
        return "test"
    return "dev" if zlib.crc32(drawn.english.encode()) % DEV_SHARE == 0 else "train"


# Drawing


def draw_sentence(rng: random.Random) -> Sentence:
    """Any sentence of the corpus, statements most often."""
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
    return prepositional(preposition, draw_partner(rng, kinds, case, subject))


def draw_partner(rng: random.Random, kinds: tuple[str, ...], case: str, subject: Phrase, **options) -> Phrase:
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
