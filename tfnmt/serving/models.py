"""Which versions of which models are served: models.config and the folders that it names, watched for changes."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfnmt.errors import UserError
from tfnmt.serving.files import MODELS, base_path, models_problem, read_models, version_folders
from tfnmt.serving.requests import failed, failed_precondition, invalid
from tfnmt.serving.served_model import ServedModel, State, no_versions, unknown, unknown_label
from tfnmt.serving.versions import Version

logger = logging.getLogger(__name__)


class Models:
    """Every model of a folder of servables, each in its newest version or as its version policy says.

    A new version takes over once it is loaded and warm. When one cannot be loaded, the version before it stays. A
    version that is replaced still answers the requests it has accepted.

    Args:
        directory: the folder that models.config is in.
        load_version: `load_version(model_name, path)` returns a `Version`; called in a thread.

    Raises:
        UserError: models.config is missing or broken.
    """

    def __init__(self, directory: str | Path, load_version: Callable[[str, Path], Version]):
        self.directory = Path(directory)
        self._load_version = load_version
        self._loader = ThreadPoolExecutor(1, "loader")
        self._versions: weakref.WeakSet[Version] = weakref.WeakSet()  # that have been loaded, and not yet been freed
        self._models: dict[str, ServedModel] = {}
        self._problems: dict[str, str] = {}  # of what → the last message about it
        self._text = None
        self._lock = asyncio.Lock()
        self._reloads: set[asyncio.Task] = set()  # that have been accepted, and have not ended
        self._configure(self._read())

    def names(self) -> list[str]:
        return list(self._models)

    def find(self, name: str, number: int | None = None, label: str = "") -> Version:
        """The version that answers a request; the newest one unless it names a number or a label.

        Raises:
            RequestError: there is none.
        """
        if not name:
            raise invalid("ModelSpec has no name specified.")
        if name not in self._models and label:
            raise unknown_label(label)
        if name not in self._models:
            raise unknown(f"Latest({name})" if number is None else f"Specific({name}, {number})")
        return self._models[name].find(number, label)

    def states(self, name: str, number: int | None = None, label: str = "") -> dict[int, tuple[int, str]]:
        """{version: (state, error message)} of a model, the newest first; of one version if it is named.

        Raises:
            RequestError: there is no such model, version or label.
        """
        if name not in self._models:
            raise no_versions(name)
        return self._models[name].find_states(number, label)

    def waiting_rows(self) -> int:
        """Rows that wait in the queues of all versions."""
        return sum(version.waiting_rows for model in self._models.values() for version in model.available.values())

    def available(self) -> dict[str, list[int]]:
        """{model: the numbers of its available versions}."""
        return {name: sorted(model.available) for name, model in self._models.items()}

    def readiness(self) -> dict[str, str]:
        """{model: READY, LOADING or UNAVAILABLE}."""
        return {name: model.readiness for name, model in self._models.items()}

    async def update(self) -> None:
        """Read models.config if it has changed, then load new versions and drop those that are gone."""
        async with self._lock:
            try:
                config = await self._in_loader(self._read)
            except UserError as error:
                self._complain(MODELS, f"{error}; the models served so far stay")
            else:
                if config is not None:
                    self._problems.pop(MODELS, None)
                self._configure(config)
            await self._update_models()
            await self._free_replaced()

    async def watch(self, seconds: float) -> None:
        """`update` again and again, with this much time between; no error ends it."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.update()
            except Exception as error:  # of any type: what is served must not depend on it
                self._complain("watch", f"looking for changes failed: {error!r}; looking again", exc_info=True)
            else:
                self._problems.pop("watch", None)

    async def reload(self, config: ModelServerConfig) -> None:
        """Serve the models of this configuration until models.config changes. Where the call is cancelled, because its
        client has gone, that is done nevertheless.

        Raises:
            RequestError: it has no list of models, or one that is refused, or no version of a model that is new in it
                can be loaded. In the last case, as in TensorFlow Serving, the configuration counts nevertheless.
        """
        if config.WhichOneof("config") != "model_config_list":
            only = "Only ModelConfigList is currently supported"
            raise invalid(f"ServerModelConfig type not supported by HandleReloadConfigRequest. {only}")
        problem = models_problem(config)
        if problem:
            raise invalid(problem)
        reloading = asyncio.create_task(self._reload(config))
        self._reloads.add(reloading)
        reloading.add_done_callback(self._reloads.discard)
        error = await asyncio.shield(reloading)
        if error:
            raise error

    async def _reload(self, config):
        """The error of `reload`, or None; returned, not raised, since its client may have gone."""
        async with self._lock:
            error = self._label_error(config)
            if error:
                return error
            before = self._models
            self._configure(config)
            await self._update_models()
            missing = {n: model for n, model in self._models.items() if n not in before and not model.available}
        if missing:
            names = f"Some models did not become available: {', '.join(missing)}"
            reasons = "; ".join(model.problem for model in missing.values())
            return failed(f"{names}; they are loaded once their folders are mended. {reasons}")
        return None

    def _label_error(self, config):
        """The error of a wrong label, or None. As in TensorFlow Serving: while it runs, a label is for a version that
        is available."""
        for each in config.model_config_list.config:
            available = self._models[each.name].available if each.name in self._models else {}
            for number in each.version_labels.values():
                if number not in available:
                    message = f"Request to assign label to version {number} of model {each.name}"
                    return failed_precondition(f"{message}, which is not currently available for inference")
        return None

    def _read(self):
        """models.config, or None if it has not changed."""
        path = self.directory / MODELS
        try:
            text = path.read_bytes()
        except OSError:  # of which `read_models` tells
            text = None
        if text == self._text and text is not None:
            return None
        self._text = text
        return read_models(self.directory)

    def _configure(self, config):
        if config is None:
            return
        listed = {each.name: each for each in config.model_config_list.config}
        self._models = {name: self._models.get(name) or ServedModel(each) for name, each in listed.items()}
        for name, each in listed.items():
            self._models[name].config = each

    async def _update_models(self):
        for name, model in list(self._models.items()):
            try:
                await self._update_model(name, model)
            except OSError as error:  # a folder that is a file, or that goes while it is looked at
                problem = f"{name}: {type(error).__name__}: {error}; the versions served so far stay"
                self._complain(f"model {name}", problem)
            else:
                self._problems.pop(f"model {name}", None)
            model.loading = False
            self._complain(f"labels of {name}", "; ".join(model.misplaced_labels()))

    def _complain(self, about, problem, **options):
        """Log a problem, once as long as it stays the same; "" is none."""
        if problem and self._problems.get(about) != problem:
            logger.warning("%s", problem, **options)
        self._problems[about] = problem

    async def _update_model(self, name, model):
        folder = base_path(self.directory, model.config)
        folders = await self._in_loader(version_folders, folder)
        candidates = model.candidates(folders)
        there_is_none = f"{name}: no version to serve in {folder}"
        staying = "; the versions served so far stay" if model.available else ""
        self._complain(f"versions of {name}", "" if candidates else there_is_none + staying)
        served, refused = {}, {}
        for number in candidates:
            if len(served) == model.maximum_versions:
                break
            loaded, path = model.available.get(number), folders[number]
            is_same = loaded is not None and loaded.path == path  # else models.config names another folder
            if is_same and await self._in_loader(_written, path) == model.files.get(number):
                served[number] = loaded
                continue
            version = await self._load(name, model, path)
            if not isinstance(version, str):
                served[number] = version
                continue
            refused[number] = version
            if is_same:  # its files have changed into what cannot be loaded
                served[number] = loaded
        served = served or model.available  # none takes over: what is loaded still works, though its folder may be gone
        for number in set(model.available) - set(served):
            logger.info("%s: version %d is no longer served", name, number)
        reasons = {n: reason for n, (_, reason) in model.states.items() if n in folders} | refused
        model.states = {n: (State.END, reason) for n, reason in reasons.items()}
        model.states |= {n: (State.AVAILABLE, "") for n in served}
        model.available = served

    async def _free_replaced(self):
        """Free versions that are no longer served. Those that still answer requests are looked at again next time."""
        if len(self._versions) > sum(len(model.available) for model in self._models.values()):
            await self._in_loader(_free_memory)

    async def _in_loader(self, function, *arguments):
        """What may take long, like loading a version or asking a file system over a network; requests go on."""
        return await asyncio.get_running_loop().run_in_executor(self._loader, function, *arguments)

    async def _load(self, name, model, path):
        """A version, or the reason why it is refused; a refused one is tried again only when its files change."""
        number, files, written = int(path.name), None, None
        refused_files, refused_reason = model.refused.get(number, (None, ""))
        try:
            files = await self._in_loader(_fingerprint, path)
            if files == refused_files:
                return refused_reason
            model.states[number] = (State.LOADING, "")
            written = await self._in_loader(_written, path)
            version = await self._in_loader(self._load_version, name, path)
        except Exception as error:  # a broken file makes TensorFlow raise errors of any type
            message = next(iter(str(error).strip().splitlines()), "")
            is_there = await self._in_loader(path.is_dir)
            reason = f"{type(error).__name__}: {message}" if is_there else "its folder went while it was loaded"
            if (files, reason) == (refused_files, refused_reason):  # still no fingerprint: it has been told
                return reason
            model.refused[number] = (files, reason)
            model.states[number] = (State.END, reason)
            logger.warning("%s: version %d is refused: %s", name, number, reason)
            version = None
        if version is None:
            await self._in_loader(_free_memory)  # what was loaded before the error, which refers to it
            return reason
        self._versions.add(version)
        model.refused.pop(number, None)
        model.files[number] = written
        model.states[number] = (State.AVAILABLE, "")
        model.available[number] = version
        logger.info("%s: version %d is available", name, number)
        return version


def _free_memory():
    """Free what versions held, and give it back to the system: malloc would keep most of it, in pieces."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _fingerprint(path):
    """Names, sizes and times of a folder's files: when they were written, and when their owner or mode changed."""
    return [(name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in _files(path)]


def _written(path):
    """Names, sizes and times of a folder's files, by which those are known that are written anew; None where they
    cannot be looked at."""
    try:
        return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in _files(path)]
    except OSError:
        return None


def _files(path):
    """(name, `os.stat`) of each file of a folder and its subfolders, also of those that are links."""
    names = (Path(folder, name) for folder, _, names in os.walk(path, followlinks=True) for name in names)
    return [(str(name), name.stat()) for name in sorted(names)]
