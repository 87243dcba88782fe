"""The server for one machine: TensorFlow Serving's REST and gRPC interfaces over a folder of servables."""

import asyncio
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tfnmt.serving.batching import BatchingOptions
from tfnmt.serving.files import batching_values
from tfnmt.serving.grpc_server import GrpcServer
from tfnmt.serving.grpc_services import add_services
from tfnmt.serving.http_server import HttpServer, listening
from tfnmt.serving.limits import Limits
from tfnmt.serving.models import Models
from tfnmt.serving.requests import MAXIMUM_BODY
from tfnmt.serving.rest import rest_application
from tfnmt.serving.service import Metrics, Service
from tfnmt.serving.versions import Version


@dataclass(frozen=True)
class Address:
    """Where the server listens. Port 0 is any free port."""

    host: str = "127.0.0.1"
    rest_port: int = 8501
    grpc_port: int = 8500


def batching_options(
    directory: str | Path, max_batch_size: int | None = None, batch_wait_ms: float | None = None
) -> BatchingOptions:
    """The options in batching.config of a folder of servables; the arguments override it."""
    values = batching_values(directory)
    default = BatchingOptions()
    wait = values.get("batch_timeout_micros", default.wait_seconds * 1e6) / 1e6
    return BatchingOptions(
        max_batch_size=max_batch_size or values.get("max_batch_size", default.max_batch_size),
        wait_seconds=wait if batch_wait_ms is None else batch_wait_ms / 1e3,
        threads=values.get("num_batch_threads", default.threads),
        max_enqueued_batches=values.get("max_enqueued_batches", default.max_enqueued_batches),
    )


async def serve(
    directory: str | Path,
    address: Address,
    options: BatchingOptions,
    ready: Callable[[Address], None],
    stop: asyncio.Event,
    poll_seconds: float = 1.0,
    limits: Limits | None = None,
) -> None:
    """Serve until `stop` is set; then answer the accepted requests and return.

    Args:
        directory: the folder that models.config is in.
        address: where to listen.
        options: `BatchingOptions`.
        ready: called once with the actual `Address`, when the models are loaded and all ports are open.
        stop: ends the server.
        poll_seconds: the time between two looks for changes in the folder.
        limits: what a client may take (default: `Limits()`).

    Raises:
        UserError: models.config is missing or broken, or a port is taken.
    """
    limits = limits or Limits()
    _allow_many_connections()
    metrics = Metrics()
    executor = ThreadPoolExecutor(options.threads, "batch")

    def load_version(name, path):
        return Version(path, executor, options, metrics.batch_rows.labels(name).observe)

    models = Models(directory, load_version)
    service = Service(models, metrics)
    with listening(address.host, address.rest_port, limits) as listener:
        grpc = GrpcServer(limits, MAXIMUM_BODY)
        add_services(grpc.server, service)
        grpc_port = grpc.bind(address.host, address.grpc_port)
        loading, stopped = asyncio.create_task(models.update()), asyncio.create_task(stop.wait())
        await asyncio.wait([loading, stopped], return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():  # no model is loaded after the present one
            loading.cancel()
            return
        await loading
        await grpc.start()
        http = HttpServer(rest_application(service), limits)
        serving = asyncio.create_task(http.serve([listener]))
        watching = asyncio.create_task(models.watch(poll_seconds))
        ready(Address(address.host, listener.getsockname()[1], grpc_port))
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        service.stopping = True
        watching.cancel()
        stopped.cancel()
        http.should_exit = True
        await asyncio.gather(serving, grpc.stop())
    executor.shutdown(wait=False, cancel_futures=True)


def _allow_many_connections():
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))


def run_server(
    directory: str | Path, address: Address, options: BatchingOptions, ready: Callable[[Address], None]
) -> None:
    """`serve` until SIGTERM or SIGINT."""

    async def main():
        stop = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
        await serve(directory, address, options, ready, stop)

    asyncio.run(main())
