"""What smaller weights win and lose."""

import time
from pathlib import Path

import sacrebleu
import tensorflow as tf

from tfnmt.serving.export import servable_of

BATCH_SIZE = 50


def compare(models, search, path, pairs, tokenize="13a"):
    """An exported version beside the same models in float32.

    Args:
        models, search: what was exported.
        path: where it was exported to.
        pairs: a list of (sentence, reference translation) to answer; a classifier reads the sentences alone.
        tokenize: sacrebleu's tokenization.

    Returns:
        A dictionary of numbers: sizes in bytes, seconds, and how many answers are the same; of translators also BLEU,
        of one's translations against the other's and of both against the references.
    """
    whole = servable_of(models, search)
    texts, references = (list(side) for side in zip(*pairs, strict=True))
    rows = texts if whole.kind == "translator" else [_right_branching(text) for text in texts]
    names = whole.documentation["serving_default"]["inputs"]
    inputs = {name: rows[i:] + rows[:i] for i, name in enumerate(names)}
    exported = tf.saved_model.load(str(path)).signatures["serving_default"]
    ours, seconds = _answered(exported, inputs)
    theirs, whole_seconds = _answered(whole.served["serving_default"], inputs)
    figures = {
        "bytes": sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()),
        "bytes of float32 weights": 4 * sum(model.count_params() for model in models),
        "seconds": seconds,
        "seconds of float32": whole_seconds,
        "sentences": len(rows),
        "the same answer": sum(one == other for one, other in zip(ours, theirs, strict=True)),
    }
    if whole.kind == "translator":
        metric = sacrebleu.BLEU(tokenize=tokenize, force=True)
        figures |= {
            "BLEU against float32's": metric.corpus_score(ours, [theirs]).score,
            "BLEU": metric.corpus_score(ours, [references]).score,
            "BLEU of float32": metric.corpus_score(theirs, [references]).score,
        }
    return figures


def _answered(function, inputs):
    """Translations or labels, and the seconds that they took."""
    function(**{name: tf.constant(texts[:2]) for name, texts in inputs.items()})  # traced and set up
    found = []
    start = time.perf_counter()
    for first in range(0, len(next(iter(inputs.values()))), BATCH_SIZE):
        outputs = function(**{name: tf.constant(texts[first : first + BATCH_SIZE]) for name, texts in inputs.items()})
        found.extend(outputs["translation" if "translation" in outputs else "label"].numpy())
    return [text.decode("utf-8") for text in found], time.perf_counter() - start


def _right_branching(text):
    """A tree of a sentence, for models that need one."""
    *others, tree = text.split()
    for word in reversed(others):
        tree = f"( {word} {tree} )"
    return tree
