"""What the workers in this folder share: settings come in a file, work is asked for line by line, answers are JSON.

They run in a Python that has the peer, and import nothing of this project but the files beside them.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def begin(settings_file):
    """(the settings, where answers go): standard output, which from now on no library prints to."""
    answers, sys.stdout = sys.stdout, sys.stderr
    return json.loads(Path(settings_file).read_text(encoding="utf-8")), answers


def say(answers, value):
    """One line of JSON to who asks."""
    print(json.dumps(value), file=answers, flush=True)


def answer_all(answers, work):
    """Work once for every line of standard input, and tell how many seconds each took."""
    for _ in sys.stdin:
        start = time.perf_counter()
        work()
        say(answers, {"seconds": time.perf_counter() - start})


def arrays_of(batches_file, *names):
    """[arrays of those names] of each batch in the file."""
    with np.load(batches_file) as arrays:
        count = sum(name.startswith(f"{names[0]}_") for name in arrays)
        return [[arrays[f"{name}_{i}"] for name in names] for i in range(count)]
