"""The command that draws figures: its options; the figures themselves have tests of their own."""

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError


def test_trees_are_drawn(tmp_path):
    path = tmp_path / "trees.svg"
    call("plot", "tree", "--output", path, "--brackets", "( a b )", "( ( a b ) c )", "--title", "given", "learned")
    drawn = path.read_text(encoding="utf-8")
    assert "given" in drawn and "learned" in drawn


def test_a_models_tree_stands_beside_the_one_given(tmp_path, monkeypatch):
    class Parser:
        def parse(self, texts):
            assert texts == ["( ( a b ) c )"]  # with its brackets, which some models read as words
            return ["( a ( b c ) )"]

    monkeypatch.setattr("tfnmt.load", lambda directory, kind: Parser(), raising=False)
    path = tmp_path / "trees.svg"
    told = call("plot", "tree", "--output", path, "--brackets", "( ( a b ) c )", "--model", "runs/reinforced")
    assert told == "runs/reinforced\t( a ( b c ) )\n"
    drawn = path.read_text(encoding="utf-8")
    assert "given" in drawn and "reinforced" in drawn


def test_each_model_has_a_line_in_the_plot_of_lengths(tmp_path, monkeypatch):
    """Those of recipes, too, which are all in a folder with the name `model`."""

    class Translator:
        def translate(self, texts, beam_size):
            return texts

    monkeypatch.setattr("tfnmt.load", lambda directory, kind: Translator(), raising=False)
    for name in ("source", "target"):
        (tmp_path / name).write_text("a b c d e\n", encoding="utf-8")
    path, files = tmp_path / "length.svg", ["--source", tmp_path / "source", "--target", tmp_path / "target"]
    told = call("plot", "length", "--output", path, *files, "--model", "runs/summary/model", "runs/attention/model")
    names = ["summary/model", "attention/model"]
    assert told == "".join(f"{name}\t1–8 words\t1 sentences\tBLEU 100.00\n" for name in names)
    drawn = path.read_text(encoding="utf-8")
    assert all(name in drawn for name in names)


def test_the_stack_is_drawn_and_told(tmp_path):
    told = call("plot", "stack", "--output", tmp_path / "a.png", "--brackets", "( a ( b c ) )")
    assert told.splitlines() == ["begin\t\ta b c", "SHIFT × 3\ta | b | c\t", "REDUCE × 2\t(a (b c))\t", "pop\t\t"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_growth_is_measured_and_drawn(tmp_path):
    path = tmp_path / "growth.svg"
    told = call("plot", "growth", "--output", path, "--encoder", "spinn-pi-nt", "--lengths", "3", "2", "--pairs", "1")
    assert [line.split("\t")[:2] for line in told.splitlines()] == [
        ["spinn-pi-nt", "2 words"],
        ["spinn-pi-nt", "3 words"],
    ]
    assert "spinn-pi-nt" in path.read_text(encoding="utf-8")


def test_a_batch_is_drawn_and_told(tmp_path):
    path = tmp_path / "batch.svg"
    told = call("plot", "batch", "--output", path, "--brackets", "( ( a b ) c )", "( d e )")
    assert told.splitlines() == [
        "depth 1\t( a b )",
        "depth 2\t( ( a b ) c ) | ( d e )",
        "step 3\t( a b ) | ( d e )",
        "step 5\t( ( a b ) c )",
    ]
    assert "by depth" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["tree", "--output", "a.png", "--title", "x", "y"], "--title: give each of the 1 trees a title of its own"),
        (["tree", "--output", "a.png", "--brackets", "( a b"], "--brackets '( a b': 1 bracket is never closed"),
        (["stack", "--output", "a.png", "--brackets", ""], "--brackets '': the tree is empty"),
        (
            ["stack", "--output", "a.png", "--brackets", "( a " * 100 + "a" + " )" * 100],
            "--brackets: a tree of 101 words; at most 100 can be read in a picture",
        ),
        (["growth", "--output", "a.png", "--encoder", "x"], "--encoder x: should be one of spinn-pi-nt, spinn-pi"),
        (
            ["batch", "--output", "a.png", "--brackets", "( a b )", "( a )"],
            "--brackets '( a )': the tree is not binary",
        ),
        (["pca", "--output", "a.png", "--model", "absent"], "absent: there is no such model directory"),
        (["attention", "--output", "a.png", "--model", "absent", "--sentence", "a"], "absent: there is no such"),
    ],
)
def test_what_is_wrong_is_said(options, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        call("plot", *options)
    assert str(caught.value).startswith(complaint)
    assert not list(tmp_path.iterdir())
