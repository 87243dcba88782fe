"""Workers that Ray starts, on this machine or on a cluster, and starts again when one of them dies.

Nothing else imports Ray, and it is imported when a run with `--workers` begins.
"""

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.training.signals import StopSignals
from tfnmt.training.workers import WorkerLostError, Workers

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.2"
"""Of Ray on this machine. It replaces 127.0.0.1 by the machine's own address."""
ENDS_WITHIN = 120
"""Seconds in which workers must end after a signal."""
STORAGE = ".ray"
"""What Ray keeps in the run's directory while it lasts."""
ENVIRONMENT = {
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a worker's relative paths are those of the command
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
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
        UserError: Ray is not installed, or the cluster does not answer; what `work` raised; too many workers died.
        InterruptedBySignal: a signal has come; the workers have saved a checkpoint.
    """
    ray = _connect(directory)
    failures = 0
    try:
        stop = ray.remote(num_cpus=0)(_Stop).remote()
        with StopSignals(lambda: f"--resume {directory} goes on") as signals:
            signals.deferred = True
            while True:
                try:
                    return _attempt(work, directory, workers, failures > 0, stop, signals)
                except WorkerLostError as error:
                    failures += 1
                    if failures > max_failures:
                        raise UserError(f"{error}; --max-failures {max_failures} allows no other start") from error
                    logger.info("a worker has died: starting again, %d of %d times", failures, max_failures)
    finally:
        ray.shutdown()
        shutil.rmtree(directory / STORAGE, ignore_errors=True)
        with contextlib.suppress(OSError):
            directory.rmdir()  # where the run was refused


def _connect(directory):
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    try:
        import ray
        import ray.train.tensorflow
    except ModuleNotFoundError as error:
        raise UserError(f"--workers needs Ray ({error.name} is missing): pip install 'tfnmt[ray]'") from error
    address = os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": True}
    if not address:
        options |= {"address": "local", "_node_ip_address": LOOPBACK, "include_dashboard": False}
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"RAY_ADDRESS={address}: no cluster answers there ({reason})") from error
    return ray


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
    from ray.train import FailureConfig, RunConfig, ScalingConfig, WorkerGroupError
    from ray.train.tensorflow import TensorflowTrainer

    trainer = TensorflowTrainer(
        _worker,
        train_loop_config={"work": work, "resume": resume, "stop": stop},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=ray.cluster_resources().get("GPU", 0) >= workers),
        # A worker's death is told from a mistake of the user's here, so it is here that workers are started again.
        run_config=RunConfig(storage_path=str(directory.absolute() / STORAGE), failure_config=FailureConfig(0)),
    )
    try:
        return trainer.fit().return_value
    except WorkerGroupError as error:
        for failure in error.worker_failures.values():
            cause = getattr(failure, "_base_exc", failure)
            if isinstance(cause, UserError) and not isinstance(cause, WorkerLostError):
                raise cause from None
        reasons = {str(failure).strip().splitlines()[-1] for failure in error.worker_failures.values()}
        raise WorkerLostError(f"a worker has ended ({'; '.join(sorted(reasons))})") from error


def _worker(options):
    """In a worker: do the work, while a thread asks for the command's signal."""
    import ray

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
