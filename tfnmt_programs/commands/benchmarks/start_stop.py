"""How long the server takes to start with one model, and to stop, idle and under load."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument(
        "--models", metavar="DIR", help="a folder with one servable, a translator (default: one trained on the sample)"
    )
    parser.add_argument("--clients", type=positive, default=32, metavar="N", help="asking at once (default: 32)")
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="how often (default: 5)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.errors import UserError
    from tfnmt.serving.files import version_numbers
    from tfnmt_programs.benchmarks.server_times import server_times
    from tfnmt_programs.soak.server import export_sample_translator, right_answers

    with tempfile.TemporaryDirectory() as folder:
        models = Path(arguments.models) if arguments.models else export_sample_translator(Path(folder)).parent
        servables = [path for path in sorted(models.iterdir()) if path.is_dir() and version_numbers(path)]
        if len(servables) != 1:
            raise UserError(f"{models}: there should be one servable, not {len(servables)}")
        (servable,) = servables
        answers = right_answers(servable / str(version_numbers(servable)[-1]))
        return server_times(models, servable.name, answers, arguments.clients, arguments.rounds)
