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
