"""What clients count: answers that are right, wrong, missing, or refused because the server was asked to stop."""

import random
import threading
import time
from types import SimpleNamespace

import pytest

from tfnmt_programs.asking import ServerError
from tfnmt_programs.soak.rude import Rude
from tfnmt_programs.soak.traffic import Tally, good_client, rude_client

ANSWERS = [("one", "eins"), ("two", "zwei"), ("three", "drei")]


@pytest.fixture
def asked():
    """`asked(answer, times)`: the counts of a client that asks so often; `answer` is a function of a sentence."""

    def run(answer, times=20, stopped=None):
        end, count = threading.Event(), iter(range(1, times + 1))

        def ask(sentence):
            if next(count) == times:
                end.set()
            return answer(sentence)

        tally = Tally(lambda: stopped)
        good_client(ask, ANSWERS, 1, tally, end)
        return tally

    return run


def failing(error):
    def answer(_):
        raise error

    return answer


def test_right_answers(asked):
    assert asked(dict(ANSWERS).get).counts == {"right": 20}


def test_answers_to_other_sentences_are_mixed(asked):
    tally = asked(lambda sentence: "eins")
    right = tally.counts["right"]
    assert tally.counts == {"right": right, "mixed": 20 - right} and 0 < right < 20
    assert "'eins', not" in tally.problems["mixed"]


@pytest.mark.parametrize(
    ("error", "count"),
    [(ServerError("500"), "server_errors")]
    + [(error, "lost") for error in (ConnectionResetError(), KeyError(), IndexError(), TypeError())],
)
def test_what_is_not_answered_before_the_stop_is_counted(asked, error, count):
    assert asked(failing(error)).counts == {count: 20}


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (400, {}),
        (None, {}),
        (503, {"server_errors_to_rude": 1}),
        ("INTERNAL", {"server_errors_to_rude": 1}),
        (TimeoutError(), {"rude_unanswered": 1}),
        ("DEADLINE_EXCEEDED", {"rude_unanswered": 1}),
        (ConnectionResetError(), {}),
    ],
)
def test_what_rude_requests_get(outcome, counts):
    end = threading.Event()

    def ask():
        end.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    tally = Tally(lambda: None)
    kinds = dict.fromkeys(Rude.KINDS, ask)
    rude_client(SimpleNamespace(generator=random.Random(1), close=lambda: None, **kinds), tally, 1.0, end)
    assert tally.counts == {"rude": 1, **counts}


def test_what_was_sent_after_the_stop_may_be_refused(asked):
    tally = asked(failing(ConnectionResetError()), stopped=time.monotonic())
    assert tally.counts == {"refused_after_stop": 1}, "and the client asks no more"


def test_what_was_sent_before_the_stop_must_be_answered(asked):
    tally = asked(failing(ConnectionResetError()), times=1, stopped=time.monotonic() + 60)
    assert tally.counts == {"lost": 1}
