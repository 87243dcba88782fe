"""From files of sentence pairs to a trained translator."""

from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.data.pair_batches import count_dropped, evaluation_batches, training_batches
from tfnmt.text.tokenizers import load_tokenizer, make_tokenizers
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.runs import claim, initial_model, naming, precision, run_training, say, start_from
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.evaluation import read_references
from tfnmt.translation.translator import Translator


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
    begun = claim(directory, preset, resume, measures=("bleu", "loss"))
    initial = initial_model(preset.training, directory, Translator)
    for files in (training_files, dev_files):
        files.check()
    if begun:
        tokenizers = load_tokenizer(directory, "source"), load_tokenizer(directory, "target")
    elif initial is not None:
        tokenizers = initial.tokenizers
    else:
        with naming(training_files.source):
            tokenizers = make_tokenizers(preset.text, *training_files.sides(), preset.training.seed)
    keras.utils.set_random_seed(preset.training.seed)
    model = Translator(preset.model, *tokenizers)
    if preset.training.mixed_precision:
        with precision("mixed_bfloat16"):
            trained = Translator(preset.model, *tokenizers)
    else:
        trained = model
    if initial is not None:
        start_from(trained, initial, preset.training.initial)

    with naming(training_files.source):
        dropped = count_dropped(training_files.pairs(), *tokenizers, preset.batching)
    say(f"{training_files.source}: {dropped}")
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in tokenizers)
    say(f"{model.count_params():,} weights; vocabularies of {sizes}")
    total_steps = preset.training.epochs * dropped.batches // preset.training.accumulation_steps
    compile_for_training(trained, preset.training, total_steps)

    def batches(epoch, skip):
        return training_batches(training_files.pairs(), *tokenizers, preset.batching, preset.training.seed, epoch, skip)

    dev_scores = _dev_scoring(trained, model, dev_files)
    callbacks = watch(model) if watch else ()
    return run_training(directory, preset, model, trained, batches, dropped.batches, dev_scores, begun, callbacks)


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
    sources, references = read_references(model, files)
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
