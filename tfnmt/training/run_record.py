"""run.json: the data of a run, by path and digest, and its command. Beside it, config.json and the checkpoints are all
that a run needs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from tfnmt.configuration import Configuration, from_json, require
from tfnmt.errors import UserError
from tfnmt.files import file_digest, read_json, write_file
from tfnmt.training.digests import check_digests
from tfnmt.training.model_directory import CHECKPOINTS, CONFIGURATION, WEIGHTS, read_configuration, require_kind
from tfnmt.training.replicas import Replicas

RECORD, SAMPLE = "run.json", "sample"


class DataFile(Configuration):
    """A file that a run reads."""

    path: str = Field(description="absolute, or relative to the run's directory for a file in it")
    blake2b: str = Field(description="the digest of what is in it")


class RunRecord(Configuration):
    """The files that a run reads, and the command that began it."""

    training: tuple[DataFile, ...] = Field(description="training data", strict=False)
    dev: tuple[DataFile, ...] = Field(description="data by which the best weights are chosen", strict=False)
    vectors: DataFile | None = Field(None, description="word vectors that the run began with; not read again")
    command: str | None = Field(None, description="the command that began the run; none: a program in Python")

    @classmethod
    def of(
        cls,
        directory: Path,
        training: Sequence[str | Path],
        dev: Sequence[str | Path],
        vectors: str | Path | None = None,
        command: str | None = None,
    ) -> Self:
        """The record of a run that a command begins in a directory with these files; reads them to the end.

        Raises:
            UserError: one cannot be read.
        """
        first, second = ([_data_file(directory, path) for path in paths] for paths in (training, dev))
        word_vectors = None if vectors is None else _data_file(directory, vectors)
        return cls(training=first, dev=second, vectors=word_vectors, command=command)

    def paths(self, directory: Path) -> tuple[list[Path], list[Path]]:
        """The training and the dev files of the run in a directory."""
        training, dev = ([directory / file.path for file in files] for files in (self.training, self.dev))
        return training, dev

    def save(self, directory: Path) -> None:
        """Write run.json."""
        write_file(directory / RECORD, self.model_dump_json(indent=2) + "\n")


def require_files(training: Any, dev: Any, resuming: bool) -> None:
    """Raise `UserError` unless the dev data that a training is given fit the training data.

    Args:
        training: training files, None for none.
        dev: dev files, None for none, or a number of training examples to hold out.
        resuming: the run has begun, and has its files.
    """
    if resuming:
        require(not isinstance(dev, int), "dev_files", dev, "None to resume: the run has its files")
    else:
        both = (training is None) == (dev is None)
        require(both, "dev_files", dev, "files with training_files, or a number to hold out of them; none without")


def require_run(directory: str | Path) -> None:
    """Raise `UserError` unless a run has begun in a directory."""
    if not Path(directory, RECORD).exists():
        raise UserError(f"{directory}: no run has begun there (it has no {RECORD}); --output begins one")


def started_preset(directory: str | Path, cls: Any) -> Any:
    """What the run in a directory was started with, the data apart.

    Args:
        directory: the run's model directory.
        cls: of the preset: `tfnmt.translation.presets.Preset`, or that of classifiers.

    Raises:
        UserError: there is no run, or one of another kind of model, or a file of the model but its weights is broken.
    """
    require_run(directory)
    if not (Path(directory, CONFIGURATION).exists() or any(Path(directory, CHECKPOINTS).glob("*.index"))):
        raise UserError(f"{directory}: nothing is saved there yet: start it again, with the same --output")
    check_digests(directory, WEIGHTS)  # which may yet be written anew
    return read_preset(directory, cls)


def read_preset(directory: str | Path, cls: Any) -> Any:
    """The preset in config.json, with which the model in a directory was trained; see `started_preset`."""
    require_kind(directory, cls.kind)
    classes = {name: field.annotation for name, field in cls.model_fields.items()}
    return cls(**read_configuration(directory, **classes))


def resumed_record(
    directory: Path, training: Sequence[str | Path] | None = None, dev: Sequence[str | Path] | None = None
) -> RunRecord:
    """The record of a run that goes on, after a check that its files are as they were.

    Args:
        directory: the run's model directory.
        training, dev: where its files are now; None: where they were.

    Raises:
        UserError: a file cannot be read, or something else is in it; run.json is broken.
    """
    record = read_record(directory)
    paths = record.paths(directory)
    return record.replace(
        training=_same_files(directory, record.training, training or paths[0]),
        dev=_same_files(directory, record.dev, dev or paths[1]),
    )


def read_record(directory: Path) -> RunRecord:
    """The record of the run in a directory.

    Raises:
        UserError: run.json is missing or broken.
    """
    path = directory / RECORD
    return from_json(RunRecord, read_json(path, "begin anew, in another directory"), path)


def shared_record(replicas: Replicas, make: Callable[[], RunRecord]) -> RunRecord:
    """What the chief's `make` returns, in all processes."""
    return from_json(RunRecord, replicas.from_chief(lambda: make().model_dump(mode="json")))


def _same_files(directory, started, paths):
    if len(paths) != len(started):
        before = ", ".join(file.path for file in started)
        raise UserError(f"{directory}: the run was started with {before}; name each of these files, or none")
    return [_same_file(directory, *pair) for pair in zip(started, paths, strict=True)]


def _same_file(directory, started, path):
    try:
        now = _data_file(directory, path)
    except UserError as error:
        raise UserError(f"{error}; if it was moved, name it where it is now") from error
    if now.blake2b != started.blake2b:
        raise UserError(
            f"{path}: is not what the run in {directory} was started with; put that back, or begin another run with"
            f" the weights of this one: --initial {directory} --output ANOTHER"
        )
    return now


def _data_file(directory, path):
    absolute, inside = Path(path).absolute(), directory.absolute()
    recorded = absolute.relative_to(inside) if absolute.is_relative_to(inside) else absolute
    return DataFile(path=str(recorded), blake2b=file_digest(path))
