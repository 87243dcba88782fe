"""How commands print what they have measured."""

import json
import math
from collections.abc import Mapping
from typing import Any, TextIO


def print_figures(figures: Mapping[str, Any], as_json: bool, output: TextIO) -> None:
    """Print figures by name: one JSON object, in which what is not finite is null, or a line for each."""
    if as_json:
        infinite = {name for name, value in figures.items() if isinstance(value, float) and not math.isfinite(value)}
        print(json.dumps(dict(figures) | dict.fromkeys(infinite)), file=output)
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        text = f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
        print(f"{name:>{width}}  {text}", file=output)
