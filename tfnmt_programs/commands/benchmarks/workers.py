"""The same training by one process and by several workers on this machine."""

import argparse
from typing import Any

from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError

MODELS = ("translator", "spinn-pi-nt", "spinn", "rl-spinn")
NO_DROPOUT = {
    "translator": [f"{n}_dropout=0" for n in ("word", "source", "target", "state", "encoder", "output")],
    "classifier": ["embedding_dropout=0", "state_dropout=0", "head_dropout=0"],
}


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--model", default="translator", choices=MODELS, metavar="M", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--preset", default="tiny", metavar="P", help="what is trained (default: tiny)")
    parser.add_argument("--workers", type=positive, default=2, metavar="N", help="how many (default: 2)")
    parser.add_argument("--steps", type=positive, metavar="N", help="the same as --set steps=N (default: 200)")
    parser.add_argument("--dropout", action="store_true", help="as in the preset, rather than none")
    parser.add_argument("--pinned", action="store_true", help="one processor for each process, to compare the speed")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change the preset")
    add_parallel_files(parser)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt_programs.benchmarks.several_workers import compare_workers

    kind = "translator" if arguments.model == "translator" else "classifier"
    settings = ["steps=200", "selection=loss", "checkpoint_steps=100000"]
    if kind == "classifier":
        settings += ["task=snli", f"encoder={arguments.model}"]
    settings += ([] if arguments.dropout else NO_DROPOUT[kind]) + arguments.set
    settings += [f"steps={arguments.steps}"] if arguments.steps else []
    if arguments.records is not None:
        raise UserError("--records: the workers read text; give --source and --target")
    if any(chosen_parallel_files(arguments)) and kind == "classifier":
        raise UserError(f"--model {arguments.model} trains on the sample corpus: leave out the files of pairs")
    files = [arguments.source, arguments.target, arguments.dev_source, arguments.dev_target]
    what = {
        "kind": kind,
        "preset": arguments.preset,
        "settings": settings,
        "files": files if arguments.source else None,
    }
    *_, steps = (setting.partition("=")[2] for setting in settings if setting.startswith("steps="))
    figures = {"model": arguments.model, "preset": arguments.preset, "steps": int(steps)}
    return figures | compare_workers(what, arguments.workers, arguments.pinned)
