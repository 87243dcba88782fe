"""Requests that are malformed, huge or slow."""

import http.client
import json
import random
import socket
from urllib.parse import urlsplit

import grpc
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tfnmt_programs.asking import TIMEOUT, prediction_stub, text_tensor


class Rude:
    """Requests that should hurt no server; each method sends one and returns its status, None if it waits for none.

    Args:
        rest_url, grpc_url: where they go.
        model: the model's name.
        generator: draws what they are like.
    """

    KINDS = (
        "broken_json",
        "wrong_types",
        "huge_body",
        "long_text",
        "many_rows",
        "half_body",
        "half_head",
        "bad_tensor",
    )
    HELD = 20
    """Connections that stay half sent, at most; the oldest is closed for a new one."""

    def __init__(self, rest_url: str, grpc_url: str, model: str, generator: random.Random):
        self.url, self.model, self.generator = urlsplit(rest_url), model, generator
        self.stub = prediction_stub(urlsplit(grpc_url).netloc)
        self.held: list[socket.socket] = []

    def close(self) -> None:
        """Close what is held."""
        for connection in self.held:
            connection.close()

    def broken_json(self) -> int | str | None:
        """JSON with a part cut off."""
        body = json.dumps({"instances": ["a small dog"], "signature_name": "serving_default"})
        return self._post(body[: self.generator.randrange(len(body))].encode())

    def wrong_types(self) -> int | str | None:
        """Valid JSON of another kind."""
        wrong = ([1, 2], [[["x"]]], {"a": 1}, [None], ["\ud800"], [["a"], "b"], 7)
        return self._post(json.dumps({"instances": self.generator.choice(wrong)}).encode())

    def huge_body(self) -> int | str | None:
        """More bytes than are read."""
        return self._post(b" " * 6_000_000)

    def long_text(self) -> int | str | None:
        """One text of very many words."""
        return self._post(
            json.dumps({"instances": ["dog " * self.generator.choice((1_000, 10_000, 200_000))]}).encode()
        )

    def many_rows(self) -> int | str | None:
        """Very many texts."""
        return self._post(json.dumps({"instances": ["a dog"] * self.generator.choice((2_000, 50_000))}).encode())

    def half_body(self) -> int | str | None:
        """A request that is never finished."""
        path = f"/v1/models/{self.model}:predict"
        return self._hold(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".encode() + b"x" * 1000)

    def half_head(self) -> int | str | None:
        """A head that is never finished."""
        return self._hold(f"POST /v1/models/{self.model}:predict HTTP/1.1\r\nHost: ".encode())

    def bad_tensor(self) -> int | str | None:
        """A tensor that declares more, or other, than it holds."""
        request = PredictRequest()
        request.model_spec.name = self.model
        tensor = text_tensor([b"a"], self.generator.choice((0, 2, 100_000_000, -1)))
        tensor.dtype = self.generator.choice((types_pb2.DT_STRING, types_pb2.DT_FLOAT, 21))
        request.inputs["text"].CopyFrom(tensor)
        try:
            self.stub.Predict(request, timeout=TIMEOUT)
        except grpc.RpcError as error:
            return error.code().name
        return "OK"

    def _post(self, body):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=TIMEOUT)
        try:
            connection.request("POST", f"/v1/models/{self.model}:predict", body)
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def _hold(self, data):
        connection = socket.create_connection((self.url.hostname, self.url.port), timeout=TIMEOUT)
        connection.sendall(data)
        self.held.append(connection)
        if len(self.held) > self.HELD:
            self.held.pop(0).close()
