"""One text after the other, asked of a server over one connection, as a client under load does."""

import http.client
import json
from collections.abc import Callable

import grpc
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

TIMEOUT = 60
"""Seconds that a client waits for its answer; then the answer is lost."""
SERVER_ERRORS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS)


class ServerError(Exception):
    """The server says that it failed itself: 5xx, or gRPC's INTERNAL, UNKNOWN or DATA_LOSS."""


class RefusedError(Exception):
    """The server says that the request is wrong: 4xx."""


def rest_asker(address: str, model: str) -> Callable[[str], str]:
    """A function from a sentence to its translation, that asks over one kept connection.

    It raises `ServerError`, `RefusedError`, or what `http.client` does without an answer.
    """
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT)

    def ask(sentence):
        try:
            connection.request("POST", f"/v1/models/{model}:predict", json.dumps({"instances": [sentence]}))
            response = connection.getresponse()
            body = response.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()  # the next request opens a new one
            raise
        if response.status >= 500:
            raise ServerError(f"{response.status} {body}")
        if response.status != 200:
            raise RefusedError(f"{response.status} {body}")
        (prediction,) = json.loads(body)["predictions"]
        return prediction["translation"]

    return ask


def grpc_asker(address: str, model: str) -> Callable[[str], str]:
    """A function from a sentence to its translation, that asks over one channel.

    It raises `ServerError`, or the `grpc.RpcError` of a refusal or of no answer.
    """
    stub = prediction_stub(address)

    def ask(sentence):
        request = PredictRequest()
        request.model_spec.name = model
        request.inputs["text"].CopyFrom(text_tensor([sentence.encode()]))
        try:
            response = stub.Predict(request, timeout=TIMEOUT)
        except grpc.RpcError as error:
            if error.code() in SERVER_ERRORS:
                raise ServerError(f"{error.code().name} {error.details()}") from None
            raise
        return response.outputs["translation"].string_val[0].decode()

    return ask


def prediction_stub(address: str) -> PredictionServiceStub:
    """Over a connection of its own, as that of a client elsewhere."""
    return PredictionServiceStub(grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]))


def text_tensor(values: list[bytes], rows: int | None = None) -> tensor_pb2.TensorProto:
    """A tensor of texts; it declares `rows` if that is given."""
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=values)
    tensor.tensor_shape.dim.add(size=len(values) if rows is None else rows)
    return tensor
