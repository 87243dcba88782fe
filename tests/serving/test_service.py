"""What REST and gRPC share."""

import asyncio
from types import SimpleNamespace

import grpc
import pytest

from tfnmt.serving.metrics import Metrics
from tfnmt.serving.requests import RequestError
from tfnmt.serving.service import Service


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (asyncio.CancelledError(), "CANCELLED"),
        (RequestError(grpc.StatusCode.NOT_FOUND, "no"), "NOT_FOUND"),
        (ValueError(), "INTERNAL"),
    ],
)
def test_how_a_request_ended_is_counted(raised, code):
    models = SimpleNamespace(names=lambda: ["m"], waiting_rows=lambda: 0)
    service = Service(models, Metrics(), (), admin=None)
    with pytest.raises(type(raised)), service.measured("grpc", "m"):
        raise raised
    (metric,) = service.metrics.requests.collect()
    assert [(s.labels["code"], s.value) for s in metric.samples if s.name.endswith("_total")] == [(code, 1.0)]


def test_figures_by_tensorflow_servings_names_are_sums_by_hand():
    """Of all signatures, and its counts of both protocols too; its times are microseconds."""
    metrics = Metrics()
    for signature, protocol, number, seconds in (
        ("serving_default", "rest", 2, 0.002),
        ("nbest", "rest", 3, 0.4),
        ("nbest", "grpc", 4, 0.02),
    ):
        metrics.requests.labels("m", signature, protocol, "OK").inc(number)
        metrics.seconds.labels("m", signature, protocol).observe(seconds)
    figures = {
        (sample.name.removeprefix(":tensorflow:serving:"), *sorted(sample.labels.items())): sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
    }
    assert figures["request_count", ("model_name", "m"), ("status", "OK")] == 9
    rest = ("API", "predict"), ("entrypoint", "REST")
    of_model = ("model_name", "m")
    assert figures["request_latency_count", *rest, of_model] == 2
    assert figures["request_latency_sum", *rest, of_model] == pytest.approx(402_000)
    limits = {"1000": 0, "2500": 1, "250000": 1, "500000": 2, "+Inf": 2}
    found = {limit: figures["request_latency_bucket", *rest, ("le", limit), of_model] for limit in limits}
    assert found == limits
