"""Parsing and classifying the lines of a corpus."""

from collections.abc import Sequence

from pydantic import Field

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.prediction import check_text
from tfnmt.classification.streaming import parse_lines
from tfnmt.corpus.tasks import Task, Work, by_length
from tfnmt.data.examples import split_words
from tfnmt.errors import UserError
from tfnmt.training.model_directory import load_model, model_files

_SHARD_BATCHES = 50


class ClassifierTask(Task):
    """A task of a classifier."""

    model: str = Field(description="the model directory")
    batch_size: int = Field(64, description="lines at once", ge=1)
    maximum_words: int = Field(1000, description="a line with more is reported and left empty", ge=1)

    @property
    def files(self) -> tuple[str, ...]:
        """Those of the model."""
        return model_files(self.model, Classifier.tokenizer_names)

    @property
    def shard_lines(self) -> int:
        """Whole batches."""
        return _SHARD_BATCHES * self.batch_size


class ParsingTask(ClassifierTask):
    """Parse each line to binary brackets."""

    def load(self) -> "Parsing":
        """See `Task.load`."""
        return Parsing(self)


class ClassificationTask(ClassifierTask):
    """Write the label of each line: a sentence, or two with a TAB between them, as the model's task has it."""

    def load(self) -> "Classifying":
        """See `Task.load`."""
        return Classifying(self)


class Parsing(Work):
    """A parser at work.

    Args:
        task: what it does.
    """

    def __init__(self, task: ParsingTask):
        self.task, self.model = task, load_model(Classifier, task.model)
        self.model.parse([])  # a model that does not parse says so

    def read(self, line: str) -> tuple[str, str | None]:
        """The line, if it has what the model reads."""
        _check_words(line, self.task.maximum_words)
        if split_words(line):
            check_text(self.model.configuration, line)
        return line, None

    def write(self, texts: Sequence[str], first: int) -> list[str]:
        """The trees, those of similar length parsed together; an empty line for one without words."""
        return by_length(lambda lines: parse_lines(self.model, lines, self.task.batch_size), texts)


class Classifying(Work):
    """A classifier at work.

    Args:
        task: what it does.
    """

    def __init__(self, task: ClassificationTask):
        self.task, self.model = task, load_model(Classifier, task.model)

    def read(self, line: str) -> tuple[str, str | None]:
        """The line, if it has what the model reads."""
        if not line:
            return line, None
        sentences = line.split("\t") if self.model.configuration.reads_pairs else [line]
        if self.model.configuration.reads_pairs and len(sentences) != 2:
            raise UserError(f"the model reads 2 sentences with a TAB between them; here is {len(sentences)}")
        for sentence in sentences:
            if not split_words(sentence):
                raise UserError("a sentence without words")
            _check_words(sentence, self.task.maximum_words)
            check_text(self.model.configuration, sentence)
        return line, None

    def write(self, texts: Sequence[str], first: int) -> list[str]:
        """The labels, of lines of similar length together; an empty line for an empty one."""
        return by_length(self._labels, texts)

    def _labels(self, lines):
        texts = [line for line in lines if line]
        if self.model.configuration.reads_pairs:
            texts = [tuple(text.split("\t")) for text in texts]
        labels = iter(self.model.classify(texts, self.task.batch_size))
        return [next(labels) if line else "" for line in lines]


def _check_words(text, maximum):
    if (words := len(split_words(text))) > maximum:
        raise UserError(f"{words:,} words, more than --maximum-words {maximum:,}")
