"""What is done with the lines of a shard is what the commands for standard input do; bad lines are told and empty."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.corpus.conftest import saved_classifier
from tfnmt.corpus.classification import ClassificationTask, ParsingTask
from tfnmt.corpus.shards import Shard
from tfnmt.corpus.tasks import Work
from tfnmt.corpus.translation import TranslationTask
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.models import load
from tfnmt.training.model_directory import WEIGHTS
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import Shortlist

LINES = [f"{source}\n".encode() for source, _ in sample_pairs(8, 2, "test")]
LINES[3:3] = [b"\n", b"A cat.\r\n", b" \xc2\xa0\n"]


@pytest.fixture(scope="module", autouse=True)
def traced_once():
    """Searchers of one configuration are one, so that it is traced once for the task and the command."""
    made = {}

    def searcher(models, configuration, shortlist):
        if configuration not in made:
            made[configuration] = Searcher(models, configuration, shortlist)
        return made[configuration]

    with pytest.MonkeyPatch.context() as patched:
        for module in ("tfnmt.translation.loading", "tfnmt.translation.searcher"):
            patched.setattr(f"{module}.Searcher", searcher)
        yield


def done(task, lines, first=0):
    """The text and the problems of a shard, the text as a list of lines."""
    result = task.load().do(Shard("file", 0, first, lines))
    assert (result.file, result.number, result.lines) == ("file", 0, len(lines))
    return result.text.decode(), result.problems


@pytest.mark.slow
def test_translations_are_those_of_translate_numbered_by_the_lines_of_the_file(translator, printed):
    search = SearchConfiguration(n_best=2, beam_size=2, alignments=True)
    work = TranslationTask(models=(str(translator),), search=search, batch_size=4).load()
    options = ["--model", translator, "--batch-size", 4, "--n-best", 2, "--beam-size", 2, "--alignments"]
    result = work.do(Shard("file", 0, 0, LINES))
    assert (result.text.decode(), result.problems) == (printed("translate", b"".join(LINES), *options), [])
    later = work.do(Shard("file", 1, 100, LINES[:2])).text.decode()
    assert [line.split(" ||| ")[0] for line in later.splitlines()] == ["100", "100", "101", "101"]


@pytest.mark.slow
def test_samples_are_those_of_translate(translator, printed):
    search = SearchConfiguration(method="sample", seed=3, replace_unknown=True)
    task = TranslationTask(models=(str(translator),), search=search, scores=True, batch_size=4)
    options = ["--model", translator, "--batch-size", 4, "--scores", "--method", "sample", "--seed", 3, "--replace-unk"]
    assert done(task, LINES) == (printed("translate", b"".join(LINES), *options), [])


def test_lines_that_cannot_be_translated_are_empty_and_told(translator, printed):
    long = b"The dog sees a red ball. " * 500 + b"\n"
    lines = [LINES[0], b"b\xff\n", LINES[1], long, LINES[2]]
    task = TranslationTask(models=(str(translator),), search=SearchConfiguration(beam_size=1), scores=True)
    text, problems = done(task, lines, first=10)
    readable = b"".join([LINES[0], b"\n", LINES[1], long, LINES[2]])
    assert text == printed("translate", readable, "--model", translator, "--scores", "--beam-size", 1)
    assert text.splitlines()[1] == "\t0.0000"
    assert problems[0] == "line 12: not UTF-8 (byte 0xff at byte 2 of the line); its output is empty"
    assert problems[1].startswith("line 14: too long, only its first ") and len(problems) == 2


def test_all_models_and_the_shortlist_decide_what_is_written(translator, tmp_path):
    """With a list of one word, nothing else is; and whether all these files are as they were is asked."""
    short = tmp_path / "short.npz"
    source, target = load(translator).tokenizers
    Shortlist(np.zeros([source.vocabulary_size, 1]), [4], target.vocabulary_size).save(short)
    search = SearchConfiguration(method="greedy", no_unknown=True, minimum_length=1)
    task = TranslationTask(models=(str(translator), str(translator)), search=search, shortlist=str(short))
    names = "config.json", "source.json", "source.model", "target.json", "target.model", WEIGHTS
    assert task.files == (*(str(Path(translator, name)) for name in names * 2), str(short))
    work = task.load()
    assert len(work.searcher.ensemble.models) == 2
    written = work.searcher.translate([LINES[0].decode()])[0].ids
    assert set(written.ravel()) - {0} == {4}


def test_trees_are_those_of_parse(parser, printed):
    lines = [b"a film\n", b"\n", b"( very good ) .\r\n", b" ( ) \n", b"a film that is not so very good\n", b"unheard\n"]
    task = ParsingTask(model=str(parser), batch_size=2, maximum_words=8)
    assert done(task, lines) == (printed("parse", b"".join(lines), "--model", parser), [])
    text, problems = done(task, [b"a " * 9 + b"\n", b"a film\n"])
    assert text == "\n( a film )\n"
    assert problems == ["line 1: 9 words, more than --maximum-words 8; its output is empty"]


def test_labels_of_sentences_and_of_pairs_with_parses(parser, tmp_path):
    labels = done(ClassificationTask(model=str(parser), batch_size=2), [b"very good\n", b"\n", b"a film\n"])[0]
    assert [bool(label) for label in labels.splitlines()] == [True, False, True]

    text, problems = done(ClassificationTask(model=str(parser), maximum_words=2), [b"very good\n", b"a b c\n"])
    assert [bool(label) for label in text.splitlines()] == [True, False]
    assert problems == ["line 2: 3 words, more than --maximum-words 2; its output is empty"]

    pairs = saved_classifier(tmp_path, "snli", "spinn-pi-nt")
    lines = [b"( A dog )\t( a cat )\n", b"one\n", b"( A dog\ta cat\n", b"\n", b"( A dog )\t\n"]
    text, problems = done(ClassificationTask(model=str(pairs)), lines)
    assert [bool(label) for label in text.split("\n")] == [True, *[False] * 5]
    assert [problem.split(":")[0] for problem in problems] == ["line 2", "line 3", "line 5"]
    assert "the model reads 2 sentences with a TAB between them; here is 1" in problems[0]
    assert "a sentence without words" in problems[2]


def test_a_parser_that_reads_brackets_asks_for_them_in_a_corpus(tmp_path):
    model = str(saved_classifier(tmp_path, "listops", "spinn", brackets_as_words=True))
    lines = [b"( 1 2 )\n", b"1 2\n", b"\n"]
    text, problems = done(ParsingTask(model=model), lines)
    assert [bool(tree) for tree in text.split("\n")] == [True, False, False, False]
    assert [problem.split(":")[0] for problem in problems] == ["line 2"]
    text, problems = done(ClassificationTask(model=model), lines)
    assert [bool(label) for label in text.split("\n")] == [True, False, False, False]
    assert [problem.split(":")[0] for problem in problems] == ["line 2"]


class Narrow(Work):
    """Work in whose memory a line of more than 5 characters does not fit, nor do more than 3 lines."""

    def read(self, line):
        return line, None

    def write(self, texts, first):
        if len(texts) > 3 or any(len(text) > 5 for text in texts):
            raise tf.errors.ResourceExhaustedError(None, None, "no memory")
        return [f"{first + i}{text}" for i, text in enumerate(texts)]


def test_what_does_not_fit_in_the_memory_is_done_in_halves():
    lines = [b"a\n", b"bbbbbbb\n", b"c\n", b"d\n", b"e\n", b"f\n", b"g\n"]
    result = Narrow().do(Shard("file", 0, 2, lines))
    assert result.text.decode().split() == ["2a", "3", "4c", "5d", "6e", "7f", "8g"]
    assert result.problems == ["line 4: does not fit in the memory"]
