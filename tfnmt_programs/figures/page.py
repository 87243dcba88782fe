"""Drives the page of `tfnmt serve` in a browser, and takes its pictures."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By

from tfnmt.commands.serve import export_to
from tfnmt.commands.server_process import server_process
from tfnmt_programs.figures.browser import find_programs, open_browser, set_size, wait_for
from tfnmt_programs.figures.screenshots import save_screenshot

MODELS = ("sample-en-de", "sample-en-de-summary", "sample-spinn", "sample-rl-spinn")
SENTENCE = "If he has called him, the tired woman gives him a small newspaper."
PAIR = {"first": "a big man is sitting in a kitchen", "second": "a person is resting inside"}
WIDE, NARROW = 1200, 380


def take_page_screenshots(directory: str | Path, chromium: str = "chromium") -> Iterator[Path]:
    """Write DIRECTORY/page-NAME.png, of the page with models that come with the library, and yield each path.

    Args:
        directory: made if it is not there.
        chromium: the browser's name or path.

    Raises:
        UserError: the browser is not installed, or the server does not start.
    """
    find_programs(chromium)
    directory = Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as models:
        export_to(models, list(MODELS))
        with server_process(models) as server, open_browser(chromium) as browser:
            for name, show in SCENES.items():
                show(browser, server.rest_url)
                _fit(browser)
                path = directory / f"page-{name}.png"
                save_screenshot(browser, path)
                yield path


def open_page(browser: Chrome, url: str, model: str, **texts: str) -> None:
    """Open the page with a model, type texts into its boxes, and wait until the answers are shown."""
    browser.get(url)
    wait_for(browser, "document.body.dataset.ready")
    choose(browser, "model", model)
    write(browser, **texts)


def choose(browser: Chrome, box: str, model: str) -> None:
    """Select a model in the box "model" or "beside"."""
    script = """const [box, model] = arguments;
    if (box.value !== model) {
      box.value = model;
      box.dispatchEvent(new Event("change"));
    }"""
    browser.execute_script(script, browser.find_element(By.ID, box), model)
    wait_for(browser, f"[...document.querySelectorAll('.pane')].some(pane => pane.ariaLabel === '{model}')")
    settle(browser)


def write(browser: Chrome, **texts: str) -> None:
    """Type texts into the boxes "first" and "second" as a person does, with the keyboard."""
    for box, text in texts.items():
        browser.find_element(By.ID, box).send_keys(text)
    settle(browser)


def settle(browser: Chrome) -> None:
    """Wait until all that was asked of the models is shown."""
    wait_for(browser, "[...document.querySelectorAll('.pane')].every(pane => pane.ariaBusy === 'false')")


def show_as(browser: Chrome, width: int, height: int, theme: str) -> None:
    """A window of so many pixels on a system that is "light" or "dark"."""
    set_size(browser, width, height)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def _fit(browser):
    """Make the window as high as the page, and no higher."""
    browser.execute_script("scrollTo(0, 0)")
    width, height = browser.execute_script("return [innerWidth, document.body.getBoundingClientRect().bottom]")
    set_size(browser, width, round(height))


def _translations(browser, url):
    """Two translators, the pointer on a word of one."""
    show_as(browser, WIDE, 800, "light")
    open_page(browser, url, "sample-en-de", first=SENTENCE)
    choose(browser, "beside", "sample-en-de-summary")
    (word,) = [each for each in browser.find_elements(By.CSS_SELECTOR, ".answer .word") if each.text == "angerufen"]
    ActionChains(browser).move_to_element(word).perform()


def _trees(browser, url):
    show_as(browser, WIDE, 800, "dark")
    open_page(browser, url, "sample-spinn", **PAIR)
    browser.find_elements(By.CSS_SELECTOR, ".player:first-child .decisions button")[4].click()


def _alternatives(browser, url):
    show_as(browser, NARROW, 640, "dark")
    open_page(browser, url, "sample-en-de", first="The small dog sees a red zebra.")
    browser.find_elements(By.CSS_SELECTOR, ".answer .word")[5].click()
    wait_for(browser, "document.querySelector('.menu')")


def _narrow_tree(browser, url):
    show_as(browser, NARROW, 640, "light")
    open_page(browser, url, "sample-rl-spinn", first=PAIR["second"], second="a cat is sleeping")
    browser.find_elements(By.CSS_SELECTOR, ".player:first-child .decisions button")[6].click()


SCENES = {
    "translations": _translations,
    "trees": _trees,
    "alternatives": _alternatives,
    "narrow": _narrow_tree,
}
"""Name → what is shown: wide and narrow, light and dark."""
