"""A small translator with a different translation for every sentence, and its export."""

import asyncio
import shutil
import subprocess
import threading

import keras
import numpy as np
import pytest
import requests
import tensorflow as tf

from tests.processes import wait_until
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.serving.files import register
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import Address, BatchingOptions, ServerOptions
from tfnmt.serving.server import serve
from tfnmt.serving.tls import Certificate
from tfnmt.text.tokenizers import END, SubwordTokenizer, WordTokenizer
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.servable import TranslatorServable
from tfnmt.translation.translator import Translator

SIZES = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")
TOKENIZERS = {
    "subword": lambda lines: SubwordTokenizer.train(lines, vocabulary_size=120),
    "word": lambda lines: WordTokenizer.train(lines, split_punctuation=True, lowercase=True),
}


def made(kind="subword", seed=8, **options):
    """A translator with large random weights: its output depends on every source word."""
    keras.utils.set_random_seed(seed)
    sides = zip(*sample_pairs(200, seed=0, split="train"), strict=True)
    tokenizers = [TOKENIZERS[kind](list(lines)) for lines in sides]
    model = Translator(TranslatorConfiguration(**dict.fromkeys(SIZES, 8) | options), *tokenizers)
    random = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.8))
    bias = model.decoder.b.numpy()
    bias[:END] = -20.0
    bias[END] += 2.5
    model.decoder.b.assign(bias)
    return model


@pytest.fixture(scope="session")
def model():
    return made()


@pytest.fixture(scope="session")
def sentences():
    return [english for english, _ in sample_pairs(150, seed=0, split="test")]


@pytest.fixture(scope="session")
def exported(model, export_once):
    """The path of version 1 of "sample", a beam of 3."""
    search = SearchConfiguration(beam_size=3, n_best=2)
    return export_once(lambda: TranslatorServable([model], search), "sample")


class Echo(tf.Module):
    """A servable that returns its input after a name of its own, without delay."""

    def __init__(self, name):
        super().__init__(name="echo")

        def serving_default(text):
            return {
                "translation": tf.strings.join([name, ":", text]),
                "score": tf.cast(tf.strings.length(text), tf.float32),
            }

        def pair(source, target):
            return {"both": tf.strings.join([source, "|", target])}

        def wide(text):
            return {"words": tf.strings.split(text).to_tensor("")}

        def slow(text):
            total = tf.while_loop(lambda i, _: i < 60_000, lambda i, x: (i + 1, tf.sin(x)), (0, 1.0))[1]
            return {"text": text, "total": tf.fill(tf.shape(text), total)}

        def number(text):
            return {"number": tf.strings.to_number(text)}

        functions = {"serving_default": serving_default, "wide": wide, "slow": slow, "number": number}
        self.functions = {
            key: tf.function(function, input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
            for key, function in functions.items()
        }
        sides = [tf.TensorSpec([None], tf.string, side) for side in ("source", "target")]
        self.functions["pair"] = tf.function(pair, input_signature=sides, autograph=False)


@pytest.fixture(scope="session")
def echoes(tmp_path_factory):
    """Paths of two SavedModels, Echo("one") and Echo("two")."""
    paths = []
    for name in ("one", "two"):
        paths.append(tmp_path_factory.mktemp("echoes") / "saved")
        echo = Echo(name)
        tf.saved_model.save(
            echo, str(paths[-1]), {key: function.get_concrete_function() for key, function in echo.functions.items()}
        )
    return paths


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate of this machine, signed by itself."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    signed = Certificate(folder / "chain.pem", folder / "key.pem")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-keyout", signed.key, "-out", signed.chain, "-days", "2", "-subj", "/CN=localhost", "-addext", names]
    subprocess.run(command, check=True, capture_output=True)
    return signed


class FakeVersion:
    """A version that computes nothing."""

    waiting_rows = 0

    def __init__(self, path):
        self.path, self.number = path, int(path.name)


def publish(saved, directory, name, version):
    """Copy a SavedModel to a version's folder, at once."""
    aside = directory / name / f".{version}"
    shutil.copytree(saved, aside)
    aside.rename(directory / name / str(version))
    register(directory, name)


class Running:
    """A server in a thread of this process; its models are loaded, unless `loaded` is False.

    Further options are those of `ServerOptions`.
    """

    def __init__(self, directory, batching, loaded=True, **options):
        options = ServerOptions(Address(rest_port=0, grpc_port=0), batching, poll_seconds=0.1, **options)
        self._certificate = options.certificate
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(directory, options), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        if loaded:
            wait_until(lambda: self._get("/health").json()["status"] != "loading")

    def _get(self, path):
        verify = str(self._certificate.chain) if self._certificate else None
        return requests.get(self.rest + path, timeout=60, verify=verify)

    def wait_for(self, path, status):
        """Wait until a GET of this path is answered with this status."""
        wait_until(lambda: self._get(path).status_code == status)

    def _run(self, directory, options):
        async def main():
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            await serve(directory, options, self._set, self._stop)

        asyncio.run(main())

    def _set(self, address):
        encrypted = "s" if self._certificate else ""
        self.rest = f"http{encrypted}://127.0.0.1:{address.rest_port}"
        self.grpc = f"grpc{encrypted}://127.0.0.1:{address.grpc_port}"
        self.port = address.rest_port
        self._ready.set()

    def stop(self, within=60):
        """Stop the server, which must end in so many seconds."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(within)
        assert not self._thread.is_alive()


@pytest.fixture
def start():
    """`start(directory, limits, **options)`: a `Running` server, stopped in the end."""
    servers = []

    def start_(directory, limits=None, **options):
        servers.append(Running(directory, BatchingOptions(**options), limits=limits or Limits()))
        return servers[-1]

    yield start_
    for server in servers:
        server.stop()
