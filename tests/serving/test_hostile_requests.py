"""Whatever a request holds, its answer is a refusal of one line, and the log stays free of tracebacks."""

import json
import random

import grpc
import pytest
import requests
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.types_pb2 import DT_FLOAT, DT_INT32, DT_STRING, DT_VARIANT
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tests.serving.conftest import Running, publish
from tfnmt.serving.json_tensors import parse_request
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import RequestError
from tfnmt_programs.measuring import peak_memory, reset_peak_memory, resident_memory

PREDICT = "/tensorflow.serving.PredictionService/Predict"
REFUSALS = {"INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED"}


@pytest.fixture(scope="module")
def server(echoes, tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved_models")
    publish(echoes[0], directory, "echo", 1)
    running = Running(directory, BatchingOptions(wait_seconds=0.0))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def call(server):
    """`call(bytes)` of Predict: (status, details), such as ("OK", "")."""
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        method = channel.unary_unary(PREDICT)

        def call(message):
            try:
                method(message, timeout=30)
            except grpc.RpcError as error:
                return error.code().name, error.details()
            return "OK", ""

        yield call


@pytest.fixture(scope="module")
def post(server):
    """`post(bytes)` to :predict: (status, error)."""
    with requests.Session() as session:

        def post(body):
            response = session.post(f"{server.rest}/v1/models/echo:predict", data=body, timeout=30)
            return response.status_code, response.json().get("error", "")

        yield post


def message(tensor=None, signature="", output_filter=(), **inputs):
    """A PredictRequest, serialized; `tensor` is the input "text"."""
    request = PredictRequest(output_filter=output_filter)
    request.model_spec.name, request.model_spec.signature_name = "echo", signature
    for name, value in ({"text": tensor} if tensor is not None else inputs).items():
        request.inputs[name].CopyFrom(value)
    return request.SerializeToString()


def tensor(*sizes, dtype=DT_STRING, **values):
    proto = TensorProto(dtype=dtype, **values)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


def nested(depth):
    return json.dumps({"instances": json.loads("[" * depth + '"a"' + "]" * depth)})


@pytest.mark.parametrize(
    "body, error",
    [
        (nested(65), "input 'text': expected a list of strings"),
        ('{"instances": ' + "[" * 10_000 + "]" * 10_000 + "}", "JSON Parse error: brackets are nested too deeply"),
        ('{"instances": ["a"], "signature_name": "\\ud800"}', 'Serving signature name: "?" not found'),
        ('{"instances": [{"\\ud800": "a"}]}', "input keys do not match the signature's: expected text; given ?"),
        ('{"inputs": {"\\udfff\\n": ["a"]}}', "input keys do not match the signature's: expected text; given ?"),
        ('{"instances": ["a"], "signature_name": "' + "x" * 100_000 + '"}', 'Serving signature name: "xxx'),
        (json.dumps({"inputs": {str(i): ["a"] for i in range(10_000)}}), "input keys do not match"),
        ('{"instances": [' + "[]," * 300_000 + "[]]}", "JSON Parse error: more than 50,000 commas"),
        ('{"instances": [' + "1e308," * 100_000 + "1]}", "JSON Parse error: more than 50,000 commas"),
        ("[" * 500 + "[" * 499 + "]" * 499 + ",[]" * 10 + "]" * 500, "JSON Parse error: "),
        ('{"instances": ' + "9" * 500_000 + "}", "JSON Value: 'instances' must be a list"),
        ('{"instances": [' + '"",' * 64 + '""]}', "a request of 65 rows: at most 64 are allowed"),
        ('{"inputs": [' + '1,' * 64 + '1]}', "a request of 65 rows: at most 64 are allowed"),
        (b'{"instances": ["\xed\xa0\x80"]}', "input 'text': half of a surrogate pair"),
        ('{"instances": [NaN]}', "input 'text': expected a list of strings"),
    ],
)  # fmt: skip
def test_json_is_refused_with_one_line(post, body, error):
    status, answer = post(body)
    assert status == 400 and answer.startswith(error) and len(answer) < 600 and "\n" not in answer


@pytest.mark.parametrize(
    "request_, error",
    [
        (message(tensor(1, dtype=DT_VARIANT)), "input 'text': expected a list of strings"),
        (message(tensor(1, dtype=99)), "input 'text': expected a list of strings"),
        (message(tensor(1, dtype=DT_INT32, int_val=[1])), "input 'text': expected a list of strings"),
        (message(tensor(1, dtype=DT_FLOAT, string_val=[b"a"])), "input 'text': expected a list of strings"),
        (message(tensor(string_val=[b"a"])), "input 'text': expected a list of strings"),
        (message(tensor(1, 1, string_val=[b"a"])), "input 'text': expected a list of strings"),
        (message(tensor(-1, string_val=[b"a"])), "input 'text': expected a list of strings"),
        (message(tensor(1, tensor_content=b"\1a")), "input 'text': the strings of a tensor are its string_val"),
        (message(tensor(1, string_val=[b"a", b"b"])), "input 'text': 2 strings in a tensor of shape [1]"),
        (message(tensor(1 << 62)), "a request of 4,611,686,018,427,387,904 rows: at most 64"),
        (message(tensor(1), signature="\n" * 9), 'Serving signature name: " " not found'),
        (message(tensor(1), output_filter=["score", "score"]), "duplicate output tensor alias"),
        (message(tensor(1), output_filter=["other"]), "output tensor alias not found in signature: other"),
        (message(), "input keys do not match the signature's: expected text; given none"),
        (b"\xff" * 9, f"not a message for {PREDICT}"),
    ],
)
def test_messages_are_refused_with_one_line(call, request_, error):
    status, answer = call(request_)
    assert status == "INVALID_ARGUMENT" and answer.startswith(error)


def test_a_tensor_is_not_expanded_before_its_shape_is_allowed(call):
    call(message(tensor(1)))
    reset_peak_memory()
    before = resident_memory()
    assert call(message(tensor(20_000_000)))[0] == "INVALID_ARGUMENT"
    assert peak_memory() - before < 50e6  # the array alone would take 160 MB


def test_strings_that_are_missing_are_as_the_last_one(server):
    request = PredictRequest.FromString(message(tensor(3, string_val=[b"a", b"b"])))
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        method = channel.unary_unary(PREDICT, PredictRequest.SerializeToString, TensorAnswer)
        assert method(request) == [b"one:a", b"one:b", b"one:b"]


def test_only_the_outputs_asked_for_are_answered(server):
    """And of which version they are."""
    request = PredictRequest.FromString(message(tensor(1, string_val=[b"ab"]), output_filter=["score"]))
    with grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
        answer = PredictionServiceStub(channel).Predict(request, timeout=30)
    assert {name: list(value.float_val) for name, value in answer.outputs.items()} == {"score": [2.0]}
    specification = answer.model_spec
    assert (specification.name, specification.version.value, specification.signature_name) == (
        "echo",
        1,
        "serving_default",
    )


def TensorAnswer(answer):  # noqa: N802  a deserializer
    from tensorflow_serving.apis.predict_pb2 import PredictResponse

    return list(PredictResponse.FromString(answer).outputs["translation"].string_val)


def changed(valid, rng):
    """The bytes with a few of them changed, left out or repeated."""
    body = bytearray(valid)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(body) + 1)
        end = min(len(body), start + rng.randint(0, 8))
        new = bytes(rng.randrange(256) for _ in range(rng.randint(0, 4)))
        body[start:end] = rng.choice([b"", new, body[start:end] * 3])
    return bytes(body)


def random_json(rng, depth=0):
    """A value of any type; its names and texts are often those that mean something."""
    names = ("text", "source", "b64", "instances", "inputs", "signature_name", "serving_default", "pair", "number", "")
    kind = rng.randrange(8 if depth < 4 else 6)
    if kind < 6:
        return rng.choice([None, True, 0, -1.5, 1e400, 10**30, rng.choice(names), "a b", "\ud800", "\0", "YQ=="])
    values = [random_json(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return values if kind == 6 else {rng.choice(names): value for value in values}


def random_message(rng):
    def random_tensor():
        values = {"string_val": [b"a", b"\xff", b"\0", b"1"][: rng.randint(0, 4)]}
        if rng.random() < 0.3:
            values |= rng.choice(
                [{"tensor_content": b"\1a"}, {"int_val": [1]}, {"half_val": [1]}, {"float_val": [1.0]}]
            )
        sizes = [rng.choice([0, 1, 2, 3, -1, 1 << 40]) for _ in range(rng.choice([0, 1, 1, 1, 2, 300]))]
        return tensor(*sizes, dtype=rng.choice([DT_STRING] * 3 + list(range(30)) + [101, 2**31 - 1, -1]), **values)

    names = rng.sample(["text", "source", "target", "", "x" * 3000], rng.randint(0, 3))
    signature = rng.choice(["", "pair", "number", "wide", "other"])
    output_filter = rng.choice([[], [], ["translation"], ["other"], ["words", "words"]])
    return message(None, signature, output_filter, **{name: random_tensor() for name in names})


def test_random_requests(post, call, caplog, capfd):
    rng = random.Random(17)
    body = json.dumps({"signature_name": "pair", "inputs": {"source": ["a", {"b64": "YQ=="}], "target": ["b", "ä"]}})
    valid = message(tensor(2, string_val=[b"a", "ä".encode()]))
    seen = set()
    for _ in range(150):
        request = random_json(rng)
        if rng.random() < 0.7:
            request = {rng.choice(["instances", "inputs"]): request, "signature_name": rng.choice(["", "pair", "wide"])}
        for each in (json.dumps(request).encode(), changed(body.encode(), rng)):
            status, error = post(each)
            assert status in (200, 400) and bool(error) == (status != 200) and "\n" not in error, each
            seen.add(status)
        for each in (random_message(rng), changed(valid, rng)):
            status, error = call(each)
            assert status in REFUSALS | {"OK"} and "\n" not in error, each
            seen.add(status)
    assert {200, 400, "OK", "INVALID_ARGUMENT"} <= seen
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("digits, status", [("0" * 5000 + "1", 200), ("0" * 5000, 404), ("9" * 5000, 400)])
def test_versions_of_any_number_of_digits(server, digits, status):
    answer = requests.get(f"{server.rest}/v1/models/echo/versions/{digits}", timeout=30)
    assert answer.status_code == status


@pytest.mark.parametrize("mark", [b"[", b'{"a":', b'"a",'])
def test_too_many_marks_of_any_kind_are_refused_unread(mark):
    with pytest.raises(RequestError, match="more than 50,000 commas and opening brackets"):
        parse_request(50_001 * mark, None)
