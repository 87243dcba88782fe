"""Training a classifier on files of labelled sentences."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import keras

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.evaluation import evaluate_batches, evaluation_dataset
from tfnmt.classification.presets import ClassifierPreset
from tfnmt.configuration import require
from tfnmt.data.example_batches import evaluation_batches, number_of_batches, training_batches
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import SentenceReader
from tfnmt.data.tasks import TASKS
from tfnmt.data.vectors import read_vectors, vectors_size
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer, load_tokenizer
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.progress import Progress
from tfnmt.training.runs import claim, initial_model, run_training, say, start_from


def train_classifier(
    directory: str | Path,
    preset: ClassifierPreset,
    training_files: Sequence[str | Path],
    dev_files: Sequence[str | Path],
    vectors: str | Path | None = None,
    resume: bool = False,
    watch: Callable[[Classifier, ExampleDataset], Sequence[keras.callbacks.Callback]] | None = None,
) -> tuple[Classifier, Progress]:
    """Train a classifier on files of examples; write the model, checkpoints and history.csv to a directory.

    Args:
        directory: the model directory.
        preset: all configurations.
        training_files, dev_files: paths of files of the task.
        vectors: a file of pretrained word vectors, see `tfnmt.data.vectors`; None for random ones.
        resume: as for `train_translator`.
        watch: called with the model and the dev dataset, gives further callbacks for the run.

    Returns:
        (the model with the weights of the best dev score, the progress of its run).

    Raises:
        UserError: anything wrong with the files, the configuration or the disk.
    """
    directory = Path(directory)
    if vectors is not None and preset.training.initial is not None:
        raise UserError(
            f"{vectors}: the word vectors come from initial={preset.training.initial} already; give only one of them"
        )
    if vectors is not None:
        sized = preset.model.replace(embedding_size=vectors_size(vectors))
        preset = preset.replace(model=sized)
    c, training = preset.model, preset.training
    require(not training.mixed_precision, "mixed_precision", True, "false for classifiers")
    begun = claim(directory, preset, resume, measures=("accuracy", "loss"))
    initial = initial_model(training, directory, Classifier)
    examples, dev_examples = _read(preset, training_files, dev_files)
    if begun:
        tokenizer = load_tokenizer(directory, "words")
    elif initial is not None:
        tokenizer = initial.tokenizer
    else:
        # Words of the dev files alone have vectors too, if these are given and need not be learned.
        counts = examples.word_counts + (dev_examples.word_counts if vectors else Counter())
        tokenizer = WordTokenizer.from_counts(counts, c.vocabulary_size, c.lowercase)
    keras.utils.set_random_seed(training.seed)
    model = Classifier(c, tokenizer, training.label_smoothing)
    if initial is not None:
        start_from(model, initial, training.initial)
    if vectors is not None:
        matrix, coverage = read_vectors(vectors, tokenizer, training.seed, examples.word_counts)
        model.encoder.embedding.E.embeddings.assign(matrix)
        say(f"{vectors}: {coverage}")
    say(f"{model.count_params():,} weights; {tokenizer.vocabulary_size:,} words")
    batch_size = preset.examples.batch_size
    batches_per_epoch = number_of_batches(examples, batch_size)
    model.compile(make_optimizer(training, training.epochs * batches_per_epoch // training.accumulation_steps))
    dev_batches = evaluation_batches(dev_examples, tokenizer, batch_size)

    def batches(epoch, skip):
        return training_batches(examples, tokenizer, batch_size, training.seed, epoch, skip)

    def dev_scores():
        return {f"dev_{name}": float(value) for name, value in evaluate_batches(model, dev_batches).items()}

    callbacks = watch(model, dev_examples) if watch else ()
    return run_training(directory, preset, model, model, batches, batches_per_epoch, dev_scores, begun, callbacks)


def _read(preset, training_files, dev_files):
    """The training and dev `ExampleDataset`s; logs how many examples of each were skipped, and why."""
    c, spec = preset.model, ENCODERS[preset.model.encoder]
    reader = SentenceReader(spec.trains_on_parses, preset.examples.broken_trees)
    examples = ExampleDataset(TASKS[c.task], training_files, reader, preset.examples.maximum_length)
    if (
        spec.predicts_parses and not spec.trains_on_parses
    ):  # compare its parses with those of the dev files all the same
        dev_examples = evaluation_dataset(c, dev_files)
    else:
        dev_examples = ExampleDataset(TASKS[c.task], dev_files, reader)
    for files, dataset in ((training_files, examples), (dev_files, dev_examples)):
        say(f"{', '.join(map(str, files))}: {dataset.summary}")
    return examples, dev_examples
