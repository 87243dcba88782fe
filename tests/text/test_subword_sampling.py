"""Drawn subwords, and the sample of lines that subwords are learned from, against what must come out by hand."""

import math
import random
from collections import Counter

import pytest
from sentencepiece import sentencepiece_model_pb2

from tfnmt.text import subword_training
from tfnmt.text.subword import SubwordTokenizer
from tfnmt.text.subword_sampling import SubwordSampler
from tfnmt.text.subword_training import _sample
from tfnmt.text.tokenizer import UNKNOWN
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import make_tokenizers

TEXT = ["the lowest and the newest", "a wider river", "lower lows, newer news"]
ODD = ["", " ", "wow ☃☃ w☃ ☃", "▁▁ a▁b", "<s> <unk>", "low\u3000lows"]


def model_of(pieces, kind="UNIGRAM"):
    """A SentencePiece model with these pieces and scores, from the fourth id on."""
    model = sentencepiece_model_pb2.ModelProto()
    specials = (("<pad>", "CONTROL"), ("<unk>", "UNKNOWN"), ("<s>", "CONTROL"), ("</s>", "CONTROL"))
    for name, type_ in specials:
        model.pieces.add(piece=name, type=model.SentencePiece.Type.Value(type_))
    for piece, score in pieces.items():
        model.pieces.add(piece=piece, score=score)
    spec = model.trainer_spec
    spec.model_type = spec.ModelType.Value(kind)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = range(4)
    return model.SerializeToString()


def frequencies(sampler, text, pieces, draws=20_000):
    """How often each segmentation is drawn."""
    names, rng = ["", "", "", "", *pieces], random.Random(3)
    drawn = Counter(" ".join(names[i] for i in sampler.draw(text, rng)) for _ in range(draws))
    return {pieces: count / draws for pieces, count in drawn.items()}


def test_unigram_segmentations_have_their_probability_to_the_power_of_alpha():
    p = {"▁": 0.1, "a": 0.2, "b": 0.1, "▁a": 0.2, "ab": 0.3, "▁ab": 0.1}
    sampler = SubwordSampler(model_of({piece: math.log(value) for piece, value in p.items()}), alpha=0.5)
    weights = {
        "▁ a b": (0.1 * 0.2 * 0.1) ** 0.5,
        "▁a b": (0.2 * 0.1) ** 0.5,
        "▁ ab": (0.1 * 0.3) ** 0.5,
        "▁ab": 0.1**0.5,
    }
    expected = {pieces: weight / sum(weights.values()) for pieces, weight in weights.items()}
    assert frequencies(sampler, "ab", p) == pytest.approx(expected, abs=0.01)


def test_of_all_merges_each_is_left_out_with_probability_alpha():
    """▁ a b, where a b is a better merge than ▁ a, and both lead to ▁ab."""
    pieces, left_out = {"ab": -1.0, "▁ab": -2.0, "▁a": -3.0, "▁": -4.0, "a": -5.0, "b": -6.0}, 0.3
    sampler, kept = SubwordSampler(model_of(pieces, "BPE"), left_out), 1 - left_out
    expected = {
        "▁ab": kept * kept + left_out * kept * kept,
        "▁ ab": kept * left_out,
        "▁a b": left_out * kept * left_out,
        "▁ a b": left_out * left_out,
    }
    assert frequencies(sampler, "ab", pieces) == pytest.approx(expected, abs=0.01)


def test_with_no_merge_left_out_they_are_those_of_sentencepiece():
    tokenizer = SubwordTokenizer.train(TEXT, 40, "bpe")
    sampler = SubwordSampler(tokenizer.model, 0.0)
    for text in TEXT + ODD:
        assert sampler.draw(text, random.Random(1)) == tokenizer.encode([text]).to_list()[0], text


def test_the_most_probable_segmentation_is_that_of_sentencepiece():
    tokenizer = SubwordTokenizer.train(TEXT, 24, "unigram")
    sampler = SubwordSampler(tokenizer.model, 1000.0)
    for text in TEXT + ODD:
        assert sampler.draw(text, random.Random(1)) == tokenizer.encode([text]).to_list()[0], text


def test_with_all_merges_left_out_characters_remain():
    tokenizer = SubwordTokenizer.train(TEXT, 40, "bpe")
    ids = SubwordSampler(tokenizer.model, 1.0).draw("lower ☃☃", random.Random(1))
    assert tokenizer.ids_to_tokens(ids).numpy().tolist() == [*map(str.encode, "▁lower▁"), b"<unk>"]
    assert ids[-1] == UNKNOWN


def test_long_words_do_not_underflow():
    sampler = SubwordSampler(model_of({"▁": -20.0, "x": -20.0, "xx": -41.0}), 1.0)
    assert sum(map(len, (["▁", "x", "xx"][i - 4] for i in sampler.draw("x" * 2000, random.Random(1))))) == 2001


def test_a_sample_has_every_line_with_the_same_probability():
    counts = Counter(line for seed in range(3000) for line in _sample(iter(range(20)), 5, seed))
    assert [counts[line] / 3000 for line in range(20)] == pytest.approx([0.25] * 20, abs=0.03)
    assert _sample(iter(range(20)), 20, 1) == list(range(20))


def test_subwords_of_a_large_corpus_are_learned_from_a_sample_that_the_seed_decides(monkeypatch):
    monkeypatch.setattr(subword_training, "_LARGEST_SAMPLE", 3)
    lines = [f"{letter * 3} {letter * 2}" for letter in "abcdefghij"]
    first, again, other = (SubwordTokenizer.train(lines, 12, "bpe", seed=seed).model for seed in (1, 1, 2))
    assert first == again != other


def test_the_seed_of_a_run_decides_it_too(monkeypatch):
    monkeypatch.setattr(subword_training, "_LARGEST_SAMPLE", 3)
    lines = [f"{letter * 3} {letter * 2}" for letter in "abcdefghij"]
    c = TextConfiguration(tokenizer="bpe", vocabulary_size=12, joint_vocabulary=False)
    first, again, other = (make_tokenizers(c, iter(lines), iter(lines), seed)[1].model for seed in (1, 1, 2))
    assert first == again != other
