"""Changed JSON is JSON, and what stands around it stays."""

import json
import random

from tests.fuzz.mutation import changed_json


def test_json_stays_json():
    request = b'POST /x\n{"instances": ["a", {"b64": "YQ=="}], "n": [1, {"k": null}]}\n%%\n\xff}'
    seen = set()
    for seed in range(300):
        changed = changed_json(request, random.Random(seed))
        start, end = b"POST /x\n", b"\n%%\n\xff}"
        assert changed.startswith(start) and changed.endswith(end)
        middle = changed[len(start) : -len(end)]
        json.loads(middle.decode("utf-8", "surrogatepass"))
        seen.add(middle)
    assert len(seen) > 150


def test_what_is_not_json_is_left():
    for data in (b"", b"POST /x\n", b'{"a": ', b"[" * 100_000):
        assert changed_json(data, random.Random(1)) is None
