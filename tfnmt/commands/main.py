"""The command `tfnmt`: its verbs, and how one of them is found."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import tfnmt
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.run import complain, discard_unwritten, missing_module, run
from tfnmt.errors import nearest_name

LIBRARY_VERBS = {
    "train-translator": "train a translator on files of sentence pairs",
    "translate": "translate standard input to standard output",
    "evaluate-translator": "score a translator: BLEU, chrF, perplexity",
    "score": "the log-probability of given translations",
    "make-shortlist": "the likely translations of each word, for faster search",
    "train-classifier": "train a classifier of sentences, such as SPINN",
    "evaluate-classifier": "score a classifier: accuracy, and how well it parses",
    "parse": "parse standard input to binary brackets",
    "make-listops": "draw ListOps expressions",
    "average-checkpoints": "average the weights of a run's last checkpoints",
    "export": "export a model for serving",
    "serve": "serve exported models by REST and gRPC, and on a page",
    "client": "send the lines of standard input to a server",
    "demo": "train, score and serve a small translator, in under 3 minutes",
}
PROGRAM_VERBS = {
    "benchmark": "how fast it is, beside other toolkits",
    "compare-graphs": "the same models as static graphs and define-by-run",
    "concepts": "the core concepts of deep learning, in pictures",
    "cost": "the multiplications of a translator, part by part",
    "plot": "figures, most of them of trained models",
    "screenshots": "pictures of TensorBoard on a run's logs",
}
VERBS = LIBRARY_VERBS | PROGRAM_VERBS


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `tfnmt` with these arguments (default: the command line's) and exit.

    The status is 0; 2 for what the user got wrong, 130 when interrupted, 141 when nobody reads the output any more.
    """
    try:
        try:
            dispatch(sys.argv[1:] if arguments is None else arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        discard_unwritten(sys.stdout)
        sys.exit(141)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("tfnmt"):
            raise  # a bug
        sys.exit(complain(f"error: {missing_module(error)}", 2))


def dispatch(arguments: Sequence[str]) -> NoReturn:
    """Find the verb and run it."""
    if not arguments or arguments[0].startswith("-"):
        answer_without_verb(arguments)
    verb, *options = arguments
    if verb not in VERBS:
        sys.exit(complain(f"error: unknown verb {verb!r}{nearest_name(verb, VERBS)}; --help lists all verbs", 2))
    command = load_command(verb)
    run(command.main, command_parser(verb, command), options)


def answer_without_verb(arguments: Sequence[str]) -> NoReturn:
    """`--help`, `--version` and `--print-completion`; anything else is an error."""
    parser = main_parser()
    shell = parser.parse_args(arguments).print_completion
    if shell is None:
        parser.exit(2, "error: a verb is missing; --help lists all verbs\n")
    from tfnmt.commands.completion import completion

    print(completion(shell))
    sys.exit(0)


def main_parser(parser_class: type[CommandParser] = CommandParser) -> CommandParser:
    """The parser of what stands in a verb's place."""
    table = "\n".join(
        f"{title}:\n" + "".join(f"  {verb:<20}  {meaning}\n" for verb, meaning in verbs.items())
        for title, verbs in (("verbs", LIBRARY_VERBS), ("programs that use the library", PROGRAM_VERBS))
    )
    parser = parser_class(
        prog="tfnmt",
        usage="tfnmt VERB [options]",
        description="Recurrent translation and sentence trees in static graphs.",
        epilog=f"{table}\n`tfnmt VERB --help` lists the options of a verb.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tfnmt {tfnmt.__version__}")
    parser.add_argument("--print-completion", choices=("bash", "zsh"), help="print what completes it in that shell")
    return parser


def load_command(verb: str) -> ModuleType:
    """The module of a verb."""
    package = "tfnmt" if verb in LIBRARY_VERBS else "tfnmt_programs"
    return importlib.import_module(f"{package}.commands.{verb.replace('-', '_')}")


def command_parser(verb: str, command: ModuleType) -> CommandParser:
    """The parser of a verb's options."""
    parser = CommandParser(
        prog=f"tfnmt {verb}", description=command.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_options(parser)
    return parser
