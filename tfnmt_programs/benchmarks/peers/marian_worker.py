"""Trains a recurrent translator with Marian (Junczys-Dowmunt et al. 2018, arXiv:1804.00344), or translates with it, to
be timed beside ours.

Runs as a process of its own, in a Python that has pymarian and NumPy:

    python marian_worker.py SETTINGS.json BATCHES.npz

It describes its model in one line of JSON. Then, for each line that comes in, it trains on all batches once, or with
the setting "beam_size" translates them all, and answers with a line {"seconds": ...}. It ends with its standard input.
The model is Marian's "s2s": a bidirectional GRU, a conditional GRU with additive attention, deep output. All of its
states have one size, and its attention that of both directions together. Sentences come as words of a vocabulary of
numbers. Marian makes the batches again, of as many sentences and of similar length, and shares each batch out among
its threads in training; in searching each thread has batches of its own.
"""

import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pymarian

from worker import answer_all, arrays_of, begin, say

END = 0
"""Marian's id of it."""
NEVER = -1000.0
PRODUCTS = {"float32": "float32", "int8": "packed8avx512"}


def main(settings_file, batches_file):
    """Make the model, then train or translate for every line of standard input; tell how long each took."""
    settings, answers = begin(settings_file)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        for side in ("source", "target"):
            words = "".join(f"w{i}: {i}\n" for i in range(2, settings[f"{side}_vocabulary_size"]))
            (folder / f"{side}.yml").write_text(f"</s>: {END}\n<unk>: 1\n{words}")
        if "beam_size" in settings:
            batches = arrays_of(batches_file, "source", "steps")
            write_text(folder / "source", [source for source, _ in batches])
            write_text(folder / "target", [source for source, _ in batches])
            train(settings, folder, updates=1)
            shapes = end_never(folder / "model.npz")
            translator = make_translator(settings, folder, batches)
            work = functools.partial(translator.translate, (folder / "source").read_text().rstrip("\n"))
            say(answers, {"weights": shapes, "words": len(work().split()), "version": pymarian.__version__})
            answer_all(answers, work)
        else:
            batches = arrays_of(batches_file, "source", "labels")
            write_text(folder / "source", [source for source, _ in batches])
            write_text(folder / "target", [labels for _, labels in batches])
            train(settings, folder, updates=1)
            say(answers, {"weights": end_never(folder / "model.npz"), "encoder_size": 2 * settings["units"]})
            for _ in sys.stdin:
                say(answers, {"seconds": train(settings, folder, updates=len(batches))})


def write_text(path, batches):
    """Batches of ids [sentences, length], END at the end, padded with 0, as lines of words; Marian adds its END."""
    rows = [[i for i in row if i][:-1] for batch in batches for row in batch.tolist()]
    path.write_text("".join(" ".join(f"w{i}" for i in row) + "\n" for row in rows))


def train(settings, folder, updates):
    """Train a new model twice on so many batches, in the order of the files; the seconds that the second time takes, as
    Marian counts them. The first has its start in it."""
    log = folder / "train.log"
    log.unlink(missing_ok=True)
    options = {
        "type": "s2s",
        "model": folder / "model.npz",
        "train-sets": f"{folder}/source {folder}/target",
        "vocabs": f"{folder}/source.yml {folder}/target.yml",
        "dim-emb": settings["embedding_size"],
        "dim-rnn": settings["units"],
        "cost-type": "ce-mean-words",
        "learn-rate": settings["learning_rate"],
        "mini-batch": settings["batch_size"],
        "maxi-batch": 1,
        "shuffle": "none",
        "max-length": 1000,
        "after-batches": 2 * updates,
        "disp-freq": f"{updates}u",
        "cpu-threads": settings["threads"],
        "workspace": 1000,
        "seed": settings["seed"],
        "log": log,
    }
    flags = "--no-reload --overwrite --sync-sgd --quiet" + (" --tied-embeddings" if settings["tied"] else "")
    # A process of its own: in one process Marian writes a log only once.
    command = [sys.executable, "-m", "pymarian", "train", *command_line(options, flags).split()]
    subprocess.run(command, check=True, stdout=sys.stderr)
    *_, seconds = re.findall(r"Time ([\d.]+)s", log.read_text())
    return float(seconds)


def end_never(path):
    """Change a model so that it never writes END; the shapes of its weights."""
    with np.load(path) as arrays:
        weights = dict(arrays)
    weights["decoder_ff_logit_l2_b"][0, END] = NEVER
    np.savez(path, **weights)
    return {name: list(weight.shape) for name, weight in weights.items() if not name.startswith("special:")}


def make_translator(settings, folder, batches):
    """A translator that takes as many steps for all batches together as told."""
    steps = sum(int(steps) for _, steps in batches) / sum(source.shape[1] for source, _ in batches)
    options = {
        "models": folder / "model.npz",
        "vocabs": f"{folder}/source.yml {folder}/target.yml",
        "beam-size": settings["beam_size"],
        "mini-batch": settings["batch_size"],
        "maxi-batch": 1000,
        "maxi-batch-sort": "src",
        "max-length": 1000,
        "max-length-factor": steps - 0.5 / np.mean([source.shape[1] for source, _ in batches]),  # it rounds up
        "cpu-threads": settings["threads"],
        "workspace": 1000,
        "gemm-type": PRODUCTS[settings["precision"]],
    }
    return pymarian.Translator(command_line(options, "--quiet"))


def command_line(options, flags):
    """Marian's options in one line."""
    return " ".join([*(f"--{name} {value}" for name, value in options.items()), flags])


if __name__ == "__main__":
    main(*sys.argv[1:])
