"""The commands of a translator: trained, scored and used as from the command line."""

import argparse
import csv
import gzip
import io
import json
import math
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import sacrebleu
import yaml

import tfnmt
from tests.commands.calls import call, start
from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.search_options import add_translation_options, search_configuration
from tfnmt.commands.training_options import refuse_other_tokenizers
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.shortlist import Shortlist

SIZES = ("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units")
SMALL = ["--epochs", "2", "--set", "decoder_units=8", *(f"{name}=8" for name in SIZES), "batch_size=8"]
SMALL += ["checkpoint_steps=5", "selection=loss", "bidirectional=false", "conditional=false", "warmup_steps=1"]
# Everything else that a run has to remember.
SMALL += [
    "weight_average=0.8",
    "accumulation_steps=2",
    *(f"{name}_dropout=0.2" for name in ("source", "target", "state")),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Options that name training files, which are compressed, and a dev file of both sides."""
    directory = tmp_path_factory.mktemp("files")
    training, dev, test = (sample_pairs(count, 1, split) for count, split in ((90, "train"), (20, "dev"), (10, "test")))
    for name, side in zip(("train.en.gz", "train.de.gz"), zip(*training, strict=True), strict=True):
        (directory / name).write_bytes(gzip.compress("".join(line + "\n" for line in side).encode()))
    (directory / "dev.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in dev), encoding="utf-8")
    for name, side in zip(("test.en", "test.de"), zip(*test, strict=True), strict=True):
        (directory / name).write_text("".join(line + "\n" for line in side), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def training_options(files):
    options = ["--source", files / "train.en.gz", "--target", files / "train.de.gz", "--dev-source", files / "dev.tsv"]
    return [*options, *SMALL]


@pytest.fixture(scope="module")
def model(training_options, tmp_path_factory):
    """The directory of a small translator, trained in one go, with nothing written for TensorBoard."""
    directory = tmp_path_factory.mktemp("whole") / "model"
    printed = call("train-translator", "--output", directory, "--no-board", *training_options)
    assert printed.startswith(f"{directory}: best dev_loss ") and printed.endswith(", of epoch 2\n")
    return directory


@pytest.mark.slow
def test_a_training_killed_without_warning_goes_on(model, training_options, tmp_path):
    output = tmp_path / "model"
    process = start("train-translator", "--output", output, *training_options, stdout=subprocess.PIPE)
    while not (output / "checkpoints" / "step-5.index").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.kill()
    printed, errors = process.communicate()
    assert (process.returncode, printed) == (-signal.SIGKILL, b"")
    learning, first, second, third, *rest = errors.decode().splitlines()
    assert learning == "learning the vocabulary"
    assert first.endswith("train.en.gz: kept all 90 pairs")
    assert second == "6,615 weights; vocabularies of 182 and 231"
    assert third.startswith("2 epochs of ") and third.endswith(" batches begin")
    assert not rest or rest[0].startswith("epoch 1 of 2: ")
    log = (output / "log.txt").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in log[:4]] == [learning, first, second, third]

    call("train-translator", "--resume", output)
    resumed, whole = tfnmt.load(output), tfnmt.load(model)
    for value, expected in zip(resumed.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    with open(output / "history.csv", newline="") as resumed, open(model / "history.csv", newline="") as whole:
        rows, expected = ([row | {"seconds": 0} for row in csv.DictReader(file)] for file in (resumed, whole))
    assert rows == expected and [row["epoch"] for row in rows] == ["1", "2"]
    cards = ((directory / "README.md").read_text(encoding="utf-8") for directory in (output, model))
    resumed, whole = (re.split(r"batches in .*|## Command[\s\S]*", card) for card in cards)
    assert resumed == whole


def test_a_model_directory_has_a_card(model, files, training_options):
    """What it tells is what the other files tell, and what the model makes."""
    card = (model / "README.md").read_text(encoding="utf-8")
    assert "# model\n\nA translator: an encoder–decoder of GRU cells with additive attention, 6,615 weights." in card
    options = ["train-translator", "--output", model, "--no-board", *training_options]
    assert card.endswith(f"## Command\n\n    {shlex.join(['tfnmt', *map(str, options)])}\n")
    for use, name in (("training", "train.en.gz"), ("training", "train.de.gz"), ("dev", "dev.tsv")):
        assert f"| {use} | {name} | `{file_digest(files / name)}` |" in card
    assert "Those of the preset `tiny`, with these changes:" in card and "| `weight_average` | 0.8 | none |" in card
    assert "`seed`" not in card
    with open(model / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    best = min(rows, key=lambda row: float(row["dev_loss"]))
    assert f"- dev_loss {float(best['dev_loss']):.4g}\n" in card
    assert f"- dev_bleu {float(best['dev_bleu']):.4g}, signature `nrefs:1|case:mixed|eff:no|tok:13a|" in card
    assert all(f"| {row['epoch']} | {float(row['loss']):.4g} | {float(row['dev_loss']):.4g} |" in card for row in rows)
    sources, references = zip(*(line.split("\t") for line in (files / "dev.tsv").read_text().splitlines()), strict=True)
    made = tfnmt.load(model).translate(sources[:5], beam_size=1)
    for sample in zip(sources, made, references, strict=False):
        assert "    source       {}\n    translation  {}\n    reference    {}\n".format(*sample) in card
    assert sources[5] not in card


def test_averaged_checkpoints_have_a_card(model, files, tmp_path):
    """Its scores are those that the new weights have, by greedy search as in training."""
    options = ["--model", model, "--last", 2, "--output", tmp_path / "mean"]
    printed = call("average-checkpoints", *options)
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    names = re.fullmatch(r".*: the mean of (step-\d+, step-\d+)\n", printed)[1]
    assert f"Of the mean of {names} of model on dev data:\n" in card and "## Curve" not in card
    assert card.endswith(f"    {shlex.join(['tfnmt', 'average-checkpoints', *map(str, options)])}\n")
    figures = json.loads(
        call(
            "evaluate-translator",
            "--model",
            tmp_path / "mean",
            "--source",
            files / "dev.tsv",
            "--beam-size",
            1,
            "--json",
        )
    )
    assert f"- dev_perplexity {figures['perplexity']:.4g}\n" in card
    assert f"- dev_bleu {figures['bleu']:.4g}, signature `{figures['bleu_signature']}`" in card
    assert card.count("    translation  ") == 5 and f"`{file_digest(files / 'dev.tsv')}`" in card


def test_a_dry_run_tells_what_a_run_would_be(model, files, tmp_path):
    """With the configuration of a run it is that run, but for what `--set` and other options say."""
    options = ["--source", files / "train.en.gz", "--target", files / "train.de.gz", "--dev-split", 10, "--dry-run"]
    options += ["--config", model / "config.json", "--epochs", 4, "--set", "optimizer=sgd"]
    printed = call("train-translator", "--output", tmp_path / "model", *options)
    expected = json.loads((model / "config.json").read_text())
    expected["training"] |= {"epochs": 4, "optimizer": "sgd"}
    assert yaml.safe_load(printed) == expected
    weights, told = re.sub("^# ?", "", printed.partition("\n\n")[2], flags=re.M).split("\n\n")
    parts = {name: int(number.replace(",", "")) for name, number in re.findall(r"^(\S.*?) +([\d,]+)$", weights, re.M)}
    every = parts.pop("all weights")
    assert {"encoder", "decoder"} <= set(parts) and sum(parts.values()) == every
    memory, batches, seconds = told.splitlines()
    assert re.fullmatch(r"memory: \d+ MB of weights, gradient and optimizer; the process had [\d,]+ MB at most", memory)
    an_epoch, in_all = map(int, re.fullmatch(r"batches: (\d+) an epoch, (\d+) in all", batches).groups())
    assert 10 <= an_epoch < 15 and in_all == 4 * an_epoch
    assert re.fullmatch(r"time: [\d.]+ s a batch, the mean of \d+; .* in all, without the dev scores", seconds)
    assert list(tmp_path.iterdir()) == []


def test_what_a_dry_run_does_not_go_with(model):
    with pytest.raises(UserError, match="--dry-run: is about a new run in one process; leave out --resume"):
        call("train-translator", "--resume", model, "--dry-run")
    with pytest.raises(UserError, match="in one process; leave out --profile-steps"):
        call("train-translator", "--output", "run", "--profile-steps", "2-3", "--dry-run")
    with pytest.raises(UserError, match="in one process; leave out --strategy multiworker"):
        call("train-translator", "--output", "run", "--strategy", "multiworker", "--dry-run")


def translated(model, text, monkeypatch, *options):
    """What `tfnmt translate` makes of bytes on its standard input."""
    return call_with(text, monkeypatch, "--model", model, *options)


def call_with(text, monkeypatch, *options):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    return call("translate", *options)


def test_translate_gives_a_line_for_a_line(model, monkeypatch):
    lines = ["The dog sees a red ball.", "", "A cat.", " \u00a0\u2028", "Unknown wörds", "The last line has no end."]
    expected = tfnmt.load(model).translate(lines, beam_size=2)
    assert expected[1] == expected[3] == "" and all(expected[i] for i in (0, 2, 4, 5))
    text = "\n".join(lines).encode()
    windows = text.replace(b"\n", b"\r\n") + b"\r\n"
    for lines_read, options in ((text, []), (windows, ["--batch-size", 1])):
        assert translated(model, lines_read, monkeypatch, "--beam-size", 2, *options).split("\n") == [*expected, ""]
    assert translated(model, b"", monkeypatch) == ""


@pytest.mark.slow
def test_translate_keeps_to_what_may_be_written(model, monkeypatch):
    text = b"The dog sees a red ball.\n"
    words = translated(model, text, monkeypatch, "--beam-size", 1).split()
    banned = words[0]
    without = translated(model, text, monkeypatch, "--beam-size", 1, "--banned-words", banned).split()
    assert without and banned not in without
    once = translated(model, text, monkeypatch, "--beam-size", 1, "--no-repeat-ngram", 1, "--minimum-length", 3).split()
    assert len(set(once)) == len(once) >= 3
    short = ("--maximum-length-factor", 0, "--maximum-length-offset", 1)
    assert len(translated(model, text, monkeypatch, *short).split()) <= 1


def test_translate_with_scores_alignments_and_prefixes(model, monkeypatch, tmp_path):
    lines = ["The dog sees a red ball.", "", "A cat."]
    (tmp_path / "prefixes").write_text("Der\n\nEine Katze\n", encoding="utf-8")
    options = ["--scores", "--alignments", "--beam-size", 2, "--length-penalty", 0]
    options += ["--prefix-file", tmp_path / "prefixes"]
    text = "\n".join(lines).encode()
    first, empty, last = translated(model, text, monkeypatch, *options).splitlines()
    assert empty == "\t0.0000\t" and last.startswith("Eine Katze")
    words, score, pairs = first.split("\t")
    assert words.startswith("Der") and float(score) < 0
    assert [int(pair.split("-")[1]) for pair in pairs.split()] == list(range(len(pairs.split())))

    best = translated(model, text, monkeypatch, *options, "--n-best", 2).splitlines()
    numbers, _, scores, _ = zip(*(line.split(" ||| ") for line in best), strict=True)
    assert numbers == ("0", "0", "1", "2", "2") and float(scores[0]) >= float(scores[1])
    assert best[0] == " ||| ".join(["0", *first.split("\t")])


def test_scores_by_either_length(model, monkeypatch):
    """log p / |y|, and log p / ((5 + |y|) / 6) (Wu et al. 2016), where a length of 1 is the same."""
    text, scores = b"The dog sees a red ball.\n", []
    for norm in (["--length-penalty", 0], ["--length-norm", "length"], ["--length-norm", "gnmt"]):
        options = (
            *norm,
            "--beam-size",
            2,
            "--maximum-length-factor",
            0,
            "--maximum-length-offset",
            3,
            "--minimum-length",
            3,
            "--scores",
        )
        scores.append(float(translated(model, text, monkeypatch, *options).split("\t")[1]))
    total, by_length, gnmt = scores
    length = total / by_length
    assert length > 1.5 and gnmt == pytest.approx(total * 6 / (5 + length), abs=2e-4)


@pytest.mark.slow
def test_a_shortlist_is_made_and_used(model, files, monkeypatch, tmp_path):
    """With more translations of each word than there are words, it is as if there were none."""
    text = b"The dog sees a red ball.\n\nA cat.\n"
    options = ["--scores", "--beam-size", 2]
    exact = translated(model, text, monkeypatch, *options)
    for name, size in (("all", 10_000), ("few", 1)):
        pairs = ["--source", files / "train.en.gz", "--target", files / "train.de.gz"]
        sizes = ["--words-per-word", size, "--frequent", size]
        assert call("make-shortlist", "--model", model, *pairs, "--output", tmp_path / name, *sizes) == ""
    of_all, of_few = (
        translated(model, text, monkeypatch, *options, "--shortlist", tmp_path / name) for name in ("all", "few")
    )
    assert [line.split("\t")[0] for line in of_all.splitlines()] == [line.split("\t")[0] for line in exact.splitlines()]
    assert of_few != exact and of_few.splitlines()[1] == "\t0.0000"
    for precision in ("bfloat16", "int8"):
        assert len(translated(model, text, monkeypatch, "--precision", precision).splitlines()) == 3


def test_scores_of_what_was_translated(model, monkeypatch, tmp_path):
    """Ensembles of a model with itself score the same, and so does force decoding."""
    source = tmp_path / "source"
    source.write_text("The dog sees a red ball.\nA cat.\n\u00a0\n", encoding="utf-8")
    options = ["--scores", "--length-penalty", 0, "--beam-size", 2]
    twice = call_with(source.read_bytes(), monkeypatch, "--model", model, model, *options)
    texts, scores = zip(*(line.split("\t") for line in twice.splitlines()), strict=True)
    (tmp_path / "target").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    files = ["--source", source, "--target", tmp_path / "target"]
    *lines, totals = call("score", "--model", model, *files, "--word-level", "--json").splitlines()
    totals = json.loads(totals)
    for line, text, expected in zip(lines, texts, map(float, scores), strict=True):
        of_all, of_words = line.split("\t")
        *of_words, of_end = map(float, of_words.split())
        assert sum(of_words) + of_end == pytest.approx(float(of_all), abs=0.01)
        # The search has stopped at the maximum length, before an end.
        assert sum(of_words) == pytest.approx(expected, abs=0.01)
        assert len(of_words) >= len(text.split())  # punctuation is a word of its own
    of_all = [float(line.split("\t")[0]) for line in lines]
    assert totals["log_probability"] == pytest.approx(sum(of_all), abs=0.01)
    assert totals["perplexity"] == pytest.approx(math.exp(-totals["log_probability"] / totals["tokens"]))
    assert totals["sentences"] == 3 and totals["words"] == totals["tokens"] - 3


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_scores_are_of_the_precision_asked_for(precision, tmp_path, monkeypatch):
    asked = []

    class Scorer:
        def __init__(self, model, precision):
            asked.append(precision)
            raise UserError("enough")

    monkeypatch.setattr("tfnmt.translation.scoring.Scorer", Scorer)
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(UserError, match="enough"):
        call("score", "--model", "sample-en-de", "--source", tmp_path / "pairs.tsv", "--precision", precision)
    assert asked == [precision]


def test_a_source_that_is_too_long_to_be_scored_whole_is_told(tmp_path, logged):
    (tmp_path / "pairs.tsv").write_text(f"A cat.\tEine Katze.\n{'The dog. ' * 200}\tDer Hund.\n")
    printed = call("score", "--model", "sample-en-de", "--source", tmp_path / "pairs.tsv")
    assert printed.count("\n") == 2
    assert [line for line in logged() if "too long" in line] == [
        f"{tmp_path / 'pairs.tsv'}, line 2: too long, only its first 400 tokens are read"
    ]


def test_each_process_translates_with_the_options_asked_for(model, monkeypatch, tmp_path):
    given = []

    def translate(settings, windows, processes, advance):
        given.append((settings, list(windows), processes))
        return iter(())

    monkeypatch.setattr("tfnmt.translation.processes.translate_in_processes", translate)
    monkeypatch.setattr("tfnmt.processors.processors", lambda: 7)
    monkeypatch.setattr("tfnmt.threads.use_threads", lambda threads: None)
    source, target = (tokenizer.vocabulary_size for tokenizer in tfnmt.load(model).tokenizers)
    Shortlist(np.full([source, 1], 4), [5], target).save(tmp_path / "two.npz")
    options = ["--processes", 3, "--device", "cpu", "--shortlist", tmp_path / "two.npz", "--batch-size", 1]
    assert translated(model, b"a\n" * 6, monkeypatch, *options, "--beam-size", 2) == ""
    ((settings, windows, processes),) = given
    search = SearchConfiguration(beam_size=2, scores=False)
    assert settings == ([str(model)], search, str(tmp_path / "two.npz"), 1, 2, "cpu")
    assert windows == [(["a"] * 4, None), (["a"] * 2, None)] and processes == 3, "a text of six lines is shared out"


def test_steps_to_profile_that_a_resumed_run_has_behind_it_are_told(model, tmp_path, logged):
    run = shutil.copytree(model, tmp_path / "run")
    call("train-translator", "--resume", run, "--profile-steps", "2-3")
    (told,) = [line for line in logged() if line.startswith("--profile-steps")]
    assert re.fullmatch(r"--profile-steps 2-3: the run went on after step \d\d", told)


def test_averaged_checkpoints_are_a_model(model, monkeypatch, tmp_path):
    printed = call("average-checkpoints", "--model", model, "--last", 2, "--output", tmp_path / "mean")
    assert printed.startswith(f"{tmp_path / 'mean'}: the mean of step-")
    assert translated(tmp_path / "mean", b"A cat.\n", monkeypatch, "--method", "sample").count("\n") == 1


@pytest.mark.slow
def test_translate_answers_while_it_is_fed_and_stops_quietly_when_nobody_listens(model):
    window = b"The dog sees a red ball.\n" * 50
    process = start("translate", "--model", model, "--batch-size", 1, "--beam-size", 1, stdin=-1, stdout=-1)
    process.stdin.write(window)
    process.stdin.flush()
    answers = [process.stdout.readline() for _ in range(50)]
    assert len(set(answers)) == 1 and answers[0].endswith(b"\n") and len(answers[0]) > 1
    process.stdout.close()
    process.stdin.write(window)
    process.stdin.close()
    errors = process.stderr.read()
    assert process.wait() == 128 + signal.SIGPIPE
    assert re.fullmatch(rb"processes: 1, threads of each: \d+, device: \S+\n(translating: .*\n)*", errors)


def test_evaluate_prints_one_object(model, files, monkeypatch):
    printed = call(
        "evaluate-translator",
        *("--model", model, "--source", files / "test.en", "--target", files / "test.de"),
        *("--beam-size", 3, "--bleu-tokenize", "intl", "--json"),
    )
    figures = json.loads(printed)
    assert printed.count("\n") == 1
    translations = translated(model, (files / "test.en").read_bytes(), monkeypatch, "--beam-size", 3).splitlines()
    references = (files / "test.de").read_text(encoding="utf-8").splitlines()
    bleu = sacrebleu.BLEU(tokenize="intl")
    assert figures["bleu"] == pytest.approx(bleu.corpus_score(translations, [references]).score)
    assert figures["bleu_signature"] == str(bleu.get_signature())
    assert figures["chrf"] == pytest.approx(sacrebleu.corpus_chrf(translations, [references]).score)
    assert figures["perplexity"] == pytest.approx(np.exp(figures["loss"]), rel=1e-5)
    assert 0 < figures["token_accuracy"] < 1
    assert figures["sentences"] == 10 and figures["sentences_per_second"] > 0


def test_evaluate_prints_a_table(model, files):
    printed = call("evaluate-translator", "--model", model, "--source", files / "dev.tsv", "--beam-size", 1)
    table = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert set(table) >= {"loss", "perplexity", "bleu", "bleu_signature", "chrf", "chrf_signature"}
    assert table["sentences"] == "20"


def test_several_translators_are_compared_with_the_first(model, files):
    same = model / ".." / model.name
    printed = call(
        "evaluate-translator", "--model", model, same, "--source", files / "dev.tsv", "--beam-size", 1, "--json"
    )
    one, other = json.loads(printed).values()
    assert "bleu_p" not in one and other["bleu_p"] == 1.0
    assert one["ter"] == other["ter"] > 0


HELD_OUT = "--dev-split: takes the dev pairs from --source; leave out"


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--preset", "tinny"], "unknown preset 'tinny'; the nearest is 'tiny' of "),
        (["--set", "decoder_unit=8"], "unknown key 'decoder_unit'; the nearest is 'decoder_units'"),
        (["--set", "source_dropout=1.5"], "source_dropout=1.5: allowed is 0 <= source_dropout < 1"),
        (["--epochs", "some"], "epochs=some: allowed is an integer"),
        (["--steps", "0"], "steps=0: allowed is an integer from 1"),
        (["--target", "a.txt"], "--source is missing: --target means nothing without it"),
        (["--dev-source", "a.txt"], "--source is missing: --dev-source means nothing without it"),
        (["--source", "a.txt", "--target", "b.txt"], "--dev-source is missing: "),
        (["--dev-split", "9"], "--source is missing: --dev-split means nothing without it"),
        (["--source", "a.tsv", "--dev-source", "b.tsv", "--dev-split", "9"], f"{HELD_OUT} --dev-source"),
        (["--records", "a", "--dev-split", "9"], f"{HELD_OUT} --records"),
        (["--source", "a.tsv", "--dev-target", "b.txt", "--dev-split", "9"], f"{HELD_OUT} --dev-target"),
        (["--source", "a.txt", "--dev-source", "b.tsv"], "a.txt: name the file of its translations too"),
        (["--source", "a.tsv", "--dev-source", "b.tsv"], "a.tsv: cannot be read: No such file or directory"),
    ],
)
def test_training_options_that_are_wrong(options, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        call("train-translator", "--output", "model", *options)
    assert str(caught.value).startswith(complaint)
    assert not list(tmp_path.iterdir())


def test_options_that_a_run_has_already(tmp_path, capsys):
    for verb, files in (("train-translator", "--source and --target"), ("train-classifier", "--train")):
        message = f"--dev-split: the run in {tmp_path} reads what it has divided; leave it and {files} out"
        with pytest.raises(UserError, match=message):
            call(verb, "--resume", tmp_path, "--dev-split", 9)
    for verb, options in (("train-translator", []), ("train-classifier", ["--task", "sst", "--encoder", "bag"])):
        with pytest.raises(SystemExit) as ended:
            call(verb, "--resume", tmp_path, "--output", tmp_path, *options)
        assert ended.value.code == 2 and "not allowed with argument --resume" in capsys.readouterr().err


def test_a_command_is_given_again_with_resume(model, training_options, tmp_path):
    """It may name what the run was started with, and nothing else."""
    output = tmp_path / "model"
    shutil.copytree(model, output)
    whole = ("train-translator", "--output", output, "--preset", "tiny", "--no-board", *training_options)
    assert call(*whole, "--resume").startswith(f"{output}: best dev_loss ")
    assert call("train-translator", "--resume", "--output", output) == call("train-translator", "--resume", output)
    with pytest.raises(
        UserError, match=f"^--preset multi30k: the run in {output} has tied_embeddings=false, not true; "
    ):
        call("train-translator", "--resume", output, "--preset", "multi30k", *training_options)
    assert call(*whole, "--resume", "--config", output / "config.json").startswith(f"{output}: best dev_loss ")
    for key, before, other in (("clip_norm", "1.0", "2.0"), ("keep_checkpoints", "3", "9")):
        (tmp_path / "run.yaml").write_text(f"training: {{{key}: {other}}}\n", encoding="utf-8")
        with pytest.raises(
            UserError, match=f"^--config {tmp_path}/run.yaml: the run in {output} has {key}={before}, not "
        ):
            call(*whole, "--resume", "--config", tmp_path / "run.yaml")
    with pytest.raises(UserError, match=f"^--preset tiny: the run in {output} has .*=8, not "):
        call("train-translator", "--resume", output, "--preset", "tiny")
    with pytest.raises(UserError, match=f"^{output}: the run was started with initial=None, not "):
        call("train-translator", "--resume", output, "--initial", "sample-en-de")


def test_a_run_needs_a_directory(capsys):
    told = {"--resume": "argument --resume: name the run's directory", "--no-board": "one of the arguments --output"}
    for option, message in told.items():
        with pytest.raises(SystemExit) as ended:
            call("train-translator", option)
        assert ended.value.code == 2 and message in capsys.readouterr().err


def test_an_option_and_a_setting_that_contradict_each_other(tmp_path):
    with pytest.raises(UserError, match="^--epochs 1: --set has epochs=3; leave one of the two out$"):
        call("train-translator", "--output", tmp_path / "model", "--epochs", 1, "--set", "epochs=3")
    with pytest.raises(UserError, match="^--task sick: --set has task=snli; leave one of the two out$"):
        options = ("--task", "sick", "--encoder", "bag", "--set", "encoder=bag", "task=snli")
        call("train-classifier", "--output", tmp_path / "model", *options)


def test_a_run_that_goes_on_may_be_told_of_the_moved_files_alone():
    moved = (ParallelFiles("a", "b"), ParallelFiles("c.tsv"))

    def chosen(*options):
        parser = CommandParser()
        add_parallel_files(parser)
        return chosen_parallel_files(parser.parse_args(options, argparse.Namespace(resume="run")))

    training, dev = ["--source", "a", "--target", "b"], ["--dev-source", "c.tsv"]
    assert chosen() == (None, None) and chosen(*training, *dev) == moved
    assert chosen(*training) == (moved[0], None) and chosen(*dev) == (None, moved[1])
    for side in ("", "dev-"):
        with pytest.raises(UserError, match=f"--{side}source is missing: --{side}target means nothing without it"):
            chosen(f"--{side}target", "x")


def test_a_model_to_begin_with_brings_its_tokenizers(model, training_options, tmp_path):
    command = ["train-translator", "--output", tmp_path / "second", "--initial", model]
    with pytest.raises(UserError, match=f"{model}: its tokenizers were made with lowercase=false; leave out lowercase"):
        call(*command, *training_options, "--set", "lowercase=true")
    preset = TextConfiguration(tokenizer="words", lowercase=True)
    made = {"tokenizer": "unigram", "lowercase": True, "vocabulary_size": 70}
    refuse_other_tokenizers(preset, preset, made, model)  # what only the preset says is not asked for
    with pytest.raises(UserError, match="vocabulary_size=70; leave out vocabulary_size=9$"):
        refuse_other_tokenizers(preset.replace(vocabulary_size=9), preset, made, model)


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--top-k", 5], "--top-k 5: means nothing without --method sample; give that, or leave it out"),
        (["--temperature", 0.5], "--temperature 0.5: means nothing without --method sample"),
        (["--method", "greedy", "--seed", 3], "--seed 3: means nothing without --method sample"),
        (["--method", "greedy", "--beam-size", 8], "--beam-size 8: means nothing without --method beam"),
        (["--method", "sample", "--length-penalty", 0.5], "--length-penalty 0.5: means nothing without --method beam"),
    ],
)
def test_options_of_another_method_of_search(options, complaint):
    parser = CommandParser()
    add_translation_options(parser)
    with pytest.raises(UserError, match=complaint):
        search_configuration(parser.parse_args(list(map(str, options))))
    assert search_configuration(parser.parse_args(["--method", "greedy", "--beam-size", "1"])).hypotheses == 1


@pytest.mark.parametrize(
    "options, told",
    [
        (["--beam-size", 1, "--length-penalty", 1.4], ["--length-penalty has no effect with --beam-size 1"]),
        (["--beam-size", 1, "--length-penalty", 1.4, "--coverage-penalty", 0.2], []),
        (["--beam-size", 2, "--length-penalty", 1.4], []),
        (["--replace-unk", "--no-unknown"], ["--replace-unk has no effect with --no-unknown"]),
        (["--length-norm", "gnmt", "--beam-size", 1], ["--length-norm has no effect with --beam-size 1"]),
        (["--length-norm", "gnmt", "--length-penalty", 0], ["--length-norm has no effect with --length-penalty 0"]),
        (["--length-norm", "gnmt"], []),
        (["--replace-unk", "--beam-size", 1], []),
    ],
)
def test_options_of_a_search_that_change_nothing_are_told(options, told, caplog):
    parser = CommandParser()
    add_translation_options(parser)
    search_configuration(parser.parse_args(list(map(str, options))))
    assert caplog.messages == told


@pytest.mark.parametrize(
    "option, value, complaint",
    [
        ("--beam-size", "5.0", "argument --beam-size: 5.0: allowed is an integer from 1 to 65536"),
        ("--length-penalty", "nan", "argument --length-penalty: nan: allowed is 0 <= length_penalty <= 10"),
        ("--top-p", "1.5", "argument --top-p: 1.5: allowed is 0 < top_p <= 1, or none"),
        ("--method", "best", "argument --method: invalid choice: 'best'"),
    ],
)
def test_an_option_of_a_search_takes_what_its_field_takes(option, value, complaint, capsys):
    parser = CommandParser()
    add_translation_options(parser)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([option, value])
    assert ended.value.code == 2
    assert f"error: {complaint}" in capsys.readouterr().err


def test_options_of_a_search_set_the_fields_of_their_names():
    parser = CommandParser()
    add_translation_options(parser)
    numbers = ["--beam-size", "8", "--n-best", "2", "--no-repeat-ngram", "3", "--length-penalty", "0"]
    words = ["--banned-words", "a", ",", "--replace-unk", "--no-unknown", "--precision", "int8"]
    made = {"beam_size": 8, "n_best": 2, "no_repeat_ngram": 3, "length_penalty": 0.0, "banned_words": ("a", ",")}
    flags = {"replace_unknown": True, "no_unknown": True, "scores": False}
    expected = SearchConfiguration(**made, **flags, precision="int8")
    assert search_configuration(parser.parse_args(numbers + words)) == expected


def test_options_of_a_search_have_the_defaults_of_its_configuration():
    parser = CommandParser()
    add_translation_options(parser)
    assert search_configuration(parser.parse_args([])) == SearchConfiguration(scores=False)


def test_a_model_is_not_compared_with_itself(model):
    with pytest.raises(UserError, match=f"--model {model}: named 2 times; name each model once"):
        call("evaluate-translator", "--model", model, model)


def test_evaluating_a_target_without_a_source(model):
    with pytest.raises(UserError, match="--source is missing: the sentences that --target translates"):
        call("evaluate-translator", "--model", model, "--target", "a.txt")


@pytest.mark.parametrize("verb", ["translate", "evaluate-translator"])
@pytest.mark.parametrize(
    "option, value, complaint",
    [
        ("--beam-size", "0", "0: allowed is an integer from 1 to 65536"),
        ("--batch-size", "-3", "-3 is not a whole number from 1"),
        ("--beam-size", "two", "two: allowed is an integer from 1 to 65536"),
        ("--length-penalty", "-1", "-1.0: allowed is 0 <= length_penalty <= 10"),
        ("--batch-size", f"{10**22}", f"{10**22} is not a whole number from 1 to 1,000,000,000,000,000"),
    ],
)
def test_sizes_and_penalties_of_a_search_are_checked_before_all_else(verb, option, value, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        call(verb, "--model", "absent", option, value)
    error = f"error: argument {option}: {complaint}; --help lists all options\n"
    assert (ended.value.code, capsys.readouterr()) == (2, ("", error))


@pytest.mark.parametrize(
    "value, complaint",
    [
        ("3-2", "3-2: should be A-B, whole numbers with 1 <= A <= B, such as 20-30"),
        ("3", "3: should be A-B, whole numbers with 1 <= A <= B, such as 20-30"),
        ("0-2", "0 is not a whole number from 1"),
        ("1-" + "9" * 5000, "9" * 5000 + " is not a whole number from 1 to 1,000,000,000,000,000"),
    ],
)
def test_steps_to_profile_are_whole_numbers_from_1(value, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        call("train-translator", "--output", "never", "--profile-steps", value)
    complaint = f"error: argument --profile-steps: {complaint}; --help lists all options\n"
    assert (ended.value.code, capsys.readouterr()) == (2, ("", complaint))


def test_steps_are_profiled_for_tensorboard(tmp_path):
    with pytest.raises(UserError, match="--profile-steps writes for TensorBoard: leave out --no-board"):
        call("train-translator", "--output", tmp_path / "never", "--profile-steps", "2-30", "--no-board")


@pytest.mark.slow
def test_evaluation_has_the_options_asked_for(tmp_path, monkeypatch):
    asked, module = [], "tfnmt.translation.evaluation"
    monkeypatch.setattr(tfnmt, "load", lambda *_: None)
    monkeypatch.setattr(f"{module}.evaluate_translator", lambda *_, **named: asked.append(named) or ({"bleu": 1.0}, []))
    significance = "tfnmt.translation.significance.compare_translations"
    monkeypatch.setattr(significance, lambda *_, **named: asked.append(named) or {})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "a.tsv").write_text("a\tb\n")
    options = ["--source", tmp_path / "a.tsv", "--beam-size", 2, "--batch-size", 3, "--length-penalty", 0.5]
    options += ["--bleu-tokenize", "intl", "--bleu-lowercase", "--length-norm", "gnmt"]
    call("evaluate-translator", "--model", tmp_path / "one", tmp_path / "two", *options)
    scoring = {"tokenize": "intl", "lowercase": True}
    search = {"beam_size": 2, "batch_size": 3, "length_penalty": 0.5, "length_norm": "gnmt"}
    assert asked == [search | scoring, search | scoring, scoring]
