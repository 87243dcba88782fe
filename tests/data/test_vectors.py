"""Word vectors: the same matrix from both formats, and errors in the files."""

import gzip

import numpy as np
import pytest

from tfnmt.data.vectors import UNKNOWN_SCALE, Coverage, read_vectors, vectors_size
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer

TOKENIZER = WordTokenizer(["dog", "runs", "é", "."])
ROWS = {"the": [0, 1, 2], ".": [3, 4, 5.5], "dog": [-1, 1e-3, 7], "é": [0, 0, 9]}
LINES = [f"{word} {' '.join(map(str, row))}" for word, row in ROWS.items()]


def write(path, *lines):
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def write_array(directory, rows, words):
    np.save(directory / "vectors.npy", rows)
    write(directory / "vocab.txt", *words)
    return directory / "vectors.npy"


def test_every_kind_of_file_gives_the_same_matrix(tmp_path):
    paths = [
        write(tmp_path / "glove.txt", *LINES),
        # Words with spaces, as in GloVe 840B, and a word that comes twice.
        write(tmp_path / "glove.txt.gz", *LINES[:2], "dog . 1 2 3", *LINES[2:], "dog 8 8 8"),
        write(tmp_path / "fasttext.vec", "4 3", *LINES),
        write_array(tmp_path, np.array(list(ROWS.values()), np.float64), ROWS),
    ]
    counts = {"dog": 3, "runs": 2, ".": 4, "other": 1}
    for path in paths:
        assert vectors_size(path) == 3
        matrix, coverage = read_vectors(path, TOKENIZER, seed=1, word_counts=counts)
        assert matrix.dtype == np.float32 and matrix.shape == (8, 3)
        np.testing.assert_array_equal(matrix[[4, 6, 7]], np.array([ROWS["dog"], ROWS["é"], ROWS["."]], np.float32))
        assert not matrix[0].any()
        others = np.abs(matrix[[1, 2, 3, 5]])
        assert (others > 0).all() and (others <= UNKNOWN_SCALE).all()
        assert coverage == Coverage(words=4, found=3, occurrences=10, found_occurrences=7)
        assert str(coverage) == "vectors for 3 of 4 words, 70.0% of the text"
        np.testing.assert_array_equal(matrix, read_vectors(path, TOKENIZER, seed=1)[0])
        assert (matrix[5] != read_vectors(path, TOKENIZER, seed=2)[0][5]).all()
    assert read_vectors(paths[0], TOKENIZER, seed=1)[1].occurrences == 4


@pytest.mark.parametrize(
    "lines, message",
    [
        (["the 1 2", "a 1"], "line 2: 1 values after the word, but the first has 2"),
        (["the"], "line 1: 0 values"),
        (["the\t1\t2"], "line 1: 0 values after the word; there are to be spaces between them"),
        (["the 1 2", "dog 1 x"], "line 2: the values after the word are not all numbers"),
        (["dog 1 nan"], "line 1: a value is not finite"),
        (["dog 1 1e39"], "line 1: a value is not finite"),
        (["cat 1 2"], "has no vector for any of the 4 words of the vocabulary"),
        ([], "has no vector for any of the 4 words"),
    ],
)
def test_broken_text(lines, message, tmp_path):
    with pytest.raises(UserError, match=rf"glove\.txt.*{message}"):
        read_vectors(write(tmp_path / "glove.txt", *lines), TOKENIZER, seed=1)


def test_the_size_of_vectors_in_a_broken_file(tmp_path):
    for lines in ([], [""], ["the"]):
        with pytest.raises(UserError, match=r"glove\.txt, line 1: must be a word and the values"):
            vectors_size(write(tmp_path / "glove.txt", *lines))


def test_broken_arrays(tmp_path):
    with pytest.raises(UserError, match=r"vectors\.npy: cannot be read: No such file"):
        read_vectors(tmp_path / "vectors.npy", TOKENIZER, seed=1)
    for rows, words, message in (
        (np.zeros([2, 3]), ["a"], r"vocab\.txt: 1 words for 2 rows of vectors\.npy"),
        (np.zeros([2]), ["a", "b"], r"vectors\.npy: holds float64 \[2\]"),
        (np.zeros([2, 3], int), ["a", "b"], r"it must be floats \[words, size\]"),
        (np.array([[1, 2], [np.inf, 3]]), ["a", "dog"], r"vectors\.npy, row 2: a value is not finite"),
    ):
        with pytest.raises(UserError, match=message):
            read_vectors(write_array(tmp_path, rows, words), TOKENIZER, seed=1)
    write(tmp_path / "vectors.npy", "text")
    with pytest.raises(UserError, match=r"vectors\.npy: not a NumPy array"):
        read_vectors(tmp_path / "vectors.npy", TOKENIZER, seed=1)
