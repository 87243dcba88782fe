"""Frozen dataclasses as configurations: overridden by key=value, kept as JSON, described in a table.

A configuration documents each field in place and checks itself when made:

    @dataclass(frozen=True)
    class GRUConfiguration:
        units: int = option(512, "units of the decoder")
        dropout: float = option(0.0, "part of the units dropped in training")
        cell: Literal["gru", "lstm"] = option("gru", "recurrent cell")

        def __post_init__(self):
            check_types(self)
            require(0 <= self.dropout < 1, "dropout", self.dropout, "0 <= dropout < 1")

A field is a bool, int, float, str, Literal, a tuple of one of these (`tuple[int, ...]`), any of these
`| None`, or another configuration.
"""

import dataclasses
import difflib
import json
import math
import types
import typing
from typing import Any, Literal

from tfnmt.errors import UserError


def option(default: Any, meaning: str) -> Any:
    """A dataclass field with its default and, in a few words, its meaning."""
    return dataclasses.field(default=default, metadata={"help": meaning})


def require(condition: bool, key: str, value: Any, allowed: str) -> None:
    """Raise `UserError` "dropout=1.5: allowed is 0 <= dropout < 1" unless the condition holds."""
    if not condition:
        raise UserError(f"{key}={_to_text(value)}: allowed is {allowed}")


def check_types(configuration: Any) -> None:
    """For `__post_init__`: make every value fit its annotation (a list becomes a tuple, an integer a float).

    Raises: UserError for a value that does not fit.
    """
    for name, annotation in _annotations(type(configuration)).items():
        value = _from_plain(name, getattr(configuration, name), annotation)
        object.__setattr__(configuration, name, value)


def parse_overrides(settings: list[str], *configurations: Any) -> tuple[Any, ...]:
    """Replace fields by settings such as `["units=256", "dropout=0.3"]`.

    Each key belongs to one of the configurations; of a key given twice the last value counts. The settings of
    one configuration are applied together, so that it checks only the final combination.

    Returns: the configurations, in the order given.
    Raises: UserError for a setting without "=", an unknown key, or a value that its field does not allow.
    """
    owners = {}
    for position, configuration in enumerate(configurations):
        for name, annotation in _annotations(type(configuration)).items():
            if name in owners:
                raise ValueError(f"two configurations have the key {name!r}")
            owners[name] = (position, annotation)

    changes = [{} for _ in configurations]
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"setting {setting!r}: write it as key=value, such as units=256")
        if key not in owners:
            raise UserError(f"unknown key {key!r}{_nearest(key, owners)}; --help lists every key")
        position, annotation = owners[key]
        changes[position][key] = _from_text(key, text, annotation)
    return tuple(
        dataclasses.replace(configuration, **changed)
        for configuration, changed in zip(configurations, changes, strict=True)
    )


def to_json(configuration: Any) -> dict[str, Any]:
    """The configuration as nested plain dicts and lists."""
    return json.loads(json.dumps(dataclasses.asdict(configuration)))


def from_json(cls: type, mapping: Any, file: str = "configuration") -> Any:
    """The inverse of `to_json`. A key that is left out takes its default.

    Args:
        cls: the dataclass to make.
        mapping: what `to_json` returned or `json.load` read.
        file: where the mapping was read, for the error messages.
    Raises: UserError for an unknown key, a missing one without a default, or a value that does not fit.
    """
    try:
        return _from_plain(cls.__name__, mapping, cls)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None


def describe(*configurations: Any) -> str:
    """A table of every key: its value, written as an override is, and its meaning."""
    rows = []
    for configuration in configurations:
        for field in dataclasses.fields(configuration):
            annotation = _annotations(type(configuration))[field.name]
            value = _to_text(getattr(configuration, field.name))
            meaning = f"{field.metadata.get('help', '')} ({_allowed(annotation)})".lstrip()
            rows.append((field.name, value, meaning))
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{key:{key_width}}  {value:{value_width}}  {meaning}" for key, value, meaning in rows)


def _annotations(cls: type) -> dict[str, Any]:
    """Field name -> type. (Annotations may be strings in the class itself.)"""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _inner(annotation: Any) -> Any:
    """`T | None` -> T, `tuple[T, ...]` -> T."""
    return next(part for part in typing.get_args(annotation) if part not in (types.NoneType, Ellipsis))


def _is_optional(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _allowed(annotation: Any) -> str:
    """What a field takes, in words."""
    if _is_optional(annotation):
        return f"{_allowed(_inner(annotation))}, or none"
    if typing.get_origin(annotation) is tuple:
        return f"{_allowed(_inner(annotation))}; several with commas between"
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(_to_text(choice) for choice in typing.get_args(annotation))
    words = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
    return words.get(annotation) or f"the fields of {annotation.__name__}"


def _to_text(value: Any) -> str:
    """A value as it is written in an override."""
    if isinstance(value, tuple | list):
        return ",".join(_to_text(item) for item in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _from_text(key: str, text: str, annotation: Any) -> Any:
    """The value that an override's text stands for, by its field's annotation."""
    if _is_optional(annotation):
        return None if text == "none" else _from_text(key, text, _inner(annotation))
    if typing.get_origin(annotation) is tuple:
        return tuple(_from_text(key, item, _inner(annotation)) for item in text.split(",") if item)
    choices = {bool: (False, True)}.get(annotation) or typing.get_args(annotation)
    for choice in choices:
        if text == _to_text(choice):
            return choice
    try:
        value = annotation(text) if annotation in (int, float, str) else text
    except ValueError:
        value = text
    return _from_plain(key, value, annotation)


def _from_plain(key: str, value: Any, annotation: Any) -> Any:
    """The value as its annotation wants it, from JSON or from Python; UserError if it does not fit."""
    if _is_optional(annotation):
        return None if value is None else _from_plain(key, value, _inner(annotation))
    if typing.get_origin(annotation) is tuple:
        require(isinstance(value, tuple | list), key, value, _allowed(annotation))
        return tuple(_from_plain(key, item, _inner(annotation)) for item in value)
    if dataclasses.is_dataclass(annotation):
        return value if isinstance(value, annotation) else _from_mapping(key, value, annotation)
    if annotation is float and type(value) is int:
        value = float(value)
    if typing.get_origin(annotation) is Literal:
        fits = value in typing.get_args(annotation)
    else:
        fits = type(value) is annotation and not (annotation is float and not math.isfinite(value))
    require(fits, key, value, _allowed(annotation))
    return value


def _from_mapping(key: str, mapping: Any, cls: type) -> Any:
    require(isinstance(mapping, dict), key, mapping, _allowed(cls))
    annotations = _annotations(cls)
    for name in mapping:
        if name not in annotations:
            raise UserError(f"unknown key {name!r}{_nearest(name, annotations)}")
    for field in dataclasses.fields(cls):
        if field.name not in mapping and field.default is field.default_factory is dataclasses.MISSING:
            raise UserError(f"key {field.name!r} is missing")
    return cls(**{name: _from_plain(name, value, annotations[name]) for name, value in mapping.items()})


def _nearest(key: str, known: typing.Iterable[str]) -> str:
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    return f"; the nearest is {nearest[0]!r}" if nearest else ""
