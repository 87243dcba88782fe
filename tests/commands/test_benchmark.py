"""The benchmark's command line; the benchmarks themselves have tests of their own."""

import pytest

from tests.commands.calls import call
from tfnmt import pretrained
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
