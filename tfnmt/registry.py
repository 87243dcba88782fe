"""Registries: what a configuration may name, each entry one line. They are read without TensorFlow."""

import pkgutil
from typing import Any


class Registry(dict[str, Any]):
    """Name -> object. An entry given as "module:name" is imported when it is first looked up by its name."""

    def __getitem__(self, name: str) -> Any:
        entry = super().__getitem__(name)
        if isinstance(entry, str):
            entry = self[name] = pkgutil.resolve_name(entry)
        return entry
