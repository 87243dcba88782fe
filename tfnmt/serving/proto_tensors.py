"""The tensors of TensorFlow Serving's gRPC interface: inputs as arrays.

Every input of a signature is string [rows]. A tensor may say that it has a billion elements and bring one; so type and
shape are checked before anything is made of it.
"""

from collections.abc import Mapping

import numpy as np
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.types_pb2 import DT_STRING

from tfnmt.serving.requests import Signature, check_names, check_rows, invalid


def string_arrays(inputs: Mapping[str, TensorProto], signature: Signature) -> dict[str, np.ndarray]:
    """The inputs of a predict request as arrays of bytes [rows] by name.

    Raises:
        RequestError: they are not those of this signature, or too many rows.
    """
    check_names(signature, inputs)
    return {name: _string_array(name, proto, signature.limits) for name, proto in inputs.items()}


def _string_array(name, proto, limits):
    shape, strings = proto.tensor_shape, proto.string_val
    if proto.dtype != DT_STRING or shape.unknown_rank or len(shape.dim) != 1 or shape.dim[0].size < 0:
        raise invalid(f"input {name!r}: expected a list of strings, DT_STRING of shape [rows]")
    if proto.tensor_content:
        raise invalid(f"input {name!r}: the strings of a tensor are its string_val, not its tensor_content")
    rows = shape.dim[0].size
    check_rows(rows, limits)
    if len(strings) > rows:
        raise invalid(f"input {name!r}: {len(strings):,} strings in a tensor of shape [{rows}]")
    array = np.empty(rows, object)
    array[:] = strings[-1] if strings else b""  # what is missing is as the last one given
    array[: len(strings)] = list(strings)
    return array
