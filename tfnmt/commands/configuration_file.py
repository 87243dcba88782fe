"""Settings in a file: YAML, or the config.json of a run, which is YAML too."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tfnmt.configuration import Configuration
from tfnmt.errors import UserError, errors_in, nearest_name
from tfnmt.training.format_version import KEY, check_format

_KIND = "kind"


def configured(preset: Any, path: str | Path, required: Sequence[str] = ()) -> Any:
    """A preset with the settings in a file, such as

        kind: translator
        model: {cell: lstm, decoder_units: 512}
        training: {epochs: 10}

    Args:
        preset: a configuration made of configurations, which has what the file leaves out.
        path: the file.
        required: keys that the file may not leave out.

    Raises:
        UserError: the file cannot be read, is of another kind of model, lacks a required key, or has an unknown key or
            a value that is not allowed; names the file.
    """
    sections = read_yaml(path)
    if not isinstance(sections, dict):
        raise UserError(f"{path}: should have sections, such as `training:` with `epochs: 10` below it")
    check_format(sections, path)
    sections.pop(KEY, None)
    with errors_in(path):
        if sections.pop(_KIND, preset.kind) != preset.kind:
            raise UserError(f"is not about a {preset.kind}; the key {_KIND!r} says so")
        known: dict[str, Configuration] = dict(preset)
        for name in sections:
            if name not in known:
                raise UserError(f"unknown key {name!r}{nearest_name(str(name), [*known, _KIND])}")
        changed = {}
        for name, values in sections.items():
            with errors_in(name):
                try:
                    changed[name] = known[name].updated(values)
                except RecursionError as error:  # of a YAML alias to what it stands in
                    raise UserError("a value is within itself, or too deep in others") from error
        preset = preset.replace(**changed)
    for key in required:
        if not any(key in values for values in sections.values()):
            raise UserError(f"--{key} is missing: {path} does not have it either")
    return preset


def read_yaml(path: str | Path) -> Any:
    """What a file of YAML or JSON says.

    Raises:
        UserError: it cannot be read, is neither, or has a key twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', 'it is not UTF-8')}") from error
    try:
        with errors_in(path):
            return _parse(text)
    # Beside errors of YAML: those of values that are not what their tag says, such as 2026-13-01, and of deep ones.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UserError(f"{path}{place}: is not valid YAML: {reason}") from error


def _parse(text: str) -> Any:
    """JSON, whose 1e-05 is text in YAML, or else YAML."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except ValueError:
        return yaml.load(text, _Loader)


def _object(pairs):
    """A JSON object; Python would take the last value of a key that stands twice, and so would YAML."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise UserError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return found


class _Loader(yaml.SafeLoader):
    """That of `yaml.safe_load`, which takes no key twice."""

    def compose_mapping_node(self, anchor):
        node, seen = super().compose_mapping_node(anchor), set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in seen:
                raise yaml.composer.ComposerError(None, None, f"the key {key.value!r} stands twice", key.start_mark)
            seen.add((key.tag, key.value))
        return node
