"""IBM Model 1 in pieces: by hand, and equal to all of it in memory."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.records import write_records
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.text.framing import with_end
from tfnmt.text.tokenizers import END, WordTokenizer
from tfnmt.translation import translation_table as module
from tfnmt.translation.translation_table import Sentences, spooled_ids, translation_table


def chunk(pairs):
    return tuple(
        Sentences(np.concatenate(side).astype(np.int32), np.array([len(ids) for ids in side]))
        for side in zip(*pairs, strict=True)
    )


def table_in_memory(pairs, source_size, target_size, iterations=5):
    """Model 1 with all links in memory: the probabilities, [source_size, target_size]."""
    keys, owners, count = [], [], 0
    for source, target in pairs:
        s, t = np.asarray(source, np.int64), np.asarray(target, np.int64)
        keys.append((s[np.newaxis, :] * target_size + t[:, np.newaxis]).ravel())
        owners.append(count + np.repeat(np.arange(len(t)), len(s)))
        count += len(t)
    links, link = np.unique(np.concatenate(keys), return_inverse=True)
    owner, source_of, p = np.concatenate(owners), links // target_size, np.ones(len(links))
    for _ in range(iterations):
        share = p[link]
        share /= np.bincount(owner, share)[owner]
        counted = np.bincount(link, share, len(links))
        p = counted / np.bincount(source_of, counted)[source_of]
    dense = np.zeros(source_size * target_size)
    dense[links] = p
    return dense.reshape(source_size, target_size)


@pytest.fixture(scope="module")
def corpus():
    """Sample pairs, their tokenizers and their ids; the source's end with END."""
    pairs = sample_pairs(400, 0, "train")
    tokenizers = [WordTokenizer.train(side) for side in zip(*pairs, strict=True)]
    source, target = (t.encode(tf.constant(side)) for t, side in zip(tokenizers, zip(*pairs, strict=True), strict=True))
    ids = list(zip(with_end(source).to_list(), target.to_list(), strict=True))
    return pairs, tokenizers, ids


def test_a_words_translations_are_found_by_what_it_occurs_with():
    """10 stands beside both 4 and 5, and beside 4 alone: so 5 is 11. By hand, after one iteration from equal shares:
    counts of 4: 10 with 1/2 + 1, 11 with 1/2; of 5: 10 and 11 with 1/2 each."""
    chunks = [chunk([([4, 5], [10, 11]), ([4], [10])])]
    table, occurrences = translation_table(chunks, 6, 12, 2)
    np.testing.assert_array_equal(table, [[0, 0]] * 4 + [[10, 11], [11, 10]])
    np.testing.assert_array_equal(occurrences, [0] * 10 + [2, 1])
    once, _ = translation_table(chunks, 6, 12, 1, iterations=1)
    assert once[4, 0] == 10


@pytest.mark.parametrize("linked_at_once", [100, 1_000_000])
@pytest.mark.parametrize("kept", ["all", "that occur"])
def test_in_pieces_it_equals_all_in_memory(corpus, monkeypatch, linked_at_once, kept):
    _, tokenizers, ids = corpus
    sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
    monkeypatch.setattr(module, "_LINKED_AT_ONCE", linked_at_once)
    if kept == "that occur":  # with all words but the special ones, which no word has links with
        monkeypatch.setattr(module, "MOST_LINKS", sizes[0] * (sizes[1] - 1))
    ids = [pair for pair in ids if len(pair[0]) * len(pair[1]) <= 100]
    chunks = [chunk(ids[begin : begin + 70]) for begin in range(0, len(ids), 70)]
    table, occurrences = translation_table(chunks, *sizes, 5)
    expected = table_in_memory(ids, *sizes)
    best = -np.sort(-expected, axis=1)[:, :5]
    found = np.where(table == 0, 0.0, np.take_along_axis(expected, table, axis=1))
    np.testing.assert_allclose(found, best, rtol=1e-5)
    assert all(len(set(row[row > 0])) == np.count_nonzero(row) for row in table)
    np.testing.assert_array_equal(occurrences, np.bincount(np.concatenate([t for _, t in ids]), minlength=sizes[1]))


def test_with_few_links_the_most_probable_stay(corpus, monkeypatch):
    """END is in all pairs, and has links to all words: of these, the greatest counts alone are kept."""
    _, tokenizers, ids = corpus
    sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
    monkeypatch.setattr(module, "MOST_LINKS", 40 * sizes[0])
    monkeypatch.setattr(module, "_LINKED_AT_ONCE", 1000)
    table, _ = translation_table([chunk(ids)], *sizes, 1)
    expected = table_in_memory(ids, *sizes).argmax(axis=1)
    words = [word for word in range(4, sizes[0]) if word != END]
    assert np.mean(table[words, 0] == expected[words]) > 0.9


def test_text_and_records_give_the_same_ids_as_often_as_asked(corpus, tmp_path):
    pairs, tokenizers, ids = corpus
    (tmp_path / "text.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    records = write_records(tmp_path / "records", pairs, tokenizers, shard_pairs=150)
    for data in (ParallelFiles(tmp_path / "text.tsv"), records):
        for limit in (400, 130, 10_000):
            with spooled_ids(data, tuple(tokenizers), limit, tmp_path) as chunks:
                for _ in range(2):
                    sides = [np.concatenate([part[side].ids for part in chunks]) for side in (0, 1)]
                    for side, read in enumerate(sides):
                        np.testing.assert_array_equal(read, np.concatenate([pair[side] for pair in ids[:limit]]))
    with (
        pytest.raises(UserError, match="its ids are not those of"),
        spooled_ids(records, (tokenizers[1], tokenizers[0]), 5, tmp_path),
    ):
        pass
