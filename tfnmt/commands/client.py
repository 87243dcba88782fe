"""Send the lines of standard input to a server, this project's or TensorFlow Serving; print a line for each.

The output of the signature serving_default is plain text (a translation, a label), that of others a JSON object. For a
signature of two inputs, each line has both texts with a TAB between them, in the alphabetical order of their names:
the prefix before the text, the source before the target.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from tfnmt.commands.parser import CommandParser, seconds
from tfnmt.data.lines import batch_lines, decode_lines
from tfnmt.errors import UserError
from tfnmt.tensorflow_start import import_tensorflow

IMPORT_TENSORFLOW = False
REQUEST_SIZE = 32  # lines in one request: no more than max_batch_size in batching.config


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("--url", required=True, help="http://HOST:PORT for REST, grpc://HOST:PORT for gRPC; https and grpcs for TLS")
    add("--model", required=True, metavar="NAME", help="the model's name")
    add("--signature", default="serving_default", metavar="S", help="the signature to call (default: serving_default)")
    add("--authorities", metavar="F", help="certificates in PEM format to trust (default: well-known authorities)")
    add("--deadline", type=seconds, default=60, metavar="SECONDS", help="of each request (default: 60)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.serving.client import GrpcClient, PredictError, connect

    with connect(arguments.url, arguments.deadline, authorities=arguments.authorities) as client:
        if isinstance(client, GrpcClient):
            import_tensorflow()  # which makes its requests
        try:
            for answer in _answers(client, arguments):
                print(answer, file=output, flush=True)
        except PredictError as error:
            raise UserError(f"{arguments.url}: {error}") from error


def _answers(client: Any, arguments: argparse.Namespace) -> Iterator[str]:
    """A line for each line of standard input."""
    signatures = client.signatures(arguments.model)
    if arguments.signature not in signatures:
        raise UserError(f"{arguments.model} has no signature {arguments.signature!r}; it has {', '.join(signatures)}")
    names = signatures[arguments.signature]["inputs"]  # in alphabetical order
    lines = enumerate(decode_lines(sys.stdin.buffer, "standard input"), start=1)
    for window in batch_lines(((number, _fields(number, line, names)) for number, line in lines), REQUEST_SIZE):
        yield from _answers_to(window, names, client, arguments)


def _answers_to(
    window: list[tuple[int, list[str]]], names: list[str], client: Any, arguments: argparse.Namespace
) -> Iterator[str]:
    """A line for each numbered line of a request. If it is refused, which may be too large, its halves are sent; so in
    the end a line that is wrong is alone."""
    from tfnmt.serving.client import PredictError

    columns = zip(*(fields for _, fields in window), strict=True)
    inputs = {name: list(column) for name, column in zip(names, columns, strict=True)}
    try:
        outputs = client.predict(arguments.model, inputs, arguments.signature)
    except PredictError as error:
        too_large = error.status == 413 or "message larger than max" in error.message  # REST's and gRPC's words
        if error.status not in (400, "INVALID_ARGUMENT") and not too_large:
            raise
        if len(window) == 1:
            raise UserError(f"{arguments.url}: standard input, line {window[0][0]:,}: {error}") from error
        for half in (window[: len(window) // 2], window[len(window) // 2 :]):
            yield from _answers_to(half, names, client, arguments)
        return
    if any(not isinstance(rows, list) or len(rows) != len(window) for rows in outputs.values()):
        raise UserError(f"{arguments.url}: the answer does not have one row for each line; is it a model of texts?")
    for row in zip(*outputs.values(), strict=True):
        yield _formatted(dict(zip(outputs, row, strict=True)), arguments.signature)


def _fields(number: int, line: str, names: list[str]) -> list[str]:
    """The fields of a line, one for each input."""
    values = line.split("\t") if len(names) > 1 else [line]
    if len(values) != len(names):
        raise UserError(f"standard input, line {number:,}: {len(values)} fields; expected {' TAB '.join(names)}")
    return values


def _formatted(row: dict[str, Any], signature: str) -> str:
    """The line that shows one answer, its outputs by name."""
    if signature == "serving_default":
        texts = [value for value in row.values() if isinstance(value, str)]
        if len(texts) == 1:
            return texts[0]
    return json.dumps(row, ensure_ascii=False)
