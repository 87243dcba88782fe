"""Who may do what: the administrator's token, certificates, what the page may load, and the log of requests."""

import re
import time

import grpc
import pytest
import requests
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub

from tests.commands.calls import call
from tests.serving.conftest import Running, publish
from tfnmt.errors import UserError
from tfnmt.serving.access_log import log_access
from tfnmt.serving.admin import Admin
from tfnmt.serving.client import PredictError, connect
from tfnmt.serving.options import BatchingOptions, read_token
from tfnmt.serving.requests import RequestError
from tfnmt.serving.tls import Certificate

TOKEN = "0123456789abcdef"
METRICS = "/monitoring/prometheus/metrics"


@pytest.fixture
def served(echoes, tmp_path):
    """`served(**options)`: a server of "echo" with these options of `ServerOptions`, stopped in the end."""
    publish(echoes[0], tmp_path, "echo", 1)
    servers = []

    def start(**options):
        servers.append(Running(tmp_path, BatchingOptions(), **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def reload(server, **metadata):
    """The name of the gRPC status of a ReloadConfig that lists no models: INVALID_ARGUMENT if it is allowed."""
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        call = ModelServiceStub(channel).HandleReloadConfigRequest
        with pytest.raises(grpc.RpcError) as caught:
            call(ReloadConfigRequest(), timeout=30, metadata=list(metadata.items()))
        return caught.value.code().name


def test_metrics_and_changes_of_the_models_need_the_token(served):
    server = served(admin_token=TOKEN)
    for authorization in ("", "Bearer", "Bearer 0123456789abcde", f"Basic {TOKEN}", TOKEN, "Bearer ä"):
        headers = {"Authorization": authorization.encode("latin-1")} if authorization else {}
        response = requests.get(server.rest + METRICS, headers=headers, timeout=30)
        assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
        metadata = {"authorization": authorization} if authorization.isascii() else {}
        assert reload(server, **metadata) == "UNAUTHENTICATED"
    assert reload(server, authorization=f"bearer {TOKEN}") == "INVALID_ARGUMENT"  # the case of a scheme's name is free
    assert reload(server, authorization=f"Bearer  {TOKEN}") == "INVALID_ARGUMENT"  # and so are spaces (RFC 9110, 11.4)
    right = f"Bearer {TOKEN}"
    assert requests.get(server.rest + METRICS, headers={"Authorization": right}, timeout=30).status_code == 200
    assert reload(server, authorization=right) == "INVALID_ARGUMENT"
    with connect(server.rest) as client:
        assert client.predict("echo", {"text": ["a"]})["translation"] == ["one:a"]


def test_without_a_token_only_this_machine_may(served):
    server = served()
    assert requests.get(server.rest + METRICS, timeout=30).status_code == 200
    assert reload(server) == "INVALID_ARGUMENT"
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        Admin(host, None).check(None)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"):
        with pytest.raises(RequestError, match="start the server with --admin-token-file") as caught:
            Admin(host, None).check("Bearer x")
        assert caught.value.code == grpc.StatusCode.PERMISSION_DENIED


def test_a_token_is_read_from_a_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    assert read_token(path) == TOKEN
    for text in ("", "short", "ä" * 20, "with a space in it"):
        path.write_text(text)
        with pytest.raises(UserError, match="token: a token is at least 16 ASCII characters without a space"):
            read_token(path)
    with pytest.raises(UserError, match="other: cannot be read as a token"):
        read_token(tmp_path / "other")


def test_tls(served, certificate):
    server = served(certificate=certificate)
    for url in (server.rest, server.grpc):
        assert url.split(":")[0] in ("https", "grpcs")
        with connect(url, authorities=certificate.chain) as client:
            assert client.predict("echo", {"text": ["a"]})["translation"] == ["one:a"]
            assert client.status("echo") == {1: "AVAILABLE"}
        with connect(url, retries=0) as client, pytest.raises(PredictError, match="UNAVAILABLE"):
            client.predict("echo", {"text": ["a"]})  # the certificate is signed by nobody known
        with connect(url.replace("s://", "://"), retries=0) as client, pytest.raises(PredictError, match="UNAVAILABLE"):
            client.predict("echo", {"text": ["a"]})  # not encrypted


def test_certificates_that_cannot_be_used(certificate, tmp_path):
    with pytest.raises(UserError, match="no such.pem, .*: no certificate and its private key .No such file"):
        Certificate(tmp_path / "no such.pem", certificate.key).ssl_context()
    with pytest.raises(UserError, match="chain.pem, .*chain.pem: no certificate and its private key"):
        Certificate(certificate.chain, certificate.chain).ssl_context()
    with pytest.raises(UserError, match="no such.pem: there is no such file of certificates"):
        connect("https://localhost:1", authorities=tmp_path / "no such.pem")
    (tmp_path / "junk.pem").write_text("junk\n")
    for scheme in ("https", "grpcs"):
        with pytest.raises(UserError, match="^.*junk.pem: is not a PEM file of certificates"):
            connect(f"{scheme}://localhost:1", authorities=tmp_path / "junk.pem")


def test_each_request_is_logged_if_asked_for(served, logged):
    server = served(access_log=True)
    requests.get(server.rest + "/v1/models/other%0aline", timeout=30)
    with connect(server.grpc) as client:
        client.predict("echo", {"text": ["a"]})
        with pytest.raises(PredictError):
            client.predict("other", {"text": ["a"]})
        with pytest.raises(PredictError, match="RESOURCE_EXHAUSTED"):
            client.predict("echo", {"text": ["a" * (2 << 20)]})
    method = "/tensorflow.serving.PredictionService/Predict"
    expected = [
        r"127\.0\.0\.1:\d+ GET /v1/models/other\\nline 404 \d+\.\d ms",
        rf"ipv4:127\.0\.0\.1:\d+ {method} OK \d+\.\d ms",
        rf"ipv4:127\.0\.0\.1:\d+ {method} NOT_FOUND \d+\.\d ms",
        rf"ipv4:127\.0\.0\.1:\d+ {method} - \d+\.\d ms",
    ]
    server.stop()  # a line may be logged after its answer
    lines = [line for line in logged() if line.endswith(" ms") and "/health" not in line]
    assert len(lines) == 4 and all(map(re.fullmatch, expected, lines)), lines


def test_the_time_of_a_request_is_logged_in_milliseconds(logged):
    log_access("127.0.0.1:5", "GET /", 200, time.perf_counter() - 3)
    (line,) = logged()
    assert re.fullmatch(r"127\.0\.0\.1:5 GET / 200 3\d\d\d\.\d ms", line)


def test_the_page_is_part_of_no_other_and_loads_nothing_else(served):
    server = served()
    page = requests.get(server.rest + "/", timeout=30)
    for path in ("/", *re.findall(r'(?:src|href)="(page/[^"]*)"', page.text)):
        answer = requests.get(f"{server.rest}/{path.lstrip('/')}", timeout=30)
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        nothing = ("default-src", "frame-ancestors", "base-uri", "form-action")
        assert {policy.pop(directive) for directive in nothing} == {"'none'"}
        own = ("script-src", "style-src", "connect-src")
        assert {policy.pop(directive) for directive in own} == {"'self'"}
        assert policy == {"img-src": "data:", "require-trusted-types-for": "'script'"}
        assert answer.status_code == 200 and answer.headers["X-Content-Type-Options"] == "nosniff"
    assert requests.get(server.rest + "/page/other.js", timeout=30).status_code == 404


@pytest.mark.parametrize("option", ["--admin-token-file", "--certificate", "--models", "--model"])
def test_a_name_of_a_file_that_is_empty_is_no_missing_option(option, capsys):
    with pytest.raises(SystemExit):
        call("serve", "--rest-port", 0, "--grpc-port", 0, option, "")
    assert f"argument {option}: the name is empty" in capsys.readouterr().err
