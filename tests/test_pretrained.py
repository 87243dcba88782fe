"""The models that come with the library: small, found by name wherever a directory is named, as good as told."""

import io
import json
import sys

import pytest

import tfnmt
from tests.commands.calls import call
from tfnmt.classification.streaming import parse_stream
from tfnmt.errors import UserError
from tfnmt.pretrained import FOLDER, about, find_model, pretrained_names
from tfnmt.training.format_version import FORMAT
from tfnmt_programs.pretraining import LARGEST, MODELS


def test_every_model_is_there_and_small():
    assert pretrained_names() == sorted(MODELS)
    for name in MODELS:
        assert about(name).title == MODELS[name][0]
        assert sum(path.stat().st_size for path in (FOLDER / name).iterdir()) <= LARGEST
        assert json.loads((FOLDER / name / "config.json").read_text(encoding="utf-8"))["format"] == FORMAT
        card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
        assert f"\n# {name}\n" in card and about(name).command in card
        assert all(f"- {measure} {score:.4g}" in card for measure, score in about(name).scores.items())


def test_the_list_has_every_model_and_its_scores():
    listed = call("models")
    assert [line for line in listed.splitlines() if not line.startswith(" ")] == pretrained_names()
    assert all(f"{measure} {score:g}" in listed for name in MODELS for measure, score in about(name).scores.items())


def test_a_path_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample-en-de").touch()
    assert find_model("sample-en-de") == FOLDER / "sample-en-de"
    (tmp_path / "sample-en-de").unlink()
    (tmp_path / "sample-en-de").mkdir()
    assert find_model("sample-en-de").resolve() == tmp_path / "sample-en-de"
    with pytest.raises(UserError, match="config.json: cannot be read"):
        tfnmt.load("sample-en-de")


def test_a_name_that_is_none():
    with pytest.raises(UserError, match="sample-de: there is no such model directory; tfnmt models lists the models"):
        tfnmt.load("sample-de")


def test_what_is_no_model_directory_is_told(tmp_path):
    (tmp_path / "a directory.keras").mkdir()
    with pytest.raises(UserError, match="config.json: cannot be read"):
        tfnmt.load(tmp_path / "a directory.keras")
    with pytest.raises(UserError, match=r"m\.keras: is not a model directory; keras\.models\.load_model loads it"):
        tfnmt.load("m.keras")
    with pytest.raises(UserError, match="kind=clasifier: allowed is translator or classifier, or None"):
        tfnmt.load("sample-spinn", kind="clasifier")


def test_a_translator_by_name(monkeypatch):
    pairs = tfnmt.sample_pairs(60, seed=0, split="test")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("".join(f"{pair[0]}\n" for pair in pairs).encode())))
    translations = call("translate", "--model", "sample-en-de").splitlines()
    assert sum(made == pair[1] for made, pair in zip(translations, pairs, strict=True)) > 40


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("sample-en")])
def test_a_parser_by_name(name, monkeypatch):
    sentence = "[MAX 2 [MIN 4 7 ] 0 ]" if name.startswith("listops") else "a small dog is running in a park"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{sentence}\n".encode())))
    brackets = call("parse", "--model", name)
    assert [word for word in brackets.split() if word not in "()"] == sentence.split()


def test_a_parser_tells_which_words_it_does_not_know(caplog):
    lines = [b"the dog is sitting .\n", b"\n", b"( a dog )\n"]
    assert len(list(parse_stream(tfnmt.load("sample-spinn"), lines, batch_size=2))) == 3
    told = "not in the model's vocabulary, so read as <unk>: 2 of 7 tokens, such as the ."
    assert [record.getMessage() for record in caplog.records] == [told]
