"""The server as its clients see it: the same by REST and by gRPC, and robust to any input."""

import asyncio
import concurrent.futures
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import requests
import tensorflow as tf

from tests.processes import ended, wait_until
from tests.serving.conftest import Running, publish
from tfnmt.errors import UserError
from tfnmt.serving import server as serving_server
from tfnmt.serving.client import PredictError, connect
from tfnmt.serving.http_server import listening
from tfnmt.serving.json_tensors import format_response
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import Address, BatchingOptions, ServerOptions, batching_options
from tfnmt.serving.requests import RequestError
from tfnmt.serving.server import run_server

ROOT = Path(__file__).resolve().parents[2]
CODES = {"rest": {"unknown": 404, "invalid": 400}, "grpc": {"unknown": "NOT_FOUND", "invalid": "INVALID_ARGUMENT"}}


@pytest.fixture(scope="module")
def directory(echoes, tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved_models")
    publish(echoes[0], directory, "echo", 1)
    return directory


@pytest.fixture(scope="module")
def server(directory):
    running = Running(directory, BatchingOptions(max_batch_size=8, wait_seconds=0.002))
    yield running
    running.stop()


@pytest.fixture(params=["rest", "grpc"])
def client(server, request):
    with connect(getattr(server, request.param), deadline=30) as client:
        client.codes = CODES[request.param]
        yield client


def test_predict(client):
    outputs = client.predict("echo", {"text": ["a", "", "Grüße 你好"]})
    assert outputs == {"translation": ["one:a", "one:", "one:Grüße 你好"], "score": [1.0, 0.0, 14.0]}
    assert client.predict("echo", {"source": ["a"], "target": ["b"]}, "pair", version=1) == {"both": ["a|b"]}


def test_a_request_larger_than_a_batch(client):
    texts = [" ".join("w" * (1 + i % 5)) for i in range(30)]
    words = client.predict("echo", {"text": texts}, "wide")["words"]
    assert words == [["w"] * (1 + i % 5) + [""] * (4 - i % 5) for i in range(30)]


def test_an_empty_request(client):
    assert client.predict("echo", {"text": []}) == {"translation": [], "score": []}


def test_status_and_signatures(client):
    assert client.status("echo") == {1: "AVAILABLE"}
    assert client.signatures("echo")["pair"] == {"inputs": ["source", "target"], "outputs": ["both"]}


@pytest.mark.parametrize(
    "kind, message, call",
    [
        ("unknown", "Servable not found for request: Latest(other)", {"model": "other"}),
        ("unknown", "Servable not found for request: Specific(echo, 7)", {"version": 7}),
        ("invalid", 'Serving signature name: "other" not found in signature def', {"signature": "other"}),
        ("invalid", "input keys do not match", {"inputs": {"texts": ["a"]}}),
        ("invalid", "input keys do not match", {"inputs": {}}),
        ("invalid", "input 'text': expected a list of strings", {"inputs": {"text": [1]}}),
        ("invalid", "input 'text': expected a list of strings", {"inputs": {"text": [["a"]]}}),
        ("invalid", "inputs differ in their first dimension: 1, 2",
         {"inputs": {"source": ["a"], "target": ["a", "b"]}, "signature": "pair"}),
        ("invalid", "input 'text', row 1: has a NUL character", {"inputs": {"text": ["a", "b\0"]}}),
        ("invalid", "input 'text', row 0: a text of 20,001 bytes: at most", {"inputs": {"text": ["a" * 20_001]}}),
        ("invalid", "a request of 65 rows: at most 64", {"inputs": {"text": ["a"] * 65}}),
        ("invalid", "StringToNumberOp could not correctly convert string: x",
         {"inputs": {"text": ["x"]}, "signature": "number"}),
    ],
)  # fmt: skip
def test_invalid_requests(client, kind, message, call):
    with pytest.raises(PredictError) as caught:
        client.predict(**{"model": "echo", "inputs": {"text": ["a"]}} | call)
    assert caught.value.status == client.codes[kind]
    assert caught.value.message.startswith(message)


def test_an_invalid_request_does_not_affect_the_others_in_its_batch(server):
    with connect(server.rest) as client, concurrent.futures.ThreadPoolExecutor(16) as pool:
        texts = [str(i) if i % 8 else "x" for i in range(64)]

        def ask(text):
            try:
                return client.predict("echo", {"text": [text]}, "number")["number"][0]
            except PredictError as error:
                return error.status

        assert list(pool.map(ask, texts)) == [400 if text == "x" else float(text) for text in texts]


def test_concurrent_requests_get_their_own_answers(client):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = pool.map(lambda i: client.predict("echo", {"text": [f"{i}", f"{i}'"]}), range(400))
        for i, answer in enumerate(answers):
            assert answer["translation"] == [f"one:{i}", f"one:{i}'"]


def post(server, path, body):
    body = body if isinstance(body, bytes | str) else json.dumps(body)
    response = requests.post(f"{server.rest}/v1/models/{path}", data=body, timeout=30)
    return response.status_code, response.json()


def test_json_by_rows_and_by_columns(server):
    row = {"translation": "one:a", "score": 1.0}
    assert post(server, "echo:predict", {"instances": ["a"]}) == (200, {"predictions": [row]})
    assert post(server, "echo:predict", {"instances": [{"text": "a"}]}) == (200, {"predictions": [row]})
    assert post(server, "echo:predict", {"instances": [{"b64": "YQ=="}]}) == (200, {"predictions": [row]})
    columns = (200, {"outputs": {"translation": ["one:a"], "score": [1.0]}})
    assert post(server, "echo:predict", {"inputs": ["a"]}) == columns
    assert post(server, "echo/versions/1:predict", {"inputs": {"text": [{"b64": "YQ=="}]}}) == columns
    pair = {"signature_name": "pair"}
    expected = (200, {"predictions": ["a|b", "c|d"]})
    rows = [{"source": "a", "target": "b"}, {"target": "d", "source": "c"}]
    assert post(server, "echo:predict", {"instances": rows} | pair) == expected
    both = {"source": ["a", "c"], "target": ["b", "d"]}
    assert post(server, "echo:predict", {"inputs": both} | pair) == (200, {"outputs": ["a|b", "c|d"]})


@pytest.mark.parametrize("text", ["YQ", "Y Q==\n"])
def test_base64_as_tensorflow_serving_reads_it(server, text):
    """Without padding, and with white space."""
    expected = {"translation": "one:a", "score": 1.0}
    answer = post(server, "echo:predict", {"instances": [{"b64": text}]})
    assert answer == (200, {"predictions": [expected]})


def test_strings_whose_name_ends_in_bytes_are_answered_in_base64():
    raw = np.array([[b"\xff", b"a"], [b"", "ä".encode()]], object)
    encoded = [[{"b64": "/w=="}, {"b64": "YQ=="}], [{"b64": ""}, {"b64": "w6Q="}]]
    sizes = np.array([3, 4])
    texts = [["\ufffd", "a"], ["", "ä"]]
    for outputs, by_rows, expected in (
        ({"raw_bytes": raw}, True, {"predictions": encoded}),
        ({"raw_bytes": raw}, False, {"outputs": encoded}),
        ({"raw_bytes": raw, "of_bytes": sizes}, False, {"outputs": {"raw_bytes": encoded, "of_bytes": [3, 4]}}),
        ({"raw_bytes": raw, "bytes": raw}, True,
         {"predictions": [{"raw_bytes": each, "bytes": text} for each, text in zip(encoded, texts, strict=True)]}),
    ):  # fmt: skip
        assert json.loads(format_response(outputs, by_rows)) == expected
    with pytest.raises(RequestError, match="output 'x' is complex64, which JSON cannot hold; ask by gRPC"):
        format_response({"x": np.array([1j], np.complex64)}, True)


@pytest.mark.parametrize(
    "body, message",
    [
        (b"", "JSON Parse error: "),
        (b"{", "JSON Parse error: "),
        (b"\xff\xfe", "JSON Parse error: "),
        (b"[" * 100_000, "JSON Parse error: "),
        ("[]", "JSON Parse error: a predict request is an object"),
        ("{}", "Missing 'inputs' or 'instances' key"),
        ({"instances": ["a"], "inputs": ["a"]}, "Missing 'inputs' or 'instances' key"),
        ({"instances": ["a"], "signature_name": 1}, "JSON Parse error: 'signature_name'"),
        ({"instances": []}, "JSON Value: 'instances' must be a list"),
        ({"instances": "a"}, "JSON Value: 'instances' must be a list"),
        ({"instances": ["a", {"text": "b"}]}, "JSON Value: every row of 'instances'"),
        ({"instances": [None]}, "input 'text': expected a list of strings"),
        ({"instances": ["a", 1]}, "input 'text': expected a list of strings"),
        ({"instances": ["a", ["b"]]}, "input 'text': expected a list of strings"),
        ({"instances": [["a"], ["b", "c"]]}, "input 'text': expected a list of strings"),
        ({"instances": [{"b64": "!"}]}, "input 'text': 'b64' is not base64"),
        ({"instances": [{"b64": "/w=="}]}, "input 'text', row 0: byte 1 is not UTF-8"),
        ('{"instances": ["\\ud800"]}', "input 'text': half of a surrogate pair"),
        ({"instances": [10**400]}, "input 'text': expected a list of strings"),
        ({"inputs": {"text": "a"}}, "input 'text': expected a list of strings"),
        ({"inputs": ["a"], "signature_name": "pair"}, "'inputs' must be an object with the keys source, target"),
        (
            {"instances": ["a"], "signature_name": "pair"},
            "every row of 'instances' must be an object with the keys source, target",
        ),
    ],
)
def test_invalid_json_requests(server, body, message):
    status, answer = post(server, "echo:predict", body)
    assert (status, list(answer)) == (400, ["error"]) and answer["error"].startswith(message)


def test_other_paths(server):
    for method, path in (("POST", "echo"), ("GET", "echo:predict"), ("POST", "echo:other"), ("GET", "echo/1")):
        response = requests.request(method, f"{server.rest}/v1/models/{path}", timeout=30)
        error = f"Malformed request: {method} /v1/models/{path}"
        assert (response.status_code, response.json()) == (400, {"error": error})
    status, answer = post(server, "echo:classify", {"examples": []})
    assert status == 400 and "method_name" in answer["error"]
    response = requests.get(f"{server.rest}/v1/models/other", timeout=30)
    assert (response.status_code, response.json()) == (404, {"error": "Could not find any versions of model other"})
    ready = {"status": "ready", "models": {"echo": "ready"}}
    assert requests.get(f"{server.rest}/health", timeout=30).json() == ready
    assert requests.get(f"{server.rest}/v1/models", timeout=30).json() == {"models": {"echo": [1]}}


def test_status_and_metadata_have_tensorflow_servings_format(server):
    assert requests.get(f"{server.rest}/v1/models/echo", timeout=30).json() == {
        "model_version_status": [
            {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        ]
    }
    described = requests.get(f"{server.rest}/v1/models/echo/versions/1/metadata", timeout=30).json()
    assert described["model_spec"] == {"name": "echo", "signature_name": "", "version": "1"}
    pair = described["metadata"]["signature_def"]["signature_def"]["pair"]
    assert pair["method_name"] == "tensorflow/serving/predict"
    shape = {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}
    assert pair["inputs"]["source"] == {"name": "pair_source:0", "dtype": "DT_STRING", "tensor_shape": shape}


def test_very_large_requests_are_refused_and_idle_connections_tolerated(server):
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    status, answer = post(server, "echo:predict", {"instances": ["a" * (10 << 20)]})
    assert status == 413 and answer == {"error": "a request of more than 1,048,576 bytes is refused"}
    refused = requests.post(f"{server.rest}/v1/models/echo:predict", data=b"a" * (2 << 20), timeout=30)
    assert refused.status_code == 413 and refused.headers["Connection"] == "close", "the rest is not read"
    with connect(server.grpc) as client, pytest.raises(PredictError, match="RESOURCE_EXHAUSTED"):
        client.predict("echo", {"text": ["a" * (10 << 20)]})
    assert post(server, "echo:predict", {"instances": ["a"]})[0] == 200
    for connection in idle:
        connection.close()


def test_clients_that_disconnect_are_tolerated(server, caplog):
    for beginning in (
        b"POST /v1/models/echo:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        b"\x16\x03\x01",
    ):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(beginning)
    assert post(server, "echo:predict", {"instances": ["a"]})[0] == 200
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


def test_answers_are_sent_at_once():
    """Without TCP_NODELAY the last part of an answer waits for the client's acknowledgement, 40 ms on Linux."""

    async def main(listener):
        accepted = asyncio.get_running_loop().create_future()
        async with await asyncio.start_server(lambda _, writer: accepted.set_result(writer), sock=listener):
            _, client = await asyncio.open_connection(*listener.getsockname())
            writer = await accepted
            option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            client.close()
            writer.close()
            return option

    with listening("127.0.0.1", 0, Limits()) as listener:
        assert asyncio.run(main(listener))


def test_metrics(server):
    post(server, "echo:predict", {"instances": ["a"]})
    text = requests.get(f"{server.rest}/monitoring/prometheus/metrics", timeout=30).text
    labels = 'code="OK",model="echo",protocol="rest",signature="serving_default"'
    assert f"tfnmt_requests_total{{{labels}}}" in text and 'tfnmt_batch_rows_bucket{le="1.0",model="echo"}' in text
    assert 'tfnmt_loads_total{model="echo",status="success",version="1"} 1.0' in text
    assert 'model="other"' not in text  # made-up names must not fill the memory


def test_metrics_by_tensorflow_servings_names(server):
    with connect(server.grpc) as client, pytest.raises(PredictError):
        client.predict("echo", {"texts": ["a"]})
    post(server, "echo:predict", {"instances": ["a"]})
    text = requests.get(f"{server.rest}/monitoring/prometheus/metrics", timeout=30).text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(":tensorflow:"))
    figures = {name: float(value) for name, value in figures.items()}
    serving = ":tensorflow:serving"
    assert figures[f'{serving}:request_count{{model_name="echo",status="OK"}}'] >= 1
    assert figures[f'{serving}:request_count{{model_name="echo",status="INVALID_ARGUMENT"}}'] >= 1
    entrance = 'API="predict",entrypoint="REST"'
    count = figures[f'{serving}:request_latency_count{{{entrance},model_name="echo"}}']
    assert count == figures[f'{serving}:request_latency_bucket{{{entrance},le="+Inf",model_name="echo"}}'] >= 1
    assert figures[f'{serving}:request_latency_sum{{{entrance},model_name="echo"}}'] > 10  # microseconds
    assert figures[f'{serving}:runtime_latency_count{{API="Predict",model_name="echo",runtime="TF1"}}'] >= 1
    assert figures[f'{serving}:batching_session:processed_batch_size_count{{model_name="echo"}}'] >= 1
    loaded = 'model_path="/models/echo/1",status="success"'
    assert figures[f":tensorflow:cc:saved_model:load_attempt_count{{{loaded}}}"] == 1


def test_a_request_that_is_not_complete_holds_no_version(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    server = start(tmp_path)
    body = b'{"instances": ["a"]}'
    lines = ("POST /v1/models/echo:predict HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}")
    head = "".join(f"{line}\r\n" for line in (*lines, "")).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection, connect(server.rest) as client:
        connection.sendall(head + body[:-1])
        publish(echoes[1], tmp_path, "echo", 2)
        wait_until(lambda: client.status("echo") == {2: "AVAILABLE", 1: "END"})
        connection.sendall(body[-1:])
        with connection.makefile("rb") as answer:
            assert b'"two:a"' in answer.read()


def test_no_request_is_lost_while_versions_change(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    server = start(tmp_path)
    answers, done = [], threading.Event()

    def ask():
        with connect(server.rest, retries=0) as client:
            while not done.is_set():
                answers.append(client.predict("echo", {"text": ["a"]})["translation"][0])

    with connect(server.rest) as client, concurrent.futures.ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]
        wait_until(lambda: answers)
        publish(echoes[1], tmp_path, "echo", 3)
        wait_until(lambda: client.status("echo") == {3: "AVAILABLE", 1: "END"})

        # One that is corrupt is refused, and what is there stays.
        shutil.copytree(echoes[0], tmp_path / "echo" / ".4")
        saved = tmp_path / "echo" / ".4" / "saved_model.pb"
        saved.write_bytes(saved.read_bytes()[:-100])
        (tmp_path / "echo" / ".4").rename(tmp_path / "echo" / "4")
        wait_until(lambda: client.status("echo").get(4) == "END")
        response = requests.get(f"{server.rest}/v1/models/echo/versions/4", timeout=30).json()
        assert response["model_version_status"][0]["status"]["error_code"] == "UNKNOWN"
        count = len(answers)
        wait_until(lambda: len(answers) > count + 20)
        assert set(answers[count + 8 :]) == {"two:a"}

        # Mended, it is taken after all; when it goes, the one before comes back.
        (tmp_path / "echo" / "4" / "saved_model.pb").write_bytes((echoes[0] / "saved_model.pb").read_bytes())
        wait_until(lambda: client.status("echo")[4] == "AVAILABLE")
        (tmp_path / "echo" / "4").rename(tmp_path / "echo" / ".4")
        wait_until(lambda: client.predict("echo", {"text": ["a"]})["translation"] == ["two:a"])
        done.set()
        for each in asking:
            each.result()
    assert set(answers) == {"one:a", "two:a"}


def test_models_config_is_watched_and_version_policies_apply(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    publish(echoes[1], tmp_path, "echo", 2)
    config = tmp_path / "models.config"
    config.write_text(
        'model_config_list { config { name: "named" base_path: "/models/echo" model_platform: "tensorflow"'
        ' model_version_policy { specific { versions: 1 versions: 2 } } version_labels { key: "stable" value: 1 } } }'
    )
    server = start(tmp_path)
    with connect(server.grpc) as client:
        assert client.status("named") == {1: "AVAILABLE", 2: "AVAILABLE"}
        assert client.predict("named", {"text": ["a"]}, version=1)["translation"] == ["one:a"]
        assert client.predict("named", {"text": ["a"]})["translation"] == ["two:a"]
        stable = post(server, "named/labels/stable:predict", {"instances": ["a"]})
        assert stable[1]["predictions"][0]["translation"] == "one:a"
        assert post(server, "named/labels/other:predict", {"instances": ["a"]})[0] == 400
        for broken in ("", "model_config_list {"):  # empty: as a file is that is just being written
            config.write_text(broken)
            time.sleep(0.3)
            assert client.status("named") == {1: "AVAILABLE", 2: "AVAILABLE"}
        config.write_text(
            'model_config_list { config { name: "other" base_path: "echo" model_platform: "tensorflow" } }'
        )
        wait_until(lambda: requests.get(f"{server.rest}/v1/models", timeout=30).json() == {"models": {"other": [2]}})


def test_a_version_that_takes_numbers_is_refused(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    module = tf.Module()
    module.double = tf.function(lambda x: {"y": 2.0 * x}, input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    signatures = {"serving_default": module.double.get_concrete_function()}
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=signatures)
    publish(tmp_path / "saved", tmp_path, "echo", 2)
    server = start(tmp_path)
    status = requests.get(f"{server.rest}/v1/models/echo/versions/2", timeout=30).json()["model_version_status"][0]
    message = "ValueError: signature serving_default: input x is float32 (None,); only string [rows] is served"
    assert (status["state"], status["status"]["error_message"]) == ("END", message)
    with connect(server.rest) as client:
        assert client.predict("echo", {"text": ["a"]})["translation"] == ["one:a"]


def test_an_exported_translator(exported, model, sentences, start):
    server = start(exported.parents[1], max_batch_size=16)
    expected = model.translate(sentences[:40], beam_size=3)
    with connect(server.rest) as rest, connect(server.grpc) as grpc, concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert rest.predict("sample", {"text": sentences[:16]})["translation"] == expected[:16]
        alone = pool.map(lambda text: grpc.predict("sample", {"text": [text]})["translation"][0], sentences[:40])
        assert list(alone) == expected
        for signature in ("nbest", "align", "encode"):
            ours, theirs = (each.predict("sample", {"text": sentences[:2]}, signature) for each in (rest, grpc))
            assert ours.keys() == theirs.keys()
            for name in ours:
                if np.array(ours[name]).dtype.kind == "U":
                    assert ours[name] == theirs[name]
                else:
                    np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5)
        for signature in ("serving_default", "nbest", "align"):
            with pytest.raises(PredictError, match=r"row 0: a text of \d+ tokens: at most 128 are allowed"):
                rest.predict("sample", {"text": ["The dog sees a red ball. " * 30]}, signature)
        with pytest.raises(PredictError, match=r"input 'target', row 0: a text of \d+ tokens: at most 400 are allowed"):
            grpc.predict("sample", {"source": ["A dog."], "target": ["Ein Hund. " * 200]}, "score")


def arrived_rows(rest):
    """How many texts have come to the model "echo": those of all its batches, and those that wait for one."""
    text = requests.get(f"{rest}/monitoring/prometheus/metrics", timeout=30).text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines())
    return float(figures["tfnmt_waiting_rows"]) + float(figures.get('tfnmt_batch_rows_sum{model="echo"}', 0))


@pytest.mark.slow
def test_a_process_lives_at_once_and_answers_accepted_requests_before_it_stops(echoes, tmp_path):
    publish(echoes[0], tmp_path, "echo", 1)
    options = ["--models", tmp_path, "--rest-port", "0", "--grpc-port", "0", "--max-batch-size", "2"]
    command = [sys.executable, ROOT / "scripts" / "serve.py", *options]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as process:
        _answers_before_it_stops(process)


def _answers_before_it_stops(process):
    _, rest, _, grpc = process.stdout.readline().split()
    # It answers before TensorFlow is imported, which takes seconds.
    for path in ("/health/live", "/", "/page/main.js"):
        assert requests.get(rest + path, timeout=30).status_code == 200
    for path in ("/health/ready", "/v1/models/echo"):
        response = requests.get(rest + path, timeout=30)
        assert (response.status_code, response.json()["error"]) == (503, "the server is starting")
    wait_until(lambda: requests.get(f"{rest}/health/ready", timeout=30).status_code == 200)
    started = threading.Barrier(9, timeout=60)

    def ask(i):
        with connect(rest if i % 2 else f"grpc://{grpc}", retries=0) as client:
            assert client.predict("echo", {"text": ["warm"]})["translation"] == ["one:warm"]
            started.wait()
            return client.predict("echo", {"text": [f"{i}"]}, "slow")["text"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = pool.map(ask, range(8))
        started.wait()
        wait_until(lambda: arrived_rows(rest) == 16)  # in batches or waiting for one: the 8 of before and these
        process.send_signal(signal.SIGTERM)
        assert list(answers) == [[f"{i}"] for i in range(8)]
    assert process.wait(60) == 0
    assert "Traceback" not in process.stderr.read()


SIGNALLED = """
import os, signal, sys, threading
from tfnmt.serving.options import Address, ServerOptions
from tfnmt.serving.server import run_server

def opened(address):
    for name in sys.argv[2:]:
        print("ignored" if signal.getsignal(signal.Signals[name]) is signal.SIG_IGN else "heeded", flush=True)
        signal.raise_signal(signal.Signals[name])

run_server(sys.argv[1], ServerOptions(Address(rest_port=0, grpc_port=0)), opened, threading.Event().wait)
os._exit(0)  # there is a thread that waits for ever
"""


def signalled(directory, *names):
    """What a server of its own process does with these signals, the last of which is to stop it."""
    command = [sys.executable, "-c", SIGNALLED, directory, *names]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


@pytest.mark.usefixtures("heeded_signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signals_stop_the_server(name, directory):
    assert signalled(directory, name) == ["heeded"]


SIGNALLED_TWICE = """
import asyncio, signal, sys
from tfnmt.serving import server

async def serve(directory, options, opened, stop, prepare):  # one that takes long to answer what it has accepted
    signal.raise_signal(signal.Signals[sys.argv[1]])
    await stop.wait()
    print("stopping", flush=True)
    signal.raise_signal(signal.Signals[sys.argv[2]])
    await asyncio.sleep(60)

server.serve = serve
server.run_server(".", None, print)
"""


@pytest.mark.usefixtures("heeded_signals")
@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_second_signal_ends_the_server_at_once(second):
    command = [sys.executable, "-c", SIGNALLED_TWICE, "SIGTERM", second]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stdout) == (-signal.Signals[second], "stopping\n")


@pytest.mark.parametrize("most, warned", [(1499, True), (1500, False), (resource.RLIM_INFINITY, False)])
def test_too_few_open_files_are_told(most, warned, monkeypatch, logged):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, most))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    serving_server._allow_many_connections(Limits(connections=1000, calls=500))
    told = "1499 files may be open at once (ulimit -Hn): too few for 1000 HTTP connections and 500 gRPC calls"
    assert logged() == [told] * warned


@pytest.mark.usefixtures("heeded_signals")
def test_a_signal_that_is_ignored_stays_ignored(directory):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signalled(directory, "SIGHUP", "SIGTERM") == ["ignored", "heeded"]


def test_missing_models_config_and_a_port_in_use(directory, server, tmp_path):
    with pytest.raises(UserError, match="models.config: cannot be read .*tfnmt export writes it"):
        run_server(tmp_path, ServerOptions(), print)
    with pytest.raises(UserError, match="cannot listen .Address already in use"):
        run_server(directory, ServerOptions(Address(rest_port=server.port)), print)


def test_batching_config_and_overrides(directory, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(5))
    options = batching_options(directory)
    assert (options.max_batch_size, options.wait_seconds, options.threads) == (32, 0.005, 5)
    options = batching_options(directory, max_batch_size=1, batch_wait_ms=0.0)
    assert (options.max_batch_size, options.wait_seconds) == (1, 0.0)


def test_all_of_batching_config_counts(tmp_path):
    values = {"max_batch_size": 3, "batch_timeout_micros": 4000, "num_batch_threads": 5, "max_enqueued_batches": 6}
    text = "".join(f"{name} {{ value: {value} }}\n" for name, value in values.items())
    (tmp_path / "batching.config").write_text(text)
    expected = BatchingOptions(max_batch_size=3, wait_seconds=0.004, threads=5, max_enqueued_batches=6)
    assert batching_options(tmp_path) == expected


def test_a_label_of_any_characters_is_quoted_in_a_url(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    (tmp_path / "models.config").write_text(
        'model_config_list { config { name: "echo" base_path: "echo" model_platform: "tensorflow"'
        ' version_labels { key: "the stable: one" value: 1 } } }'
    )
    server = start(tmp_path)
    answer = post(server, "echo/labels/the%20stable%3A%20one:predict", {"instances": ["a"]})
    assert answer[0] == 200 and answer[1]["predictions"][0]["translation"] == "one:a"


@pytest.mark.parametrize("number, status", [(2**63 - 1, 404), (2**63, 400)])
def test_the_largest_version_is_that_of_64_bits(server, number, status):  # noqa: F811
    assert requests.get(f"{server.rest}/v1/models/echo/versions/{number}", timeout=30).status_code == status
