"""Accuracy, loss and parses of a classifier on files of labelled sentences."""

import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import tensorflow as tf

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.losses import log_likelihoods
from tfnmt.classification.outcomes import Outcomes
from tfnmt.data.example_batches import evaluation_batches, evaluation_order
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import SentenceReader
from tfnmt.data.progress import log_counts
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import PAD, REDUCE, SHIFT
from tfnmt.text.tokenizers import PADDING

logger = logging.getLogger(__name__)


def evaluate_classifier(
    model: Classifier,
    files: Sequence[str | Path],
    batch_size: int = 128,
    broken_trees: Literal["error", "skip"] = "error",
) -> tuple[dict[str, float], Outcomes]:
    """Evaluate a classifier on files of its task.

    Args:
        model: the classifier.
        files: their paths.
        batch_size: examples evaluated at once.
        broken_trees: as for `evaluation_dataset`.

    Returns:
        (figures, outcomes): a dictionary, "accuracy" (0 to 1) and "loss" (nats per example) of whole sentences or
        pairs; "examples"; "examples_per_second", including reading the files but not tracing. Where the model predicts
        parses and the files have parses, also "transition_accuracy" and "parse_f1", both 0 to 1: the unlabelled F1 of
        brackets around two or more words (for binary trees, precision and recall are equal). And what the model said of
        each example.

    Raises:
        UserError: anything wrong with the files.
    """
    dataset = evaluation_dataset(model.configuration, files, broken_trees)
    if dataset.summary.skipped:
        logger.info("%s: %s", ", ".join(map(str, files)), dataset.summary)
    batches = evaluation_batches(dataset, model.tokenizer, batch_size)
    for inputs, _ in batches.take(1):
        model.predict_on_batch(inputs)  # traces the model before the clock starts
    start = time.perf_counter()
    figures, outcomes = evaluate_batches(model, batches, dataset)
    seconds = time.perf_counter() - start
    return figures | {"examples": len(dataset), "examples_per_second": len(dataset) / seconds}, outcomes


def evaluate_batches(
    model: Classifier, batches: Iterable[tuple[dict, tf.Tensor]], examples: ExampleDataset
) -> tuple[dict[str, float], Outcomes]:
    """As `evaluate_classifier`, without the last two figures, for the batches of `evaluation_batches` of these
    examples."""
    parts, log_p, parses = [], 0.0, np.zeros(4)
    no_words = [PADDING, *(model.brackets if model.configuration.brackets_as_words else ())]
    for inputs, labels in log_counts(batches, "evaluating", "examples", lambda batch: len(batch[1]), len(examples)):
        predictions = model.predict_on_batch(inputs)
        logits = predictions["logits"]
        labels = model.root_labels(inputs, labels, predictions).numpy()
        words = np.sum(~np.isin(inputs["words"], no_words), axis=1).reshape([-1, len(labels)]).max(axis=0)
        parts.append((labels, logits.argmax(axis=-1), words))
        log_p += float(tf.reduce_sum(log_likelihoods(labels, logits)))
        if model.encoder_spec.predicts_parses and "transitions" in inputs:
            parses += compare_parses(predictions["transitions"], inputs["transitions"].numpy())
    outcomes = Outcomes(examples.places[evaluation_order(examples)], *map(np.concatenate, zip(*parts, strict=True)))
    figures = {"accuracy": float(outcomes.right.mean()), "loss": -log_p / len(outcomes.labels)}
    same_transitions, transitions, same_spans, spans = parses
    if transitions:
        figures["transition_accuracy"] = same_transitions / transitions
        figures["parse_f1"] = same_spans / spans if spans else 1.0
    return figures, outcomes


def evaluation_dataset(
    configuration: ClassifierConfiguration,
    files: Sequence[str | Path],
    broken_trees: Literal["error", "skip"] = "error",
) -> ExampleDataset:
    """The dataset that a model of this configuration is evaluated on.

    A model that predicts parses needs none, but is compared with those of the files if they have any.

    Args:
        configuration: the model's.
        files: their paths.
        broken_trees: "skip" the examples whose trees are broken or not binary, or take one for an "error". With a model
            that predicts parses from words alone, "error" means that it is evaluated on all examples, without the
            parses of the files.

    Raises:
        UserError: anything wrong with the files.
    """
    task, spec = TASKS[configuration.task], ENCODERS[configuration.encoder]
    reader = SentenceReader(broken_trees=broken_trees, brackets_as_words=configuration.brackets_as_words)
    if not spec.predicts_parses:
        return ExampleDataset(task, files, reader._replace(parses=spec.needs_parses))
    try:
        return ExampleDataset(task, files, reader)
    except UserError as error:
        if configuration.needs_brackets:
            raise
        dataset = ExampleDataset(task, files, reader._replace(parses=False))
        logger.info("parses are not evaluated: %s", error)
        return dataset


def compare_parses(predicted: np.ndarray, given: np.ndarray) -> tuple[int, int, int, int]:
    """Compare predicted parses with given ones of the same sentences.

    Args:
        predicted, given: int32 [sentences, steps], padded with PAD; the numbers of steps may differ.

    Returns:
        (equal transitions, transitions, spans of two or more words in both, spans).
    """
    width = max(predicted.shape[1], given.shape[1])
    predicted, given = (np.pad(rows, [(0, 0), (0, width - rows.shape[1])]) for rows in (predicted, given))
    equal = np.sum((predicted == given) & (given != PAD))
    pairs = [(spans(p), spans(g)) for p, g in zip(predicted, given, strict=True)]
    return equal, np.sum(given != PAD), sum(len(p & g) for p, g in pairs), sum(len(g) for _, g in pairs)


def spans(transitions: np.ndarray) -> set[tuple[int, int]]:
    """The phrases of two or more words of a tree: pairs (index of the first word, index after the last)."""
    found, stack, words = set(), [], 0
    for transition in transitions:
        if transition == SHIFT:
            stack.append(words)
            words += 1
        elif transition == REDUCE:
            stack.pop()
            found.add((stack[-1], words))
    return found
