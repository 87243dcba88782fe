"""The server for one machine: TensorFlow Serving's REST and gRPC interfaces over a folder of servables."""

import asyncio
import contextlib
import resource
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import uvicorn

from tfnmt.errors import UserError
from tfnmt.serving.batching import BatchingOptions
from tfnmt.serving.files import batching_values
from tfnmt.serving.grpc_services import grpc_server
from tfnmt.serving.models import Models
from tfnmt.serving.rest import rest_application
from tfnmt.serving.service import Counts, Service
from tfnmt.serving.versions import Version

GRACE = 30  # seconds that requests already accepted have to be answered when the server stops


@dataclass(frozen=True)
class Address:
    """Where the server listens. A port of 0 is any that is free."""

    host: str = "127.0.0.1"
    rest_port: int = 8501
    grpc_port: int = 8500


def batching_options(directory, max_batch_size=None, batch_wait_ms=None):
    """What batching.config in a folder of servables says, but for what is given here."""
    values = batching_values(directory)
    default = BatchingOptions()
    wait = values.get("batch_timeout_micros", default.wait_seconds * 1e6) / 1e6
    return BatchingOptions(
        max_batch_size=max_batch_size or values.get("max_batch_size", default.max_batch_size),
        wait_seconds=wait if batch_wait_ms is None else batch_wait_ms / 1e3,
        threads=values.get("num_batch_threads", default.threads),
        max_waiting_batches=values.get("max_enqueued_batches", default.max_waiting_batches),
    )


async def serve(directory, address, options, ready, stop, poll_seconds=1.0):
    """Serve until told to stop; then answer what has been accepted, and return.

    Args:
        directory: the folder that models.config is in.
        address: an `Address`.
        options: `BatchingOptions`.
        ready: called once with the `Address` that came of it, when the models are loaded and all ports are open.
        stop: an `asyncio.Event`.
        poll_seconds: how often to look for changes in the folder.

    Raises:
        UserError: models.config is missing or broken, or a port is taken.
    """
    _allow_many_connections()
    counts = Counts()
    executor = ThreadPoolExecutor(options.threads, "batch")

    def new_version(name, path):
        return Version(path, executor, options, counts.batch_rows.labels(name).observe)

    models = Models(directory, new_version)
    service = Service(models, counts)
    with _listening(address.host, address.rest_port) as listener:
        grpc_ = grpc_server(service)
        grpc_port = _bind(grpc_, address)
        loading, stopped = asyncio.create_task(models.update()), asyncio.create_task(stop.wait())
        await asyncio.wait([loading, stopped], return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():  # the model that is being loaded now is the last
            loading.cancel()
            return
        await loading
        await grpc_.start()
        rest = _Uvicorn(rest_application(service))
        serving = asyncio.create_task(rest.serve([listener]))
        watching = asyncio.create_task(_watch(models, poll_seconds))
        ready(Address(address.host, listener.getsockname()[1], grpc_port))
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        service.stopping = True
        watching.cancel()
        stopped.cancel()
        rest.should_exit = True
        await asyncio.gather(serving, grpc_.stop(GRACE))
    executor.shutdown()


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers of its own: one signal stops both REST and gRPC."""

    def __init__(self, application):
        super().__init__(
            uvicorn.Config(
                application,
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=GRACE,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self):
        yield


@contextlib.contextmanager
def _listening(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise UserError(f"{host}:{port}: cannot be listened at ({error.strerror}); choose another port") from error
        listener.listen(2048)
        yield listener


def _bind(server, address):
    host = f"[{address.host}]" if ":" in address.host else address.host
    where = f"{host}:{address.grpc_port}"
    try:
        return server.add_insecure_port(where)
    except RuntimeError as error:
        raise UserError(f"{where}: cannot be listened at; choose another --grpc-port") from error


async def _watch(models, seconds):
    while True:
        await asyncio.sleep(seconds)
        await models.update()


def _allow_many_connections():
    _, hardest = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hardest, hardest))


def run_server(directory, address, options, ready):
    """`serve` until SIGTERM or SIGINT."""

    async def main():
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(directory, address, options, ready, stop)

    asyncio.run(main())
