"""Tensors as the JSON of TensorFlow Serving's REST interface, by rows ("instances") and by columns ("inputs")."""

import base64
import binascii
import json

import numpy as np
import tensorflow as tf

from tfnmt.serving.requests import invalid


def read_request(body, find_signature):
    """A predict request's body.

    Args:
        body: bytes, JSON.
        find_signature: from a signature's name ("" for the default) to (name, `SignatureDef`).

    Returns:
        (signature, inputs, by_rows): its name, a dictionary of arrays, and whether they came as "instances".

    Raises:
        RequestError: this is no such request.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise invalid("JSON Parse error: a predict request is an object")
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid("JSON Parse error: 'signature_name' must be a string")
    signature, definition = find_signature(name)
    if ("instances" in request) == ("inputs" in request):
        raise invalid("Missing 'inputs' or 'instances' key: a predict request has exactly one of them")
    if "instances" in request:
        columns = _columns(request["instances"], definition)
    else:
        columns = request["inputs"]
        if not isinstance(columns, dict) or set(columns) == {"b64"}:
            columns = {_only_input(definition): columns}
    return signature, {key: _array(key, value) for key, value in columns.items()}, "instances" in request


def answer(outputs, by_rows):
    """Outputs as the body of an answer: "predictions" row by row, or "outputs"."""
    columns = {name: _plain(name, array) for name, array in outputs.items()}
    if len(columns) == 1:
        (values,) = columns.values()
        return {"predictions" if by_rows else "outputs": values}
    if not by_rows:
        return {"outputs": columns}
    rows = zip(*columns.values(), strict=True)
    return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _only_input(definition):
    if len(definition.inputs) != 1:
        raise invalid(f"'inputs' must be an object with the keys {', '.join(sorted(definition.inputs))}")
    return next(iter(definition.inputs))


def _columns(instances, definition):
    """Rows → a list for each input."""
    if not isinstance(instances, list) or not instances:
        raise invalid("JSON Value: 'instances' must be a list with at least one row")
    named = [isinstance(row, dict) and set(row) != {"b64"} for row in instances]
    if not any(named):
        return {_only_input(definition): instances}
    keys = set(instances[0]) if named[0] else set()
    if not all(named) or any(set(row) != keys for row in instances):
        raise invalid("JSON Value: every row of 'instances' must be an object with the same keys")
    return {key: [row[key] for row in instances] for key in keys}


def _array(name, value):
    """A JSON value as an array: strings as bytes."""
    try:
        leaves, shape = [], _shape(value)
        _flatten(value, shape, leaves)
    except (ValueError, RecursionError) as error:
        raise invalid(f"input {name!r}: {error}") from None
    kinds = {type(leaf) for leaf in leaves}
    if kinds <= {bytes}:
        array = np.empty(len(leaves), object)
        array[:] = leaves
    elif kinds <= {int, float} or kinds == {bool}:
        array = np.array(leaves)
        if array.dtype.kind not in "bif":
            raise invalid(f"input {name!r}: a number out of range")
    else:
        raise invalid(f"input {name!r}: values of different types")
    return array.reshape(shape)


def _shape(value):
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return shape


def _flatten(value, shape, leaves):
    if not shape:
        leaves.append(_leaf(value))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise ValueError("lists of different lengths")
    for part in value:
        _flatten(part, shape[1:], leaves)


def _leaf(value):
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is not a character") from None
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("'b64' is not base64") from None
    raise ValueError('expected strings, numbers or {"b64": "..."}')


def _plain(name, array):
    """An array as lists; strings as text, or as base64 where the name says that they are bytes."""
    if array.dtype != object:
        return array.tolist()
    if name.endswith("_bytes"):
        return _each(array.tolist(), lambda text: {"b64": base64.b64encode(text).decode("ascii")})
    return _each(array.tolist(), lambda text: tf.compat.as_bytes(text).decode("utf-8", "replace"))


def _each(value, change):
    return [_each(part, change) for part in value] if isinstance(value, list) else change(value)
