"""Batches of trees: the form that the models read, every example once, the same order again."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.data.batching_configuration import ExamplesConfiguration
from tfnmt.data.example_batches import (
    evaluation_batches,
    number_of_batches,
    sentence_batch,
    shuffled_groups,
    training_batches,
)
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import Sentence, SentenceReader
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer

TOKENIZER = WordTokenizer(["a", "b", "c"])  # 4, 5, 6


def files(path, task, lines, **options):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return ExampleDataset(TASKS[task], path, **options)


@pytest.fixture
def many(tmp_path):
    """50 expressions; the first word of each is its number."""
    lines = []
    for number in range(50):
        text = str(number)
        for _ in range(number % 7):
            text = f"( {text} x )"
        lines.append(f"{number % 10}\t{text}")
    return files(tmp_path / "many", "listops", lines), WordTokenizer([*map(str, range(50)), "x"])


def as_lists(batches):
    return [
        ({name: array.tolist() for name, array in inputs.items()}, labels.tolist())
        for inputs, labels in batches.as_numpy_iterator()
    ]


def first_words(batches):
    return [word - 4 for inputs, _ in as_lists(batches) for word in np.array(inputs["words"])[:, 0].tolist()]


def test_form_of_a_batch_of_pairs(tmp_path):
    lines = ["=\t( a ( b c ) )\t( c d )", "#\tb\t( ( a b ) a )"]
    examples = files(tmp_path / "pairs", "logic", lines)
    batches = evaluation_batches(examples, TOKENIZER, 2)
    ((inputs, labels),) = as_lists(batches)
    assert inputs == {
        "words": [[4, 5, 6], [5, 0, 0], [6, 1, 0], [4, 5, 4]],
        "transitions": [[1, 1, 1, 2, 2], [1, 0, 0, 0, 0], [1, 1, 2, 0, 0], [1, 1, 2, 1, 2]],
    }
    assert labels == [0, 6]
    inputs_spec, labels_spec = batches.element_spec
    assert {spec.dtype for spec in (*inputs_spec.values(), labels_spec)} == {tf.int32}
    assert {tuple(spec.shape) for spec in inputs_spec.values()} == {(None, None)}
    flat = ExampleDataset(TASKS["logic"], tmp_path / "pairs", SentenceReader(parses=False))
    ((flat_inputs, flat_labels),) = as_lists(evaluation_batches(flat, TOKENIZER, 2))
    assert (flat_inputs, flat_labels) == ({"words": inputs["words"]}, labels)


def test_labels_of_phrases(tmp_path):
    examples = files(tmp_path / "trees", "sst2", ["(3 (2 a) (1 b))", "(0 c)"])
    ((inputs, labels),) = as_lists(evaluation_batches(examples, TOKENIZER, 2))
    assert inputs["transitions"] == [[1, 0, 0], [1, 1, 2]]
    assert labels == [[0, -1, -1], [-1, 0, 1]]


def test_sentences_alone():
    inputs = sentence_batch([Sentence(["a", "z"], [1, 1, 2]), Sentence(["b"], [1])], TOKENIZER)
    assert inputs["words"].numpy().tolist() == [[4, 1], [5, 0]]
    assert inputs["transitions"].numpy().tolist() == [[1, 1, 2], [1, 0, 0]]
    assert list(sentence_batch([Sentence(["a"])], TOKENIZER)) == ["words"]


def test_an_epoch_has_every_example_once_in_batches_of_similar_length(many):
    examples, tokenizer = many
    batches = training_batches(examples, tokenizer, 8, seed=3)
    assert sorted(first_words(batches)) == list(range(50))
    assert len(batches) == number_of_batches(examples, 8) == 7
    for inputs, labels in as_lists(batches):
        lengths = np.count_nonzero(inputs["words"], axis=1)
        assert len(lengths) <= 8 and lengths.max() - lengths.min() <= 2
        assert [(word - 4) % 10 for word in np.array(inputs["words"])[:, 0]] == labels


def test_an_epoch_is_the_same_again_and_another_is_not(many):
    examples, tokenizer = many
    epoch = tf.Variable(0, dtype=tf.int64)
    batches = training_batches(examples, tokenizer, 8, seed=3, epoch=epoch)
    first = as_lists(batches)
    assert as_lists(batches) == first
    epoch.assign(1)
    assert sorted(first_words(batches)) == list(range(50))
    assert as_lists(batches) == as_lists(training_batches(examples, tokenizer, 8, seed=3, epoch=1)) != first
    assert as_lists(training_batches(examples, tokenizer, 8, seed=4)) != first
    assert as_lists(training_batches(examples, tokenizer, 8, seed=3, skip=5)) == first[5:]
    assert as_lists(training_batches(examples, tokenizer, 8, seed=3, skip=7)) == []


def test_batches_are_shuffled_and_the_next_epoch_is_not_the_first_of_the_next_seed(many):
    examples, tokenizer = many
    first = as_lists(training_batches(examples, tokenizer, 8, seed=3))
    widths = [len(inputs["words"][0]) for inputs, _ in first]
    assert widths not in (sorted(widths), sorted(widths)[::-1])
    next_epoch, next_seed = (
        as_lists(training_batches(examples, tokenizer, 8, seed=seed, epoch=epoch)) for seed, epoch in ((3, 1), (4, 0))
    )
    assert next_epoch != next_seed


def test_an_epoch_of_short_examples_has_as_many_batches(many):
    examples, tokenizer = many
    limit = int(np.sort(examples.lengths)[14])
    short = set(np.flatnonzero(examples.lengths <= limit).tolist())
    batches = training_batches(examples, tokenizer, 8, seed=3, longest=lambda epoch: limit)
    assert len(batches) == len(as_lists(batches)) == 7
    words = first_words(batches)
    assert set(words) == short and len(words) > len(short)
    assert (
        as_lists(training_batches(examples, tokenizer, 8, seed=3, skip=4, longest=lambda epoch: limit))
        == as_lists(batches)[4:]
    )
    everything = training_batches(examples, tokenizer, 8, seed=3, longest=lambda epoch: 1000)
    assert as_lists(everything) == as_lists(training_batches(examples, tokenizer, 8, seed=3))
    none_is_so_short = training_batches(examples, tokenizer, 8, seed=3, longest=lambda epoch: 0)
    assert set(first_words(none_is_so_short)) == set(np.flatnonzero(examples.lengths == examples.lengths.min()))


def test_the_limit_grows_by_equal_factors():
    growing = ExamplesConfiguration(maximum_length=160, first_length=10, growing_epochs=4)
    assert [growing.longest(epoch) for epoch in range(7)] == [10, 20, 40, 80, 160, 160, 160]
    assert ExamplesConfiguration(maximum_length=160).longest(0) == 160
    with pytest.raises(UserError, match="first_length=161: allowed is at most maximum_length=160"):
        ExamplesConfiguration(maximum_length=160, first_length=161)


def test_evaluation_has_every_example(many):
    examples, tokenizer = many
    assert sorted(first_words(evaluation_batches(examples, tokenizer, 8))) == list(range(50))
    assert len(evaluation_batches(examples, tokenizer, 8)) == 7


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"maximum_length": 0}, {"broken_trees": "mend"}])
def test_wrong_configuration_names_the_key(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        ExamplesConfiguration(**wrong)


def test_examples_of_equal_length_meet_others_in_the_next_epoch():
    lengths = np.full(40, 5)
    first, second = ({frozenset(group) for group in shuffled_groups(lengths, 4, (3, epoch))} for epoch in (0, 1))
    assert first != second


def test_the_limit_is_that_of_the_epoch(many):
    examples, tokenizer = many
    epoch = tf.Variable(0, dtype=tf.int64)
    limits = sorted(set(examples.lengths))[1:4]
    batches = training_batches(examples, tokenizer, 8, seed=3, epoch=epoch, longest=lambda epoch: limits[epoch])
    for number, limit in enumerate(limits):
        epoch.assign(number)
        assert set(first_words(batches)) == set(np.flatnonzero(examples.lengths <= limit))


def test_short_examples_come_again_with_others():
    groups = shuffled_groups(np.array([1] * 8 + [9] * 24), 4, (3, 0), longest=1)
    assert len(groups) == 8 and len({frozenset(group) for group in groups}) > 2
