"""Train a small translator on the project's own sample corpus, score it on the hold-out, and translate with it."""

import argparse
import tempfile
import time
from pathlib import Path

from _start import run


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", metavar="DIR", help="keep the model there (default: nowhere)")
    return parser


def main(arguments, output):
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.sample import write_sample
    from tfnmt.models.evaluation import evaluate_translator
    from tfnmt.models.presets import find_preset
    from tfnmt.models.training import train_translator

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        sample = write_sample(directory)
        training, dev, test = (
            ParallelFiles(sample[f"{part}.en"], sample[f"{part}.de"]) for part in ("train", "dev", "test")
        )
        print("Training the preset `tiny` on the sample corpus, English to German.", file=output, flush=True)
        model, _ = train_translator(arguments.output or Path(directory, "model"), find_preset("tiny"), training, dev)
        figures, translations = evaluate_translator(model, test)
        sources, references = (list(side) for side in test.sides())

    print("\nThe hold-out: every sentence has words together that training never had together.", file=output)
    for name in ("bleu", "chrf", "perplexity"):
        print(f"{name:>12}  {figures[name]:.2f}", file=output)
    for i in range(0, len(sources), len(sources) // 6):
        print(f"\n{'source':>12}  {sources[i]}", file=output)
        print(f"{'translation':>12}  {translations[i]}", file=output)
        print(f"{'reference':>12}  {references[i]}", file=output)
    print(f"\n{time.monotonic() - start:.0f} seconds in all.", file=output)


if __name__ == "__main__":
    run(main, parser())
