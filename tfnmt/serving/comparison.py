"""What storing the weights in fewer bits saves and costs: an exported version beside its servable in float32."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sacrebleu
import tensorflow as tf

from tfnmt.serving.export import Servable

BATCH_SIZE = 50
_SIGNATURE = "serving_default"


def compare_with_float32(
    path: str | Path,
    servable: Servable,
    texts: Sequence[str],
    references: Sequence[str] | None = None,
    tokenize: str = "13a",
) -> dict[str, int | float]:
    """Size, speed and outputs of an exported version beside those of the same models in float32.

    Args:
        path: of the version.
        servable: the same models, its weights not quantized.
        texts: for the signature serving_default. Further inputs get the same texts in another order.
        references: what the outputs should be, for BLEU; None where the output is no sentence.
        tokenize: sacrebleu's tokenization.

    Returns:
        Sizes in bytes, seconds, and how many outputs are equal; with references also BLEU, of the quantized outputs
        against those of float32 and of both against the references.
    """
    names = servable.documentation[_SIGNATURE]["inputs"]
    inputs = {name: [*texts[i:], *texts[:i]] for i, name in enumerate(names)}
    quantized, seconds = _outputs(tf.saved_model.load(str(path)).signatures[_SIGNATURE], inputs)
    whole, whole_seconds = _outputs(servable.functions[_SIGNATURE], inputs)
    figures = {
        "bytes of the folder": _size(Path(path)),
        "bytes of its weights": _size(Path(path, "variables")),
        "bytes of float32 weights": 4 * sum(weight.shape.num_elements() for weight in servable.variables),
        "seconds": seconds,
        "seconds of float32": whole_seconds,
        "texts": len(texts),
        "equal outputs": sum(one == other for one, other in zip(quantized, whole, strict=True)),
    }
    if references is not None:
        metric = sacrebleu.BLEU(tokenize=tokenize, force=True)  # force: no warning about tokenized text
        figures |= {
            "BLEU against float32's": metric.corpus_score(quantized, [whole]).score,
            "BLEU": metric.corpus_score(quantized, [references]).score,
            "BLEU of float32": metric.corpus_score(whole, [references]).score,
        }
    return figures


def _size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _outputs(function: Callable, inputs: dict[str, list[str]]) -> tuple[list[str], float]:
    """The strings that a signature gives, one for each text, and the seconds that they took."""

    def call(first, last):
        outputs = function(**{name: tf.constant(texts[first:last]) for name, texts in inputs.items()})
        (strings,) = (x for x in outputs.values() if x.dtype == tf.string and x.shape.rank == 1)
        return strings.numpy()

    call(0, 2)  # traces the function
    number = len(next(iter(inputs.values())))
    start = time.perf_counter()
    strings = [text for first in range(0, number, BATCH_SIZE) for text in call(first, first + BATCH_SIZE)]
    return [text.decode("utf-8") for text in strings], time.perf_counter() - start
