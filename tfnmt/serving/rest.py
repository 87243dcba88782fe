"""TensorFlow Serving's REST interface, and the page for trying it out."""

import re
from pathlib import Path

import grpc
from google.protobuf import json_format
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from tfnmt.serving.files import METRICS_PATH
from tfnmt.serving.health import health_routes
from tfnmt.serving.json_tensors import format_response, parse_request
from tfnmt.serving.limits import MAXIMUM_BODY
from tfnmt.serving.metadata import model_metadata, model_status, signature_map
from tfnmt.serving.requests import HTTP_STATUS, RequestError, invalid
from tfnmt.serving.service import Service

_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
    r"(?::(?P<verb>predict|classify|regress)|(?P<metadata>/metadata))?"
)
# The page loads nothing from other hosts.
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def rest_application(service: Service) -> Starlette:
    """The ASGI application."""

    async def model(request):
        path = request.scope["path"]
        match = _PATH.fullmatch(path)
        verb = match and match["verb"]
        if not match or request.method != ("POST" if verb else "GET"):
            raise invalid(f"Malformed request: {request.method} {path}")
        name, label = match["model"], match["label"]
        version = int(match["version"]) if match["version"] else None
        if match["metadata"]:
            return JSONResponse(_metadata(service.models.find(name, version, label), name))
        if not verb:
            return JSONResponse(_as_json(model_status(service.models.states(name, version))))
        with service.measured("rest", name) as measurement:
            if verb != "predict":
                expected = f"Expected {verb} signature method_name to be tensorflow/serving/{verb}."
                raise invalid(f"{expected} Was: tensorflow/serving/predict")
            found = service.models.find(name, version, label)
            signature, inputs, by_rows = parse_request(await _body(request), found.signature)
            measurement.signature = signature
            outputs = await service.compute(found, signature, inputs)
            return Response(format_response(outputs, by_rows), media_type="application/json")

    async def models(_):
        return JSONResponse({"models": service.models.available()})

    async def metrics(_):
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def page(_):
        headers = {"Content-Security-Policy": _PAGE_POLICY}
        return FileResponse(Path(__file__).with_name("page.html"), headers=headers)

    return Starlette(
        routes=[
            Route("/", page),
            *health_routes(service.readiness),
            Route(METRICS_PATH, metrics),
            Route("/v1/models", models),
            Route("/{path:path}", model, methods=["GET", "POST"]),
        ],
        exception_handlers={RequestError: _request_error, Exception: _internal_error},
    )


async def _body(request):
    """The whole body, unless it is too large."""
    body, too_large = bytearray(), f"a request of more than {MAXIMUM_BODY:,} bytes is refused"
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAXIMUM_BODY:
                raise RequestError(grpc.StatusCode.RESOURCE_EXHAUSTED, too_large)
    except ClientDisconnect:
        raise invalid("the client disconnected before its request was complete") from None
    return bytes(body)


def _metadata(version, name):
    described = _as_json(model_metadata(version, name))
    described["metadata"]["signature_def"] = _as_json(signature_map(version))  # without the "@type" of an Any
    return described


def _as_json(message):
    options = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    return json_format.MessageToDict(message, **options)


async def _request_error(_, error):
    # The rest of a body that is too large is not read, so this connection has to end.
    headers = {"Connection": "close"} if error.code == grpc.StatusCode.RESOURCE_EXHAUSTED else None
    return JSONResponse({"error": error.message}, HTTP_STATUS[error.code], headers=headers)


async def _internal_error(*_):
    return JSONResponse({"error": "internal error, see the server's log"}, 500)
