"""The page at /, in a real browser."""

import json
import os
import shutil
import subprocess
import time

import pytest

from tests.classification.test_servable import made as classifier
from tfnmt.classification.servable import ClassifierServable
from tfnmt.serving.export import export

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no chromium here; Debian's package has it")


class Browser:
    """A headless Chromium, spoken to by the DevTools protocol through a pair of pipes."""

    def __init__(self, profile):
        from_us, self._send = os.pipe()
        self._receive, to_us = os.pipe()
        options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe"
        command = f'exec "$0" {options} --user-data-dir="$1" 3<&{from_us} 4>&{to_us}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, profile], pass_fds=(from_us, to_us), stderr=subprocess.DEVNULL
        )
        os.close(from_us)
        os.close(to_us)
        self._number, self._unread, self._session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self):
        while b"\0" not in self._unread:
            part = os.read(self._receive, 1 << 16)
            assert part, "the browser is gone"
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + 60
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, self.evaluate("document.body.innerText")
            time.sleep(0.05)
        return value

    def type(self, place, text):
        self.evaluate(f"document.getElementById('{place}').focus(), document.getElementById('{place}').value = ''")
        self.call("Input.insertText", text=text)

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._send)
        os.close(self._receive)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def open_page(browser, server):
    browser.call("Page.navigate", url=server.rest + "/")
    browser.wait_for("document.getElementById('form')?.dataset.ready")


def rows(browser, table):
    return browser.evaluate(f"[...document.querySelectorAll('#{table} tr')].map(row => row.innerText)")


def test_a_translation_its_rivals_and_where_it_looked(browser, exported, model, start):
    open_page(browser, start(exported.parents[1]))
    sentence = "The dog sees a red ball."
    browser.type("first", sentence)
    browser.evaluate("document.querySelector('button').click()")
    browser.wait_for("document.querySelectorAll('#attention tbody tr').length")
    assert browser.evaluate("document.getElementById('answer').textContent") == model.translate([sentence], 3)[0]
    assert len(rows(browser, "nbest")) == 2
    words = browser.evaluate("[...document.querySelectorAll('#attention thead th')].map(cell => cell.textContent)")
    assert "".join(words).replace("\u2581", " ").strip() == sentence + "</s>"
    colours = browser.evaluate(
        "[...document.querySelectorAll('#attention tbody tr')].map(row => [...row.querySelectorAll('td')]"
        ".reduce((sum, cell) => sum + +cell.title.match(/: (.*)$/)[1], 0))"
    )
    assert colours == pytest.approx([1.0] * len(colours), abs=0.02)

    browser.type("first", "a" * 30_000)
    browser.evaluate("document.querySelector('button').click()")
    assert "at most 20,000" in browser.wait_for("document.getElementById('problem').textContent")


def test_a_label_and_the_trees_that_the_model_made(browser, start, tmp_path):
    model = classifier("spinn", "snli")
    export(ClassifierServable(model), tmp_path, "pairs")
    open_page(browser, start(tmp_path))
    browser.type("first", "a b c d")
    browser.type("second", "e f")
    browser.evaluate("document.querySelector('button').click()")
    browser.wait_for("document.querySelectorAll('svg.tree').length === 2")
    assert browser.evaluate("document.getElementById('answer').textContent") == model.classify([("a b c d", "e f")])[0]
    assert len(rows(browser, "probabilities")) == 3
    leaves = browser.evaluate("[...document.querySelectorAll('svg.tree text')].map(leaf => leaf.textContent)")
    assert leaves == ["a", "b", "c", "d", "e", "f"]
    assert browser.evaluate("document.querySelectorAll('svg.tree circle').length") == 3 + 1
