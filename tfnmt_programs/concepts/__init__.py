"""The glossary of "Deep Learning in a Nutshell: Core Concepts" (Dettmers 2015) as small functions and pictures.

Each module is one concept: its equation as a function, and `show() -> (figure, sentence)`, the picture and what it
shows in numbers. docs/concepts.md reads them from top to bottom.
"""

import importlib
from types import ModuleType

from tfnmt.errors import UserError, nearest_name

CONCEPTS = (
    "logistic_regression",
    "units",
    "nonlinearity",
    "network_layers",
    "backpropagation",
    "vanishing_gradient",
    "memory",
    "convolution",
    "convolution_readings",
    "cross_correlation",
    "fourier",
    "phase",
    "pooling",
    "pooling_areas",
    "convolutional_network",
    "inception",
    "colour_counting",
    "learned_features",
)
"""In the order in which the post tells them."""


def find_concept(name: str) -> ModuleType:
    """The module of that name.

    Raises:
        UserError: there is none; names those that exist.
    """
    if name not in CONCEPTS:
        raise UserError(f"unknown concept {name!r}{nearest_name(name, CONCEPTS)} of {', '.join(CONCEPTS)}")
    return importlib.import_module(f"tfnmt_programs.concepts.{name}")
