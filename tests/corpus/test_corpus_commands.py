"""Corpora from the command line, by processes that are killed."""

import contextlib
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.commands.calls import call, start
from tests.processes import wait_until
from tfnmt.corpus import process as corpus_process
from tfnmt.corpus.pool import finished, room_for
from tfnmt.data.lines import create_lines, open_lines
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.pretrained import find_model
from tfnmt_programs.soak.processes import replicas

SEARCH = ["--method", "greedy", "--scores", "--batch-size", 16]
SHARD_LINES = 50
LINES = {"a.en": 190, "b.en.gz": 200, "c.en.zst": 60}
NOT_UTF8 = b"b\xff\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Files of the sample's sentences, plain and packed, two lines of which are not UTF-8."""
    directory = tmp_path_factory.mktemp("corpus")
    sentences = iter(f"{source}\n".encode() for source, _ in sample_pairs(sum(LINES.values()), 3, "train"))
    for name, count in LINES.items():
        lines = [next(sentences) for _ in range(count)]
        if name == "a.en":
            lines[7] = lines[60] = NOT_UTF8
        with create_lines(directory / name) as file:
            file.writelines(lines)
    return directory


def read(path):
    with open_lines(path) as file:
        return file.read()


def wait_for(process, condition):
    """Wait until a process that is at work has done something."""

    def is_done():
        if condition():
            return True
        assert process.poll() is None, process.stderr.read()
        return False

    wait_until(is_done, seconds=300)


def parts(output):
    """The shards that are done, of files that are not whole."""
    return {(path.parent.name, int(path.name)) for path in output.glob("unfinished/*/*") if path.name.isdecimal()}


def lines_done(output):
    """How many lines those shards and the whole files have."""
    of_parts = (min(SHARD_LINES, LINES[name] - number * SHARD_LINES) for name, number in parts(output))
    return sum(of_parts) + sum(count for name, count in LINES.items() if (output / name).exists())


@pytest.mark.slow
def test_killed_twice_every_line_is_there_once(parser, corpus, printed, ray_cluster, tmp_path):
    output = tmp_path / "output"
    options = ["--model", parser, "--input", f"{corpus}/*.en*", "--output", output, "--batch-size", 1]
    process = start("parse-corpus", *options, "--replicas", 2, stdout=subprocess.PIPE)
    wait_for(process, lambda: parts(output) and len(replicas(process.pid)) == 2)
    before = lines_done(output)
    os.kill(replicas(process.pid)[0], signal.SIGKILL)
    wait_for(process, lambda: lines_done(output) > before)
    working = replicas(process.pid)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in working))  # they end, too
    done = lines_done(output)
    assert before < done < sum(LINES.values())

    left = sum(LINES.values()) - done
    assert call("parse-corpus", *options, "--replicas", 1) == f"{output}: files: 3, lines done now: {left:,}\n"
    text = b"".join(read(corpus / name) for name in LINES).replace(NOT_UTF8, b"\n")
    expected = printed("parse", text, "--model", parser).splitlines()
    for name, count in LINES.items():
        assert read(output / name).decode().splitlines() == expected[:count]
        del expected[:count]
    problems = "line {}: not UTF-8 (byte 0xff at byte 2 of the line); its output is empty\n"
    assert (output / "a.en.problems").read_text() == problems.format(8) + problems.format(61)
    assert sorted(path.name for path in output.iterdir()) == sorted([*LINES, "a.en.problems", "corpus.json"])
    assert call("parse-corpus", *options) == f"{output}: files: 3, lines done now: 0\n"


@pytest.fixture
def in_this_process(monkeypatch):
    """No Ray, and one replica, which is no process of its own."""
    monkeypatch.setattr(corpus_process, "ray_started", contextlib.nullcontext)
    monkeypatch.setattr(corpus_process, "finished", lambda ray, task, shards, *_: map(task.load().do, shards))


def test_translations(translator, corpus, printed, in_this_process, tmp_path):
    options = ["--model", translator, "--input", corpus / "c.en.zst", "--output", tmp_path, *SEARCH]
    assert call("translate-corpus", *options).endswith(f"files: 1, lines done now: {LINES['c.en.zst']}\n")
    text = read(corpus / "c.en.zst")
    assert read(tmp_path / "c.en.zst").decode() == printed("translate", text, "--model", translator, *SEARCH)


def test_mistakes_are_one_line(translator, parser, corpus, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    good = {"--model": translator, "--input": corpus / "a.en", "--output": tmp_path / "output"}
    for change, complaint in (
        ({"--model": tmp_path / "none"}, "none: there is no such model directory"),
        ({"--model": parser}, "is a classifier, not a translator"),
        ({"--input": tmp_path / "*.en"}, "no file matches"),
        ({"--output": tmp_path / "file"}, "file: cannot be written"),
        ({"--n-best": 9}, "n_best=9: allowed is 1 to 5"),
        ({"--shortlist": tmp_path / "none"}, "none: cannot be read"),
    ):
        options = [word for option in (good | change).items() for word in option]
        with pytest.raises(UserError, match=complaint):
            call("translate-corpus", *options)
    options = [word for option in good.items() for word in option]
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install '\.\[ray\]'"):
        call("translate-corpus", *options)


def test_a_mistake_that_only_a_replica_sees(translator, corpus, in_this_process, tmp_path):
    options = ["--input", corpus / "a.en", "--output", tmp_path / "output", "--replicas", 1]
    with pytest.raises(UserError, match="banned_words=not a word: allowed is words that are one token"):
        call("translate-corpus", "--model", translator, *options, "--banned-words", "not a word")
    assert not (tmp_path / "output").exists()


def node(**resources):
    return {"Alive": True, "Resources": resources}


def test_more_replicas_than_there_is_room_for():
    for nodes, number, complaint in (
        ([node(CPU=2.0)], None, "--replicas 1 --threads 3: there is room for 0 such processes on the processors"),
        ([node(CPU=8.0, GPU=1.0)], 2, "--replicas 2 --threads 3: there is room for 1 such processes on the GPUs"),
    ):
        with pytest.raises(UserError, match=complaint):
            next(finished(SimpleNamespace(nodes=lambda nodes=nodes: nodes), None, [], number, 3))


def test_room_is_on_one_node():
    assert room_for([node(CPU=2.0), node(CPU=5.0), node(memory=1.0)], 2) == (False, 3)
    assert room_for([node(CPU=8.0, GPU=2.0), node(CPU=8.0), node(CPU=1.0, GPU=4.0)], 1) == (True, 3)
    assert room_for([node(CPU=8.0), {"Alive": False, "Resources": {"CPU": 8.0}}], 4) == (False, 2)


def test_a_task_has_the_options_asked_for(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("tfnmt.corpus.process.process_corpus", lambda *given: asked.append(given) or 0)
    (tmp_path / "in").write_text("a\n")
    options = ["--model", find_model("sample-spinn"), "--input", tmp_path / "in", "--output", tmp_path / "out"]
    call("parse-corpus", *options, "--batch-size", 3, "--maximum-words", 5, "--replicas", 2, "--threads", 4)
    ((task, inputs, output, replicas, threads),) = asked
    assert (task.batch_size, task.maximum_words) == (3, 5)
    assert (len(inputs), output, replicas, threads) == (1, str(tmp_path / "out"), 2, 4)
