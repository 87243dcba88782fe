"""Trees and parses: where things are drawn, and that words are drawn as they are."""

import re

import matplotlib
import pytest

from tests.extents import lie_within
from tfnmt.inspection.figures import missing_characters_told, save
from tfnmt.inspection.trees import EXAMPLE, draw_shift_reduce, draw_trees, shift_reduce_steps, tree_positions
from tfnmt.text.brackets import from_brackets


def test_the_posts_eight_steps():
    actions = [action for action, _, _ in shift_reduce_steps(*from_brackets(EXAMPLE))]
    assert actions == ["begin", "SHIFT × 2", "REDUCE", "SHIFT × 5", "REDUCE × 4", "SHIFT", "REDUCE × 2", "pop"]


def test_words_go_from_the_buffer_to_the_stack_and_are_joined():
    assert shift_reduce_steps(*from_brackets("( ( a b ) c )")) == [
        ("begin", [], ["a", "b", "c"]),
        ("SHIFT × 2", ["a", "b"], ["c"]),
        ("REDUCE", ["(a b)"], ["c"]),
        ("SHIFT", ["(a b)", "c"], []),
        ("REDUCE", ["((a b) c)"], []),
        ("pop", [], []),
    ]


def test_parents_stand_over_the_middle_of_their_children():
    _, transitions = from_brackets("( ( a b ) c )")
    assert tree_positions(transitions) == [(0, 0), (1, 0), (0.5, 1), (2, 0), (1.25, 2)]


def test_each_tree_has_its_words_and_title():
    figure = draw_trees({"given": from_brackets("( a ( b c ) )"), "learned": from_brackets("( ( a b ) c )")})
    assert [axes.get_title() for axes in figure.axes] == ["given", "learned"]
    for axes in figure.axes:
        assert [text.get_text() for text in axes.texts] == ["a", "b", "c"]
        assert len(axes.get_lines()) == 4 + 2  # edges and inner nodes


def test_each_edge_joins_a_parent_and_its_child():
    (axes,) = draw_trees({"": from_brackets("( ( a b ) c )")}).axes
    drawn = {tuple(zip(*line.get_data(), strict=True)) for line in axes.get_lines() if len(line.get_xdata()) == 2}
    left, root = (0.5, 1), (1.25, 2)
    assert drawn == {(left, (0, 0)), (left, (1, 0)), (root, left), (root, (2, 0))}


def test_long_titles_stand_apart_and_fit():
    titles = ["runs/spinn-of-snli-with-a-tracker", "runs/rl-spinn-of-snli-with-a-tracker", "given"]
    figure = draw_trees(dict.fromkeys(titles, from_brackets("( a b )")))
    assert lie_within(figure, [axes.title for axes in figure.axes])
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    assert boxes[0].x1 < boxes[1].x0 and boxes[1].x1 < boxes[2].x0


@pytest.mark.parametrize("words", ["WWWWWWWW MMMMMMMM", "@@@@@@@@ mwmwmwmw", "%%%%%%%% ＷＭＷＭＷＭＷＭ"])
def test_wide_letters_stay_in_their_boxes(words):
    figure = draw_shift_reduce(*from_brackets(f"( {words} )"))
    with missing_characters_told():
        figure.draw_without_rendering()
    shown = [text for text in figure.axes[0].texts if text.get_text() in words.split()]
    assert len(shown) == 4  # in the buffer, then on the stack
    boxes = [text.get_bbox_patch().get_window_extent() for text in shown]
    assert boxes[0].x1 < boxes[1].x0 and boxes[2].x1 < boxes[3].x0


def test_dollar_signs_are_drawn_as_they_are(tmp_path):
    figure = draw_trees({r"$\frac$": from_brackets(r"( $\frac$ $ )")})
    save(figure, tmp_path / "tree.svg")  # matplotlib would refuse "$\\frac$" as a formula
    assert {r"$\frac$", "$"} <= set(re.findall(r"<!-- (.*) -->", (tmp_path / "tree.svg").read_text()))


def test_matplotlibs_settings_stay_as_they_are():
    draw_trees({"": from_brackets("( a b )")})
    assert matplotlib.rcParams["text.parse_math"] is True


def test_a_single_word_is_a_tree():
    words, transitions = from_brackets("word")
    assert draw_trees({"": (words, transitions)}).axes[0].texts[0].get_text() == "word"
    assert [action for action, *_ in shift_reduce_steps(words, transitions)] == ["begin", "SHIFT", "pop"]


@pytest.mark.parametrize("brackets", ["a", "( a b )"])
def test_the_headings_of_a_short_strip_stand_apart_and_fit(brackets):
    figure = draw_shift_reduce(*from_brackets(brackets))
    figure.draw_without_rendering()
    places = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
    (stack,) = (box for text, box in places.items() if text.startswith("stack"))
    (buffer,) = (box for text, box in places.items() if text.startswith("buffer"))
    assert stack.x1 < buffer.x0
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in places.values())


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(ending, tmp_path, monkeypatch):
    files = [tmp_path / f"{number}.{ending}" for number in range(2)]
    for number, path in enumerate(files):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(10**9 * (1 + number)))  # the time that Matplotlib would write
        save(draw_trees({"": from_brackets("( a b )")}), path)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("brackets", [EXAMPLE, "( a b )"])
def test_the_strip_has_a_row_for_each_step(brackets):
    words, transitions = from_brackets(brackets)
    texts = [text.get_text() for text in draw_shift_reduce(words, transitions).axes[0].texts]
    steps = shift_reduce_steps(words, transitions)
    assert texts.count(words[-1]) == sum(stack.count(words[-1]) + buffer.count(words[-1]) for _, stack, buffer in steps)
    assert f"{len(steps)}. pop" in texts
