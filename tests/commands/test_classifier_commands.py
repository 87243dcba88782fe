"""The three commands of a classifier: trained, scored and parsing, as from the command line."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import tfnmt
from tests.classification.test_outcomes import outcomes
from tests.commands.calls import call
from tfnmt.classification.outcomes import mcnemar
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.commands import train_classifier
from tfnmt.commands.train_classifier import chosen_files
from tfnmt.commands.verbs import command_parser
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.model_directory import save_configuration

SIZES = ["--set", "embedding_size=6", "units=8", "tracker_units=5", "head_units=8", "batch_size=8"]


@pytest.mark.slow
def test_train_evaluate_parse(tmp_path, monkeypatch):
    paths = TASKS["sst"].write_sample(tmp_path)
    for path, count in ((paths["train"], 20), (paths["dev"], 9)):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:count]))
    model = tmp_path / "model"
    options = ["--output", model, "--task", "sst", "--encoder", "spinn", "--epochs", 1, *SIZES]
    printed = call("train-classifier", *options, "--train", paths["train"], "--dev", paths["dev"])
    assert printed.startswith(f"{model}: best dev_accuracy 0.") and printed.endswith(", of epoch 1\n")
    assert call("train-classifier", "--resume", model) == printed, "the run is over"
    again = [*options, "--preset", "tiny", "--train", paths["train"], "--dev", paths["dev"], "--resume"]
    assert call("train-classifier", *again) == printed, "the same command again"
    with pytest.raises(UserError, match=f"^{model}: the run was started with task=sst, not snli"):
        call("train-classifier", "--resume", model, "--task", "snli")

    card = (model / "README.md").read_text(encoding="utf-8")
    assert "A classifier of sentences, of the task `sst`: " in card and "| `encoder` | spinn | spinn-pi-nt |" in card
    samples = re.findall(r"^    (\(.*)\n    label: (.*?)(?:; right is .*)?$", card, re.M)
    assert len(samples) == 5
    trained = tfnmt.load(model)
    for tree, label in samples:
        assert (trained.parse([tree]), trained.classify([tree])) == ([tree], [label])
    (model / "README.md").write_text("mine", encoding="utf-8")
    moved = paths["dev"] = paths["dev"].rename(tmp_path / "moved.txt")
    call("train-classifier", "--resume", model, "--dev", moved)
    assert (model / "README.md").read_text(encoding="utf-8") == "mine"

    planned = ("--config", model / "config.json", "--train", paths["train"], "--dev-split", 5, "--dry-run")
    settings, _, told = call("train-classifier", "--output", tmp_path / "planned", *planned).partition("\n\n")
    assert yaml.safe_load(settings) == json.loads((model / "config.json").read_text())
    assert "\n# batches: 2 an epoch, 2 in all\n" in told and not (tmp_path / "planned").exists()

    scored = ("evaluate-classifier", "--data", paths["dev"], "--model", model)
    figures = json.loads(call(*scored, "--json"))
    assert np.sum(figures.pop("confusion")) == 9 and figures.pop("labels") == list(TASKS["sst"].labels)
    assert all(0 <= accuracy <= 1 for accuracy in figures.pop("accuracy_by_length").values())
    assert set(figures) == {*("accuracy", "loss", "examples", "examples_per_second", "transition_accuracy", "parse_f1")}
    assert "mcnemar_p  1.0000" in call(*scored, f"{model}/.", "--picture", tmp_path / "confusion.png")
    assert (tmp_path / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert figures["examples"] == 9 and figures["loss"] > 0
    assert all(0 <= figures[name] <= 1 for name in ("accuracy", "transition_accuracy", "parse_f1"))

    # A no-break space and U+2028 are no white space for the tokenizer: they are (part of) words.
    text = "a film\n\n( very good ) .\r\n\u00a0\n ( ) \na\u00a0film \u2028\t.\nwords unheard of".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    lines = call("parse", "--model", model, "--batch-size", 2).split("\n")
    assert [from_brackets(line)[0] if line else [] for line in lines] == [
        *(["a", "film"], [], ["very", "good", "."], ["\u00a0"], [], ["a\u00a0film", "\u2028", "."]),
        *(["words", "unheard", "of"], []),
    ]


def test_task_and_encoder_are_a_new_runs_choice(tmp_path):
    with pytest.raises(UserError, match="--encoder is missing"):
        call("train-classifier", "--output", tmp_path / "model", "--task", "sst")
    (tmp_path / "run.yaml").write_text("model: {task: sst}\ntraining: {epochs: 1}\n")
    configured = ["train-classifier", "--output", tmp_path / "model", "--config", tmp_path / "run.yaml"]
    with pytest.raises(UserError, match=f"^--encoder is missing: {tmp_path}/run.yaml does not have it either$"):
        call(*configured)
    (tmp_path / "run.yaml").write_text("training: {epochs: 1}\n")
    with pytest.raises(UserError, match="^--task is missing: "):
        call(*configured, "--encoder", "bag")
    for options in (configured, configured[:3]):
        with pytest.raises(UserError, match="^--train is missing"):  # which is looked at after them
            call(*options, "--set", "task=sst", "encoder=bag", "--dev", "F")
    with pytest.raises(UserError, match="no run has begun there"):
        call("train-classifier", "--resume", tmp_path / "mistyped")


def test_words_are_those_of_the_model_to_begin_with(tmp_path):
    preset = CLASSIFIER_PRESETS["tiny"]
    model = tfnmt.Classifier(preset.model, WordTokenizer(["a"]))
    save_configuration(model, tmp_path, examples=preset.examples, training=preset.training)
    command = ["train-classifier", "--output", "O", "--task", "sst", "--encoder", "bag", "--initial", tmp_path]
    with pytest.raises(UserError) as caught:
        call(*command, "--set", "vocabulary_size=9")
    assert str(caught.value) == (
        f"{tmp_path}: its tokenizers were made with vocabulary_size=none; leave out vocabulary_size=9"
    )


@pytest.mark.parametrize(
    "quantize, complaint", [("none", "means nothing with --quantize none"), ("int8", "is about translators")]
)
def test_bleu_is_not_for_exported_classifiers(quantize, complaint, tmp_path):
    command = ["export", "--model", "sample-spinn", "--name", "trees", "--output", tmp_path / "served"]
    with pytest.raises(UserError, match=f"^--bleu-tokenize:? {complaint}"):
        call(*command, "--quantize", quantize, "--bleu-tokenize", "char")
    assert not list(tmp_path.iterdir())


def test_a_run_that_goes_on_may_be_told_of_the_moved_files_alone():
    def chosen(*options):
        return chosen_files(
            command_parser("train-classifier", train_classifier).parse_args(["--resume", "run", *options])
        )

    assert chosen() == (None, None)
    assert chosen("--dev", "moved") == (None, ["moved"]) and chosen("--train", "a", "b") == (["a", "b"], None)


def test_files_are_named_together():
    for options, missing in ((["--train", "F"], "--dev"), (["--dev", "F"], "--train"), (["--dev-split", 9], "--train")):
        with pytest.raises(UserError, match=f"{missing} is missing"):
            call("train-classifier", "--output", "O", "--task", "sst", "--encoder", "bag", *options)
    with pytest.raises(UserError, match="--words: means nothing without --vectors"):
        options = ["--train", "F", "--dev", "F", "--words", "F"]
        call("train-classifier", "--output", "O", "--task", "sst", "--encoder", "bag", *options)


def test_training_has_the_files_asked_for(tmp_path, monkeypatch):
    def train(directory, training_files, dev_files, vectors, word_files, **others):
        raise UserError(str((training_files, dev_files, vectors, word_files)))

    monkeypatch.setattr("tfnmt.classification.training.train_classifier", train)
    options = ["--output", tmp_path / "m", "--task", "sst", "--encoder", "bag", "--no-board"]
    with pytest.raises(UserError) as caught:
        call("train-classifier", *options, "--train", "a", "--dev", "b", "--vectors", "v", "--words", "w", "x")
    assert str(caught.value) == "(['a'], ['b'], 'v', ['w', 'x'])"


def test_classifiers_are_compared_with_the_first_if_their_labels_agree(tmp_path, monkeypatch):
    right = {"one": outcomes([1, 0, 0, 0, 0, 0]), "two": outcomes([0, 1, 1, 1, 1, 1])}
    labels = {"one": ("a", "b", "c"), "two": ("a", "b", "c"), "other": ("d", "e")}

    def load(path, kind):
        name = Path(path).name
        return SimpleNamespace(name=name, configuration=SimpleNamespace(labels=labels[name], task="sst"))

    monkeypatch.setattr(tfnmt, "load", load)
    evaluate = "tfnmt.classification.evaluation.evaluate_classifier"
    monkeypatch.setattr(evaluate, lambda model, *_: ({}, right[model.name]))
    one, two, other = (tmp_path / name for name in labels)
    for path in (one, two, other):
        path.mkdir()
    command = ["evaluate-classifier", "--data", "f", "--json", "--model", one]
    of_one, of_two = json.loads(call(*command, two)).values()
    expected = mcnemar(right["one"], right["two"])
    with pytest.raises(UserError, match=f"--model {one}: named 2 times; name each model once"):
        call(*command, one)
    assert "mcnemar_p" not in of_one and of_two["mcnemar_p"] == pytest.approx(expected) and expected < 1
    with pytest.raises(UserError, match="other: its task has other labels than that of .*one"):
        call(*command, other)
