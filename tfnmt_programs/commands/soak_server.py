"""Put a server under minutes of load, good, malformed, huge and slow; count what was lost or wrong."""

import argparse
import tempfile
from pathlib import Path
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError

LONGEST = 100_000
"""Minutes, which are some ten weeks."""


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--model", metavar="NAME", help="a servable, a translator (default: one is trained on the sample)"
    )
    parser.add_argument("--models", metavar="DIR", help="with --model: the folder of servables (default: saved_models)")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="T", help="how long (default: 10)")
    parser.add_argument(
        "--clients", type=positive, default=32, metavar="N", help="asking at once, from 2 (default: 32)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of what clients do (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.soak.server import export_sample_translator, soak_server

    if arguments.models and not arguments.model:
        raise UserError("--models: means nothing without --model, which names one of the folder")
    if arguments.clients < 2:
        raise UserError("--clients 1: there must be 2 at least, a good one and a rude one")
    if not 0 < arguments.minutes < LONGEST:
        raise UserError(f"--minutes {arguments.minutes:g}: should be more than 0 and less than {LONGEST:,}")
    with tempfile.TemporaryDirectory() as folder:
        servable = (
            Path(arguments.models or "saved_models", arguments.model)
            if arguments.model
            else export_sample_translator(Path(folder))
        )
        figures = soak_server(servable, arguments.minutes, arguments.clients, arguments.seed)
    print_figures(figures, arguments.json, output)
    failures = "lost", "mixed", "server_errors", "server_errors_to_rude", "rude_unanswered", "stop_status"
    if any(figures[name] for name in failures):
        raise SystemExit(1)
