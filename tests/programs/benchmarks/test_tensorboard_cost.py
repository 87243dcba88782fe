"""The share of a run's time that TensorBoard's callbacks take."""

from pathlib import Path

import pytest

from tfnmt.data.parallel import ParallelFiles
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import Preset
from tfnmt_programs.benchmarks.tensorboard_cost import tensorboard_cost

pytestmark = pytest.mark.slow


def test_the_cost_of_writing_for_tensorboard(tmp_path):
    files = [ParallelFiles(str(tmp_path / name)) for name in ("train.tsv", "dev.tsv")]
    for file in files:
        Path(file.source).write_text("a b a\tc d\nb a\td d c\n" * 4)
    sizes = dict.fromkeys(("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units"), 2)
    preset = Preset(
        model=TranslatorConfiguration(**sizes, decoder_units=4, bidirectional=False, conditional=False),
        text=TextConfiguration(tokenizer="words", vocabulary_size=9),
        training=TrainingConfiguration(epochs=2),
    )
    figures = tensorboard_cost(preset, *files)
    assert 0 < figures["board_seconds"] < figures["seconds"]
    assert figures["share_of_time"] == pytest.approx(figures["board_seconds"] / figures["seconds"])
