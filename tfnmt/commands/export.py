"""Export a trained model, or several as an ensemble, as the next version of a servable: OUTPUT/NAME/VERSION."""

import argparse
import logging
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, model_directory, positive
from tfnmt.commands.search_options import (
    BLEU_TOKENIZE,
    add_bleu_tokenize,
    add_search_options,
    search_configuration,
)
from tfnmt.errors import UserError
from tfnmt.translation.search_configuration import SearchConfiguration

logger = logging.getLogger(__name__)


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--model", type=model_directory, required=True, nargs="+", metavar="DIR", help="the model directory, or several"
    )
    parser.add_argument("--name", required=True, metavar="NAME", help="the model's name on the server")
    parser.add_argument(
        "--output", default="saved_models", metavar="DIR", help="the folder of all servables (default: saved_models)"
    )
    parser.add_argument(
        "--n-best", type=positive, metavar="N", help="translations of the signature nbest (default: the beam size)"
    )
    parser.add_argument(
        "--quantize",
        default="none",
        choices=("none", "float16", "int8"),
        help="store the matrices in fewer bits, and compare size, speed and outputs with float32 (default: none;"
        " with --precision int8: int8)",
    )
    parser.add_argument(
        "--source",
        metavar="F",
        help="sentences for the comparison of a translator (default: 100 of the sample's test set); a classifier's"
        " are of its task's sample",
    )
    parser.add_argument("--target", metavar="F", help="their reference translations, line by line")
    add_bleu_tokenize(parser)
    add_search_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.progress import log_waiting
    from tfnmt.data.tasks import TASKS
    from tfnmt.models import create_servable
    from tfnmt.serving.comparison import compare_with_float32
    from tfnmt.serving.export import export
    from tfnmt.serving.files import check_name
    from tfnmt.translation.shortlist import load_shortlist

    check_name(arguments.name)
    if arguments.precision == "int8" and arguments.quantize == "none":
        arguments.quantize = "int8"
    if arguments.precision == "int8" and arguments.quantize != "int8":
        raise UserError(
            f"--quantize {arguments.quantize}: with --precision int8 matrices are stored as int8; leave it out"
        )
    pairs = _pairs(arguments)
    models = [tfnmt.load(directory, "translator" if arguments.source else None) for directory in arguments.model]
    arguments.n_best = arguments.n_best or arguments.beam_size
    search = search_configuration(arguments)
    if models[0].kind != "translator":
        _refuse_search_options(arguments, search)
    shortlist = load_shortlist(arguments.shortlist) if arguments.shortlist else None
    with log_waiting(f"exporting {arguments.name}"):
        if search.precision == "int8" and models[0].kind == "translator":
            search = search.replace(float32_products=_faster_in_float32(models))
        servable = create_servable(models, search, arguments.quantize, shortlist)
        path = export(servable, arguments.output, arguments.name)
    print(path, file=output)
    if arguments.quantize != "none":
        texts = [source for source, _ in pairs]
        references: list[str] | None = [target for _, target in pairs]
        if models[0].kind == "classifier":
            try:
                texts, references = TASKS[models[0].configuration.task].sample_texts(len(pairs)), None
            except UserError as error:  # a task of one's own may have none
                logger.info("nothing is compared: %s", error)
                return
        exact = search.replace(precision="float32")
        whole = create_servable(models, exact, shortlist=shortlist)
        print_figures(compare_with_float32(path, whole, texts, references, arguments.bleu_tokenize), False, output)


def _refuse_search_options(arguments, search):
    """Raise `UserError` if an option is about the search of a translator; --precision int8 is how to store weights,
    too."""
    usual = SearchConfiguration(n_best=5, precision="int8" if search.precision == "int8" else "float32")
    given = [name for name, value in search if value != getattr(usual, name)]
    if arguments.shortlist:
        given.append("shortlist")
    if arguments.bleu_tokenize != BLEU_TOKENIZE:
        given.append("bleu_tokenize")
    if search.precision == "bfloat16":
        raise UserError("--precision bfloat16: a classifier computes in float32, or is stored as int8; leave it out")
    if given:
        raise UserError(f"--{given[0].replace('_', '-')}: is about translators; leave it out for a classifier")


def _faster_in_float32(models):
    """The sizes of matrices that this machine multiplies faster in float32 than in int8."""
    from tfnmt.translation.ensemble import Ensemble

    sizes = Ensemble(models).int8_weights().sizes_faster_in_float32()
    if sizes:
        matrices = ", ".join(f"{rows} x {columns}" for rows, columns in sizes)
        logger.info("multiplied in float32, since that is faster here than int8: matrices of %s", matrices)
    return sizes


def _pairs(arguments):
    """Sentences and translations for the comparison of quantized weights with float32, or None."""
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.samples.translation import sample_pairs

    if arguments.source is None and arguments.target is not None:
        raise UserError("--source is missing: the sentences that --target translates")
    if arguments.quantize == "none":
        if arguments.source is not None:
            raise UserError("--source means nothing with --quantize none: nothing is compared")
        if arguments.bleu_tokenize != BLEU_TOKENIZE:
            raise UserError("--bleu-tokenize means nothing with --quantize none: nothing is compared")
        return None
    if arguments.source is None:
        return sample_pairs(100, seed=0, split="test")
    files = ParallelFiles(arguments.source, arguments.target)
    files.check()
    return list(zip(*files.sides(), strict=True))
