"""The JSON of TensorFlow Serving's REST interface, by rows ("instances") or by columns ("inputs").

Every input of a signature is string [rows]; outputs are strings or numbers of any shape. All of this runs in the event
loop, where nothing else happens meanwhile: so what is large is refused before it is read.
"""

import base64
import binascii
import json
from collections.abc import Callable

import numpy as np
from pydantic_core import to_json

from tfnmt.serving.requests import Signature, check_names, check_rows, failed_precondition, invalid

_MOST_MARKS = 50_000
"""Commas and opening brackets in a body, at most, those in texts too: so many values are read in some milliseconds."""


def parse_request(
    body: bytes, find_signature: Callable[[str], Signature]
) -> tuple[Signature, dict[str, np.ndarray], bool]:
    """Parse the body of a predict request.

    Args:
        body: JSON.
        find_signature: from a signature's name ("" for the default) to the signature.

    Returns:
        (signature, inputs, by_rows): arrays of bytes [rows] by name, and whether they came as "instances".

    Raises:
        RequestError: this is no such request.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_MARKS:
        raise invalid(f"JSON Parse error: more than {_MOST_MARKS:,} commas and opening brackets")
    try:
        request = json.loads(body, parse_int=float)  # no input is a number; long ones take long to be read as integers
    except ValueError as error:
        raise invalid(f"JSON Parse error: {error}") from None
    except RecursionError:
        raise invalid("JSON Parse error: brackets are nested too deeply") from None
    if not isinstance(request, dict):
        raise invalid("JSON Parse error: a predict request is an object")
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid("JSON Parse error: 'signature_name' must be a string")
    signature = find_signature(name)
    if ("instances" in request) == ("inputs" in request):
        raise invalid("Missing 'inputs' or 'instances' key: a predict request has exactly one of them")
    if "instances" in request:
        columns = _columns(request["instances"], signature)
    else:
        columns = request["inputs"]
        if not isinstance(columns, dict):
            columns = {_only_input(signature, "'inputs'"): columns}
    check_names(signature, columns)
    inputs = {key: _string_array(key, values, signature.limits) for key, values in columns.items()}
    return signature, inputs, "instances" in request


def format_response(outputs: dict[str, np.ndarray], by_rows: bool) -> bytes:
    """The body of a response: "predictions" row by row, or "outputs".

    As in TensorFlow Serving, strings are bytes, and so {"b64": "..."}, where the output's name ends in "_bytes".
    """
    return to_json(_response(outputs, by_rows))


def _response(outputs, by_rows):
    columns = {name: _as_lists(name, array) for name, array in outputs.items()}
    if len(columns) == 1:  # of one output, the name is left out
        (values,) = columns.values()
        return {"predictions" if by_rows else "outputs": values}
    if not by_rows:
        return {"outputs": columns}
    rows = zip(*columns.values(), strict=True)
    return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _only_input(signature, of):
    inputs = signature.definition.inputs
    if len(inputs) != 1:
        raise invalid(f"{of} must be an object with the keys {', '.join(sorted(inputs))}")
    return next(iter(inputs))


def _columns(instances, signature):
    """Rows → a list for each input."""
    if not isinstance(instances, list) or not instances:
        raise invalid("JSON Value: 'instances' must be a list with at least one row")
    check_rows(len(instances), signature.limits)
    named = [isinstance(row, dict) and set(row) != {"b64"} for row in instances]
    if not any(named):
        return {_only_input(signature, "every row of 'instances'"): instances}
    keys = set(instances[0]) if named[0] else set()
    if not all(named) or any(set(row) != keys for row in instances):
        raise invalid("JSON Value: every row of 'instances' must be an object with the same keys")
    return {key: [row[key] for row in instances] for key in keys}


def _string_array(name, values, limits):
    """A JSON list of strings as an array of bytes [rows]."""
    try:
        if not isinstance(values, list):
            raise ValueError("expected a list of strings")
        check_rows(len(values), limits)
        strings = np.empty(len(values), object)
        strings[:] = [_as_bytes(value) for value in values]
    except ValueError as error:
        raise invalid(f"input {name!r}: {error}") from None
    return strings


def _as_bytes(value):
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is not a character") from None
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        try:
            digits = "".join(value["b64"].split())  # white space and no padding: as TensorFlow Serving
            return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("'b64' is not base64") from None
    raise ValueError('expected a list of strings, each as text or as {"b64": "..."}')


def _as_lists(name, array):
    values = array.tolist()
    if np.iscomplexobj(array):
        raise failed_precondition(f"output {name!r} is {array.dtype.name}, which JSON cannot hold; ask by gRPC")
    if array.dtype != object:
        return values
    return _each(_as_base64 if name.endswith("_bytes") else _as_text, values)


def _each(convert, value):
    """Nested lists of bytes as such of what `convert` makes of bytes."""
    return convert(value) if isinstance(value, bytes) else [_each(convert, part) for part in value]


def _as_text(value):
    return value.decode("utf-8", "replace")


def _as_base64(value):
    return {"b64": base64.b64encode(value).decode("ascii")}
