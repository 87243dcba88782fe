"""How long a server takes to start and, idle or under load, to stop."""

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tfnmt.commands.server_process import server_process
from tfnmt_programs.asking import rest_asker
from tfnmt_programs.soak.traffic import Tally, good_client

LOAD_SECONDS = 2.0
"""How long clients ask before the server under load is told to stop."""


def server_times(
    models: Path, model: str, answers: Sequence[tuple[str, str]], clients: int, rounds: int
) -> dict[str, float]:
    """Start and stop a server that has one model, several times.

    Args:
        models: the folder of servables.
        model: the name of the translator there that clients ask.
        answers: sentences and their right translations.
        clients: how many ask at once while the server under load gets SIGTERM.
        rounds: how often each is measured; the figures are medians, where nothing else is said.

    Returns:
        "tensorflow_seconds", the import of TensorFlow and TensorFlow Text in a process of its own;
        "start_seconds", from the start of the command to all models ready;
        "idle_stop_seconds" and "idle_stop_seconds_most", from SIGTERM to the end, without requests;
        "stop_seconds" and "stop_seconds_most", under load; "longest_request_seconds" of that load;
        "right", how many requests were answered rightly, and "lost", how many sent before SIGTERM were not answered, or
        wrongly, in all rounds.
    """
    imports, starts, idle, loaded = [], [], [], []
    tally = Tally(lambda: None)
    for _ in range(rounds):
        imports.append(_seconds_to_import())
        begin = time.monotonic()
        with server_process(models) as server:
            starts.append(time.monotonic() - begin)
            idle.append(server.stop())
        with server_process(models) as server:
            loaded.append(_stop_under_load(server, model, answers, clients, tally))
    counts = tally.counts
    return {
        "tensorflow_seconds": statistics.median(imports),
        "start_seconds": statistics.median(starts),
        "idle_stop_seconds": statistics.median(idle),
        "idle_stop_seconds_most": max(idle),
        "stop_seconds": statistics.median(loaded),
        "stop_seconds_most": max(loaded),
        "longest_request_seconds": tally.longest,
        "right": counts["right"],
        "lost": counts["lost"] + counts["mixed"] + counts["server_errors"],
    }


def _seconds_to_import():
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "import tensorflow, tensorflow_text"], check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def _stop_under_load(server, model, answers, clients, tally):
    """As `ServerProcess.stop`, while clients ask."""
    stopped: list[float] = []
    tally.stopping = lambda: stopped[0] if stopped else None
    end = threading.Event()
    address = urlsplit(server.rest_url).netloc
    arguments = [(rest_asker(address, model), answers, seed, tally, end) for seed in range(clients)]
    threads = [threading.Thread(target=good_client, args=each) for each in arguments]
    for thread in threads:
        thread.start()
    try:
        time.sleep(LOAD_SECONDS)
        stopped.append(time.monotonic())
        return server.stop()
    finally:  # also where this is interrupted: clients would ask for ever
        end.set()
        for thread in threads:
            thread.join()
