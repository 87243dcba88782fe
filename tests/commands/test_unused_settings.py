"""Settings that change nothing are told, and only these."""

import importlib

import keras
import numpy as np
import pytest

from tests.commands.calls import call
from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import OF_ENCODERS, ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.commands.training_options import warn_of_unprofiled
from tfnmt.commands.unused_settings import warn_of_unused_settings
from tfnmt.data.batching_configuration import ExamplesConfiguration
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS

OTHER_VALUES = {
    "units": 12,
    "encoder_layers": 2,
    "bidirectional": True,
    "widths": (3,),
    "tracker_units": 7,
    "state_dropout": 0.5,
    "composition": "grc",
    "composition_dropout": 0.5,
    "leaf_rnn": "gru",
    "tracker_reads": "words",
    "reduce_bias": 5.0,
    "tracked_composition": False,
}


def encoder_of(configuration):
    """What a model with fixed first weights has: the shapes and values of its encoder's weights, and its settings."""
    keras.utils.set_random_seed(1)
    encoder = Classifier(configuration, WordTokenizer([*"abc"])).encoder
    config = encoder.get_config()
    weights = {weight.path: np.array(weight) for weight in encoder.weights}
    return {name: config[name] for name in config if name not in ("name", "embedding")}, weights


@pytest.mark.parametrize("encoder", ENCODERS)
def test_told_are_the_keys_that_change_nothing_of_an_encoder(encoder):
    assert OTHER_VALUES.keys() == OF_ENCODERS
    plain = ClassifierConfiguration(
        task="sst", encoder=encoder, embedding_size=5, units=8, tracker_units=6, tracked_composition=False
    )
    settings, weights = encoder_of(plain)
    for key, value in OTHER_VALUES.items():
        if key == "tracked_composition":
            value = True
        other_settings, other_weights = encoder_of(plain.replace(**{key: value}))
        same = weights.keys() == other_weights.keys() and all(
            np.array_equal(weights[path], other_weights[path]) for path in weights
        )
        assert (same and settings == other_settings) == (key in plain.without_effect()), key


@pytest.mark.parametrize(
    ("configuration", "unused"),
    [
        (TranslatorConfiguration(), {"residual", "risk_samples", "risk_sharpness", "risk_temperature"}),
        (
            TranslatorConfiguration(attention="none", encoder_layers=2, risk_weight=1.0),
            {"conditional", "attention_units"},
        ),
        (TextConfiguration(tokenizer="words"), {"character_coverage"}),
        (TextConfiguration(tokenizer="bpe"), {"split_punctuation"}),
        (TrainingConfiguration(), {"plateau_patience"}),
        (TrainingConfiguration(schedule="plateau"), set()),
        (ExamplesConfiguration(), {"growing_epochs"}),
        (ExamplesConfiguration(first_length=5), set()),
    ],
)
def test_keys_that_need_another_one(configuration, unused):
    assert configuration.without_effect().keys() == unused


def test_keys_of_parsers_and_of_the_head():
    spinn = ClassifierConfiguration(encoder="spinn", head_layers=0).without_effect()
    assert "transition_weight" not in spinn and spinn["samples"] == spinn["reward"] == "encoder=spinn"
    assert spinn["head_units"] == "head_layers=0" and spinn["activation"] == "head_layers=0 and encoder=spinn"
    drawn = ClassifierConfiguration(encoder="rl-spinn", samples=0).without_effect()
    assert drawn["reward"] == "samples=0" and "samples" not in drawn
    words = ClassifierConfiguration(encoder="spinn", tracker_reads="words").without_effect()
    assert words["tracked_composition"] == "tracker_reads=words"
    given = ClassifierConfiguration(encoder="spinn-pi", tracker_reads="words").without_effect()
    assert given["tracked_composition"] == given["tracker_reads"] == "encoder=spinn-pi"
    assert "activation" not in ClassifierConfiguration(encoder="cnn", head_layers=0).without_effect()


def test_steps_to_profile_that_a_run_did_not_come_through_are_told(logged):
    for before, after in ((0, 19), (0, 20), (19, 40), (20, 40)):
        warn_of_unprofiled((20, 30), before, after)
    warn_of_unprofiled(None, 0, 1)
    assert logged() == [
        "--profile-steps 20-30: the run ended after step 19",
        "--profile-steps 20-30: the run went on after step 20",
    ]


def test_only_settings_that_are_given_are_told(logged):
    warn_of_unused_settings(PRESETS["tiny"], ["residual=true", "seed=2"])
    warn_of_unused_settings(CLASSIFIER_PRESETS["tiny"], [])
    warn_of_unused_settings(CLASSIFIER_PRESETS["tiny"], ["embedding_size=7"], {"embedding_size": "--vectors"})
    assert logged() == [
        "residual has no effect with one layer in encoder and decoder",
        "embedding_size has no effect with --vectors",
    ]


@pytest.mark.parametrize(
    "verb, options, told",
    [
        (
            "train-translator",
            ["--set", "residual=true"],
            "residual has no effect with one layer in encoder and decoder",
        ),
        (
            "train-classifier",
            ["--task", "sst", "--encoder", "bag", "--vectors", "V", "--set", "embedding_size=7"],
            "embedding_size has no effect with --vectors, which have a size of their own",
        ),
    ],
)
def test_commands_that_train_tell_them(verb, options, told, monkeypatch, logged):
    command = importlib.import_module(f"tfnmt.commands.{verb.replace('-', '_')}")
    monkeypatch.setattr(command, "train_in_process", lambda *_: "trained")
    assert call(verb, "--output", "run", *options) == "trained\n"
    assert logged() == [told]
