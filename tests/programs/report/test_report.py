"""A report on models that come with the library: one page that is whole, and says what the models say."""

import csv
import html
import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu

import tfnmt
from tests.commands.calls import call
from tests.contrasts import CONTRASTS
from tests.extents import lie_within
from tfnmt.classification.evaluation import evaluation_dataset
from tfnmt.data.examples import Example, Sentence
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.pretrained import FOLDER
from tfnmt_programs.figures.browser import SIZE
from tfnmt_programs.figures.page import show_as
from tfnmt_programs.report import classifiers, report, translators
from tfnmt_programs.report.classifiers import probabilities
from tfnmt_programs.report.curves import draw_curves
from tfnmt_programs.report.page import example, marked, page, picture, table
from tfnmt_programs.report.runs import Run, different_settings, read_runs
from tfnmt_programs.report.translators import _best_and_worst


def assert_self_contained(text):
    assert re.findall(r'(?:src|href)="(?!data:|#)', text) == [] and "url(" not in text and "<script" not in text
    anchors, headings = re.findall(r'href="#([^"]+)"', text), re.findall(r'<h2 id="([^"]+)"', text)
    assert anchors == headings and len(set(headings)) == len(headings)


@pytest.mark.slow
def test_translators(tmp_path):
    pairs = sample_pairs(6, seed=0, split="test")
    for name, side in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    options = ["--source", tmp_path / "source", "--target", tmp_path / "target", "--examples", 2, "--beam-size", 1]
    output = tmp_path / "report.html"
    names = ["sample-en-de", "sample-en-de-summary"]
    assert call("report", *names, *options, "--output", output) == f"{output}\n"
    text = output.read_text(encoding="utf-8")
    assert_self_contained(text)
    assert "<tr><td>attention</td><td>additive</td><td>none</td></tr>" in text and "<td>seed</td>" not in text
    assert text.count("Attention of sample-en-de: ") == 2 and "Attention of sample-en-de-summary" not in text

    # The worst are those with the least chrF; each run's is told beside it.
    sources, references = zip(*pairs, strict=True)
    made = [tfnmt.load(name).translate(sources, beam_size=1) for name in names]
    chrf = [[sacrebleu.sentence_chrf(t, [r]).score for t, r in zip(of, references, strict=True)] for of in made]
    for name, translations in zip(names, made, strict=True):
        bleu = sacrebleu.corpus_bleu(translations, [references]).score
        assert f'<td>{name}</td><td class="number">{bleu:.4g}</td>' in text
    worst = int(np.argmin(np.mean(chrf, axis=0)))
    first = re.search(r"<h3>Worst</h3>(.*?)</table>", text, re.S)[1]
    rows = [html.unescape(re.sub("<[^>]+>", "", row)) for row in re.findall(r"<tr>(.*?)</tr>", first, re.S)]
    told = [f"{name}, {of[worst]:.0f}{of_run[worst]}" for name, of, of_run in zip(names, chrf, made, strict=True)]
    assert rows == [f"line {worst + 1}", f"source{sources[worst]}", f"reference{references[worst]}", *told]


@pytest.fixture
def run(tmp_path):
    """A classifier as a run of two epochs leaves it, with dev data of 8 examples."""
    directory = shutil.copytree(FOLDER / "sample-spinn", tmp_path / "a <run>")
    dev = TASKS["snli"].write_sample(tmp_path / "files")["dev"]
    dev.write_text("".join(dev.read_text(encoding="utf-8").splitlines(keepends=True)[:8]), encoding="utf-8")
    files = {"training": [], "dev": [{"path": str(dev), "blake2b": file_digest(dev)}]}
    (directory / "run.json").write_text(json.dumps(files), encoding="utf-8")
    with open(directory / "history.csv", "w", encoding="utf-8", newline="") as file:
        columns = ["epoch", "steps", "seconds", "learning_rate", "loss", "accuracy", "dev_loss", "dev_accuracy"]
        csv.writer(file).writerows([columns, [1, 5, 30, 0.1, 1, 0.5, 2, 0.25], [2, 10, 70, 0.1, 0.5, 0.7, 1, 0.5]])
    return directory, dev


def test_a_classifier_on_its_dev_data(run, tmp_path):
    directory, dev = run
    call("report", directory, "--output", tmp_path / "report.html", "--examples", 3)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert_self_contained(text)
    assert "<td>a &lt;run&gt;</td><td>classifier</td><td>tiny</td>" in text and "1 min 10 s" in text
    assert 'alt="Curves of a &lt;run&gt;"' in text and text.count('alt="Tree of given: ') == 3

    model = tfnmt.load(directory)
    examples = list(evaluation_dataset(model.configuration, [dev]))
    p = probabilities(model, examples, batch_size=3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    texts = [tuple(" ".join(sentence.words) for sentence in example.sentences) for example in examples]
    assert [model.configuration.labels[i] for i in p.argmax(axis=1)] == model.classify(texts)
    worst = int(np.argmin([row[example.label] for row, example in zip(p, examples, strict=True)]))
    first = re.search(r"<h3>Worst</h3>(.*?)</table>", text, re.S)[1]
    assert f"<td>{texts[worst][0]}</td>" in first and f"{p[worst].max():.0%}" in first

    dev.write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="dev.jsonl: is not what .* was scored on; name other files by --data"):
        call("report", directory, "--output", tmp_path / "report.html")


def test_parts_on_other_data_are_named_after_their_runs(tmp_path):
    files = {name: tmp_path / f"{name}.tsv" for name in "abc"}
    for name, path in files.items():
        path.write_text(f"{'a' if name == 'b' else name}\tx\n")

    def titles(*names):
        runs = [SimpleNamespace(name=n, kind="translator", dev_files=lambda _, n=n: (files[n],)) for n in names]
        return list(report._groups(runs, None, None, tmp_path))

    assert titles("a", "b") == ["translation"]
    assert titles("a", "b", "c") == ["translation of a, b", "translation of c"]


def test_names_and_settings():
    runs = read_runs(["sample-spinn", "sample-rl-spinn", "sample-spinn"])
    assert [run.name for run in runs] == ["sample-spinn", "sample-rl-spinn"]
    assert different_settings(runs) == {"encoder": ["spinn", "rl-spinn"]} and different_settings([]) == {}


def test_parts_of_a_page():
    assert marked("a b <c> d", "a x d") == "a <mark>b &lt;c&gt;</mark> d" and marked("", "a") == ""
    assert '<tr><td>&lt;</td><td class="number">0.3333</td></tr>' in table(("a", "b"), [("<", 1 / 3)])
    assert "<h2" not in page("title", {"Empty": ""}, "")


def test_curves_of_nine_runs_can_be_told_apart(tmp_path):
    runs = [Run(f"_run {i}", tmp_path, None, [{"epoch": 1, "dev_loss": 2.0}]) for i in range(9)]
    figure = draw_curves(runs)
    lines, (legend,) = figure.axes[0].lines, figure.legends
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(lines) == 9
    assert [text.get_text() for text in legend.get_texts()] == [run.name for run in runs]


@pytest.mark.parametrize("letters, measures", [(12, 3), (40, 3), (70, 1), (150, 1)])
def test_long_names_beside_curves_are_seen_whole(letters, measures, tmp_path):
    row = {"epoch": 1} | {f"dev_{i}": 1.0 for i in range(measures)}
    figure = draw_curves([Run(f"{i} " + letters * "n", tmp_path, None, [row]) for i in range(9)])
    assert lie_within(figure, [*figure.legends, *figure.axes])


def test_there_are_no_fractions_of_epochs(tmp_path):
    figure = draw_curves([Run("a", tmp_path, None, [{"epoch": 1, "dev_loss": 2.0}])])
    figure.draw_without_rendering()
    assert all(tick == int(tick) for tick in figure.axes[0].get_xticks())


def test_curves_of_runs_on_other_data_are_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "_overview", lambda runs: "")
    monkeypatch.setattr(report, "translation_sections", lambda *_: {"Scores": "scores"})
    monkeypatch.setattr(report, "classification_sections", lambda *_: {"Scores": "scores"})
    paths = {name: tmp_path / name for name in "abc"}
    for name, path in paths.items():
        path.write_text(name)

    def run(name, kind, files, history=({"epoch": 1, "dev_loss": 2.0},)):
        preset = SimpleNamespace(model=SimpleNamespace(task="snli"))
        found = (paths[files],)
        return SimpleNamespace(name=name, kind=kind, preset=preset, history=history, dev_files=lambda _: found)

    translators = [run("one", "translator", "a"), run("two", "translator", "a"), run("three", "translator", "b")]
    text = report.report([*translators, run("four", "classifier", "c"), run("five", "classifier", "a", ())])
    assert_self_contained(text)
    shown = re.findall("<h2 id[^>]*>(.*?)</h2>|alt=.(Curves of .*?). src", text)
    assert [heading or described for heading, described in shown] == [
        *("Curves, translation of one, two", "Curves of one, two", "Scores, translation of one, two"),
        *("Curves, translation of three", "Curves of three", "Scores, translation of three"),
        *("Curves, snli of four", "Curves of four", "Scores, snli of four"),
        "Scores, snli of five",
    ]
    text = report.report(translators[:2])
    assert re.findall("<h2 id[^>]*>(.*?)</h2>", text) == ["Curves", "Scores"]


def test_bleu_of_text_that_is_tokenized(tmp_path, monkeypatch):
    """As of `evaluate-translator --bleu-tokenize none`, by length, too."""
    asked = []

    def evaluate(model, files, beam_size, tokenize):
        asked.append(tokenize)
        signatures = {f"{name}_signature": "" for name in ("bleu", "chrf", "ter")}
        return dict.fromkeys(translators.MEASURES, 1.0) | signatures | {"sentences": 1}, ["a b"]

    def by_length(sources, references, translations, tokenize):
        asked.append(tokenize)
        return [("1–2", 1, 0.0)]

    model = SimpleNamespace(configuration=SimpleNamespace(attention="none"))
    monkeypatch.setattr(translators, "tfnmt", SimpleNamespace(load=lambda *_: model))
    monkeypatch.setattr(translators, "evaluate_translator", evaluate)
    monkeypatch.setattr(translators, "read_references", lambda *_: (["a b"], ["a c"]))
    monkeypatch.setattr(translators, "bleu_by_length", by_length)
    (tmp_path / "a").write_text("a b\n")
    options = ["--source", tmp_path / "a", "--target", tmp_path / "a", "--output", tmp_path / "report.html"]
    call("report", "sample-en-de", *options, "--bleu-tokenize", "none")
    assert asked == ["none", "none"]


def test_each_model_parses_the_words_that_it_reads():
    """Of a model that reads brackets as words those, too."""
    asked = {}

    def parser(name):
        def parse_sentences(read):
            asked[name] = [sentence.words for sentence in read]
            return [f"( ( {' '.join(sentence.words[:2])} ) {sentence.words[2]} )" for sentence in read]

        predictor = SimpleNamespace(parse_sentences=parse_sentences)
        return SimpleNamespace(encoder_spec=SimpleNamespace(predicts_parses=True), predictor=predictor)

    sentences = {"plain": ["a", "b", "c"], "brackets": ["-LRB-", "a", "b", "-RRB-", "c"]}
    judged = {name: [Example((Sentence(words),), 0)] for name, words in sentences.items()}
    assert "<h3>a b c</h3>" in classifiers._trees({name: parser(name) for name in judged}, judged)
    assert asked == {name: [words] for name, words in sentences.items()}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_read_in_both_themes(browser, theme, tmp_path):
    """Texts by WCAG 2.2's contrast of 4.5; in a dark window, pictures are inverted, and let the page be seen."""
    figure = draw_curves([Run("a", tmp_path, None, [{"epoch": 1, "dev_loss": 2.0}, {"epoch": 2, "dev_loss": 1.0}])])
    parts = [table(("run", "BLEU"), [("a", 12.5)], "A caption"), example({"source": marked("a b", "a c")})]
    sections = {"One": "".join(parts), "Two": picture(figure, "Curves", "Curves of a run")}
    (tmp_path / "page.html").write_text(page("A report", sections, "Written by <code>tfnmt</code>"), encoding="utf-8")
    show_as(browser, *SIZE, theme)
    browser.get((tmp_path / "page.html").as_uri())
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 10 and [text for contrast, text in contrasts if contrast < 4.5] == []
    of_body, of_image = (
        browser.execute_script(f"return getComputedStyle(document.querySelector('{each}')).{style}")
        for each, style in (("body", "backgroundColor"), ("img", "filter"))
    )
    expected = {"light": ("rgb(255, 255, 255)", "none"), "dark": ("rgb(21, 24, 28)", "invert(1) hue-rotate(180deg)")}
    assert (of_body, of_image) == expected[theme]
    corner = (
        "const c = document.createElement('canvas').getContext('2d'); c.drawImage(document.querySelector('img'), 0, 0)"
    )
    assert browser.execute_script(f"{corner}; return c.getImageData(1, 1, 1, 1).data[3]") == 0
    show_as(browser, *SIZE, "light")


def test_a_target_needs_a_source(tmp_path):
    with pytest.raises(UserError, match="--source is missing"):
        call("report", "sample-en-de", "--target", tmp_path / "t")


@pytest.mark.parametrize(
    "model, option, kind", [("sample-spinn", "--source", "translator"), ("sample-en-de", "--data", "classifier")]
)
def test_data_for_a_kind_of_model_that_is_not_there(model, option, kind, tmp_path):
    with pytest.raises(UserError, match=f"^{option} is for a {kind}, and none is named$"):
        call("report", model, option, tmp_path / "none", "--output", tmp_path / "report.html")


def test_the_best_and_those_furthest_apart():
    made = {"one": ["a b c d", "x", "i j k l"], "two": ["a b c d", "y", "z"]}
    text = _best_and_worst(["s", "t", "u"], ["a b c d", "e f g h", "i j k l"], made, 1)
    shown = re.findall(r"<h3>(.*?)</h3>.*?line (\d)", text, re.DOTALL)
    assert shown == [("Furthest apart", "3"), ("Worst", "2"), ("Best", "1")]


def test_the_best_and_the_worst_example(monkeypatch):
    given = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])  # of "a", "b" and "c", whose label is the first
    monkeypatch.setattr(classifiers, "probabilities", lambda *_: given)
    judged = {"m": [SimpleNamespace(sentences=(SimpleNamespace(words=[word]),), label=0) for word in "abc"]}
    text = classifiers._best_and_worst({"m": None}, judged, ("x", "y"), 1)
    assert re.findall(r"<h3>(.*?)</h3>.*?<td>([abc])</td>", text, re.DOTALL) == [("Worst", "c"), ("Best", "b")]


def test_a_run_named_twice_is_one_run():
    assert len(read_runs(["sample-en-de", str(FOLDER / "sample-en-de")])) == 1
