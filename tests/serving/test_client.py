"""The client: which requests it retries, and when it gives up."""

import contextlib
import http.server
import json
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace

import grpc
import pytest
import requests
from tensorflow_serving.apis.predict_pb2 import PredictResponse

from tfnmt.errors import UserError
from tfnmt.serving import retries
from tfnmt.serving.client import PredictError, connect
from tfnmt.serving.rest_client import RestClient
from tfnmt.serving.retries import Client, RetryableError


@pytest.fixture
def answering():
    """`answering(*answers)`: the URL of a server that gives these (status, object) answers, one after the other."""
    servers = []

    def start(*answers):
        left = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                self.do_POST()

            def do_POST(self):  # noqa: N802
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = left.pop(0)
                time.sleep(answer.pop("seconds", 0))
                body = answer.get("page", json.dumps(answer)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) + answer.get("missing", 0)))
                if status == 503 and "after" in answer:
                    self.send_header("Retry-After", answer["after"])
                if "encoding" in answer:
                    self.send_header("Content-Encoding", answer["encoding"])
                if "location" in answer:
                    self.send_header("Location", answer["location"])
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # of a client that did not wait
                    self.wfile.write(body)
                    self.wfile.flush()
                    time.sleep(answer.get("last_seconds", 0))

            def log_message(self, *_):
                pass

        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}", left

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


RIGHT = (200, {"outputs": {"a": ["b"], "c": [1.0]}})
BUSY = (503, {"error": "busy"})


def loading(after):
    return (503, {"error": "m is being loaded", "after": after})


def test_unavailable_is_retried(answering):
    url, left = answering(BUSY, BUSY, RIGHT)
    with connect(url) as client:
        assert client.predict("m", {"text": ["x"]}) == {"a": ["b"], "c": [1.0]}
    assert left == []


def test_an_invalid_request_is_not_retried(answering):
    url, left = answering((400, {"error": "wrong"}), RIGHT)
    with connect(url) as client, pytest.raises(PredictError, match="400: wrong"):
        client.predict("m", {"text": ["x"]})
    assert len(left) == 1


def test_it_gives_up_after_the_retries(answering):
    url, left = answering(BUSY, BUSY, BUSY)
    with connect(url, retries=1) as client, pytest.raises(PredictError, match="503: busy; given up after 2 attempts$"):
        client.predict("m", {"text": ["x"]})
    assert len(left) == 1


def test_a_model_that_is_being_loaded_is_waited_for_whatever_the_retries(answering):
    url, left = answering(loading("0"), loading("0"), RIGHT)
    with connect(url, retries=0) as client:
        assert client.predict("m", {"text": ["x"]}) == {"a": ["b"], "c": [1.0]}
    assert left == []


@pytest.fixture
def answering_grpc():
    """`answering_grpc(answer)`: the URL of a server that calls `answer(context)`, and then has no outputs."""
    servers = []

    def start(answer):
        def answer_nothing(_, context):
            answer(context)
            return PredictResponse().SerializeToString()

        servers.append(grpc.server(ThreadPoolExecutor(1)))
        handlers = {"Predict": grpc.unary_unary_rpc_method_handler(answer_nothing)}
        servers[-1].add_registered_method_handlers("tensorflow.serving.PredictionService", handlers)
        port = servers[-1].add_insecure_port("127.0.0.1:0")
        servers[-1].start()
        return f"grpc://127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(0).wait()


def test_a_model_that_is_being_loaded_is_waited_for_by_grpc(answering_grpc, monkeypatch):
    """As long as the server says, in milliseconds."""
    pushbacks, waited = [0, 2000], []

    def answer(context):
        if pushbacks:
            context.set_trailing_metadata((("grpc-retry-pushback-ms", str(pushbacks.pop())),))
            context.abort(grpc.StatusCode.UNAVAILABLE, "m is being loaded")

    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))
    with connect(answering_grpc(answer), retries=0) as client:
        assert client.predict("m", {"text": ["x"]}) == {} and pushbacks == []
    first, second = waited
    assert 2 <= first <= 3 and 0.1 <= second <= 0.15


def test_a_call_that_its_server_gives_up_as_it_stops_is_made_again(answering_grpc):
    codes = [grpc.StatusCode.CANCELLED]

    def answer(context):
        if codes:
            context.abort(codes.pop(), "the server stops")

    with connect(answering_grpc(answer), retries=1) as client:
        assert client.predict("m", {"text": ["x"]}) == {} and codes == []


def test_a_call_that_is_wrong_is_not_made_again(answering_grpc):
    codes = [grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT]

    def answer(context):
        context.abort(codes.pop(), "wrong")

    with connect(answering_grpc(answer)) as client, pytest.raises(PredictError, match="^INVALID_ARGUMENT: wrong$"):
        client.predict("m", {"text": ["x"]})
    assert codes == [grpc.StatusCode.INTERNAL]


def test_an_answer_by_grpc_that_comes_after_the_deadline_is_not_waited_for(answering_grpc):
    given_up, start = threading.Event(), time.monotonic()
    url = answering_grpc(lambda context: given_up.wait(10))
    with connect(url, deadline=0.3) as client, pytest.raises(PredictError, match="^DEADLINE_EXCEEDED: "):
        client.predict("m", {"text": ["x"]})
    assert time.monotonic() - start < 5
    given_up.set()


@pytest.mark.parametrize("after, attempts", [("9", 1), ("tomorrow", 2), pytest.param("9" * 5000, 1, id="5000 digits")])
def test_it_does_not_wait_in_vain(answering, after, attempts):
    url, left = answering(loading(after), loading(after), RIGHT)
    reason = {1: "at the time limit of 5 s", 2: "after 2 attempts"}[attempts]
    with connect(url, 5, retries=1) as client, pytest.raises(PredictError, match=f"loaded; given up {reason}$"):
        client.predict("m", {"text": ["x"]})
    assert len(left) == 3 - attempts


def test_an_answer_that_breaks_off_is_asked_for_again(answering):
    url, left = answering((200, {"missing": 3}), RIGHT)
    with connect(url) as client:
        assert client.predict("m", {"text": ["x"]}) == {"a": ["b"], "c": [1.0]}
    assert left == []


def test_a_port_that_speaks_grpc_is_told_at_once():
    server = grpc.server(ThreadPoolExecutor(1))
    url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with connect(url, retries=5) as client, pytest.raises(PredictError) as caught:
        client.predict("m", {"text": ["x"]})
    assert str(caught.value) == f"UNAVAILABLE: {url} does not answer in HTTP; is it the port of gRPC?"
    server.stop(0).wait()


def test_a_port_that_wants_tls_is_told(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.chain, certificate.key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with connect(url, retries=0) as client, pytest.raises(PredictError, match=f"{url} closes connections.*https"):
        client.predict("m", {"text": ["x"]})
    server.shutdown()
    server.server_close()
    with connect(url, retries=0) as client, pytest.raises(PredictError, match=f"{url} cannot be reached"):
        client.predict("m", {"text": ["x"]})


def test_an_answer_that_cannot_be_unpacked_is_told(answering):
    url, _ = answering((200, {"page": "no gzip", "encoding": "gzip"}))
    with connect(url) as client, pytest.raises(PredictError, match=f"^UNAVAILABLE: {url}: the answer cannot be read"):
        client.predict("m", {"text": ["x"]})


def test_an_answer_that_stops_in_the_midst_has_not_come_in_time(answering):
    url, _ = answering((200, {"page": "{", "missing": 3, "last_seconds": 2}))
    with connect(url, 0.3, retries=5) as client, pytest.raises(PredictError, match=f"no answer from {url} in time"):
        client.predict("m", {"text": ["x"]})


def test_a_redirection_to_nowhere_is_told(answering):
    url, _ = answering((302, {"location": ""}))
    with connect(url) as client, pytest.raises(PredictError, match="302: the server redirects to no address"):
        client.predict("m", {"text": ["x"]})


def test_an_answer_that_is_no_json_is_told(answering):
    url, _ = answering((200, {"page": "<html>"}))
    with connect(url) as client, pytest.raises(PredictError, match="200: the answer is not valid JSON: '<html>'"):
        client.predict("m", {"text": ["x"]})


@pytest.mark.parametrize(
    "status, told",
    [(200, f"the answer is not valid JSON: {'[' * 60!r}; is the address right?"), (400, "[" * 200)],
    ids=["answer", "refusal"],
)
def test_an_answer_that_is_nested_too_deep_is_told(answering, status, told):
    url, _ = answering((status, {"page": "[" * 100_000}))
    with connect(url) as client, pytest.raises(PredictError) as caught:
        client.predict("m", {"text": ["x"]})
    assert str(caught.value) == f"{status}: {told}"


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.predict("m", {"text": ["x"]}),
        lambda client: client.signatures("m"),
        lambda client: client.status("m"),
    ],
)
@pytest.mark.parametrize("of_another_service", ['{"status": "up"}', "[]", '{"outputs": 1, "metadata": "x"}'])
def test_an_answer_of_another_service_is_told(answering, call, of_another_service):
    url, _ = answering((200, {"page": of_another_service}))
    with connect(url) as client, pytest.raises(PredictError) as caught:
        call(client)
    assert caught.value.message == f"the answer is not a model server's: {of_another_service!r}; is the address right?"


@pytest.mark.parametrize(
    "location, told",
    [
        ("https://other:8501/v1/models/m:predict", "https://other:8501"),
        ("https://other/login?of=m", "https://other/login?of=m"),
        ("/below/v1/models/m:predict", "{url}/below"),
        ("http://[", None),
    ],
)
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_told_and_not_followed(answering, status, location, told):
    url, left = answering((status, {"location": location}), RIGHT)
    with connect(url, retries=0) as client, pytest.raises(PredictError) as caught:
        client.predict("m", {"text": ["x"]})
    if told is None:
        assert caught.value.status == "INVALID_ARGUMENT"
    else:
        assert str(caught.value) == f"{status}: the server redirects to {told.format(url=url)}: use that address"
    assert len(left) == 1


def test_an_answer_that_comes_after_the_deadline_is_not_waited_for(answering):
    url, _ = answering((200, {"seconds": 2}))
    start = time.monotonic()
    with connect(url, deadline=0.3) as client, pytest.raises(PredictError, match="DEADLINE_EXCEEDED"):
        client.predict("m", {"text": ["x"]})
    assert time.monotonic() - start < 1.5


def test_the_deadline_includes_all_retries(monkeypatch):
    clock, left = SimpleNamespace(now=100.0), []

    def attempt(seconds):
        left.append(seconds)
        clock.now += 1
        raise RetryableError(PredictError(503, "busy"))

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    with pytest.raises(PredictError, match="busy; given up at the time limit of 5 s"):
        Client(5, retries=9).retry(attempt)
    assert left[0] == 5 and left[-1] > 0 and len(left) > 2
    assert all(later <= earlier - 1 for earlier, later in pairwise(left))


def test_a_host_name_that_cannot_be():
    with (
        connect("http://a..b:80") as client,
        pytest.raises(PredictError, match="http://a..b:80 is not a valid address"),
    ):
        client.status("m")


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_no_server(scheme):
    with connect(f"{scheme}://127.0.0.1:9", deadline=1.0, retries=2) as client, pytest.raises(PredictError) as caught:
        client.predict("m", {"text": ["x"]})
    assert caught.value.status == "UNAVAILABLE"


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8501", "ftp://a", "grpc://a", "http://", "grpc://a:b", "http://a:b", "http://[::1", "grpc://a:1/b"],
)
def test_invalid_urls(url):
    with pytest.raises(UserError, match="use http://HOST:PORT or grpc://HOST:PORT"):
        connect(url)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_certificates_are_refused_where_nothing_is_encrypted(scheme, tmp_path):
    (tmp_path / "file.pem").touch()
    with pytest.raises(UserError, match=f"is not encrypted, so .*file.pem says nothing; use {scheme}s://"):
        connect(f"{scheme}://127.0.0.1:9", authorities=tmp_path / "file.pem")


def test_it_waits_longer_after_each_failure_and_as_long_as_it_is_told(answering, monkeypatch):
    waited = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))
    url, _ = answering(BUSY, BUSY, BUSY, loading("2"), loading("0"), RIGHT)
    with connect(url, retries=3) as client:
        client.predict("m", {"text": ["x"]})
    bounds = [(0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (2, 3), (0.1, 0.15)]
    for seconds, (least, most) in zip(waited, bounds, strict=True):
        assert least <= seconds <= most


@pytest.mark.parametrize("status", [429, 502, 503])
def test_these_are_retried(answering, status):
    url, left = answering((status, {"error": "busy"}), RIGHT)
    with connect(url) as client:
        assert client.predict("m", {"text": ["x"]}) == {"a": ["b"], "c": [1.0]}
    assert left == []


def test_no_proxy_is_between(answering, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url, _ = answering(RIGHT)
    with connect(url, retries=0) as client:
        assert client.predict("m", {"text": ["x"]})


def test_no_wait_after_a_failure_is_longer_than_five_seconds(monkeypatch):
    waited = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))

    def attempt(_):
        raise RetryableError(PredictError(503, "busy"))

    with pytest.raises(PredictError, match="given up after 13 attempts"):
        Client(deadline=1e6, retries=12).retry(attempt)
    assert len(waited) == 12 and min(waited[-3:]) >= 2.5 and max(waited) <= 5


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_not_all_clients_come_back_at_once(monkeypatch, seconds):
    waited = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))

    def attempt(_):
        if left:
            raise left.pop()

    for _ in range(30):
        left = [RetryableError(PredictError(503, "busy"), seconds)]
        Client(deadline=9, retries=1).retry(attempt)
    assert len(waited) == 30 and max(waited) > 1.2 * min(waited)


@pytest.mark.parametrize("status", [500, 504])
def test_what_fails_in_the_server_is_not_asked_again(answering, status):
    url, left = answering((status, {"error": "wrong"}), RIGHT)
    with connect(url) as client, pytest.raises(PredictError, match=f"^{status}: wrong$"):
        client.predict("m", {"text": ["x"]})
    assert len(left) == 1


def test_the_name_of_a_single_output_is_that_of_the_version(answering, monkeypatch):
    url, _ = answering((200, {"outputs": ["b"]}))
    asked = []

    def signatures(self, *of):
        asked.append(of)
        return {"serving_default": {"outputs": ["a"]}}

    monkeypatch.setattr(RestClient, "signatures", signatures)
    with connect(url) as client:
        assert client.predict("m", {"text": ["x"]}, version=7) == {"a": ["b"]}
    assert asked == [("m", 7)]


def test_the_connections_end_with_the_block(monkeypatch):
    closed = []
    monkeypatch.setattr(requests.Session, "close", lambda self: closed.append(self))
    with connect("http://127.0.0.1:9"):
        assert not closed
    assert len(closed) == 1


def test_a_name_is_one_part_of_the_path(monkeypatch):
    paths = []
    monkeypatch.setattr(RestClient, "_call", lambda self, method, path, *_: paths.append(path))
    with connect("http://127.0.0.1:9") as client:
        client.status("a/b c")
    assert paths == ["/v1/models/a%2Fb%20c"]


def test_what_tensorflow_adds_to_a_model_is_no_signature(answering):
    definition = {"inputs": {"text": {}}, "outputs": {"b": {}, "a": {}}}
    definitions = {"serving_default": definition, "__saved_model_init_op": {"inputs": {}, "outputs": {}}}
    url, _ = answering((200, {"metadata": {"signature_def": {"signature_def": definitions}}}))
    with connect(url) as client:
        assert client.signatures("m") == {"serving_default": {"inputs": ["text"], "outputs": ["a", "b"]}}
