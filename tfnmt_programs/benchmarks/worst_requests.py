"""The requests that take a server the most time and memory, found by search."""

import contextlib
import http.client
import json
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tfnmt.commands.server_process import ServerProcess, server_process
from tfnmt.errors import UserError
from tfnmt.serving.files import base_path, read_models
from tfnmt.serving.limits import MAXIMUM_BODY
from tfnmt_programs.measuring import memory_growth, processor_seconds, reset_peak_memory, resident_memory

REPETITIONS = 3  # of the slowest request, in the end


@dataclass(frozen=True)
class Shape:
    """What the cost of a request depends on."""

    rows: int
    words: int
    """Of each text, or of the first one alone."""
    alike: bool
    """Whether all texts are so long; otherwise those after the first have one word."""
    letters: int
    """Of a word."""
    branching: str
    """Of trees: "left", "right" or "balanced"."""

    def texts(self, trees: bool) -> list[str]:
        """The texts, as trees or as words alone."""
        texts = []
        for row in range(self.rows):
            count = self.words if self.alike or row == 0 else 1
            words = [f"w{(row + 7 * i) % 5000}".ljust(self.letters, "x") for i in range(count)]
            texts.append(_tree(words, self.branching) if trees else " ".join(words))
        return texts

    def __str__(self):
        rows = f"{self.rows} of {self.words} words" if self.alike or self.rows == 1 else f"1 of {self.words} words"
        others = "" if self.alike or self.rows == 1 else f", {self.rows - 1} of one"
        return f"{rows}{others}, {max(self.letters, 2)} letters, {self.branching}"


class Cost(NamedTuple):
    """What a request took."""

    seconds: float
    """Of processors."""
    bytes: int
    """By which the server's memory was at most larger than after a small request."""


def worst_requests(directory: str | Path, trials: int, seed: int) -> dict[str, Any]:
    """Search the worst requests for each signature of the models in a folder of servables.

    Each search has a server of its own, and the worst requests found are measured with a fresh one.

    Args:
        directory: the folder.
        trials: requests measured for each signature.
        seed: of the search.

    Returns:
        By "MODEL SIGNATURE ...": "seconds" (the median of three) and "slowest", "megabytes" and "largest", the two
        requests. They are the same for the same seed if the costs are.
    """
    figures: dict[str, Any] = {}
    for name, signatures in _signatures(directory).items():
        for signature, inputs in signatures.items():
            with _asker(directory, name, signature, inputs) as ask:
                slowest, largest = search(ask, trials, random.Random(seed))
            with _asker(directory, name, signature, inputs) as ask:
                grown = ask(largest)
                times = [ask(slowest).seconds for _ in range(REPETITIONS)]
            label = f"{name} {signature}"
            figures |= {f"{label} seconds": statistics.median(times), f"{label} slowest": str(slowest)}
            figures |= {f"{label} megabytes": grown.bytes / 1e6, f"{label} largest": str(largest)}
    return figures


def search(ask: Callable[[Shape], Cost | None], trials: int, rng: random.Random) -> tuple[Shape, Shape]:
    """The shapes of the slowest and of the largest request: random ones first, then changes of the worst.

    Args:
        ask: what a request costs; None if it is refused.
        trials: requests that are answered.
        rng: where random numbers come from.
    """
    found: list[tuple[Cost, Shape]] = []
    while len(found) < trials:
        if not found or len(found) < trials // 2:
            shape = _random_shape(rng)
        else:
            worst = max(found, key=lambda each: each[0][len(found) % 2])[1]
            shape = _changed(worst, rng)
        while (cost := ask(shape)) is None and shape.words > 1:  # what is just not refused is worst
            shape = replace(shape, words=int(0.9 * shape.words))
        if cost is None:  # too many rows, or too long words
            continue
        found.append((cost, shape))
    return max(found, key=lambda each: each[0].seconds)[1], max(found, key=lambda each: each[0].bytes)[1]


def _random_shape(rng):
    return Shape(
        rows=round(2 ** rng.uniform(0, 6)),
        words=round(2 ** rng.uniform(0, 11)),
        alike=rng.random() < 0.8,
        letters=rng.choice([1, 1, 1, 30, 1000]),
        branching=rng.choice(["left", "right", "balanced"]),
    )


def _changed(shape, rng):
    rows = min(64, max(1, round(shape.rows * rng.choice([0.5, 0.8, 1, 1, 1.25, 2]))))
    words = max(1, round(shape.words * rng.choice([0.7, 1, 1.3, 2])))
    return replace(_random_shape(rng), rows=rows, words=words, alike=shape.alike, letters=shape.letters)


def _tree(words, branching):
    if branching == "left":
        return "( " * (len(words) - 1) + words[0] + "".join(f" {word} )" for word in words[1:])
    if branching == "right":
        return "".join(f"( {word} " for word in words[:-1]) + words[-1] + " )" * (len(words) - 1)
    if len(words) == 1:
        return words[0]
    middle = len(words) // 2
    return f"( {_tree(words[:middle], branching)} {_tree(words[middle:], branching)} )"


def _signatures(directory: str | Path) -> dict[str, dict[str, Sequence[str]]]:
    """{model: {signature: its inputs}} of a folder of servables."""
    with server_process(directory) as server:
        names = [model.name for model in read_models(directory).model_config_list.config]
        return {name: _inputs(server, name) for name in names}


def _inputs(server, name):
    status, answer = _request(server, "GET", f"/v1/models/{name}/metadata")
    if status != 200:
        return {}
    definitions = answer["metadata"]["signature_def"]["signature_def"]
    return {key: sorted(each["inputs"]) for key, each in sorted(definitions.items()) if not key.startswith("__")}


@contextlib.contextmanager
def _asker(
    directory: str | Path, name: str, signature: str, inputs: Sequence[str]
) -> Iterator[Callable[[Shape], Cost | None]]:
    """What a request to one signature costs a server of its own, with this model alone."""
    (model,) = (each for each in read_models(directory).model_config_list.config if each.name == name)
    path = base_path(directory, model).resolve()
    with tempfile.TemporaryDirectory() as alone:
        config = f'name: {json.dumps(name)} base_path: {json.dumps(str(path))} model_platform: "tensorflow"'
        Path(alone, "models.config").write_text(f"model_config_list {{ config {{ {config} }} }}", encoding="utf-8")
        with server_process(alone) as server:
            yield cost_of_shapes(server, f"/v1/models/{name}:predict", signature, inputs)


def cost_of_shapes(
    server: ServerProcess, path: str, signature: str, inputs: Sequence[str]
) -> Callable[[Shape], Cost | None]:
    """A function from a shape to what such a request costs the server, or None if it is refused.

    Args:
        server: one that does nothing else.
        path: of the model's predict requests.
        signature: the signature's name.
        inputs: the names of its inputs, all of which get the same texts.

    Raises:
        UserError: it refuses a small request.
    """
    process = server.process.pid

    def body(texts):
        return json.dumps({"signature_name": signature, "inputs": dict.fromkeys(inputs, texts)})

    trees = _request(server, "POST", path, body(["a b"]))[0] != 200
    status, answer = _request(server, "POST", path, body(["( a b )"]))
    if status != 200:
        raise UserError(f"{path} {signature}: {answer}")

    def cost(shape):
        request = body(shape.texts(trees))
        if len(request) > MAXIMUM_BODY:
            return None
        reset_peak_memory(process)
        memory, start = resident_memory(process), processor_seconds(process)
        if _request(server, "POST", path, request)[0] != 200:
            return None
        return Cost(processor_seconds(process) - start, memory_growth(memory, process))

    return cost


def _request(server, method, path, body=None):
    connection = http.client.HTTPConnection(urlsplit(server.rest_url).netloc, timeout=600)
    with contextlib.closing(connection):
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
