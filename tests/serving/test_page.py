"""The page at /, in a real browser."""

import pytest
from selenium.webdriver.common.by import By

from tests.classification.test_servable import made as classifier
from tfnmt.classification.servable import ClassifierServable
from tfnmt_programs.figures.browser import wait_for


def open_page(browser, server):
    browser.get(server.rest + "/")
    wait_for(browser, "document.getElementById('form')?.dataset.ready")


def submit(browser, **texts):
    for place, text in texts.items():
        browser.execute_script("arguments[0].value = arguments[1]", browser.find_element(By.ID, place), text)
    browser.find_element(By.TAG_NAME, "button").click()


def texts(browser, selector):
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector)]


def test_a_translation_its_n_best_list_and_its_attention(browser, exported, model, start):
    open_page(browser, start(exported.parents[1]))
    sentence = "The dog sees a red ball."
    submit(browser, first=sentence)
    wait_for(browser, "document.querySelectorAll('#attention tbody tr').length")
    assert texts(browser, "#answer") == model.translate([sentence], 3)[:1]
    assert len(texts(browser, "#nbest tr")) == 2
    words = browser.execute_script(
        "return [...document.querySelectorAll('#attention thead th')].map(cell => cell.textContent)"
    )
    assert "".join(words).replace("\u2581", " ").strip() == sentence + "</s>"
    sums = browser.execute_script(
        "return [...document.querySelectorAll('#attention tbody tr')].map(row => [...row.querySelectorAll('td')]"
        ".reduce((sum, cell) => sum + +cell.title.match(/: (.*)$/)[1], 0))"
    )
    assert sums == pytest.approx([1.0] * len(sums), abs=0.02)

    submit(browser, first="a" * 30_000)
    assert "at most 20,000" in wait_for(browser, "document.getElementById('problem').textContent")


def test_a_label_with_probabilities_and_parses(browser, start, export_once):
    model = classifier("spinn", "snli")
    open_page(browser, start(export_once(lambda: ClassifierServable(model), "pairs").parents[1]))
    submit(browser, first="a b c d", second="e f")
    wait_for(browser, "document.querySelectorAll('svg.tree').length === 2")
    assert texts(browser, "#answer") == [model.classify([("a b c d", "e f")])[0]]
    assert len(texts(browser, "#probabilities tr")) == 3
    assert texts(browser, "svg.tree text") == ["a", "b", "c", "d", "e", "f"]
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.tree circle")) == 3 + 1
