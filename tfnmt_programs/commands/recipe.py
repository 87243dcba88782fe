"""From published data to a row of docs/results/: fetch, convert, train, evaluate, and print it beside that row.

What is done stays done: the same command goes on where it was interrupted. Without a name, the recipes are listed.
"""

import argparse
import sys
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError, errors_in
from tfnmt.tensorflow_start import import_tensorflow

IMPORT_TENSORFLOW = False
"""The list of recipes does not need it."""


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("recipe", nargs="?", metavar="NAME", help="which; a .yaml file is one, too")
    add("--output", default="runs", metavar="DIR", help="the data go to DIR/data, the run to DIR/NAME (default: runs)")
    add("--data", metavar="DIR", help="take the files that are in this folder, in the place of fetching them")
    add("--mirror", type=_address, metavar="URL", help="fetch the files from below this address, by their names")
    add("--accept-licence", action="store_true", help="agree to the licence of the data without being asked")
    add(
        "--set",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="change the trainings, and so the row",
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.recipes.recipe import find_recipe, recipe_names

    if arguments.recipe is None:
        names = recipe_names()
        width = max(map(len, names))
        for name in names:
            recipe = find_recipe(name)
            print(f"{name:<{width}}  {recipe.title}; some {recipe.minutes} minutes; {recipe.licence}", file=output)
        return
    import_tensorflow()
    from tfnmt_programs.recipes.fetch import obtain
    from tfnmt_programs.recipes.run import RecipeRun, check_commands, check_settings

    recipe, folder = find_recipe(arguments.recipe), Path(arguments.output)
    with errors_in(arguments.recipe):
        check_commands(recipe)
        check_settings(recipe, arguments.set)
    if arguments.data is not None and not Path(arguments.data).is_dir():
        raise UserError(f"--data {arguments.data}: there is no such folder")
    print(f"The data: {recipe.licence}", file=output, flush=True)
    if recipe.section:
        print(f"More in docs/results/: {recipe.section}", file=output, flush=True)
    if recipe.asks and not arguments.accept_licence:
        _ask()
    for file in recipe.files:
        obtain(file, folder / "data", arguments.data and Path(arguments.data), arguments.mirror)
    with errors_in(arguments.recipe):
        run = RecipeRun(recipe, folder / "data", folder / Path(arguments.recipe).stem, arguments.set)
        print(run.run(), end="", file=output)


def _address(text):
    """For `type=` of an option: an address of files."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text}: should begin with http:// or https://")
    return text


def _ask():
    """Raise `UserError` unless the user agrees to the licence."""
    advice = "--accept-licence agrees to the licence of the data"
    if not sys.stdin.isatty():
        raise UserError(advice)
    try:
        answer = input("Do you agree to use them so? [y/N] ")
    except EOFError:  # Ctrl-D
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise UserError(f"not agreed; {advice}")
