"""How commands print what they have measured."""

import json
import math
from collections.abc import Mapping
from typing import Any, TextIO


def print_figures(figures: Mapping[str, Any], as_json: bool, output: TextIO) -> None:
    """Print figures by name: one JSON object, in which what is not finite is null, or a line for each. In JSON, figures
    may be mappings of figures.
    """
    if as_json:
        print(json.dumps(_finite(figures)), file=output)
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        text = f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
        print(f"{name:>{width}}  {text}", file=output)


def _finite(value):
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
