"""What a string of Python can hold and text cannot."""

from collections.abc import Sequence

from tfnmt.configuration import require
from tfnmt.errors import UserError


def require_texts(name: str, texts: Sequence[str | bytes]) -> None:
    """Raise `UserError` unless this is a list of strings that UTF-8 has bytes for.

    Args:
        name: what they are called in the error's message.
        texts: the list; bytes are not looked through.
    """
    require(not isinstance(texts, str | bytes), name, texts, "a list of strings")
    for number, text in enumerate(texts, start=1):
        require(isinstance(text, str | bytes), f"{name}, number {number}", text, "a string")
        refuse_surrogates(text, f"{name}, number {number}: ")


def refuse_surrogates(text: str | bytes, place: str = "") -> None:
    """Raise for half a surrogate pair, as JSON and Python's strings can have one: UTF-8 has no bytes for it.

    Args:
        text: which is looked through; bytes are not.
        place: the beginning of the error's message.

    Raises:
        UserError: there is one.
    """
    try:
        if isinstance(text, str):
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"{place}half a surrogate pair, {error.object[error.start]!r}, is not a character") from error
