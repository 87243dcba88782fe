"""From files of sentence pairs to a trained translator."""

import contextlib
import sys
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.configuration import to_json
from tfnmt.data.batching import count_dropped, evaluation_batches, training_batches
from tfnmt.errors import UserError
from tfnmt.models.directory import (
    CONFIGURATION,
    WEIGHTS,
    load_weights,
    read_configuration,
    save_configuration,
    save_tokenizers,
    save_weights,
)
from tfnmt.models.long_sentences import cut_long
from tfnmt.models.translator import Translator
from tfnmt.text.tokenizers import load_tokenizer
from tfnmt.text.vocabularies import make_tokenizers
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.run import CHECKPOINTS, train
from tfnmt.training.scores import translation_scores

# A resumed run may have other values of these: they say how long it is and how often it is saved, not what it computes.
MAY_CHANGE = {"epochs", "steps", "patience", "checkpoint_steps", "keep_checkpoints"}


def train_translator(directory, preset, training_files, dev_files, resume=False, watch=None):
    """Train a translator on files and leave it in a directory, with checkpoints and history.csv.

    Args:
        directory: the model directory.
        preset: a `Preset`.
        training_files, dev_files: `ParallelFiles`.
        resume: go on with the run in the directory, or start it if none has begun there. `preset` must be the one it
            was started with; only how long the run is, and how often it is saved, may have changed.
        watch: `watch(model)` gives further Keras callbacks for the run.

    Returns:
        (the `Translator` with the weights of the best dev score, its run's `Progress`).

    Raises:
        UserError: for everything wrong with the files, the configuration or the disk.
    """
    directory = Path(directory)
    begun = _claim(directory, preset, resume)
    for files in (training_files, dev_files):
        files.check()
    if begun:
        tokenizers = load_tokenizer(directory, "source"), load_tokenizer(directory, "target")
    else:
        with _naming(training_files.source):
            tokenizers = make_tokenizers(preset.text, *training_files.sides(), preset.training.seed)
    keras.utils.set_random_seed(preset.training.seed)
    model = Translator(preset.model, *tokenizers)
    if preset.training.mixed_precision:
        with _precision("mixed_bfloat16"):
            trained = Translator(preset.model, *tokenizers)
    else:
        trained = model

    with _naming(training_files.source):
        dropped = count_dropped(training_files.pairs(), *tokenizers, preset.batching)
    _say(f"{training_files.source}: {dropped}")
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in tokenizers)
    _say(f"{model.count_params():,} weights; vocabularies of {sizes}")
    total_steps = preset.training.epochs * dropped.batches // preset.training.accumulation_steps
    compile_for_training(trained, preset.training, total_steps)
    if not begun:
        save_tokenizers(model, directory)
    save_configuration(model, directory, text=preset.text, batching=preset.batching, training=preset.training)

    def batches(epoch, skip):
        return training_batches(training_files.pairs(), *tokenizers, preset.batching, preset.training.seed, epoch, skip)

    progress = train(
        trained,
        batches,
        dropped.batches,
        dev_scores=_dev_scoring(trained, model, dev_files),
        save_best=lambda: save_weights(trained, directory),
        directory=directory,
        configuration=preset.training,
        resume=begun,
        callbacks=watch(model) if watch else (),
    )
    load_weights(model, directory)
    return model, progress


def compile_for_training(model, configuration, total_steps):
    """`model.compile` with what a `TrainingConfiguration` says."""
    model.compile(
        optimizer=make_optimizer(configuration, total_steps),
        loss=MaskedCrossEntropy(configuration.label_smoothing),
        metrics=[Perplexity(), TokenAccuracy()],
    )


def _dev_scoring(trained, model, files):
    """The `dev_scores` of `train`: loss, perplexity and accuracy through Keras's `evaluate`, BLEU of greedy search.

    The search is done by `model`, which is `trained` itself or, where that computes in bfloat16, one that does not.
    """
    tokenizers = model.source_tokenizer, model.target_tokenizer
    batches = evaluation_batches(files.pairs(), *tokenizers, 64, model.configuration.maximum_source_length)
    sources, references = files.sides()
    sources, references = list(cut_long(model, sources, files.source)), list(references)
    count = -(-len(sources) // 64)
    batches = batches.apply(tf.data.experimental.assert_cardinality(count))

    def dev_scores():
        figures = trained.evaluate(batches, verbose=0, return_dict=True)
        scores = {f"dev_{name}": value for name, value in figures.items()}
        if model is not trained:
            model.set_weights(trained.get_weights())
        translations = model.translate(sources, beam_size=1)
        return scores | {"dev_bleu": translation_scores(translations, references)["bleu"]}

    return dev_scores


def _claim(directory, preset, resume):
    """Whether a run to go on with has begun in the directory.

    Raises:
        UserError: there is one and it is not to be resumed, or was started with other settings.
    """
    found = [name for name in (CONFIGURATION, CHECKPOINTS, WEIGHTS) if (directory / name).exists()]
    if not found:
        return False  # a resumed run may have been killed before it had begun
    if not resume:
        raise UserError(f"{directory}: a model is there already; --resume goes on with it, or name another --output")
    kept = read_configuration(directory, **{name: type(value) for name, value in vars(preset).items()})
    for name, configuration in vars(preset).items():
        was = to_json(kept[name])
        for key, value in to_json(configuration).items():
            if was[key] != value and key not in MAY_CHANGE:
                raise UserError(
                    f"{directory}: the run was started with {key}={was[key]}, not {value};"
                    " give --resume the --preset and --set that it was started with"
                )
    return True


@contextlib.contextmanager
def _naming(file):
    """Put the file's name before what a `UserError` says."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


@contextlib.contextmanager
def _precision(name):
    """Layers made within it compute as Keras's dtype policy of that name says."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _say(line):
    print(line, file=sys.stderr)
