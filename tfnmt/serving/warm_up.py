"""The requests that a version computes before it answers any: assets.extra/tf_serving_warmup_requests."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfnmt.serving.batching import Arrays
from tfnmt.serving.export import EXTRAS, WARM_UP
from tfnmt.serving.limits import RequestLimits
from tfnmt.serving.proto_tensors import string_arrays
from tfnmt.serving.requests import RequestError, Signature, check_texts

_MAXIMUM_RECORDS = 1000  # TensorFlow Serving's
_LIMITS = RequestLimits(rows=1024)  # those of clients do not count
_FRAME = 16  # bytes of a TFRecord besides its data


def warm_up_requests(path: Path, find_signature: Callable[[str], Signature]) -> Iterator[tuple[str, Arrays]]:
    """(signature's name, inputs) of the warm-up requests of a version; none if there is no such file.

    Args:
        path: of the version's folder.
        find_signature: from a signature's name ("" for the default) to the signature.

    Raises:
        ValueError: the file is not one of warm-up requests for this version.
    """
    file = path / EXTRAS / WARM_UP
    if not file.exists():
        return
    size = 0
    try:
        for number, record in enumerate(tf.data.TFRecordDataset(str(file)).as_numpy_iterator(), start=1):
            if number > _MAXIMUM_RECORDS:
                raise ValueError(f"{WARM_UP}: more than {_MAXIMUM_RECORDS:,} records")
            size += len(record) + _FRAME
            yield _request(f"{WARM_UP}: record {number}", record, find_signature)
    except tf.errors.OpError as error:
        raise ValueError(f"{WARM_UP}: cannot be read as TFRecords") from error
    if size != file.stat().st_size:  # TensorFlow takes the beginning of a record for the end of the file
        raise ValueError(f"{WARM_UP}: is cut short, or not in TFRecord format")


def _request(place, record, find_signature):
    try:
        log = PredictionLog.FromString(record)
    except DecodeError:
        raise ValueError(f"{place} is not a PredictionLog") from None
    kind = log.WhichOneof("log_type")
    if kind != "predict_log":
        raise ValueError(f"{place} is {kind or 'empty'}; a predict_log is needed")
    request = log.predict_log.request
    try:
        signature = replace(find_signature(request.model_spec.signature_name), limits=_LIMITS)
        inputs = string_arrays(request.inputs, signature)
        check_texts(inputs)
    except RequestError as error:
        raise ValueError(f"{place}: {error.message}") from None
    return signature.name, inputs
