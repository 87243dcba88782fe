"""The page at /, in a real browser: one browser and one server for all tests."""

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.contrasts import CONTRASTS
from tests.serving.conftest import Running
from tfnmt.models import create_servable, load
from tfnmt.serving.client import connect
from tfnmt.serving.files import register
from tfnmt.serving.options import BatchingOptions
from tfnmt_programs.figures.browser import SIZE, wait_for
from tfnmt_programs.figures.page import SCENES, choose, open_page, settle, show_as, write

pytestmark = pytest.mark.slow

SENTENCE = "The small dog sees a red zebra."  # of which the model knows all words but the last
PAIR = {"first": "a big man is sitting in a kitchen", "second": "a person is resting inside"}


@pytest.fixture(scope="module")
def server(exported, export_once, tmp_path_factory):
    """Two models from the package, and one with random weights, which is less sure of its words."""
    folder = tmp_path_factory.mktemp("models")
    paths = [
        export_once(lambda name=name: create_servable([load(name)]), name) for name in ("sample-en-de", "sample-spinn")
    ]
    for path in (*paths, exported):
        name = path.parent.name
        (folder / name).symlink_to(path.parent)
        register(folder, name)
    running = Running(folder, BatchingOptions())
    yield running
    running.stop()


@pytest.fixture
def page(browser, server):
    """`page(model, first="…")`: the page with this model, once it shows what the model says of the texts."""

    def open_(model, **texts):
        open_page(browser, server.rest, model, **texts)
        return browser

    yield open_
    show_as(browser, *SIZE, "light")


@pytest.fixture(scope="module")
def ask(server):
    """`ask(model, signature, text=…)`: what the server answers, of one row."""
    with connect(server.rest) as client:

        def ask(model, signature, **texts):
            found = client.predict(model, {name: [text] for name, text in texts.items()}, signature)
            return {name: value[0] for name, value in found.items()}

        yield ask


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)"
    return browser.execute_script(script, selector)


def weights(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(each => +each.style.getPropertyValue('--weight'))"
    return browser.execute_script(script, selector)


def focused(browser):
    return browser.switch_to.active_element


def press(browser, *keys):
    for key in keys:
        focused(browser).send_keys(key)


def test_a_translation_as_one_types_with_the_n_best_and_where_it_looked(page, ask):
    browser = page("sample-en-de", first=SENTENCE)
    best = ask("sample-en-de", "nbest", text=SENTENCE)
    assert texts(browser, ".answer") == best["translations"][:1]
    assert texts(browser, ".nbest td:last-child") == best["translations"]
    assert texts(browser, ".nbest .score") == [f"{score:.3f}".replace("-", "\u2212") for score in best["scores"]]

    assert texts(browser, ".source .word") == ["The", "small", "dog", "sees", "a", "red", "zebra", ".", "(end)"]
    assert texts(browser, ".source .unknown") == texts(browser, ".source [title]:not([title=''])") == ["zebra"]
    assert texts(browser, ".attention thead th") == texts(browser, ".source .word")
    assert texts(browser, ".attention tbody th") == texts(browser, ".answer .word")
    rows = len(texts(browser, ".answer .word"))
    cells = weights(browser, ".attention tbody td")
    of_rows = [cells[9 * i : 9 * i + 9] for i in range(rows)]
    assert [sum(row) for row in of_rows] == pytest.approx([1.0] * rows, abs=1e-4)

    assert weights(browser, ".source .word") == [0] * 9
    words = browser.find_elements(By.CSS_SELECTOR, ".answer .word")
    ActionChains(browser).move_to_element(words[2]).perform()
    assert weights(browser, ".source .word") == of_rows[2] and max(of_rows[2]) == of_rows[2][2]
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, ".source .unknown")).perform()
    assert weights(browser, ".source .word") == [0] * 9
    assert weights(browser, ".answer .word") == [row[6] for row in of_rows]

    script = "arguments[0].value = 'a'.repeat(20_001); arguments[0].dispatchEvent(new Event('input'))"
    browser.execute_script(script, browser.find_element(By.ID, "first"))
    settle(browser)
    assert "at most 20,000" in texts(browser, ".problem")[0] and texts(browser, ".answer") == [""]


def test_an_unknown_word_of_the_translation_is_shown_as_the_word_it_looked_at(page):
    browser = page("sample-en-de")
    shown = browser.execute_async_script(
        """const [done] = arguments;
        import('/page/translation.js').then(async ({ Translation }) => {
          const found = { translations: ["Der <unk>."], scores: [0], source_words: ["The", "<unk>", ".", "</s>"],
            source_written: ["The", "猫", ".", ""], target_words: ["Der", "<unk>", "."],
            attention: [[1, 0, 0, 0], [0, 0.4, 0, 0.6], [0, 0, 1, 0]] };
          const view = new Translation({ signatures: { complete: 1 }, predict: async () => found });
          await view.show(["The 猫."]);
          done([view.answer.textContent, view.answer.querySelector(".unknown").textContent, view.source.textContent]);
        })"""
    )
    assert shown == ["Der 猫.", "猫", "The 猫. (end)"]


def test_an_answer_that_comes_late_is_dropped(page, ask):
    """The first question's answer is held back until the second one's is shown."""
    browser = page("sample-en-de")
    browser.execute_script(
        """const ask = window.fetch;
        window.asked = 0;
        window.fetch = async (path, options) => {
          if (!path.endsWith(":predict")) return ask(path, options);
          const first = ++window.asked === 1, answer = await ask(path, { ...options, signal: undefined });
          if (first) await new Promise(release => window.release = release);
          return answer;
        }"""
    )
    browser.find_element(By.ID, "first").send_keys("A dog")
    wait_for(browser, "typeof window.release === 'function'")
    write(browser, first=" sees a ball.")
    expected = [ask("sample-en-de", "nbest", text="A dog sees a ball.")["translations"][0]]
    assert texts(browser, ".answer") == expected
    browser.execute_async_script("window.release(); setTimeout(arguments[0])")
    assert texts(browser, ".answer") == expected


def test_other_words_for_a_word_by_the_keyboard_alone(page, ask):
    browser = page("sample-en-de", first=SENTENCE)
    words = texts(browser, ".answer .word")
    before = " ".join(words[:2])
    found = ask("sample-en-de", "alternatives", text=SENTENCE, prefix=before)
    press(browser, Keys.TAB)
    assert focused(browser).text == words[0]
    press(browser, Keys.ARROW_RIGHT, Keys.END, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    wait_for(browser, "document.querySelector('.menu')")
    places = browser.execute_script("return [...document.querySelectorAll('.answer .word')].map(word => word.tabIndex)")
    assert places == [-1, -1, 0] + [-1] * (len(words) - 3), "Tab leads to where one was"
    other = [translation.split()[2].rstrip(".") for translation in found["translations"]]
    assert texts(browser, ".menu strong") == list(dict.fromkeys(other)) and len(set(other)) > 4
    assert texts(browser, ".menu .score")[0] == f"{100 * found['probabilities'][0]:.0f}%"

    press(browser, Keys.ESCAPE)
    assert focused(browser).text == words[2] and not texts(browser, ".menu")
    press(browser, Keys.CONTROL + Keys.HOME, Keys.SHIFT + Keys.ARROW_LEFT)
    assert focused(browser).text == words[2], "with these keys an arrow is the browser's own"
    press(browser, Keys.ENTER)
    wait_for(browser, "document.querySelector('.menu')")
    press(browser, Keys.ARROW_DOWN, Keys.ENTER)
    prefix = f"{before} {other[1]}"
    wait_for(browser, "!document.querySelector('.note').hidden")
    settle(browser)
    best = ask("sample-en-de", "complete", text=SENTENCE, prefix=prefix)
    assert texts(browser, ".answer")[0].startswith(prefix)
    assert focused(browser) == browser.find_elements(By.CSS_SELECTOR, ".answer .word")[3]
    assert texts(browser, ".nbest td:last-child") == best["translations"]
    browser.find_element(By.CSS_SELECTOR, ".note button").click()
    settle(browser)
    assert texts(browser, ".answer .word") == words
    assert focused(browser).text == words[0]


def test_who_types_on_keeps_the_focus(page):
    """The answer for the word that was chosen has not come when the text has changed."""
    browser = page("sample-en-de", first=SENTENCE)
    browser.execute_script(
        """const ask = window.fetch;
        window.fetch = (path, options) => ask(path, options).then(async answer => {
          if (options.body?.includes('"prefix":["D') && options.body.includes("complete"))
            await new Promise(go => setTimeout(go, 600));
          options.signal?.throwIfAborted();
          return answer;
        });"""
    )
    browser.find_element(By.CSS_SELECTOR, ".answer .word").click()
    wait_for(browser, "document.querySelector('.menu')")
    press(browser, Keys.ENTER)
    write(browser, first=" A dog runs.")
    assert focused(browser).get_attribute("id") == "first"


def test_words_of_several_subwords_are_words(page, ask):
    browser = page("sample", first="The dog sees a red ball.")
    best = ask("sample", "complete", text="The dog sees a red ball.", prefix="")
    assert texts(browser, ".answer") == best["translations"][:1]
    assert texts(browser, ".answer .word") == best["translations"][0].split()
    assert texts(browser, ".source .word") == ["The", "dog", "sees", "a", "red", "ball.", "(end)"]
    browser.find_elements(By.CSS_SELECTOR, ".answer .word")[1].click()
    wait_for(browser, "document.querySelector('.menu')")
    assert len(texts(browser, ".menu button")) > 1


def test_a_tree_decision_by_decision(page, ask):
    browser = page("sample-spinn", **PAIR)
    assert texts(browser, ".answer") == [ask("sample-spinn", "serving_default", **PAIR)["label"]]
    assert len(texts(browser, ".probabilities tr")) == 3 and len(texts(browser, ".player")) == 2
    assert not is_shown(browser, ".note")
    parse = ask("sample-spinn", "parse", text=PAIR["second"])
    brackets, probabilities = parse["brackets"], parse["reduce_probabilities"]
    player = browser.find_elements(By.CSS_SELECTOR, ".player")[1]

    def inside(selector):
        return [each.get_attribute("textContent") for each in player.find_elements(By.CSS_SELECTOR, selector)]

    words = PAIR["second"].split()
    steps = 2 * len(words) - 1
    assert inside(".stack li") == [brackets] and inside(".buffer li") == []
    assert inside(".tree text") == words and len(inside(".tree circle")) == len(words) - 1
    slider = player.find_element(By.CSS_SELECTOR, "input")
    slider.send_keys(Keys.HOME)
    assert inside(".stack li") == [] and inside(".buffer li") == words and inside(".tree .made") == []
    transitions = ["REDUCE" if token == ")" else "SHIFT" for token in brackets.split() if token != "("]
    stack, buffer, made = [], words, 0
    for step, (transition, reduce) in enumerate(zip(transitions, probabilities, strict=False), start=1):
        free = len(stack) > 1 and buffer
        if transition == "SHIFT":
            stack, buffer = [*stack, buffer[0]], buffer[1:]
        else:
            stack, made = [*stack[:-2], f"( {stack[-2]} {stack[-1]} )"], made + 1
        slider.send_keys(Keys.ARROW_RIGHT)
        assert inside(".stack li") == stack and inside(".buffer li") == buffer
        assert (
            len(inside(".tree circle.made")) == made and inside(".tree text.made") == words[: len(words) - len(buffer)]
        )
        text = inside(".decision")[0]
        assert text.startswith(f"Step {step} of {steps}: {transition}, ")
        probability = reduce if transition == "REDUCE" else 1 - reduce
        bar = player.find_elements(By.CSS_SELECTOR, ".decisions button")[step - 1]
        shown = browser.execute_script("return +arguments[0].style.getPropertyValue('--probability')", bar)
        assert shown == (pytest.approx(probability, abs=1e-6) if free else 1)
        assert ("probability" in text) == bool(free) and slider.get_attribute("aria-valuetext") == text
    assert stack == [brackets]
    player.find_element(By.CSS_SELECTOR, "[aria-label='One step back']").click()
    assert inside(".decision")[0].startswith(f"Step {steps - 1} of {steps}: ")
    player.find_elements(By.CSS_SELECTOR, ".decisions button")[0].click()
    assert inside(".stack li") == words[:1] and inside("[aria-current] ") == inside(".decisions button")[:1]


def test_the_words_that_a_classifier_does_not_know_are_told(page):
    browser = page("sample-spinn", first="the dog is sitting .", second="the cat sleeps")
    assert is_shown(browser, ".note")
    assert texts(browser, ".note") == ["Not in its vocabulary: the . sleeps"]
    write(browser, second=Keys.BACKSPACE * len("the cat sleeps"))
    assert not is_shown(browser, ".note")


def test_a_player_plays_to_the_end_and_shows_trees_that_were_given(page):
    browser = page("sample-spinn")
    browser.execute_async_script(
        """const [done] = arguments;
        Promise.all([import('/page/player.js'), import('/page/brackets.js')]).then(([{ makePlayer }, brackets]) => {
          window.setInterval = work => { window.tick = work; return 1 };
          window.brackets = brackets;
          document.body.append(makePlayer("A tree", brackets.readBrackets("( a ( b c ) )"), null));
          done();
        })"""
    )
    assert texts(browser, ".decisions button") == ["SHIFT"] * 3 + ["REDUCE"] * 2
    play = browser.find_element(By.CSS_SELECTOR, ".play")
    play.click()
    browser.execute_script("tick(), tick(), tick()")
    assert texts(browser, ".decision") == ["Step 3 of 5: SHIFT"] and texts(browser, ".play") == ["Pause"]
    assert texts(browser, ".stack li") == ["a", "b", "c"]
    play.click()
    assert texts(browser, ".play") == ["Play"]
    play.click()
    browser.execute_script("tick(), tick()")
    assert texts(browser, ".stack li") == ["( a ( b c ) )"] and texts(browser, ".play") == ["Play"]
    for text in ("( a b c )", "( a )", "( a b", "( a b ) )", ") a (", "a b"):
        assert browser.execute_script("return brackets.readBrackets(arguments[0])", text) is None


def test_two_models_side_by_side(page, ask):
    browser = page("sample-en-de", first="The dog sees")
    assert texts(browser, ".pane:only-child .title") == ["sample-en-de"] and not is_shown(browser, ".title")
    choose(browser, "beside", "sample")
    write(browser, first=" a red ball.")
    both = [ask(model, "nbest", text="The dog sees a red ball.") for model in ("sample-en-de", "sample")]
    assert texts(browser, ".answer") == [best["translations"][0] for best in both]
    assert texts(browser, ".title") == ["sample-en-de", "sample"] and is_shown(browser, ".title")
    left, right = (pane.rect for pane in browser.find_elements(By.CSS_SELECTOR, ".pane"))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    show_as(browser, 360, 800, "light")
    left, right = (pane.rect for pane in browser.find_elements(By.CSS_SELECTOR, ".pane"))
    assert left["x"] == right["x"] and left["y"] + left["height"] <= right["y"]

    # What is chosen in one pane leaves the other alone.
    show_as(browser, *SIZE, "light")
    browser.find_elements(By.CSS_SELECTOR, ".pane:last-child .answer .word")[0].click()
    wait_for(browser, "document.querySelector('.menu')")
    press(browser, Keys.ARROW_DOWN, Keys.ENTER)
    wait_for(browser, "!document.querySelector('.pane:last-child .note').hidden")
    settle(browser)
    assert texts(browser, ".answer")[0] == both[0]["translations"][0]
    assert texts(browser, ".answer")[1] not in both[1]["translations"][:1]

    # A translator beside a parser; then one model alone again.
    choose(browser, "beside", "sample-spinn")
    assert is_shown(browser, "#second")
    write(browser, second=PAIR["second"])
    assert len(texts(browser, ".player")) == 2 and texts(browser, ".answer")[0] == both[0]["translations"][0]
    browser.find_element(By.CSS_SELECTOR, "#beside option").click()
    wait_for(browser, "document.querySelectorAll('.pane').length === 1")
    assert not is_shown(browser, "#second") and texts(browser, ".pane .title") == ["sample-en-de"]


def test_a_model_of_another_kind_is_no_riddle(page):
    browser = page("sample-en-de")
    problem = browser.execute_async_script(
        """const [done] = arguments;
        import('/page/pane.js').then(async ({ Pane }) => {
          const definition = { serving_default: { inputs: { x: {} }, outputs: { y: {} } } };
          const answer = { metadata: { signature_def: { signature_def: definition } } };
          window.fetch = async () => ({ ok: true, json: async () => answer });
          const pane = new Pane();
          await pane.choose("double");
          await pane.show(["a"]);
          done(pane.problem.textContent);
        })"""
    )
    assert problem.startswith("This model is neither a translator nor a classifier")


def test_a_model_that_is_being_loaded_is_waited_for(page):
    browser = page("sample-en-de")
    said = browser.execute_async_script(
        """const [done] = arguments, said = [];
        import('/page/pane.js').then(async ({ Pane }) => {
          const pane = new Pane(), ask = window.fetch;
          window.setTimeout = work => { said.push(pane.problem.textContent); work(); };
          window.fetch = async () => {
            window.fetch = ask;
            return { ok: false, status: 503, json: async () => ({ error: "it is being loaded" }) };
          };
          await pane.choose("sample-en-de");
          done([...said, pane.problem.textContent, pane.model.name]);
        })"""
    )
    assert said == ["it is being loaded", "", "sample-en-de"]


def test_a_server_without_models_says_why_there_are_none(page):
    browser = page("sample-en-de")
    said = browser.execute_async_script(
        """const [done] = arguments, said = [], waiting = document.getElementById("waiting");
        const answer = (status, json) => ({ ok: status === 200, status, json: async () => json });
        const answers = [answer(200, { models: {} })];
        answers.push(answer(503, { error: "none is ready" }), answer(500, { error: "broken" }));
        window.fetch = async () => answers.shift();
        window.setTimeout = work => {
          said.push([waiting.hidden, waiting.textContent]);
          answers.length ? work() : done(said);
        };
        import("/page/main.js?again");"""
    )
    told = ["This server serves no model.", "The models are being loaded.", "broken"]
    assert said == [[False, text] for text in told]


def test_letters_that_are_longer_in_lower_case_move_no_word(page):
    script = """const [done] = arguments;
    import('/page/words.js').then(({ wordsOf }) =>
      done(wordsOf("İİ a Dog", ["a", "dog"]).map(word => [word.text, word.start])));"""
    assert page("sample-en-de").execute_async_script(script) == [["a", 3], ["Dog", 5]]


def is_shown(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector).is_displayed()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_everything_fits_and_can_be_read_and_named(page, width, theme):
    """WCAG 2.2: contrast of 4.5 (1.4.3), reflow (1.4.10), names (4.1.2)."""
    for model, given in (("sample-en-de", {"first": SENTENCE}), ("sample-spinn", PAIR)):
        browser = page(model, **given)
        show_as(browser, width, 800, theme)
        if model == "sample-en-de":
            word = browser.find_elements(By.CSS_SELECTOR, ".answer .word")[-1]
            word.click()
            wait_for(browser, "document.querySelector('.menu')")
            browser.execute_script(
                "document.querySelectorAll('.word').forEach(e => e.style.setProperty('--weight', 1))"
            )
        contrasts = browser.execute_script(CONTRASTS)
        assert len(contrasts) > 20 and [text for contrast, text in contrasts if contrast < 4.5] == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [node.get("name", {}).get("value") for node in nodes if is_focusable(node)]
        assert len(named) > 5 and all(named)
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (theme == "light")


def is_focusable(node):
    properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
    return properties.get("focusable") and node["role"]["value"] != "RootWebArea"


def test_what_the_pictures_show(page, server):
    browser = page("sample-en-de")
    SCENES["alternatives"](browser, server.rest)
    assert "rote" in texts(browser, ".menu strong") and browser.execute_script("return innerWidth") < 400
    SCENES["trees"](browser, server.rest)
    assert texts(browser, ".decision")[0].startswith("Step 5 of 15: REDUCE, probability ")


def test_nothing_comes_from_elsewhere_and_nothing_is_complained_of(page, server):
    browser = page("sample-en-de")
    browser.get_log("browser")  # what was complained of before
    write(browser, first=SENTENCE)
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert len(loaded) > 10 and all(each.startswith(server.rest) for each in loaded)
    assert browser.get_log("browser") == []
