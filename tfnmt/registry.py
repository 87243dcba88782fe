"""Registries: what a configuration may name, each entry one line. They are read without TensorFlow."""

import pkgutil
from collections.abc import Mapping
from typing import Any


class Registry(dict[str, Any]):
    """Name -> object. An entry given as "module:name" is imported when it is first looked up by its name."""

    def __getitem__(self, name: str) -> Any:
        entry = super().__getitem__(name)
        if isinstance(entry, str):
            entry = self[name] = pkgutil.resolve_name(entry)
        return entry


def find_entry(option: str, name: str, registry: Mapping[str, Any]) -> Any:
    """The entry of that name, which an option such as "cell" gives.

    Raises:
        ValueError: there is none; names the others.
    """
    if name not in registry:
        raise ValueError(f"{option}={name!r}: one of {', '.join(registry)}")
    return registry[name]
