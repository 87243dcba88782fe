"""Workers that Ray starts, on this machine or on a cluster, and starts again when one of them dies.

The command waits here for them, shows the lines that the chief writes to log.txt, and passes on signals.
"""

import contextlib
import logging
import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfnmt.background import repeatedly
from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.processors import processors
from tfnmt.ray_start import ray_started
from tfnmt.signals import StopSignals
from tfnmt.tensorflow_start import limit_threads
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.log_file import LOG
from tfnmt.training.model_directory import CHECKPOINTS
from tfnmt.training.run_lock import lock_directory
from tfnmt.training.workers import WorkerLostError, Workers

logger = logging.getLogger(__name__)

ENDS_WITHIN = 120
"""Seconds in which workers must end after a signal."""
ENVIRONMENT = {
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a worker's relative paths are those of the command
    "RAY_TRAIN_METRICS_ENABLED": "0",
}


def train_by_ray(work: Callable[[bool], Any], directory: Path, workers: int, max_failures: int) -> Any:
    """Let workers train together.

    Args:
        work: `work(resume)` is called in each worker, with TF_CONFIG set; `resume` says whether the run in the
            directory is to go on.
        directory: of the run; the same files for all workers.
        workers: how many.
        max_failures: how often they are started again, from the last checkpoint, after one of them has died.

    Returns:
        What the chief's `work` returns.

    Raises:
        UserError: another run writes there; Ray is not installed, or the cluster does not answer; what `work` raised;
            too many workers died.
        InterruptedBySignal: a signal has come; the workers have saved a checkpoint.
    """
    with lock_directory(directory):
        pass  # another run there is told of before Ray starts, and keeps its storage
    os.environ.update(ENVIRONMENT)
    failures = 0

    def advice() -> str:
        if not checkpoint_names(directory / CHECKPOINTS):
            return "nothing is saved yet: start it again"
        return f"--resume {shlex.quote(str(directory))} goes on"

    with _storage(directory), ray_started(max(workers, processors())) as ray, _log_shown(directory / LOG):
        stop = ray.remote(num_cpus=0)(_Stop).remote()
        with StopSignals(advice) as signals:
            signals.deferred = True
            while True:
                try:
                    return _attempt(work, directory, workers, failures > 0, stop, signals)
                except WorkerLostError as error:
                    failures += 1
                    if failures > max_failures:
                        raise UserError(f"{error}; --max-failures {max_failures} allows no other start") from error
                    logger.info("%s: starting again, %d of %d times", error, failures, max_failures)


@contextlib.contextmanager
def _storage(directory):
    """A folder for Ray in a run's directory, which all workers can reach."""
    try:
        yield
    finally:
        shutil.rmtree(_storage_path(directory), ignore_errors=True)
        with contextlib.suppress(OSError):
            directory.rmdir()  # where the run was refused


def _storage_path(directory):
    """What Ray keeps in the run's directory while it lasts, of this command alone."""
    return directory / f".ray-{os.getpid()}"


@contextlib.contextmanager
def _log_shown(path):
    """Within the block, each line that is added to a log.txt is logged here, too, without its time."""
    read = path.stat().st_size if path.exists() else 0

    def show() -> None:
        nonlocal read
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            file.seek(read)
            for line in iter(file.readline, ""):
                if not line.endswith("\n"):
                    break
                read = file.tell()
                logger.info("%s", line[len("2026-01-01 00:00:00 ") :].rstrip("\n"))

    try:
        with repeatedly(show, 0.5):
            yield
    finally:
        show()


def _attempt(work, directory, workers, resume, stop, signals):
    """Start the workers and wait for their end, in another thread than that which signals reach."""
    outcome: dict[str, Any] = {}

    def fit() -> None:
        try:
            outcome["result"] = _fit(work, directory, workers, resume, stop)
        except BaseException as error:  # which is raised again below
            outcome["error"] = error

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    told = False
    while thread.is_alive():
        thread.join(ENDS_WITHIN if told else 0.2)
        if told:
            break
        if signals.received:
            stop.set.remote(signals.received)
            told = True
    if signals.received:
        signals.end()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def _fit(work, directory, workers, resume, stop):
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.tensorflow import TensorflowTrainer

    # A machine each, as far as there are machines: Ray would fill one with workers before it takes the next.
    has_gpus = ray.cluster_resources().get("GPU", 0) >= workers
    scaling = ScalingConfig(num_workers=workers, use_gpu=has_gpus, placement_strategy="SPREAD")
    trainer = TensorflowTrainer(
        _worker,
        train_loop_config={"work": work, "resume": resume, "stop": stop},
        scaling_config=scaling,
        # A worker's death is told from a mistake of the user's here, so it is here that workers are started again.
        run_config=RunConfig(storage_path=str(_storage_path(directory.absolute())), failure_config=FailureConfig(0)),
    )
    try:
        return trainer.fit().return_value
    except TrainingFailedError as error:
        failures = getattr(error, "worker_failures", {})  # by the worker's index; none where Ray itself has failed
        for failure in failures.values():
            if isinstance(failure, UserError) and not isinstance(failure, WorkerLostError):
                raise failure from None
        dead = [index for index, failure in failures.items() if not isinstance(failure, WorkerLostError)] or failures
        which = "worker " + ", ".join(map(str, sorted(dead))) if dead else "Ray"
        failure = next((failures[index] for index in dead), error)
        reason = (str(failure).strip() or type(failure).__name__).splitlines()[0]
        raise WorkerLostError(f"{which} has ended ({reason[:200]})") from error


def _worker(options):
    """In a worker: do the work, with a share of the machine's processors, while a thread asks for the command's
    signal."""
    import ray
    import ray.train

    context, all_processors = ray.train.get_context(), sorted(os.sched_getaffinity(0))
    share = all_processors[context.get_local_rank() :: context.get_local_world_size()]
    os.sched_setaffinity(0, share or all_processors)  # of this thread, and those that TensorFlow will start from it
    limit_threads()
    received = [0]

    def ask() -> None:
        while not received[0]:
            time.sleep(1)
            received[0] = ray.get(options["stop"].get.remote())

    threading.Thread(target=ask, daemon=True).start()
    Workers.outside_signal = staticmethod(lambda: received[0])
    try:
        return options["work"](options["resume"])
    except InterruptedBySignal:
        return None  # the command says so


class _Stop:
    """An actor that keeps the signal that the command has received, for the workers."""

    def __init__(self):
        self.signal = 0

    def set(self, number):
        self.signal = number

    def get(self):
        return self.signal
