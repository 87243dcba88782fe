"""How a training step's time and memory grow with the length of the sentences."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool

import keras
from matplotlib.figure import Figure

from tfnmt.errors import UserError
from tfnmt.inspection.figures import color_and_marker, new_figure
from tfnmt.tensorflow_start import process_pool
from tfnmt_programs.benchmarks.classifier_training import SEED, our_model
from tfnmt_programs.benchmarks.timed_fit import timed_fit
from tfnmt_programs.benchmarks.tree_batches import VOCABULARY_SIZE, equally_long_batches
from tfnmt_programs.benchmarks.untrained import placeholder_tokenizer
from tfnmt_programs.measuring import median_seconds, memory_growth, reset_peak_memory, resident_memory

SHORTEST = 2
"""Words of the sentences whose memory does not count."""
Row = tuple[int, float, int]
"""Words in each sentence, seconds of a training step, bytes of memory that it takes."""


def growth(encoder: str, lengths: Sequence[int], pairs: int = 16, units: int = 64, repetitions: int = 5) -> list[Row]:
    """Train on batches of as many pairs, ever longer ones.

    It is done in a process of its own: a process keeps memory for later, so that after another encoder less would seem
    to be needed.

    Args:
        encoder: "spinn-pi-nt", "spinn-pi", "spinn" or "rl-spinn".
        lengths: words of every sentence.
        pairs: in a batch.
        units: size of h and of c; the tracker has half.
        repetitions: steps of each length that are timed.

    Returns:
        A row for each length: the median time of a step, and by how many bytes the process has grown at most since it
        trained on sentences of `SHORTEST` words.

    Raises:
        UserError: the process dies.
    """
    with process_pool(1, keras.utils.set_random_seed, SEED) as pool:
        try:
            return pool.submit(_rows, encoder, lengths, pairs, units, repetitions).result()
        except BrokenProcessPool as error:
            raise UserError("the process has died, perhaps for want of memory: take shorter --lengths") from error


def _rows(encoder, lengths, pairs, units, repetitions):
    sizes = {"units": units, "tracker_units": max(1, units // 2), "embedding_size": units, "head_units": units}
    model = our_model(Namespace(encoder=encoder, **sizes), placeholder_tokenizer(VOCABULARY_SIZE), micro_batches=1)
    timed_fit(model, equally_long_batches(2 * pairs * SHORTEST, SHORTEST, 1, SEED))  # traced
    before = resident_memory()
    rows = []
    for length in lengths:
        reset_peak_memory()
        _, train = timed_fit(model, equally_long_batches(2 * pairs * length, length, 1, SEED))
        rows.append((length, median_seconds(train, repetitions), memory_growth(before)))
    return rows


def draw_growth(rows_of_encoders: Mapping[str, Sequence[Row]], pairs: int) -> Figure:
    """Time and memory over length, a line for each encoder: {name: what `growth` returns}."""
    figure = new_figure(9, 4)
    of_time, of_memory = figure.subplots(1, 2)
    for i, (name, rows) in enumerate(rows_of_encoders.items()):
        lengths, seconds, grown = zip(*rows, strict=True)
        color, marker = color_and_marker(i)
        style = {"marker": marker, "color": color, "label": name}
        of_time.plot(lengths, [1000 * value for value in seconds], **style)
        of_memory.plot(lengths, [value / 1e6 for value in grown], **style)
    for axes, what in ((of_time, "a training step, ms"), (of_memory, "memory it takes, MB")):
        axes.set(
            xlabel=f"words in each sentence ({pairs} pairs in a batch)", ylabel=what, xlim=(0, None), ylim=(0, None)
        )
        axes.grid(alpha=0.3)
    of_time.legend()
    return figure
