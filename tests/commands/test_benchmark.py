"""The benchmark's command line; the benchmarks themselves have tests of their own."""

import pytest

from tests.commands.calls import call
from tfnmt import pretrained
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks import corpus_translation


def test_a_corpus_is_translated_by_a_model_that_comes_with_the_library(monkeypatch):
    monkeypatch.setattr(corpus_translation, "compare_corpus", lambda model, *_: {"model": str(model)})
    assert str(pretrained.FOLDER / "sample-en-de") in call("benchmark", "corpus", "--model", "sample-en-de")


def test_a_peer_is_asked_for_at_once(capsys):
    with pytest.raises(SystemExit) as ended:
        call("benchmark", "train-translator")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the following arguments are required: --peer, --peer-python")


PRESET, TORCH = ["translate", "--preset", "tiny"], ["train-classifier", "--encoder", "spinn", "--peer", "batch-1"]
JOEYNMT = ["train-translator", "--peer", "joeynmt", "--peer-python", "p", "--model", "multi30k"]


@pytest.mark.parametrize(
    "options, complaint",
    [
        ([*PRESET, "--peer-precision", "int8"], "--peer-precision: means nothing without --peer; leave it out"),
        ([*PRESET, "--peer-python", "p"], "--peer-python: means nothing without --peer"),
        (["translate", "--model", "m", "--sentences", 7], "--sentences: means nothing without --preset"),
        ([*TORCH, "--peer-threads", 8], "--peer-threads: means nothing with --peer batch-1"),
        ([*TORCH, "--peer-python", "p"], "--peer-python: means nothing with --peer batch-1"),
        ([*JOEYNMT, "--model-size", 64], "--model-size: means nothing with --model multi30k"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, complaint):
    with pytest.raises(UserError, match=f"^{complaint}"):
        call("benchmark", *options)
