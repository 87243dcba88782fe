"""The benchmark: what it counts, how it alternates, how it speaks with a peer. None has to be installed."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.commands.calls import call
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS, Preset
from tfnmt_programs.benchmarks import translation_speed
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.matrix_rate import matrix_rate
from tfnmt_programs.benchmarks.memory_rate import memory_rate
from tfnmt_programs.benchmarks.peer_process import PeerProcess
from tfnmt_programs.benchmarks.reading_speed import reading_speed, write_pairs
from tfnmt_programs.benchmarks.tensorboard_cost import tensorboard_cost
from tfnmt_programs.benchmarks.translator_training import compare_training, our_model
from tfnmt_programs.benchmarks.work import meets, our_weights, products_per_target_word

# Two pairs: 3 and 1 source words, 2 and 2 target words.
SOURCE = np.array([[5, 6, 3], [3, 0, 0]])
LABELS = np.array([[7, 3], [8, 3]])
BATCH = ({"source": SOURCE, "target": LABELS}, LABELS)

# Stands in for JoeyNMT: claims the weights of a small model, and to be done in a quarter of a second.
FAKE_WORKER = """
import json, sys
print(json.dumps({"weights": {"decoder.output_layer.weight": [10, 4]}, "encoder_size": 4}), flush=True)
for line in sys.stdin:
    print(json.dumps({"seconds": 0.25}), flush=True)
"""


def tokenizers(source_words=7, target_words=9):
    return [WordTokenizer([f"w{i}" for i in range(count)]) for count in (source_words, target_words)]


def test_products_are_counted_by_what_each_weight_meets():
    weights = {
        "src_embed.lut.weight": (100, 2),
        "encoder.rnn.weight_ih_l0": (3, 2),  # 4 source words
        "encoder.rnn.bias_ih_l0": (3,),
        "decoder.bridge_layer.weight": (5, 2),  # 2 sentences
        "decoder.attention.energy_layer.weight": (1, 7),  # 3 · 2 + 1 · 2 pairs of words
        "decoder.output_layer.weight": (10, 4),  # 4 target words
    }
    multiplications = 4 * 3 * 2 + 2 * 5 * 2 + 8 * (7 + 6) + 4 * 10 * 4
    assert products_per_target_word(weights, 6, [BATCH]) == 2 * multiplications / 4
    assert products_per_target_word(weights, 6, [BATCH, BATCH]) == 2 * multiplications / 4


def test_every_matrix_of_ours_is_known():
    names = {"conditional": None, "input_feeding": None, "multi30k": None}
    for kind in names:
        shapes, encoder_size = our_weights(
            our_model(SimpleNamespace(model=kind, model_size=6, micro_batches=1), tokenizers())
        )
        names[kind] = {name: meets(name) for name, shape in shapes.items() if len(shape) == 2}
        assert kind == "multi30k" or encoder_size == 6
    assert names["conditional"] == {
        "encoder/E/embeddings": "nothing",
        "encoder/layer_0_forward/W": "source words",
        "encoder/layer_0_forward/U": "source words",
        "encoder/layer_0_backward/W": "source words",
        "encoder/layer_0_backward/U": "source words",
        "decoder/E/embeddings": "nothing",
        "decoder/z_0_0/kernel": "sentences",
        "decoder/first/W": "target words",
        "decoder/first/U": "target words",
        "decoder/attention/W_a": "target words",
        "decoder/attention/U_a": "source words",
        "decoder/attention/v": "pairs of words",
        "decoder/second/W": "target words",
        "decoder/second/U": "target words",
        "decoder/w": "target words",
    }
    assert names["input_feeding"]["decoder/W_f"] == "target words"
    assert names["multi30k"]["decoder/E/embeddings"] == "nothing"
    assert names["multi30k"]["decoder/w"] == "target words"  # tied, and multiplied with all the same


def test_ours_has_at_least_the_products_of_joeynmt():
    """The table of multiplications for a target word in `benchmarks.translator_training`, at 512 units."""
    joeynmt = 768 * 1536 + 512 * 1536 + 512 * 512 + 1024 * 512 + 512 * 7859
    assert joeynmt == 6_776_320
    for kind, count in (("conditional", 7_038_464), ("input_feeding", 7_431_680)):
        model = our_model(SimpleNamespace(model=kind, model_size=512, micro_batches=1), tokenizers(1, 7855))
        shapes, _ = our_weights(model)
        in_words = [
            np.prod(shape) for name, shape in shapes.items() if len(shape) == 2 and meets(name) == "target words"
        ]
        assert sum(in_words) == count >= joeynmt


def test_sides_take_turns_at_going_first():
    calls = []

    def side(name, values):
        return lambda: calls.append(name) or next(values)

    measurements = {"ours": side("ours", iter([30.0, 20.0, 60.0])), "peer": side("peer", iter([10.0, 10.0, 15.0]))}
    rates = alternate(measurements, rounds=3)
    assert calls == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert rates == {"ours": [30.0, 20.0, 60.0], "peer": [10.0, 10.0, 15.0]}
    figures = ratio_figures(**rates)
    assert figures == {"ours": 30.0, "peer": 10.0, "ratio": 3.0, "ratio_min": 2.0, "ratio_max": 4.0}


def test_matrix_rate_of_any_shape():
    assert matrix_rate(3, 4, 8, seconds=0.001) > 0
    assert matrix_rate(4, 4, 4, seconds=0.001) > 0


def test_figures_of_a_comparison(tmp_path, monkeypatch):
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "joeynmt_worker.py").write_text(FAKE_WORKER)
    monkeypatch.setattr("tfnmt_programs.benchmarks.joeynmt_peer.PEERS", tmp_path / "peers")
    (tmp_path / "text.tsv").write_text("a b a\tc d\nb a\td d c\n" * 4)
    options = SimpleNamespace(
        model="conditional",
        model_size=8,
        batch_size=2,
        batches=2,
        micro_batches=2,
        rounds=2,
        threads=1,
        peer_python=sys.executable,
    )
    options.mixed_precision = "ours"
    figures = compare_training(ParallelFiles(str(tmp_path / "text.tsv")), options)
    assert figures["unit"] == "target words/s"
    assert figures["peer_weights"] == 40
    assert 2 * 2 * 3 / 0.25 <= figures["peer"] <= 2 * 2 * 4 / 0.25
    assert figures["ratio_min"] <= figures["ratio"] <= figures["ratio_max"]
    assert figures["share_of_matrix_rate"] > 0 < figures["matrix_gflops"]
    json.dumps(figures)

    with pytest.raises(UserError, match="has 4 full batches of 2 pairs, fewer than 5"):
        compare_training(ParallelFiles(str(tmp_path / "text.tsv")), SimpleNamespace(**vars(options) | {"batches": 5}))


def test_a_worker_that_ends_says_why(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text("import a_peer_that_is_not_installed")
    with PeerProcess(sys.executable, worker, tmp_path, {}) as peer:
        with pytest.raises(UserError, match="has ended: ModuleNotFoundError: No module named 'a_peer_that"):
            peer.answer()
        with pytest.raises(UserError, match="has ended: ModuleNotFoundError"):
            peer.ask()
    with pytest.raises(UserError, match="nowhere/python: No such file or directory; name a Python"):
        PeerProcess(tmp_path / "nowhere" / "python", worker, tmp_path, {})


def test_a_peer_is_asked_for_at_once(capsys):
    with pytest.raises(SystemExit) as ended:
        call("benchmark", "train-translator")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the following arguments are required: --peer, --peer-python")


def test_figures_of_translating(monkeypatch):
    """Of a preset: as many words as there are in the sentences, whatever the random weights would write."""
    sizes = dict.fromkeys(("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units"), 2)
    small = Preset(model=TranslatorConfiguration(**sizes, decoder_units=4), text=TextConfiguration(vocabulary_size=9))
    monkeypatch.setitem(PRESETS, "small", small)
    monkeypatch.setattr(translation_speed, "matrix_rate", lambda *shape: 2.0)
    monkeypatch.setattr(translation_speed, "memory_rate", lambda: 4.0)
    options = SimpleNamespace(preset="small", beam_size=3, batch_size=4, rounds=1)
    vars(options).update(dict.fromkeys(("model", "source", "target", "peer", "shortlist")), precision="float32")
    figures = translation_speed.translation_speed(options)
    assert figures["words"] == 200 and figures["sentences"] == 10
    assert figures["seconds_per_word"] == pytest.approx(1 / figures["ours"] / 20)
    # The decoder's matrices, [in, out]: three times GRU and its U, W_a, v, readout, scores of 9 words.
    gru, second, attention, readout = 2 * 12 + 4 * 12, 4 * 12 + 4 * 12, 4 * 2 + 2, 4 * 2 + 2 * 2 + 4 * 2
    assert figures["mbytes_per_step"] == pytest.approx(4e-6 * (gru + second + attention + readout + 2 * 9))
    assert figures["floor_of_memory"] == pytest.approx(figures["mbytes_per_step"] / 4.0 / 1000 / 4)
    assert figures["floor_of_operations"] == pytest.approx(figures["mflop_per_word"] / 2.0 / 1000)
    assert figures["share_of_matrix_rate"] == pytest.approx(
        figures["floor_of_operations"] / figures["seconds_per_word"]
    )
    json.dumps(figures)


def test_the_cost_of_writing_for_tensorboard(tmp_path):
    files = [ParallelFiles(str(tmp_path / name)) for name in ("train.tsv", "dev.tsv")]
    for file in files:
        Path(file.source).write_text("a b a\tc d\nb a\td d c\n" * 4)
    sizes = dict.fromkeys(("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units"), 2)
    preset = Preset(
        model=TranslatorConfiguration(**sizes, decoder_units=4),
        text=TextConfiguration(tokenizer="words", vocabulary_size=9),
        training=TrainingConfiguration(epochs=2),
    )
    figures = tensorboard_cost(preset, *files)
    assert 0 < figures["board_seconds"] < figures["seconds"]
    assert figures["share_of_time"] == pytest.approx(figures["board_seconds"] / figures["seconds"])


def test_a_large_file_is_read(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", 30)
    figures = reading_speed(tmp_path / "pairs.jsonl", "snli", batch_size=4, batches=3)
    assert figures["examples"] == 30
    assert figures["examples_per_second"] == pytest.approx(4 * figures["batches_per_second"])
    assert figures["seconds_to_first_batch"] > 0 < figures["seconds_of_check"]


def test_memory_rate():
    assert memory_rate(megabytes=1, seconds=0.001) > 0
