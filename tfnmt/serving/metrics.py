"""The server's Prometheus metrics, and the main ones of TensorFlow Serving's, by its names."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_MICROSECONDS = 1e6


class Metrics:
    """All metrics, in a registry of their own."""

    def __init__(self):
        registry = self.registry = CollectorRegistry()
        request = ("model", "signature", "protocol")
        self.requests = Counter("tfnmt_requests", "Predict requests by outcome", (*request, "code"), registry=registry)
        self.seconds = Histogram(
            "tfnmt_request_seconds", "Latency of predict requests", request, buckets=_SECONDS, registry=registry
        )
        self.compute_seconds = Histogram(
            "tfnmt_compute_seconds", "Time that a batch is computed", ("model",), buckets=_SECONDS, registry=registry
        )
        self.batch_rows = Histogram(
            "tfnmt_batch_rows", "Rows of each batch", ("model",), buckets=_BATCH_SIZES, registry=registry
        )
        self.waiting = Gauge("tfnmt_waiting_rows", "Rows waiting for a batch", registry=registry)
        self.loads = Counter(
            "tfnmt_loads", "Versions loaded or refused", ("model", "version", "status"), registry=registry
        )
        registry.register(_TensorFlowServingNames(self))


class _TensorFlowServingNames(Collector):
    """The same figures for dashboards and alerts that were made for TensorFlow Serving. Its times are microseconds."""

    def __init__(self, metrics):
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """One metric after the other."""
        metrics = self._metrics

        def outcome(labels):
            return {"model_name": labels["model"], "status": labels["code"]}

        def entrance(labels):
            rest = labels["protocol"] == "rest"
            return {
                "model_name": labels["model"],
                "API": "predict" if rest else "Predict",
                "entrypoint": "REST" if rest else "GRPC",
            }

        def computed(labels):
            return {"model_name": labels["model"], "API": "Predict", "runtime": "TF1"}

        def model(labels):
            return {"model_name": labels["model"]}

        def loaded(labels):
            return {"model_path": f"/models/{labels['model']}/{labels['version']}", "status": labels["status"]}

        serving = ":tensorflow:serving"
        yield _counts(f"{serving}:request_count", metrics.requests.collect(), outcome)
        yield _distribution(f"{serving}:request_latency", metrics.seconds.collect(), entrance, _MICROSECONDS)
        yield _distribution(f"{serving}:runtime_latency", metrics.compute_seconds.collect(), computed, _MICROSECONDS)
        rows = metrics.batch_rows.collect()
        yield _distribution(f"{serving}:batching_session:processed_batch_size", rows, model, 1)
        yield _counts(":tensorflow:cc:saved_model:load_attempt_count", metrics.loads.collect(), loaded)


def _counts(name: str, metrics: Iterable[Metric], labels) -> Metric:
    """A counter by other labels; what they do not tell apart is added up."""
    totals = defaultdict(float)
    for sample in _samples(metrics, "_total"):
        totals[tuple(labels(sample.labels).items())] += sample.value
    renamed = Metric(name, "see TensorFlow Serving", "unknown")  # a counter's name would get the ending _total
    for pairs, value in totals.items():
        renamed.add_sample(name, dict(pairs), value)
    return renamed


def _distribution(name: str, metrics: Iterable[Metric], labels, unit: float) -> Metric:
    """A histogram by other labels, in another unit."""
    totals = defaultdict(float)
    for sample in _samples(metrics, "_bucket", "_sum", "_count"):
        ending = sample.name[sample.name.rindex("_") :]
        key = dict(labels(sample.labels))
        if ending == "_bucket":
            limit = float(sample.labels["le"]) * unit
            key["le"] = "+Inf" if limit == float("inf") else f"{limit:.15g}"
        totals[ending, tuple(key.items())] += sample.value * (unit if ending == "_sum" else 1)
    renamed = Metric(name, "see TensorFlow Serving", "histogram")
    for (ending, pairs), value in totals.items():
        renamed.add_sample(name + ending, dict(pairs), value)
    return renamed


def _samples(metrics, *endings):
    return [sample for metric in metrics for sample in metric.samples if sample.name.endswith(endings)]
