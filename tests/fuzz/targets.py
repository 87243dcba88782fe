"""What is fuzzed: the readers, with inputs to begin with and strings that occur in their inputs."""

import contextlib
import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.fuzz import readers
from tests.fuzz.readers import PARTS, SHORTLIST_TOKENIZERS, TOKENIZER
from tests.fuzz.servers import http, predict, rest
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import SubwordTokenizer


@dataclass(frozen=True)
class Target:
    """A reader, inputs to begin with, and strings that occur in its inputs."""

    run: Callable[[bytes, Path], None]
    """Takes an input and a folder for its files, which may hold those of other inputs."""
    examples: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    documented: tuple[type[Exception], ...] = (UserError,)
    """Of TensorFlow's errors, DataLossError too: the commands say it in one line."""

    def __call__(self, data: bytes, folder: Path) -> None:
        """One input.

        Raises:
            Exception: a fault.
        """
        with contextlib.suppress(*self.documented):
            self.run(data, folder)


def of_array(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def of_shortlist(translations, frequent, **digests) -> list[bytes]:
    """As an archive, and as arrays; see `readers.shortlist`."""
    file = io.BytesIO()
    named = {"translations": translations, "frequent": frequent, "target_vocabulary_size": 9, **digests}
    np.savez(file, **named)
    arrays = PARTS.join(of_array(np.asarray(array)) for array in named.values())
    return [b"\0" + file.getvalue(), b"\1" + arrays]


def of_tokenizer(made) -> bytes:
    description = {"kind": made.kind, "vocabulary_size": made.vocabulary_size, "options": made.options()}
    return json.dumps(description).encode() + PARTS + made.asset()


def of_request(**inputs) -> bytes:
    request = PredictRequest()
    request.model_spec.name = "echo"
    request.model_spec.signature_name = "both" if len(inputs) > 1 else ""
    for name, texts in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(texts))
    return request.SerializeToString()


def of_http(request: bytes) -> bytes:
    line, _, body = request.partition(b"\n")
    return line + b" HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def kinds(*examples: bytes, number: int) -> list[bytes]:
    """Each example after each first byte."""
    return [bytes([kind]) + example for example in examples for kind in range(number)]


PAIRS = [b"a dog\tein Hund\nruns\tl\xc3\xa4uft\n", b"a\nb\n%%\nc\nd\n", gzip.compress(b"a\tb\n", mtime=0)]
TREES = [
    b'{"gold_label": "neutral", "sentence1_binary_parse": "( a dog )", "sentence2_binary_parse": "runs"}\n',
    b"gold_label\tsentence1_binary_parse\tsentence2_binary_parse\nneutral\t( a dog )\truns\n-\ta\tb\n",
    b"NEUTRAL\t( a ( dog runs ) )\t( a dog )\n",
    b"(3 (2 a) (1 (2 dog) (4 runs)))\n",
    b"<\t( not a )\t( a ( or b ) )\n",
]
BRACKETS = [b"( ", b" )", b"\t", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xe2\x80\xa8"]
VECTORS = b"a 0.1 -2e3\ndog 1 2\nruns nan 1\n"
ARRAYS = [np.ones([2, 3], np.float32), np.ones([2, 1], ">f8"), np.ones([1], np.int32)]
CONFIGURATION = {"kind": "translator", "model": {"encoder_units": 8, "residual": True, "source_dropout": 0.5}}
CLASSIFIER = {"kind": "classifier", "model": {"task": "sst", "encoder": "spinn", "widths": [1, 3], "projection": None}}
JSON = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"null", b"true", b"1e999", b"NaN", b"\\ud800"]
REQUESTS = [
    b'POST /v1/models/echo:predict\n{"instances": ["a dog", {"b64": "cnVucw=="}]}',
    b'POST /v1/models/echo/versions/1:predict\n{"signature_name": "both", "inputs": {"source": [], "target": []}}',
    b'POST /v1/models/echo/labels/stable:predict\n{"instances": [{"source": "a", "target": "b"}]}',
    *(b"GET " + path for path in (b"/", b"/health", b"/metrics", b"/v1/models", b"/v1/models/echo/metadata")),
]
PATHS = [
    b"/v1/models/echo",
    b":predict",
    b":classify",
    b"/metadata",
    b"/versions/",
    b"/labels/",
    b"POST ",
    b"GET ",
    b"%",
]
HEADERS = [
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"\r\n",
    b"HTTP/1.0",
]
KEYS = [b'"kind"', b'"model"', b'"task"', b'"encoder"', b'"widths"', b'"projection"', b'"encoder_layers"']
SUBWORDS = SubwordTokenizer.train(["a dog runs", "the dog sees a cat", "cats run"] * 3, 19)

TARGETS = {
    "pairs": Target(readers.pairs, kinds(*PAIRS, number=4), [PARTS, *BRACKETS]),
    "pairs_in_graph": Target(
        readers.pairs_in_graph, kinds(*PAIRS, number=4), [PARTS, *BRACKETS], (UserError, tf.errors.DataLossError)
    ),
    "trees": Target(readers.trees, kinds(*TREES, number=18), BRACKETS + JSON),
    "listops": Target(readers.listops, kinds(b"7\t( ( [MAX 7 ) ] )\n3\t3\n", number=3), [*BRACKETS, b"[MAX", b"]"]),
    "vectors_text": Target(readers.vectors_text, [VECTORS], [b" ", b"nan", b"inf", b"1e39", b"dog", b"\n"]),
    "vectors_array": Target(
        readers.vectors_array, [of_array(array) + PARTS + b"a\ndog\n" for array in ARRAYS], [PARTS]
    ),
    "configuration": Target(
        readers.configuration, [json.dumps(x).encode() for x in (CONFIGURATION, CLASSIFIER)], JSON + KEYS
    ),
    "tokenizer": Target(readers.tokenizer, [of_tokenizer(TOKENIZER), of_tokenizer(SUBWORDS)], [PARTS, *JSON]),
    "shortlist": Target(
        readers.shortlist,
        [
            *of_shortlist(np.full([8, 2], 4), [5, 6]),
            *of_shortlist(np.zeros([8, 1]), np.zeros([0])),
            *of_shortlist(np.full([8, 2], 4), [5, 6], digests=[each.digest() for each in SHORTLIST_TOKENIZERS]),
        ],
        [b"PK", PARTS, b"<i4", b">u8", b"(8, 2)", b"\xff" * 4],
    ),
    "rest": Target(rest, REQUESTS, [*PATHS, *JSON, b'"instances"', b'"inputs"', b'"signature_name"', b'{"b64": "']),
    "http": Target(http, [of_http(request) for request in REQUESTS], [*HEADERS, *PATHS]),
    "grpc": Target(predict, [of_request(text=["a", "b"]), of_request(source=["a"], target=["b"])]),
}
