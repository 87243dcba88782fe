"""Which versions of which models are served: models.config and the folders it names, watched."""

import asyncio
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfnmt.errors import UserError
from tfnmt.serving.files import MODELS, base_path, read_models, version_numbers
from tfnmt.serving.requests import invalid, not_found
from tfnmt.serving.versions import Version

State = ModelVersionStatus.State


@dataclass
class _Model:
    """What is known of one model."""

    config: object
    available: dict[int, Version] = field(default_factory=dict)
    states: dict[int, tuple[int, str]] = field(default_factory=dict)  # version → (state, what went wrong)
    refused: dict[int, object] = field(default_factory=dict)  # version → what its files looked like

    @property
    def most(self):
        """How many versions are wanted; None is all."""
        policy = self.config.model_version_policy
        kind = policy.WhichOneof("policy_choice")
        return None if kind in ("all", "specific") else max(policy.latest.num_versions, 1)

    def wanted(self, found):
        policy = self.config.model_version_policy
        if policy.WhichOneof("policy_choice") == "specific":
            return [number for number in found if number in policy.specific.versions]
        return found


class Models:
    """Every model of a folder of servables, each in its newest version (or as its version policy says).

    A new version takes over when it is loaded and warm. One that cannot be loaded is refused, and what was served
    before it stays. A version that is replaced still answers what it was asked.

    Args:
        directory: the folder that models.config is in.
        new_version: makes a `Version`: `new_version(model_name, path)`.

    Raises:
        UserError: models.config is missing or broken.
    """

    def __init__(self, directory, new_version):
        self.directory = Path(directory)
        self._new_version = new_version
        self._loader = ThreadPoolExecutor(1, "loader")
        self._models = {}
        self._text = None
        self._changing = asyncio.Lock()
        self._configure(self._read())

    def names(self):
        return list(self._models)

    def find(self, name, number=None, label=None):
        """The `Version` that answers a request; the newest one unless it names a number or a label.

        Raises:
            RequestError: it is not there.
        """
        model = self._models.get(name)
        wanted = "Latest" if number is None and not label else "Specific"
        if model and label:
            if label not in model.config.version_labels:
                raise invalid(f"Unrecognized servable version label: {label}")
            number = model.config.version_labels[label]
        number = max(model.available, default=None) if model and number is None else number
        if model is None or number not in model.available:
            what = name if wanted == "Latest" else f"{name}, {label or number}"
            raise not_found(f"Servable not found for request: {wanted}({what})")
        return model.available[number]

    def states(self, name, number=None):
        """{version: (state, error message)} of a model, the newest first.

        Raises:
            RequestError: there is no such model or version.
        """
        model = self._models.get(name)
        states = model.states if model else {}
        states = {n: states[n] for n in sorted(states, reverse=True) if number in (None, n)}
        if not states:
            version = "" if number is None else f" version {number}"
            raise not_found(f"Could not find any versions of model {name}{version}")
        return states

    def waiting_rows(self):
        return sum(version.waiting_rows for model in self._models.values() for version in model.available.values())

    def available(self):
        """{model: its available versions' numbers}."""
        return {name: sorted(model.available) for name, model in self._models.items()}

    async def update(self):
        """Read models.config if it has changed, and look for new versions and for those that went."""
        async with self._changing:
            try:
                config = self._read()
            except UserError as error:
                _say(f"{error}; what was served before stays")
            else:
                self._configure(config)
            await self._update_models()

    async def reload(self, config):
        """Serve what a `ModelServerConfig` says, until models.config changes.

        Raises:
            RequestError: it has no list of models.
        """
        if config.WhichOneof("config") != "model_config_list":
            raise invalid("ModelServerConfig without a model_config_list")
        async with self._changing:
            self._configure(config)
            await self._update_models()

    def _read(self):
        """models.config, or None if it is as it was."""
        path = self.directory / MODELS
        text = path.read_bytes() if path.exists() else None
        if text == self._text and text is not None:
            return None
        self._text = text
        return read_models(self.directory)

    def _configure(self, config: ModelServerConfig | None):
        if config is None:
            return
        listed = {each.name: each for each in config.model_config_list.config}
        self._models = {name: self._models.get(name) or _Model(each) for name, each in listed.items()}
        for name, each in listed.items():
            self._models[name].config = each

    async def _update_models(self):
        for name, model in list(self._models.items()):
            await self._update_model(name, model)

    async def _update_model(self, name, model):
        folder = base_path(self.directory, model.config)
        found = version_numbers(folder)
        kept, most = {}, model.most
        for number in sorted(model.wanted(found), reverse=True):
            if len(kept) == most:
                break
            version = model.available.get(number) or await self._load(name, model, folder / str(number))
            if version:
                kept[number] = version
        gone = set(model.available) - set(kept)
        if gone and not kept and not found:
            return  # the folder itself is away; what is loaded still works
        model.available = kept
        model.states = {n: state for n, state in model.states.items() if n in found}
        for number in gone:
            model.states[number] = (State.END, "")
            _say(f"{name}: version {number} is no longer served")
        if gone:
            gc.collect()

    async def _load(self, name, model, path):
        """A version, or None if it cannot be loaded: then it is tried again only when its files change."""
        number, files = int(path.name), _files(path)
        if number in model.refused and model.refused[number] == files:
            return None
        model.states[number] = (State.LOADING, "")
        loop = asyncio.get_running_loop()
        try:
            version = await loop.run_in_executor(self._loader, self._new_version, name, path)
        except Exception as error:  # a broken file makes TensorFlow raise anything
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            model.refused[number] = files
            model.states[number] = (State.END, reason)
            _say(f"{name}: version {number} is refused: {reason}")
            return None
        model.refused.pop(number, None)
        model.states[number] = (State.AVAILABLE, "")
        model.available[number] = version  # from now on
        _say(f"{name}: version {number} is available")
        return version


def _files(path):
    """What tells whether a folder's files have changed."""
    return sorted(
        (str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in path.rglob("*") if file.is_file()
    )


def _say(line):
    print(line, file=sys.stderr, flush=True)
