"""From files of sentence pairs to a trained translator."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.data.dev_split import SPLIT, split_pairs
from tfnmt.data.pair_batches import evaluation_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import write_sample
from tfnmt.data.training_pairs import (
    TrainingPairs,
    batches_of,
    check_records,
    check_sampling,
    count,
    pairs_in,
    reading,
    text_of,
    tokenizers_of,
)
from tfnmt.errors import UserError
from tfnmt.files import file_errors
from tfnmt.layers.product_timing import bfloat16_is_slower
from tfnmt.text.tokenizers import Tokenizer, load_tokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.description import train_and_describe
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.preparation import copy_weights, initial_model, initial_preset, open_run
from tfnmt.training.progress import Progress
from tfnmt.training.replicas import ONE_REPLICA, Replicas
from tfnmt.training.run import TrainingRun
from tfnmt.training.run_record import SAMPLE, RunRecord, require_files, resumed_record, shared_record
from tfnmt.training.watched_files import WatchedFiles
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.evaluation import read_references
from tfnmt.translation.model_card import model_card
from tfnmt.translation.presets import Preset
from tfnmt.translation.translator import Translator

logger = logging.getLogger(__name__)

DEV_BATCH_SIZE = 64


def train_translator(
    directory: str | Path,
    preset: Preset,
    training_files: TrainingPairs | None = None,
    dev_files: ParallelFiles | int | None = None,
    resume: bool = False,
    make_callbacks: Callable[[Translator, ParallelFiles], Sequence[keras.callbacks.Callback]] | None = None,
    replicas: Replicas = ONE_REPLICA,
    command: str | None = None,
) -> tuple[Translator, Progress]:
    """Train a translator on files and leave it in a directory, with checkpoints, history.csv and a model card.

    Args:
        directory: the model directory.
        preset: all that the run depends on, but the data.
        training_files, dev_files: sentence pairs; for training, records too, whose tokenizers and `text`, like those
            of a model to begin with (key `initial`), take the place of the preset's. None, for both: the sample corpus,
            which is written to DIRECTORY/sample; of a resumed run, its own. A number in the place of dev files: so many
            of the training pairs are held out, in files in DIRECTORY/split.
        resume: go on with the run in the directory. `preset` must be `started_preset` of it; only how long the run is,
            and how often it is saved, may have changed.
        make_callbacks: gives further Keras callbacks for the run of a model, scored on these dev files.
        replicas: those that train, see `tfnmt.training.strategies.connect`. Every process
            of several calls this with the same arguments, and finds the same files.
        command: that begins the run, for its model card.

    Returns:
        The translator with the weights of the best dev score (in processes other than the chief's, with the last
        weights), and the run's progress.

    Raises:
        UserError: for everything wrong with the files, the configuration or the disk; another run writes there.
    """
    directory = Path(directory)
    if not resume:
        text = initial_preset(preset).text  # a model to begin with brings its tokenizers
        preset = preset.replace(text=text_of(training_files, text))
    with open_run(directory, preset, resume, ("bleu", "loss"), replicas) as session:
        record = shared_record(replicas, lambda: _record(directory, training_files, dev_files, resume, command))
        training_paths, dev_paths = record.paths(directory)
        training_files, dev_files = pairs_in(training_paths), ParallelFiles(*dev_paths)
        return _train(directory, preset, record, training_files, dev_files, resume, session, make_callbacks)


def _train(directory, preset, record, training_files, dev_files, resuming, session, make_callbacks):
    training = preset.training
    initial = None if resuming else initial_model(training, Translator)
    if resuming:
        tokenizers = load_tokenizer(directory, "source"), load_tokenizer(directory, "target")
    elif initial is not None:
        tokenizers = initial.tokenizers
    else:
        tokenizers = tokenizers_of(training_files, preset.text, training.seed)
    check_records(training_files, tokenizers, training.initial or directory)
    check_sampling(training_files, tokenizers, preset.batching)

    replicas = session["replicas"]
    with replicas.scope():
        model, trained = _new_models(preset, tokenizers)
    if initial is not None:
        copy_weights(initial, trained, training.initial)
    dropped = count(training_files, tokenizers, preset.batching)
    logger.info("%s: %s", training_files.paths()[0], dropped)
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in tokenizers)
    logger.info("%s weights; vocabularies of %s", f"{model.count_params():,}", sizes)
    with replicas.scope():
        compile_for_training(trained, training, training.total_updates(dropped.batches))
    trained.replicas = replicas

    def batches(epoch, skip):
        return batches_of(training_files, tokenizers, preset.batching, training.seed, epoch, skip)

    run = TrainingRun(
        directory=directory,
        configuration=training,
        model=trained,
        batches=batches,
        batches_per_epoch=dropped.batches,
        dev_scores=dev_scoring(trained, model, dev_files),
        resuming=resuming,
        **session,
        check_files=WatchedFiles(record, directory).check,
        callbacks=make_callbacks(model, dev_files) if make_callbacks and replicas.is_chief else (),
    )
    with reading(training_files):
        return model, train_and_describe(run, model, preset, record, model_card, dev_files)


def _record(directory, training_files, dev_files, resuming, command):
    """The `RunRecord` of a run that begins or goes on with these files, after a check of them."""
    require_files(training_files, dev_files, resuming)
    if resuming:
        return resumed_record(directory, *(files and files.paths() for files in (training_files, dev_files)))
    if isinstance(dev_files, int):
        of_text = isinstance(training_files, ParallelFiles)
        require(of_text, "dev_files", dev_files, "a number only with training_files of text to hold out of")
        training_files.check()
        training_files, dev_files = (
            ParallelFiles(*paths) for paths in split_pairs(training_files.paths(), dev_files, directory / SPLIT)
        )
    if training_files is None:
        with file_errors(directory):
            sample = write_sample(directory / SAMPLE)
        training_files, dev_files = (
            ParallelFiles(*(sample[f"{split}.{side}"] for side in ("en", "de"))) for split in ("train", "dev")
        )
    for files in (training_files, dev_files):
        files.check()
    return RunRecord.of(directory, training_files.paths(), dev_files.paths(), command=command)


def compile_for_training(model: Translator, configuration: TrainingConfiguration, total_updates: int) -> None:
    """`model.compile` as a configuration asks for; `total_updates` is how many updates a cosine schedule spans."""
    model.compile(
        optimizer=make_optimizer(configuration, total_updates),
        loss=MaskedCrossEntropy(configuration.label_smoothing, configuration.loss_mean),
        metrics=[Perplexity(), TokenAccuracy()],
    )
    size = model.target_tokenizer.vocabulary_size
    model.compute_metrics(None, tf.zeros([1, 1], tf.int32), tf.zeros([1, 1, size]))  # which makes their variables


def _new_models(preset: Preset, tokenizers: tuple[Tokenizer, Tokenizer]) -> tuple[Translator, Translator]:
    """The model, and the one to train: the same, or one that multiplies in bfloat16."""
    keras.utils.set_random_seed(preset.training.seed)
    model = Translator(preset.model, *tokenizers)
    if not preset.training.mixed_precision:
        return model, model
    if bfloat16_is_slower():
        logger.warning(
            "mixed_precision=true: this machine multiplies faster in float32; without it, training is faster"
        )
    trained = Translator(preset.model, *tokenizers)
    trained.product_dtype = "bfloat16"
    return model, trained


def dev_scoring(trained: Translator, model: Translator, files: ParallelFiles) -> Callable[[], dict[str, float]]:
    """The `dev_scores` of a run: loss, perplexity and accuracy by Keras's `evaluate`, BLEU of greedy search.

    Args:
        trained: compiled as `compile_for_training` does.
        model: searches; `trained` itself or, where that multiplies in bfloat16, one in float32 with the same weights.
        files: the dev pairs.

    Raises:
        UserError: all sources are blank.
    """
    tokenizers = model.source_tokenizer, model.target_tokenizer
    sources, references = read_references(model, files)
    if not any(source.strip() for source in sources):
        raise UserError(f"{files.source}: has no sentence, only blank lines")
    pairs = files.pairs().apply(tf.data.experimental.assert_cardinality(len(sources)))
    batches = evaluation_batches(pairs, *tokenizers, DEV_BATCH_SIZE, model.configuration.maximum_source_length)

    def dev_scores():
        figures = trained.evaluate(batches, verbose=0, return_dict=True)
        if model is not trained:
            model.set_weights(trained.get_weights())
        bleu = translation_scores(model.translate(sources, beam_size=1), references)["bleu"]
        return {f"dev_{name}": value for name, value in figures.items()} | {"dev_bleu": bleu}

    return dev_scores
