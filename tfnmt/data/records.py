"""Records: sentence pairs as ids, in shards, with the tokenizers that they were encoded with, as `tfnmt prepare` writes
them.

DIR/index.json, which is written last, lists the shards with their sizes and digests, and how many pairs have which
lengths. A shard is a TFRecord file; `tfnmt.data.preparing.shards` has its format.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import tensorflow as tf
from pydantic import Field

from tfnmt.configuration import Configuration, from_json
from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import Tokenizer, load_tokenizer

INDEX, VERSION = "index.json", 1
_AGAIN = "run tfnmt prepare again, to another directory"


class Shard(Configuration):
    """A file of records."""

    name: str = Field(description="of the file, which is beside the index")
    pairs: int = Field(description="records in it", ge=0)
    bytes: int = Field(description="its size", ge=0)
    blake2b: str = Field(description="the digest of what is in it")


class Index(Configuration):
    """What index.json says."""

    version: int = Field(VERSION, description="of the format")
    pairs: int = Field(description="in all shards", ge=0)
    shards: tuple[Shard, ...] = Field(description="in the order of the corpus", strict=False)
    text: TextConfiguration = Field(description="how the tokenizers were made")
    tokenizers: dict[str, str] = Field(description="name of a tokenizer's file -> its digest")
    lengths: list[Annotated[list[int], Field(min_length=4, max_length=4)]] = Field(
        description="rows [source length, target length, pairs that have these, the first of them, from 0]"
    )
    counts: dict[str, dict[str, Any]] = Field(description="reason -> pairs that were dropped for it, and the first")


@dataclass(frozen=True)
class ParallelRecords:
    """Sentence pairs in the records of a directory."""

    directory: Path

    @cached_property
    def index(self) -> Index:
        """What the index says.

        Raises:
            UserError: it is missing, broken or of another version.
        """
        path = self.directory / INDEX
        try:
            description = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}): did tfnmt prepare come to its end?") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: is broken ({error}); {_AGAIN}") from error
        version = description.get("version") if isinstance(description, dict) else None
        if version != VERSION:
            raise UserError(f"{path}: is of format version {version}, not {VERSION}; {_AGAIN}")
        return from_json(Index, description, path)

    def paths(self) -> list[Path]:
        """The index, which has the digests of all other files."""
        return [self.directory / INDEX]

    def shards(self) -> list[str]:
        """The files of records, in the order of the corpus."""
        return [str(self.directory / shard.name) for shard in self.index.shards]

    def check(self) -> int:
        """Check that all shards are there in their sizes, and that the tokenizers are those of the records; returns the
        number of pairs.

        Raises:
            UserError: a file is missing or not as it was written.
        """
        for shard in self.index.shards:
            path = self.directory / shard.name
            size = path.stat().st_size if path.is_file() else None
            if size is None:
                raise UserError(f"{path}: is missing; {_AGAIN}")
            if size != shard.bytes:
                raise UserError(f"{path}: has {size:,} bytes instead of {shard.bytes:,}; {_AGAIN}")
        for name, digest in self.index.tokenizers.items():
            if file_digest(self.directory / name) != digest:
                raise UserError(f"{self.directory / name}: has changed since the records were written; {_AGAIN}")
        return self.index.pairs

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """The tokenizers of the source and of the target; of a joint vocabulary, the same one twice."""
        source = load_tokenizer(self.directory, "source")
        return source, source if self.index.text.joint_vocabulary else load_tokenizer(self.directory, "target")

    def require_tokenizers(self, tokenizers: tuple[Tokenizer, Tokenizer], model: str | Path) -> None:
        """Raise `UserError` unless a model's tokenizers are those of the records."""
        for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
            for file, content in tokenizer.files(name).items():
                path = self.directory / file
                if not path.is_file() or path.read_bytes() != content:
                    raise UserError(
                        f"{self.directory}: its ids are not those of {model}, whose vocabulary is another; prepare the"
                        f" text again with --tokenizers {model}"
                    )

    @contextlib.contextmanager
    def broken_shards_named(self) -> Iterator[None]:
        """Where reading fails within it, look for the shard that is not as it was written.

        Raises:
            UserError: names the shard.
        """
        try:
            yield
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
            self.check()
            for shard in self.index.shards:
                path = self.directory / shard.name
                if file_digest(path) != shard.blake2b:
                    raise UserError(f"{path}: a record is broken; put the right file back, or {_AGAIN}") from None
            raise
