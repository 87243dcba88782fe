"""How a training step's time and memory grow with the length of the sentences."""

import statistics
from types import SimpleNamespace

from matplotlib.figure import Figure

from tfnmt.inspection.figures import COLORS
from tfnmt_programs.benchmarks.classifier_training import SEED, our_model
from tfnmt_programs.benchmarks.pair_batches import equally_long_batches, placeholder_tokenizer
from tfnmt_programs.benchmarks.timed_fit import forget_peak_memory, peak_memory, resident_memory, timed_fit


def growth(encoder, lengths, pairs=16, units=64, repetitions=5):
    """Train on batches of as many pairs, ever longer ones.

    Args:
        encoder: "spinn-pi-nt", "spinn-pi", "spinn" or "rl-spinn".
        lengths: words of every sentence.
        pairs: in a batch.
        units: size of h and of c; the tracker has half.
        repetitions: steps of each length that are timed.

    Returns:
        A list of (length, median seconds of a step, bytes that the process has grown by at most since before the
        first).
    """
    sizes = {"units": units, "tracker_units": max(1, units // 2), "embedding_size": units, "head_units": units}
    model = our_model(SimpleNamespace(encoder=encoder, **sizes), placeholder_tokenizer(), micro_batches=1)
    timed_fit(model, equally_long_batches(2 * pairs * lengths[0], lengths[0], 1, SEED))  # traced
    before = resident_memory()
    rows = []
    for length in lengths:
        forget_peak_memory()
        _, train = timed_fit(model, equally_long_batches(2 * pairs * length, length, 1, SEED))
        seconds = statistics.median(train() for _ in range(repetitions))
        rows.append((length, seconds, peak_memory() - before))
    return rows


def draw_growth(rows_of_encoders, pairs):
    """Time and memory over length, a line for each encoder: {name: what `growth` returns}."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    of_time, of_memory = figure.subplots(1, 2)
    for i, (name, rows) in enumerate(rows_of_encoders.items()):
        lengths, seconds, grown = zip(*rows, strict=True)
        style = {"marker": "os^D"[i % 4], "color": COLORS[i % len(COLORS)], "label": name}
        of_time.plot(lengths, [1000 * value for value in seconds], **style)
        of_memory.plot(lengths, [value / 1e6 for value in grown], **style)
    for axes, what in ((of_time, "a training step, ms"), (of_memory, "memory it takes, MB")):
        axes.set(
            xlabel=f"words in each sentence ({pairs} pairs in a batch)", ylabel=what, xlim=(0, None), ylim=(0, None)
        )
        axes.grid(alpha=0.3)
    of_time.legend()
    return figure
