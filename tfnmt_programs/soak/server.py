"""A server under load for minutes: every accepted request must be answered, and rightly, whatever else happens.

While good clients ask by REST and gRPC, others send what is malformed, huge or slow, and versions of the model come, go
and break. In the end the server gets SIGTERM in the middle of its work.
"""

import contextlib
import logging
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its operations

from tfnmt.commands.server_process import server_process
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs, write_sample
from tfnmt.errors import UserError
from tfnmt.models import create_servable
from tfnmt.serving.export import export
from tfnmt.serving.files import register, version_numbers
from tfnmt.translation.presets import find_preset
from tfnmt.translation.training import train_translator
from tfnmt_programs.asking import grpc_asker, rest_asker
from tfnmt_programs.benchmarks.serving import translating
from tfnmt_programs.measuring import resident_memory
from tfnmt_programs.soak.rude import Rude
from tfnmt_programs.soak.traffic import Tally, good_client, rude_client

logger = logging.getLogger(__name__)

RUDE_SHARE = 0.1
"""The part of all requests that is malformed, huge or slow."""
CHANGE_SECONDS = 5.0
"""The time between two changes of the versions."""
CALM_SHARE = 0.2
"""The part of the time in which there are no rude clients, to compare with; versions change all the time."""


def soak_server(servable: Path, minutes: float, clients: int, seed: int) -> dict[str, Any]:
    """Serve a copy of a servable under load.

    Args:
        servable: the folder of an exported translator, with a folder for each of its versions.
        minutes: how long, in all.
        clients: how many clients ask at once, 2 at least; one in eight, one at least, is rude.
        seed: of everything that clients do.

    Returns:
        "right", "lost" (no answer, or a part of one), "mixed" (another sentence's answer) and "server_errors" (5xx) of
        good requests; "rude", "server_errors_to_rude" and "rude_unanswered" in the client's time; "refused_after_stop",
        of requests sent after SIGTERM; "version_changes"; "throughput", of good clients beside rude ones over that
        without; "memory_mb_first_minute", "memory_mb_last_minute" and "memory_ratio"; "stop_seconds", from SIGTERM to
        the server's end, "stop_status", its status then, and "longest_request_seconds"; "problems", the first of each
        kind.

    Raises:
        UserError: there is no such servable, the server does not start or does not end, or nothing was measured.
    """
    versions = version_numbers(servable)
    if not versions:
        raise UserError(f"{servable}: there is no exported version; tfnmt export makes one")
    original, model = servable / str(versions[-1]), servable.name
    answers = right_answers(original)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(original, Path(folder, model, "1"))
        register(Path(folder), model)
        with server_process(folder) as server:
            return _Soak(server, Path(folder, model), answers, clients, seed).run(60 * minutes)


def export_sample_translator(folder: Path) -> Path:
    """Train the preset `tiny` on the sample corpus and export it; the servable's folder."""
    sample = write_sample(folder)
    training, dev = (ParallelFiles(sample[f"{part}.en"], sample[f"{part}.de"]) for part in ("train", "dev"))
    model, _ = train_translator(folder / "model", find_preset("tiny"), training, dev)
    return export(create_servable([model]), folder / "saved_models", "sample").parent


def right_answers(version: Path, number: int = 200) -> list[tuple[str, str]]:
    """Sentences and their translations by an exported version in this process, one by one."""
    translate = translating(version)
    sentences = [source for source, _ in sample_pairs(number, seed=0, split="test")]
    return [(text, translate(text=tf.constant([text]))["translation"][0].numpy().decode()) for text in sentences]


class _Soak:
    """One server and all its clients."""

    def __init__(self, server, folder, answers, clients, seed):
        self.server, self.folder, self.seed = server, folder, seed
        self.stopped: float | None = None
        self.tally = Tally(lambda: self.stopped)
        self.end = threading.Event()
        self.memory: list[tuple[float, float]] = []
        self.failures: list[BaseException] = []
        """What ended a thread before its time."""
        self.rude_clients = max(1, clients // 8)
        self.good = [self._good(answers, i) for i in range(clients - self.rude_clients)]

    def _good(self, answers, i):
        make, url = ((rest_asker, self.server.rest_url), (grpc_asker, self.server.grpc_url))[i % 2]
        ask = make(urlsplit(url).netloc, self.folder.name)
        return self._thread(good_client, ask, answers, self.seed + i, self.tally, self.end)

    def _rude(self, i):
        generator = random.Random(self.seed + 1000 + i)
        rude = Rude(self.server.rest_url, self.server.grpc_url, self.folder.name, generator)
        return self._thread(rude_client, rude, self.tally, RUDE_SHARE, self.end)

    def _thread(self, target, *arguments):
        def run() -> None:
            try:
                target(*arguments)
            except BaseException as failure:
                self.failures.append(failure)

        return threading.Thread(target=run)

    def run(self, seconds: float) -> dict[str, Any]:
        """All of it; the figures of `soak_server`."""
        watching = [self._thread(each) for each in (self._watch_memory, self._change_versions)]
        rude = [self._rude(i) for i in range(self.rude_clients)]
        start = time.monotonic()
        for thread in [*watching, *self.good]:
            thread.start()
        try:
            calm = self._rate_until(start + CALM_SHARE * seconds)
            for thread in rude:
                thread.start()
            disturbed = self._rate_until(start + seconds)
            self.stopped = time.monotonic()
            stop_seconds = self.server.stop()
        finally:  # also when interrupted: a program ends when all its threads do
            self.end.set()
        for thread in [*watching, *rude, *self.good]:
            thread.join()
        if self.failures:
            raise self.failures[0]
        if calm == 0:
            raise UserError("no right answer before the other clients came: give it more --minutes")
        return self._figures(start, disturbed / calm, stop_seconds)

    def _rate_until(self, end):
        """Right answers a second from now to then, without the first tenth of the time."""
        time.sleep(max(0.0, (end - time.monotonic()) / 10))
        start, before = time.monotonic(), self.tally.counts["right"]
        while time.monotonic() < end and self.server.process.poll() is None:
            time.sleep(0.1)
        return (self.tally.counts["right"] - before) / (time.monotonic() - start)

    def _watch_memory(self):
        while not self.end.wait(1.0):
            with contextlib.suppress(OSError, AttributeError):  # it has ended
                self.memory.append((time.monotonic(), resident_memory(self.server.process.pid) / 2**20))

    def _change_versions(self):
        """Versions of the same model come, break and go, as long as the soak lasts."""
        generator, number = random.Random(self.seed), 1
        while not self.end.wait(CHANGE_SECONDS):
            number += 1
            change = generator.choice((self._add, self._add_broken, self._remove_oldest))
            change(number)
            self.tally.count("version_changes")

    def _add(self, number):
        """A new version, in place at once."""
        newest = max(int(path.name) for path in self.folder.iterdir() if path.name.isdigit() and _is_whole(path))
        part = self.folder / "part"
        shutil.copytree(self.folder / str(newest), part)
        part.rename(self.folder / str(number))

    def _add_broken(self, number):
        """A new version that cannot be loaded."""
        part = self.folder / "part"
        part.mkdir()
        (part / "saved_model.pb").write_bytes(b"this is no model")
        part.rename(self.folder / str(number))

    def _remove_oldest(self, _):
        """All versions but the newest whole one."""
        whole = [int(path.name) for path in self.folder.iterdir() if path.name.isdigit() and _is_whole(path)]
        for path in self.folder.iterdir():
            if path.name.isdigit() and int(path.name) != max(whole):
                shutil.rmtree(path)

    def _figures(self, start, throughput, stop_seconds):
        counts = self.tally.counts
        first = _median_memory(self.memory, start, start + 60)
        last = _median_memory(self.memory, self.stopped - 60, self.stopped)
        names = ("right", "lost", "mixed", "server_errors", "rude", "server_errors_to_rude", "rude_unanswered")
        return {name: counts[name] for name in (*names, "refused_after_stop", "version_changes")} | {
            "throughput": throughput,
            "memory_mb_first_minute": first,
            "memory_mb_last_minute": last,
            "memory_ratio": last / first,
            "stop_seconds": stop_seconds,
            "stop_status": self.server.process.returncode,
            "longest_request_seconds": self.tally.longest,
            "problems": self.tally.problems,
        }


def _is_whole(version):
    return (version / "variables").is_dir()


def _median_memory(samples: Sequence[tuple[float, float]], start: float, end: float) -> float:
    chosen = [megabytes for when, megabytes in samples if start <= when <= end]
    if not chosen:
        raise UserError("no measurement of the server's memory: give it more --minutes")
    return statistics.median(chosen)
