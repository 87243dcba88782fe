"""A Chromium without a window, driven by Selenium."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.support.wait import WebDriverWait

from tfnmt.errors import UserError

SIZE = (1200, 800)
"""Of the page, in pixels."""
SECONDS = 60
"""How long a page may take before something is wrong."""
FLAGS = (
    "--headless",
    "--hide-scrollbars",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card, with which the projector draws
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def find_programs(chromium: str = "chromium") -> tuple[str, str]:
    """The paths of the browser and of its driver.

    Raises:
        UserError: one of them is not installed.
    """
    paths = [shutil.which(program) for program in (chromium, "chromedriver")]
    for program, path in zip((chromium, "chromedriver"), paths, strict=True):
        if path is None:
            raise UserError(f"{program}: there is no such program; on Debian: apt-get install chromium chromium-driver")
    return tuple(paths)


@contextlib.contextmanager
def open_browser(chromium: str = "chromium") -> Iterator[webdriver.Chrome]:
    """A browser with one page of `SIZE` and a new profile, which ends with the context.

    Args:
        chromium: the browser's name or path. Its driver is the `chromedriver` that is installed; none is downloaded.

    Raises:
        UserError: the browser or its driver is not installed, or does not start.
    """
    options = webdriver.ChromeOptions()
    options.binary_location, driver = find_programs(chromium)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium's sandbox does not work for root
        try:
            browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
        except WebDriverException as error:
            raise UserError(f"{chromium} does not start: {error.msg.splitlines()[0]}") from error
        with browser:
            set_size(browser, *SIZE)
            yield browser


def set_size(browser: webdriver.Chrome, width: int, height: int) -> None:
    """Show pages in a window of so many pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait_for(browser: webdriver.Chrome, expression: str) -> Any:
    """The value of a JavaScript expression, once it is true.

    Raises:
        UserError: it is not within `SECONDS`.
    """
    try:
        return WebDriverWait(browser, SECONDS, 0.1).until(lambda _: browser.execute_script(f"return {expression}"))
    except TimeoutException as error:
        raise UserError(f"the page was not ready after {SECONDS} seconds: {expression}") from error
