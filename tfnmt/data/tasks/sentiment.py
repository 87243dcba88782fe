"""The Stanford Sentiment Treebank: a tree a line, with a label from 0 to 4 on every phrase (Socher et al. 2013)."""

import random

from tfnmt.data.examples import Example, Sentence, SentenceReader, SkippedExampleError
from tfnmt.data.samples import sentiment
from tfnmt.data.tasks.task import Task
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_labelled_brackets

_ANNOTATIONS = ("0", "1", "2", "3", "4")


class SST(Task):
    """Five classes, as annotated."""

    name = "sst"
    title = "Stanford Sentiment Treebank, five classes"
    labels: tuple[str, ...] = ("very negative", "negative", "neutral", "positive", "very positive")
    phrase_labels = True
    sample_suffix = ".txt"
    classes: tuple[int, ...] = (0, 1, 2, 3, 4)
    """The class of each annotated label; -1 for none."""

    def read_line(self, line: str, reader: SentenceReader) -> Example:
        """The sentence of a labelled tree. It is skipped if the whole sentence has no class."""
        if not line:
            raise SkippedExampleError("empty")
        words, transitions, annotations = reader.parse(from_labelled_brackets, line)
        if unknown := next((annotation for annotation in annotations if annotation not in _ANNOTATIONS), None):
            raise UserError(f"the label {unknown!r} is not one of 0, 1, 2, 3, 4")
        phrase_labels = [self.classes[_ANNOTATIONS.index(annotation)] for annotation in annotations]
        label = phrase_labels[-1]
        if label < 0:
            raise SkippedExampleError("neutral")
        if not reader.parses:
            return Example((Sentence(words),), label)
        return Example((Sentence(words, transitions),), label, phrase_labels)

    def draw_line(self, rng: random.Random) -> str:
        """A short film review; see `tfnmt.data.samples.sentiment`."""
        return sentiment.draw(rng)


class SST2(SST):
    """Two classes: neutral sentences are skipped, and neutral phrases have no label."""

    name = "sst2"
    title = "Stanford Sentiment Treebank, two classes"
    labels = ("negative", "positive")
    classes = (0, 0, -1, 1, 1)
