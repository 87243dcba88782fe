"""Take pictures of TensorBoard's tabs, on a run's logs, with a Chromium that shows no window (docs/tensorboard.md)."""

import argparse
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError

TABS = ("scalars", "images", "text", "projector", "graphs")


def add_options(parser: CommandParser) -> None:
    parser.add_argument("--model", required=True, metavar="DIR", help="a translator's directory, with its logs")
    parser.add_argument("--output", required=True, metavar="DIR", help="where board-TAB.png is written")
    parser.add_argument("--tabs", nargs="+", default=TABS, choices=TABS, metavar="TAB", help=f"of {', '.join(TABS)}")
    parser.add_argument("--chromium", default="chromium", metavar="F", help="the browser (default: chromium)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    from tfnmt.inspection.tensorboard import LOGS
    from tfnmt_programs.figures.screenshots import Browser, show_tab, take

    if shutil.which(arguments.chromium) is None:
        raise UserError(f"--chromium {arguments.chromium}: there is no such program (on Debian: apt install chromium)")
    logs = Path(arguments.model, LOGS)
    if not logs.is_dir():
        raise UserError(f"{logs}: there are no logs; train without --no-board")
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    with serving(logs) as address, Browser(arguments.chromium) as browser:
        for tab in arguments.tabs:
            path = Path(arguments.output, f"board-{tab}.png")
            show_tab(browser, address, tab)
            take(browser, path)
            print(path, file=output)


@contextlib.contextmanager
def serving(logs):
    """TensorBoard on these logs while the block runs; its address."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    # The logs are seen from a folder called "runs", so that the page does not show where they really lie.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "runs").mkdir()
        Path(folder, "runs", logs.resolve().parent.name).symlink_to(logs.resolve())
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", "runs", "--port", str(port)]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_it_answers(server, port)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            server.wait()


def wait_until_it_answers(server, port, seconds=120):
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("localhost", port), timeout=1):
            return
        time.sleep(0.2)
    raise UserError("TensorBoard does not start: try `make board`")
