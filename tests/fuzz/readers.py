"""The readers of files that are fuzzed: each takes any bytes as a file, or as several, and a folder to put them in.

An error that the reader documents is an answer. Whatever else is raised is a fault, and so is an AssertionError here.
"""

import gzip
import io
import itertools
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt import models
from tfnmt.data.example_batches import example_arrays
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import SentenceReader
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.tasks import TASKS
from tfnmt.data.tasks.listops import expressions
from tfnmt.data.vectors import read_vectors, vectors_size
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer, load_tokenizer
from tfnmt.translation.shortlist import load_shortlist

PARTS = b"\n%%\n"
"""Between the files of an input that has several."""
TOKENIZER = WordTokenizer(["a", "dog", "runs", "é"])
TEXTS = tf.constant(["a dog runs", "", "é ▁<s>\u00a0x"])
IDS = tf.constant([[4, 5, 1, 6, 3, 0], [0, 2, 3, 99, -1, 7]])


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def choose(data: bytes, options: Sequence) -> tuple:
    """One of the options, by the first byte, and the rest of the input."""
    return (options[data[0] % len(options)] if data else options[0]), data[1:]


def parallel_files(data: bytes, folder: Path) -> ParallelFiles:
    """One .tsv, plain or compressed, what need not be a compressed one, or two files."""
    kind, data = choose(data, ["plain", "compressed", "any .gz", "two files"])
    if kind == "two files":
        source, _, target = data.partition(PARTS)
        return ParallelFiles(write(folder, "source", source), write(folder, "target", target))
    if kind == "plain":
        return ParallelFiles(write(folder, "pairs.tsv", data))
    return ParallelFiles(write(folder, "pairs.tsv.gz", data if kind == "any .gz" else gzip.compress(data, 1)))


def pairs(data: bytes, folder: Path) -> None:
    """Files of sentence pairs, read by Python."""
    files = parallel_files(data, folder)
    count = files.check()
    assert len(list(zip(*files.sides(), strict=True))) == count


def pairs_in_graph(data: bytes, folder: Path) -> None:
    """TensorFlow reads what Python does."""
    files = parallel_files(data, folder)
    files.check()
    expected = [(source.encode(), target.encode()) for source, target in zip(*files.sides(), strict=True)]
    assert list(files.pairs().as_numpy_iterator()) == expected


FORMATS = [("snli", ".jsonl"), ("snli", ".txt"), ("sick", ".tsv"), ("sst", ".txt"), ("sst2", ".txt"), ("logic", "")]
READERS = [SentenceReader(), SentenceReader(parses=False), SentenceReader(broken_trees="skip")]


def read_examples(task: str, path: Path, reader: SentenceReader) -> None:
    """What was accepted once is read again, and made into a batch."""
    examples = ExampleDataset(TASKS[task], path, reader, maximum_length=50)
    (whole,) = examples.read([range(len(examples))])
    inputs, labels = example_arrays(whole)
    tf.constant(inputs["words"], tf.string)
    assert len(labels) == len(whole) == len(examples.lengths)


def trees(data: bytes, folder: Path) -> None:
    """Files of labelled sentences in every format, with their parses and without."""
    ((task, suffix), reader), data = choose(data, list(itertools.product(FORMATS, READERS)))
    read_examples(task, write(folder, f"examples{suffix}", data), reader)


def listops(data: bytes, folder: Path) -> None:
    """Files of ListOps, as examples and as expressions to be left out of new ones."""
    reader, data = choose(data, READERS)
    path = write(folder, "listops.tsv", data)
    list(expressions(path))
    read_examples("listops", path, reader)


def check_vectors(path: Path) -> None:
    matrix, coverage = read_vectors(path, TOKENIZER, seed=1, word_counts={"a": 2, "zebra": 1})
    assert matrix.shape == (TOKENIZER.vocabulary_size, vectors_size(path)) and np.isfinite(matrix).all()
    assert 0 < coverage.found <= coverage.words


def vectors_text(data: bytes, folder: Path) -> None:
    """GloVe's files."""
    check_vectors(write(folder, "vectors.txt", data))


def vectors_array(data: bytes, folder: Path) -> None:
    """An array with its words beside it."""
    array, _, words = data.partition(PARTS)
    write(folder, "vocab.txt", words)
    check_vectors(write(folder, "vectors.npy", array))


def configuration(data: bytes, folder: Path) -> None:
    """config.json of a model, of which nothing else is there."""
    write(folder, "config.json", data)
    models.load(folder)


def tokenizer(data: bytes, folder: Path) -> None:
    """The two files of a tokenizer, which must then take any text and any ids."""
    description, _, asset = data.partition(PARTS)
    write(folder, "source.json", description)
    for extension in (WordTokenizer.extension, SubwordTokenizer.extension):
        write(folder, f"source{extension}", asset)
    loaded = load_tokenizer(folder, "source")
    ids, forms = loaded.encode(TEXTS), loaded.surface_forms(TEXTS)
    assert ids.row_lengths().numpy().tolist() == forms.row_lengths().numpy().tolist()
    assert tf.reduce_all((ids.values >= 0) & (ids.values < loaded.vocabulary_size))
    for text in loaded.decode(IDS).numpy():
        text.decode("utf-8")


def zipped(data: bytes) -> bytes:
    """The arrays of a shortlist as an archive with right checksums."""
    archive = io.BytesIO()
    names = "translations", "frequent", "target_vocabulary_size", "digests"
    with zipfile.ZipFile(archive, "w") as file:
        for name, part in zip(names, data.split(PARTS), strict=False):
            file.writestr(f"{name}.npy", part)
    return archive.getvalue()


SHORTLIST_TOKENIZERS = WordTokenizer(list("abcd")), WordTokenizer(list("abcde"))
"""With 8 and 9 ids."""


def shortlist(data: bytes, folder: Path) -> None:
    """A shortlist, or its arrays, which must then give candidates for any words of the model."""
    kind, data = choose(data, ["archive", "arrays"])
    loaded = load_shortlist(write(folder, "shortlist.npz", data if kind == "archive" else zipped(data)))
    loaded.check(*SHORTLIST_TOKENIZERS)
    candidates = loaded.candidates(tf.constant([[4, 7, 0], [5, 0, 0]]), banned=[])
    assert tf.reduce_all((candidates.words >= 0) & (candidates.words < 9))
