"""The verbs of `tfnmt`, and the parsers of the command and of each verb."""

import argparse
import importlib
from types import ModuleType

import tfnmt
from tfnmt.commands.parser import CommandParser

LIBRARY_VERBS = {
    "prepare": "filter and encode a corpus of any size, to train on",
    "train-translator": "train a translator on files of sentence pairs",
    "translate": "translate standard input to standard output",
    "translate-corpus": "translate any number of files by several processes",
    "evaluate-translator": "score a translator: BLEU, chrF, perplexity",
    "score": "the log-probability of given translations",
    "make-shortlist": "the likely translations of each word, for faster search",
    "distill": "training data for one model from an ensemble's translations",
    "train-classifier": "train a classifier of sentences, such as SPINN",
    "evaluate-classifier": "score a classifier: accuracy, and how well it parses",
    "parse": "parse standard input to binary brackets",
    "parse-corpus": "parse any number of files by several processes",
    "classify-corpus": "label the lines of any number of files, too",
    "make-listops": "draw ListOps expressions",
    "augment-logic": "copy pairs of formulas with other names for the variables",
    "average-checkpoints": "average the weights of a run's last checkpoints",
    "export": "export a model for serving",
    "serve": "serve exported models by REST and gRPC, and on a page",
    "client": "send the lines of standard input to a server",
    "models": "the models that come with the library",
    "demo": "train, score and serve a small translator, in under 3 minutes",
}
PROGRAM_VERBS = {
    "benchmark": "how fast it is, beside other toolkits",
    "book": "the pages on the three posts as one PDF",
    "compare-graphs": "the same models as static graphs and define-by-run",
    "concepts": "the core concepts of deep learning, in pictures",
    "cost": "the multiplications of a translator, part by part",
    "gpu-kernels": "what would run on the CPU, or wait, on a GPU",
    "plot": "figures, most of them of trained models",
    "recipe": "from published data to a row of docs/results/",
    "repeat": "a training and its evaluations with several seeds, and a table",
    "report": "curves, scores and examples of runs as one HTML file",
    "screenshots": "pictures of TensorBoard on a run's logs, and of the page of serve",
    "soak": "training under random kills, compared with an undisturbed run",
    "translation-steps": "a sentence's way through an encoder-decoder, in pictures",
    "soak-server": "a server under minutes of load, good and bad",
}
VERBS = LIBRARY_VERBS | PROGRAM_VERBS


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


def command_parser(verb: str, command: ModuleType, parser_class: type[CommandParser] = CommandParser) -> CommandParser:
    """The parser of a verb's options."""
    parser = parser_class(
        prog=f"tfnmt {verb}", description=command.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_options(parser)
    return parser
