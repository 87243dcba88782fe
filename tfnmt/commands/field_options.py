"""Options that are made from the fields of a configuration."""

import argparse
import typing
from collections.abc import Callable
from typing import Any, Literal

from tfnmt.commands.parser import CommandParser
from tfnmt.configuration import Configuration, field_from_text, setting_text
from tfnmt.errors import UserError


def add_field(parser: CommandParser, cls: type[Configuration], name: str, option: str | None = None) -> None:
    """An option for one field: its values, its default and what it means are the field's.

    Args:
        parser: what gets the option, whose value will have the field's name.
        cls: the configuration with the field: a bool, which becomes a flag, a tuple of texts, a Literal, or a number.
        name: the field.
        option: what the option is called, such as "--replace-unk"; None for the field's name.
    """
    field = cls.model_fields[name]
    settings: dict[str, Any] = {"dest": name, "default": field.default, "help": field.description or ""}
    if field.annotation is bool:
        settings["action"] = "store_true"
    elif typing.get_origin(field.annotation) is tuple:
        settings |= {"nargs": "+", "metavar": "W"}
    else:
        if field.default is not None:
            settings["help"] += f" (default: {setting_text(field.default)})"
        settings |= _kind(cls, name)
    parser.add_argument(option or f"--{name.replace('_', '-')}", **settings)


def _kind(cls, name):
    """What argparse is to know of a field that is a Literal or a number, or None in its place."""
    annotation = cls.model_fields[name].annotation
    if typing.get_origin(annotation) is Literal:
        return {"choices": typing.get_args(annotation)}
    kinds = typing.get_args(annotation) or (annotation,)
    return {"type": field_value(cls, name), "metavar": "X" if float in kinds else "N"}


def field_value(cls: type[Configuration], name: str) -> Callable[[str], Any]:
    """For `type=` of an option: what a text stands for in a field."""

    def value(text: str) -> Any:
        try:
            return field_from_text(cls, name, text)
        except UserError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value
