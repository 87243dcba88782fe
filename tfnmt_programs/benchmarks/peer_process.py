"""The other side of a comparison: a worker in `peers/`, run by a Python that has the peer installed.

What that Python needs, beside NumPy:

    spinn_worker.py, spinn_by_level_worker.py, translator_worker.py    torch: the extra `peers`
    joeynmt_worker.py        joeynmt 2.3 with its torch, in an environment of its own
    ctranslate2_worker.py    ctranslate2 4.8
    marian_worker.py         pymarian 1.12
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.translation.configuration import TranslatorConfiguration

PEERS = Path(__file__).parent / "peers"

Batches = Sequence[Mapping[str, np.ndarray | int]]
"""The arrays of each batch by name."""


def require_form(configuration: TranslatorConfiguration, peer: str, **more: Any) -> None:
    """Raise `UserError` unless a translator has the form of JoeyNMT's and Marian's, and values `more` of its keys."""
    needed = {"cell": "gru", "attention": "additive", "bidirectional": True, "encoder_layers": 1, "decoder_layers": 1}
    for key, value in (needed | more).items():
        found = getattr(configuration, key)
        require(found == value, key, found, f"{value}, beside {peer}")


def require_module(python: str | Path, module: str) -> None:
    """Raise `UserError` if there is no such Python, or it cannot import a module."""
    try:
        found = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False)
    except OSError as error:
        raise UserError(f"{python}: {error.strerror}; name a Python that has {module}") from error
    if found.returncode:
        raise UserError(f"{python}: cannot import {module}; name a Python that has it")


class PeerProcess:
    """A worker that stays and works only when asked: a line to its standard input, a line of JSON back.

    To be used in a `with` statement; the worker ends with it.

    Args:
        python: path of the Python that runs it.
        worker: the worker's file in `peers/`.
        settings: plain values, written to the JSON file that is the worker's first argument.
        batches: what it works on, written to the .npz file that is its second argument: "source" of batch 3 as
            source_3, see `arrays_of` in `peers/worker.py`.

    Raises:
        UserError: there is no such Python, or (from `answer`) the worker has ended.
    """

    def __init__(self, python: str | Path, worker: str, settings: Mapping[str, Any], batches: Batches):
        self.python = python
        self.folder = tempfile.TemporaryDirectory()
        files = [Path(self.folder.name, name) for name in ("settings.json", "arrays.npz", "worker.log")]
        settings_file, arrays_file, self.log = files
        settings_file.write_text(json.dumps(settings), encoding="utf-8")
        arrays = {f"{name}_{i}": values for i, batch in enumerate(batches) for name, values in batch.items()}
        np.savez(arrays_file, **arrays)
        command = [str(part) for part in (python, PEERS / worker, settings_file, arrays_file)]
        try:
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=os.environ | {"TMPDIR": self.folder.name},  # so that its files go with the folder
                    start_new_session=True,
                )
        except OSError as error:
            self.folder.cleanup()
            raise UserError(f"{python}: {error.strerror}; name a Python that has the peer installed") from error

    def __enter__(self) -> "PeerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # what it has started, too
        self.process.communicate()
        self.folder.cleanup()

    def ask(self) -> Any:
        """Let it do its work once, and return its answer."""
        with contextlib.suppress(BrokenPipeError):  # it has ended: `answer` says why
            print("go", file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self) -> Any:
        """The next line that it prints, as the value that it is in JSON."""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "it did not say why")
            raise UserError(f"{self.python}: the peer's worker has ended: {last}")
        return json.loads(line)
