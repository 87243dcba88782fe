"""Screenshots of TensorBoard's tabs."""

import contextlib
import io
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium.webdriver import ActionChains, Chrome
from tensorboard.program import TensorBoard

from tfnmt.errors import UserError, errors_in
from tfnmt_programs.figures.browser import find_programs, open_browser, wait_for

COLORS = 128
"""In a screenshot: TensorBoard's pages are flat, and a palette makes the files a third as large."""

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
"""Of each tab, when it is drawn."""
TABS = tuple(READY)


def take_screenshots(
    logs: str | Path, tabs: Iterable[str], directory: str | Path, chromium: str = "chromium"
) -> Iterator[Path]:
    """Write DIRECTORY/board-TAB.png for each tab, and yield its path.

    Args:
        logs: a run's folder of event files.
        tabs: names in `TABS`.
        chromium: the browser's name or path.

    Raises:
        UserError: there are no logs, or the browser is not installed.
    """
    find_programs(chromium)
    if not Path(logs).is_dir():
        raise UserError(f"{logs}: there are no logs; train without --no-board")
    directory = Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    with _tensorboard(Path(logs).resolve()) as address, open_browser(chromium) as browser:
        for tab in tabs:
            with errors_in(f"the tab {tab}, which --tabs can leave out"):
                show_tab(browser, address, tab)
            path = directory / f"board-{tab}.png"
            save_screenshot(browser, path)
            yield path


def show_tab(browser: Chrome, address: str, tab: str) -> None:
    """Open a tab of the TensorBoard at that address, and wait until it is drawn.

    Curves are shown whole, images in their actual size; of the graph, the node of the model is opened; in the
    projector, points are coloured by the sentences' length.
    """
    browser.get("about:blank")  # a change of the address after # alone would not load the page anew
    browser.get(f"{address}#{tab}")
    browser.execute_script(FIND)
    wait_for(browser, READY[tab])
    if tab == "scalars":
        # In a short run the first points, from which everything falls, count as outliers.
        _tick(browser, "Ignore outliers")
    if tab == "images":
        _tick(browser, "Show actual image size")
    if tab == "projector":
        browser.execute_script("find('vz-projector-data-panel')[0].selectedColorOptionName = 'words'")
    if tab == "graphs":
        _settled(browser)
        node = browser.execute_script("return find('g.node.meta')[0]")
        ActionChains(browser).double_click(node).perform()


def _tick(browser, label):
    browser.execute_script("find('paper-checkbox').find(e => e.textContent.includes(arguments[0])).click()", label)


def save_screenshot(browser: Chrome, path: str | Path) -> None:
    """Write the page to a PNG file, once it no longer changes."""
    _settled(browser).quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


def _settled(browser: Any) -> Image.Image:
    """The page's picture, when it has not changed for 2 seconds, or (the projector turns) after 15."""
    end = time.monotonic() + 15.0
    before, since = _picture(browser), time.monotonic()
    while time.monotonic() < min(end, since + 2.0):
        time.sleep(0.3)
        now = _picture(browser)
        if not np.array_equal(now, before):
            before, since = now, time.monotonic()
    return before


def _picture(browser):
    return Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")


@contextlib.contextmanager
def _tensorboard(logs):
    """TensorBoard on these logs; its address. It runs in a thread, until this process ends."""
    # The logs are seen from a folder called "runs", so that the page does not show where they really lie.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("runs").mkdir()
        Path("runs", logs.parent.name).symlink_to(logs)
        tensorboard = TensorBoard()
        tensorboard.configure(logdir="runs", host="localhost", port=0)
        yield tensorboard.launch()
