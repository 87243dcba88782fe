"""A classifier's figures on files of labelled sentences."""

import time

import numpy as np
import tensorflow as tf

from tfnmt.classification.losses import log_likelihoods
from tfnmt.data.example_batches import evaluation_batches
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import SentenceReader
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import NOTHING, REDUCE, SHIFT
from tfnmt.training.runs import say


def evaluate_classifier(model, files, batch_size=128):
    """Every figure of a classifier on files of its task.

    Args:
        model: a `Classifier`.
        files: a list of paths.
        batch_size: examples at once.

    Returns:
        A dictionary: "accuracy" (a fraction of 1) and "loss" (natural logarithm, an example) of the whole sentences or
        pairs, "examples", "examples_per_second" (reading the files' trees included, tracing not). Where the model
        parses and the files have parses, also "transition_accuracy", the fraction of its transitions that are the
        file's, and "parse_f1", of its phrases of two or more words (of binary trees, precision and recall are one).

    Raises:
        UserError: for everything wrong with the files.
    """
    examples = labelled_examples(model.configuration, files)
    if examples.summary.skipped:
        say(f"{', '.join(map(str, files))}: {examples.summary}")
    batches = evaluation_batches(examples, model.tokenizer, batch_size)
    for inputs, _ in batches.take(1):
        model.predicted(inputs)  # tracing is not part of the speed
    start = time.perf_counter()
    figures = scores_of_batches(model, batches)
    seconds = time.perf_counter() - start
    return figures | {"examples": len(examples), "examples_per_second": len(examples) / seconds}


def scores_of_batches(model, batches):
    """The figures of `evaluate_classifier` but its last two, of batches as `evaluation_batches` makes them."""
    count, totals, parses = 0, np.zeros(2), np.zeros(4)
    for inputs, labels in batches:
        predictions = model.predicted(inputs)
        scores = predictions["scores"]
        labels = model.root_labels(inputs, labels, predictions).numpy()
        count += len(labels)
        totals += np.sum(scores.argmax(axis=-1) == labels), -float(tf.reduce_sum(log_likelihoods(labels, scores)))
        if model.configuration.parses and "transitions" in inputs:
            parses += agreement(predictions["transitions"], inputs["transitions"].numpy())
    figures = {"accuracy": totals[0] / count, "loss": totals[1] / count}
    if parses[1]:
        figures |= {"transition_accuracy": parses[0] / parses[1]}
        figures |= {"parse_f1": parses[2] / parses[3] if parses[3] else 1.0}
    return figures


def labelled_examples(configuration, files):
    """The `ExampleDataset` that a model of this configuration is scored on; with parses where it can tell right from
    wrong ones, without where that is all the files have.
    """
    task = TASKS[configuration.task]
    if not configuration.parses:
        return ExampleDataset(task, files, SentenceReader(configuration.needs_parses))
    try:
        return ExampleDataset(task, files, SentenceReader(parses=True))
    except UserError as error:
        examples = ExampleDataset(task, files, SentenceReader(parses=False))
        say(f"parses are not scored: {error}")
        return examples


def agreement(predicted, given):
    """How far parses agree with others of the same sentences.

    Args:
        predicted, given: int32 [sentences, steps], padded with NOTHING.

    Returns:
        (transitions that are the same, transitions, phrases of two or more words in both, phrases).
    """
    width = max(predicted.shape[1], given.shape[1])
    predicted, given = (np.pad(rows, [(0, 0), (0, width - rows.shape[1])]) for rows in (predicted, given))
    same = np.sum((predicted == given) & (given != NOTHING))
    spans = [(phrase_spans(one), phrase_spans(other)) for one, other in zip(predicted, given, strict=True)]
    both = sum(len(one & other) for one, other in spans)
    return same, np.sum(given != NOTHING), both, sum(len(other) for _, other in spans)


def phrase_spans(transitions):
    """The phrases of two or more words of one tree: a set of (first word, one beyond the last)."""
    spans, stack, words = set(), [], 0
    for transition in transitions:
        if transition == SHIFT:
            stack.append(words)
            words += 1
        elif transition == REDUCE:
            stack.pop()
            spans.add((stack[-1], words))
    return spans
