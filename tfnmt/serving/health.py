"""Whether the server lives and each model is ready, by REST and by gRPC's health service."""

import asyncio
from collections.abc import Callable
from typing import NoReturn

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthServicer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tfnmt.serving.page import page_routes
from tfnmt.serving.retries import RETRY_SECONDS

READY, LOADING, UNAVAILABLE = "ready", "loading", "unavailable"
_SECONDS = 0.2  # between two looks of a call that watches
_Status = HealthCheckResponse.ServingStatus


def overall(readiness: dict[str, str]) -> str:
    """The state of all models together: ready only if each is, unavailable only if none is still loading."""
    states = set(readiness.values())
    return LOADING if LOADING in states else UNAVAILABLE if UNAVAILABLE in states else READY


def health_routes(readiness: Callable[[], dict[str, str]]) -> list[Route]:
    """/health/live is always answered with 200; /health/ready with 200 only if all models are ready.

    /health/ready/MODEL is about one model. /health is /health/ready.

    Args:
        readiness: gives {model: READY, LOADING or UNAVAILABLE}.
    """

    async def live(_: Request) -> JSONResponse:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> JSONResponse:
        models = readiness()
        state = overall(models)
        return JSONResponse({"status": state, "models": models}, 200 if state == READY else 503)

    async def model_ready(request: Request) -> JSONResponse:
        name = request.path_params["model"]
        state = readiness().get(name)
        if state is None:
            return JSONResponse({"error": f"there is no model {name}"}, 404)
        return JSONResponse({"status": state}, 200 if state == READY else 503)

    return [
        Route("/health", ready),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/health/ready/{model}", model_ready),
    ]


def starting_application() -> Starlette:
    """The ASGI application until TensorFlow is imported: it lives and shows the page, and answers nothing else."""

    async def starting(_: Request) -> JSONResponse:
        later = {"Retry-After": str(RETRY_SECONDS)}
        return JSONResponse({"status": LOADING, "error": "the server is starting"}, 503, later)

    (live,) = [route for route in health_routes(dict) if route.path == "/health/live"]
    return Starlette(routes=[live, *page_routes(), Route("/{path:path}", starting, methods=["GET", "POST"])])


class Health(HealthServicer):
    """gRPC's health service: the server's state is that of service "", a model's that of its name.

    Args:
        readiness: gives {model: READY, LOADING or UNAVAILABLE}.
        watches: how many calls may watch at the same time.
    """

    def __init__(self, readiness: Callable[[], dict[str, str]], watches: int):
        self._readiness = readiness
        self._watches = watches
        self._watching = 0

    def _status(self, service):
        models = self._readiness()
        state = {"": overall(models), **models}.get(service)
        return _Status.SERVICE_UNKNOWN if state is None else _Status.SERVING if state == READY else _Status.NOT_SERVING

    async def Check(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> HealthCheckResponse:  # noqa: N802
        """The state now."""
        status = self._status(request.service)
        if status == _Status.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no model {request.service}")
        return HealthCheckResponse(status=status)

    async def Watch(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> NoReturn:  # noqa: N802
        """The state now and whenever it changes."""
        if self._watching >= self._watches:
            many = f"{self._watches} calls watch already, and no more are taken: use Check"
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, many)
        self._watching += 1
        try:
            last = None
            while True:
                status = self._status(request.service)
                if status != last:
                    await context.write(HealthCheckResponse(status=status))
                last = status
                await asyncio.sleep(_SECONDS)
        finally:
            self._watching -= 1
