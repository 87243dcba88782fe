"""What the workers in this folder share: settings come in a file, work is asked for line by line, answers are JSON.

They run in a Python that has the peer, and import nothing of this project but this file beside them.
"""

import json
import sys
from pathlib import Path

import torch


def begin(settings_file):
    """(the settings, where answers go): standard output, which from now on no library prints to."""
    answers, sys.stdout = sys.stdout, sys.stderr
    settings = json.loads(Path(settings_file).read_text(encoding="utf-8"))
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(settings["seed"])
    return settings, answers


def say(answers, value):
    """One line of JSON to who asks."""
    print(json.dumps(value), file=answers, flush=True)


def shapes(model):
    """The shapes of a model's weights by name."""
    return {name: list(weight.shape) for name, weight in model.named_parameters()}
