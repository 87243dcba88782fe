"""What a model card tells of settings and scores."""

import math

import pytest

from tfnmt.errors import UserError
from tfnmt.training.model_card import best_scores, curve, nearest_preset, shortened, sparkline
from tfnmt.training.progress import Progress, read_history
from tfnmt.translation.presets import PRESETS


def row(epoch, **figures):
    return {"epoch": epoch, "steps": 10 * epoch, "seconds": 2.5 * epoch, "loss": 1 / epoch} | figures


def test_settings_are_compared_with_the_preset_that_has_most_of_them():
    for name, preset in PRESETS.items():
        assert nearest_preset(preset, PRESETS) == (name, "")
    changed = PRESETS["multi30k"].override(["decoder_units=300", "weight_average=none"])
    name, table = nearest_preset(changed, PRESETS)
    assert name == "multi30k"
    assert table.splitlines()[2:] == ["| `decoder_units` | 300 | 256 |", "| `weight_average` | none | 0.998 |"]


def test_bars_are_as_high_as_the_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([7.0, -7.0, 0.0, math.nan]) == "█▁▅ "
    assert sparkline([3.0, 3.0]) == "▁▁" and sparkline([]) == ""


def test_of_many_epochs_some_are_in_the_table_the_last_one_too():
    lines = curve([row(epoch, dev_loss=float(epoch)) for epoch in range(1, 31)]).splitlines()
    assert lines[0] == "300 batches in 1 min 15 s."
    assert lines[2].startswith("    dev_loss  ▁") and len(lines[2].split()[1]) == 30
    shown = [line.split(" | ")[0].strip("| ") for line in lines if line.startswith("| ")]
    assert shown == ["epoch", *map(str, range(1, 31, 3)), "30"]


def test_scores_are_those_of_the_best_weights():
    history = [row(1, dev_loss=2.0, dev_bleu=30.0), row(2, dev_loss=1.0, dev_bleu=20.0)]
    assert best_scores(Progress(history=history, best_epoch=1, best_score=30.0), "bleu") == {
        "dev_loss": 2.0,
        "dev_bleu": 30.0,
    }
    assert best_scores(Progress(history=history, best_epoch=2, best_score=-1.0), "loss") == {
        "dev_loss": 1.0,
        "dev_bleu": 20.0,
    }
    # Weights of a moment within an epoch, whose row has been replaced since.
    assert best_scores(Progress(history=history, best_epoch=2, best_score=31.0), "bleu") == {"dev_bleu": 31.0}
    assert best_scores(Progress(), "bleu") == {}


def test_history_is_read_as_it_was_written(tmp_path):
    history = [row(1, dev_loss=1 / 3), row(2, dev_loss=1e-5)]
    Progress(history=history).write_history(tmp_path / "history.csv")
    assert read_history(tmp_path / "history.csv") == history
    assert read_history(tmp_path / "none.csv") == []


@pytest.mark.parametrize("text", ["epoch\none\n", f'epoch\n"{"1" * 200_000}\n'])
def test_a_broken_history_is_told(text, tmp_path):
    (tmp_path / "history.csv").write_text(text)
    with pytest.raises(UserError, match=r"history.csv: is broken \("):
        read_history(tmp_path / "history.csv")


def test_epochs_may_have_different_figures(tmp_path):
    """As those of a run that goes on with another version."""
    history = [row(1, dev_loss=3.0), row(2, dev_loss=2.0, dev_bleu=1.0)]
    Progress(history=history).write_history(tmp_path / "history.csv")
    assert read_history(tmp_path / "history.csv") == history
    lines = curve(history).splitlines()
    assert [line.split() for line in lines if line.startswith("    dev")] == [["dev_loss", "█▁"], ["dev_bleu", "▁"]]


def test_a_sample_is_cut_where_it_is_too_long():
    assert shortened("ä" * 300) == "ä" * 300
    assert shortened("ä" * 301) == "ä" * 300 + " …"
