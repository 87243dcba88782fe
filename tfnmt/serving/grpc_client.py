"""The client by gRPC."""

from pathlib import Path

import grpc

from tfnmt.serving.retries import PUSHBACK, Client, PredictError, RetryableError

# CANCELLED is the status of a request whose server stops before it answers.
_RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class GrpcClient(Client):
    """See `connect`; the methods are those of `RestClient`."""

    def __init__(
        self,
        address: str,
        deadline: float,
        retries: int,
        encrypted: bool = False,
        authorities: str | Path | None = None,
    ):
        super().__init__(deadline, retries)
        options = [("grpc.enable_http_proxy", 0)]
        if encrypted:
            roots = Path(authorities).read_bytes() if authorities else None
            credentials = grpc.ssl_channel_credentials(roots)
            self._channel = grpc.secure_channel(address, credentials, options=options)
        else:
            self._channel = grpc.insecure_channel(address, options=options)

    def _predict(self, model, inputs, signature, version):
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
        """End the connection."""
        self._channel.close()

    def _call(self, method, request):
        def attempt(seconds):
            try:
                return method(request, timeout=max(seconds, 0.001))
            except grpc.RpcError as error:
                problem = PredictError(error.code().name, error.details())
                if error.code() not in _RETRIED:
                    raise problem from None
                milliseconds = dict(error.trailing_metadata() or ()).get(PUSHBACK, "")
                raise RetryableError(problem, int(milliseconds) / 1e3 if milliseconds.isdecimal() else None) from None

        return self.retry(attempt)


def _specify(specification, model, version):
    specification.name = model
    if version is not None:
        specification.version.value = version


def _lists(array):
    """An array as nested lists, bytes as text."""

    def text(value):
        if isinstance(value, list):
            return [text(part) for part in value]
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    return text(array.tolist())
