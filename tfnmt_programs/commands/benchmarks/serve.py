"""Requests a second that the server answers, one sentence each, and how soon."""

import argparse
import functools
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.server_process import server_process
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--model", required=True, metavar="NAME", help="an exported translator")
    parser.add_argument(
        "--models", default="saved_models", metavar="DIR", help="the folder of servables (default: saved_models)"
    )
    parser.add_argument(
        "--clients",
        type=positive,
        nargs="+",
        default=[1, 8, 32, 128],
        metavar="N",
        help="at once (default: 1 8 32 128)",
    )
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS, help="default: both")
    parser.add_argument("--unbatched", action="store_true", help="measure the server without batching, too")
    parser.add_argument("--before", metavar="DIR", help="a checkout of an earlier version, to measure its server, too")
    parser.add_argument("--seconds", type=positive, default=10, metavar="T", help="of each measurement (default: 10)")


PROTOCOLS = ("rest", "grpc")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.data.samples.translation import sample_pairs
    from tfnmt.serving.files import version_numbers
    from tfnmt_programs.benchmarks.serving import in_process_rate

    folder = Path(arguments.models, arguments.model)
    versions = version_numbers(folder)
    if not versions:
        raise UserError(f"{folder}: there is no exported version; tfnmt export makes one")
    sentences = [source for source, _ in sample_pairs(200, seed=0, split="test")]
    figures = {"in_process_per_second": in_process_rate(folder / str(versions[-1]), sentences)}
    servers: dict[str, dict] = {"": {}}
    if arguments.unbatched:
        servers["unbatched_"] = {"options": ("--max-batch-size", "1", "--batch-wait-ms", "0")}
    if arguments.before:
        servers["before_"] = {"checkout": arguments.before}
    for protocol in arguments.protocols:
        for clients in arguments.clients:
            for name, server in servers.items():
                measured = _measure_server(arguments, sentences, protocol, clients, **server)
                figures |= {f"{name}{protocol}_{clients}_clients_{key}": value for key, value in measured.items()}
    return figures


def _measure_server(arguments, sentences, protocol, clients, options=(), checkout=None):
    """A server of its own for each measurement, in turn with the other versions' servers."""
    from tfnmt_programs.asking import grpc_asker, rest_asker
    from tfnmt_programs.benchmarks.serving import server_figures

    with server_process(arguments.models, *options, checkout=checkout) as server:
        make, url = (rest_asker, server.rest_url) if protocol == "rest" else (grpc_asker, server.grpc_url)
        make_asker = functools.partial(make, urlsplit(url).netloc, arguments.model)
        return server_figures(make_asker, sentences, clients, arguments.seconds)
