"""The server answers while its models are loaded, and says which are ready. The models here are fakes."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import pytest
import requests
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tests.processes import wait_until
from tests.serving.conftest import FakeVersion, Running
from tfnmt.serving.health import LOADING, READY, UNAVAILABLE, overall
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """An event; until it is set, the model "slow" is being loaded."""
    event = threading.Event()

    def load(path, *_):
        if path.parent.name == "broken":
            raise ValueError("broken")
        if path.parent.name == "slow":
            assert event.wait(60)
        return FakeVersion(path)

    monkeypatch.setattr("tfnmt.serving.service.Version", load)
    yield event
    event.set()


def configure(folder, *names):
    configs = ""
    for name in names:
        (folder / name / "1").mkdir(parents=True)
        configs += f'config {{ name: "{name}" base_path: "{name}" model_platform: "tensorflow" }}'
    (folder / "models.config").write_text(f"model_config_list {{ {configs} }}")


@pytest.fixture
def server(loaded, tmp_path):
    configure(tmp_path, "quick", "slow")
    running = Running(tmp_path, BatchingOptions(), loaded=False)
    running.wait_for("/health/ready/quick", 200)
    yield running
    loaded.set()
    running.stop()


def get(server, path):
    response = requests.get(server.rest + path, timeout=30)
    return response.status_code, response.json()


def test_by_rest(server, loaded):
    assert get(server, "/health/live") == (200, {"status": "live"})
    state = {"status": "loading", "models": {"quick": "ready", "slow": "loading"}}
    assert get(server, "/health/ready") == get(server, "/health") == (503, state)
    assert get(server, "/health/ready/quick") == (200, {"status": "ready"})
    assert get(server, "/health/ready/slow") == (503, {"status": "loading"})
    assert get(server, "/health/ready/other")[0] == 404
    assert get(server, "/health/live/")[0] == 404  # and no redirection to what the header Host says
    loaded.set()
    server.wait_for("/health/ready", 200)
    assert get(server, "/health/ready")[1]["status"] == "ready"


def test_a_model_that_is_being_loaded_is_not_an_unknown_one(server):
    latest = "model slow is being loaded: Latest(slow)"
    predicted = requests.post(f"{server.rest}/v1/models/slow:predict", data='{"instances": ["a"]}', timeout=30)
    assert (predicted.status_code, predicted.json()) == (503, {"error": latest})
    assert predicted.headers["Retry-After"] == "1"
    request = PredictRequest(model_spec=ModelSpec(name="slow"))
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel, pytest.raises(grpc.RpcError) as caught:
        PredictionServiceStub(channel).Predict(request, timeout=30)
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAVAILABLE, latest)
    assert caught.value.trailing_metadata() == (("grpc-retry-pushback-ms", "1000"),)
    assert get(server, "/v1/models/slow/metadata") == (503, {"error": latest})
    assert get(server, "/v1/models/slow")[1]["model_version_status"][0]["state"] == "LOADING"
    assert get(server, "/v1/models/other")[0] == 404


def test_by_grpc(server, loaded):
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        stub = HealthStub(channel)

        def check(name):
            return stub.Check(HealthCheckRequest(service=name), timeout=30).status

        assert [check(name) for name in ("", "quick", "slow")] == [NOT_SERVING, SERVING, NOT_SERVING]
        with pytest.raises(grpc.RpcError) as caught:
            check("other")
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        watched = stub.Watch(HealthCheckRequest(service=""), timeout=30)
        assert next(watched).status == NOT_SERVING
        loaded.set()
        assert next(watched).status == SERVING
        watched.cancel()


def test_calls_that_watch_leave_room_for_others(server):
    request = HealthCheckRequest(service="quick")
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        stub = HealthStub(channel)
        watching = [stub.Watch(request, timeout=60) for _ in range(Limits().watches)]
        assert {next(call).status for call in watching} == {SERVING}
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.Watch(request, timeout=60))
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert stub.Check(request, timeout=60).status == SERVING
        watching.pop().cancel()

        def watch_again():
            with contextlib.suppress(grpc.RpcError):
                return next(stub.Watch(request, timeout=60))

        assert wait_until(watch_again).status == SERVING  # as soon as the server has noticed


def test_a_model_that_is_refused_is_not_ready(loaded, tmp_path):
    configure(tmp_path, "broken")
    server = Running(tmp_path, BatchingOptions())
    assert get(server, "/health/ready") == (503, {"status": "unavailable", "models": {"broken": "unavailable"}})
    server.stop()


def test_the_server_stops_while_a_model_is_being_loaded(server):
    server.stop(within=10)  # the model itself gives up after 60 seconds


def test_no_model_is_ready_once_the_server_stops(loaded, tmp_path):
    configure(tmp_path, "quick")
    server = Running(tmp_path, BatchingOptions(), limits=Limits(last_seconds=60))
    stopping = threading.Thread(target=server.stop)
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        watched = HealthStub(channel).Watch(HealthCheckRequest(service="quick"), timeout=60)
        assert next(watched).status == SERVING
        stopping.start()
        try:
            assert next(watched).status == NOT_SERVING
        finally:
            watched.cancel()  # else the server would wait for it
            stopping.join()


def test_the_server_lives_before_tensorflow_is_imported():
    program = "import sys; sys.modules['tensorflow'] = None; import tfnmt.commands.serve, tfnmt.serving.server"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_all_models_together():
    assert overall({}) == overall({"a": READY}) == READY
    assert overall({"a": READY, "b": UNAVAILABLE}) == UNAVAILABLE
    assert overall({"a": LOADING, "b": UNAVAILABLE, "c": READY}) == LOADING
