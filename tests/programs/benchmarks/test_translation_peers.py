"""What the workers of other translation toolkits are given, told by a worker that only tells what it got."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tfnmt.errors import UserError
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt_programs.benchmarks import joeynmt_peer, marian_peer, peer_process, translation_speed
from tfnmt_programs.benchmarks.untrained import untrained_translator
from tfnmt_programs.benchmarks.work import Multiplications

TELLS = """
import json, sys, numpy
settings, arrays = json.load(open(sys.argv[1])), numpy.load(sys.argv[2])
print(json.dumps([settings, {name: array.tolist() for name, array in arrays.items()}]), flush=True)
"""
SIZES = {"source_embedding_size": 2, "target_embedding_size": 2, "encoder_units": 3, "decoder_units": 4}
OPTIONS = {"peer_python": sys.executable, "threads": 1, "beam_size": 5, "batch_size": 2, "mixed_precision": None}
BATCHES = [{"source": np.array([[5, 6, 3], [5, 3, 0]]), "steps": 4}]


@pytest.fixture(autouse=True)
def workers_tell(tmp_path, monkeypatch):
    monkeypatch.setattr(peer_process, "PEERS", tmp_path)
    for name in ("joeynmt", "ctranslate2", "marian"):
        (tmp_path / f"{name}_worker.py").write_text(TELLS)


def model(**settings):
    return untrained_translator(TranslatorConfiguration(**SIZES | settings), 20)


def options(**others):
    return SimpleNamespace(**OPTIONS | {"peer_precision": "float32"} | others)


@pytest.mark.parametrize("name, settings", [("ctranslate2", {"units": 128}), ("marian", {"units": 4, "batch_size": 2})])
def test_a_toolkit_gets_our_batches_and_as_many_steps(name, settings):
    with translation_speed.PEERS[name].start_translating(model(), BATCHES, options(peer_precision="int8")) as peer:
        told, arrays = peer.answer()
    assert arrays == {"source_0": BATCHES[0]["source"].tolist(), "steps_0": 4}
    sizes = {name: size for name, size in told.items() if name.endswith("vocabulary_size")}
    assert set(sizes.values()) == {20}
    assert told.items() >= (settings | {"beam_size": 5, "threads": 1, "precision": "int8"}).items()


def test_marian_trains_on_our_batches():
    batches = [({"source": BATCHES[0]["source"], "target": np.array([[2, 7], [2, 0]])}, np.array([[7, 3], [3, 0]]))]
    with marian_peer.start_training(model(), batches, 0.01, 1, options()) as peer:
        told, arrays = peer.answer()
    assert "beam_size" not in told and told["batch_size"] == 2
    assert arrays == {"source_0": BATCHES[0]["source"].tolist(), "labels_0": [[7, 3], [3, 0]]}


def test_what_a_toolkit_has_not_is_said():
    with pytest.raises(UserError, match="peer_precision=int8: allowed is float32 of JoeyNMT"):
        joeynmt_peer.start_translating(model(), BATCHES, options(peer_precision="int8"))
    with pytest.raises(UserError, match="conditional=false: allowed is True, beside Marian"):
        marian_peer.start_translating(model(conditional=False), BATCHES, options())
    with pytest.raises(UserError, match="mixed_precision=both: allowed is ours, beside Marian"):
        marian_peer.start_training(model(), [], 0.01, 1, options(mixed_precision="both"))


def test_marian_s_multiplications():
    weights = {
        "encoder_Wemb": (100, 2),
        "decoder_Wemb": (100, 2),
        "encoder_bi_W": (2, 6),
        "encoder_bi_b": (1, 6),
        "decoder_Wc_att": (6, 7),
        "decoder_ff_state_W": (6, 4),
        "decoder_U_att": (7, 1),
        "decoder_cell1_U": (4, 8),
        "decoder_cell1_b": (1, 8),
    }
    counts = Multiplications(source_word=12 + 42, sentence=24, target_word=32 + 200, word_pair=7 + 6)
    assert marian_peer.marian_multiplications(weights, 6) == counts
    untied = marian_peer.marian_multiplications(weights | {"decoder_ff_logit_l2_W": (2, 50)}, 6)
    assert untied.target_word == 32 + 100
