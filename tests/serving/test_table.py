"""The tables of docs/serving.md: each row is a request to this server and how it is answered."""

import gzip
import json
import re
from pathlib import Path

import grpc
import pytest
import requests
from google.protobuf import text_format
from google.protobuf.message_factory import GetMessageClass
from tensorflow_serving.apis import model_service_pb2, prediction_service_pb2

from tests.serving.conftest import Running, publish
from tfnmt.serving.options import BatchingOptions

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
SERVICES = {
    method.name: (service, method)
    for file in (prediction_service_pb2, model_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


def rows(title):
    """(request, body, how this server answers it) of each row."""
    table = re.search(rf"^### {title}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)[1]
    found = []
    for line in re.findall(r"^\|(.+)\|$", table, re.M)[2:]:
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r" \|(?= |$)", line)]
        request, body, theirs, source, ours = cells
        assert theirs and re.search(r"\.(cc|md)$", source), line
        found.append((request, body.strip("`") if body.startswith("`") else body, ours or theirs))
    return found


def code(cell):
    """The text within the backticks of a cell."""
    return re.search(r"`(.*)`", cell)[1]


@pytest.fixture(scope="module")
def server(echoes, tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved_models")
    for number, saved in enumerate(echoes, start=1):
        publish(saved, directory, "echo", number)
    (directory / "broken" / "1").mkdir(parents=True)
    (directory / "broken" / "1" / "saved_model.pb").touch()
    (directory / "models.config").write_text(
        'model_config_list { config { name: "echo" base_path: "/models/echo" model_platform: "tensorflow"'
        ' model_version_policy { all {} } version_labels { key: "stable" value: 1 } } }'
    )
    running = Running(directory, BatchingOptions(wait_seconds=0.0))
    yield running
    running.stop()


@pytest.mark.parametrize("request_, body, answer", rows("REST"))
def test_rest(server, request_, body, answer):
    method, path = request_.split()
    headers = {}
    if body.startswith("gzip"):
        headers, body = {"Content-Encoding": "gzip"}, gzip.compress(code(body).encode())
    response = requests.request(method, server.rest + path, data=body or None, headers=headers, timeout=30)
    expected = code(answer)
    assert response.status_code == int(answer[:3]), response.text
    if expected.startswith("{"):
        assert response.json() == json.loads(expected)
    elif response.ok:
        assert expected in json.dumps(response.json())
    else:
        assert response.json()["error"].startswith(expected)


@pytest.mark.parametrize("call, request_, answer", rows("gRPC"))
def test_grpc(server, call, request_, answer):
    service, method = SERVICES[call]
    message = text_format.Parse(request_, GetMessageClass(method.input_type)())
    expected, (status, *_) = code(answer), answer.split()
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        stub = channel.unary_unary(
            f"/{service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        try:
            response = stub(message, timeout=30)
        except grpc.RpcError as error:
            assert (error.code().name, error.details()[: len(expected)]) == (status, expected)
        else:
            assert status == "OK" and expected in text_format.MessageToString(response)
