"""The picture of a confusion matrix."""

import numpy as np

from tfnmt.inspection.confusion import draw_confusion


def test_cells_have_counts_and_are_as_dark_as_their_share_of_the_right_label():
    (axes,) = draw_confusion(np.array([[3, 1], [0, 1200]]), ["no", "yes"]).axes
    (image,) = axes.images
    np.testing.assert_allclose(image.get_array(), [[0.75, 0.25], [0, 1]])
    texts = [(text.get_text(), text.get_position(), text.get_color()) for text in axes.texts]
    assert texts == [
        ("3", (0, 0), "white"),
        ("1", (1, 0), "black"),
        ("0", (0, 1), "black"),
        ("1,200", (1, 1), "white"),
    ]


def test_a_label_that_no_example_has_is_a_white_row():
    (axes,) = draw_confusion(np.array([[2, 0], [0, 0]]), ["a", "b"]).axes
    np.testing.assert_allclose(axes.images[0].get_array(), [[1, 0], [0, 0]])
