"""What good and rude clients have in common."""

import grpc
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

TIMEOUT = 60
"""Seconds that a client waits for its answer; then the answer is lost."""


def prediction_stub(address: str) -> PredictionServiceStub:
    """Over a connection of its own, as that of a client elsewhere."""
    return PredictionServiceStub(grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]))


def text_tensor(values: list[bytes], rows: int | None = None) -> tensor_pb2.TensorProto:
    """A tensor of texts; it declares `rows` if that is given."""
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=values)
    tensor.tensor_shape.dim.add(size=len(values) if rows is None else rows)
    return tensor
