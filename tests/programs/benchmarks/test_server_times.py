"""How long a server takes to start and to stop, measured on one that takes a known time to stop."""

import contextlib
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tfnmt.commands.server_process import ServerProcess
from tfnmt_programs.benchmarks import server_times

pytestmark = pytest.mark.slow

STOP_SECONDS = 0.3
SERVER = f"""
import http.server, json, signal, sys, threading, time

class Upper(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        (text,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"]
        body = json.dumps({{"predictions": [{{"translation": text.upper()}}]}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

def stop(*_):
    time.sleep({STOP_SECONDS})
    threading.Thread(target=server.shutdown).start()

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upper)
signal.signal(signal.SIGTERM, stop)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def small_server(monkeypatch):
    @contextlib.contextmanager
    def process(_):
        with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
            try:
                yield ServerProcess(f"http://127.0.0.1:{int(server.stdout.readline())}", "", server)
            finally:
                server.kill()

    monkeypatch.setattr(server_times, "server_process", process)
    monkeypatch.setattr(server_times, "LOAD_SECONDS", 0.2)


def test_times_and_answers(small_server, tmp_path):
    figures = server_times.server_times(tmp_path, "upper", [("a b", "A B")], clients=2, rounds=1)
    assert figures["right"] > 0
    assert figures["idle_stop_seconds"] >= STOP_SECONDS
    assert figures["stop_seconds"] >= STOP_SECONDS
    assert figures["start_seconds"] > 0 and figures["tensorflow_seconds"] > 0


def test_wrong_answers_are_counted(small_server, tmp_path):
    figures = server_times.server_times(tmp_path, "upper", [("a b", "a b")], clients=1, rounds=1)
    assert figures["right"] == 0
    assert figures["lost"] > 0


def test_clients_end_when_the_measurement_is_interrupted(monkeypatch):
    ended = []

    def client(ask, answers, seed, tally, end):
        end.wait()
        ended.append(seed)

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(server_times, "good_client", client)
    monkeypatch.setattr(server_times, "LOAD_SECONDS", 0)
    server = SimpleNamespace(rest_url="http://127.0.0.1:9", stop=interrupted)
    with pytest.raises(KeyboardInterrupt):
        server_times._stop_under_load(server, "m", [], 2, SimpleNamespace())
    assert sorted(ended) == [0, 1]
