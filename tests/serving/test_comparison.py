"""What is told of weights in fewer bits, by models whose outputs are known."""

from types import SimpleNamespace

import pytest
import sacrebleu
import tensorflow as tf

from tfnmt.serving.comparison import BATCH_SIZE, compare_with_float32

TEXTS = [f"sentence number {i} of them" for i in range(BATCH_SIZE + 10)]


def exported(function, path):
    """The folder of a SavedModel that computes this."""
    module = tf.Module()
    module.function = function
    tf.saved_model.save(module, str(path), signatures={"serving_default": function.get_concrete_function()})
    return path


def servable(function, *names):
    documentation = {"serving_default": {"inputs": dict.fromkeys(names, "a text")}}
    variables = [tf.Variable(tf.zeros([3, 4])), tf.Variable(tf.zeros([5]))]
    return SimpleNamespace(documentation=documentation, functions={"serving_default": function}, variables=variables)


def function_of(make, *names):
    signature = [tf.TensorSpec([None], tf.string, name) for name in names]
    return tf.function(make, input_signature=signature, autograph=False)


def test_outputs_are_compared_with_those_of_float32_and_both_with_the_references(tmp_path):
    """One of each ten is another, in the last ones too, which are a batch of their own."""

    def changed(text):
        return {"out": tf.strings.regex_replace(text, "number (.*)0 of", "NUMBER 0 of"), "score": tf.zeros([])}

    path = exported(function_of(changed, "text"), tmp_path / "1")
    whole = servable(function_of(lambda text: {"out": text}, "text"), "text")
    references = [text.replace("them", "those") for text in TEXTS]
    figures = compare_with_float32(path, whole, TEXTS, references)
    quantized = [text.decode() for text in changed(tf.constant(TEXTS))["out"].numpy()]
    assert (figures["texts"], figures["equal outputs"]) == (BATCH_SIZE + 10, 9 * (BATCH_SIZE + 10) // 10)
    for name, outputs, others in (
        ("BLEU against float32's", quantized, TEXTS),
        ("BLEU", quantized, references),
        ("BLEU of float32", TEXTS, references),
    ):
        assert figures[name] == pytest.approx(sacrebleu.corpus_bleu(outputs, [others]).score), name
    assert figures["bytes of float32 weights"] == 4 * (3 * 4 + 5)
    assert figures["bytes of its weights"] < figures["bytes of the folder"]


def test_a_second_input_has_other_texts(tmp_path):
    def same(first, second):
        return {"out": tf.where(first == second, "the same", "another")}

    path = exported(function_of(same, "first", "second"), tmp_path / "1")
    whole = function_of(lambda first, second: {"out": tf.fill(tf.shape(first), "another")}, "first", "second")
    figures = compare_with_float32(path, servable(whole, "first", "second"), TEXTS)
    assert figures["equal outputs"] == len(TEXTS) and "BLEU" not in figures
