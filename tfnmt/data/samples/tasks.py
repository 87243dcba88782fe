"""Small corpora of the project's own for every task, drawn with a seed, in the format of the real ones.

They are the default data of the scripts and what the tests use. A tree model learns each within a minute.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

from tfnmt.data import listops, logic
from tfnmt.data.samples import entailment, sentiment

TRAIN_SIZE, DEV_SIZE = 6000, 500  # examples of each task


def write_task_sample(task: str, directory: str | Path, seed: int = 0) -> dict[str, Path]:
    """Writes train and dev examples of the task named so; returns their paths as {"train": ..., "dev": ...}.

    No example occurs twice, neither within a file nor in both.
    """
    draw, suffix = _DRAWING[task]
    rng = random.Random(f"{task} {seed}")
    drawn = {}  # a set that keeps its order
    while len(drawn) < TRAIN_SIZE + DEV_SIZE:
        drawn[draw(rng)] = None
    lines = list(drawn)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for split, part in (("train", lines[:TRAIN_SIZE]), ("dev", lines[TRAIN_SIZE:])):
        paths[split] = directory / f"{task}-{split}{suffix}"
        paths[split].write_text("".join(line + "\n" for line in part), encoding="utf-8")
    return paths


def _draw_snli(rng: random.Random) -> str:
    label, premise, hypothesis = _draw_entailment(rng)
    record = {"gold_label": label, "sentence1_binary_parse": premise, "sentence2_binary_parse": hypothesis}
    return json.dumps(record)


def _draw_sick(rng: random.Random) -> str:
    label, premise, hypothesis = _draw_entailment(rng)
    return f"{label.upper()}\t{premise}\t{hypothesis}"


def _draw_entailment(rng: random.Random) -> tuple[str, str, str]:
    label = rng.choice(("entailment", "neutral", "contradiction"))
    premise, hypothesis = entailment.draw(rng, label)
    return label, premise.to_brackets(), hypothesis.to_brackets()


def _draw_logic(rng: random.Random) -> str:
    """The relation comes first, so that all seven are equally frequent."""
    wanted = rng.choice("=<>^|v#")
    while True:
        variables = rng.sample("abc", 2)
        first, second = (logic.draw(rng, rng.randrange(3), variables) for _ in range(2))
        if logic.relation(first, second) == wanted:
            return f"{wanted}\t{logic.to_text(first)}\t{logic.to_text(second)}"


def _draw_listops(rng: random.Random) -> str:
    expression = listops.draw(rng, ("MIN", "MAX"), most_arguments=3, levels=4)
    return f"{listops.evaluate(expression)}\t{listops.to_text(expression)}"


_DRAWING: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "snli": (_draw_snli, ".jsonl"),
    "sick": (_draw_sick, ".tsv"),
    "logic": (_draw_logic, ".tsv"),
    "sst": (sentiment.draw, ".txt"),
    "sst2": (sentiment.draw, ".txt"),
    "listops": (_draw_listops, ".tsv"),
}
