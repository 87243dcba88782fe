"""The figures of a run's memory, of a training that does nothing."""

import json

import pytest

from tests.commands.calls import call
from tfnmt_programs.benchmarks import training_memory


@pytest.mark.parametrize(
    "kind, options",
    [
        ("translator", ["batch_size=9"]),
        ("classifier", ["batch_size=9", "--encoder", "bag"]),
    ],
)
def test_a_figure_for_every_epoch(kind, options, monkeypatch):
    def train(directory, preset, files, dev_files, make_callbacks):
        batching = preset.batching if kind == "translator" else preset.examples
        assert preset.training.epochs == 3 and batching.batch_size == 9
        *_, memory = make_callbacks(None, None)
        for epoch in range(preset.training.epochs):
            memory.on_epoch_end(epoch)

    monkeypatch.setattr(training_memory, f"train_{kind}", train)
    monkeypatch.setattr(training_memory, "tensorboard_callbacks", lambda *_: lambda *_: [])
    figures = json.loads(call("benchmark", "memory", "--epochs", 3, "--set", *options, "--json"))
    assert len(figures["megabytes"]) == len(figures["objects"]) == 3
    assert 50 < figures["megabytes"][0] <= figures["peak_megabytes"]
    assert figures["graphs"][0] == figures["graphs"][2]
