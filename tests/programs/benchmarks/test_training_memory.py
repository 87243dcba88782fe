"""The figures of a run's memory, of a training that does nothing."""

import json

from tests.commands.calls import call
from tfnmt_programs.benchmarks import training_memory


def test_a_figure_for_every_epoch(monkeypatch):
    def train_translator(directory, preset, files, dev_files, make_callbacks):
        assert preset.training.epochs == 3 and preset.batching.batch_size == 9
        *_, memory = make_callbacks(None, None)
        for epoch in range(preset.training.epochs):
            memory.on_epoch_end(epoch)

    monkeypatch.setattr(training_memory, "train_translator", train_translator)
    monkeypatch.setattr(training_memory, "tensorboard_callbacks", lambda *_: lambda *_: [])
    figures = json.loads(call("benchmark", "memory", "--epochs", 3, "--set", "batch_size=9", "--json"))
    assert len(figures["megabytes"]) == len(figures["objects"]) == 3
    assert 50 < figures["megabytes"][0] <= figures["peak_megabytes"]
    assert figures["graphs"][0] == figures["graphs"][2]
