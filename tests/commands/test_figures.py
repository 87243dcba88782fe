"""Figures that commands print."""

import io
import json
import math

from tfnmt.commands.figures import print_figures


def test_what_is_not_finite_is_null_at_every_depth():
    output = io.StringIO()
    print_figures({"a": {"perplexity": math.inf, "bleu": 2.5}, "loss": math.nan, "name": "b"}, True, output)
    assert output.getvalue() == json.dumps({"a": {"perplexity": None, "bleu": 2.5}, "loss": None, "name": "b"}) + "\n"
