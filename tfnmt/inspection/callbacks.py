"""What TensorBoard shows of a training, as callbacks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from tfnmt.inspection.classification_summaries import ClassificationSummaries
from tfnmt.inspection.tensorboard import LOGS, TrainingSummaries, preset_settings
from tfnmt.inspection.translation_summaries import TranslationSummaries
from tfnmt.translation.presets import Preset


def tensorboard_callbacks(
    directory: str | Path, preset: Any, profile_steps: tuple[int, int] | None = None
) -> Callable[[Any, Any], list[keras.callbacks.Callback]]:
    """What `train_translator` and `train_classifier` take as `make_callbacks`: a function that makes callbacks which
    write to DIRECTORY/logs.

    Args:
        directory: the model directory.
        preset: the run's.
        profile_steps: see `TrainingSummaries`.
    """
    logs = Path(directory, LOGS)

    def callbacks(model: Any, dev_data: Any) -> list[keras.callbacks.Callback]:
        if isinstance(preset, Preset):
            summaries = TranslationSummaries(logs, model, *dev_data.sides())
        else:
            summaries = ClassificationSummaries(logs, model, dev_data)
        return [TrainingSummaries(logs, preset_settings(preset), profile_steps), summaries]

    return callbacks
