"""From files of sentence pairs to a trained translator."""

import sys
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.configuration import to_json
from tfnmt.data.batching import count_dropped, evaluation_batches, training_batches
from tfnmt.errors import UserError
from tfnmt.models.directory import CONFIGURATION, read_description, save_description, save_weights
from tfnmt.models.translator import Translator
from tfnmt.text.tokenizers import load_tokenizer
from tfnmt.text.vocabularies import make_tokenizers
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.run import train
from tfnmt.training.scores import translation_scores


def train_translator(directory, preset, training_files, dev_files, resume=False):
    """Train a translator on files and leave it in a directory, with checkpoints and history.csv.

    Args:
        directory: the model directory.
        preset: a `Preset`.
        training_files, dev_files: `ParallelFiles`.
        resume: go on with the run in the directory. `preset` must be the one it was started with; only how long the
            run is, and how often it is saved, may have changed.

    Returns:
        (the `Translator` with the weights of the best dev score, its run's `Progress`).

    Raises:
        UserError: for everything wrong with the files, the configuration or the disk.
    """
    directory = Path(directory)
    _claim(directory, preset, resume)
    for files in (training_files, dev_files):
        files.check()
    keras.utils.set_random_seed(preset.training.seed)
    if resume and (directory / CONFIGURATION).exists():
        tokenizers = load_tokenizer(directory, "source"), load_tokenizer(directory, "target")
    else:
        tokenizers = make_tokenizers(preset.text, *training_files.sides(), preset.training.seed)
    if preset.training.mixed_precision:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model = Translator(preset.model, *tokenizers)
    save_description(model, directory, text=preset.text, batching=preset.batching, training=preset.training)

    dropped = count_dropped(training_files.pairs(), *tokenizers, preset.batching)
    _say(f"{training_files.source}: {dropped}")
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in tokenizers)
    _say(f"{model.count_params():,} weights; vocabularies of {sizes}")
    total_steps = preset.training.epochs * dropped.batches // preset.training.accumulation_steps
    compile_for_training(model, preset.training, total_steps)

    def batches(epoch, skip):
        return training_batches(training_files.pairs(), *tokenizers, preset.batching, preset.training.seed, epoch, skip)

    progress = train(
        model,
        batches,
        dropped.batches,
        dev_scores=_dev_scoring(model, dev_files),
        save_best=lambda: save_weights(model, directory),
        directory=directory,
        configuration=preset.training,
        resume=resume,
    )
    model.load_weights(directory / "model.weights.h5")
    return model, progress


def compile_for_training(model, configuration, total_steps):
    """`model.compile` with what a `TrainingConfiguration` says."""
    model.compile(
        optimizer=make_optimizer(configuration, total_steps),
        loss=MaskedCrossEntropy(configuration.label_smoothing),
        metrics=[Perplexity(), TokenAccuracy()],
    )


def _dev_scoring(model, files):
    """The `dev_scores` of `train`: loss, perplexity and accuracy through Keras's `evaluate`, BLEU of greedy search."""
    batches = evaluation_batches(files.pairs(), model.source_tokenizer, model.target_tokenizer, 64)
    sources, references = (list(side) for side in files.sides())
    count = -(-len(sources) // 64)
    batches = batches.apply(tf.data.experimental.assert_cardinality(count))

    def dev_scores():
        figures = model.evaluate(batches, verbose=0, return_dict=True)
        scores = {f"dev_{name}": value for name, value in figures.items()}
        translations = model.translate(sources, beam_size=1)
        return scores | {"dev_bleu": translation_scores(translations, references)["bleu"]}

    return dev_scores


def _claim(directory, preset, resume):
    """Refuse to train over another run, and to resume one with other settings."""
    if not resume:
        if (directory / CONFIGURATION).exists():
            raise UserError(
                f"{directory}: a model is there already; --resume goes on with it, or name another --output"
            )
        return
    if not (directory / CONFIGURATION).exists():
        return  # killed before it had begun
    kept = read_description(directory)
    may_change = {"epochs", "steps", "patience", "checkpoint_steps", "keep_checkpoints"}
    for name in ("model", "text", "batching", "training"):
        for key, value in to_json(getattr(preset, name)).items():
            was = kept.get(name, {}).get(key, value)
            if was != value and key not in may_change:
                raise UserError(f"{directory}: the run was started with {key}={was}, not {value}; resume it with that")


def _say(line):
    print(line, file=sys.stderr)
