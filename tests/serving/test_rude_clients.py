"""What a server answers to rude clients, when it lets those go that send no more, and that good ones do not notice."""

import random
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest

from tests.serving.conftest import Running, publish
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions
from tfnmt_programs.asking import grpc_asker, rest_asker
from tfnmt_programs.soak.rude import Rude
from tfnmt_programs.soak.server import right_answers
from tfnmt_programs.soak.traffic import Tally, good_client, rude_client

ENOUGH = {"right": 50, "rude": 40}


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory):
    """The model "sample"; half a request is given 0.2 seconds."""
    directory = tmp_path_factory.mktemp("saved_models")
    publish(exported, directory, "sample", 1)
    limits = Limits(head_seconds=0.2, body_seconds=0.2)
    running = Running(directory, BatchingOptions(wait_seconds=0.0), limits=limits)
    yield running
    running.stop()


@pytest.fixture
def rude(server):
    """`rude(seed)`: a client; what it holds is closed in the end."""
    clients = []

    def make(seed):
        clients.append(Rude(server.rest, server.grpc, "sample", random.Random(seed)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


ANSWER = {
    "broken_json": {400},
    "wrong_types": {400},
    "huge_body": {413, "closed"},
    "long_text": {400},
    "many_rows": {400},
    "half_body": {None},
    "half_head": {None},
    "bad_tensor": {"OK", "INVALID_ARGUMENT"},
}


def answer(client, kind):
    try:
        return getattr(client, kind)()
    except ConnectionError:  # the answer was given, and the connection closed, before all was sent
        return "closed"


@pytest.mark.parametrize("kind", Rude.KINDS)
def test_each_kind_is_answered(rude, kind):
    client = rude(1)
    answers = Counter(answer(client, kind) for _ in range(20 if kind != "huge_body" else 3))
    assert set(answers) <= ANSWER[kind], answers


@pytest.mark.parametrize("kind", ["half_body", "half_head"])
def test_what_is_half_sent_is_closed_in_time(rude, kind):
    client = rude(1)
    getattr(client, kind)()
    with client.held[0].makefile("rb") as answers:
        text = answers.read()  # until the server closes
    assert text.startswith(b"HTTP/1.1 408 ") and b"has not arrived within 0.2 s" in text


def test_a_client_holds_so_many_connections_and_no_more(rude):
    client = rude(1)
    for _ in range(Rude.HELD + 1):
        client.half_head()
    assert len(client.held) == Rude.HELD
    client.close()
    assert all(connection.fileno() == -1 for connection in client.held)


class Enough:
    """For clients, the end: when all of `ENOUGH` have been counted, or a minute is over."""

    def __init__(self, tally):
        self.tally, self.latest = tally, time.monotonic() + 60

    def is_set(self):
        return self.are_counted() or time.monotonic() > self.latest

    def are_counted(self):
        return all(self.tally.counts[name] >= number for name, number in ENOUGH.items())


def test_good_clients_among_rude_ones_get_right_answers(server, exported, rude):
    answers, tally = right_answers(exported, 20), Tally(lambda: None)
    end = Enough(tally)
    asks = [
        make(urlsplit(url).netloc, "sample")
        for make, url in ((rest_asker, server.rest), (grpc_asker, server.grpc))
        for _ in range(2)
    ]
    threads = [threading.Thread(target=good_client, args=(ask, answers, i, tally, end)) for i, ask in enumerate(asks)]
    threads += [threading.Thread(target=rude_client, args=(rude(seed), tally, 0.4, end)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert end.are_counted()
    assert set(tally.counts) == {"right", "rude"} and not tally.problems
