"""Serve exported models on this machine with TensorFlow Serving's REST and gRPC interfaces, and a page at /."""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser, model_directory, positive
from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError, errors_in
from tfnmt.processors import processors
from tfnmt.serving.limits import Limits, RequestLimits
from tfnmt.serving.options import Address, BatchingOptions, ServerOptions, batching_options, read_token
from tfnmt.tensorflow_start import import_tensorflow

IMPORT_TENSORFLOW = False
"""The server imports it itself: it lives before."""
SERVABLES = "saved_models"


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add(
        "--model",
        type=model_directory,
        nargs="+",
        metavar="DIR",
        help="trained models, by directory or name, in the place of exported ones: they are exported first",
    )
    add(
        "--precision",
        choices=("float32", "bfloat16", "int8"),
        help="how those of --model are exported; see tfnmt export --help (default: float32)",
    )
    add("--models", metavar="DIR", help=f"the folder of servables (default: {SERVABLES})")
    host, rest_port, grpc_port = Address.host, Address.rest_port, Address.grpc_port
    add("--host", default=host, help=f"0.0.0.0 admits other machines (default: {host}, only this one)")
    add("--rest-port", type=port, default=rest_port, metavar="N", help=f"0 is any free port (default: {rest_port})")
    add("--grpc-port", type=port, default=grpc_port, metavar="N", help=f"0 is any free port (default: {grpc_port})")
    add("--max-batch-size", type=positive, metavar="N", help="texts in one batch (default: that of batching.config)")
    add(
        "--batch-wait-ms",
        type=milliseconds,
        metavar="T",
        help="how long a batch waits for more texts (default: that of batching.config)",
    )

    add(
        "--max-batch-tokens",
        type=positive,
        metavar="N",
        help="texts in one batch times the tokens (words or subwords) of the longest"
        f" (default: {BatchingOptions.max_batch_tokens})",
    )
    rows, connections = RequestLimits.rows, Limits.connections
    add("--max-request-rows", type=positive, default=rows, metavar="N", help=f"texts in one request (default: {rows})")
    of_model = "(default: what each exported model allows)"
    add("--max-request-tokens", type=positive, metavar="N", help=f"tokens of all texts in one request {of_model}")
    add("--max-text-tokens", type=positive, metavar="N", help=f"tokens of one text {of_model}")
    add(
        "--max-connections",
        type=positive,
        default=connections,
        metavar="N",
        help=f"open HTTP connections (default: {connections})",
    )
    add("--certificate", metavar="F", help="serve by TLS with the certificate in this PEM file; needs --key")
    add("--key", metavar="F", help="the private key of --certificate")
    add("--admin-token-file", metavar="F", help="metrics and changes of the models need the token in this file")
    add("--access-log", action="store_true", help="log each request on standard error")


def port(text: str) -> int:
    """For `type=` of an option: the number of a port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: a whole number from 0 to 65535")
    return int(text)


def milliseconds(text: str) -> float:
    """For `type=` of an option: a time of at most a minute."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 60_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number of milliseconds from 0 to 60000")
    return value


def export_to(folder: str, models: list[str], precision: str | None = None) -> None:
    """Export trained models to a folder, in processes of their own: as many at once as there are processors.

    Args:
        folder: that of all servables.
        models: model directories.
        precision: what `tfnmt export` has as --precision; None for its default.

    Raises:
        UserError: two have the same name; one cannot be exported, and its own complaint stands on standard error.
    """
    names = [_name(directory) for directory in models]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"--model: two models are called {name!r}; name each folder once, and rename one of two")
    at_once = processors()
    for first in range(0, len(models), at_once):
        with contextlib.ExitStack() as stack:
            exports = [
                (directory, stack.enter_context(_export(folder, directory, precision, number)))
                for number, directory in enumerate(models[first : first + at_once])
            ]
            if first == 0:
                import_tensorflow()  # the server will need it; there is time for it now
            for directory, export in exports:
                if export.wait():
                    raise UserError(f"{directory}: was not exported")


def _name(directory):
    """The name that a model is served by: that of its folder, also where it was given as "."."""
    return Path(directory).resolve().name


@contextlib.contextmanager
def _export(folder, directory, precision, number):
    """A process that exports a model. Of those at work together the first tells how far it is, the others at their end
    what they had to say."""
    command = [sys.executable, "-m", "tfnmt", "export", "--model", directory, "--output", folder]
    command += ["--name", _name(directory)] + ([] if precision is None else ["--precision", precision])
    environment = environment_with() | {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}  # else the first would take a GPU whole
    with tempfile.TemporaryFile() as said:
        errors = said if number else None
        export = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            yield export
        finally:
            export.kill()  # where another has failed, or a signal has come
            export.wait()
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))


@contextlib.contextmanager
def folder_of_servables(arguments: argparse.Namespace) -> Iterator[str]:
    """`--models`; or, with `--model`, a temporary folder of what has been exported for this server alone."""
    if not arguments.model:
        yield arguments.models or SERVABLES
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        export_to(folder, arguments.model, arguments.precision)
        yield folder


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.serving.server import run_server
    from tfnmt.serving.tls import Certificate

    if arguments.model and arguments.models is not None:
        raise UserError(f"--models {arguments.models}: --model is served in its place; give only one of them")
    if arguments.precision is not None and not arguments.model:
        raise UserError(f"--precision {arguments.precision}: is chosen by tfnmt export; it goes with --model alone")
    if arguments.precision == "bfloat16":
        from tfnmt.training.model_directory import require_kind

        for directory in arguments.model:
            with errors_in("--precision bfloat16 is for translators"):
                require_kind(directory, "translator")
    for directory in arguments.model or ():
        if not Path(directory).is_dir():
            raise UserError(
                f"{directory}: there is no such model directory; tfnmt models lists the models that are there"
            )
    if (arguments.certificate is None) != (arguments.key is None):
        raise UserError("--certificate and --key belong together: give both or none")
    limits = Limits(
        connections=arguments.max_connections,
        request_rows=arguments.max_request_rows,
        text_tokens=arguments.max_text_tokens,
        request_tokens=arguments.max_request_tokens,
    )
    scheme = "http" if arguments.certificate is None else "https"

    def opened(address: Address) -> None:
        host = f"[{address.host}]" if ":" in address.host else address.host
        print(f"REST {scheme}://{host}:{address.rest_port} gRPC {host}:{address.grpc_port}", file=output, flush=True)

    with folder_of_servables(arguments) as folder:
        options = ServerOptions(
            Address(arguments.host.strip("[]"), arguments.rest_port, arguments.grpc_port),
            batching_options(folder, arguments.max_batch_size, arguments.batch_wait_ms, arguments.max_batch_tokens),
            limits,
            None if arguments.certificate is None else Certificate(arguments.certificate, arguments.key),
            None if arguments.admin_token_file is None else read_token(arguments.admin_token_file),
            arguments.access_log,
        )
        run_server(folder, options, opened, import_tensorflow)
    output.flush()
    os._exit(0)  # nothing is left to save, and Python would wait for a model that is being loaded
