"""Presets: configurations that work well together, as values."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tfnmt.configuration import Configuration
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.errors import UserError, nearest_name
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration


class Preset(Configuration):
    """Everything that training a translator depends on, but the data."""

    kind: ClassVar[str] = "translator"

    model: TranslatorConfiguration = TranslatorConfiguration()
    text: TextConfiguration = TextConfiguration()
    batching: BatchingConfiguration = BatchingConfiguration()
    training: TrainingConfiguration = TrainingConfiguration()


def _rnnsearch(**decoder):
    """The sizes of RNNsearch-50, with a form of the decoder."""
    return Preset(
        model=TranslatorConfiguration(
            source_embedding_size=620,
            target_embedding_size=620,
            encoder_units=1000,
            decoder_units=1000,
            attention_units=1000,
            micro_batches=2,
            **decoder,
        ),
        text=TextConfiguration(
            tokenizer="words", vocabulary_size=30_000, joint_vocabulary=False, split_punctuation=True
        ),
        batching=BatchingConfiguration(batch_size=80, maximum_length=50),
        training=TrainingConfiguration(optimizer="adadelta", learning_rate=1.0, epochs=5),
    )


def _multi30k(learning_rate, **model):
    """Strongly regularised models for some ten thousand sentence pairs."""
    return Preset(
        model=TranslatorConfiguration(
            tied_embeddings=True, source_dropout=0.3, target_dropout=0.2, micro_batches=2, **model
        ),
        text=TextConfiguration(vocabulary_size=6000),
        training=TrainingConfiguration(
            epochs=30,
            learning_rate=learning_rate,
            schedule="cosine",
            warmup_steps=500,
            label_smoothing=0.1,
            weight_average=0.998,
            selection="loss",  # which is less noisy than the BLEU of a thousand sentences
        ),
    )


_MULTI30K = _multi30k(
    learning_rate=0.0015,
    source_embedding_size=128,
    target_embedding_size=128,
    encoder_units=256,
    decoder_units=256,
    encoder_dropout=0.4,
    output_dropout=0.4,
)

PRESETS = {
    # Learns the sample corpus in about two minutes on two cores.
    "tiny": Preset(
        model=TranslatorConfiguration(
            source_embedding_size=64,
            target_embedding_size=64,
            encoder_units=64,
            decoder_units=128,
            attention_units=64,
            source_dropout=0.1,
            output_dropout=0.1,
        ),
        text=TextConfiguration(tokenizer="words", joint_vocabulary=False, split_punctuation=True),
        training=TrainingConfiguration(
            epochs=13, learning_rate=0.004, schedule="cosine", warmup_steps=100, label_smoothing=0.1
        ),
    ),
    # The encoder–decoder of Cho et al. 2014 (arXiv:1406.1078) as the post tells it: one summary vector, no attention.
    "cho2014": Preset(
        model=TranslatorConfiguration(
            source_embedding_size=256,
            target_embedding_size=256,
            encoder_units=512,
            decoder_units=512,
            bidirectional=False,
            attention="none",
            conditional=False,
            deep_output=False,
            source_dropout=0.3,
            target_dropout=0.2,
            encoder_dropout=0.2,
            output_dropout=0.4,
            micro_batches=2,
        ),
        text=TextConfiguration(vocabulary_size=6000),
        training=TrainingConfiguration(
            epochs=20, schedule="cosine", warmup_steps=500, label_smoothing=0.1, weight_average=0.998
        ),
    ),
    # RNNsearch-50 of Bahdanau et al. 2015 (arXiv:1409.0473, appendix A.2), the model of the post's Table 1.
    "rnnsearch": _rnnsearch(conditional=False, attend_first=True, output_units=500, output_activation="maxout"),
    # The same sizes in the form of dl4mt, the code that the post links: two transitions, tanh in the output layer.
    "rnnsearch-conditional": _rnnsearch(conditional=True),
    # The sizes of LIUM's model for Multi30k (Caglayan et al. 2017, arXiv:1707.04481), more strongly regularised.
    "multi30k": _MULTI30K,
    # Better in half the time. Fewer epochs want less dropout (docs/results/translation.md).
    "multi30k-muon": _MULTI30K.override(
        [
            *("optimizer=muon", "learning_rate=0.004", "batch_size=128", "epochs=16", "warmup_steps=250"),
            *("weight_average=0.996", "source_dropout=0.2", "encoder_dropout=0.3", "output_dropout=0.3"),
        ]
    ),
    # Better by twice the weights, which more dropout keeps from overfitting, and twice the time.
    "multi30k-large": _multi30k(
        learning_rate=0.001,
        source_embedding_size=256,
        target_embedding_size=256,
        encoder_units=256,
        decoder_units=512,
        word_dropout=0.1,
        encoder_dropout=0.5,
        output_dropout=0.5,
    ),
}


def find_preset(name: str, presets: Mapping[str, Any] = PRESETS) -> Any:
    """The preset of that name, a `Preset` unless others are given.

    Raises:
        UserError: there is none; names those that exist.
    """
    if name not in presets:
        raise UserError(f"unknown preset {name!r}{nearest_name(name, presets)} of {', '.join(presets)}")
    return presets[name]
