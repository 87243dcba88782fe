"""What REST and gRPC share: the models, the checks of a request, and the metrics."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grpc

from tfnmt.serving.admin import Admin
from tfnmt.serving.health import UNAVAILABLE
from tfnmt.serving.metrics import Metrics
from tfnmt.serving.models import Models
from tfnmt.serving.options import ServerOptions
from tfnmt.serving.requests import RequestError
from tfnmt.serving.versions import Version


def create_service(directory: str | Path, options: ServerOptions) -> "Service":
    """The service over a folder of servables; its models are not loaded yet.

    Raises:
        UserError: models.config is missing or broken.
    """
    metrics = Metrics()
    executor, checking = ThreadPoolExecutor(options.batching.threads, "batch"), ThreadPoolExecutor(1, "check")

    def load_version(name: str, path: Path) -> Version:
        rows, seconds = metrics.batch_rows.labels(name), metrics.compute_seconds.labels(name)
        status = "fail"
        try:
            version = Version(path, executor, checking, options.batching, options.limits, rows.observe, seconds.observe)
            status = "success"
            return version
        finally:
            metrics.loads.labels(name, path.name, status).inc()

    admin = Admin(options.address.host, options.admin_token)
    return Service(Models(directory, load_version), metrics, (executor, checking), admin)


@dataclass
class Measurement:
    """The labels of a request's metrics; `signature` is set once it is known."""

    model: str
    signature: str = ""


class Service:
    """Runs parsed predict requests, whichever protocol they came by, and measures them.

    Args:
        models: `Models`.
        metrics: `Metrics`.
        executors: the threads that check and compute.
        admin: who may change what is served.
    """

    def __init__(self, models: Models, metrics: Metrics, executors: Sequence[Executor], admin: Admin):
        self.models = models
        self.metrics = metrics
        self.admin = admin
        self.stopping = False
        self._executors = executors
        metrics.waiting.set_function(models.waiting_rows)

    def readiness(self) -> dict[str, str]:
        """{model: READY, LOADING or UNAVAILABLE}; none is ready once the server is about to stop."""
        readiness = self.models.readiness()
        return dict.fromkeys(readiness, UNAVAILABLE) if self.stopping else readiness

    def close(self) -> None:
        """Compute no more."""
        for executor in self._executors:
            executor.shutdown(wait=False, cancel_futures=True)

    @contextlib.contextmanager
    def measured(self, protocol: str, model: str) -> Iterator[Measurement]:
        """Count a request and its latency."""
        measurement = Measurement(model if model in self.models.names() else "unknown")
        start, code = time.perf_counter(), grpc.StatusCode.INTERNAL
        try:
            yield measurement
            code = grpc.StatusCode.OK
        except RequestError as error:
            code = error.code
            raise
        except asyncio.CancelledError:  # by the client, or its deadline
            code = grpc.StatusCode.CANCELLED
            raise
        finally:
            labels = (measurement.model, measurement.signature, protocol)
            self.metrics.requests.labels(*labels, code.name).inc()
            self.metrics.seconds.labels(*labels).observe(time.perf_counter() - start)
