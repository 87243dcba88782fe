"""A model's directory: what is saved is loaded, and whatever is wrong with it is told in one line."""

import json
import shutil
import warnings
from pathlib import Path
from unittest.mock import Mock

import h5py
import keras
import numpy as np
import pytest

import tfnmt
from tfnmt.commands.configuration_file import configured
from tfnmt.errors import UserError
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer
from tfnmt.training.model_directory import (
    load_weights,
    model_files,
    read_configuration,
    save_configuration,
    save_tokenizers,
    save_weights,
)
from tfnmt.translation.presets import Preset

LINES = [f"{a} {b}" for a in ("der", "ein", "kein") for b in ("Hund", "Hase", "Mann", "Baum")]
SIZES = {name: 4 for name in ("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units")}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of one tokenizer of each kind, and the directory it was saved to."""
    directory = tmp_path_factory.mktemp("model") / "new" / "directory"
    keras.utils.set_random_seed(1)
    configuration = tfnmt.TranslatorConfiguration(**SIZES, decoder_units=8)
    tokenizers = SubwordTokenizer.train(LINES, 20), WordTokenizer.train(LINES)
    model = tfnmt.Translator(configuration, *tokenizers)
    save_tokenizers(model, directory)
    save_configuration(model, directory, text=TextConfiguration(lowercase=True))
    save_weights(model, directory)
    return model, directory


@pytest.fixture
def copy(saved, tmp_path):
    """A directory to break, without digests, by which every change would be noticed."""
    directory = shutil.copytree(saved[1], tmp_path / "copy")
    (directory / "digests.json").unlink()
    return directory


def test_round_trip(saved):
    model, directory = saved
    loaded = tfnmt.load(directory)
    assert loaded.configuration == model.configuration
    for value, expected in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    assert loaded.translate(LINES) == model.translate(LINES)
    assert read_configuration(directory, text=TextConfiguration) == {"text": TextConfiguration(lowercase=True)}
    files = [
        "config.json",
        "digests.json",
        "model.weights.h5",
        "source.json",
        "source.model",
        "target.json",
        "target.txt",
    ]
    assert sorted(path.name for path in directory.iterdir()) == files


def test_the_files_that_decide_what_a_model_says(saved):
    model, directory = saved
    names = ["config.json", "source.json", "source.model", "target.json", "target.txt", "model.weights.h5"]
    assert model_files(directory, model.tokenizer_names) == tuple(str(directory / name) for name in names)
    assert model_files(directory, ("target",)) == tuple(str(directory / names[i]) for i in (0, 3, 4, 5))


def test_the_file_of_weights_has_the_weights_alone(saved, tmp_path):
    """The optimizer of a compiled model stays what it was, and out of the file."""
    model, directory = saved
    optimizer = keras.optimizers.Adam()
    model.compile(optimizer, "mse")
    optimizer.build(model.trainable_variables)
    save_weights(model, tmp_path)
    assert model.optimizer is optimizer
    names = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visit(names.append)
        arrays = [file[name] for name in names if isinstance(file[name], h5py.Dataset)]
        assert sum(array.size for array in arrays) == model.count_params()
    assert not [name for name in names if "optimizer" in name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Keras's, where it misses the state of an optimizer
        load_weights(model, directory)


BREAKS = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": lambda path: path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize(
    "name", ["config.json", "model.weights.h5", "source.json", "source.model", "target.json", "target.txt"]
)
def test_a_broken_file_is_named(name, how, copy):
    BREAKS[how](copy / name)
    with pytest.raises(UserError) as caught:
        tfnmt.load(copy)
    message = str(caught.value)
    assert message.startswith(f"{copy / name}: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("[" * 100_000, "is broken"),
        ('{"kind": ["x"], "model": {}}', "kind=['x']: allowed is translator or classifier"),
        ('{"model": {"encoder_layers": 100000}}', "encoder_layers=100000: allowed is an integer from 1 to 64"),
        ("[]", "the key 'model' is missing"),
        ("5", "the key 'model' is missing"),
        ('{"text": {}}', "the key 'model' is missing"),
        ('{"model": 5}', "allowed is the fields of TranslatorConfiguration"),
        ('{"model": {"encoder_unit": 5}}', "unknown key 'encoder_unit'; the nearest is 'encoder_units'"),
        ('{"model": {"encoder_units": "five"}}', "encoder_units=five: allowed is an integer"),
    ],
)
def test_a_configuration_that_is_none(text, complaint, copy):
    (copy / "config.json").write_text(text)
    with pytest.raises(UserError) as caught:
        tfnmt.load(copy)
    assert str(caught.value).startswith(f"{copy / 'config.json'}: ")
    assert complaint in str(caught.value)


def with_format(directory, version):
    description = json.loads((directory / "config.json").read_text())
    assert description.pop("format") == 1
    added = {} if version is None else {"format": version}
    (directory / "config.json").write_text(json.dumps(added | description))


def test_a_directory_of_before_there_were_versions_loads(saved, copy):
    with_format(copy, None)
    assert tfnmt.load(copy).translate(LINES) == saved[0].translate(LINES)
    settings = configured(Preset(), copy / "config.json")
    assert settings.model == saved[0].configuration and settings.text.lowercase


@pytest.mark.parametrize(
    "version, complaint",
    [
        (2, "a newer tfnmt has written this model directory, in format 2; tfnmt .* reads up to format 1: install a"),
        (0, "format=0: allowed is a whole number from 1 to 1"),
        ("1", "format=1: allowed is a whole number from 1 to 1"),
    ],
)
def test_a_directory_of_a_newer_version_is_refused(version, complaint, copy):
    with_format(copy, version)
    for read in (tfnmt.load, lambda directory: configured(Preset(), directory / "config.json")):
        with pytest.raises(UserError, match=f"config.json: {complaint}") as caught:
            read(copy)
        assert "\n" not in str(caught.value)


def test_weights_of_another_model(copy):
    description = json.loads((copy / "config.json").read_text())
    description["model"]["decoder_units"] = 9
    (copy / "config.json").write_text(json.dumps(description))
    with pytest.raises(UserError, match="model.weights.h5: is broken, cut short or of another model"):
        tfnmt.load(copy)


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", ["config.json", "model.weights.h5", "source.json", "source.model", "target.json", "target.txt"]
)
def test_one_bit_that_has_changed_is_noticed(name, saved, tmp_path):
    directory = shutil.copytree(saved[1], tmp_path / "copy")
    flip_a_bit(directory / name)
    with pytest.raises(UserError) as caught:
        tfnmt.load(directory)
    assert str(caught.value) == (
        f"{directory / name}: has changed since it was written; put the right one back or, if the change is meant,"
        f" delete {directory / 'digests.json'}"
    )


def test_a_change_that_is_meant(saved, copy):
    description = json.loads((copy / "config.json").read_text())
    description["model"]["maximum_source_length"] = 3
    (copy / "config.json").write_text(json.dumps(description))
    assert tfnmt.load(copy).configuration.maximum_source_length == 3
    save_weights(saved[0], copy)  # what is written from now on is checked again
    flip_a_bit(copy / "model.weights.h5")
    with pytest.raises(UserError, match="model.weights.h5: has changed since it was written"):
        tfnmt.load(copy)


def test_a_kill_between_digest_and_weights_leaves_a_model(saved, tmp_path, monkeypatch):
    directory = shutil.copytree(saved[1], tmp_path / "copy")
    other = saved[0].get_weights()
    other[0] = other[0] + 1
    model = tfnmt.load(directory)
    for _ in range(2):
        with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
            context.setattr(Path, "write_bytes", Mock(side_effect=KeyboardInterrupt))
            save_weights(model, directory)
        tfnmt.load(directory)
        model.set_weights(other)
        save_weights(model, directory)
        tfnmt.load(directory)


@pytest.mark.parametrize("text", ["[]", "{", '{"config.json": 5}', "[" * 100_000])
def test_digests_that_are_none(text, copy):
    (copy / "digests.json").write_text(text)
    with pytest.raises(UserError, match=r"digests.json: is broken \(.*\); delete it to have nothing checked"):
        tfnmt.load(copy)


def test_weights_left_over_are_noticed(copy):
    with h5py.File(copy / "model.weights.h5", "r+") as file:
        file["decoder/another"] = np.zeros(3)
    with pytest.raises(UserError) as caught:
        tfnmt.load(copy)
    assert str(caught.value) == (
        f"{copy / 'model.weights.h5'}: has decoder/another, which is not part of the model that config.json describes"
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(value, saved, copy):
    model = tfnmt.load(copy)
    weights = model.get_weights()
    weights[-1].flat[0] = value
    model.set_weights(weights)
    save_weights(model, copy)
    with pytest.raises(UserError, match="model.weights.h5: a weight is not a finite number; train the model again"):
        tfnmt.load(copy)


def test_no_directory(tmp_path):
    with pytest.raises(UserError) as caught:
        tfnmt.load(tmp_path / "absent")
    assert (
        str(caught.value)
        == f"{tmp_path / 'absent'}: there is no such model directory; tfnmt models lists the models that are there"
    )


def test_a_full_disk_leaves_the_model(saved, copy, full_disk):
    model, _ = saved
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    with full_disk(300):
        with pytest.raises(UserError, match=r"model.weights.h5: cannot be written \(File too large\)"):
            save_weights(model, copy)
        with pytest.raises(UserError, match=r"config.json: cannot be written \(File too large\)"):
            save_configuration(model, copy)
    (copy / "digests.json").unlink()
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    tfnmt.load(copy)


def test_a_directory_that_cannot_be_made(saved, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"file/model: cannot be written \(Not a directory\)"):
        save_tokenizers(saved[0], tmp_path / "file" / "model")
