"""`tfnmt serve` as a process of its own, for commands that need a server for a while."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import requests

import tfnmt
from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError


class ServerProcess(NamedTuple):
    """A server that listens."""

    rest_url: str
    grpc_url: str
    process: subprocess.Popen

    def stop(self) -> float:
        """Send SIGTERM; the seconds until the server has ended.

        Raises:
            UserError: it has not ended after 120 seconds.
        """
        start = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            raise UserError("the server has not ended 120 seconds after SIGTERM") from None
        return time.monotonic() - start


@contextlib.contextmanager
def server_process(models: Path | str, *options: str, checkout: Path | str | None = None) -> Iterator[ServerProcess]:
    """`with server_process("saved_models") as server:` a server on free ports, stopped in the end.

    Args:
        models: the folder of servables.
        options: further options of `tfnmt serve`.
        checkout: the folder that tfnmt is imported from (default: the same as here).

    Raises:
        UserError: it does not start; its own complaint stands on standard error.
    """
    command = [sys.executable, "-m", "tfnmt", "serve", "--models", str(Path(models).resolve())]
    command += ["--rest-port", "0", "--grpc-port", "0", *options]
    root = str(Path(checkout).resolve() if checkout else Path(tfnmt.__file__).parents[1])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment_with(root), cwd=root) as process:
        try:
            line = process.stdout.readline().split()  # type: ignore[union-attr]  # a pipe, as asked for
            if not line:
                raise UserError("the server did not start")
            _wait_until_loaded(line[1], process)
            yield ServerProcess(line[1], f"grpc://{line[3]}", process)
        finally:
            process.terminate()


def _wait_until_loaded(url, process):
    """Wait until the server has loaded its models, or refused them."""
    with requests.Session() as session:
        session.trust_env = False  # no proxy between a client and its server
        try:
            while session.get(f"{url}/health", timeout=60).json()["status"] == "loading":
                time.sleep(0.05)
        except requests.RequestException as error:
            status = process.poll()
            way = "does not answer" if status is None else f"ended with status {status} while it loaded its models"
            raise UserError(f"the server at {url} {way}") from error
