"""corpus.json: what was begun in an output folder, so that only the same is continued there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from tfnmt.configuration import Configuration, different_keys, from_json
from tfnmt.corpus.tasks import Task
from tfnmt.errors import UserError
from tfnmt.files import file_digest, read_json, write_file

RECORD = "corpus.json"


class InputFile(Configuration):
    """A file of the corpus, as it was when it was first read."""

    size: int = Field(description="bytes")
    modified: int = Field(description="when it was last changed, in nanoseconds since 1970")

    @classmethod
    def of(cls, path: Path) -> Self:
        """What is true of a file now."""
        status = path.stat()
        return cls(size=status.st_size, modified=status.st_mtime_ns)


class CorpusRecord(Configuration):
    """What was begun in an output folder."""

    task: dict[str, Any] = Field(description="all options of the task")
    shard_lines: int | None = Field(None, description="lines of a shard; None in folders of versions up to 1.1")
    digests: tuple[str, ...] = Field(description="of the task's files, BLAKE2b", strict=False)
    inputs: dict[str, InputFile] = Field(description="by the name of the output")

    @classmethod
    def of(cls, task: Task, inputs: Sequence[Path]) -> Self:
        """The record of a task that begins with these files now."""
        return cls(
            task={"kind": type(task).__name__, **task.model_dump(mode="json")},
            shard_lines=task.shard_lines,
            digests=tuple(map(file_digest, task.files)),
            inputs={path.name: InputFile.of(path) for path in inputs},
        )

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The record in a folder; None if nothing was begun there."""
        path = folder / RECORD
        if not path.exists():
            return None
        return from_json(cls, read_json(path, "name another --output"), path)

    def continued(self, now: Self, folder: Path) -> Self:
        """The record of the same task that goes on, with files that may have come or have changed.

        Raises:
            UserError: it is not the same task.
        """
        different = [key.replace("_", " ") for key in dict.fromkeys(different_keys(now.task, self.task))]
        different += ["size of shards"] * (self.shard_lines not in (None, now.shard_lines))
        different += ["content of the model's files"] * (self.digests != now.digests)
        if different:
            raise UserError(
                f"{folder / RECORD}: was begun with another {', '.join(different)}: give the same options, or name"
                " another --output"
            )
        return self.replace(inputs=self.inputs | now.inputs)

    def save(self, folder: Path) -> None:
        """Write corpus.json."""
        write_file(folder / RECORD, self.model_dump_json(indent=2) + "\n")
