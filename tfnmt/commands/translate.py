"""Translate standard input to standard output: one line in, one line out, in order; an empty line stays empty.

Of several models, all trained with the same tokenizers, the mean of their probabilities counts (an ensemble).
"""

import argparse
import logging
import sys
from typing import TextIO

from tfnmt.commands.line_display import line_display
from tfnmt.commands.parser import CommandParser, model_directory, parallel
from tfnmt.commands.search_options import add_translation_options, search_configuration

logger = logging.getLogger(__name__)


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add(
        "--model",
        type=model_directory,
        required=True,
        nargs="+",
        metavar="DIR",
        help="the model directory, or several: an ensemble",
    )
    add_translation_options(parser)
    add("--prefix-file", metavar="F", help="what each translation is to begin with, whole words, line by line; .gz too")
    add("--processes", type=parallel, default=1, metavar="N", help="processes, each with the model (default: 1)")
    add("--threads", type=parallel, metavar="N", help="threads of each process (default: all processors, divided)")
    add("--device", metavar="D", help="cpu, or gpu:0, gpu:1, … (default: the first GPU, or the CPU without one)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.lines import read_lines
    from tfnmt.devices import use_device
    from tfnmt.processors import processors
    from tfnmt.threads import use_threads
    from tfnmt.translation.formatting import formatted
    from tfnmt.translation.loading import load_searcher
    from tfnmt.translation.processes import ProcessSettings, translate_in_processes
    from tfnmt.translation.streaming import WINDOW, translate_stream, windows

    processes = arguments.processes
    threads = arguments.threads or max(1, processors() // processes)
    use_threads(threads)  # the searcher has a batch for each
    configuration = search_configuration(arguments)
    device = use_device(arguments.device)
    searcher = load_searcher(arguments.model, configuration, arguments.shortlist)
    prefixes = read_lines(arguments.prefix_file) if arguments.prefix_file else None
    logger.info("processes: %d, threads of each: %d, device: %s", processes, threads, device)
    with line_display("translating", output) as display:
        advance = display.advance if display else None
        lines = searcher, sys.stdin.buffer, arguments.batch_size, prefixes
        if processes == 1:
            stream = translate_stream(*lines, advance)
        else:  # smaller windows, so that a short text is shared out, too
            settings = ProcessSettings(
                arguments.model, configuration, arguments.shortlist, arguments.batch_size, threads, arguments.device
            )
            small = windows(*lines, max(1, WINDOW // (4 * processes)))
            stream = translate_in_processes(settings, small, processes, advance)
        for number, found in enumerate(stream):
            for line in formatted(number, found, configuration.n_best, arguments.scores):
                print(line, file=output, flush=True)
