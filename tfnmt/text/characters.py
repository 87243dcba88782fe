"""What a string of Python can hold and text cannot."""

from tfnmt.errors import UserError


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
        raise UserError(f"{place}half a surrogate pair, {error.object[error.start]!r}, is no character") from error
