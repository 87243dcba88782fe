"""serve.py as a process of its own, for scripts that need a server for a while."""

import contextlib
import subprocess
import sys
from pathlib import Path

import _start  # noqa: F401  makes tfnmt importable
from tfnmt.errors import UserError


@contextlib.contextmanager
def server_process(models, *options):
    """`with server_process("saved_models") as (rest_url, grpc_url):` a server on free ports, stopped in the end.

    Args:
        models: the folder of servables.
        options: further options of serve.py.

    Raises:
        UserError: it does not start; its own complaint stands on standard error.
    """
    command = [sys.executable, Path(__file__).with_name("serve.py"), "--models", models]
    command += ["--rest-port", "0", "--grpc-port", "0", *options]
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline().split()
            if not line:
                raise UserError("the server did not start")
            yield line[1], f"grpc://{line[3]}"
        finally:
            process.terminate()
