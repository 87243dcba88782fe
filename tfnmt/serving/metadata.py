"""What the server says of its models, as TensorFlow Serving's messages."""

from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataResponse, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

from tfnmt.serving.versions import Version

_OK, _UNKNOWN = 0, 2  # codes of tensorflow.error.Code


def signature_map(version: Version) -> SignatureDefMap:
    """The signatures of a version."""
    return SignatureDefMap(signature_def={name: each.definition for name, each in version.signatures.items()})


def model_metadata(version: Version, name: str) -> GetModelMetadataResponse:
    """The signatures of a version of the model named so, with its number."""
    response = GetModelMetadataResponse()
    response.model_spec.name = name
    response.model_spec.version.value = version.number
    response.metadata["signature_def"].Pack(signature_map(version))
    return response


def model_status(states: dict[int, tuple[int, str]]) -> GetModelStatusResponse:
    """{version: (state, error message)} as a message."""
    response = GetModelStatusResponse()
    for number, (state, message) in states.items():
        status = response.model_version_status.add(version=number, state=state)
        status.status.error_code = _UNKNOWN if message else _OK
        status.status.error_message = message
    return response
