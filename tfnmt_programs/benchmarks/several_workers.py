"""The same training by one process and by several workers: whether it is the same, and how much faster."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError
from tfnmt.training.checkpoints import checkpoint_names, variable_key
from tfnmt.training.model_directory import CHECKPOINTS, HISTORY
from tfnmt.training.progress import read_history
from tfnmt_programs.soak.workers import WorkerGroup


def compare_workers(what: dict[str, Any], workers: int, pinned: bool) -> dict[str, Any]:
    """Train by one process and by workers on this machine; to compare weights, also by one process whose first weights
    are changed by their last bit: what rounding alone can make of them.

    Args:
        what: see `tfnmt_programs.benchmarks.timed_worker.main`; without "strategy", "directory" and "nudged".
        workers: how many.
        pinned: give each process one processor of its own, to compare the speed; otherwise all have all.

    Returns:
        "largest_difference" of a weight, at the end, and unless pinned "largest_difference_nudged"; "loss_alone" and
        "loss_together" of the last epoch;
        "milliseconds_alone" and "milliseconds_together", the median step, and "speedup", their ratio;
        "processor_milliseconds_alone" and "_together", of one process in the median step; "all_reduce_milliseconds".

    Raises:
        UserError: a training fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        alone, together, nudged = (Path(folder, name) for name in ("alone", "together", "nudged"))
        what = what | {"strategy": "none", "nudged": False}
        times = _train(what | {"directory": str(alone)}, 1, pinned)
        times_together = _train(what | {"strategy": "multiworker", "directory": str(together)}, workers, pinned)
        differences = {"largest_difference": _difference(alone, together, times["variables"])}
        if not pinned:
            _train(what | {"nudged": True, "directory": str(nudged)}, 1, pinned)
            differences["largest_difference_nudged"] = _difference(alone, nudged, times["variables"])
        losses = [read_history(directory / HISTORY)[-1]["loss"] for directory in (alone, together)]
    steps, steps_together = (1000 * statistics.median(t["steps"]) for t in (times, times_together))
    return differences | {
        "loss_alone": losses[0],
        "loss_together": losses[1],
        "milliseconds_alone": steps,
        "milliseconds_together": steps_together,
        "speedup": steps / steps_together,
        "processor_milliseconds_alone": 1000 * times["processor"],
        "processor_milliseconds_together": 1000 * times_together["processor"],
        "all_reduce_milliseconds": 1000 * times_together["all_reduce"],
    }


def _train(what, workers, pinned):
    command = [sys.executable, "-m", "tfnmt_programs.benchmarks.timed_worker", json.dumps(what)]
    processors = sorted(os.sched_getaffinity(0)) if pinned else None
    if pinned and len(processors) < workers:
        raise UserError(f"{workers} workers: there are {len(processors)} processors")
    if workers == 1 and what["strategy"] == "none":
        pinning = ["taskset", "-c", str(processors[0])] if processors else []
        done = subprocess.run([*pinning, *command], env=environment_with(), stdout=subprocess.PIPE, text=True)
        output, status = done.stdout, done.returncode
    else:
        with WorkerGroup(command, environment_with(), workers, random.Random(0), processors, subprocess.PIPE) as group:
            output, status = group.processes[0].communicate()[0].decode(), group.wait()
    if status:
        raise UserError(f"the training ended with status {status}: {' '.join(command)}")
    return json.loads(output.splitlines()[-1])


def _difference(one, other, count):
    """The largest difference of a weight between two directories."""
    pairs = zip(*(_weights(directory, count) for directory in (one, other)), strict=True)
    return float(max(np.max(np.abs(weight - of_other), initial=0.0) for weight, of_other in pairs))


def _weights(directory, count):
    """The model's variables in the newest checkpoint, in their order. Those of the optimizer come after them."""
    newest = checkpoint_names(directory / CHECKPOINTS)[0]
    reader = tf.train.load_checkpoint(str(directory / CHECKPOINTS / newest))
    return [reader.get_tensor(variable_key(place)).astype(np.float64) for place in range(count)]
