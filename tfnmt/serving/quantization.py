"""What smaller weights win and lose."""

import time
from pathlib import Path

import sacrebleu
import tensorflow as tf

from tfnmt.data.sample import sample_pairs
from tfnmt.serving.export import servable_of


def compare(models, search, path, sentences=100):
    """An exported version beside the same models in float32, on sentences of the sample corpus' hold-out.

    Args:
        models, search: what was exported.
        path: where it was exported to.
        sentences: how many to answer.

    Returns:
        A dictionary of numbers: sizes in bytes, seconds, and how many answers are the same; of translators also BLEU,
        of one's translations against the other's and of both against the references (these mean something for models
        of the sample corpus).
    """
    whole = servable_of(models, search)
    texts, references = (list(side) for side in zip(*sample_pairs(sentences, seed=0, split="test"), strict=True))
    rows = texts if whole.kind == "translator" else [_right_branching(text) for text in texts]
    names = whole.documentation["serving_default"]["inputs"]
    inputs = {name: tf.constant(rows[i:] + rows[:i]) for i, name in enumerate(names)}
    exported = tf.saved_model.load(str(path)).signatures["serving_default"]
    ours, seconds = _answered(exported, inputs)
    theirs, whole_seconds = _answered(whole.served["serving_default"], inputs)
    figures = {
        "bytes": sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()),
        "bytes of float32 weights": 4 * sum(model.count_params() for model in models),
        "seconds": seconds,
        "seconds of float32": whole_seconds,
        "sentences of the hold-out": len(rows),
        "the same answer": sum(one == other for one, other in zip(ours, theirs, strict=True)),
    }
    if whole.kind == "translator":
        figures |= {
            "BLEU against float32's": sacrebleu.corpus_bleu(ours, [theirs], force=True).score,
            "BLEU": sacrebleu.corpus_bleu(ours, [references], force=True).score,
            "BLEU of float32": sacrebleu.corpus_bleu(theirs, [references], force=True).score,
        }
    return figures


def _answered(function, inputs):
    """Translations or labels, and the seconds that they took."""
    function(**{name: texts[:2] for name, texts in inputs.items()})  # traced and set up
    start = time.perf_counter()
    outputs = function(**inputs)
    found = outputs["translation" if "translation" in outputs else "label"].numpy()
    return [text.decode("utf-8") for text in found], time.perf_counter() - start


def _right_branching(text):
    """A tree of a sentence, for models that need one."""
    *others, tree = text.split()
    for word in reversed(others):
        tree = f"( {word} {tree} )"
    return tree
