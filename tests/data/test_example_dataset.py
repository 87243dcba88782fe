"""Datasets: the same examples from every format; skipped lines are counted; errors name file and line."""

import json
import os
import random

import pytest

from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import Example, Sentence, SentenceReader
from tfnmt.data.lines import read_lines
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import REDUCE, SHIFT

PAIRS = [
    ("neutral", "( A dog )", "( ( A dog ) runs )"),
    ("-", "( A dog )", "( A cat )"),
    ("entailment", "Dogs", "( Some\u00a0old dogs )"),
]
EXPECTED = [
    Example(
        (
            Sentence(["A", "dog"], [SHIFT, SHIFT, REDUCE]),
            Sentence(["A", "dog", "runs"], [SHIFT, SHIFT, REDUCE, SHIFT, REDUCE]),
        ),
        1,
    ),
    Example((Sentence(["Dogs"], [SHIFT]), Sentence(["Some\u00a0old", "dogs"], [SHIFT, SHIFT, REDUCE])), 0),
]
COLUMNS = ["gold_label", "sentence1_binary_parse", "sentence2_binary_parse"]


def write(path, *lines, end="\n"):
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def write_pairs(directory, suffix, pairs=PAIRS):
    """The pairs as an official .jsonl or .txt, or as label TAB sentence TAB sentence."""
    path = directory / f"pairs{suffix}"
    if suffix == ".jsonl":
        return write(path, *(json.dumps({"pairID": "1"} | dict(zip(COLUMNS, pair, strict=True))) for pair in pairs))
    if suffix == ".txt":
        rows = (f"{label}\t{first}\t1\t{second}\tmore" for label, first, second in pairs)
        return write(path, f"{COLUMNS[0]}\t{COLUMNS[1]}\tpairID\t{COLUMNS[2]}\tgenre", *rows, end="\r\n")
    return write(path, *("\t".join((*pair, "4.5")) for pair in pairs))


@pytest.mark.parametrize("suffix", [".jsonl", ".txt", ".tsv"])
def test_every_format_gives_the_same_pairs(suffix, tmp_path):
    path = write_pairs(tmp_path, suffix)
    examples = ExampleDataset(TASKS["snli"], path)
    assert list(examples) == list(examples) == EXPECTED
    assert (len(examples), examples.lengths.tolist()) == (2, [3, 2])
    line = 3 if suffix == ".txt" else 2
    assert str(examples.summary) == f"2 of 3 examples; skipped 1 labelled - (first: {path}, line {line})"
    assert examples.word_counts == {"A": 2, "dog": 2, "runs": 1, "Dogs": 1, "Some\u00a0old": 1, "dogs": 1}


def test_any_order_over_several_files(tmp_path):
    paths = [write_pairs(tmp_path, suffix) for suffix in (".jsonl", ".txt")]
    examples = ExampleDataset(TASKS["snli"], paths)
    assert list(examples.read([[3, 0], [], [2]])) == [[EXPECTED[1], EXPECTED[0]], [], [EXPECTED[0]]]


def test_words_alone_need_no_brackets(tmp_path):
    path = write_pairs(tmp_path, ".tsv", [("neutral", "( A dog )", "A  dog runs"), ("neutral", "( )", "( A")])
    path.write_text(path.read_text().replace("A  dog", "A\f dog"))  # which a tokenizer takes for white space, too
    examples = ExampleDataset(TASKS["snli"], path, SentenceReader(parses=False))
    assert list(examples) == [Example((Sentence(["A", "dog"]), Sentence(["A", "dog", "runs"])), 1)]
    assert examples.summary.skipped == {"empty": 1}


def test_a_sentence_without_words_is_skipped_with_its_tree_too(tmp_path):
    path = write_pairs(tmp_path, ".tsv", [("neutral", "( A dog )", ""), ("neutral", " ", "A"), ("neutral", "A", "b")])
    examples = ExampleDataset(TASKS["snli"], path)
    assert list(examples) == [Example((Sentence(["A"], [SHIFT]), Sentence(["b"], [SHIFT])), 1)]
    assert examples.summary.skipped == {"empty": 2}


def test_a_tree_without_words_is_broken(tmp_path):
    path = write_pairs(tmp_path, ".tsv", [("neutral", "A", "b"), ("neutral", "( )", "A")])
    with pytest.raises(UserError, match="line 2: .*broken_trees=skip"):
        ExampleDataset(TASKS["snli"], path)
    examples = ExampleDataset(TASKS["snli"], path, SentenceReader(broken_trees="skip"))
    assert (len(examples), examples.summary.skipped) == (1, {"with a broken tree": 1})


def test_named_columns_have_any_order(tmp_path):
    path = write(tmp_path / "dev.txt", "id\t" + "\t".join(reversed(COLUMNS)), "7\tb\t( A dog )\tneutral")
    (example,) = ExampleDataset(TASKS["snli"], path)
    assert [sentence.words for sentence in example.sentences] == [["A", "dog"], ["b"]] and example.label == 1


def test_sick_and_logic(tmp_path):
    path = write(tmp_path / "sick.tsv", "CONTRADICTION\t( A b )\t( C d )\t3.6\t4")
    assert next(iter(ExampleDataset(TASKS["sick"], path))).label == 2
    path = write(tmp_path / "train1", *(f"{relation}\ta\t( not b )" for relation in "=<>^|v#"))
    assert [example.label for example in ExampleDataset(TASKS["logic"], path)] == list(range(7))


SENTIMENT = ["(3 (2 It) (4 (4 works) (1 !)))", "(2 (3 a) (1 b))", "", "(0 bad)"]


def test_sentiment(tmp_path):
    path = write(tmp_path / "dev.txt", *SENTIMENT)
    five, two = ExampleDataset(TASKS["sst"], path), ExampleDataset(TASKS["sst2"], path)
    assert [example.phrase_labels for example in five] == [[2, 4, 1, 4, 3], [3, 1, 2], [0]]
    assert [example.label for example in five] == [3, 2, 0]
    assert [example.phrase_labels for example in two] == [[-1, 1, 0, 1, 1], [0]]
    assert five.summary.skipped == {"empty": 1} and two.summary.skipped == {"neutral": 1, "empty": 1}
    flat = ExampleDataset(TASKS["sst2"], path, SentenceReader(parses=False))
    assert list(flat) == [Example((Sentence(["It", "works", "!"]),), 1), Example((Sentence(["bad"]),), 0)]


def test_broken_trees_are_errors_or_skipped(tmp_path):
    path = write_pairs(tmp_path, ".jsonl", [PAIRS[0], ("neutral", "A", "( A dog runs )"), PAIRS[2]])
    with pytest.raises(
        UserError, match=r"pairs\.jsonl, line 2: the tree is not binary: .* 3 nodes, not 2; --set broken_tr"
    ):
        ExampleDataset(TASKS["snli"], path)
    examples = ExampleDataset(TASKS["snli"], path, SentenceReader(broken_trees="skip"))
    assert list(examples) == EXPECTED
    with pytest.raises(
        UserError, match="3 trees instead of one: .*; encoders without trees, such as gru, read sentences"
    ):
        SentenceReader().read("A dog runs")
    assert str(examples.summary).endswith(f"skipped 1 with a broken tree (first: {path}, line 2)")


def test_long_examples_are_skipped(tmp_path):
    examples = ExampleDataset(TASKS["snli"], write_pairs(tmp_path, ".tsv"), maximum_length=2)
    assert list(examples) == EXPECTED[1:]
    assert examples.summary.skipped == {"longer than 2 words": 1, "labelled -": 1}
    with pytest.raises(UserError, match="no examples to use: 0 of 3 examples"):
        ExampleDataset(TASKS["snli"], tmp_path / "pairs.tsv", maximum_length=1)


@pytest.mark.parametrize(
    "task, name, lines, message",
    [
        ("snli", "a.jsonl", ["{}"], "line 1: the object has no 'gold_label'"),
        ("snli", "a.jsonl", ["[]"], "line 1: not a JSON object"),
        ("snli", "a.jsonl", ["", "{"], "line 2: not JSON"),
        ("snli", "a.jsonl", ["", "[" * 100_000], "line 2: not JSON"),
        (
            "snli",
            "a.jsonl",
            ['{"gold_label": "neutral", "sentence1_binary_parse": 1, "sentence2_binary_parse": ""}'],
            "line 1: .* must be text",
        ),
        (
            "snli",
            "a.jsonl",
            [json.dumps(dict(zip(COLUMNS, ("neutral", "a", "\ud800"), strict=True)))],
            r"line 1: half a surrogate pair, '\\ud800', is not a character",
        ),
        (
            "snli",
            "a.jsonl",
            [json.dumps(dict(zip(COLUMNS, ("neutral", "a", "\ud800"), strict=True))).replace("ud800", "uD800")],
            r"line 1: half a surrogate pair, '\\ud800', is not a character",
        ),
        ("snli", "a.txt", ["gold_label\tsentence1"], "line 1: no column is named 'sentence1_binary_parse'"),
        ("snli", "a.txt", ["\t".join(COLUMNS), "neutral\tA"], "line 2: 2 columns, but the first line names 3"),
        ("snli", "a.tsv", ["NEUTRAL\tA\tB"], "line 1: the label is 'NEUTRAL'; it must be one of entailment neutral"),
        ("snli", "A.JSONL", ["{}"], "line 1: the object has no 'gold_label'"),
        ("snli", "a.json", ["{}"], r"line 1: JSON is read from files whose names end in \.jsonl"),
        ("snli", "a.txt", ["\t".join(COLUMNS)], "no examples to use: no lines, or a header alone"),
        ("logic", "train1", ["=\ta"], "line 1: 2 columns instead of 3"),
        ("sst", "dev.txt", ["(5 good)"], "line 1: the label '5' is not one of 0, 1, 2, 3, 4"),
        ("sst", "dev.txt", ["good"], "line 1: the word 'good' has no label.*; --set broken_trees=skip"),
        ("sst", "dev.txt", ["(2 (2 a) (12 b))"], "line 1: the label '12' is not one of 0, 1, 2, 3, 4"),
        ("sst", "dev.txt", ["(2 good)", "(2 a b)"], "line 2: 'b' has no label|line 2: the word 'b' has no label"),
        ("listops", "a.tsv", ["10\t1"], "line 1: a line must be a digit TAB an expression"),
        ("listops", "a.tsv", ["1\t( ( [MAX 1 ) ] )\ta note"], "line 1: a line must be a digit TAB an expression"),
        ("listops", "a.tsv", ["1"], "line 1: a line must be a digit TAB an expression"),
        ("listops", "a.tsv", [], "a.tsv: the file is empty"),
    ],
)
def test_errors_name_file_and_line(task, name, lines, message, tmp_path):
    with pytest.raises(UserError, match=message) as raised:
        ExampleDataset(TASKS[task], write(tmp_path / name, *lines))
    assert name in str(raised.value) and "\n" not in str(raised.value)


def test_carriage_returns_within_a_line_are_no_part_of_its_words_as_where_files_are_split(tmp_path):
    path = tmp_path / "pairs"
    path.write_bytes(b"=\ta\r\tb\r\r\n<\tc\td\r\n")
    examples = list(ExampleDataset(TASKS["logic"], path))
    write(tmp_path / "split", *read_lines(path))
    assert examples == list(ExampleDataset(TASKS["logic"], tmp_path / "split"))
    assert [[s.words for s in e.sentences] for e in examples] == [[["a"], ["b"]], [["c"], ["d"]]]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        ExampleDataset(TASKS["snli"], tmp_path / "none")
    for name in ("train.jsonl.gz", "train.jsonl.zst"):
        (tmp_path / name).touch()
        with pytest.raises(UserError, match=f"{name}: compressed, or no file on a disk"):
            ExampleDataset(TASKS["snli"], tmp_path / name)
    (tmp_path / "old").write_bytes(b"3\t1\r4\t2\r")
    with pytest.raises(UserError, match="old, line 1: the file has carriage returns and no line feed"):
        ExampleDataset(TASKS["listops"], tmp_path / "old", SentenceReader(parses=False))
    reader, writer = os.pipe()
    with open(reader), open(writer, "w"), pytest.raises(UserError, match="no file on a disk"):
        ExampleDataset(TASKS["snli"], f"/dev/fd/{reader}")
    path = tmp_path / "latin"
    path.write_bytes(b"=\ta\tb\n=\t\xe4\tb\n")
    with pytest.raises(
        UserError, match=r"latin, line 2: not UTF-8 \(byte 0xe4 at byte 3 of the line\): convert the file to UTF-8"
    ):
        ExampleDataset(TASKS["logic"], path)
    examples = ExampleDataset(TASKS["logic"], write(path, "=\ta\tb", "=\tb\tc"))
    write(path, "=", "=")
    with pytest.raises(UserError, match="latin: the file has changed while it was in use"):
        list(examples)


@pytest.mark.parametrize("seed", range(5))
def test_any_order_gives_what_each_line_holds(seed, tmp_path):
    rng = random.Random(seed)
    lines = [
        f"{rng.randrange(10)}\t{' '.join(rng.choices(['a', 'é', '½', '日本'], k=rng.randint(0, 4)))}" for _ in range(40)
    ]
    expected = [
        Example((Sentence(text.split(" ")),), int(label))
        for label, text in (line.split("\t") for line in lines)
        if text
    ]
    paths = [write(tmp_path / "first", *lines[:25]), write(tmp_path / "second", *lines[25:], end="\r\n")]
    dataset = ExampleDataset(TASKS["listops"], paths, SentenceReader(parses=False))
    assert list(dataset) == expected
    assert dataset.lengths.tolist() == [len(example.sentences[0].words) for example in expected]
    order = rng.sample(range(len(dataset)), len(dataset))
    batches = [order[start : start + 7] for start in range(0, len(order), 7)]
    assert list(dataset.read(batches)) == [[expected[index] for index in batch] for batch in batches]


@pytest.mark.parametrize("parses", [True, False])
def test_brackets_may_be_words(parses, tmp_path):
    path = write(tmp_path / "pairs.tsv", "=\t( not a )\tb")
    (example,) = ExampleDataset(TASKS["logic"], path, SentenceReader(parses, brackets_as_words=True))
    first, second = example.sentences
    assert (first.words, second.words) == (["-LRB-", "not", "a", "-RRB-"], ["b"])
    steps = [SHIFT, SHIFT, SHIFT, REDUCE, SHIFT, REDUCE, REDUCE]
    assert (first.transitions, second.transitions) == ((steps, [SHIFT]) if parses else (None, None))
    with pytest.raises(UserError, match="holds 1 nodes, not 2"):
        SentenceReader(brackets_as_words=True).read("( a )")
