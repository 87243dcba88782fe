"""The other side of a comparison: a worker in `peers/`, run by a Python that has the peer installed."""

import contextlib
import json
import subprocess
from pathlib import Path

from tfnmt.errors import UserError

PEERS = Path(__file__).parent / "peers"


class PeerProcess:
    """A worker that stays and works only when asked: a line to its standard input, a line of JSON back.

    To be used in a `with` statement; the worker ends with it.

    Args:
        python: path of the Python that runs it.
        worker: the worker's file.
        directory: where its settings and what it says on standard error are kept.
        settings: plain values; the worker's first argument is a JSON file of them.
        arguments: further arguments of the worker.

    Raises:
        UserError: there is no such Python, or (from `answer`) the worker has ended.
    """

    def __init__(self, python, worker, directory, settings, *arguments):
        self.python = python
        self.log = Path(directory, "worker.log")
        settings_file = Path(directory, "settings.json")
        settings_file.write_text(json.dumps(settings), encoding="utf-8")
        command = [str(part) for part in (python, worker, settings_file, *arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        try:
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(command, stderr=log, **pipes)
        except OSError as error:
            raise UserError(f"{python}: {error.strerror}; name a Python that has the peer installed") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ask(self):
        """Let it do its work once, and return its answer."""
        with contextlib.suppress(BrokenPipeError):  # it has ended: `answer` says why
            print("go", file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self):
        """The next line that it prints, as the value that it is in JSON."""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            said = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "it did not say why")
            raise UserError(f"{self.python}: the peer's worker has ended: {last}")
        return json.loads(line)
