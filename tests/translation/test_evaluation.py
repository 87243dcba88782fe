"""A translator's figures: against NumPy and sacrebleu by hand, and with lines that are empty or far too long."""

import json
import math

import keras
import numpy as np
import pytest
import sacrebleu

import tfnmt
from tfnmt.data import pair_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import START
from tfnmt.translation import evaluation
from tfnmt.translation.evaluation import evaluate_translator, teacher_forced_figures
from tfnmt.translation.scoring import Scorer

PAIRS = sample_pairs(20, 1, "test")
PLAIN = {"bidirectional": False, "conditional": False}  # sooner traced


@pytest.fixture(scope="module")
def model():
    """A translator with random weights: what it says is nonsense, but always the same."""
    keras.utils.set_random_seed(1)
    sizes = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")
    configuration = tfnmt.TranslatorConfiguration(**dict.fromkeys(sizes, 8), maximum_source_length=30, **PLAIN)
    sides = zip(*PAIRS, strict=True)
    return tfnmt.Translator(configuration, *(tfnmt.WordTokenizer.train(side, split_punctuation=True) for side in sides))


def write(directory, sources, targets):
    for name, lines in (("source", sources), ("target", targets)):
        (directory / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return ParallelFiles(str(directory / "source"), str(directory / "target"))


def test_figures_given_the_words_before(model, tmp_path):
    """The mean of −log p over all words and ends of sentences, whatever the batches."""
    losses, hits = [], []
    for source, target in PAIRS:
        ids = model.target_tokenizer.encode([target]).numpy()[0]
        inputs = {"source": model.source_ids([source]), "target": np.array([[START, *ids]], np.int32)}
        logits = np.array(model(inputs), np.float64)[0]
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        labels = np.array([*ids, 3])
        losses.extend(-log_p[np.arange(len(labels)), labels])
        hits.extend(logits.argmax(axis=1) == labels)
    for batch_size in (1, 7):
        figures = teacher_forced_figures(model, write(tmp_path, *zip(*PAIRS, strict=True)), batch_size)
        assert figures["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
        assert figures["perplexity"] == pytest.approx(math.exp(np.mean(losses)), rel=1e-4)
        assert figures["token_accuracy"] == pytest.approx(np.mean(hits), rel=1e-5)


def test_scores_are_those_of_sacrebleu(model, tmp_path):
    sources = [source for source, _ in PAIRS]
    references = model.translate(sources, beam_size=2)
    references[3] = references[3].upper()
    files = write(tmp_path, sources, references)
    figures, translations = evaluate_translator(model, files, beam_size=2, batch_size=6, tokenize="none")
    assert translations == model.translate(sources, beam_size=2)
    bleu = sacrebleu.BLEU(tokenize="none", force=True)
    assert figures["bleu"] == bleu.corpus_score(translations, [references]).score
    assert figures["bleu_signature"] == str(bleu.get_signature())
    assert 50 < figures["bleu"] < 100
    assert figures["chrf"] == sacrebleu.corpus_chrf(translations, [references]).score
    figures, _ = evaluate_translator(model, files, beam_size=2, lowercase=True)
    assert figures["bleu"] == pytest.approx(100) == figures["chrf"] and figures["ter"] == 0.0
    assert "case:lc" in figures["bleu_signature"] and "tok:13a" in figures["bleu_signature"]
    assert json.loads(json.dumps(figures)) == figures


def test_empty_lines_keep_their_place(model, tmp_path):
    sources = ["", *(source for source, _ in PAIRS[:3]), "", "  "]
    references = model.translate(sources, beam_size=1)
    assert references[0] == references[4] == references[5] == ""
    references[4] = "not empty"
    figures, translations = evaluate_translator(model, write(tmp_path, sources, references), beam_size=1)
    assert translations == [*references[:4], "", ""]
    assert figures["sentences"] == 6
    assert all(math.isfinite(value) for value in figures.values() if isinstance(value, float))


def test_a_target_longer_than_sources_may_be_counts_whole_as_when_it_is_scored(model, tmp_path):
    pairs = [PAIRS[0], (PAIRS[1][0], "der Hund " * 40)]  # the model reads 30 tokens of a source
    figures = teacher_forced_figures(model, write(tmp_path, *zip(*pairs, strict=True)))
    scored = Scorer(model).score(*map(list, zip(*pairs, strict=True)))
    tokens = sum(one.tokens for one in scored)
    assert tokens > 80
    assert figures["loss"] == pytest.approx(-sum(one.log_probability for one in scored) / tokens, rel=1e-5)


@pytest.mark.slow
def test_lines_of_a_million_characters_are_cut_with_a_warning(model, tmp_path, logged, monkeypatch):
    sources = [PAIRS[0][0], "the dog " * 125_000, "x" * 1_000_000]
    references = [PAIRS[0][1], "der Hund " * 125_000, "y" * 1_000_000]
    for module in (evaluation, pair_batches):
        monkeypatch.setattr(module, "LONGEST_TARGET", 100)
    files = write(tmp_path, sources, references)
    figures, translations = evaluate_translator(model, files, beam_size=1)
    assert logged() == [
        *(f"{files.source}, line {line}: too long, only its first 30 tokens are read" for line in (2, 3)),
        *(
            f"{files.target}, line {line}: too long, loss, perplexity and accuracy are of its first 100 tokens"
            for line in (2, 3)
        ),
    ]
    assert translations == model.translate([sources[0], "the dog " * 15, "x"], beam_size=1)
    cut = write(tmp_path, [sources[0], "the dog " * 15, "x"], [references[0], "der Hund " * 50, "y"])
    assert figures["loss"] == pytest.approx(teacher_forced_figures(model, cut)["loss"], rel=1e-5)


def test_files_are_checked(model, tmp_path):
    files = write(tmp_path, ["a", "b"], ["a"])
    with pytest.raises(UserError, match="line-aligned files must have the same number"):
        evaluate_translator(model, files)


def test_both_searches_have_the_options_asked_for(model, tmp_path, monkeypatch):
    asked = []

    def translate(self, texts, beam_size, batch_size, **options):
        asked.append((beam_size, batch_size, options))
        return [""] * len(texts)

    monkeypatch.setattr(type(model), "translate", translate)
    evaluate_translator(model, write(tmp_path, *zip(*PAIRS, strict=True)), 3, 7, length_penalty=0.5, length_norm="gnmt")
    assert asked == [(3, 7, {"length_penalty": 0.5, "length_norm": "gnmt"})] * 2


@pytest.mark.parametrize("in_one_file", [False, True])
def test_a_reference_that_is_too_long_is_told_with_the_file_that_it_is_in(
    model, in_one_file, tmp_path, logged, monkeypatch
):
    monkeypatch.setattr(evaluation, "LONGEST_TARGET", 5)
    sources, references = ["the dog", "the cat"], ["der Hund", "die Katze " * 3]
    if in_one_file:
        file = str(tmp_path / "pairs.tsv")
        pairs = zip(sources, references, strict=True)
        (tmp_path / "pairs.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs))
        files = ParallelFiles(file)
    else:
        files = write(tmp_path, sources, references)
        file = files.target
    assert evaluation.read_references(model, files) == (sources, references)
    assert logged() == [f"{file}, line 2: too long, loss, perplexity and accuracy are of its first 5 tokens"]
