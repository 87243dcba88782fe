"""Train a small translator on the project's own sample corpus, score it on the test set, and serve it."""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.commands.server_process import server_process
from tfnmt.signals import nothing_saved


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", metavar="DIR", help="keep the model there (default: nowhere)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.training.run_record import SAMPLE
    from tfnmt.translation.evaluation import evaluate_translator
    from tfnmt.translation.presets import find_preset
    from tfnmt.translation.training import train_translator

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        model_directory = Path(arguments.output or Path(directory, "model"))
        print("Training the preset `tiny` on the sample corpus, English to German.", file=output, flush=True)
        with contextlib.nullcontext() if arguments.output else nothing_saved():
            model, _ = train_translator(model_directory, find_preset("tiny"), command=arguments.command_line)
        test = ParallelFiles(*(model_directory / SAMPLE / f"test.{side}" for side in ("en", "de")))
        figures, translations = evaluate_translator(model, test)
        sources, references = (list(side) for side in test.sides())
        served, version = translated_by_a_server(model, Path(directory, "saved_models"), sources[:3])

    print("\nThe test set: every sentence has a combination of words that no training sentence has.", file=output)
    for name in ("bleu", "chrf", "perplexity"):
        print(f"{name:>12}  {figures[name]:.2f}", file=output)
    for i in range(0, len(sources), len(sources) // 6):
        print(f"\n{'source':>12}  {sources[i]}", file=output)
        print(f"{'translation':>12}  {translations[i]}", file=output)
        print(f"{'reference':>12}  {references[i]}", file=output)
    print(f"\nExported as one SavedModel, {version}, and asked by HTTP:", file=output)
    for source, translation in zip(sources, served, strict=False):
        print(f"\n{'source':>12}  {source}\n{'answer':>12}  {translation}", file=output)
    print(f"\n{time.monotonic() - start:.0f} seconds in all.", file=output)
    print("\n`tfnmt serve --model sample-en-de` shows such a model on a page at http://localhost:8501/", file=output)


def translated_by_a_server(model: Any, directory: Path, sentences: list[str]) -> tuple[list[str], str]:
    """Export a model to a folder, start the server on it, translate by HTTP and stop it.

    Returns:
        (translations, version): of the sentences, and the exported version as NAME/VERSION.
    """
    from tfnmt.models import create_servable
    from tfnmt.serving.client import connect
    from tfnmt.serving.export import export

    path = export(create_servable([model]), directory, "demo")
    with server_process(directory) as server, connect(server.rest_url) as client:
        translations = client.predict("demo", {"text": sentences})["translation"]
    return translations, f"{path.parent.name}/{path.name}"
