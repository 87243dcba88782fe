"""What one request may hold, and that a text that cannot be read is its own client's problem alone."""

import concurrent.futures
import re

import numpy as np
import pytest
import requests

from tests.classification.test_servable import made as classifier
from tests.layers.trees.tree_batches import right_branching
from tests.serving.conftest import Running, publish
from tfnmt.classification.servable import ClassifierServable
from tfnmt.serving.client import PredictError, connect
from tfnmt.serving.export import export
from tfnmt.serving.limits import Limits, RequestLimits
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import MAXIMUM_TEXT, RequestError, check_texts
from tfnmt.text.brackets import to_brackets

LONG = 2500  # words of a tree with more than 4,096 brackets


@pytest.fixture(scope="module")
def directory(tmp_path_factory, export_once):
    """Two classifiers: "trees", which reads trees, and "parser", which makes them."""
    directory = tmp_path_factory.mktemp("saved_models")
    export(ClassifierServable(classifier("spinn-pi-nt", "sst")), directory, "trees")
    parser = export_once(lambda: ClassifierServable(classifier("spinn", "snli")), "pairs")
    publish(parser, directory, "parser", 1)
    return directory


@pytest.fixture(scope="module")
def server(directory):
    running = Running(directory, BatchingOptions(max_batch_size=16, wait_seconds=0.005))
    yield running
    running.stop()


@pytest.fixture(params=["rest", "grpc"])
def refused(server, request):
    """`refused(model, signature, inputs)`: the server's message."""
    with connect(getattr(server, request.param), deadline=30) as client:

        def refused(model, signature="serving_default", **inputs):
            with pytest.raises(PredictError) as caught:
                client.predict(model, inputs, signature)
            assert caught.value.status in (400, "INVALID_ARGUMENT")
            return caught.value.message

        yield refused


def test_limits_are_named(refused):
    long = " ".join(["a"] * 501)
    message = "input 'text', row 1: a text of 501 tokens: at most 500 are allowed"
    assert refused("parser", "parse", text=["a", long]) == message
    assert refused("trees", text=["a", right(501)]) == message
    eight = ["a " * 500] * 8 + ["a"]
    assert refused("parser", "encode", text=eight) == "a request of 4,001 tokens: at most 4,000 are allowed"
    assert refused("parser", "encode", text=["a"] * 65) == "a request of 65 rows: at most 64 are allowed"


def right(words):
    return to_brackets(["a"] * words, right_branching(words))


@pytest.mark.parametrize("text", ["a ( b )", "a b ) (", "a b", "( a )", "( a b c )", "", "( )"])
def test_what_is_no_tree_is_refused(refused, text):
    problem = "input 'text', row 1: each text must be one binary tree in brackets, with single spaces,"
    assert refused("trees", text=["( a b )", text]).startswith(problem)
    assert refused("trees", "encode", text=["( a b )", text]).startswith(problem)


def test_texts_without_words_are_refused(refused):
    assert refused("parser", "parse", text=["a", "( )"]) == "input 'text', row 1: each text must have a word"


def test_a_text_that_cannot_be_read_is_in_no_batch(server):
    texts = ["( a b )", "( a ( b c ) )", "a ( b )", "( d e )"] * 16

    def rows():
        metrics = requests.get(f"{server.rest}/monitoring/prometheus/metrics", timeout=30).text
        found = re.search(r'tfnmt_batch_rows_sum\{model="trees"\} (\S+)', metrics)
        return float(found[1]) if found else 0.0

    def ask(text):
        try:
            return client.predict("trees", {"text": [text]})["label"][0]
        except PredictError as error:
            return error.status

    before = rows()
    with connect(server.rest) as client, concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, texts))
    assert [answer == 400 for answer in answers] == [text == "a ( b )" for text in texts]
    assert rows() - before == 48


def test_the_operator_sets_other_limits_and_many_brackets_are_right(directory, start):
    running = start(directory, Limits(request_rows=2, text_tokens=LONG, request_tokens=2 * LONG))
    words = " ".join("abcdef"[i % 6] for i in range(LONG))
    with connect(running.rest) as client:
        (tree,) = client.predict("parser", {"text": [words]}, "parse")["brackets"]
        with pytest.raises(PredictError, match="a request of 3 rows: at most 2 are allowed"):
            client.predict("parser", {"text": ["a"] * 3}, "parse")
        assert client.predict("trees", {"text": [tree, right(LONG)]})["label"]
    assert tree.count("(") == tree.count(")") == LONG - 1
    assert tree.replace("( ", "").replace(" )", "") == words
    assert tree == classifier("spinn", "snli").parse([words])[0]


def test_limits_are_the_operators_then_the_models_then_the_default():
    assert Limits().of_request({}) == RequestLimits()
    assert Limits().of_request({"text_tokens": 7}) == RequestLimits(text_tokens=7)
    assert Limits(text_tokens=9).of_request({"text_tokens": 7, "request_tokens": 8}) == RequestLimits(64, 9, 8)


def test_a_text_may_be_as_long_as_is_told():
    check_texts({"text": np.array([b"a" * MAXIMUM_TEXT], object)})
    with pytest.raises(RequestError, match="a text of 20,001 bytes"):
        check_texts({"text": np.array([b"a" * (MAXIMUM_TEXT + 1)], object)})
