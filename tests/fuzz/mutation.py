"""Changes of JSON that leave it JSON, so that inputs get past its parser."""

import copy
import json
import random
from typing import Any

VALUES = (None, True, 0, -1, 0.5, 1 << 63, 1e308, "", "a", "\ud800", "a\0b", [], {}, [[]], ["a", "b"], {"b64": "YQ=="})


def changed_json(data: bytes, generator: random.Random) -> bytes | None:
    """The bytes with one or two values of their first JSON object changed; None if there is no whole one."""
    start = data.find(b"{")
    try:
        text = data[start:].decode("utf-8", "surrogateescape")
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    end = start + len(text[:end].encode("utf-8", "surrogateescape"))
    whole = [value]
    for _ in range(generator.randint(1, 2)):
        _change(whole, generator)
    new = json.dumps(whole[0], ensure_ascii=generator.random() < 0.5)
    return data[:start] + new.encode("utf-8", "surrogatepass") + data[end:]


def _change(whole: list[Any], generator: random.Random) -> None:
    """Change one place in a value: another value, that of another place, none, one more, or another name."""
    places = list(_places(whole))
    container, key = generator.choice(places)
    other, its_key = generator.choice(places)
    action = generator.randrange(5)
    if action == 0:
        container[key] = copy.deepcopy(generator.choice(VALUES))
    elif action == 1:
        container[key] = copy.deepcopy(other[its_key])
    elif action == 2 and container is not whole:
        del container[key]
    elif isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif action == 3:
        container[generator.choice(("", "x", str(its_key)))] = copy.deepcopy(container[key])
    elif isinstance(container[key], str):
        container[key] *= generator.choice((2, 100))


def _places(value):
    """Every place of a value: (container, key)."""
    for key in range(len(value)) if isinstance(value, list) else value:
        yield value, key
        if isinstance(value[key], (list, dict)):
            yield from _places(value[key])
