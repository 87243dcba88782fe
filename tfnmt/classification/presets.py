"""Presets of classifiers: for each task, configurations that work well together."""

from typing import ClassVar

from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.configuration import Configuration
from tfnmt.data.batching_configuration import ExamplesConfiguration
from tfnmt.training.configuration import TrainingConfiguration


class ClassifierPreset(Configuration):
    """Everything that the training of a classifier depends on, except the data."""

    kind: ClassVar[str] = "classifier"

    model: ClassifierConfiguration = ClassifierConfiguration()
    examples: ExamplesConfiguration = ExamplesConfiguration()
    training: TrainingConfiguration = TrainingConfiguration(selection="accuracy", learning_rate=0.002)


def _training(**options):
    return TrainingConfiguration(**{"selection": "accuracy", "schedule": "cosine", "warmup_steps": 100} | options)


CLASSIFIER_PRESETS = {
    # Learns each task's sample corpus in a minute or two on two cores.
    "tiny": ClassifierPreset(
        model=ClassifierConfiguration(embedding_size=64, units=64, tracker_units=32, head_units=64),
        examples=ExamplesConfiguration(batch_size=64),
        training=_training(epochs=8, learning_rate=0.004),
    ),
    # Model and sizes of Bowman et al. 2016 as in Bradbury's post: fixed GloVe vectors with a trained projection, words
    # in lower case, batches of 64. (The post names no learning rate, schedule or number of epochs.)
    "snli": ClassifierPreset(
        model=ClassifierConfiguration(
            task="snli",
            lowercase=True,
            embedding_size=300,
            trained_embeddings=False,
            projection=600,
            units=300,
            tracker_units=64,
            head_units=1024,
            head_layers=2,
            batch_normalization=True,
            embedding_dropout=0.08,
            head_dropout=0.07,
            micro_batches=2,
        ),
        examples=ExamplesConfiguration(batch_size=64),
        training=_training(epochs=20, optimizer="rmsprop", learning_rate=0.002, clip_norm=5.0),
    ),
    # Without attention between both sentences, averaged weights and so much dropout it is 7 points worse
    # (docs/results/trees.md).
    "sick": ClassifierPreset(
        model=ClassifierConfiguration(
            task="sick",
            embedding_size=300,
            trained_embeddings=False,
            projection=200,
            units=100,
            head_units=200,
            batch_normalization=True,
            pair_attention=True,
            embedding_dropout=0.2,
            head_dropout=0.5,
        ),
        examples=ExamplesConfiguration(batch_size=32),  # few for batch normalization: no micro-batches
        training=_training(epochs=10, learning_rate=0.001, weight_average=0.99),
    ),
    "logic": ClassifierPreset(
        model=ClassifierConfiguration(
            task="logic", embedding_size=128, units=128, head_units=256, head_layers=2, micro_batches=2
        ),
        examples=ExamplesConfiguration(batch_size=128),
        training=_training(epochs=20, learning_rate=0.001),
    ),
    # Sizes and regularisation near those of Tai et al. 2015 (arXiv:1503.00075), section 5, with leaves that have read
    # the sentence: two to three points better than without (docs/results/trees.md).
    "sst": ClassifierPreset(
        model=ClassifierConfiguration(
            task="sst",
            embedding_size=300,
            units=150,
            head_units=150,
            embedding_dropout=0.5,
            head_dropout=0.3,
            leaf_rnn="gru",
            lowercase=True,
            micro_batches=2,
        ),
        examples=ExamplesConfiguration(batch_size=64),
        training=_training(epochs=6, learning_rate=0.003, weight_decay=0.01, weight_average=0.99),
    ),
    # Without hidden layers the task is learned in a third of the time, and with the gated recursive cell better than
    # with a TreeLSTM. Composition that reads the tracker's state slows learning down (docs/results/trees.md).
    "listops": ClassifierPreset(
        model=ClassifierConfiguration(
            task="listops",
            embedding_size=256,
            units=128,
            head_layers=0,
            composition="grc",
            tracked_composition=False,
            micro_batches=2,
        ),
        examples=ExamplesConfiguration(batch_size=64, maximum_length=200),
        training=_training(epochs=6, learning_rate=0.002, weight_average=0.998),
    ),
}
