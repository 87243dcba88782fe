"""Requests a second that the server answers, one sentence each, and how soon."""

import argparse
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.server_process import server_process
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--model", required=True, metavar="NAME", help="a servable")
    parser.add_argument(
        "--models", default="saved_models", metavar="DIR", help="the folder of servables (default: saved_models)"
    )
    parser.add_argument("--clients", type=positive, metavar="N", help="asking at once (default: 1, then 8, then 32)")
    parser.add_argument("--seconds", type=positive, default=10, metavar="T", help="of each measurement (default: 10)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.data.samples.translation import sample_pairs
    from tfnmt.serving.files import version_numbers
    from tfnmt_programs.benchmarks.serving import in_process_rate, server_figures

    folder = Path(arguments.models, arguments.model)
    versions = version_numbers(folder)
    if not versions:
        raise UserError(f"{folder}: there is no exported version; tfnmt export makes one")
    sentences = [source for source, _ in sample_pairs(200, seed=0, split="test")]
    figures = {"in_process_per_second": in_process_rate(folder / str(versions[-1]), sentences)}
    for batching, options in (("batched", []), ("unbatched", ["--max-batch-size", "1", "--batch-wait-ms", "0"])):
        with server_process(arguments.models, *options) as server:
            for clients in [arguments.clients] if arguments.clients else [1, 8, 32]:
                measured = server_figures(server.rest_url, arguments.model, sentences, clients, arguments.seconds)
                share = measured["requests_per_second"] / figures["in_process_per_second"]
                measured["share_of_in_process"] = share
                figures |= {f"{batching}_{clients}_clients_{name}": value for name, value in measured.items()}
    return figures
