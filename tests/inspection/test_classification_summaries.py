"""What TensorBoard shows of a classifier."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.data.examples import Example, Sentence, SentenceReader
from tfnmt.inspection import classification_summaries
from tfnmt.inspection.classification_summaries import DRAWN_SENTENCES, LONGEST_DRAWN, ClassificationSummaries
from tfnmt.inspection.figures import figure_image
from tfnmt.inspection.trees import draw_trees
from tfnmt.text.brackets import from_brackets
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.optimizers import make_optimizer

LONG = Sentence(["a"] * (LONGEST_DRAWN + 1))


@pytest.mark.parametrize("brackets_as_words", [False, True])
def test_short_sentences_are_drawn_as_the_model_reads_them(brackets_as_words, tmp_path):
    keras.utils.set_random_seed(1)
    configuration = ClassifierConfiguration(
        task="logic", encoder="spinn", embedding_size=4, units=4, head_units=4, brackets_as_words=brackets_as_words
    )
    model = Classifier(configuration, WordTokenizer(["a", "b", "not", "-LRB-", "-RRB-"]))
    model.compile(optimizer="sgd")
    reader = SentenceReader(brackets_as_words=brackets_as_words)
    sentences = [reader.read("( not a )"), LONG, *(reader.read(word) for word in "abab")]
    summaries = ClassificationSummaries(tmp_path, model, [Example((sentence, LONG), 0) for sentence in sentences])
    assert summaries.sentences == [sentences[0], *sentences[2 : 1 + DRAWN_SENTENCES]]
    summaries.set_model(model)
    summaries.on_epoch_end(0)
    summaries.writer.close()
    events = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    events.Reload()
    assert events.Tags()["tensors"] == ["trees"]


def test_trees_are_those_of_the_averaged_weights(tmp_path):
    """After one update the averages are the weights; then the tracker prefers the other moves."""
    keras.utils.set_random_seed(1)
    configuration = ClassifierConfiguration(task="logic", encoder="spinn", embedding_size=4, units=4, head_units=4)
    model = Classifier(configuration, WordTokenizer([*"abcdef"]))
    optimizer = make_optimizer(TrainingConfiguration(weight_average=0.5), 1)
    model.compile(optimizer)
    optimizer.apply([np.zeros(weight.shape, np.float32) for weight in model.trainable_weights], model.trainable_weights)
    (averaged,) = model.parse(["a b c d e f"])
    model.encoder.tracker.W_p.assign(-model.encoder.tracker.W_p)
    assert model.parse(["a b c d e f"]) != [averaged]
    summaries = ClassificationSummaries(tmp_path, model, [Example((Sentence([*"abcdef"]), LONG), 0)])
    summaries.set_model(model)
    summaries.on_epoch_end(0)
    summaries.writer.close()
    events = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    events.Reload()
    image = tf.io.decode_png(tf.make_ndarray(events.Tensors("trees")[0].tensor_proto)[2])
    np.testing.assert_array_equal(image, figure_image(draw_trees({"1": from_brackets(averaged)}))[0])


@pytest.mark.parametrize("encoder", ["bag", "spinn", "rl-spinn"])
def test_graph_and_vectors_of_sentences(encoder, tmp_path, monkeypatch):
    """Also where the model draws parses in training, and of more sentences than a batch has."""
    monkeypatch.setattr(classification_summaries, "BATCH_SIZE", 3)
    keras.utils.set_random_seed(1)
    configuration = ClassifierConfiguration(task="logic", encoder=encoder, embedding_size=4, units=4, head_units=4)
    model = Classifier(configuration, WordTokenizer(["a", "b", "not"]))
    model.compile(optimizer="sgd")
    reader = SentenceReader(model.encoder_spec.trains_on_parses)
    pairs = [tuple(map(reader.read, pair)) for pair in (("a", "( not b )"), ("( a ( not b ) )", "b"))]
    summaries = ClassificationSummaries(
        tmp_path, model, [Example(pair, label) for pair, label in zip(pairs, (1, 2), strict=True)]
    )
    summaries.set_model(model)
    before = [weight.numpy() for weight in model.variables]
    summaries.on_train_begin()
    summaries.on_train_begin()
    summaries.on_train_end()
    for weight, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(weight, value)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert events.Tags()["graph"]
    labels = (tmp_path / "sentences_labels.tsv").read_text(encoding="utf-8").splitlines()
    names = configuration.labels
    assert labels[0] == "sentence\twords\tlabel"
    assert labels[1:] == [
        f"{words}\t{len(words.split())}\t{names[label]}"
        for words, label in (("a", 1), ("not b", 1), ("a not b", 2), ("b", 2))
    ]
    vectors = np.loadtxt(tmp_path / "sentences_vectors.tsv")
    sentences = [sentence for pair in pairs for sentence in pair]
    np.testing.assert_allclose(vectors, model.predictor.sentence_vectors(sentences), rtol=1e-3, atol=1e-6)


def test_a_model_that_does_not_parse_draws_nothing(tmp_path):
    configuration = ClassifierConfiguration(task="logic", encoder="bag", embedding_size=4, units=4, head_units=4)
    model = Classifier(configuration, WordTokenizer(["a"]))
    assert ClassificationSummaries(tmp_path, model, [Example((LONG, LONG), 0)]).sentences == []
