"""Batches of any pairs and of any examples: each once, none too large, in an order that can be resumed."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.example_batches import shuffled_groups
from tfnmt.data.pair_batches import count_dropped, training_batches
from tfnmt.text.tokenizers import END, WordTokenizer

LONGEST = 12
TOKENIZER = WordTokenizer([str(number) for number in range(60)])
# Making a dataset takes TensorFlow longer than reading it.
FEWER = settings(max_examples=max(1, settings().max_examples // 8))

LENGTHS = st.integers(0, LONGEST + 1)
PAIRS = st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=60)
CONFIGURATIONS = st.builds(
    BatchingConfiguration,
    batch_size=st.integers(1, 40),
    batch_by=st.sampled_from(["sentences", "tokens"]),
    maximum_length=st.just(LONGEST),
    maximum_ratio=st.sampled_from([1.0, 1.5, 4.0]),
    shuffle_buffer=st.integers(1, 100),
)


def sentence_pairs(lengths):
    """Pair i: i as often as its lengths say."""
    sides = [[" ".join([str(i)] * pair[side]) for i, pair in enumerate(lengths)] for side in (0, 1)]
    return tf.data.Dataset.from_tensor_slices(tuple(sides))


def as_lists(batches):
    return [(x["source"].tolist(), x["target"].tolist(), y.tolist()) for x, y in batches.as_numpy_iterator()]


def is_kept(source, target, configuration):
    shorter, longer = sorted((source, target))
    in_ratio = longer <= 10 or longer <= configuration.maximum_ratio * shorter
    return shorter > 0 and longer <= configuration.maximum_length and in_ratio


@FEWER
@given(lengths=PAIRS, configuration=CONFIGURATIONS, seed=st.integers(0, 2**31 - 1), data=st.data())
def test_batches_of_pairs(lengths, configuration, seed, data):
    kept = {i: pair for i, pair in enumerate(lengths) if is_kept(*pair, configuration)}
    if not kept:
        return
    pairs = sentence_pairs(lengths)
    number = count_dropped(pairs, TOKENIZER, TOKENIZER, configuration).batches
    skip = data.draw(st.integers(0, number))

    def batches(skip=0, epoch=3):
        return as_lists(training_batches(pairs, TOKENIZER, TOKENIZER, configuration, seed, epoch, skip, number))

    whole = batches()
    assert len(whole) == number
    found = {}
    for source, target, labels in whole:
        width = max(len(source[0]), len(labels[0]))
        unit = width if configuration.batch_by == "tokens" else 1
        assert len(source) == 1 or len(source) * unit <= configuration.batch_size
        assert np.shape(target) == np.shape(labels)
        for ids, answer in zip(source, labels, strict=True):
            assert ids[0] - 4 not in found
            found[ids[0] - 4] = (ids.index(END), answer.index(END))
    assert found == kept
    assert batches(skip) == whole[skip:]


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=300),
    size=st.integers(1, 70),
    seed=st.tuples(st.integers(0, 2**32), st.integers(0, 1000)),
)
def test_groups_of_examples(lengths, size, seed):
    lengths = np.array(lengths)
    groups = shuffled_groups(lengths, size, seed)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))
    full, rest = divmod(len(lengths), size)
    assert sorted(map(len, groups)) == sorted([size] * full + [rest] * bool(rest))
    again = shuffled_groups(lengths, size, seed)
    assert [group.tolist() for group in again] == [group.tolist() for group in groups]
    # Of similar length: no example of one group lies between two of another.
    ranges = sorted((lengths[group].min(), lengths[group].max()) for group in groups)
    assert all(above[0] >= below[1] for below, above in zip(ranges[:-1], ranges[1:], strict=True))
