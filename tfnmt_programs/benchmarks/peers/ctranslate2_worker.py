"""Translates with CTranslate2 (github.com/OpenNMT/CTranslate2), a Transformer with random weights, to be timed beside
ours.

Runs as a process of its own, in a Python that has ctranslate2 and NumPy:

    python ctranslate2_worker.py SETTINGS.json BATCHES.npz

It tells in one line of JSON how many weights it has and with which threads it is fastest. Then, for each line that
comes in, it translates all batches and answers with a line {"seconds": ...}. It ends with its standard input. Every
batch is given at once, takes as many steps as told, and is whole to its end, since nothing that random weights write
ends.
"""

import functools
import math
import sys
import tempfile
import time
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec

from worker import answer_all, arrays_of, begin, say

SPECIAL = ("<unk>", "<s>", "</s>")
RANDOM = np.random.default_rng(1)


def main(settings_file, batches_file):
    """Build the model, find its threads, then translate for every line of standard input."""
    settings, answers = begin(settings_file)
    batches = [(tokens(source), int(steps)) for source, steps in arrays_of(batches_file, "source", "steps")]
    with tempfile.TemporaryDirectory() as directory:
        weights = save_model(settings, directory)
        load = functools.partial(translator, directory, settings["precision"])
        threads = fastest_threads(load, batches, settings)
        say(answers, {"weights": weights, "threads": threads, "version": ctranslate2.__version__})
        answer_all(answers, functools.partial(translate, load(**threads), batches, settings["beam_size"]))


def tokens(source):
    """Ids [sentences, length], padded with 0, as lists of words."""
    return [[f"w{i}" for i in row if i] for row in source.tolist()]


def save_model(settings, directory):
    """Write a Transformer of these sizes with random weights; about how many weights it has."""
    words = [f"w{i}" for i in range(settings["vocabulary_size"] - len(SPECIAL))]
    spec = TransformerSpec.from_config(num_layers=settings["layers"], num_heads=settings["heads"])
    spec.encoder.embeddings[0].weight = matrix(settings["vocabulary_size"], settings["units"])
    spec.decoder.embeddings.weight = spec.encoder.embeddings[0].weight
    spec.decoder.projection.weight = spec.encoder.embeddings[0].weight  # one table for all three
    for side in (spec.encoder, spec.decoder):
        fill_norm(side.layer_norm, settings["units"])
        for layer in side.layer:
            fill_layer(layer, settings["units"], settings["feed_forward_units"])
    spec.register_source_vocabulary([*SPECIAL, *words])
    spec.register_target_vocabulary([*SPECIAL, *words])
    spec.validate()
    spec.optimize()
    spec.save(directory)
    return Path(directory, "model.bin").stat().st_size // np.dtype(np.float32).itemsize


def fill_layer(layer, units, feed_forward_units):
    """Random weights for a layer of the encoder or of the decoder."""
    blocks = [(layer.self_attention, (3 * units, units))]  # queries, keys and values at once; then the output
    if hasattr(layer, "attention"):
        blocks.append((layer.attention, (units, 2 * units, units)))
    for block, sizes in blocks:
        fill_norm(block.layer_norm, units)
        for linear, size in zip(block.linear, sizes, strict=True):
            fill_linear(linear, size, units)
    fill_norm(layer.ffn.layer_norm, units)
    fill_linear(layer.ffn.linear_0, feed_forward_units, units)
    fill_linear(layer.ffn.linear_1, units, feed_forward_units)


def fill_linear(linear, out_size, in_size):
    """Random weights and no bias."""
    linear.weight, linear.bias = matrix(out_size, in_size), np.zeros(out_size, np.float32)


def fill_norm(norm, units):
    """That of a layer that is not trained."""
    norm.gamma, norm.beta = np.ones(units, np.float32), np.zeros(units, np.float32)


def matrix(out_size, in_size):
    """Random weights."""
    return (RANDOM.standard_normal([out_size, in_size]) / math.sqrt(in_size)).astype(np.float32)


def translator(directory, precision, workers, threads):
    """So many batches at once, each with so many threads."""
    return ctranslate2.Translator(directory, compute_type=precision, inter_threads=workers, intra_threads=threads)


def fastest_threads(load, batches, settings):
    """All threads for one batch after the other, or a thread for each of several batches: what is faster here."""
    ways = [{"workers": 1, "threads": settings["threads"]}, {"workers": settings["threads"], "threads": 1}]
    seconds = []
    for way in ways:
        loaded = load(**way)
        translate(loaded, batches, settings["beam_size"])  # every shape once, before the clock runs
        start = time.perf_counter()
        translate(loaded, batches, settings["beam_size"])
        seconds.append(time.perf_counter() - start)
    return ways[int(np.argmin(seconds))]


def translate(loaded, batches, beam_size):
    """All batches, each for as many steps as told."""
    results = [
        loaded.translate_batch(
            words,
            asynchronous=True,
            max_batch_size=0,
            beam_size=beam_size,
            min_decoding_length=steps,  # END has no chance before
            max_decoding_length=steps,
        )
        for words, steps in batches
    ]
    for batch in results:
        for result in batch:
            result.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
