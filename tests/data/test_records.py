"""Records: the same batches as from text, in an order that seed and epoch decide, and what is wrong with files."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from tests.data.records import write_records
from tests.data.test_pair_batches import NUMBERS, PAIRS, TOKENIZER, as_lists, dataset, sources
from tfnmt.data import record_batches as module
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.pair_batches import count_dropped, training_batches
from tfnmt.data.record_batches import count_dropped_records, read_ids, record_batches
from tfnmt.data.records import ParallelRecords
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer

TOKENIZERS = (TOKENIZER, TOKENIZER)
INDEX = {"version": 1, "pairs": 1, "shards": [], "text": {}, "tokenizers": {}, "lengths": [], "counts": {}}
CONFIGURATION = BatchingConfiguration(batch_size=16, maximum_ratio=3.0, maximum_length=12, shuffle_buffer=50)


@pytest.fixture(scope="module")
def one_shard(tmp_path_factory):
    return write_records(tmp_path_factory.mktemp("one"), PAIRS, TOKENIZERS)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """The same pairs in eight shards."""
    return write_records(tmp_path_factory.mktemp("many"), PAIRS, TOKENIZERS, shard_pairs=40)


@pytest.mark.parametrize("batch_by", ["sentences", "tokens"])
def test_one_shard_gives_the_batches_of_the_text(one_shard, batch_by):
    configuration = CONFIGURATION.replace(batch_by=batch_by, batch_size=60)
    for epoch in (0, 1):
        of_text = as_lists(training_batches(dataset(PAIRS), *TOKENIZERS, configuration, 7, epoch))
        assert as_lists(record_batches(one_shard, configuration, 7, epoch)) == of_text


def test_the_index_counts_what_reading_the_text_counts(one_shard, shards):
    counted = count_dropped(dataset(PAIRS), *TOKENIZERS, CONFIGURATION)
    assert counted.too_long and counted.ratio
    for records in (one_shard, shards):
        of_records = count_dropped_records(records, CONFIGURATION)
        assert of_records == replace(counted, unit="record")
        assert str(of_records) == str(counted).replace("first: line", "first: record")
    with pytest.raises(UserError, match=r"no pair is left to train on.*\(first: record 1\)"):
        count_dropped_records(write_records_of_empty(one_shard), CONFIGURATION)


def write_records_of_empty(records):
    """The same records, of whose pairs the index says that they are all too long."""
    index = records.index.replace(lengths=[[500, 500, 300, 0]])
    (records.directory / "copy").mkdir()
    (records.directory / "copy" / "index.json").write_text(index.model_dump_json())
    return ParallelRecords(records.directory / "copy")


def test_an_epoch_is_a_permutation_that_depends_on_seed_and_epoch(shards):
    def order(seed, epoch):
        return sources(as_lists(record_batches(shards, CONFIGURATION, seed, epoch)))

    kept = sources(as_lists(training_batches(dataset(PAIRS), *TOKENIZERS, CONFIGURATION, 7)))
    first = order(1, 0)
    assert first == order(1, 0)
    for other in (order(1, 1), order(2, 0)):
        assert other != first
        assert sorted(other) == sorted(first) == sorted(kept)


def test_batches_mix_shards(shards):
    """Word i begins pair i, and a shard has 40 pairs."""
    inputs, _ = next(iter(record_batches(shards, CONFIGURATION.replace(shuffle_buffer=1), 1)))
    assert len({(int(word) - 4) // 40 for word in inputs["source"][:, 0]}) > 2


@pytest.mark.parametrize("skip", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(9, marks=pytest.mark.slow)])
def test_skipping_leaves_the_tail_of_the_same_epoch(shards, skip):
    epoch = tf.Variable(0, dtype=tf.int64)
    batches, tail = (record_batches(shards, CONFIGURATION, 1, epoch, skipped) for skipped in (0, skip))
    for number in (0, 1):
        epoch.assign(number)
        assert as_lists(tail) == as_lists(batches)[skip:]


def test_ids_are_read_in_the_order_of_the_corpus(shards):
    ids = [(source.to_list(), target.to_list()) for source, target in read_ids(shards, 64)]
    for side, column in enumerate(zip(*PAIRS, strict=True)):
        read = [row for chunk in ids for row in chunk[side]]
        assert read == TOKENIZER.encode(tf.constant(column)).to_list()


def test_duplicates_and_counts(tmp_path):
    pairs = [("1 2", "3"), ("1 2", "4"), ("1  2", "3"), ("", "1"), ("1 2", "4")]
    records = write_records(tmp_path, pairs, TOKENIZERS, shard_pairs=2, drop_duplicates=True)
    counts = records.index.counts
    assert {reason: count["pairs"] for reason, count in counts.items()} == {"kept": 2, "empty": 1, "duplicate": 2}
    assert counts["empty"]["first"]["line"] == 4
    assert counts["duplicate"]["first"] == {
        "file": str(tmp_path / "corpus.tsv"),
        "line": 3,
        "source": "1  2",
        "target": "3",
    }
    assert [shard.pairs for shard in records.index.shards] == [2] and records.check() == 2


def test_what_is_wrong_with_records_is_one_line(tmp_path):
    records = write_records(tmp_path, PAIRS, TOKENIZERS, shard_pairs=100)
    assert records.check() == 300
    records.require_tokenizers(TOKENIZERS, "runs/a")
    with pytest.raises(UserError, match="its ids are not those of runs/b.*--tokenizers runs/b"):
        records.require_tokenizers((TOKENIZER, WordTokenizer(NUMBERS[1:])), "runs/b")

    shard = tmp_path / records.index.shards[1].name
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    assert records.check() == 300  # as long as before
    with pytest.raises(UserError, match=f"{shard.name}: a record is broken"), records.broken_shards_named():
        as_lists(record_batches(records, CONFIGURATION, 1))
    with pytest.raises(UserError, match=f"{shard.name}: a record is broken"):
        list(read_ids(records, 64))
    for other in (content[:-1], content + b"x"):
        shard.write_bytes(other)
        with pytest.raises(UserError, match=f"{shard.name}: has .* bytes instead of"):
            records.check()
    shard.unlink()
    with pytest.raises(UserError, match=f"{shard.name}: is missing"), records.broken_shards_named():
        as_lists(record_batches(records, CONFIGURATION, 1))


def test_a_tokenizer_that_has_changed_is_told_of(tmp_path):
    records = write_records(tmp_path, PAIRS[:3], TOKENIZERS)
    words = tmp_path / "target.txt"
    words.write_text(words.read_text() + "more\n")
    with pytest.raises(UserError, match=f"^{words}: has changed since the records were written; run tfnmt prepare"):
        records.check()


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "index.json: cannot be read .*did tfnmt prepare come to its end"),
        ("{", "index.json: is broken"),
        ("[]", "is of format version None, not 1"),
        (json.dumps({"version": 2}), "is of format version 2, not 1"),
        (json.dumps({"version": 1}), "index.json: key .* is missing"),
        (json.dumps(INDEX | {"lengths": [[1, 2]]}), "index.json: lengths="),
    ],
)
def test_an_index_that_is_none(tmp_path, text, message):
    if text is not None:
        (tmp_path / "index.json").write_text(text)
    with pytest.raises(UserError, match=message):
        ParallelRecords(tmp_path).check()


def test_a_record_is_an_example_of_ids_and_their_numbers(one_shard):
    first = next(iter(tf.data.TFRecordDataset(one_shard.shards()))).numpy()
    features = tf.train.Example.FromString(first).features.feature
    assert {name: list(feature.int64_list.value) for name, feature in features.items()} == {
        "source": [4],
        "target": [4],
        "lengths": [1, 1],
    }
    assert np.sum([shard.pairs for shard in one_shard.index.shards]) == one_shard.index.pairs == len(PAIRS)


def test_the_order_of_the_shards_is_drawn(shards, monkeypatch):
    monkeypatch.setattr(module, "_SHARDS_AT_ONCE", 1)
    first_shards = set()
    for epoch in range(4):
        inputs, _ = next(iter(record_batches(shards, CONFIGURATION.replace(shuffle_buffer=1), 1, epoch)))
        first_shards.add((int(inputs["source"][0, 0]) - 4) // 40)
    assert len(first_shards) > 1
