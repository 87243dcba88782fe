"""The benchmark of SPINN classifiers: the batches it draws, the products it counts, the figures it gives."""

import json
import sys
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.text.brackets import REDUCE, SHIFT
from tfnmt.text.transitions import are_trees
from tfnmt_programs.benchmarks.classifier_training import compare_lengths, compare_training, our_model
from tfnmt_programs.benchmarks.classifier_work import training_flop_per_pair
from tfnmt_programs.benchmarks.tree_batches import (
    batches_of_file,
    equally_long_batches,
    random_batches,
    random_transitions,
    single_pairs,
)
from tfnmt_programs.benchmarks.untrained import placeholder_tokenizer

OPTIONS = SimpleNamespace(
    encoder="spinn-pi-nt",
    units=4,
    tracker_units=3,
    embedding_size=5,
    head_units=6,
    batch_size=3,
    batches=2,
    examples=None,
    task="snli",
    micro_batches=2,
    rounds=2,
    threads=1,
    peer_threads=None,
    peer="torch",
    peer_python=sys.executable,
    words=24,
    lengths=(2, 6),
)

# Stands in for PyTorch: claims the weights of a small model, and to be done in half a second.
FAKE_WORKER = """
import json, sys
print(json.dumps({"weights": {"reduce.left.weight": [10, 4]}, "torch": "none"}), flush=True)
held = []
for line in sys.stdin:
    held.append(bytearray(b"1") * 32_000_000)
    print(json.dumps({"seconds": 0.5, "each": [0.25, 0.25]}), flush=True)
"""


def test_random_trees_are_trees_of_all_words():
    random = np.random.default_rng(1)
    for words in (1, 2, 3, 20):
        transitions = random_transitions(words, random)
        assert (transitions.count(SHIFT), transitions.count(REDUCE)) == (words, words - 1)
        assert are_trees(tf.constant([transitions]))


def test_drawn_pairs_are_as_long_as_those_of_snli():
    batches = random_batches(batch_size=50, count=8, seed=1)
    first, second = (
        np.concatenate([np.split((sentences["words"] != 0).sum(axis=1), 2)[side] for sentences, _ in batches])
        for side in (0, 1)
    )
    assert abs(first.mean() - 14) < 1 and abs(second.mean() - 8.3) < 1
    sentences, labels = batches[0]
    assert labels.shape == (50,) and set(labels) == {0, 1, 2}
    np.testing.assert_array_equal(
        (sentences["transitions"] == SHIFT).sum(axis=1), (sentences["words"] != 0).sum(axis=1)
    )
    again, _ = random_batches(batch_size=50, count=8, seed=1)[0]
    np.testing.assert_array_equal(sentences["words"], again["words"])


def test_pairs_one_by_one_keep_their_trees():
    batch = random_batches(batch_size=3, count=1, seed=2)[0]
    sentences, labels = batch
    pairs = single_pairs([batch])
    assert [int(label[0]) for _, label in pairs] == labels.tolist()
    for i, (pair, _) in enumerate(pairs):
        for name, array in pair.items():
            width = array.shape[1]
            np.testing.assert_array_equal(array, sentences[name][[i, 3 + i], :width])
            assert not sentences[name][[i, 3 + i], width:].any()
        assert pair["words"].all(axis=0).any() or pair["words"].shape[1] > 1


def test_batches_of_one_length_have_so_many_words():
    ((sentences, labels),) = equally_long_batches(words=24, length=6, count=1, seed=1)
    assert sentences["words"].shape == (4, 6) and labels.shape == (2,)
    assert sentences["words"].all() and sentences["transitions"].all()


def test_batches_of_a_file(tmp_path):
    tree = "( ( a dog ) runs )"
    lines = ["gold_label\tsentence1_binary_parse\tsentence2_binary_parse"] + [f"neutral\t{tree}\t( it runs )"] * 5
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    batches, tokenizer = batches_of_file(tmp_path / "pairs.txt", "snli", 2, 2, 1)
    assert [len(labels) for _, labels in batches] == [2, 2]
    assert batches[0][0]["words"].shape == (4, 3)
    assert tokenizer.vocabulary_size == 4 + 4
    with pytest.raises(UserError, match="has 2 full batches of 2 pairs, fewer than 3"):
        batches_of_file(tmp_path / "pairs.txt", "snli", 2, 3, 1)


@pytest.mark.parametrize("encoder, tracked", [("spinn-pi-nt", 0), ("spinn", 3), ("spinn-pi", 3)])
def test_products_are_counted_by_the_inputs_of_each_layer(encoder, tracked):
    model = our_model(SimpleNamespace(**vars(OPTIONS) | {"encoder": encoder}), placeholder_tokenizer(20))
    words = np.array([[5, 6, 7], [5, 6, 0]])
    transitions = np.array([[SHIFT, SHIFT, REDUCE, SHIFT, REDUCE], [SHIFT, SHIFT, REDUCE, 0, 0]])
    batch = ({"words": words, "transitions": transitions}, np.array([1]))
    of_words = 5 * 5 * 8  # 5 words; their own gradient is not wanted
    of_parents = 3 * (4 + 4 + tracked) * 20  # 3 parents
    of_pairs = 16 * 6 + 6 * 6 + 6 * 3  # 1 pair
    of_steps = 0
    if encoder != "spinn-pi-nt":  # 8 steps of the tracker's LSTM, and of its prediction
        of_steps = 8 * ((3 * 4 + 3) * 12 + (3 * 2 if encoder == "spinn" else 0))
    multiplications = 2 * of_words + 3 * (of_parents + of_pairs + of_steps)
    assert training_flop_per_pair(model, [batch]) == 2 * multiplications
    assert training_flop_per_pair(model, [batch, batch]) == 2 * multiplications


@pytest.fixture
def quick_matrix_rate(monkeypatch):
    """Not measured again and again."""
    monkeypatch.setattr("tfnmt_programs.benchmarks.classifier_training.machine_rate", lambda: 100.0)


def test_figures_beside_a_peer(tmp_path, monkeypatch, quick_matrix_rate):
    (tmp_path / "spinn_worker.py").write_text(FAKE_WORKER)
    monkeypatch.setattr("tfnmt_programs.benchmarks.peer_process.PEERS", tmp_path)
    figures = compare_training(OPTIONS)
    assert figures["peer"] == 2 * 3 / 0.5
    assert figures["unit"] == "pairs/s"
    assert figures["peer_weights"] == 40 and figures["memory_growth"] >= 0
    assert 31_000_000 < figures["peer_memory_growth"] < 60_000_000  # of the first round, and what Python takes besides
    assert figures["ratio_min"] <= figures["ratio"] <= figures["ratio_max"]
    assert figures["matrix_gflops"] == 100
    assert figures["share_of_matrix_rate"] == pytest.approx(figures["ours"] * figures["mflop_per_pair"] / 1e5)
    json.dumps(figures)


def test_figures_by_length_and_single_pairs(monkeypatch, quick_matrix_rate):
    trained = []

    def timed_fit(model, batches):
        def train():
            trained.append([sentences["words"].shape for sentences, _ in batches])
            return 0.5 * len(batches)

        return 3.0, train

    monkeypatch.setattr("tfnmt_programs.benchmarks.classifier_training.timed_fit", timed_fit)
    figures = compare_lengths(OPTIONS)
    assert (figures["ours"], figures["peer"], figures["growth"], figures["unit"]) == (48, 48, 1, "words/s")
    assert trained[:2] == [[(4, 6)] * 2, [(12, 2)] * 2]

    trained.clear()
    figures = compare_training(SimpleNamespace(**vars(OPTIONS) | {"peer": "batch-1", "peer_python": None}))
    assert {len(batches) for batches in trained} == {2, 6}  # the same pairs, three by three and one by one
    assert (figures["ours"], figures["peer"], figures["ratio"]) == (3 / 0.5, 1 / 0.5, 3)
    assert figures["first_step_seconds"] == 3
    assert "peer_weights" not in figures


def test_torch_needs_a_python():
    with pytest.raises(UserError, match="--peer-python is missing: a Python that has torch"):
        compare_training(SimpleNamespace(**vars(OPTIONS) | {"peer_python": None}))
    with pytest.raises(UserError, match="--peer torch-by-level: goes with --encoder spinn-pi-nt alone, not spinn"):
        compare_training(SimpleNamespace(**vars(OPTIONS) | {"peer": "torch-by-level", "encoder": "spinn"}))


def test_the_task_of_the_examples_decides_the_labels():
    """Logic has seven relations, where SNLI has three."""
    sizes = {"embedding_size": 4, "units": 3, "tracker_units": 2, "head_units": 4, "micro_batches": 1}
    for task, labels in (("logic", 7), ("snli", 3)):
        options = Namespace(encoder="spinn-pi-nt", task=task, **sizes)
        assert len(our_model(options, placeholder_tokenizer(9)).configuration.labels) == labels
