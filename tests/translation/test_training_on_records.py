"""Training on records: it goes on where it stopped, knows its files, and refuses what does not fit."""

import shutil
from collections import Counter

import numpy as np
import pytest

import tfnmt
from tests.commands.calls import call
from tests.data.records import write_records
from tests.translation.test_training import SMALL, small, write
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.record_batches import read_ids
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.run_record import started_preset
from tfnmt.translation.presets import Preset
from tfnmt.translation.training import train_translator

TEXT = TextConfiguration(tokenizer="words", joint_vocabulary=False)
CONSTANT = "schedule=constant"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Records of 60 pairs in three shards, and dev files."""
    directory = tmp_path_factory.mktemp("data")
    pairs = sample_pairs(60, 1, "train")
    tokenizers = tuple(WordTokenizer.train(side) for side in zip(*pairs, strict=True))
    dev = zip(*sample_pairs(20, 1, "dev"), strict=True)
    dev = ParallelFiles(*(write(directory / f"dev.{number}", side) for number, side in enumerate(dev)))
    return write_records(directory / "records", pairs, tokenizers, shard_pairs=20, text=TEXT), dev


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """The directory of a run of 9 steps, the second epoch's first among them."""
    directory = tmp_path_factory.mktemp("run") / "model"
    train_translator(directory, small("steps=9", CONSTANT), *data)
    return directory


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped(data, trained, tmp_path):
    for steps in (4, 9):  # in the middle of an epoch, and to the end
        resume = (tmp_path / "run.json").exists()
        preset = started_preset(tmp_path, Preset).override([f"steps={steps}"]) if resume else None
        preset = preset or small(f"steps={steps}", CONSTANT)
        model, _ = train_translator(tmp_path, preset, *(() if resume else data), resume=resume)
    for weights, expected in zip(model.get_weights(), tfnmt.load(trained).get_weights(), strict=True):
        np.testing.assert_array_equal(weights, expected)


def test_subwords_of_records_cannot_be_drawn_again(data, tmp_path):
    with pytest.raises(UserError, match="subword_sampling=0.1: allowed is none with records"):
        train_translator(tmp_path, small("subword_sampling=0.1"), *data)


def test_a_run_has_the_tokenizers_of_its_records(data, trained):
    assert started_preset(trained, Preset).text == TEXT
    model = tfnmt.load(trained)
    data[0].require_tokenizers(model.tokenizers, trained)


def test_the_command_of_a_run_on_records_is_given_again(data, trained, tmp_path):
    """The preset has other tokenizers than the records."""
    run = shutil.copytree(trained, tmp_path / "run")
    options = ["--preset", "tiny", "--records", data[0].directory, "--steps", 9, "--set", *SMALL, CONSTANT]
    assert call("train-translator", "--output", run, *options, "--no-board", "--resume").startswith(f"{run}: best")


def test_a_shortlist_is_made_of_records(data, trained, tmp_path):
    options = ["--model", trained, "--words-per-word", 3, "--frequent", 5]
    call("make-shortlist", *options, "--records", data[0].directory, "--output", tmp_path / "records.npz")
    pairs = "".join("\t".join(pair) + "\n" for pair in sample_pairs(60, 1, "train"))
    (tmp_path / "text.tsv").write_text(pairs, encoding="utf-8")
    call("make-shortlist", *options, "--source", tmp_path / "text.tsv", "--output", tmp_path / "text.npz")
    of_records, of_text = (np.load(tmp_path / name) for name in ("records.npz", "text.npz"))
    for name in of_text.files:
        np.testing.assert_array_equal(of_records[name], of_text[name])


def test_a_shortlist_has_words_that_occur_and_no_more_columns_than_there_are_words(data, trained, tmp_path, logged):
    (tmp_path / "text.tsv").write_text("".join("\t".join(pair) + "\n" for pair in sample_pairs(3, 1, "train")), "utf-8")
    options = ["--model", trained, "--source", tmp_path / "text.tsv", "--output", tmp_path / "text.npz"]
    call("make-shortlist", *options, "--words-per-word", 100_000, "--frequent", 100_000)
    list_of_text, target = np.load(tmp_path / "text.npz"), tfnmt.load(trained).target_tokenizer
    assert list_of_text["translations"].shape[1] == target.vocabulary_size
    targets = [target for _, target in sample_pairs(3, 1, "train")]
    assert set(list_of_text["frequent"]) == set(target.encode(targets).flat_values.numpy())
    assert f"up to {target.vocabulary_size} translations of each of" in logged()[-1]
    (tmp_path / "text.tsv").write_text("\t\n\t\n")
    with pytest.raises(UserError, match="text.tsv: there are no words in the pairs"):
        call("make-shortlist", *options)


def test_a_shortlist_is_made_of_so_many_pairs_and_no_more(trained, tmp_path):
    made = []
    for name, count in (("all", 20), ("few", 3)):
        pairs = "".join("\t".join(pair) + "\n" for pair in sample_pairs(20, 1, "train")[:count])
        (tmp_path / f"{name}.tsv").write_text(pairs, encoding="utf-8")
        options = ["--model", trained, "--source", tmp_path / f"{name}.tsv", "--output", tmp_path / f"{name}.npz"]
        call("make-shortlist", *options, "--pairs", 3)
        made.append(np.load(tmp_path / f"{name}.npz"))
    for name in made[0].files:
        np.testing.assert_array_equal(made[0][name], made[1][name])


def test_what_does_not_fit_is_refused(data, trained, tmp_path):
    records, dev = data
    other = write_records(tmp_path / "other", sample_pairs(60, 2, "train"), records.tokenizers(), text=TEXT)
    with pytest.raises(UserError, match="index.json: is not what the run in .* was started with"):
        train_translator(trained, started_preset(trained, Preset), other, dev, resume=True)
    words = tuple(WordTokenizer([f"w{number}" for number in range(50)]) for _ in range(2))
    other = write_records(tmp_path / "words", [("w1", "w2")] * 9, words, text=TEXT)
    with pytest.raises(UserError, match="its ids are not those of .*, whose vocabulary is another"):
        train_translator(tmp_path / "new", small(f"initial={trained}", "epochs=1"), other, dev)
    command = ["train-translator", "--output", tmp_path / "new", "--records", records.directory]
    with pytest.raises(UserError, match="--dev-source is missing: .* the best weights are chosen$"):
        call(*command)
    with pytest.raises(UserError, match="--records takes the place of --source and --target"):
        call(*command, "--source", "a", "--dev-source", "b")
    with pytest.raises(
        UserError, match="its tokenizers were made with vocabulary_size=.*; leave out vocabulary_size=99"
    ):
        call(*command, "--dev-source", dev.source, "--dev-target", dev.target, "--set", "vocabulary_size=99")
    with pytest.raises(UserError, match="--source or --records is missing"):
        call("make-shortlist", "--model", trained, "--output", tmp_path / "list")


def test_a_shortlist_has_the_most_frequent_words_and_the_models_digests(data, trained, tmp_path):
    options = ["--model", trained, "--words-per-word", 3, "--frequent", 5, "--records", data[0].directory]
    call("make-shortlist", *options, "--output", tmp_path / "list.npz")
    made = np.load(tmp_path / "list.npz")
    counts = Counter(i for _, target in read_ids(data[0], 64) for i in target.flat_values.numpy().tolist())
    assert [counts[i] for i in made["frequent"].tolist()] == sorted(counts.values(), reverse=True)[:5]
    assert made["digests"].tolist() == [tokenizer.digest() for tokenizer in tfnmt.load(trained).tokenizers]
