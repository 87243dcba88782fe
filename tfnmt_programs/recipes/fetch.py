"""Files from a folder or from the network, each what it was when the row was documented: its SHA-256 is compared."""

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import zipfile
import zlib
from pathlib import Path

import requests

from tfnmt.data.progress import ProgressDisplay
from tfnmt.errors import UserError
from tfnmt.files import atomic_write, file_errors
from tfnmt_programs.recipes.recipe import PublishedFile

SECONDS = 60
"""How long a server may be silent."""
_BLOCK = 1 << 16
_MEGABYTE = 1_000_000


def obtain(file: PublishedFile, folder: Path, given: Path | None = None, mirror: str | None = None) -> Path:
    """A file of a data set: as it is in `folder` already, or else linked from `given`, or else fetched.

    Args:
        file: which.
        folder: of all data.
        given: a folder in which it may lie, by its whole name or by the last part of it.
        mirror: an address below which all files are, by their names, in the place of where they were published.

    Returns:
        Its path in `folder`.

    Raises:
        UserError: it is nowhere, is not what it was when the row was documented, or the network or the disk fails.
    """
    path = folder / file.name
    if path.exists() and _digest(path) == file.sha256:
        return path
    if path.exists() and not path.is_symlink():  # the user's own: a wrong file that was fetched is deleted
        _require(file, path)
    with file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():  # to what is not there any more, or something else
            path.unlink()
    if given is not None:
        for found in (given / file.name, given / path.name):
            if found.exists():
                _require(file, found)
                with file_errors(path):
                    path.symlink_to(found.resolve())
                return path
    fetched = {path}
    if mirror is not None:
        fetch(f"{mirror.rstrip('/')}/{file.name}", path)
    elif file.url is not None:
        fetched |= _fetch_published(file, path)
    else:
        raise UserError(f"{file.name}: is published nowhere as it is; name a folder that has it: --data DIR")
    try:
        _require(file, path)
    except UserError:
        for wrong in fetched:
            wrong.unlink()
        raise
    return path


def fetch(url: str, path: Path) -> None:
    """Fetch a file. What has come before the network failed is kept beside it, and a second try goes on there.

    Raises:
        UserError: the server answers otherwise or not at all, or the disk is full.
    """
    part = path.with_name(path.name + ".part")
    done = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    with (
        file_errors(part),
        _network_errors(url),
        requests.get(url, headers=headers, stream=True, timeout=SECONDS) as answer,
    ):
        if answer.status_code != 416:  # the part is the whole
            if answer.status_code not in (200, 206):
                raise UserError(f"{url}: the server answers {answer.status_code} {answer.reason}")
            with open(part, "ab" if answer.status_code == 206 else "wb") as file:
                _receive(answer, file, url)
        os.replace(part, path)


@contextlib.contextmanager
def _network_errors(url):
    """Within the block, what fails in the network is a `UserError`. (Exceptions of requests are `OSError`s, too.)"""
    try:
        yield
    except requests.RequestException as error:
        reason = str(error).split("Caused by")[-1]
        reason = re.sub(r".*\[Errno -?\d+\] ", "", reason).strip("() '\"")
        raise UserError(f"{url}: {reason}; run it again: it goes on with what has come") from error


def _receive(answer, file, url):
    """Write what comes to a file, and tell how much there is."""
    length = answer.headers.get("Content-Length")
    whole = file.tell() + int(length) if length else None
    done = file.tell() // _MEGABYTE
    with ProgressDisplay(url, "MB", whole and whole // _MEGABYTE, done) as display:
        for block in answer.iter_content(_BLOCK):
            file.write(block)
            display.advance(file.tell() // _MEGABYTE - display.done)
    if whole and file.tell() < whole:
        raise requests.ConnectionError("the connection ended too early")


# What zipfile raises for an archive that is damaged: in its table of contents, too.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError)


def _fetch_published(file, path):
    """Fetch what a file is taken from, unless it is there, and take it; the set of the paths of what was fetched."""
    if file.member is None and file.lines is None:
        fetch(file.url, path)
        return {path}
    source = path.with_name(file.url.rsplit("/", 1)[-1])
    if source == path:
        source = path.with_name(f"whole-{path.name}")
    fetched = set()
    if not source.exists():
        fetch(file.url, source)
        fetched.add(source)
    with atomic_write(path) as part, open(part, "wb") as output:
        if file.member is None:
            with open(source, "rb") as lines:
                output.writelines(itertools.islice(lines, file.lines))
            return fetched
        try:
            with zipfile.ZipFile(source) as archive, archive.open(file.member) as member:
                shutil.copyfileobj(member, output)
        except _DAMAGED as error:
            for wrong in fetched:
                wrong.unlink()
            raise UserError(f"{source}: is not an archive with {file.member}: {error}") from error
    return fetched


def _require(file, path):
    """Raise `UserError` unless a file is what it should be."""
    if (digest := _digest(path)) != file.sha256:
        raise UserError(f"{path}: is not {file.name} as it was when the row was documented (SHA-256 {digest})")


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
