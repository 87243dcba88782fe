"""What a run knows of its progress, kept and written."""

import csv
import math

from tfnmt.training.progress import Progress


def test_round_trip_through_a_tensor():
    progress = Progress(5, epoch=2, batches=3, steps=13, metrics=[0.1, 3.0], seconds=1.5, best_score=-0.1 - 0.2)
    progress.history = [{"epoch": 1, "dev_loss": 0.1}]
    other = Progress()
    other.restore(progress.to_text())
    assert other == progress


def test_history_has_a_row_for_each_epoch(tmp_path):
    progress = Progress(5, history=[{"epoch": 1, "dev_loss": 0.5}, {"epoch": 2, "dev_loss": 0.25}])
    for _ in range(2):
        progress.write_history(tmp_path / "history.csv")
        with open(tmp_path / "history.csv", newline="") as file:
            assert list(csv.DictReader(file)) == [{"epoch": "1", "dev_loss": "0.5"}, {"epoch": "2", "dev_loss": "0.25"}]


def test_a_score_that_is_no_number_is_none():
    history = [{"epoch": i, "dev_loss": loss} for i, loss in enumerate([math.nan, 3.0, 2.0, math.nan], start=1)]
    progress = Progress(5, history=history)
    assert [progress.best_epoch_until(epoch, "loss") for epoch in range(5)] == [0, 0, 2, 3, 3]


def test_the_best_epoch_has_the_lowest_loss_or_the_highest_of_other_scores():
    scores = [(3.0, 20.0), (2.0, 30.0), (4.0, 30.0), (1.0, 10.0)]
    history = [{"epoch": i, "dev_loss": loss, "dev_bleu": bleu} for i, (loss, bleu) in enumerate(scores, start=1)]
    progress = Progress(5, history=history)
    assert [progress.best_epoch_until(epoch, "loss") for epoch in (1, 3, 4)] == [1, 2, 4]
    assert [progress.best_epoch_until(epoch, "bleu") for epoch in (1, 3, 4)] == [1, 2, 2]
