"""Configurations: frozen pydantic models, overridden by key=value, kept as JSON, described in a table.

A configuration documents and bounds each field in place:

    class GRUConfiguration(Configuration):
        units: int = Field(512, description="units of the decoder", ge=1)
        dropout: float = Field(0.0, description="part of the units dropped in training", ge=0, lt=1)
        cell: Literal["gru", "lstm"] = Field("gru", description="recurrent cell")

A field is a bool, int, float, str, Literal, key of a registry (`KeyOf`), a tuple of one of these (`tuple[int, ...]`,
which needs `strict=False` to take lists too), any of these `| None`, or another configuration. Rules between fields are
model validators (mode "after") that call `require`.
"""

import contextlib
import typing
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError, model_validator
from pydantic_core import core_schema

from tfnmt.errors import UserError, errors_in, nearest_name


class Configuration(BaseModel):
    """Base of all configurations: immutable, without conversions (true is no integer), without NaN and infinity.

    Raises: UserError for an unknown or missing key, or a value that its field does not allow.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, values, validate):
        try:
            return validate(values)
        except ValidationError as error:
            raise UserError(_explain(cls, error.errors()[0])) from None

    def replace(self, **changes: Any) -> Self:
        """A copy with other values of some fields, validated."""
        return type(self)(**dict(self) | changes)

    def updated(self, mapping: Any) -> Self:
        """A copy with the values of a mapping, such as a section of a file; text stands for what it is in an override.

        Raises:
            UserError: it is no mapping, or has an unknown key or a value that its field does not allow.
        """
        fields = type(self).model_fields
        if not isinstance(mapping, Mapping):
            raise UserError(f"{setting_text(mapping)}: should be keys with values, such as {next(iter(fields))}")
        changes = {
            key: _from_text(value, fields[key].annotation) if isinstance(value, str) and key in fields else value
            for key, value in mapping.items()
        }
        return self.replace(**{str(key): value for key, value in changes.items()})

    def without_effect(self) -> dict[str, str]:
        """The keys whose values change nothing, each with the setting that is the cause, such as "attention=none"."""
        return {}

    def override(self, settings: list[str]) -> Self:
        """A copy of a configuration made of configurations, such as a preset, with `parse_overrides` of these."""
        return type(self)(**dict(zip(dict(self), parse_overrides(settings, *dict(self).values()), strict=True)))


class KeyOf:
    """`name: Annotated[str, KeyOf(registry)]`: a field that takes the keys of a dictionary, also those added later."""

    def __init__(self, registry: Mapping[str, Any]):
        self.registry = registry

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, key):
        if key not in self.registry:
            raise ValueError(f"no key {key!r}")
        return key


def different_keys(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """The keys of one mapping whose values are others in another one; of mappings in it, as of a configuration that
    is made of configurations, their own keys.
    """
    found = []
    for key, value in now.items():
        other = before.get(key)
        if value != other:
            inner = different_keys(value, other) if isinstance(value, Mapping) and isinstance(other, Mapping) else []
            found += inner or [key]
    return found


def require(condition: bool, key: str, value: Any, allowed: str) -> None:
    """Raise `UserError` "dropout=1.5: allowed is 0 <= dropout < 1" unless the condition holds."""
    if not condition:
        raise UserError(f"{key}={setting_text(value)}: allowed is {allowed}")


def require_class(configuration: Any, cls: type[Configuration]) -> None:
    """Raise `TypeError` if it is not a configuration of that class: a model's, where a preset has several."""
    if not isinstance(configuration, cls):
        raise TypeError(
            f"the configuration is a {cls.__name__}, as preset.model is, not {type(configuration).__name__}"
        )


def parse_overrides(settings: list[str], *configurations: Configuration) -> tuple[Any, ...]:
    """Replace fields by settings such as `["epochs=10", "dropout=0.3"]`.

    Each key belongs to one of the configurations; of a key given twice the last value counts. The settings of
    one configuration are applied together, so that it checks only the final combination.

    Returns: the configurations, in the order given.
    Raises: UserError for a setting without "=", an unknown key, or a value that its field does not allow.
    """
    owners = {}
    for position, configuration in enumerate(configurations):
        for name, field in type(configuration).model_fields.items():
            if name in owners:
                raise ValueError(f"two configurations have the key {name!r}")
            owners[name] = (position, field.annotation)

    changes = [{} for _ in configurations]
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"setting {setting!r}: write it as key=value, such as epochs=10")
        if key not in owners:
            raise UserError(f"unknown key {key!r}{nearest_name(key, owners)}; --help lists every key")
        position, annotation = owners[key]
        changes[position][key] = _from_text(text, annotation)
    return tuple(
        configuration.replace(**changed) for configuration, changed in zip(configurations, changes, strict=True)
    )


def field_from_text(cls: type[Configuration], key: str, text: str) -> Any:
    """The value of one field that a text stands for, as in an override. Rules between fields are not asked.

    Raises: UserError for a value that the field does not allow.
    """
    field = cls.model_fields[key]
    value, kind = _from_text(text, field.annotation), typing.cast(Any, Annotated[field.annotation, field])
    try:
        return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError:
        allowed = _allowed(key, field.annotation, field.metadata)
        raise UserError(f"{setting_text(value)}: allowed is {allowed}") from None


def from_json(cls: type[Configuration], mapping: Any, file: str | Path = "configuration") -> Any:
    """The configuration of which `model_dump(mode="json")` gave `mapping`. A key left out takes its default.

    Raises: UserError, which names the file first, for an unknown key, a missing one without a default, or a value
    that its field does not allow.
    """
    with errors_in(file):
        return cls.model_validate(mapping)


def describe(*configurations: Configuration) -> str:
    """A table of every key: its value, written as an override is, and its meaning."""
    rows = []
    for configuration in configurations:
        for name, field in type(configuration).model_fields.items():
            meaning = f"{field.description} ({_allowed(name, field.annotation, field.metadata)})"
            rows.append((name, setting_text(getattr(configuration, name)), meaning))
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{key:{key_width}}  {value:{value_width}}  {meaning}" for key, value, meaning in rows)


def _explain(cls, error):
    """One line for an error of pydantic's."""
    if not error["loc"]:
        return f"{cls.__name__}={setting_text(error['input'])}: allowed is the fields of {cls.__name__}"
    key, *item = error["loc"]
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}{nearest_name(key, cls.model_fields)}"
    if error["type"] == "missing":
        return f"key {key!r} is missing"
    field = cls.model_fields[key]
    annotation = _inner(field.annotation) if item else field.annotation
    return f"{key}={setting_text(error['input'])}: allowed is {_allowed(key, annotation, field.metadata)}"


def _allowed(key, annotation, constraints):
    """What a field takes, in words."""
    if NoneType in typing.get_args(annotation):
        return f"{_allowed(key, _inner(annotation), constraints)}, or none"
    if typing.get_origin(annotation) is tuple:
        return f"{_allowed(key, _inner(annotation), constraints)}; several with commas between"
    if typing.get_origin(annotation) is Annotated:
        return _allowed(key, typing.get_args(annotation)[0], constraints)
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(setting_text(choice) for choice in typing.get_args(annotation))
    for constraint in constraints:
        if isinstance(constraint, KeyOf):
            return "one of " + ", ".join(constraint.registry)
    limits = {name: getattr(c, name) for c in constraints for name in ("ge", "gt", "le", "lt") if hasattr(c, name)}
    if annotation is float and len(limits) == 2:
        (lower, low), (upper, high) = sorted(limits.items())
        return f"{low} {'<=' if lower == 'ge' else '<'} {key} {'<=' if upper == 'le' else '<'} {high}"
    words = {
        bool: "true or false",
        int: "an integer",
        float: "a number",
        str: "text",
        dict: "an object",
        list: "a list",
    }
    bounds = {"ge": "from", "gt": "over", "le": "to", "lt": "under"}
    kind = typing.get_origin(annotation) or annotation
    phrase = words.get(kind, f"the fields of {kind.__name__}")
    return phrase + "".join(f" {bounds[name]} {limit}" for name, limit in limits.items())


def _inner(annotation):
    """`T | None` -> T, `tuple[T, ...]` -> T."""
    return next(part for part in typing.get_args(annotation) if part not in (NoneType, Ellipsis))


def setting_text(value: Any) -> str:
    """A value as it is written in an override."""
    if isinstance(value, tuple | list):
        return ",".join(setting_text(item) for item in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _from_text(text, annotation):
    """The value that an override's text stands for; the text itself where it is none that the field could take."""
    if NoneType in typing.get_args(annotation):
        return None if text == "none" else _from_text(text, _inner(annotation))
    if typing.get_origin(annotation) is tuple:
        return tuple(_from_text(item, _inner(annotation)) for item in text.split(",") if item)
    if annotation is bool:
        return {"true": True, "false": False}.get(text, text)
    with contextlib.suppress(ValueError):
        return annotation(text) if annotation in (int, float) else text
    return text
