"""A small English-German corpus from a seeded grammar, the default data of the commands.

About a hundred English words and their inflections make sentences with agreement, German gender and case, and German
word order: verb second, verb last in a subordinate clause, separable verbs, participles and infinitives at the end. An
English sentence has exactly one German translation.

The test set measures compositional generalization: some pairs of adjective and noun, and of verb and object, occur only
in the test set, though the training sentences have each of their words with other partners.
"""

import random
import re
import zlib
from pathlib import Path

from tfnmt.data.samples.clauses import Sentence
from tfnmt.data.samples.lexicon import ADJECTIVES, ANYTHING, VERBS
from tfnmt.data.samples.sentences import draw_sentence, nouns_of

TRAIN_SIZE, DEV_SIZE, TEST_SIZE = 6000, 300, 500
"""Sentence pairs that `write_sample` writes."""
SHORTEST, LONGEST = 4, 14
"""English words in a sentence."""
DEV_FRACTION = 16
"""One in 16 sentences without a held-out pair belongs to the dev set."""


def sample_pairs(count: int, seed: int, split: str) -> list[tuple[str, str]]:
    """Different pairs (English, German) of a split.

    Splits with the same seed share no English sentence: "test" has those with a held-out pair of words, and a stable
    hash divides the others between "train" and "dev". Every word form of "test" is in the first TRAIN_SIZE pairs of
    "train". The held-out pairs too depend on the seed, so a test set belongs to the training set of the same seed.

    Args:
        count: number of pairs.
        seed: of the held-out pairs and the sentences.
        split: "train", "dev" or "test".

    Raises:
        ValueError: another split.
    """
    if split not in ("train", "dev", "test"):
        raise ValueError(f"split is {split!r}; it must be 'train', 'dev' or 'test'")
    held_out = held_out_pairs(seed)
    known = words_of(sample_pairs(TRAIN_SIZE, seed, "train")) if split == "test" else set()
    rng = random.Random(f"{split} {seed}")
    pairs: dict[str, str] = {}
    while len(pairs) < count:
        drawn = draw_sentence(rng)
        pair = (drawn.english, drawn.german)
        if not SHORTEST <= len(drawn.english.split()) <= LONGEST or split_of(drawn, held_out) != split:
            continue
        if split != "test" or words_of([pair]) <= known:
            pairs[drawn.english] = drawn.german
    return list(pairs.items())


def words_of(pairs: list[tuple[str, str]]) -> set[str]:
    """The word forms of both languages."""
    return set(re.findall(r"\w+", " ".join(line for pair in pairs for line in pair)))


def write_sample(directory: str | Path, seed: int = 0) -> dict[str, Path]:
    """Writes train.en, train.de, dev.en, dev.de, test.en and test.de, a sentence a line.

    Returns:
        Name of the file -> its path.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for split, count in (("train", TRAIN_SIZE), ("dev", DEV_SIZE), ("test", TEST_SIZE)):
        english, german = zip(*sample_pairs(count, seed, split), strict=True)
        for language, lines in (("en", english), ("de", german)):
            path = paths[f"{split}.{language}"] = directory / f"{split}.{language}"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def held_out_pairs(seed: int) -> frozenset[tuple[str, str]]:
    """The pairs of English words that only the test set has: (adjective, noun) and (verb, noun as its object).

    One adjective and one verb are held out for each noun. Nouns of a kind take turns over the adjectives and verbs that
    go with them, so that every adjective and verb keeps partners.
    """
    rng = random.Random(f"hold-out {seed}")
    pairs: set[tuple[str, str]] = set()
    for kind in ANYTHING:
        nouns = [noun.english for noun in nouns_of((kind,))]
        adjectives = [adjective.english for adjective in ADJECTIVES if kind in adjective.kinds]
        verbs = [verb.english for verb in VERBS if kind in verb.objects]
        for partners in (adjectives, verbs):
            rng.shuffle(partners)
            pairs.update((partners[index % len(partners)], noun) for index, noun in enumerate(nouns))
    return frozenset(pairs)


def split_of(drawn: Sentence, held_out: frozenset[tuple[str, str]]) -> str:
    """The split that a sentence belongs to: "test" if it has a held-out pair of words, else "train" or "dev"."""
    if not held_out.isdisjoint(drawn.pairs):
        return "test"
    return "dev" if zlib.crc32(drawn.english.encode()) % DEV_FRACTION == 0 else "train"
