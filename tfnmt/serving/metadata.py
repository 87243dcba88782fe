"""What the server tells about its models, as the messages of TensorFlow Serving."""

from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataResponse, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

_OK, _UNKNOWN = 0, 2


def signature_map(version):
    """The signatures of a `Version`."""
    signatures = SignatureDefMap()
    for key, definition in version.signatures.items():
        signatures.signature_def[key].CopyFrom(definition)
    return signatures


def model_metadata(version, name):
    """A `Version` and its signatures."""
    response = GetModelMetadataResponse()
    response.model_spec.name = name
    response.model_spec.version.value = version.number
    response.metadata["signature_def"].Pack(signature_map(version))
    return response


def model_status(states):
    """{version: (state, error message)} as a message."""
    response = GetModelStatusResponse()
    for number, (state, message) in states.items():
        status = response.model_version_status.add(version=number, state=state)
        status.status.error_code = _UNKNOWN if message else _OK
        status.status.error_message = message
    return response
