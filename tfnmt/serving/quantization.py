"""What smaller weights win and lose."""

import time
from pathlib import Path

import sacrebleu
import tensorflow as tf

from tfnmt.data.sample import sample_pairs
from tfnmt.serving.translator_servable import TranslatorServable


def compare(models, search, path, sentences=100):
    """An exported version beside the same models in float32, on sentences of the sample corpus' hold-out.

    Args:
        models, search: what was exported.
        path: where it was exported to.
        sentences: how many to translate.

    Returns:
        A dictionary of numbers: sizes in bytes, seconds, BLEU against the references (it means something for models
        of the sample corpus) and of one's translations against the other's, and how many are the same.
    """
    pairs = sample_pairs(sentences, seed=0, split="test")
    texts, references = (list(side) for side in zip(*pairs, strict=True))
    exported = tf.saved_model.load(str(path)).signatures["serving_default"]
    ours, seconds = _translated(lambda text: exported(text=text), texts)
    whole, whole_seconds = _translated(TranslatorServable(models, search).served["serving_default"], texts)
    return {
        "bytes": sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()),
        "bytes of float32 weights": 4 * sum(model.count_params() for model in models),
        "seconds": seconds,
        "seconds of float32": whole_seconds,
        "sentences of the hold-out": len(texts),
        "the same translation": sum(one == other for one, other in zip(ours, whole, strict=True)),
        "BLEU against float32's": sacrebleu.corpus_bleu(ours, [whole]).score,
        "BLEU": sacrebleu.corpus_bleu(ours, [references]).score,
        "BLEU of float32": sacrebleu.corpus_bleu(whole, [references]).score,
    }


def _translated(function, texts):
    batch = tf.constant(texts)
    function(batch[:2])  # traced and set up
    start = time.perf_counter()
    found = function(batch)["translation"].numpy()
    return [text.decode("utf-8") for text in found], time.perf_counter() - start
