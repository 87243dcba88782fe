"""Comparing parses, by hand; and which examples are evaluated."""

import numpy as np
import pytest

from tests.commands.calls import call
from tfnmt.averaging import average_checkpoints
from tfnmt.classification.evaluation import compare_parses, evaluate_classifier, spans
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets

SETTINGS = ["task=listops", "embedding_size=4", "units=4", "tracker_units=4", "head_units=4", "batch_size=4", "steps=2"]


def test_spans_of_a_tree():
    _, transitions = from_brackets("( ( a b ) ( c ( d e ) ) )")
    assert spans(np.array([*transitions, 0, 0])) == {(0, 2), (3, 5), (2, 5), (0, 5)}


def test_compare_parses():
    given = np.array([from_brackets("( ( a b ) ( c d ) )")[1], [1, *[0] * 6]])
    predicted = np.array([from_brackets("( ( ( a b ) c ) d )")[1], [1, *[0] * 6]])
    same = np.sum(given[0] == predicted[0]) + 1
    # Of the spans ab, cd and abcd, the predicted tree has ab and abcd.
    assert compare_parses(predicted, given) == (same, 8, 2, 3)
    assert compare_parses(np.pad(predicted, [(0, 0), (0, 4)]), given) == (same, 8, 2, 3)


@pytest.mark.parametrize("encoder", ["spinn-pi-nt", "rl-spinn"])
def test_what_is_trained_without_broken_trees_is_evaluated_without_them(encoder, tmp_path):
    """In training, after the averaging of checkpoints, and by the command, if it is told to."""
    data = tmp_path / "data.tsv"
    data.write_text("1\t( [MAX 1 )\n" * 5 + "3\t( 1 2 3 )\n")
    preset = CLASSIFIER_PRESETS["tiny"].override([*SETTINGS, f"encoder={encoder}", "broken_trees=skip"])
    run, mean = tmp_path / "run", tmp_path / "mean"
    model, progress = train_classifier(run, preset, [data], [data])
    parses = {"dev_parse_f1"} if encoder == "rl-spinn" else set()
    assert parses <= progress.history[-1].keys()

    average_checkpoints(run, 1, mean)
    for name in {"dev_accuracy", *parses}:
        assert f"- {name} " in (mean / "README.md").read_text(encoding="utf-8")

    figures, _ = evaluate_classifier(model, [data], broken_trees="skip")
    assert figures["examples"] == 5
    command = ["evaluate-classifier", "--model", mean, "--data", data]
    assert "examples  5\n" in call(*command, "--broken-trees", "skip")
    if encoder == "spinn-pi-nt":
        with pytest.raises(UserError, match=r"line 6: .*; broken_trees=skip \(to evaluate, --broken-trees skip\)"):
            call(*command)
