"""TensorFlow Serving's gRPC interface: PredictionService and ModelService."""

import contextlib
import logging

import grpc
import tensorflow as tf
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigResponse
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server
from tensorflow_serving.apis.predict_pb2 import PredictResponse
from tensorflow_serving.apis.prediction_service_pb2_grpc import (
    PredictionServiceServicer,
    add_PredictionServiceServicer_to_server,
)

from tfnmt.serving.health import Health
from tfnmt.serving.limits import Limits
from tfnmt.serving.metadata import model_metadata, model_status
from tfnmt.serving.proto_tensors import string_arrays
from tfnmt.serving.requests import RequestError, invalid
from tfnmt.serving.retries import PUSHBACK
from tfnmt.serving.service import Service

_PREDICT = "tensorflow/serving/predict"
logger = logging.getLogger(__name__)


def add_services(server: grpc.aio.Server, service: Service, limits: Limits) -> None:
    """Let a server answer by TensorFlow Serving's two services, and gRPC's health service."""
    add_HealthServicer_to_server(Health(service.readiness, limits.watches), server)
    add_PredictionServiceServicer_to_server(_Prediction(service), server)
    add_ModelServiceServicer_to_server(_Model(service), server)


@contextlib.asynccontextmanager
async def _errors_as_status(context):
    try:
        yield
    except RequestError as error:
        later = ((PUSHBACK, str(1000 * error.retry_seconds)),) if error.retry_seconds else ()
        await context.abort(error.code, error.message, later)
    except (grpc.aio.AbortError, grpc.RpcError):
        raise
    except Exception:  # one failed call must not end the server
        logger.exception("a request failed")
        await context.abort(grpc.StatusCode.INTERNAL, "internal error, see the server's log")


def _model_version(specification):
    """(name, version number or None, label) of a `ModelSpec`."""
    number = specification.version.value if specification.HasField("version") else None
    return specification.name, number, specification.version_label


class _Prediction(PredictionServiceServicer):
    def __init__(self, service):
        self.service = service

    async def Predict(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            with self.service.measured("grpc", request.model_spec.name) as measurement:
                version = self.service.models.find(*_model_version(request.model_spec))
                signature = version.signature(request.model_spec.signature_name)
                measurement.signature = signature.name
                _check_filter(request.output_filter, signature.definition)
                inputs = string_arrays(request.inputs, signature)
                outputs = await version.compute(signature, inputs)
                return _response(request, version, signature, outputs)

    async def GetModelMetadata(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            _check_metadata_request(request)
            version = self.service.models.find(*_model_version(request.model_spec))
            return model_metadata(version, request.model_spec.name)

    async def Classify(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            self._refuse(request.model_spec, "classify")

    async def Regress(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            self._refuse(request.model_spec, "regress")

    async def MultiInference(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            for task in request.tasks:
                self._refuse(task.model_spec, "classify or regress")
            raise invalid("Inference request with zero tasks")

    def _refuse(self, specification, method):
        """No signature here is for that method; but a model that there is not is the greater mistake."""
        version = self.service.models.find(*_model_version(specification))
        version.signature(specification.signature_name)
        raise invalid(f"Expected {method} signature method_name to be tensorflow/serving/{method}. Was: {_PREDICT}")


class _Model(ModelServiceServicer):
    def __init__(self, service):
        self.service = service

    async def GetModelStatus(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            if not request.HasField("model_spec"):
                raise invalid("Missing ModelSpec")
            return model_status(self.service.models.states(*_model_version(request.model_spec)))

    async def HandleReloadConfigRequest(self, request, context):  # noqa: N802
        async with _errors_as_status(context):
            self.service.admin.check(dict(context.invocation_metadata()).get("authorization"))
            await self.service.models.reload(request.config)
            return ReloadConfigResponse()


def _check_metadata_request(request):
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    if not request.metadata_field:
        raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
    for field in request.metadata_field:
        if field != "signature_def":
            raise invalid(f"Metadata field {field} is not supported")


def _check_filter(names, definition):
    if len(set(names)) < len(names):
        raise invalid("duplicate output tensor alias in output_filter")
    for name in names:
        if name not in definition.outputs:
            known = ", ".join(sorted(definition.outputs))
            raise invalid(f"output tensor alias not found in signature: {name}; there are {known}")


def _response(request, version, signature, outputs):
    response = PredictResponse()
    response.model_spec.name = request.model_spec.name
    response.model_spec.version.value = version.number
    response.model_spec.signature_name = signature.name
    for name in request.output_filter or outputs:
        response.outputs[name].CopyFrom(tf.make_tensor_proto(outputs[name], signature.definition.outputs[name].dtype))
    return response
