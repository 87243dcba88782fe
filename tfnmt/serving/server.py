"""The server for one machine: TensorFlow Serving's REST and gRPC interfaces over a folder of servables."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tfnmt.serving.files import read_models
from tfnmt.serving.grpc_server import GrpcServer
from tfnmt.serving.health import starting_application
from tfnmt.serving.http_server import HttpServer, listening
from tfnmt.serving.options import Address, ServerOptions
from tfnmt.signals import SIGNALS

logger = logging.getLogger(__name__)


async def serve(
    directory: str | Path,
    options: ServerOptions,
    opened: Callable[[Address], None],
    stop: asyncio.Event,
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """Serve until `stop` is set; then answer the accepted requests and return.

    The server lives, and says so, before TensorFlow is imported and while models are loaded.

    Args:
        directory: the folder that models.config is in.
        options: `ServerOptions`.
        opened: called once with the actual `Address`, when all ports are open.
        stop: ends the server.
        prepare: called in a thread before TensorFlow is imported.

    Raises:
        UserError: models.config or the certificate is missing or broken, or a port is taken.
    """
    read_models(directory)  # a mistake in it is told at once
    _allow_many_connections(options.limits)
    http, grpc = HttpServer(starting_application(), options), GrpcServer(options)
    address = options.address
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listening(address.host, address.rest_port, options.limits))
        grpc_port = grpc.bind(address.host, address.grpc_port)
        opened(Address(address.host, listener.getsockname()[1], grpc_port))

        def create():
            prepare()
            return _create_service(directory, options, http, grpc, stack)

        answering = asyncio.create_task(http.serve([listener]))
        working = asyncio.create_task(_work(create, grpc, options.poll_seconds))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([answering, working, stopped], return_when=asyncio.FIRST_COMPLETED)
        failed = working.done()
        for task in (working, stopped):
            task.cancel()
        http.should_exit = True
        await asyncio.gather(answering, grpc.stop())
        if failed:
            working.result()  # raises the error


def _create_service(directory, options, http, grpc, stack):
    """What needs TensorFlow, which takes seconds to import. Called in a thread."""
    from tfnmt.serving.grpc_services import add_services
    from tfnmt.serving.rest import rest_application
    from tfnmt.serving.service import create_service
    from tfnmt.threads import keep_thread_free

    keep_thread_free(options.batching.threads)
    service = create_service(directory, options)
    stack.callback(service.close)
    add_services(grpc.server, service, options.limits)
    http.application = rest_application(service)
    gc.collect()
    gc.freeze()  # what is imported stays: the collector, which stops the server, need not look at it again
    return service


async def _work(create, grpc, poll_seconds):
    """Create the service, load its models and watch for changes, for ever."""
    # Not in one of asyncio's own threads: the event loop waits for these when it ends.
    service = await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1, "start"), create)
    await grpc.start()
    try:
        await service.models.update()
        logger.info("serving %s", ", ".join(f"{name} ({state})" for name, state in service.readiness().items()))
        await service.models.watch(poll_seconds)
    finally:
        service.stopping = True


def _allow_many_connections(limits):
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    if maximum != resource.RLIM_INFINITY and maximum < limits.connections + limits.calls:
        told = "%d files may be open at once (ulimit -Hn): too few for %d HTTP connections and %d gRPC calls"
        logger.warning(told, maximum, limits.connections, limits.calls)


def run_server(
    directory: str | Path,
    options: ServerOptions,
    opened: Callable[[Address], None],
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """`serve` until SIGTERM, SIGINT or SIGHUP; a second one ends the server at once. Those that are ignored, as SIGHUP
    under `nohup`, stay ignored."""

    async def main():
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        signals = [each for each in SIGNALS if signal.getsignal(each) != signal.SIG_IGN]

        def end() -> None:
            stop.set()
            for each in signals:
                loop.remove_signal_handler(each)

        for each in signals:
            loop.add_signal_handler(each, end)
        await serve(directory, options, opened, stop, prepare)

    asyncio.run(main())
