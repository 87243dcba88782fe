"""A client of this project's server or of TensorFlow Serving itself, by REST or by gRPC as its URL says."""

import contextlib
import random
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

import grpc
import requests

from tfnmt.errors import UserError

# CANCELLED is the status of a request whose server stops before it answers.
_RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class PredictError(Exception):
    """The server refuses a request, or does not answer in time.

    Args:
        status: the HTTP status, or the name of the gRPC status.
        message: the server's.
    """

    def __init__(self, status: int | str, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


def connect(url: str, deadline: float = 60.0, retries: int = 5) -> "RestClient | GrpcClient":
    """A client for `http://HOST:PORT` or `https://…` (REST), or `grpc://HOST:PORT`.

    Args:
        url: of the server.
        deadline: seconds that a call may take, all its retries included.
        retries: how often a call is repeated, with exponential backoff, when the server cannot be reached or is
            unavailable. That is safe: a prediction changes nothing.

    Raises:
        UserError: the URL is neither.
    """
    parts = urlsplit(url)
    with contextlib.suppress(ValueError):  # the port is not a number
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return RestClient(url.rstrip("/"), deadline, retries)
        if parts.scheme == "grpc" and parts.hostname and parts.port:
            return GrpcClient(parts.netloc, deadline, retries)
    raise UserError(f"{url}: use http://HOST:PORT or grpc://HOST:PORT")


class _Client:
    def __init__(self, deadline: float, retries: int):
        self._deadline = deadline
        self._retries = retries

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _retry(self, attempt):
        """Call `attempt(seconds left)` until it succeeds; between `_RetryableError`s with exponential backoff."""
        end, pause = time.monotonic() + self._deadline, 0.1
        for last in [False] * self._retries + [True]:
            left = end - time.monotonic()
            try:
                return attempt(left)
            except _RetryableError as error:
                wait = pause * random.uniform(0.5, 1.0)
                if last or time.monotonic() + wait >= end:
                    raise error.problem from None
            time.sleep(wait)
            pause = min(2 * pause, 5.0)


class _RetryableError(Exception):
    def __init__(self, problem):
        super().__init__(str(problem))
        self.problem = problem


class RestClient(_Client):
    """See `connect`."""

    def __init__(self, url: str, deadline: float, retries: int):
        super().__init__(deadline, retries)
        self._url = url
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy between a client and its server

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[str]],
        signature: str = "serving_default",
        version: int | None = None,
    ) -> dict[str, list]:
        """Outputs of a signature.

        Args:
            model: the model's name.
            inputs: texts by input, as many for each.
            signature: the signature's name.
            version: a version's number; by default the newest.

        Returns:
            {output: nested list of strings or numbers}, the first dimension as long as the inputs.

        Raises:
            PredictError: the server refuses, or does not answer before the deadline.
        """
        outputs = self._call(
            "POST", f"{_path(model, version)}:predict", {"signature_name": signature, "inputs": inputs}
        )
        outputs = outputs["outputs"]
        if isinstance(outputs, dict):
            return outputs
        (name,) = self.signatures(model, version)[signature]["outputs"]  # REST leaves out the name of a single output
        return {name: outputs}

    def signatures(self, model: str, version: int | None = None) -> dict[str, dict[str, list[str]]]:
        """{signature: {"inputs": [name, ...], "outputs": [name, ...]}}."""
        described = self._call("GET", f"{_path(model, version)}/metadata")
        definitions = described["metadata"]["signature_def"]["signature_def"]
        return {
            name: {side: sorted(definition[side]) for side in ("inputs", "outputs")}
            for name, definition in sorted(definitions.items())
            if not name.startswith("__")
        }

    def status(self, model: str) -> dict[int, str]:
        """{version: state}, such as {3: "AVAILABLE"}."""
        states = self._call("GET", _path(model, None))["model_version_status"]
        return {int(each["version"]): each["state"] for each in states}

    def close(self) -> None:
        self._session.close()

    def _call(self, method, path, body=None):
        def attempt(seconds):
            try:
                response = self._session.request(method, self._url + path, json=body, timeout=max(seconds, 0.001))
            except requests.Timeout as error:
                raise PredictError("DEADLINE_EXCEEDED", f"no answer from {self._url} in time") from error
            except requests.ConnectionError as error:
                raise _RetryableError(PredictError("UNAVAILABLE", f"{self._url} cannot be reached")) from error
            if response.ok:
                return response.json()
            problem = PredictError(response.status_code, _message(response))
            raise _RetryableError(problem) if response.status_code in (429, 502, 503) else problem

        return self._retry(attempt)


class GrpcClient(_Client):
    """See `connect`; the methods are those of `RestClient`."""

    def __init__(self, address: str, deadline: float, retries: int):
        super().__init__(deadline, retries)
        self._address = address
        self._channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[str]],
        signature: str = "serving_default",
        version: int | None = None,
    ) -> dict[str, list]:
        import tensorflow as tf
        from tensorflow_serving.apis.predict_pb2 import PredictRequest
        from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

        request = PredictRequest()
        _specify(request.model_spec, model, version)
        request.model_spec.signature_name = signature
        for name, values in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(values, None if values else tf.string))
        response = self._call(PredictionServiceStub(self._channel).Predict, request)
        return {name: _lists(tf.make_ndarray(proto)) for name, proto in response.outputs.items()}

    def signatures(self, model: str, version: int | None = None) -> dict[str, dict[str, list[str]]]:
        from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
        from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

        request = GetModelMetadataRequest(metadata_field=["signature_def"])
        _specify(request.model_spec, model, version)
        response = self._call(PredictionServiceStub(self._channel).GetModelMetadata, request)
        definitions = SignatureDefMap()
        response.metadata["signature_def"].Unpack(definitions)
        return {
            name: {"inputs": sorted(definition.inputs), "outputs": sorted(definition.outputs)}
            for name, definition in sorted(definitions.signature_def.items())
            if not name.startswith("__")
        }

    def status(self, model: str) -> dict[int, str]:
        from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest, ModelVersionStatus
        from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub

        request = GetModelStatusRequest()
        _specify(request.model_spec, model, None)
        response = self._call(ModelServiceStub(self._channel).GetModelStatus, request)
        return {each.version: ModelVersionStatus.State.Name(each.state) for each in response.model_version_status}

    def close(self) -> None:
        self._channel.close()

    def _call(self, method, request):
        def attempt(seconds):
            try:
                return method(request, timeout=max(seconds, 0.001))
            except grpc.RpcError as error:
                problem = PredictError(error.code().name, error.details())
                raise _RetryableError(problem) if error.code() in _RETRIED else problem from None

        return self._retry(attempt)


def _path(model, version):
    path = f"/v1/models/{quote(model, safe='')}"
    return path if version is None else f"{path}/versions/{version}"


def _specify(specification, model, version):
    specification.name = model
    if version is not None:
        specification.version.value = version


def _message(response):
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return response.text.strip()[:200]


def _lists(array):
    """An array as nested lists, bytes as text."""

    def text(value):
        if isinstance(value, list):
            return [text(part) for part in value]
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    return text(array.tolist())
