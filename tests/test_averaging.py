"""Averaging the checkpoints of a run: the means, and what is wrong in one line."""

import shutil

import keras
import numpy as np
import pytest

import tfnmt
import tfnmt.averaging as averaging
from tests.translation.test_searcher import SIZES
from tfnmt.averaging import average_checkpoints
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.model_directory import save_configuration, save_tokenizers, save_weights
from tfnmt.training.progress import Progress
from tfnmt.translation.presets import PRESETS
from tfnmt.translation.training import compile_for_training, train_translator


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run's directory with three checkpoints, whose weights are 1, 2 and 6 times the model's own."""
    directory = tmp_path_factory.mktemp("run")
    keras.utils.set_random_seed(1)
    tokenizer = WordTokenizer(["a", "b"])
    model = tfnmt.Translator(tfnmt.TranslatorConfiguration(**SIZES, output_dropout=0.1), tokenizer, tokenizer)
    save_tokenizers(model, directory)
    save_configuration(model, directory)
    save_weights(model, directory)
    compile_for_training(model, TrainingConfiguration(weight_average=0.9), 10)
    model.optimizer.build(model.trainable_variables)
    progress, own = Progress(10), model.get_weights()
    checkpoints = Checkpoints(directory / "checkpoints", model, progress, keep=3)
    for progress.steps, factor in ((5, 1), (10, 2), (15, 6)):
        for weight, value in zip(model.weights, own, strict=True):
            weight.assign(factor * value)
        checkpoints.save()
    return directory, own


def test_the_mean_of_the_last(run, tmp_path, logged):
    directory, own = run
    for last, names, factor in ((2, ["step-15", "step-10"], 4), (3, ["step-15", "step-10", "step-5"], 3)):
        assert average_checkpoints(directory, last, tmp_path / str(last)) == names
        model = tfnmt.load(tmp_path / str(last))
        for value, expected in zip(model.get_weights(), own, strict=True):
            np.testing.assert_allclose(value, factor * expected, rtol=1e-6)
    missing = f"has no model card: {directory}: no run has begun there (it has no run.json); --output begins one"
    assert logged() == [f"{tmp_path / name}: {missing}" for name in "23"]
    with pytest.raises(UserError, match="2: a model is there already; name another --output"):
        average_checkpoints(directory, 1, tmp_path / "2")


def test_the_checkpoint_before_the_first_step_does_not_count(run, tmp_path):
    """It is not trained; a run that ends before it has enough others keeps it."""
    directory = shutil.copytree(run[0], tmp_path / "run")
    for path in (directory / "checkpoints").glob("step-5.*"):
        path.rename(path.with_name(path.name.replace("step-5", "step-0")))
    with pytest.raises(UserError, match="checkpoints: has 2 of the 3 checkpoints asked for"):
        average_checkpoints(directory, 3, tmp_path / "mean")
    assert average_checkpoints(directory, 2, tmp_path / "mean") == ["step-15", "step-10"]


@pytest.mark.slow
def test_the_last_checkpoint_alone_has_the_dev_scores_of_the_run(tmp_path):
    """With the loss that was trained, label smoothing and mean over sentences too."""
    settings = ["epochs=1", "steps=5", "label_smoothing=0.2", "loss_mean=sentences", "selection=loss"]
    preset = PRESETS["tiny"].override([*settings, *(f"{key}={size}" for key, size in SIZES.items())])
    _, progress = train_translator(tmp_path / "run", preset)
    average_checkpoints(tmp_path / "run", 1, tmp_path / "mean")
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    for name in ("dev_loss", "dev_perplexity", "dev_token_accuracy"):
        assert f"- {name} {progress.history[-1][name]:.4g}\n" in card


@pytest.mark.slow
def test_the_last_checkpoint_of_a_classifier_has_the_dev_scores_of_the_run(tmp_path):
    sizes = ("embedding_size=6", "units=8", "tracker_units=5", "head_units=8")
    preset = CLASSIFIER_PRESETS["tiny"].override(["encoder=spinn", "steps=2", "selection=loss", *sizes])
    paths = TASKS["snli"].write_sample(tmp_path)
    _, progress = train_classifier(tmp_path / "run", preset, [paths["dev"]], [paths["dev"]])
    average_checkpoints(tmp_path / "run", 1, tmp_path / "mean")
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    for name in ("dev_accuracy", "dev_loss", "dev_transition_accuracy", "dev_parse_f1"):
        assert f"- {name} {progress.history[-1][name]:.4g}\n" in card


@pytest.mark.parametrize("failing", ["save_tokenizers", "save_weights", "_write_card", "write_with_digest"])
def test_after_a_full_disk_the_same_command_goes_on(failing, run, tmp_path, monkeypatch):
    directory, _ = run

    def fail(*_):
        raise UserError("cannot be written")

    with monkeypatch.context() as patched, pytest.raises(UserError, match="cannot be written"):
        patched.setattr(averaging, failing, fail)
        average_checkpoints(directory, 2, tmp_path)
    assert average_checkpoints(directory, 2, tmp_path) == ["step-15", "step-10"]
    tfnmt.load(tmp_path)


def test_a_run_whose_best_weights_are_gone_has_its_checkpoints_yet(run, tmp_path):
    directory, own = run
    copy = shutil.copytree(directory, tmp_path / "copy")
    (copy / "model.weights.h5").unlink()
    assert average_checkpoints(copy, 1, tmp_path / "new") == ["step-15"]
    for value, expected in zip(tfnmt.load(tmp_path / "new").get_weights(), own, strict=True):
        np.testing.assert_allclose(value, 6 * expected, rtol=1e-6)
    for has_history, why in ((False, "is not there before the first epoch has been scored"), (True, "was removed")):
        if has_history:
            (copy / "history.csv").touch()
        with pytest.raises(UserError) as caught:
            tfnmt.load(copy)
        expected = (
            f"{copy / 'model.weights.h5'}: {why}; tfnmt train-translator --resume {copy} goes on with the training"
        )
        assert str(caught.value) == expected


def test_what_is_wrong_is_told(run, tmp_path):
    directory, _ = run
    with pytest.raises(UserError, match="checkpoints: has 3 of the 4 checkpoints asked for"):
        average_checkpoints(directory, 4, tmp_path / "new")
    for last in (0, -1):
        with pytest.raises(UserError, match=f"last={last}: allowed is a whole number from 1"):
            average_checkpoints(directory, last, tmp_path / "new")
    cut_off = shutil.copytree(directory, tmp_path / "cut off")
    data = cut_off / "checkpoints" / "step-10.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(
        UserError, match="checkpoints: one of the last cannot be read .*; delete it, or try a smaller --last"
    ):
        average_checkpoints(cut_off, 2, tmp_path / "new")
    with pytest.raises(UserError, match="nowhere: there is no such model directory"):
        average_checkpoints("nowhere", 1, tmp_path / "new")
    other = tfnmt.TranslatorConfiguration(**SIZES | {"decoder_units": 5})
    tokenizers = tfnmt.load(directory).tokenizers
    save_tokenizers(tfnmt.Translator(other, *tokenizers), tmp_path)
    save_configuration(tfnmt.Translator(other, *tokenizers), tmp_path)
    save_weights(tfnmt.Translator(other, *tokenizers), tmp_path)
    (tmp_path / "checkpoints").symlink_to(directory / "checkpoints")
    with pytest.raises(UserError, match="checkpoints: is of another model than config.json tells of"):
        average_checkpoints(tmp_path, 1, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_card_names_the_run_where_it_is_the_working_directory(run, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(averaging, "_write_card", lambda *arguments: told.append(arguments[3]))
    monkeypatch.chdir(run[0])
    average_checkpoints(".", 2, tmp_path / "mean")
    assert told == [f"the mean of step-15, step-10 of {run[0].name}"]


def test_a_file_is_no_directory_to_write(run, tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(UserError, match="file: is a file; name a directory as --output"):
        average_checkpoints(run[0], 1, tmp_path / "file")
