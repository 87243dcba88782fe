"""The memory of a training run after every epoch: whether it stays, and what grows if it does not."""

import gc
import tempfile
from typing import Any

import keras

from tfnmt.classification.presets import ClassifierPreset
from tfnmt.classification.training import train_classifier
from tfnmt.inspection.callbacks import tensorboard_callbacks
from tfnmt.translation.presets import Preset
from tfnmt.translation.training import train_translator
from tfnmt_programs.measuring import peak_memory, resident_memory


class MemoryOfEpochs(keras.callbacks.Callback):
    """Notes at the end of each epoch what the process holds. It stands after all other callbacks.

    Attributes:
        bytes: of memory.
        objects: of Python that its garbage collector knows.
        graphs: of TensorFlow that are traced and alive. It frees none that has a custom gradient.
    """

    def __init__(self):
        super().__init__()
        self.bytes: list[int] = []
        self.objects: list[int] = []
        self.graphs: list[int] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.bytes.append(resident_memory())
        gc.collect()
        objects = gc.get_objects()
        self.objects.append(len(objects))
        self.graphs.append(sum(type(thing).__name__ == "FuncGraph" for thing in objects))


def training_memory(preset: Preset | ClassifierPreset, *files: Any) -> dict[str, float | list[float]]:
    """Train as `tfnmt train-translator` or `tfnmt train-classifier` does, in a directory that is then removed.

    Args:
        preset: all that the run depends on, but the data.
        files: of training and of dev examples, as `train_translator` or `train_classifier` takes them; none for the
            sample corpus.

    Returns:
        A dictionary: "megabytes", "objects" and "graphs" after each epoch, and "peak_megabytes".
    """
    memory = MemoryOfEpochs()
    train = train_classifier if isinstance(preset, ClassifierPreset) else train_translator
    with tempfile.TemporaryDirectory() as directory:
        board = tensorboard_callbacks(directory, preset)
        train(directory, preset, *files, make_callbacks=lambda *run: [*board(*run), memory])
    megabytes = [round(size / 1e6) for size in memory.bytes]
    return {
        "megabytes": megabytes,
        "objects": memory.objects,
        "graphs": memory.graphs,
        "peak_megabytes": round(peak_memory() / 1e6),
    }
