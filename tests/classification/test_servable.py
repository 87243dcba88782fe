"""Exported classifiers give the labels, vectors and trees of the model, from text."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.serving.conftest import made as made_translator
from tests.serving.test_export import CORE_OPERATIONS, TEXT_OPERATIONS, operations, saved_graphs
from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.servable import ClassifierServable
from tfnmt.data.examples import split_words
from tfnmt.define_by_run import spinn
from tfnmt.errors import UserError
from tfnmt.models import create_servable
from tfnmt.quantization import StoredWeights
from tfnmt.text.brackets import PAD, REDUCE
from tfnmt.text.tokenizers import WordTokenizer

TREES = ["( a ( b c ) )", "( ( d e ) f )", "( a b )", "( ( a b ) ( c d ) )", "e", "( ( ( f e ) d ) ( c zebra ) )"]
# More operations than a translator's, all of TensorFlow's own.
MORE_OPERATIONS = """
    Conv2D Empty EnsureShape FloorMod GatherNd HashTableV2 InplaceUpdate InvertPermutation LowerBound
    LookupTableImportV2 MaxPool Neg OnesLike PadV2 PlaceholderWithDefault Relu ScatterNd Slice TensorListConcatV2
    TensorListSplit Unpack UnsortedSegmentSum
"""


BRACKETS_FOR_THE_TRACKER = {
    "brackets_as_words": True,
    "composed_brackets": False,
    "tracker_reads": "words",
    "tracked_composition": False,
}


def made(encoder, task, **options):
    keras.utils.set_random_seed(1)
    sizes = {"embedding_size": 6, "units": 8, "tracker_units": 5, "head_units": 8}
    tokenizer = WordTokenizer([*"abcdef", "-LRB-", "-RRB-"])
    model = Classifier(ClassifierConfiguration(task=task, encoder=encoder, **sizes | options), tokenizer)
    random = np.random.default_rng(1)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(
                np.abs(random.normal(size=weight.shape))
                if "variance" in weight.path
                else random.normal(size=weight.shape)
            )
    return model


@pytest.mark.parametrize(
    "encoder, task, options",
    [
        ("bag", "sst", {"batch_normalization": True}),
        ("gru", "logic", {"brackets_as_words": True}),
        ("cnn", "listops", {}),
        ("spinn-pi-nt", "snli", {"projection": 8, "brackets_as_words": True}),
        pytest.param("spinn", "sick", {"pair_attention": True}, marks=pytest.mark.slow),
        ("spinn-pi", "sst", {}),
        pytest.param("spinn", "logic", {"brackets_as_words": True}, marks=pytest.mark.slow),
        ("spinn", "logic", BRACKETS_FOR_THE_TRACKER),
        pytest.param("rl-spinn", "listops", {}, marks=pytest.mark.slow),
    ],
)
def test_signatures_give_what_the_model_gives(encoder, task, options):
    model = made(encoder, task, **options)
    servable = ClassifierServable(model)
    pairs = model.configuration.reads_pairs
    texts = list(zip(TREES, TREES[::-1], strict=True)) if pairs else TREES
    sides = [tf.constant(side) for side in zip(*texts, strict=True)] if pairs else [tf.constant(TREES)]
    names = ["first", "second"] if pairs else ["text"]
    found = servable.functions["serving_default"](**dict(zip(names, sides, strict=True)))
    labels = [label.decode() for label in found["label"].numpy()]
    assert labels == model.classify(texts)
    assert [name.decode() for name in found["classes"][0].numpy()] == list(model.configuration.labels)
    np.testing.assert_allclose(tf.reduce_sum(found["probabilities"], axis=1), 1.0, rtol=1e-5)
    best = tf.argmax(found["probabilities"], axis=1).numpy()
    assert [model.configuration.labels[i] for i in best] == labels
    alone = servable.functions["serving_default"](**{name: side[3:4] for name, side in zip(names, sides, strict=True)})
    np.testing.assert_allclose(alone["probabilities"], found["probabilities"][3:4], rtol=1e-4)
    vectors = servable.functions["encode"](text=tf.constant(TREES))["vector"]
    assert vectors.shape == [len(TREES), model.encoder.output_size]
    assert ("parse" in servable.functions) == model.encoder_spec.predicts_parses
    if model.encoder_spec.predicts_parses:
        trees = servable.functions["parse"](text=tf.constant(TREES))["brackets"].numpy()
        assert [tree.decode() for tree in trees] == model.parse(TREES)
        # All that Unicode calls white space is part of a word here and there, but for the ASCII white space.
        odd = ["a\u00a0b c", "\u00a0", "\u2028 a\x1cb", "d\v\u3000\te"]
        if model.configuration.needs_brackets:
            with pytest.raises(tf.errors.InvalidArgumentError, match="each text must be one binary tree in brackets"):
                servable.functions["parse"](text=tf.constant(odd))
            odd = ["( a\u00a0b c )", "\u00a0", "( \u2028 a\x1cb )"]
        trees = servable.functions["parse"](text=tf.constant(odd))["brackets"].numpy()
        assert [tree.decode() for tree in trees] == model.parse(odd)


@pytest.mark.parametrize(
    "encoder, task, options",
    [
        ("cnn", "listops", {}),
        ("inception", "sst", {}),
        ("gru", "snli", {"pair_attention": True}),
        ("spinn-pi-nt", "snli", {"leaf_rnn": "gru"}),
        ("spinn", "sst", {}),
    ],
)
def test_no_texts_have_no_outputs(encoder, task, options):
    servable = ClassifierServable(made(encoder, task, **options))
    for name, function in servable.functions.items():
        no_texts = {side: tf.constant([], tf.string) for side in servable.documentation[name]["inputs"]}
        assert {tensor.shape[0] for tensor in function(**no_texts).values()} == {0}, name


def test_the_words_that_it_reads_and_those_that_it_does_not_know():
    model = made("cnn", "snli")
    read = ClassifierServable(model).functions["words"](text=tf.constant(["( a ( zebra b ) )", "c"]))
    assert read["words"].numpy().tolist() == [[b"a", b"<unk>", b"b"], [b"c", b"", b""]]
    assert read["written"].numpy().tolist() == [[b"a", b"zebra", b"b"], [b"c", b"", b""]]


def test_each_output_of_a_convolution_has_one_scale_in_int8():
    """Not one for each input and output, which would take as much room as the weights."""
    model = made("cnn", "listops", widths=(1, 3))
    kernels = [weight for weight in model.weights if len(weight.shape) == 3]
    assert len(kernels) == 2
    before = [kernel.numpy() for kernel in kernels]
    stored = StoredWeights([model], "int8")
    scales = [variable for variable in stored.variables if variable.dtype == tf.float32 and len(variable.shape) == 3]
    assert {tuple(scale.shape) for scale in scales} == {(1, 1, kernel.shape[2]) for kernel in kernels}
    with stored.in_use([model]):
        after = [tf.convert_to_tensor(kernel.value).numpy() for kernel in kernels]
    for exact, rounded in zip(before, after, strict=True):
        largest = np.abs(exact).max(axis=(0, 1))
        assert (np.abs(rounded - exact).max(axis=(0, 1)) > 0).all()
        assert (np.abs(rounded - exact) <= 0.51 * largest / 127).all()


@pytest.mark.parametrize("encoder", ["spinn", "rl-spinn"])
def test_the_probability_of_each_decision_is_the_define_by_run_twins(encoder):
    model = made(encoder, "snli")
    found = ClassifierServable(model).functions["parse"](text=tf.constant(TREES))["reduce_probabilities"].numpy()
    words = [split_words(tree) for tree in TREES]
    ids = model.tokenizer.encode(tf.constant([" ".join(each) for each in words])).to_tensor()
    twin = spinn.encode(model.encoder, {"words": ids})
    shift, reduce = np.moveaxis(twin["transition_logits"].numpy(), 2, 0)
    transitions = twin["transitions"].numpy()
    expected = np.where(transitions == PAD, 0.0, 1 / (1 + np.exp(np.clip(shift - reduce, -50, 50))))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(found > 0.5, transitions == REDUCE)
    assert (found[:, :1] == 0).all()  # the first transition can only be SHIFT, and the last only REDUCE
    last = [2 * len(each) - 2 for each in words]
    assert found[range(len(words)), last].tolist() == [float(len(each) > 1) for each in words]


@pytest.fixture(scope="module")
def exported(export_once):
    return export_once(lambda: ClassifierServable(made("spinn", "snli")), "pairs")


def test_export(exported):
    model, loaded = made("spinn", "snli"), tf.saved_model.load(str(exported))
    first, second = tf.constant(TREES), tf.constant(TREES[::-1])
    found = loaded.signatures["serving_default"](first=first, second=second)["label"].numpy()
    assert [label.decode() for label in found] == model.classify(list(zip(TREES, TREES[::-1], strict=True)))
    trees = loaded.signatures["parse"](text=first)["brackets"].numpy()
    assert [tree.decode() for tree in trees] == model.parse(TREES)


def test_first_and_second_texts_must_be_as_many(exported):
    signature = tf.saved_model.load(str(exported)).signatures["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many first texts as second ones"):
        signature(first=tf.constant(TREES[:3]), second=tf.constant(TREES[:1]))


@pytest.mark.slow
def test_every_operation_is_one_that_the_stock_server_links(exported):
    allowed = TEXT_OPERATIONS | set(CORE_OPERATIONS.split()) | set(MORE_OPERATIONS.split())
    assert operations(saved_graphs(exported).graph_def) - allowed == set()
    more = {encoder: {} for encoder in ("spinn-pi-nt", "spinn-pi", "inception")} | {"spinn": BRACKETS_FOR_THE_TRACKER}
    for encoder, options in more.items():
        for name, function in ClassifierServable(made(encoder, "snli", **options)).functions.items():
            assert operations(function.get_concrete_function().graph.as_graph_def()) - allowed == set(), (encoder, name)


def test_errors_in_texts():
    encode = ClassifierServable(made("spinn-pi-nt", "snli")).functions["encode"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="each text must be one binary tree in brackets"):
        encode(text=tf.constant(["a b c"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="each text must have a word"):
        encode(text=tf.constant(["( )"]))


def test_classifiers_are_in_no_ensemble():
    classifier, translator = made("bag", "sst"), made_translator("word")
    with pytest.raises(UserError, match="model 2 is a classifier: only translators can be an ensemble"):
        create_servable([translator, classifier])
    with pytest.raises(UserError, match="model 1 is a classifier: only translators can be an ensemble"):
        create_servable([classifier, classifier])
