"""Small models, as training leaves them."""

import io
import sys

import pytest

from tests.commands.calls import call
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.data.tasks import TASKS


@pytest.fixture(scope="session")
def translator(tmp_path_factory):
    """The directory of a small translator."""
    directory = tmp_path_factory.mktemp("translator")
    for name, count, split in (("train", 90, "train"), ("dev", 20, "dev")):
        pairs = sample_pairs(count, 1, split)
        (directory / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    sizes = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")
    options = ["--set", *(f"{name}=8" for name in sizes), "selection=loss", "warmup_steps=1", "batch_size=8"]
    files = ["--source", directory / "train.tsv", "--dev-source", directory / "dev.tsv"]
    call("train-translator", "--output", directory / "model", "--no-board", "--epochs", 2, *files, *options)
    return directory / "model"


@pytest.fixture(scope="session")
def parser(tmp_path_factory):
    """The directory of a small classifier that parses."""
    directory = tmp_path_factory.mktemp("parser")
    return trained_classifier(directory, "sst", "spinn")


def trained_classifier(directory, task, encoder):
    """The directory of a small classifier."""
    paths = TASKS[task].write_sample(directory)
    for name, count in (("train", 20), ("dev", 9)):
        paths[name].write_text("".join(paths[name].read_text().splitlines(keepends=True)[:count]))
    sizes = ["--set", "embedding_size=6", "units=8", "head_units=8", "batch_size=8"]
    files = ["--train", paths["train"], "--dev", paths["dev"]]
    options = ["--task", task, "--encoder", encoder, "--no-board", "--epochs", 1]
    call("train-classifier", "--output", directory / "model", *options, *sizes, *files)
    return directory / "model"


@pytest.fixture
def printed(monkeypatch):
    """`printed(verb, text, *options)`: what a command makes of bytes on its standard input."""

    def run(verb, text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return call(verb, *options)

    return run
