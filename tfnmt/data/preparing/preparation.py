"""A corpus of any size → records, in passes of which nothing is done twice, whenever it is killed.

DIR/prepare.json says what is prepared, DIR/parts has what the passes leave for one another, and DIR/index.json ends it.
"""

import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from tfnmt.configuration import Configuration, different_keys
from tfnmt.data.lines import read_lines
from tfnmt.data.preparing import passes
from tfnmt.data.preparing.configuration import FilterConfiguration, ShardConfiguration
from tfnmt.data.preparing.duplicates import count_duplicates
from tfnmt.data.preparing.filters import check_script
from tfnmt.data.preparing.index import filtered_parts, write_index
from tfnmt.data.preparing.inputs import Input
from tfnmt.data.progress import log_waiting
from tfnmt.data.records import INDEX, ParallelRecords
from tfnmt.errors import UserError
from tfnmt.files import digest, write_file
from tfnmt.ray_start import ray_started
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import Tokenizer, make_tokenizers

logger = logging.getLogger(__name__)

BEGUN, PARTS = "prepare.json", "parts"
_OBJECT_STORE = 10**9  # bytes; a tenth of it is in use


class Preparation(Configuration):
    """All that the records depend on, but the text."""

    text: TextConfiguration = TextConfiguration()
    filters: FilterConfiguration = FilterConfiguration()
    shards: ShardConfiguration = ShardConfiguration()


def prepare(
    directory: Path,
    inputs: Sequence[Input],
    preparation: Preparation,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> ParallelRecords:
    """Write the records of a corpus, or go on writing them.

    Args:
        directory: where to. With a cluster, all its machines must see it, and the inputs, under the same name.
        inputs: the corpus.
        preparation: which pairs are kept, and how they are encoded.
        tokenizers: with which they are encoded (default: those learned from a sample of the corpus).

    Raises:
        UserError: a file cannot be read, something else is prepared there, no pair is left, Ray is not installed.
    """
    records = ParallelRecords(directory)
    for script in (preparation.filters.source_script, preparation.filters.target_script):
        check_script(script)
    if not (directory / INDEX).exists() and not any((directory / PARTS).glob("*")):
        (directory / BEGUN).unlink(missing_ok=True)  # nothing was done, perhaps since a file was wrong
    begun = _begin(directory, inputs, preparation, tokenizers)
    if not (directory / INDEX).exists():
        with ray_started(object_store_bytes=_OBJECT_STORE) as ray:
            _write(ray, directory, inputs, preparation, tokenizers)
    elif begun:
        logger.info("%s: is prepared already", directory)
    _remove_parts(directory)
    return records


def _begin(directory, inputs, preparation, tokenizers) -> bool:
    """Whether this was begun before; if not, prepare.json is written.

    Raises `UserError` if another preparation was begun in the directory.
    """
    paths = [path for of in inputs for path in (of.source, of.target) if path]
    files = [[path, (status := Path(path).stat()).st_size, status.st_mtime_ns] for path in paths]
    given = tokenizers and [digest(tokenizer.asset()).hexdigest() for tokenizer in tokenizers]
    description = {"files": files, **preparation.model_dump(mode="json"), "tokenizers": given}
    path = directory / BEGUN
    if not path.exists():
        for pattern in (INDEX, "source.json", "target.json", "*.tfrecord"):
            if found := sorted(directory.glob(pattern)):
                raise UserError(f"{found[0]}: there are records or a model already; name another --output")
        (directory / PARTS).mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        return False
    try:
        before = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: is broken ({error}); name another --output") from error
    if before.get("files") == [file[:2] for file in files]:  # times were not kept up to version 1.1
        description["files"] = before["files"]
    if different := different_keys(description, before):
        changed = different[0] if different[0] != "files" else _changed_file(files, before.get("files"))
        raise UserError(
            f"{path}: {changed} was another when this was begun; go on with the same files and options, or name"
            " another --output"
        )
    return True


def _changed_file(files, before):
    """The name of a file that is another, or that it is the list of them."""
    if not isinstance(before, list) or [file[:1] for file in before] != [file[:1] for file in files]:
        return "the list of files"
    return next(now[0] for now, then in zip(files, before, strict=True) if now[: len(then)] != then)


def _write(ray, directory, inputs, preparation, tokenizers):
    parts = directory / PARTS
    parts.mkdir(exist_ok=True)
    passes.filter_inputs(ray, inputs, parts, preparation.filters, preparation.shards.shard_pairs)
    filtered = filtered_parts(parts)
    names = [part["name"] for part in filtered]
    kept = sum(part["dropped"].get("kept", {"pairs": 0})["pairs"] for part in filtered)
    if not kept:
        raise UserError(f"{directory}: no pair is left; {PARTS}/*.json there say why")
    if preparation.filters.drop_duplicates:
        passes.mark_duplicates(ray, parts, names, kept)
    different = kept - count_duplicates(parts)
    _write_tokenizers(ray, directory, names, different, preparation, tokenizers)
    joint = preparation.text.joint_vocabulary
    passes.encode_parts(ray, directory, parts, names, kept, joint)
    write_index(directory, parts, inputs, preparation.text)


def _write_tokenizers(ray, directory, names, pairs, preparation, tokenizers):
    if (directory / "target.json").exists():
        return
    if tokenizers is None:
        shards = preparation.shards
        share = min(1.0, shards.sample_pairs / pairs)
        sample = passes.write_sample(ray, directory / PARTS, names, share, shards.seed)
        with log_waiting("learning the vocabulary"):
            sides = (read_lines(path) for path in sample)
            tokenizers = make_tokenizers(preparation.text, *sides, shards.seed)
    for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        for file, content in tokenizer.files(name).items():
            write_file(directory / file, content)


def _remove_parts(directory):
    """Once there is an index, what the passes have left for one another is of no use."""
    shutil.rmtree(directory / PARTS, ignore_errors=True)
    for path in directory.glob("?????-??????.json"):
        path.unlink()
