"""What a report shows of classifiers: scores, the best and worst examples, lengths, errors, trees."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import tensorflow as tf

import tfnmt
from tfnmt.classification.evaluation import evaluate_classifier, evaluation_dataset
from tfnmt.classification.outcomes import accuracy_by_length, confusion_matrix
from tfnmt.data.example_batches import sentence_batch, sentences_of
from tfnmt.data.examples import Example
from tfnmt.inspection.confusion import draw_confusion
from tfnmt.inspection.trees import draw_trees
from tfnmt.text.brackets import from_brackets
from tfnmt_programs.report.page import escape, example, picture, side_by_side, table
from tfnmt_programs.report.runs import Run

MEASURES = ("accuracy", "loss", "transition_accuracy", "parse_f1")
JUDGED = 500
"""Examples among which the best and worst are looked for."""
DRAWN = 3
"""Sentences whose trees are drawn."""
LONGEST_DRAWN = 20
"""Words of a sentence that is drawn."""


def classification_sections(runs: Sequence[Run], files: Sequence[Path], examples: int) -> dict[str, str]:
    """{heading: HTML} of classifiers of one task on the same files; see `translation_sections`."""
    models = {run.name: tfnmt.load(run.directory, "classifier") for run in runs}
    evaluated = {name: evaluate_classifier(model, files) for name, model in models.items()}
    labels = next(iter(models.values())).configuration.labels
    judged = {
        name: list(islice(evaluation_dataset(model.configuration, files), JUDGED)) for name, model in models.items()
    }
    return {
        "Scores": _scores(evaluated, files),
        "Examples": _best_and_worst(models, judged, labels, examples),
        "Accuracy by length": _lengths(evaluated),
        "Errors": side_by_side(
            picture(draw_confusion(confusion_matrix(outcomes, len(labels)), labels), f"Errors of {name}", name)
            for name, (_, outcomes) in evaluated.items()
        ),
        "Trees": _trees(models, judged),
    }


def _scores(evaluated, files):
    rows = [(name, *(figures.get(measure, "") for measure in MEASURES)) for name, (figures, _) in evaluated.items()]
    count = max(figures["examples"] for figures, _ in evaluated.values())
    return table(("run", *MEASURES), rows, f"{count:,} examples of {', '.join(path.name for path in files)}")


def _best_and_worst(models, judged, labels, number):
    """Examples by the mean probability, over all runs, of the right label."""
    p = {name: probabilities(model, judged[name]) for name, model in models.items()}
    examples = next(iter(judged.values()))
    right = np.mean([rows[np.arange(len(examples)), [e.label for e in examples]] for rows in p.values()], axis=0)
    order = np.argsort(right, kind="stable")

    def lines(i):
        rows = {f"sentence {j}": escape(" ".join(s.words)) for j, s in enumerate(examples[i].sentences, start=1)}
        rows["label"] = escape(labels[examples[i].label])
        for name, of_run in p.items():
            made = int(of_run[i].argmax())
            text = f"{escape(labels[made])}, {of_run[i, made]:.0%}"
            rows[name] = text if made == examples[i].label else f"<mark>{text}</mark>"
        return rows

    shown = {"Worst": order[:number], "Best": order[::-1][:number]}
    told = f"By the probability of the right label; of the first {len(examples):,} examples. Marked: wrong labels."
    return f'<p class="faint">{told}</p>' + "".join(
        f"<h3>{title}</h3>" + "".join(example(lines(i)) for i in chosen) for title, chosen in shown.items()
    )


def probabilities(model: tfnmt.Classifier, examples: Sequence[Example], batch_size: int = 100) -> np.ndarray:
    """The probability of every label of each example, float [examples, labels]."""
    parts = []
    for first in range(0, len(examples), batch_size):
        inputs = sentence_batch(sentences_of(examples[first : first + batch_size]), model.tokenizer)
        parts.append(tf.nn.softmax(model.predict_on_batch(inputs)["logits"]).numpy())
    return np.concatenate(parts)


def _lengths(evaluated):
    bins = {name: accuracy_by_length(outcomes) for name, (_, outcomes) in evaluated.items()}
    columns, *_ = bins.values()
    rows = [
        (words, count, *(of_run[words][1] if words in of_run else "" for of_run in bins.values()))
        for words, (count, _) in columns.items()
    ]
    return table(("words", "examples", *bins), rows)


def _trees(models, judged):
    """The trees that the runs find for the same sentences, beside those in the files."""
    parsers = {name: model for name, model in models.items() if model.encoder_spec.predicts_parses}
    if not parsers:
        return ""
    sentences = [example.sentences[0] for example in judged[next(iter(parsers))]]
    chosen = [i for i, sentence in enumerate(sentences) if 2 < len(sentence.words) <= LONGEST_DRAWN][:DRAWN]
    if not chosen:
        return ""
    found = {}
    for name, model in parsers.items():  # each reads its own words: those of some are brackets, too
        read = [judged[name][i].sentences[0] for i in chosen]
        found[name] = [from_brackets(tree) for tree in model.predictor.parse_sentences(read)]
    rows = []
    for place, i in enumerate(chosen):
        words, transitions = sentences[i]
        given = {} if transitions is None else {"given": (words, transitions)}
        trees = given | {name: of_run[place] for name, of_run in found.items()}
        text = " ".join(words)
        drawn = (picture(draw_trees({name: tree}), f"Tree of {name}: {text}") for name, tree in trees.items())
        rows.append(f"<h3>{escape(text)}</h3>" + side_by_side(drawn))
    return "".join(rows)
