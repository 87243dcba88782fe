"""Score classifiers on files of labelled examples, or on the dev part of their task's sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, model_directory, picture, positive, refuse_repeated
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--model",
        type=model_directory,
        required=True,
        nargs="+",
        metavar="DIR",
        help="the model directory, or several of one task: each is scored, and those after the first are compared with"
        " it by McNemar's test, on the examples that both read",
    )
    parser.add_argument("--data", nargs="+", metavar="F", help="labelled examples (default: the sample's dev part)")
    parser.add_argument("--batch-size", type=positive, default=128, metavar="N", help="examples at once (default: 128)")
    parser.add_argument(
        "--broken-trees",
        choices=("error", "skip"),
        default="error",
        help="trees that are broken or not binary: an error, or skip and count their examples (default: error)",
    )
    parser.add_argument(
        "--picture",
        type=picture(".png", ".svg"),
        metavar="F",
        help="draw the confusion matrix of the first model, .png or .svg",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.classification.outcomes import accuracy_by_length, confusion_matrix, text_of

    refuse_repeated("--model", arguments.model, "model")
    with tempfile.TemporaryDirectory() as directory:
        figures, outcomes, labels = _evaluate(arguments, directory)
    for name, each in outcomes.items():
        if len(outcomes) > 1 and not arguments.json:
            print(f"{name}:", file=output)
        if arguments.json:
            figures[name]["accuracy_by_length"] = {key: value for key, (_, value) in accuracy_by_length(each).items()}
            figures[name]["labels"] = list(labels)
            figures[name]["confusion"] = confusion_matrix(each, len(labels)).tolist()
        else:
            print_figures(figures[name], False, output)
            print(text_of(each, labels), end="\n\n", file=output)
    if arguments.json:
        only, *others = figures.values()
        print_figures(figures if others else only, True, output)
    if arguments.picture:
        _draw(confusion_matrix(next(iter(outcomes.values())), len(labels)), labels, arguments.picture)


def _evaluate(arguments, directory):
    """(figures by model directory, outcomes by model directory, names of the labels)."""
    import tfnmt
    from tfnmt.classification.evaluation import evaluate_classifier
    from tfnmt.classification.outcomes import mcnemar
    from tfnmt.data.tasks import TASKS

    figures, outcomes, files, labels = {}, {}, arguments.data, None
    for name in arguments.model:
        model = tfnmt.load(name, "classifier")
        if labels not in (None, model.configuration.labels):
            raise UserError(f"{name}: its task has other labels than that of {arguments.model[0]}")
        labels = model.configuration.labels
        files = files or [TASKS[model.configuration.task].write_sample(directory)["dev"]]
        figures[name], outcomes[name] = evaluate_classifier(model, files, arguments.batch_size, arguments.broken_trees)
        if len(outcomes) > 1:
            figures[name]["mcnemar_p"] = mcnemar(outcomes[arguments.model[0]], outcomes[name])
    return figures, outcomes, labels


def _draw(matrix, labels, path):
    from tfnmt.inspection.confusion import draw_confusion
    from tfnmt.inspection.figures import save

    save(draw_confusion(matrix, labels), path)
