"""Pictures of TensorBoard's pages, by a Chromium without a window, steered through a pipe.

Chromium takes commands of its DevTools protocol as JSON, each closed by a zero byte, on file descriptor 3, and answers
on 4 (`--remote-debugging-pipe`). So no package is needed, and no port.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import contextlib
import fcntl
import io
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from tfnmt.errors import UserError

SIZE = (1200, 800)
"""Of the page, in pixels."""
COLORS = 128
"""In the picture: TensorBoard's pages are flat, and this makes their files a third as large."""
SECONDS = 60
"""How long a page may take before something is wrong."""

# TensorBoard's tabs are nested in shadow roots and frames, into which querySelectorAll does not look.
FIND = """
window.find = (selector, root = document) => [
  ...root.querySelectorAll(selector),
  ...[...root.querySelectorAll('*')].map(e => e.shadowRoot || e.contentDocument).filter(inner => inner)
    .flatMap(inner => find(selector, inner))
]
"""
READY = {
    "scalars": "find('vz-line-chart2').length > 3",
    "images": "find('img').some(e => e.complete && e.naturalWidth)",
    "text": "find('table').length > 0",
    "projector": "find('canvas').length > 0 && find('vz-projector-data-panel').some(e => e.colorOptions?.length > 1)",
    "graphs": "find('g.node.meta').length > 0",
}


class Browser:
    """Chromium with one page; a context manager.

    Args:
        program: the browser's name or path.
    """

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        with contextlib.ExitStack() as opened:
            profile = opened.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            command = [self.program, "--headless=new", "--hide-scrollbars", "--remote-debugging-pipe"]
            if os.geteuid() == 0:
                command.append("--no-sandbox")  # Chromium's own does not work as root, and it would not start
            # The projector draws with WebGL, which without a graphics card has to be asked for.
            command += ["--enable-unsafe-swiftshader", f"--user-data-dir={profile}", "about:blank"]
            read_here, write_there = _pipe()
            read_there, write_here = _pipe()
            where = [(os.POSIX_SPAWN_DUP2, read_there, 3), (os.POSIX_SPAWN_DUP2, write_there, 4)]
            where.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
            process = os.posix_spawnp(self.program, command, os.environ, file_actions=where)
            opened.callback(os.waitpid, process, 0)
            opened.callback(os.kill, process, signal.SIGTERM)
            os.close(read_there)
            os.close(write_there)
            self.commands = opened.enter_context(os.fdopen(write_here, "wb", buffering=0))
            self.answers, self.received = read_here, b""
            opened.callback(os.close, read_here)
            self.number, self.session = 0, {}
            page = next(t for t in self.do("Target.getTargets")["targetInfos"] if t["type"] == "page")
            attached = self.do("Target.attachToTarget", targetId=page["targetId"], flatten=True)
            self.session = {"sessionId": attached["sessionId"]}
            width, height = SIZE
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.do("Emulation.setDeviceMetricsOverride", **metrics)
            self.opened = opened.pop_all()
        return self

    def __exit__(self, *error):
        self.opened.close()

    def do(self, method, **parameters):
        """One command of the DevTools protocol → its result."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters} | self.session
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            self.commands.write(json.dumps(command).encode() + b"\0")
        while True:
            answer = json.loads(self._answer())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def value(self, expression):
        """What an expression of JavaScript is worth in the page."""
        result = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        """Until an expression of JavaScript is true."""
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            if time.monotonic() > end:
                raise UserError(f"the page was not ready after {SECONDS} seconds: {expression}")
            time.sleep(0.2)

    def click(self, x, y, times=1):
        """With the left button, once or several times."""
        for count in range(1, times + 1):
            for event in ("mousePressed", "mouseReleased"):
                where = {"x": x, "y": y, "button": "left", "clickCount": count}
                self.do("Input.dispatchMouseEvent", type=event, **where)

    def picture(self):
        """The page as it is, an image."""
        data = self.do("Page.captureScreenshot", format="png")["data"]
        return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")

    def _answer(self):
        while b"\0" not in self.received:
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise UserError(f"{self.program} has ended: does it run here?")
            self.received += part
        answer, _, self.received = self.received.partition(b"\0")
        return answer


def _pipe():
    """(read, write), as `os.pipe` has them, but never 3 or 4, where the browser's ends are put."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high


def show_tab(browser, address, tab):
    """Open a tab of the TensorBoard at that address, and wait until it is drawn.

    Args:
        tab: a name in `READY`. Curves are shown whole; of the graph, the node of the model is opened; in the projector,
            points are coloured by the sentences' length.
    """
    browser.do("Page.navigate", url="about:blank")  # else a change of what follows # loads nothing anew
    browser.do("Page.navigate", url=f"{address}/#{tab}")
    browser.wait_for("document.readyState == 'complete'")
    browser.value(FIND)
    browser.wait_for(READY[tab])
    if tab == "scalars":
        # In a short run the first points, from which everything falls, count as outliers.
        browser.value("find('paper-checkbox').find(e => e.textContent.includes('outliers')).click()")
    if tab == "projector":
        browser.value("find('vz-projector-data-panel')[0].selectedColorOptionName = 'words'")
    if tab == "graphs":
        settled(browser)
        middle = "(e => [e.x + e.width / 2, e.y + e.height / 2])(find('g.node.meta')[0].getBoundingClientRect())"
        browser.click(*browser.value(middle), times=2)


def take(browser, path):
    """Write the page to a PNG file, once it no longer changes."""
    picture = settled(browser).quantize(COLORS, dither=Image.Dither.NONE)
    picture.save(Path(path), optimize=True)


def settled(browser, seconds=2.0, longest=15.0):
    """The page's picture, when it has stayed as it is for so long, or (the projector turns) after the longest time."""
    end = time.monotonic() + longest
    before, since = browser.picture(), time.monotonic()
    while time.monotonic() < min(end, since + seconds):
        time.sleep(0.3)
        now = browser.picture()
        if not np.array_equal(now, before):
            before, since = now, time.monotonic()
    return before
