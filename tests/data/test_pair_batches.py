"""Batches of sentence pairs: their structure, which pairs they hold, and that every epoch can be repeated."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.data import pair_batches
from tfnmt.data.pair_batches import (
    BatchingConfiguration,
    count_dropped,
    evaluation_batches,
    training_batches,
)
from tfnmt.data.pair_lengths import buckets
from tfnmt.errors import UserError
from tfnmt.text.framing import LONGEST_TOKEN
from tfnmt.text.tokenizers import END, START, WordTokenizer

NUMBERS = [str(number) for number in range(1000)]
# Word i has id i + 4. Pair i: source of 1 + i % 13 words, target of 1 + i % 11, both beginning with word i.
TOKENIZER = WordTokenizer(NUMBERS)
PAIRS = [(" ".join([NUMBERS[i]] * (1 + i % 13)), " ".join(NUMBERS[i : i + 1 + i % 11])) for i in range(300)]


def dataset(pairs) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(tuple(list(side) for side in zip(*pairs, strict=True)))


def batches_of(pairs, epoch=0, skip=0, seed=7, **options) -> tf.data.Dataset:
    configuration = BatchingConfiguration(**{"maximum_ratio": 20.0, **options})
    return training_batches(dataset(pairs), TOKENIZER, TOKENIZER, configuration, seed, epoch, skip)


def as_lists(batches) -> list:
    return [
        (inputs["source"].tolist(), inputs["target"].tolist(), labels.tolist())
        for inputs, labels in batches.as_numpy_iterator()
    ]


def sources(batches) -> list[str]:
    """The source sentence of every pair in batches, given as lists, in their order."""
    rows = [row for source, _, _ in batches for row in source]
    return [line.decode() for line in TOKENIZER.decode(tf.ragged.constant(rows, tf.int32)).numpy()]


@pytest.fixture(scope="module")
def whole():
    """All batches of the first epoch, as lists."""
    return as_lists(batches_of(PAIRS, batch_size=16))


def test_structure_of_a_batch():
    expected_source = [[4, END, 0, 0], [5, 6, 7, END]]
    expected_target = [[START, 5, 6], [START, 4, 0]]
    expected_labels = [[5, 6, END], [4, END, 0]]
    pairs = [("0", "1 2"), ("1 2 3", "0")]
    for batches in (
        evaluation_batches(dataset(pairs), TOKENIZER, TOKENIZER, 2),
        batches_of(pairs, batch_size=2),
    ):
        ((source, target, labels),) = as_lists(batches)
        order = [0, 1] if source == expected_source else [1, 0]
        assert source == [expected_source[i] for i in order]
        assert target == [expected_target[i] for i in order]
        assert labels == [expected_labels[i] for i in order]
        inputs_spec, labels_spec = batches.element_spec
        for spec in (inputs_spec["source"], inputs_spec["target"], labels_spec):
            assert (spec.dtype, spec.shape.as_list()) == (tf.int32, [None, None])


def test_each_side_is_encoded_by_its_own_tokenizer():
    of_target, pairs = WordTokenizer(["a", "b"]), dataset([("0", "b a")])
    configuration = BatchingConfiguration(maximum_ratio=20.0)
    for batches in (
        evaluation_batches(pairs, TOKENIZER, of_target, 2),
        training_batches(pairs, TOKENIZER, of_target, configuration, seed=7, epoch=0),
    ):
        assert as_lists(batches) == [([[4, END]], [[START, 5, 4]], [[5, 4, END]])]


@pytest.mark.parametrize("batch_by, batch_size", [("sentences", 16), ("tokens", 60)])
def test_an_epoch_has_every_pair_once_in_batches_no_larger_than_asked(batch_by, batch_size):
    batches = as_lists(batches_of(PAIRS, batch_by=batch_by, batch_size=batch_size))
    assert sorted(sources(batches)) == sorted(source for source, _ in PAIRS)
    for source, _, labels in batches:
        longest = max(np.shape(source)[1], np.shape(labels)[1])
        assert len(source) * (longest if batch_by == "tokens" else 1) <= batch_size


def test_sides_stay_together():
    for inputs, labels in batches_of(PAIRS, batch_size=16):
        assert inputs["source"][:, 0].numpy().tolist() == labels[:, 0].numpy().tolist()
        assert inputs["target"][:, 1:].numpy().tolist() == tf.where(labels == END, 0, labels)[:, :-1].numpy().tolist()


def test_batches_hold_sentences_of_similar_length(whole):
    for source, _, labels in whole:
        longer = np.maximum(np.sum(np.array(source) > 0, axis=1), np.sum(np.array(labels) > 0, axis=1))
        assert longer.max() <= max(9, 1.3 * longer.min())


def test_an_epoch_is_the_same_again_and_another_is_not(whole):
    epoch = tf.Variable(0, dtype=tf.int64)
    batches = batches_of(PAIRS, epoch=epoch, batch_size=16)
    first = as_lists(batches)
    assert as_lists(batches) == first == whole
    epoch.assign(1)
    second = as_lists(batches)
    assert second != first
    assert sorted(sources(second)) == sorted(source for source, _ in PAIRS)
    epoch.assign(0)
    tf.random.set_seed(99)
    assert as_lists(batches) == first
    assert as_lists(batches_of(PAIRS, epoch=1, batch_size=16)) == second
    assert as_lists(batches_of(PAIRS, seed=8, batch_size=16)) != first


def test_skip_leaves_out_the_batches_already_seen(whole):
    assert as_lists(batches_of(PAIRS, skip=5, batch_size=16)) == whole[5:]
    assert as_lists(batches_of(PAIRS, skip=len(whole), batch_size=16)) == []


def test_the_number_of_batches_makes_their_length_known():
    configuration = BatchingConfiguration(batch_size=16)
    number = count_dropped(dataset(PAIRS), TOKENIZER, TOKENIZER, configuration).batches
    batches = training_batches(dataset(PAIRS), TOKENIZER, TOKENIZER, configuration, seed=7, skip=2, number=number)
    assert len(batches) == len(as_lists(batches)) == number - 2


def test_a_small_shuffle_buffer_still_gives_every_pair():
    assert sorted(sources(as_lists(batches_of(PAIRS, shuffle_buffer=10)))) == sorted(source for source, _ in PAIRS)


KEPT = [("1 2 3", "1 2"), ("1", "1 2 3 4 5 6"), ("1 2 3 4 5 6", "1 2 3 4 5 6")]
TOO_LONG = [("1 2 3 4 5 6 " * 3, "1"), ("1", "1 " * 17), ("1", "1" * 1_000_000), ("", "1 " * 1_000_000)]
UNEVEN = [("1 2 3", "1 " * 13), ("1 " * 16, "1 2 3")]
EMPTY = [("", "1"), ("1 2", " "), ("", "")]


def test_filters_drop_and_count():
    pairs = [KEPT[0], *TOO_LONG, *KEPT[1:], *UNEVEN, *EMPTY]
    options = {"maximum_length": 16, "maximum_ratio": 4.0}
    dropped = count_dropped(dataset(pairs), TOKENIZER, TOKENIZER, BatchingConfiguration(**options))
    assert (dropped.kept, dropped.too_long, dropped.ratio, dropped.empty) == (3, 4, 2, 3)
    assert str(dropped) == (
        "kept 3 of 12 pairs; dropped 4 longer than 16 tokens (first: line 2), "
        "2 with length ratio over 4.0 (first: line 8), 3 empty (first: line 10)"
    )
    assert sorted(sources(as_lists(batches_of(pairs, **options)))) == sorted(source for source, _ in KEPT)


def test_pairs_right_at_the_limits_are_kept():
    pairs = [("1 " * 16, "1 " * 4)]
    dropped = count_dropped(
        dataset(pairs), TOKENIZER, TOKENIZER, BatchingConfiguration(maximum_length=16, maximum_ratio=4.0)
    )
    assert str(dropped) == "kept all 1 pairs"


def test_a_long_word_is_one_token_in_any_script():
    word = "\u0928" * 40  # 120 bytes
    dropped = count_dropped(dataset([(word, word)]), TOKENIZER, TOKENIZER, BatchingConfiguration(maximum_length=1))
    assert str(dropped) == "kept all 1 pairs"


def test_up_to_ten_tokens_any_ratio_is_kept_and_a_pair_without_a_side_is_empty_whatever_its_ratio():
    pairs = [("1", "1 " * 10), ("1 " * 10, "1"), ("1", "1 " * 11), ("", "1 " * 11)]
    dropped = count_dropped(dataset(pairs), TOKENIZER, TOKENIZER, BatchingConfiguration(maximum_ratio=4.0))
    assert (dropped.kept, dropped.ratio, dropped.empty) == (2, 1, 1)
    assert dropped.first_lines == {"ratio": 3, "empty": 4}


@pytest.mark.parametrize("options", [{"batch_size": 16}, {"batch_size": 60, "batch_by": "tokens"}])
def test_the_number_of_batches_is_known_before_training(options):
    pairs = PAIRS * 3
    configuration = BatchingConfiguration(maximum_length=12, maximum_ratio=20.0, **options)
    dropped = count_dropped(dataset(pairs), TOKENIZER, TOKENIZER, configuration)
    assert dropped.too_long > 0
    epoch = tf.Variable(0, dtype=tf.int64)
    batches = batches_of(pairs, epoch=epoch, maximum_length=12, **options)
    for number in range(2):
        epoch.assign(number)
        assert len(as_lists(batches)) == dropped.batches


def test_no_pair_passes_the_filters():
    with pytest.raises(UserError, match="no pair is left to train on: kept 0 of 3 pairs"):
        count_dropped(dataset(EMPTY), TOKENIZER, TOKENIZER, BatchingConfiguration())


def test_evaluation_keeps_every_pair_in_order():
    pairs = [*EMPTY, *PAIRS[:50]]
    batches = as_lists(evaluation_batches(dataset(pairs), TOKENIZER, TOKENIZER, batch_size=8))
    assert sources(batches) == [source.strip() for source, _ in pairs]
    assert [len(source) for source, _, _ in batches] == [8] * 6 + [5]


def test_evaluation_truncates_sources_alone():
    pairs = [("1 " * 5, "2 " * 1000)]
    ((source, target, labels),) = as_lists(evaluation_batches(dataset(pairs), TOKENIZER, TOKENIZER, 8, 3))
    assert source == [[5] * 3 + [END]]
    assert target == [[START] + [6] * 1000] and labels == [[6] * 1000 + [END]]


def test_evaluation_of_long_targets_takes_no_more_memory(monkeypatch):
    """Batches of them have fewer pairs, in the same order; one that is too long alone is truncated."""
    monkeypatch.setattr(pair_batches, "LONGEST_TARGET", 11)
    pairs = [("1", "1"), ("2", "2 " * 5), ("3", "3"), ("4", "4 " * 30), ("5", ""), ("6", "6")]
    batches = evaluation_batches(dataset(pairs), TOKENIZER, TOKENIZER, 3)
    assert len(batches) == 5
    batches = as_lists(batches)
    assert sources(batches) == list("123456")
    assert [np.shape(labels) for _, _, labels in batches] == [(2, 6), (1, 2), (1, 12), (1, 1), (1, 2)]
    assert batches[2][2] == [[8] * 11 + [END]]


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"batch_by": "words"}, {"maximum_ratio": 0.5}])
def test_wrong_configuration_names_the_key(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        BatchingConfiguration(**wrong)


def test_a_batch_by_tokens_is_as_large_as_its_longest_sentences_let_it_be():
    """7 tokens and END of each side: of 16 tokens there is room for two."""
    assert buckets(BatchingConfiguration(batch_by="tokens", batch_size=16, maximum_length=7)) == ([9], [2, 1])


def test_lines_are_counted_over_all_that_is_encoded_at_once(monkeypatch):
    monkeypatch.setattr(pair_batches, "_ENCODED_AT_ONCE", 2)
    pairs = [KEPT[0], KEPT[0], KEPT[0], EMPTY[0], KEPT[0], EMPTY[0], ("1 " * 17, "1"), KEPT[0]]
    dropped = count_dropped(dataset(pairs), TOKENIZER, TOKENIZER, BatchingConfiguration(maximum_length=16))
    assert dropped.first_lines == {"empty": 4, "too_long": 7}


def test_a_text_as_long_as_its_tokens_may_be_is_kept():
    word = "a" * LONGEST_TOKEN
    dropped = count_dropped(dataset([(word, word)]), TOKENIZER, TOKENIZER, BatchingConfiguration(maximum_length=1))
    assert str(dropped) == "kept all 1 pairs"
