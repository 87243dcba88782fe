"""The registry of encoders: each is made from a configuration; the registry is read without TensorFlow."""

import subprocess
import sys

import keras
import numpy as np
import pytest

from tests.layers.trees.tree_batches import batch_of, left_branching, right_branching
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS, make_encoder
from tfnmt.errors import UserError

BATCH = batch_of([left_branching(4), right_branching(3)])


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_is_built_with_its_weights(name):
    configuration = ClassifierConfiguration(encoder=name, embedding_size=6, units=8, tracker_units=5)
    encoder = make_encoder(configuration, vocabulary_size=10)
    assert encoder.built and encoder.name == "encoder"
    assert any(weight.shape == (10, 6) for weight in encoder.weights)
    assert encoder.output_size == {"bag": 6, "cnn": 24}.get(name, 8)


@pytest.mark.parametrize("name", [name for name, spec in ENCODERS.items() if spec.builds_trees])
@pytest.mark.parametrize("leaf_rnn", ["gru", "lstm"])
def test_encoders_of_trees_may_read_the_leaves_first(name, leaf_rnn):
    sizes = {"embedding_size": 6, "units": 8, "tracker_units": 5, "embedding_dropout": 0.25}
    encoder = make_encoder(ClassifierConfiguration(encoder=name, leaf_rnn=leaf_rnn, **sizes), vocabulary_size=10)
    assert encoder.reader.built and encoder.leaf_dropout.rate == 0.25
    gates = {"gru": 3, "lstm": 4}[leaf_rnn]
    assert [weight.shape for weight in encoder.reader.weights].count((6, gates * 8)) == 2  # W of both directions


@pytest.mark.parametrize("name", ENCODERS)
def test_every_rate_is_that_of_its_own_dropout(name):
    names = ("embedding_dropout", "state_dropout", "composition_dropout")
    rates = dict(zip(names, (0.1, 0.2, 0.3), strict=True))
    encoder = make_encoder(ClassifierConfiguration(encoder=name, units=8, **rates), vocabulary_size=10)
    assert encoder.embedding.dropout.rate == 0.1
    if name in ("gru", "lstm"):
        assert encoder.state_dropout.rate == 0.2
    if ENCODERS[name].builds_trees:
        assert encoder.composition_dropout.rate == 0.3


@pytest.mark.parametrize(
    "name, options",
    [
        *((name, {}) for name in ENCODERS),
        ("spinn-pi-nt", {"leaf_rnn": "gru"}),
        ("spinn", {"tracker_reads": "words"}),
        ("spinn", {"tracker_reads": "words", "brackets_as_words": True, "composed_brackets": False}),
    ],
)
def test_words_are_dropped_out_in_training_alone(name, options):
    configuration = ClassifierConfiguration(encoder=name, embedding_size=6, units=8, embedding_dropout=0.5, **options)
    encoder = make_encoder(configuration, vocabulary_size=11, brackets=[4, 7])
    if "leaf_rnn" in options:
        encoder.leaf_dropout.rate = 0  # of the states that the recurrence makes of the words
    for training in (False, True):
        first, second = (encoder(BATCH, training=training)["root"].numpy() for _ in range(2))
        assert np.array_equal(first, second) == (not training)


def test_words_are_projected_and_normalized_as_configured():
    configuration = ClassifierConfiguration(encoder="bag", embedding_size=6, projection=4, batch_normalization=True)
    words = make_encoder(configuration, vocabulary_size=10).embedding
    assert (words.projection.units, words.output_size, words.normalization.gamma.shape) == (4, 4, (4,))
    plain = make_encoder(ClassifierConfiguration(encoder="bag"), vocabulary_size=10).embedding
    assert plain.projection is None and plain.normalization is None


@pytest.mark.parametrize("name, gates", [("gru", 3), ("lstm", 4)])
def test_a_recurrence_has_the_cells_of_its_name(name, gates):
    encoder = make_encoder(ClassifierConfiguration(encoder=name, embedding_size=6, units=8), vocabulary_size=10)
    assert (6, gates * 8) in {tuple(weight.shape) for weight in encoder.weights}


@pytest.mark.parametrize("name", ["cnn", "inception"])
def test_convolutions_have_the_activation_asked_for(name):
    configuration = ClassifierConfiguration(encoder=name, units=8, activation="maxout")
    assert make_encoder(configuration, vocabulary_size=10).settings["activation"] == "maxout"


@pytest.mark.parametrize("name", ["spinn", "rl-spinn"])
def test_a_tracker_of_words_never_enters_the_composition(name):
    configuration = ClassifierConfiguration(encoder=name, embedding_size=6, units=8, tracker_reads="words")
    tracked, apart = (configuration.replace(tracked_composition=value) for value in (True, False))
    first, second = (keras.saving.serialize_keras_object(make_encoder(each, 10)) for each in (tracked, apart))
    assert first == second


@pytest.mark.parametrize("name", ["spinn", "rl-spinn"])
def test_brackets_may_be_left_to_the_tracker(name):
    settings = {"brackets_as_words": True, "tracker_reads": "words", "tracked_composition": False}
    configuration = ClassifierConfiguration(encoder=name, embedding_size=6, units=8, **settings)
    assert make_encoder(configuration, 10, brackets=[4, 7]).uncomposed == ()
    assert make_encoder(configuration.replace(composed_brackets=False), 10, brackets=[4, 7]).uncomposed == (4, 7)


@pytest.mark.parametrize("name", ["spinn", "rl-spinn"])
def test_a_tracker_of_words_may_start_with_a_bias_for_reduce(name):
    settings = {"tracker_reads": "words", "tracked_composition": False, "reduce_bias": 3.0}
    configuration = ClassifierConfiguration(encoder=name, embedding_size=6, units=8, **settings)
    encoder = make_encoder(configuration, vocabulary_size=10)
    np.testing.assert_array_equal(encoder.tracker.b_p, [0, 3])  # of SHIFT and REDUCE


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"brackets_as_words": False}, "brackets_as_words=false: allowed is true with composed_brackets=false"),
        ({"tracker_reads": "phrases"}, "tracker_reads=phrases: allowed is words with composed_brackets=false"),
        ({"encoder": "spinn-pi-nt"}, "encoder=spinn-pi-nt: allowed is spinn or rl-spinn with composed_brackets=false"),
        ({"pair_attention": True}, "pair_attention=true: allowed is false with composed_brackets=false"),
    ],
)
def test_only_a_tracker_of_words_can_read_brackets_alone(changed, complaint):
    settings = {"brackets_as_words": True, "tracker_reads": "words", "tracked_composition": False, "encoder": "spinn"}
    configuration = ClassifierConfiguration(composed_brackets=False, **settings)
    with pytest.raises(UserError, match=complaint):
        configuration.replace(**changed)


def test_the_registry_is_read_without_tensorflow():
    program = (
        "import sys; from tfnmt.classification.encoders import ENCODERS; from tfnmt.data.tasks import TASKS;"
        "from tfnmt.classification.presets import CLASSIFIER_PRESETS; print('tensorflow' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
