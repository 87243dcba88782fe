"""The registry of sentence encoders: the layer of each, its arguments, and what it can do.

To add an encoder, write its layer and name it in `ENCODERS`. Layers are imported when they are made, so the registry is
read without TensorFlow.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras

Arguments = Callable[[Any], dict[str, Any]]
"""From a `ClassifierConfiguration` to the arguments of a layer."""


@dataclass(frozen=True)
class EncoderSpec:
    """An encoder of sentences.

    Its layer is made as `layer(embedding, **arguments(configuration))`, where `embedding` is a `WordVectors` layer, and
    called on a batch of sentences, a dictionary with "words" int32 [sentences, words], padded with 0. It returns a
    dictionary with "root" float [sentences, layer.output_size], and for pair_attention "nodes" float [sentences, words,
    layer.output_size], a vector for each word; the encoders of trees have "nodes" float [sentences, steps,
    layer.output_size], a vector for each node, and "transitions" int32 [sentences, steps], padded with 0. Padding must
    not change the result.
    """

    name: str
    """What the configuration and the command line call it."""
    layer: str | type[keras.layers.Layer] | Callable[[Any], str]
    """The class of the layer, or where it is: "module:Class". Where that depends on the configuration, a function."""
    arguments: Arguments = lambda configuration: {}
    """The arguments of the layer after the embedding, from the configuration."""
    minimum_units: int = 1
    """The smallest `units` of the configuration that the layer allows."""
    needs_parses: bool = False
    """The batch must have the "transitions" of the sentences' parses, in training and afterwards."""
    learns_from_parses: bool = False
    """In training the batch must have "transitions", from which the encoder learns to predict them."""
    predicts_parses: bool = False
    """Returns parses of its own: "transitions" int32 [sentences, steps], "transition_logits" float [sentences, steps,
    2]."""
    samples_parses: bool = False
    """In training the layer takes a `seed` to draw parses, and returns their "log_probability" float [sentences]."""

    def keys_read(self, configuration: Any) -> frozenset[str]:
        """The keys of a `ClassifierConfiguration` that the layer is made from."""
        watched = _Watched(configuration)
        self.arguments(watched)
        if not isinstance(self.layer, str | type):
            self.layer(watched)
        return frozenset(watched.keys)

    @property
    def trains_on_parses(self) -> bool:
        """Whether the batch must have "transitions" in training; the nodes are those of these parses then."""
        return self.needs_parses or self.learns_from_parses

    @property
    def builds_trees(self) -> bool:
        """Whether it builds a sentence's vector along a tree, given or its own."""
        return self.needs_parses or self.predicts_parses


class _Watched:
    """A configuration that notes which of its keys are read."""

    def __init__(self, configuration):
        self._configuration, self.keys = configuration, set()

    def __getattr__(self, key):
        self.keys.add(key)
        return getattr(self._configuration, key)


def make_encoder(
    configuration: Any, vocabulary_size: int, brackets: Sequence[int] = (), dtype: str | None = None
) -> keras.layers.Layer:
    """The encoder of a configuration, built, so that all its weights exist.

    Args:
        configuration: the classifier's, a `ClassifierConfiguration`.
        vocabulary_size: number of word ids.
        brackets: the ids of brackets that are words.
        dtype: the name of the dtype policy of all its layers; None for Keras's default.

    Returns:
        A layer as `EncoderSpec` describes it.
    """
    from tfnmt.layers.embedding import WordVectors

    c, spec = configuration, ENCODERS[configuration.encoder]
    embedding = WordVectors(
        vocabulary_size,
        c.embedding_size,
        trained=c.trained_embeddings,
        projection=c.projection,
        batch_normalization=c.batch_normalization,
        dropout=c.embedding_dropout,
        name="words",
        dtype=dtype,
    )
    layer = spec.layer if isinstance(spec.layer, str | type) else spec.layer(c)
    layer = pkgutil.resolve_name(layer) if isinstance(layer, str) else layer
    own = {} if c.composed_brackets else {"uncomposed": tuple(brackets)}
    encoder = layer(embedding, **spec.arguments(c), **own, name="encoder", dtype=dtype)
    encoder.build(None)
    return encoder


def _recurrent(cell: str) -> Arguments:
    return lambda c: {
        "units": c.units,
        "cell": cell,
        "layers": c.encoder_layers,
        "bidirectional": c.bidirectional,
        "state_dropout": c.state_dropout,
    }


def _trees(c: Any) -> dict[str, Any]:
    """What all encoders of trees have."""
    return {
        "units": c.units,
        "composition": c.composition,
        "composition_dropout": c.composition_dropout,
        "leaf_rnn": c.leaf_rnn,
        "leaf_dropout": c.embedding_dropout,
    }


def _spinn(parse: str) -> Arguments:
    """`parse`: where parses come from, see `SPINN`. With given ones the tracker exists only for the composition."""

    def arguments(c):
        if parse != "given" and c.tracker_reads == "words":
            own = {"reduce_bias": c.reduce_bias}
        else:
            own = {"tracked_composition": parse == "given" or c.tracked_composition}
        return _trees(c) | own | {"tracker_units": c.tracker_units, "parse": parse}

    return arguments


def _tracked(c: Any) -> str:
    """The layer whose tracker predicts."""
    words = c.tracker_reads == "words"
    return "tfnmt.layers.trees.word_spinn:WordSPINN" if words else "tfnmt.layers.trees.spinn:SPINN"


ENCODERS = {
    spec.name: spec
    for spec in (
        EncoderSpec("bag", "tfnmt.layers.flat_encoders:BagOfWords"),
        EncoderSpec("gru", "tfnmt.layers.flat_encoders:Recurrent", _recurrent("gru")),
        EncoderSpec("lstm", "tfnmt.layers.flat_encoders:Recurrent", _recurrent("lstm")),
        EncoderSpec(
            "cnn",
            "tfnmt.layers.flat_encoders:Convolutional",
            lambda c: {"size": c.units, "widths": c.widths, "activation": c.activation},
        ),
        EncoderSpec(
            "inception",
            "tfnmt.layers.flat_encoders:InceptionEncoder",
            lambda c: {"size": c.units, "layers": c.encoder_layers, "activation": c.activation},
            minimum_units=4,
        ),
        EncoderSpec(
            "spinn-pi-nt",
            "tfnmt.layers.trees.encoder:TreeLSTMEncoder",
            _trees,
            needs_parses=True,
        ),
        EncoderSpec("spinn-pi", "tfnmt.layers.trees.spinn:SPINN", _spinn("given"), needs_parses=True),
        EncoderSpec(
            "spinn",
            _tracked,
            _spinn("predicted"),
            learns_from_parses=True,
            predicts_parses=True,
        ),
        EncoderSpec(
            "rl-spinn",
            _tracked,
            _spinn("sampled"),
            predicts_parses=True,
            samples_parses=True,
        ),
    )
}
"""Name -> encoder."""
