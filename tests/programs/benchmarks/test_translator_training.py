"""The benchmark of training a translator, beside a stand-in for JoeyNMT."""

import json
import sys
from types import SimpleNamespace

import pytest

from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks.translator_training import compare_training

pytestmark = pytest.mark.slow

# Stands in for JoeyNMT: claims the weights of a small model, and to be done in a quarter of a second.
FAKE_WORKER = """
import json, sys
print(json.dumps({"weights": {"decoder.output_layer.weight": [10, 4]}, "encoder_size": 4}), flush=True)
for line in sys.stdin:
    print(json.dumps({"seconds": 0.25}), flush=True)
"""


def test_figures_of_a_comparison(tmp_path, monkeypatch):
    (tmp_path / "joeynmt_worker.py").write_text(FAKE_WORKER)
    monkeypatch.setattr("tfnmt_programs.benchmarks.peer_process.PEERS", tmp_path)
    (tmp_path / "text.tsv").write_text("a b a\tc d\nb a\td d c\n" * 4)
    options = SimpleNamespace(
        model="conditional",
        model_size=8,
        batch_size=2,
        batches=2,
        micro_batches=2,
        rounds=2,
        threads=1,
        peer="joeynmt",
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
