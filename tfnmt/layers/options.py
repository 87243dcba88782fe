"""What the options of layers must be."""

from numbers import Integral
from typing import Any


def require_whole(minimum: int, **numbers: Any) -> None:
    """Raise `ValueError` for a number, given by its name, that is not whole or below the minimum."""
    for name, number in numbers.items():
        if not isinstance(number, Integral) or number < minimum:
            raise ValueError(f"{name}={number!r}: must be a whole number from {minimum}")
