"""What REST and gRPC share: models, limits, counts."""

import contextlib
import time

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tfnmt.serving.requests import RequestError, checked_inputs

_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Service:
    """Answers what has been understood of a request.

    Args:
        models: `Models`.
        registry: where `Counts` are.
    """

    def __init__(self, models, counts):
        self.models = models
        self.registry = counts.registry
        self._counts = counts
        self.stopping = False
        counts.waiting.set_function(models.waiting_rows)

    def healthy(self):
        """Whether every model has a version to answer with, and the server means to go on."""
        return not self.stopping and all(self.models.available().values())

    async def compute(self, version, signature, inputs):
        """Outputs of a `Version`'s signature: a dictionary of arrays.

        Raises:
            RequestError: the inputs are not the signature's, or cannot be taken now.
        """
        checked, rows = checked_inputs(version.signatures[signature], inputs)
        return await version.compute(signature, checked, rows)

    @contextlib.contextmanager
    def observed(self, protocol, model):
        """Count a request and its seconds. What this gives has the attribute `signature`, to be set."""
        observed = _Observed(model if model in self.models.names() else "unknown")
        start, code = time.perf_counter(), grpc.StatusCode.INTERNAL
        try:
            yield observed
            code = grpc.StatusCode.OK
        except RequestError as error:
            code = error.code
            raise
        finally:
            labels = (observed.model, observed.signature, protocol)
            self._counts.requests.labels(*labels, code.name).inc()
            self._counts.seconds.labels(*labels).observe(time.perf_counter() - start)


class _Observed:
    def __init__(self, model):
        self.model = model
        self.signature = ""


class Counts:
    """The server's Prometheus metrics."""

    def __init__(self):
        self.registry = CollectorRegistry()
        labels = ("model", "signature", "protocol")
        self.requests = Counter(
            "tfnmt_requests", "Predict requests by outcome", (*labels, "code"), registry=self.registry
        )
        self.seconds = Histogram(
            "tfnmt_request_seconds", "Seconds to the answer", labels, buckets=_SECONDS, registry=self.registry
        )
        self.batch_rows = Histogram(
            "tfnmt_batch_rows", "Texts computed at once", ("model",), buckets=_BATCH_SIZES, registry=self.registry
        )
        self.waiting = Gauge("tfnmt_waiting_rows", "Texts that wait for a batch", registry=self.registry)
