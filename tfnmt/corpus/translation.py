"""Translating the lines of a corpus, exactly as `tfnmt translate` does."""

from collections.abc import Sequence

from pydantic import Field

from tfnmt.corpus.tasks import Task, Work
from tfnmt.training.model_directory import model_files
from tfnmt.translation.formatting import formatted
from tfnmt.translation.loading import load_searcher
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.streaming import WINDOW, truncated
from tfnmt.translation.translator import Translator


class TranslationTask(Task):
    """Translate each line."""

    models: tuple[str, ...] = Field(description="model directories; of several, an ensemble", min_length=1)
    search: SearchConfiguration = Field(description="how translations are searched for")
    shortlist: str | None = Field(None, description="a file that make-shortlist has made")
    scores: bool = Field(False, description="write the score, too")
    batch_size: int = Field(64, description="sentences at once", ge=1)

    @property
    def files(self) -> tuple[str, ...]:
        """Those of the models, and the shortlist."""
        files = [file for model in self.models for file in model_files(model, Translator.tokenizer_names)]
        return (*files, self.shortlist) if self.shortlist else tuple(files)

    @property
    def shard_lines(self) -> int:
        """As many as `translate` reads ahead: so the same sentences are in a batch together."""
        return WINDOW * self.batch_size

    def load(self) -> "Translating":
        """See `Task.load`."""
        return Translating(self)


class Translating(Work):
    """A translator at work.

    Args:
        task: what it does.
    """

    def __init__(self, task: TranslationTask):
        self.task, self.searcher = task, load_searcher(task.models, task.search, task.shortlist)

    def read(self, line: str) -> tuple[str, str | None]:
        """The line; of a line that is too long the beginning, as `translate` does."""
        ensemble = self.searcher.ensemble
        text, is_too_long = truncated(line, ensemble.source_tokenizer, ensemble.maximum_source_length)
        problem = f"too long, only its first {ensemble.maximum_source_length} tokens are read"
        return text, problem if is_too_long else None

    def write(self, texts: Sequence[str], first: int) -> list[str]:
        """The translations, see `tfnmt.translation.formatting.formatted`."""
        task = self.task
        return [
            line
            for number, found in enumerate(self.searcher.translate(texts, task.batch_size), start=first)
            for line in formatted(number, found, task.search.n_best, task.scores)
        ]
