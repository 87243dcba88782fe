"""Warm-up requests: what is wrong with a file of them is said, and nothing is silently left out."""

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework.types_pb2 import DT_STRING
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfnmt.serving.limits import RequestLimits
from tfnmt.serving.requests import Signature, invalid
from tfnmt.serving.warm_up import warm_up_requests

TENSOR = 'dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "a"'


def find_signature(name):
    if name:
        raise invalid(f"no signature {name}")
    definition = SignatureDef()
    definition.inputs["text"].dtype = DT_STRING
    return Signature("serving_default", definition, RequestLimits(rows=1))


def log(text):
    return text_format.Parse(text, PredictionLog()).SerializeToString()


RIGHT = log(f'predict_log {{ request {{ inputs {{ key: "text" value {{ {TENSOR} }} }} }} }}')


@pytest.fixture
def read(tmp_path):
    """`read(records)`, or `read(bytes)` of the whole file: the warm-up requests."""
    file = tmp_path / "assets.extra" / "tf_serving_warmup_requests"
    file.parent.mkdir()

    def read_(content):
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            with tf.io.TFRecordWriter(str(file)) as writer:
                for record in content:
                    writer.write(record)
        return [(name, inputs["text"].tolist()) for name, inputs in warm_up_requests(tmp_path, find_signature)]

    read_.file = file
    return read_


def test_requests(read, tmp_path):
    assert read([RIGHT, RIGHT]) == [("serving_default", [b"a"])] * 2
    assert read([]) == read(b"") == []
    read.file.unlink()
    assert list(warm_up_requests(tmp_path, find_signature)) == []


@pytest.mark.parametrize(
    "content, message",
    [
        (b"ju", "is cut short, or not in TFRecord format"),
        (b"junk" * 10, "cannot be read as TFRecords"),
        ([b"junk \xff"], "record 1 is not a PredictionLog"),
        ([RIGHT, b""], "record 2 is empty; a predict_log is needed"),
        ([log("classify_log { }")], "record 1 is classify_log; a predict_log is needed"),
        ([log("predict_log { request { } }")], "record 1: input keys do not match"),
        ([log('predict_log { request { model_spec { signature_name: "x" } } }')], "record 1: no signature x"),
        ([RIGHT.replace(b"a", b"\xff")], "record 1: .* is not UTF-8|record 1 is not a PredictionLog"),
        ([RIGHT] * 1001, "more than 1,000 records"),
    ],
)
def test_files_that_are_refused(read, content, message):
    with pytest.raises(ValueError, match=f"^tf_serving_warmup_requests: {message}"):
        read(content)


def test_a_file_that_is_cut_short(read):
    read([RIGHT, RIGHT])
    whole = read.file.read_bytes()
    for length in range(1, len(whole)):
        if length != len(whole) // 2:
            with pytest.raises(ValueError, match="^tf_serving_warmup_requests: (is cut short|cannot be read)"):
                read(whole[:length])


def test_limits_of_clients_do_not_count(read):
    two = 'dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "a" string_val: "b"'
    many = log(f'predict_log {{ request {{ inputs {{ key: "text" value {{ {two} }} }} }} }}')
    assert read([many]) == [("serving_default", [b"a", b"b"])]
