"""A loaded version takes what its tokenizers hold with it when it goes, and computes requests together."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tests.classification.test_servable import made as classifier
from tests.serving.conftest import publish
from tfnmt.classification.servable import ClassifierServable
from tfnmt.serving.checks import Checks
from tfnmt.serving.export import EXTRAS, WARM_UP
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import RequestError
from tfnmt.serving.versions import Version
from tfnmt.serving.warm_up import warm_up_requests


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["subwords", "words"])
def test_tokenizers_are_freed(tokenizer, request, export_once):
    if tokenizer == "subwords":
        path = request.getfixturevalue("exported")
    else:
        path = export_once(lambda: ClassifierServable(classifier("spinn", "snli")), "pairs")
    with ThreadPoolExecutor(1) as pool:
        version = Version(path, pool, pool, BatchingOptions(), Limits(), lambda rows: None, lambda seconds: None)
    encode, texts = version._functions["encode"], tf.constant(["a b c"])
    encode(text=texts)
    del version
    with tf.Graph().as_default():
        gc.collect()
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        encode(text=texts)


def test_a_version_whose_warm_up_cannot_be_computed_is_refused(echoes, tmp_path):
    publish(echoes[0], tmp_path, "echo", 1)
    path = tmp_path / "echo" / "1"
    log = PredictionLog()
    log.predict_log.request.model_spec.signature_name = "number"
    log.predict_log.request.inputs["text"].CopyFrom(tf.make_tensor_proto(["no number"]))
    (path / EXTRAS).mkdir()
    with tf.io.TFRecordWriter(str(path / EXTRAS / WARM_UP)) as writer:
        writer.write(log.SerializeToString())
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: no number"),
    ):
        Version(path, pool, pool, BatchingOptions(), Limits(), lambda rows: None, lambda seconds: None)


def test_a_warm_up_is_not_among_the_seconds_observed(exported):
    seconds = []
    with ThreadPoolExecutor(1) as pool:
        version = Version(exported, pool, pool, BatchingOptions(), Limits(), lambda rows: None, seconds.append)
        assert list(warm_up_requests(exported, version.signature)) and not seconds
        text = {"text": np.array([b"a"], object)}
        asyncio.run(version.compute(version.signature("encode"), text))
    assert len(seconds) == 1


def test_a_batch_waits_for_a_request_that_is_still_checked(echoes, tmp_path, monkeypatch):
    publish(echoes[0], tmp_path, "echo", 1)
    sizes, options = [], BatchingOptions(wait_seconds=0.0)

    async def main(version):
        checked = asyncio.Event()

        async def tokens(signature, inputs):
            if inputs["text"][0] == b"late":
                await checked.wait()
            return {"text": np.array([1])}

        monkeypatch.setattr(version._checks, "tokens", tokens)
        texts = (np.array([text], object) for text in (b"late", b"early"))
        answers = [asyncio.create_task(version.compute(version.signature(""), {"text": text})) for text in texts]
        for _ in range(3):
            await asyncio.sleep(0)  # the early one is due
        checked.set()
        return [answer["translation"].tolist() for answer in await asyncio.gather(*answers)]

    with ThreadPoolExecutor(1) as pool:
        version = Version(tmp_path / "echo" / "1", pool, pool, options, Limits(), sizes.append, lambda seconds: None)
        assert asyncio.run(main(version)) == [[b"one:late"], [b"one:early"]] and sizes == [2]


class Check:
    """Finds one token in each text, once `go` is set."""

    def __init__(self):
        self.go = threading.Event()

    def __call__(self, text):
        assert self.go.wait(60)
        return {"tokens": tf.ones_like(text, tf.int32), "problem": tf.fill(tf.shape(text), "")}


def test_where_few_rows_may_wait_for_a_batch_some_wait_to_be_checked():
    check = Check()

    async def main(checks):
        waiting = [asyncio.create_task(checks.tokens("", {"text": np.full(1, b"a", object)})) for _ in range(4)]
        for _ in range(3):
            await asyncio.sleep(0)  # one is checked, and the others wait
        check.go.set()
        return [tokens["text"].tolist() for tokens in await asyncio.gather(*waiting)]

    options = BatchingOptions(max_batch_size=8, max_enqueued_batches=8)
    with ThreadPoolExecutor(1) as pool:
        assert asyncio.run(main(Checks({"": {"text": check}}, pool, options))) == [[1]] * 4


def test_as_many_rows_wait_to_be_checked_as_may_wait_for_a_batch():
    check = Check()

    async def main(checks):
        requests = [checks.tokens("", {"text": np.full(1024, b"a", object)}) for _ in range(5)]
        waiting = [asyncio.create_task(request) for request in requests]
        refused, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        check.go.set()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        return len(refused), [answer.code for answer in answers if isinstance(answer, RequestError)]

    options = BatchingOptions(max_batch_size=32, max_enqueued_batches=96)  # 3,072 rows, beside those that are computed
    with ThreadPoolExecutor(1) as pool:
        refused = asyncio.run(main(Checks({"": {"text": check}}, pool, options)))
    assert refused == (1, [grpc.StatusCode.UNAVAILABLE])


def test_a_pair_of_texts_is_as_long_as_the_longer_one(echoes, tmp_path, monkeypatch):
    publish(echoes[0], tmp_path, "echo", 1)
    given = []

    async def submit(inputs, rows, tokens):
        given.append((rows, tokens.tolist()))

    with ThreadPoolExecutor(1) as pool:
        path = tmp_path / "echo" / "1"
        version = Version(path, pool, pool, BatchingOptions(), Limits(), lambda rows: None, lambda seconds: None)
        monkeypatch.setattr(version._batchers["pair"], "submit", submit)
        sides = {"source": [b"a", b"a b c"], "target": [b"a b", b"a"]}
        inputs = {name: np.array(texts, object) for name, texts in sides.items()}
        asyncio.run(version.compute(version.signature("pair"), inputs))
    assert given == [(2, [2, 3])]
