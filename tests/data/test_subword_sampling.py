"""Batches of subwords that are drawn: the same sentences, in other subwords each epoch, and the same ones again."""

import pytest
import tensorflow as tf

from tests.data.test_pair_batches import as_lists, dataset
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.pair_batches import count_dropped, training_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.data.training_pairs import check_sampling
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer

PAIRS = sample_pairs(105, 1, "train")
SIZE = 2  # so that two times batches are sorted


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train([side for pair in PAIRS for side in pair], 120, "bpe")


def batches_of(tokenizer, pairs=PAIRS, seed=7, epoch=0, skip=0, **options) -> tf.data.Dataset:
    configuration = BatchingConfiguration(**{"subword_sampling": 0.2, "batch_size": SIZE, **options})
    return training_batches(dataset(pairs), tokenizer, tokenizer, configuration, seed, epoch, skip)


def texts(tokenizer, batches) -> list[tuple[bytes, bytes]]:
    """The pairs in batches, given as lists, in alphabetical order."""
    sides = ([row for batch in batches for row in batch[side]] for side in (0, 2))
    decoded = (tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy() for rows in sides)
    return sorted(zip(*decoded, strict=True))


@pytest.mark.slow
def test_every_epoch_has_all_sentences_in_new_subwords(tokenizer):
    epoch = tf.Variable(0, dtype=tf.int64)
    batches = batches_of(tokenizer, epoch=epoch)
    first = as_lists(batches)
    assert as_lists(batches) == first
    epoch.assign(1)
    second = as_lists(batches)
    expected = sorted(tuple(side.encode() for side in pair) for pair in PAIRS)
    assert texts(tokenizer, first) == texts(tokenizer, second) == expected
    first_rows, second_rows = (
        {tuple(filter(None, row)) for batch in each for row in batch[0]} for each in (first, second)
    )
    assert len(first_rows & second_rows) < len(PAIRS) / 2
    assert as_lists(batches_of(tokenizer, epoch=1)) == second
    assert as_lists(batches_of(tokenizer, seed=8)) != first


def test_another_seed_draws_other_subwords_of_the_same_sentence(tokenizer):
    """Of sentences that are all the same, it is not their order that differs."""
    same = PAIRS[:1] * 20
    first, again, other = (as_lists(batches_of(tokenizer, same, seed)) for seed in (7, 7, 8))
    assert first == again != other


def test_what_is_sorted_together_is_shuffled_and_the_next_such_part_is_drawn_anew(tokenizer):
    """A hundred times the same sentence, then a hundred times again."""
    batches = as_lists(batches_of(tokenizer, PAIRS[:1] * 200))
    first, second = batches[:50], batches[50:]
    assert sorted(first) != sorted(second)
    lengths = [max(len(source[0]), len(labels[0])) for source, _, labels in first]
    assert lengths != sorted(lengths)


def test_both_sides_are_drawn_independently(tokenizer):
    pairs = [(source, source) for source, _ in PAIRS]
    differing = [
        row != label
        for source, _, labels in as_lists(batches_of(tokenizer, pairs))
        for row, label in zip(source, labels, strict=True)
    ]
    assert sum(differing) > len(PAIRS) / 2


def test_an_epoch_goes_on_where_it_stopped(tokenizer):
    whole = as_lists(batches_of(tokenizer))
    assert as_lists(batches_of(tokenizer, skip=40)) == whole[40:]


def test_the_number_of_batches_is_known_and_they_are_full_but_for_the_last(tokenizer):
    pairs = [*PAIRS, ("", "nichts"), ("a " * 200, "b " * 200)]
    configuration = BatchingConfiguration(subword_sampling=0.2, batch_size=SIZE)
    number = count_dropped(dataset(pairs), tokenizer, tokenizer, configuration).batches
    sizes = [len(source) for source, _, _ in as_lists(batches_of(tokenizer, pairs))]
    assert len(sizes) == number
    assert sorted(sizes) == [1] + [SIZE] * 52


def test_pairs_of_a_batch_have_similar_lengths(tokenizer):
    batches = batches_of(tokenizer, batch_size=4)
    lengths = [max(len(source[0]), len(labels[0])) for source, _, labels in as_lists(batches)]
    words = [
        max(sum(id_ > 0 for id_ in side) for side in pair)
        for source, _, labels in as_lists(batches)
        for pair in zip(source, labels, strict=True)
    ]
    assert 4 * sum(lengths) < 1.1 * sum(words)


def test_what_has_no_subwords_to_draw_is_refused(tokenizer):
    sampling, words = BatchingConfiguration(subword_sampling=0.1), WordTokenizer(["a"])
    files = ParallelFiles("a.tsv")
    check_sampling(files, (tokenizer, tokenizer), sampling)
    check_sampling(files, (words, words), BatchingConfiguration())
    with pytest.raises(UserError, match="subword_sampling=0.1: allowed is none with tokenizer=words"):
        check_sampling(files, (tokenizer, words), sampling)
    with pytest.raises(UserError, match="subword_sampling=0.1: allowed is none with tokenizer=words"):
        training_batches(tf.data.Dataset.from_tensors(("a", "b")), words, tokenizer, sampling, seed=1)
    with pytest.raises(UserError, match="allowed is none with batch_by=tokens"):
        BatchingConfiguration(subword_sampling=0.1, batch_by="tokens")


def test_the_order_of_batches_is_drawn(tokenizer):
    """Of the same subwords, for almost none are drawn."""
    first, second = (
        [
            max(len(source[0]), len(labels[0]))
            for source, _, labels in as_lists(batches_of(tokenizer, PAIRS[:100], epoch=epoch, subword_sampling=1e-6))
        ]
        for epoch in (0, 1)
    )
    assert sorted(first) == sorted(second) and first != second


def test_each_side_is_drawn_by_its_own_tokenizer():
    pairs = sample_pairs(20, 1, "train")
    sides = [list(side) for side in zip(*pairs, strict=True)]
    tokenizers = [SubwordTokenizer.train(side, size, "bpe") for side, size in zip(sides, (60, 80), strict=True)]
    configuration = BatchingConfiguration(subword_sampling=0.2, batch_size=2)
    batches = as_lists(training_batches(dataset(pairs), *tokenizers, configuration, seed=7))
    for tokenizer, place, side in zip(tokenizers, (0, 2), sides, strict=True):
        rows = [row for batch in batches for row in batch[place]]
        found = tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()
        assert sorted(found) == sorted(text.encode() for text in side)
