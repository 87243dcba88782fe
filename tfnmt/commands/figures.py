"""How commands print what they have measured."""

import json
import math
from collections.abc import Mapping
from typing import Any, TextIO


def print_figures(figures: Mapping[str, Any], as_json: bool, output: TextIO) -> None:
    """Print figures by name: one JSON object, see `json_line`, or a line for each. Names of p-values end in "_p"."""
    if as_json:
        print(json_line(figures), file=output)
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        text = f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
        if name.endswith("_p") and 0 < value < 1e-4:
            text = f"{value:.1e}"
        print(f"{name:>{width}}  {text}", file=output)


def json_line(figures: Mapping[str, Any]) -> str:
    """Figures by name as one JSON object, in which what is not finite is null: JSON has no such number. Figures may be
    mappings and lists of figures.
    """
    return json.dumps(_finite(figures), allow_nan=False)


def _finite(value):
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
