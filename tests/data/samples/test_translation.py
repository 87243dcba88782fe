"""The sample corpus: reproducible, with disjoint splits and a compositional test set."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tfnmt
from tfnmt.data.samples import lexicon
from tfnmt.data.samples import translation as sample
from tfnmt.data.samples.sentences import draw_sentence

SPLITS = ("train", "dev", "test")
NOUNS = {noun.english: noun for noun in lexicon.NOUNS}
ADJECTIVES = {adjective.english: adjective for adjective in lexicon.ADJECTIVES}
VERBS = {verb.english: verb for verb in lexicon.VERBS}


@pytest.fixture(scope="module")
def corpus():
    return {
        "train": sample.sample_pairs(sample.TRAIN_SIZE, 0, "train"),
        "dev": sample.sample_pairs(sample.DEV_SIZE, 0, "dev"),
        "test": sample.sample_pairs(sample.TEST_SIZE, 0, "test"),
    }


def test_sizes_lengths_and_marks(corpus):
    assert [len(corpus[split]) for split in SPLITS] == [sample.TRAIN_SIZE, sample.DEV_SIZE, sample.TEST_SIZE]
    for pairs in corpus.values():
        for english, german in pairs:
            assert sample.SHORTEST <= len(english.split()) <= sample.LONGEST
            assert re.fullmatch(r"[A-Z][A-Za-z ,]+[.?]", english)
            assert re.fullmatch(r"[A-ZÄÖÜ][A-Za-zÄÖÜäöüß ,]+[.?]", german)
            assert english[-1] == german[-1] and "  " not in english + german


def test_splits_are_disjoint(corpus):
    english = {split: {source for source, _ in pairs} for split, pairs in corpus.items()}
    assert all(len(english[split]) == len(corpus[split]) for split in SPLITS)
    assert english["train"].isdisjoint(english["dev"])
    assert english["test"].isdisjoint(english["train"] | english["dev"])


def test_one_english_sentence_has_one_german_translation():
    seen = {}
    rng = random.Random(7)
    for _ in range(20000):
        sentence = draw_sentence(rng)
        assert seen.setdefault(sentence.english, sentence.german) == sentence.german


def held_out_patterns():
    """A regular expression of English text for every held-out pair, not asking the grammar."""
    adjectives = "|".join(ADJECTIVES)
    recipients = r"me|him|her|us|them|(?:the|my)(?: \w+)? \w+"
    for first, noun in sorted(sample.held_out_pairs(0)):
        nouns = f"(?:{noun}|{NOUNS[noun].english_plural})"
        if first in ADJECTIVES:
            predicate = rf"\b{nouns} (?:is|are) (?:not )?{first}\b"
            question = rf"^(?:is|are) .*\b{nouns} {first}\b"
            yield rf"\b{first} {nouns}\b|{predicate}|{question}"
        else:
            verb = VERBS[first]
            forms = f"(?:{verb.english}|{verb.third}|{verb.participle})"
            recipient = rf"(?:(?:{recipients}) )?" if verb.recipient else ""
            yield rf"\b{forms} {recipient}(?:(?:the|an?|my) )?(?:(?:{adjectives}) )?{nouns}\b"


def test_held_out_pairs_are_in_no_training_or_dev_sentence(corpus):
    text = "\n".join(english.lower() for split in ("train", "dev") for english, _ in corpus[split])
    for pattern in held_out_patterns():
        assert not re.search(pattern, text, re.MULTILINE), pattern


def test_every_test_sentence_has_a_held_out_pair(corpus):
    pattern = re.compile("|".join(held_out_patterns()))
    assert all(pattern.search(english.lower()) for english, _ in corpus["test"])


def test_most_held_out_pairs_are_tested(corpus):
    text = "\n".join(english.lower() for english, _ in corpus["test"])
    missing = [pattern for pattern in held_out_patterns() if not re.search(pattern, text, re.MULTILINE)]
    assert len(missing) <= len(sample.held_out_pairs(0)) // 10


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_word_of_the_hold_out_is_in_training(seed):
    train = sample.sample_pairs(sample.TRAIN_SIZE, seed, "train")
    test = sample.sample_pairs(sample.TEST_SIZE, seed, "test")
    for side in (0, 1):
        known = {word for pair in train for word in re.findall(r"\w+", pair[side])}
        assert {word for pair in test for word in re.findall(r"\w+", pair[side])} <= known


def test_every_noun_gives_up_one_adjective_and_one_verb():
    for seed in range(20):
        held_out = sample.held_out_pairs(seed)
        for noun in lexicon.NOUNS:
            adjectives = {word.english for word in lexicon.ADJECTIVES if noun.kind in word.kinds}
            verbs = {verb.english for verb in lexicon.VERBS if noun.kind in verb.objects}
            lost = {first for first, second in held_out if second == noun.english}
            assert len(lost & adjectives) == 1 and len(lost & verbs) == 1
            assert len(adjectives) >= 4 and len(verbs) >= 3


def test_the_seed_alone_decides():
    assert sample.sample_pairs(50, 3, "train") == sample.sample_pairs(80, 3, "train")[:50]
    assert sample.sample_pairs(50, 3, "train") != sample.sample_pairs(50, 4, "train")
    assert sample.held_out_pairs(3) != sample.held_out_pairs(4)


def test_hash_randomization_changes_nothing():
    program = "from tfnmt.data.samples.translation import sample_pairs; print(ascii(sample_pairs(40, 0, 'test')))"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=Path(tfnmt.__file__).parents[1],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].decode().strip() == ascii(sample.sample_pairs(40, 0, "test"))


def test_write_sample(tmp_path, corpus):
    paths = sample.write_sample(tmp_path / "new" / "corpus")
    assert sorted(path.name for path in paths.values()) == sorted(paths)
    for split in SPLITS:
        english = paths[f"{split}.en"].read_text(encoding="utf-8").splitlines()
        german = paths[f"{split}.de"].read_text(encoding="utf-8").splitlines()
        assert list(zip(english, german, strict=True)) == corpus[split]


def test_unknown_split():
    with pytest.raises(ValueError, match="'valid'"):
        sample.sample_pairs(1, 0, "valid")
