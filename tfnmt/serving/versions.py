"""One version of a model, loaded from its SavedModel."""

from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its operations
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfnmt.serving.batching import Batcher
from tfnmt.serving.export import WARM_UP
from tfnmt.serving.requests import invalid

DEFAULT_SIGNATURE = "serving_default"


class Version:
    """What answers requests for one version. Loading it runs its warm-up requests: one that cannot answer is refused.

    Args:
        path: of the version's folder.
        executor: the threads that compute.
        options: `BatchingOptions`.
        observe_batch: called with the rows of every batch.

    Raises:
        OSError, ValueError, tf.errors.OpError and whatever else a broken SavedModel makes TensorFlow raise.
    """

    def __init__(self, path, executor, options, observe_batch):
        self.path = Path(path)
        self.number = int(self.path.name)
        try:
            saved = SavedModel.FromString((self.path / "saved_model.pb").read_bytes())
        except DecodeError as error:
            raise ValueError("saved_model.pb is cut short or no SavedModel") from error
        if not saved.meta_graphs:
            raise ValueError("saved_model.pb is empty")
        definitions = saved.meta_graphs[0].signature_def
        self.signatures = {name: definitions[name] for name in sorted(definitions) if not name.startswith("__")}
        self._loaded = tf.saved_model.load(str(self.path))
        self._warm_up()
        self._batchers = {
            name: Batcher(self._runner(name), executor, options, observe_batch) for name in self.signatures
        }

    @property
    def waiting_rows(self):
        return sum(batcher.waiting_rows for batcher in self._batchers.values())

    def signature(self, name):
        """(name, `SignatureDef`) of a signature; "" is the default one.

        Raises:
            RequestError: there is none of that name.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            known = ", ".join(self.signatures)
            raise invalid(f'Serving signature name: "{name}" not found in signature def; there are {known}')
        return name, self.signatures[name]

    async def compute(self, signature, inputs, rows):
        """Outputs of a signature for inputs that `checked_inputs` gave."""
        return await self._batchers[signature].submit(inputs, rows)

    def _runner(self, name):
        function = self._loaded.signatures[name]

        def run(inputs):
            tensors = {key: tf.constant(x, self.signatures[name].inputs[key].dtype) for key, x in inputs.items()}
            return {key: x.numpy() for key, x in function(**tensors).items()}

        return run

    def _warm_up(self):
        path = self.path / "assets.extra" / WARM_UP
        if not path.exists():
            return
        for record in tf.data.TFRecordDataset(str(path)):
            request = PredictionLog.FromString(record.numpy()).predict_log.request
            inputs = {key: tf.make_ndarray(proto) for key, proto in request.inputs.items()}
            self._runner(request.model_spec.signature_name or DEFAULT_SIGNATURE)(inputs)
