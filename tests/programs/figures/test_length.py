from tfnmt_programs.figures.length import bleu_by_length, draw_bleu_by_length

SOURCES = ["a b", "a b c", "a b c d e f", "a b c d e f g"]
RIGHT = ["one two three four five", "six seven eight nine ten", "a b c d e f", "g h i j k l"]
WRONG = RIGHT[:2] + ["x", "y"]


def test_sentences_are_counted_in_the_bucket_of_their_length():
    rows = bleu_by_length(SOURCES, RIGHT, RIGHT, boundaries=(2, 5))
    assert [(label, count) for label, count, _ in rows] == [("1–2", 1), ("3–5", 1), ("6 and more", 2)]


def test_each_bucket_has_the_bleu_of_its_own_sentences():
    bleu = [round(row[2]) for row in bleu_by_length(SOURCES, RIGHT, WRONG, boundaries=(5, 9))]
    assert bleu == [100, 0]


def test_a_bucket_without_sentences_is_left_out():
    assert [row[0] for row in bleu_by_length(SOURCES, RIGHT, RIGHT, boundaries=(3, 4, 5))] == ["1–3", "6 and more"]


def test_the_figure_has_a_line_for_each_model(tmp_path):
    rows = bleu_by_length(SOURCES, RIGHT, WRONG, boundaries=(2, 5))
    figure = draw_bleu_by_length({"one": rows, "_other": rows})
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "_other"]
    assert len(axes.get_lines()) == 2
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1–2\n(1)", "3–5\n(1)", "6 and more\n(2)"]
    figure.savefig(tmp_path / "figure.svg")
