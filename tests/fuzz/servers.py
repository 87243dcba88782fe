"""The server as a target of fuzzing, by both protocols, over a model that gives back what it gets."""

import asyncio
import functools
import re
import socket
import tempfile
from pathlib import Path
from urllib.parse import unquote

import grpc
import tensorflow as tf

from tfnmt.serving.files import register
from tfnmt.serving.grpc_server import GrpcServer
from tfnmt.serving.grpc_services import add_services
from tfnmt.serving.http_server import HttpServer
from tfnmt.serving.options import BatchingOptions, ServerOptions
from tfnmt.serving.rest import rest_application
from tfnmt.serving.service import create_service

OPTIONS = ServerOptions(batching=BatchingOptions(wait_seconds=0.0))
REFUSALS = {"INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED"}


def save_echo(path):
    """A SavedModel with two signatures: one of one input, one of two."""
    text, source, target = (tf.TensorSpec([None], tf.string, name) for name in ("text", "source", "target"))
    module = tf.Module()
    module.echo = tf.function(lambda text: {"echo": text, "length": tf.strings.length(text)}, [text])
    module.both = tf.function(lambda source, target: {"both": source + target}, [source, target])
    signatures = {"serving_default": module.echo, "both": module.both}
    functions = {name: function.get_concrete_function() for name, function in signatures.items()}
    tf.saved_model.save(module, str(path), functions)


class Servers:
    """Everything is made when it is first needed, and then stays."""

    @functools.cached_property
    def loop(self):
        return asyncio.new_event_loop()

    @functools.cached_property
    def folder(self):
        self.temporary = tempfile.TemporaryDirectory()
        return Path(self.temporary.name)

    @functools.cached_property
    def service(self):
        """Both protocols' service, with the model "echo" loaded."""
        save_echo(self.folder / "echo" / "1")
        register(self.folder, "echo")
        service = create_service(self.folder, OPTIONS)
        self.loop.run_until_complete(service.models.update())
        return service

    @functools.cached_property
    def application(self):
        """The ASGI application of the REST interface."""
        return rest_application(self.service)

    @functools.cached_property
    def http(self):
        """The path of the HTTP server's socket."""
        listener, server = socket.socket(socket.AF_UNIX), HttpServer(self.application, OPTIONS)
        listener.bind(str(self.folder / "http"))
        self.serving = self.loop.create_task(server.serve([listener]))

        async def started():
            while not server.started:
                await asyncio.sleep(0.01)

        self.loop.run_until_complete(started())
        return self.folder / "http"

    @functools.cached_property
    def predict(self):
        """The method Predict of a gRPC client that sends any bytes."""
        address = f"unix:{self.folder}/grpc"
        service = self.service

        async def start():
            server = GrpcServer(OPTIONS)
            add_services(server.server, service, OPTIONS.limits)
            server.server.add_insecure_port(address)
            await server.start()
            return server, grpc.aio.insecure_channel(address)

        self.grpc_server, self.channel = self.loop.run_until_complete(start())
        return self.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")


SERVERS = Servers()


def rest(data: bytes, folder: Path) -> None:
    """A line of method and path, then a body. An exception that would be answered with status 500 comes out."""
    line, _, body = data.partition(b"\n")
    found = re.fullmatch(rb"([A-Z]+) ([\x21-\x7e]+)", line)  # all else does not get through uvicorn
    if found:
        path, _, query = found[2].partition(b"?")
        answering = answer(SERVERS.application, found[1].decode(), path, query, body)
        status = SERVERS.loop.run_until_complete(answering)
        assert 200 <= status < 500, status


async def answer(application, method, path, query, body):
    """The status that an HTTP server would send."""
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method}
    scope |= {
        "path": unquote(path.decode()),
        "raw_path": path,
        "query_string": query,
        "headers": [],
        "scheme": "http",
        "root_path": "",
        "server": ("localhost", 80),
    }
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent = []

    async def receive():
        return next(messages, {"type": "http.disconnect"})  # a file's response waits for the disconnection

    async def send(message):
        sent.append(message)

    await application(scope, receive, send)
    return sent[0]["status"]


def http(data: bytes, folder: Path) -> None:
    """All that a client sends over a connection."""

    async def exchange(path):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(data)
        writer.write_eof()
        answers = await reader.read()
        writer.close()
        return answers

    try:
        answers = SERVERS.loop.run_until_complete(exchange(SERVERS.http))
    except ConnectionError:  # closed before all was sent
        return
    assert not re.search(rb"^HTTP/1.1 500", answers, re.MULTILINE), answers


def predict(data: bytes, folder: Path) -> None:
    """A PredictRequest by gRPC."""

    async def call(method):
        try:
            await method(data)
        except grpc.RpcError as error:
            return error.code().name
        return "OK"

    code = SERVERS.loop.run_until_complete(call(SERVERS.predict))
    assert code in REFUSALS | {"OK"}, code
