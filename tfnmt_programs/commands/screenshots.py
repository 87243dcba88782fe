"""Take pictures of TensorBoard's tabs, on a run's logs (docs/tensorboard.md), of the page of tfnmt serve
(docs/serving.md), of a report (docs/report.md) and of the site, with a Chromium that shows no window.
"""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError

TABS = ("scalars", "images", "text", "projector", "graphs")


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--model", metavar="DIR", help="a model's directory, with its logs: take TensorBoard's tabs")
    parser.add_argument("--page", action="store_true", help="take the page, with models that come with the library")
    parser.add_argument("--report", metavar="F", help="take a report, as tfnmt report writes it, light and dark")
    parser.add_argument(
        "--site", metavar="DIR", help="take the site's first page, as make docs builds it, light and dark"
    )
    parser.add_argument(
        "--output", required=True, metavar="DIR", help="for board-TAB.png, page-NAME.png and the others"
    )
    tabs = f"of {', '.join(TABS)} (default: all, but for text of a classifier)"
    parser.add_argument("--tabs", nargs="+", choices=TABS, metavar="TAB", help=tabs)
    parser.add_argument("--chromium", default="chromium", metavar="F", help="the browser (default: chromium)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    documents = {"report": arguments.report, "site": arguments.site and Path(arguments.site, "index.html")}
    documents = {name: path for name, path in documents.items() if path}
    if not (arguments.model or arguments.page or documents):
        raise UserError("nothing to take: give --model DIR, --page, --report F, --site DIR or several")
    if arguments.model:
        from tfnmt.inspection.tensorboard import LOGS
        from tfnmt.training.model_directory import read_kind
        from tfnmt_programs.figures.screenshots import take_screenshots

        logs = Path(arguments.model, LOGS)
        tabs = arguments.tabs or [tab for tab in TABS if tab != "text" or read_kind(arguments.model) == "translator"]
        for path in take_screenshots(logs, tabs, arguments.output, arguments.chromium):
            print(path, file=output)
    if arguments.page:
        from tfnmt_programs.figures.page import take_page_screenshots

        for path in take_page_screenshots(arguments.output, arguments.chromium):
            print(path, file=output)
    if documents:
        from tfnmt_programs.figures.documents import take_document_screenshots

        for path in take_document_screenshots(documents, arguments.output, arguments.chromium):
            print(path, file=output)
