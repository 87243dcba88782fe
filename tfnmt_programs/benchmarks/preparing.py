"""A large corpus from text to a shortlist: how fast each stage is, and whether its memory stays."""

import itertools
import logging
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tfnmt.data.preparing.inputs import find_inputs
from tfnmt.data.preparing.preparation import BEGUN, Preparation, prepare
from tfnmt.data.record_batches import count_dropped_records, record_batches
from tfnmt.data.records import INDEX, ParallelRecords
from tfnmt.data.samples.sentences import draw_sentence
from tfnmt.inspection.figures import new_figure
from tfnmt.translation.presets import Preset
from tfnmt.translation.training import compile_for_training
from tfnmt.translation.translation_table import spooled_ids, translation_table
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.process_tree import SECONDS_BETWEEN, Samples, sampled
from tfnmt_programs.benchmarks.timed_fit import timed_fit

logger = logging.getLogger(__name__)

DIFFERENT = 100_000
"""Sentences that are drawn from the grammar; a generated line has two of them."""
STAGES = ("generating", "filtering", "duplicates", "tokenizers", "encoding", "batches", "skipping", "shortlist", "step")
SHORTEST = 5 * SECONDS_BETWEEN
"""Seconds, of the clock or of processors, that can be told from samples; those of a shorter stage are too inexact."""
_TIMED_BATCHES = 30
_SEED = 1
_VOCABULARY = 2000
"""The sample grammar has hardly more subwords."""


def write_corpus(directory: Path, pairs: int, files: int) -> tuple[list[str], list[str]]:
    """Write pairs of two random sentences of the sample grammar each; returns the files of both sides."""
    rng = random.Random(_SEED)
    sentences = [draw_sentence(rng) for _ in range(min(DIFFERENT, pairs))]
    english, german = ([getattr(sentence, language) for sentence in sentences] for language in ("english", "german"))
    numbers = np.random.default_rng(_SEED)
    names: tuple[list[str], list[str]] = ([], [])
    for number in range(files):
        count = pairs * (number + 1) // files - pairs * number // files
        for side, language in zip(names, ("en", "de"), strict=True):
            side.append(str(directory / f"{number:03}.{language}"))
        with open(names[0][-1], "w", encoding="utf-8") as source, open(names[1][-1], "w", encoding="utf-8") as target:
            for first, second in numbers.integers(len(sentences), size=(count, 2)):
                source.write(f"{english[first]} {english[second]}\n")
                target.write(f"{german[first]} {german[second]}\n")
    return names


def prepare_and_use(directory: Path, preset: Preset, pairs: int, files: int) -> tuple[dict[str, Any], Samples]:
    """Generate a corpus, prepare it, make one epoch of batches, skip one, and make a table of translations.

    Args:
        directory: an empty one; the files of the corpus and the records stay there.
        preset: whose batches are made, and whose model's step is timed.
        pairs: of the corpus.
        files: on each side.

    Returns:
        The figures of each stage, by name, and the samples. A rate is None where the stage was too short to tell.
    """
    records, now = directory / "records", {"stage": "generating"}
    with sampled(lambda: _stage(records) if now["stage"] == "preparing" else now["stage"]) as samples:
        corpus = write_corpus(directory, pairs, files)
        now["stage"] = "preparing"
        prepared = prepare(
            records, find_inputs(*corpus), Preparation(text=preset.text.replace(vocabulary_size=_VOCABULARY))
        )
        now["stage"] = "batches"
        for _ in record_batches(prepared, preset.batching, _SEED):
            pass
        now["stage"] = "skipping"
        batches = count_dropped_records(prepared, preset.batching).batches
        for _ in record_batches(prepared, preset.batching, _SEED, skip=batches - 1):
            pass
        now["stage"] = "shortlist"
        tokenizers = prepared.tokenizers()
        sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
        with spooled_ids(prepared, tokenizers, pairs, directory) as chunks:
            translation_table(chunks, sizes[0], sizes[1], words_per_word=30)
        now["stage"] = "step"
        seconds, processor_seconds = _step_of_pair(preset, prepared)
    figures: dict[str, Any] = {"pairs": pairs, "kept": prepared.index.pairs}
    figures |= stage_figures(samples, pairs)
    figures["step"] |= {"pairs_per_second": 1 / seconds, "pairs_per_processor_second": 1 / processor_seconds}
    of_batches = figures.get("batches", {}).get("pairs_per_processor_second")
    figures["batches_beside_step"] = of_batches and of_batches * processor_seconds
    return figures, samples


def stage_figures(samples: Samples, pairs: int) -> dict[str, dict[str, float | None]]:
    """Of each stage that was seen: what `Samples.of_stage` tells, and rates, None where it was too short to tell. They
    count all pairs that there were, also after filtering, which drops 0.2% of those of the sample."""
    figures = {}
    for stage in STAGES:
        if of_stage := samples.of_stage(stage):
            rates = {
                f"pairs_per_{unit}": pairs / of_stage[f"{unit}s"] if of_stage[f"{unit}s"] >= SHORTEST else None
                for unit in ("second", "processor_second")
            }
            figures[stage] = of_stage | rates
    return figures


def _stage(records: Path) -> str:
    """Which pass of `prepare` is at work, by what it has written so far."""
    marks: list[tuple[str, Callable[[], bool]]] = [
        ("encoding", lambda: (records / "target.json").exists()),
        ("tokenizers", lambda: any((records / "parts").glob("*sample.*"))),
        ("duplicates", lambda: any((records / "parts").glob("*duplicates-*"))),
    ]
    if (records / INDEX).exists() or not (records / BEGUN).exists():
        return "between"
    return next((stage for stage, is_there in marks if is_there()), "filtering")


def _step_of_pair(preset: Preset, records: ParallelRecords) -> tuple[float, float]:
    """The seconds and the processor seconds that a training step takes a pair, on batches that are in memory."""
    tokenizers = records.tokenizers()
    model = Translator(preset.model, *tokenizers)
    compile_for_training(model, preset.training, count_dropped_records(records, preset.batching).batches)
    batches = record_batches(records, preset.batching, _SEED).as_numpy_iterator()
    batches = list(itertools.islice(batches, _TIMED_BATCHES))
    _, train = timed_fit(model, batches)
    train()  # every shape once
    before = time.process_time()
    seconds, pairs = train(), sum(len(labels) for _, labels in batches)
    return seconds / pairs, (time.process_time() - before) / pairs


def draw_memory(samples: Samples, pairs: int) -> Figure:
    """Memory over time, a colour for each stage."""
    figure = new_figure(9, 3)
    axes = figure.subplots()
    stages = [stage for stage in STAGES if stage in samples.stages]
    for number, stage in enumerate(stages):
        shown = [
            (second, size / 1e9)
            for second, size, name in zip(samples.seconds, samples.bytes, samples.stages, strict=True)
            if name == stage
        ]
        axes.plot(*zip(*shown, strict=True), ".", markersize=3, color=f"C{number}", label=stage)
    axes.set(xlabel=f"seconds, {pairs:,} pairs", ylabel="memory of all processes, GB", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(markerscale=3, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
