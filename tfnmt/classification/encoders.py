"""The encoder that a `ClassifierConfiguration` describes."""

from tfnmt.layers.flat_encoders import BagOfWords, Convolutional, InceptionEncoder, Recurrent
from tfnmt.layers.trees.spinn import LevelEncoder, SpinnEncoder
from tfnmt.layers.word_vectors import WordVectors

# Where the parses of each encoder with a tracker come from; see `SpinnEncoder`.
PARSES = {"spinn-pi": "given", "spinn": "predicted", "rl-spinn": "sampled"}


def make_encoder(configuration, vocabulary_size):
    """A layer from batches of sentences to their vectors; built, so that all its weights exist.

    Args:
        configuration: a `ClassifierConfiguration`.
        vocabulary_size: how many ids words have.

    Returns:
        A Keras layer, called as `tfnmt.layers.flat_encoders` says, with `output_size`, the size of "root".
    """
    c = configuration
    embedding = WordVectors(
        vocabulary_size,
        c.embedding_size,
        trained=c.trained_embeddings,
        projection=c.projection,
        batch_normalization=c.batch_normalization,
        dropout=c.embedding_dropout,
        name="words",
    )
    if c.encoder == "bag":
        encoder = BagOfWords(embedding, name="encoder")
    elif c.encoder in ("gru", "lstm"):
        encoder = Recurrent(
            embedding, c.units, c.encoder, c.encoder_layers, c.bidirectional, c.state_dropout, name="encoder"
        )
    elif c.encoder == "cnn":
        encoder = Convolutional(embedding, c.units, c.widths, c.activation, name="encoder")
    elif c.encoder == "inception":
        encoder = InceptionEncoder(embedding, c.units, c.encoder_layers, c.activation, name="encoder")
    elif c.encoder == "spinn-pi-nt":
        encoder = LevelEncoder(embedding, c.units, name="encoder")
    else:
        tracked = c.tracked_composition or not c.parses
        encoder = SpinnEncoder(embedding, c.units, c.tracker_units, PARSES[c.encoder], tracked, name="encoder")
    encoder.build(None)
    return encoder
