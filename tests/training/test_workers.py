"""Several workers: how a batch is divided, how they find one another, and that they train as one process does."""

import contextlib
import csv
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests.commands.calls import call
from tests.processes import ended, wait_until
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.training import loopback, rendezvous, workers
from tfnmt.training.callbacks import CheckpointCallback, StopCallback
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.micro_batches import batch_loss
from tfnmt.training.rendezvous import meeting
from tfnmt.training.replicas import Replicas, slice_of
from tfnmt.training.strategies import connect
from tfnmt.training.workers import TF_CONFIG, Cluster, Workers, read_cluster

CHECKOUT = Path(__file__).parents[2]


def select(inputs, labels, indices):
    return tf.gather(inputs, indices), tf.gather(labels, indices)


PORTS = itertools.count(20_000 + 50 * os.getpid() % 12_000)


def free_port():
    """A port at which nothing listens. It is below those that Linux gives to connections and to servers that name none,
    and above those of Ray's workers: so no other test takes it before it is used.
    """
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def cluster(count):
    return [f"127.0.0.1:{free_port()}" for _ in range(count)]


def tf_config(addresses, index):
    return json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})


@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_example_is_in_one_slice_that_counts(count, number):
    batch = tf.range(count), tf.range(count) * 10
    slices = [slice_of(batch, number, index, select) for index in range(number)]
    assert all(tf.size(labels) for _, labels, _ in slices), "none is empty"
    counted = [value for inputs, _, weight in slices if weight for value in inputs.numpy()]
    assert sorted(counted) == list(range(count))
    for inputs, labels, _ in slices:
        np.testing.assert_array_equal(labels, inputs * 10)


class TwoReplicas(Replicas):
    """The first of two; what the other one has is given."""

    number = 2

    def __init__(self, other):
        self.other = other

    def sum(self, tensors):
        return [tensor + other for tensor, other in zip(tensors, self.other, strict=True)]


def test_the_parts_of_the_loss_add_up_to_the_mean_over_all_words():
    """Slices with 3 words of loss 2, and with 1 word of loss 6; of a second term 1 and 3 labels."""
    first = batch_loss([[(2.0, 3), (1.0, 1)]], TwoReplicas([1.0, 3.0]), 1.0)
    second = batch_loss([[(6.0, 1), (5.0, 3)]], TwoReplicas([3.0, 1.0]), 1.0)
    np.testing.assert_allclose(first + second, (2 * 3 + 6) / 4 + (1 + 5 * 3) / 4)


def test_a_slice_without_weight_is_no_part_of_the_loss():
    assert batch_loss([[(2.0, 3)]], TwoReplicas([3.0]), 0.0) == 0
    np.testing.assert_allclose(batch_loss([[(2.0, 3)]], TwoReplicas([0.0]), 1.0), 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "TF_CONFIG is not set"),
        ("{nonsense", "TF_CONFIG: is not valid JSON"),
        ("[]", "should be"),
        ('{"cluster": {"worker": []}, "task": {"type": "worker", "index": 0}}', "should be"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}', "should be"),
        ('{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}', "should be"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}', "should be"),
        ('{"cluster": {"worker": ["a:99999"]}, "task": {"type": "worker", "index": 0}}', "should be"),
        ('{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}', "should be"),
    ],
)
def test_a_broken_tf_config(text, message, monkeypatch):
    monkeypatch.setenv(TF_CONFIG, text)
    with pytest.raises(UserError, match=message) as caught:
        connect("multiworker")
    assert "\n" not in str(caught.value)


def test_what_tf_config_should_be_is_json(monkeypatch):
    monkeypatch.setenv(TF_CONFIG, "[]")
    with pytest.raises(UserError) as caught:
        read_cluster()
    example = re.search("should be (.*), with N from 0", str(caught.value))[1]
    values = json.loads(example.replace(", ...", "").replace("N}", "0}"))
    assert values == {"cluster": {"worker": ["HOST:PORT"]}, "task": {"type": "worker", "index": 0}}


def test_clusters(monkeypatch):
    monkeypatch.setenv(TF_CONFIG, tf_config(["a:1", "b:2"], 1))
    assert read_cluster() == (["a:1", "b:2"], 1)
    chief = {"cluster": {"chief": ["a:1"], "worker": ["b:2"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv(TF_CONFIG, json.dumps(chief))
    assert read_cluster() == (["a:1", "b:2"], 1)


def has_ipv6():
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", *(["[::1]"] if has_ipv6() else [])])
def test_workers_meet(host):
    """And then listen at their addresses, as TensorFlow's servers do, while they are connected."""
    addresses, met = [address.replace("127.0.0.1", host) for address in cluster(3)], []
    family = socket.AF_INET6 if "::" in host else socket.AF_INET

    def come(index):
        with meeting(addresses, index, 20):
            port = int(addresses[index].rpartition(":")[2])
            socket.create_server((host.strip("[]"), port), family=family).close()
            met.append(index)

    threads = [threading.Thread(target=come, args=(index,)) for index in (2, 1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(met) == [0, 1, 2]


def say(address, content):
    """A connection to the chief that has said something."""
    host, _, port = address.rpartition(":")

    def connected():
        with contextlib.suppress(ConnectionRefusedError):  # it does not listen yet
            return socket.create_connection((host, int(port)), timeout=20)

    connection = wait_until(connected)
    connection.sendall(content)
    return connection


def test_only_the_newest_of_each_worker_counts(monkeypatch):
    """Not a stranger, who names no index of a worker, nor a worker that has ended and was started again."""
    (address, *others), watched = cluster(3), []
    monkeypatch.setattr(rendezvous, "_watch", lambda worker, leaving: watched.append(worker.getpeername()))
    chief = threading.Thread(target=lambda: enter(meeting([address, *others], 0, 20)))
    chief.start()
    said = [b"GET / HTTP/1.1", *(struct.pack("!I", index) for index in (0, 3, 1, 1, 2))]
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(say(address, content)) for content in said]
        chief.join()
        assert set(watched) == {connection.getsockname() for connection in connections[-2:]}


MEETS = """
import sys, time
from tfnmt.training.rendezvous import meeting
index, *addresses = sys.argv[1:]
with meeting(addresses, int(index), 60):
    print("met", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("killed", [0, 1])
def test_a_worker_that_ends_before_it_is_connected_ends_the_others(killed):
    addresses = cluster(2)
    with contextlib.ExitStack() as stack:
        processes = []
        for index in range(2):
            command = [sys.executable, "-c", MEETS, str(index), *addresses]
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            processes.append(stack.enter_context(ended(worker)))
        for worker in processes:
            assert worker.stdout.readline() == b"met\n"
        processes[killed].kill()
        _, said = processes[1 - killed].communicate(timeout=30)
    assert said == b"error: another worker has ended while the workers connected; start all of them again\n"
    assert processes[1 - killed].returncode == 2


def enter(context):
    with context:
        pass


def test_a_worker_that_does_not_come():
    addresses = cluster(2)
    with pytest.raises(UserError, match=f"worker 1 at {addresses[1]} does not answer"):
        enter(meeting(addresses, 0, 0.2))
    with pytest.raises(UserError, match=f"worker 0 at {addresses[0]} does not answer"):
        enter(meeting(addresses, 1, 0.2))


def test_for_whom_a_worker_waits_is_told(monkeypatch, caplog):
    addresses = cluster(3)
    of_chief, of_worker = (f"worker {i} at {addresses[i]}" for i in (0, 2))
    caplog.set_level("INFO", "tfnmt")
    monkeypatch.setattr(rendezvous, "TELLS_EVERY", 0.05)

    def wait(index, seconds=0.5):
        with pytest.raises(UserError):
            enter(meeting(addresses, index, seconds))

    def told():
        said = set(caplog.messages)
        caplog.clear()
        return said

    wait(0)
    assert told() == {f"waiting for worker 1 at {addresses[1]}, {of_worker}"}
    wait(2)
    assert told() == {f"waiting for {of_chief}"}
    chief = threading.Thread(target=wait, args=(0, 2))
    chief.start()
    wait(1)  # both are there, and worker 2 is not
    chief.join()
    assert told() >= {f"waiting for {of_worker}", "waiting for the other workers"}


def test_the_address_of_the_chief_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(UserError, match=f"{address}: cannot listen there, as worker 0: Address already in use"):
            enter(meeting([address, "127.0.0.1:1"], 0, 5))


def passes(version, source):
    """Whether the kernel's program lets a packet pass, by the rules of bpf(4)."""
    header = bytearray(40)
    header[0] = version << 4
    start, size = (12, 4) if version == 4 else (8, 16)
    header[start : start + size] = socket.inet_pton(socket.AF_INET if version == 4 else socket.AF_INET6, source)
    register, at = 0, 0
    while True:
        operation, equal, other, constant = loopback._FROM_LOOPBACK[at]
        at += 1
        if operation in (loopback._LOAD_BYTE, loopback._LOAD_WORD):
            offset = constant - loopback._HEADER
            register = int.from_bytes(header[offset : offset + (1 if operation == loopback._LOAD_BYTE else 4)])
        elif operation == loopback._AND:
            register &= constant
        elif operation == loopback._JUMP_IF_EQUAL:
            at += equal if register == constant else other
        else:
            return constant > 0


def test_only_this_machine_gets_through_to_tensorflows_server():
    assert passes(4, "127.0.0.1") and passes(4, "127.0.0.2") and passes(6, "::1")
    for version, source in ((4, "192.0.2.7"), (4, "10.0.0.1"), (6, "::2"), (6, "2001:db8::1"), (6, "fe80::1")):
        assert not passes(version, source)


def test_the_kernel_takes_the_filter():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert loopback.refuse_others(server.getsockname()[1]) == 1
        with socket.create_connection(server.getsockname(), timeout=10) as client:
            connected, _ = server.accept()
            with connected:
                connected.sendall(b"x")
                assert client.recv(1) == b"x"


def has_filter(server):
    return server.getsockopt(socket.SOL_SOCKET, loopback._SO_ATTACH_FILTER, 1024) != b""


def test_a_server_that_is_started_within_is_closed_to_others():
    port = free_port()
    with contextlib.ExitStack() as stack:
        with loopback.only_from_loopback(port):
            server = stack.enter_context(socket.create_server(("127.0.0.1", port)))
        assert has_filter(server)


def test_a_server_that_cannot_be_found_is_told():
    port = free_port()
    with pytest.raises(UserError, match=f"port {port}: cannot be closed to other machines"):
        enter(loopback.only_from_loopback(port))


@pytest.mark.parametrize("host, closed", [("127.0.0.1", True), ("192.0.2.1", False)])
def test_the_server_of_a_worker_on_this_machine_is_closed_to_others(host, closed, monkeypatch):
    port, servers = free_port(), []

    def strategy():
        servers.append(socket.create_server(("127.0.0.1", port)))

    monkeypatch.setattr(workers, "meeting", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", strategy)
    Workers(Cluster([f"{host}:{port}"], 0))
    with servers[0] as server:
        assert has_filter(server) == closed


def test_a_look_for_sockets_leaves_nothing_open():
    before = os.listdir("/proc/self/fd")
    assert loopback.refuse_others(1) == 0
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("processes", [1, 2])
def test_after_a_checkpoint_a_signal_ends_one_process_at_once_and_several_after_a_batch(processes):
    replicas = SimpleNamespace(processes=processes, is_chief=False)
    run = SimpleNamespace(replicas=replicas, signals=SimpleNamespace(deferred=True), configuration=None)
    CheckpointCallback(run, None, SimpleNamespace(all_finite=lambda: True), None).save()
    assert run.signals.deferred == (processes == 2)


@pytest.mark.parametrize("processes, is_over, within", [(1, False, True), (2, False, False), (2, True, True)])
def test_several_processes_stop_at_the_end_of_an_epoch_or_the_run(processes, is_over, within):
    """Where a callback of one of them has stopped `fit`, all do."""
    asked = [SimpleNamespace(stop_training=stopped or is_over) for stopped in (True, False)[:processes]]
    replicas = SimpleNamespace(processes=processes, agree=lambda number: max(number, int(processes == 2)))
    for model in asked:
        stop = StopCallback(replicas, lambda: is_over)
        stop.set_model(model)
        stop.on_train_batch_end(0)
        assert model.stop_training == within
        stop.on_epoch_end(0)
        assert model.stop_training


OPTIONS = ["--task", "sst", "--encoder", "spinn-pi-nt", "--epochs", "2", "--no-board", "--set", "batch_size=16"]
OPTIONS += ["embedding_size=8", "units=8", "head_units=8", "embedding_dropout=0", "head_dropout=0", "warmup_steps=1"]
OPTIONS += ["selection=loss", "checkpoint_steps=4", "accumulation_steps=2", "weight_average=0.9"]


@pytest.fixture
def files(tmp_path):
    """Options that name files of 60 sentences, with different numbers of labels, and of 10 to score."""
    paths = TASKS["sst"].write_sample(tmp_path)
    for name, count in (("train", 60), ("dev", 10)):
        lines = paths[name].read_text(encoding="utf-8").splitlines(keepends=True)
        paths[name].write_text("".join(lines[:count]), encoding="utf-8")
    return ["--train", str(paths["train"]), "--dev", str(paths["dev"])]


def newest(directory):
    name = checkpoint_names(directory / "checkpoints")[0]
    reader = tf.train.load_checkpoint(str(directory / "checkpoints" / name))
    names = [name for name in reader.get_variable_to_shape_map() if name.startswith("variables/")]
    return name, {name: reader.get_tensor(name) for name in names}


@pytest.mark.slow
def test_two_workers_train_as_one_process_does(files, tmp_path):
    command = ["train-classifier", *files, *OPTIONS, "--output"]
    addresses, processes = cluster(2), []
    worker = [sys.executable, "-m", "tfnmt", *command, str(tmp_path / "two"), "--strategy", "multiworker"]
    with contextlib.ExitStack() as stack:
        for index in range(2):
            environment = os.environ | {"PYTHONPATH": str(CHECKOUT), TF_CONFIG: tf_config(addresses, index)}
            process = subprocess.Popen(worker, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            processes.append(stack.enter_context(ended(process)))
        alone = call(*command, tmp_path / "one")
        with contextlib.suppress(subprocess.TimeoutExpired):  # where one ends with an error, the other may wait for it
            for process in processes:
                process.wait(timeout=120)
        for process in processes:
            process.kill()
        outputs = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert outputs[1] == (b"", b""), "one process logs"
    assert outputs[0][0].decode().replace("/two:", "/one:") == alone

    (name, one), (other_name, two) = newest(tmp_path / "one"), newest(tmp_path / "two")
    assert name == other_name and one.keys() == two.keys()
    for key, value in one.items():
        np.testing.assert_allclose(two[key], value, atol=1e-5, err_msg=key)
    histories = [read_history(tmp_path / which) for which in ("one", "two")]
    assert len(histories[0]) == len(histories[1]) == 2
    for row, other in zip(*histories, strict=True):
        assert row.keys() == other.keys()
        for name in row.keys() - {"seconds"}:
            np.testing.assert_allclose(row[name], other[name], rtol=1e-5, err_msg=name)


def read_history(directory):
    with open(directory / "history.csv", newline="", encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
