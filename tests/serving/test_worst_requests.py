"""The search for the worst requests, over costs that are known and over a server."""

import os
import random
from types import SimpleNamespace

from tests.serving.conftest import publish
from tfnmt.commands.server_process import ServerProcess
from tfnmt.text.brackets import from_brackets
from tfnmt_programs.benchmarks.worst_requests import Cost, Shape, cost_of_shapes, search


def test_the_worst_requests_are_near_the_limits():
    def ask(shape):
        words = shape.rows * shape.words if shape.alike else shape.rows + shape.words - 1
        if shape.words > 100 or words > 1000 or shape.letters * words > 20_000:
            return None
        return Cost(float(words), shape.words**2)

    slowest, largest = search(ask, 40, random.Random(1))
    assert slowest.alike and slowest.rows * slowest.words > 900
    assert largest.words > 90
    assert (slowest, largest) == search(ask, 40, random.Random(1))


def test_texts_have_the_shape():
    for branching in ("left", "right", "balanced"):
        shape = Shape(rows=3, words=20, alike=True, letters=9, branching=branching)
        for plain, tree in zip(shape.texts(trees=False), shape.texts(trees=True), strict=True):
            assert from_brackets(tree)[0] == plain.split() and len(plain) == 20 * 10 - 1
    texts = Shape(rows=3, words=20, alike=False, letters=1, branching="left").texts(trees=False)
    assert [len(text.split()) for text in texts] == [20, 1, 1]


def test_what_a_request_costs_a_server(echoes, tmp_path, start):
    publish(echoes[0], tmp_path, "echo", 1)
    running = start(tmp_path)
    server = ServerProcess(running.rest, running.grpc, SimpleNamespace(pid=os.getpid()))
    ask = cost_of_shapes(server, "/v1/models/echo:predict", "slow", ["text"])
    cost = ask(Shape(rows=1, words=3, alike=True, letters=1, branching="left"))
    assert cost.seconds > 0 and cost.bytes >= 0
    assert ask(Shape(rows=1, words=600, alike=True, letters=1, branching="left")) is None
    assert ask(Shape(rows=1, words=1, alike=True, letters=30_000, branching="left")) is None
