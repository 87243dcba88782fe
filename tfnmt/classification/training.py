"""Training a classifier on files of labelled sentences."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import keras

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import TOKENIZER_KEYS
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.evaluation import evaluate_batches, evaluation_dataset
from tfnmt.classification.model_card import model_card
from tfnmt.classification.presets import ClassifierPreset
from tfnmt.configuration import require
from tfnmt.data.dev_split import SPLIT, split_examples
from tfnmt.data.example_batches import evaluation_batches, number_of_batches, training_batches
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import SentenceReader, SkippedExampleError
from tfnmt.data.lines import read_lines
from tfnmt.data.tasks import TASKS
from tfnmt.data.vectors import read_vectors, vectors_size
from tfnmt.errors import UserError
from tfnmt.files import file_errors
from tfnmt.text.tokenizers import WordTokenizer, load_tokenizer
from tfnmt.training.description import train_and_describe
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.preparation import copy_weights, initial_model, initial_preset, open_run
from tfnmt.training.progress import Progress
from tfnmt.training.replicas import ONE_REPLICA, Replicas
from tfnmt.training.run import TrainingRun
from tfnmt.training.run_record import SAMPLE, RunRecord, require_files, resumed_record, shared_record
from tfnmt.training.watched_files import WatchedFiles

logger = logging.getLogger(__name__)


def train_classifier(
    directory: str | Path,
    preset: ClassifierPreset,
    training_files: Sequence[str | Path] | None = None,
    dev_files: Sequence[str | Path] | int | None = None,
    vectors: str | Path | None = None,
    word_files: Sequence[str | Path] = (),
    resume: bool = False,
    make_callbacks: Callable[[Classifier, ExampleDataset], Sequence[keras.callbacks.Callback]] | None = None,
    replicas: Replicas = ONE_REPLICA,
    command: str | None = None,
) -> tuple[Classifier, Progress]:
    """Train a classifier on files and leave it in a directory, with checkpoints, history.csv and a model card.

    Args:
        directory: the model directory.
        preset: all that the run depends on, but the data.
        training_files, dev_files: paths of examples of the preset's task; a number and None as in `train_translator`.
        vectors: a file of word vectors to start from, see `tfnmt.data.vectors`; None for random ones. A resumed run
            has them already.
        word_files: further examples whose words have vectors, too, such as those of the test set; with `vectors`.
        resume: as in `train_translator`.
        make_callbacks: gives further Keras callbacks for the run of a model, scored on these dev examples.
        replicas, command: as in `train_translator`.

    Returns:
        The classifier with the weights of the best dev score, and the run's progress; as `train_translator`.

    Raises:
        UserError: anything wrong with the files, the configuration or the disk; another run writes there.
    """
    directory, vectors = Path(directory), None if resume else vectors
    preset = _with_vectors(preset, vectors)
    if not resume:
        first = initial_preset(preset).model  # a model to begin with brings its words
        own = {key: getattr(first, key) for key in TOKENIZER_KEYS}
        preset = preset.replace(model=preset.model.replace(**own))
    require(not preset.training.mixed_precision, "mixed_precision", True, "false for classifiers")
    mean = preset.training.loss_mean
    require(mean == "words", "loss_mean", mean, "words for classifiers, where it has no effect")
    with open_run(directory, preset, resume, ("accuracy", "loss"), replicas) as session:
        record = shared_record(
            replicas, lambda: _record(directory, preset, training_files, dev_files, vectors, resume, command)
        )
        return _train(directory, preset, record, vectors, word_files, resume, session, make_callbacks)


def _train(directory, preset, record, vectors, word_files, resuming, session, make_callbacks):
    training, batch_size = preset.training, preset.examples.batch_size
    initial = None if resuming else initial_model(training, Classifier)
    examples, dev_examples = _read(preset, *record.paths(directory))
    if resuming:
        tokenizer = load_tokenizer(directory, "words")
    elif initial is not None:
        tokenizer = initial.tokenizer
    else:
        tokenizer = _new_tokenizer(preset, examples, dev_examples, vectors, word_files)

    replicas = session["replicas"]
    keras.utils.set_random_seed(training.seed)
    with replicas.scope():
        model = Classifier(preset.model, tokenizer, training.label_smoothing)
    model.replicas = replicas
    if initial is not None:
        copy_weights(initial, model, training.initial)
    if vectors is not None:
        matrix, coverage = read_vectors(vectors, tokenizer, training.seed, examples.word_counts)
        model.encoder.embedding.E.embeddings.assign(matrix)
        logger.info("%s: %s", vectors, coverage)
    elif not (preset.model.trained_embeddings or initial or resuming):
        logger.warning(
            "no word vectors are given: random ones are used, and are not trained (trained_embeddings=false)"
        )
    batches_per_epoch = number_of_batches(examples, batch_size)
    _warn_of_lengths(preset, examples, batches_per_epoch)
    logger.info("%s weights; %s words", f"{model.count_params():,}", f"{tokenizer.vocabulary_size:,}")
    with replicas.scope():
        model.compile(make_optimizer(training, training.total_updates(batches_per_epoch)))
    dev_batches = evaluation_batches(dev_examples, tokenizer, batch_size)

    def batches(epoch, skip):
        return training_batches(examples, tokenizer, batch_size, training.seed, epoch, skip, preset.examples.longest)

    def dev_scores():
        figures, _ = evaluate_batches(model, dev_batches, dev_examples)
        return {f"dev_{name}": float(value) for name, value in figures.items()}

    run = TrainingRun(
        directory=directory,
        configuration=training,
        model=model,
        batches=batches,
        batches_per_epoch=batches_per_epoch,
        dev_scores=dev_scores,
        resuming=resuming,
        **session,
        check_files=WatchedFiles(record, directory).check,
        callbacks=make_callbacks(model, dev_examples) if make_callbacks and replicas.is_chief else (),
    )
    return model, train_and_describe(run, model, preset, record, model_card, dev_examples)


def _warn_of_lengths(preset, examples, batches_per_epoch):
    """Say so where the run ends before the limit of lengths has grown to those of all examples."""
    c, batches = preset.examples, preset.training.total_batches(batches_per_epoch)
    epochs = -(-batches // batches_per_epoch)
    longest = c.longest(epochs - 1)
    if longest < min(c.maximum_length, examples.lengths.max()):
        told = "examples of more than %d words are never trained on: growing_epochs=%d, epochs=%d"
        logger.warning(told, longest, c.growing_epochs, epochs)


def _new_tokenizer(preset, examples, dev_examples, vectors, word_files):
    """The tokenizer of the examples' words; with vectors, which need not be learned, of all words that have one."""
    counts = examples.word_counts + (dev_examples.word_counts if vectors else Counter())
    if word_files:
        counts += ExampleDataset(TASKS[preset.model.task], word_files, examples.reader).word_counts
    return WordTokenizer.from_counts(counts, preset.model.vocabulary_size, preset.model.lowercase)


def _record(directory, preset, training_files, dev_files, vectors, resuming, command):
    """The `RunRecord` of a run that begins or goes on with these files."""
    require_files(training_files, dev_files, resuming)
    if resuming:
        return resumed_record(directory, training_files, dev_files)
    if isinstance(dev_files, int):
        _training_examples(preset, training_files)  # what is wrong is told of these, and not of the parts
        training_files, dev_files = _divided(preset, training_files, dev_files, directory / SPLIT)
    if training_files is None:
        with file_errors(directory):
            sample = TASKS[preset.model.task].write_sample(directory / SAMPLE)
        training_files, dev_files = [sample["train"]], [sample["dev"]]
    return RunRecord.of(directory, training_files, dev_files, vectors, command)


def _divided(preset, paths, number, directory):
    """The training files without so many examples, and these. Pairs with the same first sentence stay together."""
    task = TASKS[preset.model.task]
    formats = {path: task.file_format(Path(path), next(read_lines(path), "")) for path in paths}

    def key(path, line):
        try:
            first, *_ = formats[path][0](line, SentenceReader(parses=False)).sentences
        except SkippedExampleError:
            return line
        return " ".join(first.words)

    headers = [formats[path][1] for path in paths]
    return split_examples(paths, number, directory, headers, *([key] if task.sentences == 2 else []))


def _with_vectors(preset, vectors):
    """The preset, with the size of the word vectors in a file."""
    if vectors is None:
        return preset
    if preset.training.initial is not None:
        raise UserError(
            f"{vectors}: the word vectors come from initial={preset.training.initial} already; give only one of them"
        )
    return preset.replace(model=preset.model.replace(embedding_size=vectors_size(vectors)))


def _training_examples(preset, files):
    c, spec = preset.model, ENCODERS[preset.model.encoder]
    reader = SentenceReader(spec.trains_on_parses, preset.examples.broken_trees, c.brackets_as_words)
    return ExampleDataset(TASKS[c.task], files, reader, preset.examples.maximum_length)


def _read(preset, training_files, dev_files):
    """The training and dev `ExampleDataset`s; logs how many examples of each were skipped, and why."""
    c, spec = preset.model, ENCODERS[preset.model.encoder]
    examples = _training_examples(preset, training_files)
    if spec.predicts_parses and not spec.trains_on_parses:  # its parses are compared with those of the dev files
        dev_examples = evaluation_dataset(c, dev_files, preset.examples.broken_trees)
    else:
        dev_examples = ExampleDataset(TASKS[c.task], dev_files, examples.reader)
    for files, dataset in ((training_files, examples), (dev_files, dev_examples)):
        logger.info("%s: %s", ", ".join(map(str, files)), dataset.summary)
    return examples, dev_examples
