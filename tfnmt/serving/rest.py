"""TensorFlow Serving's REST interface, and the page for trying it out."""

import re
from urllib.parse import unquote

import grpc
from google.protobuf import json_format
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tfnmt.serving.bodies import read_body
from tfnmt.serving.files import LARGEST_VERSION, METRICS_PATH
from tfnmt.serving.health import health_routes
from tfnmt.serving.json_tensors import format_response, parse_request
from tfnmt.serving.metadata import model_metadata, model_status, signature_map
from tfnmt.serving.page import page_routes
from tfnmt.serving.requests import HTTP_STATUS, RequestError, invalid
from tfnmt.serving.service import Service

_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
    r"(?::(?P<verb>predict|classify|regress)|(?P<metadata>/metadata))?",
    re.IGNORECASE | re.ASCII,
)
_HEADERS = {
    grpc.StatusCode.RESOURCE_EXHAUSTED: {"Connection": "close"},  # the rest of a body that is too large is not read
    grpc.StatusCode.UNAUTHENTICATED: {"WWW-Authenticate": "Bearer"},
}
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def rest_application(service: Service) -> Starlette:
    """The ASGI application."""

    async def model(request):
        path = request.scope["raw_path"].decode("ascii")
        match = _PATH.fullmatch(path)
        verb = match and match["verb"] and match["verb"].lower()
        if not match or request.method != ("POST" if verb else "GET"):
            raise invalid(f"Malformed request: {request.method} {path}")
        name, label = unquote(match["model"]), unquote(match["label"] or "")
        version = _version(match["version"])
        if match["metadata"]:
            return JSONResponse(_metadata(service.models.find(name, version, label), name))
        if not verb:
            return JSONResponse(_as_json(model_status(service.models.states(name, version, label))))
        with service.measured("rest", name) as measurement:
            body = await read_body(request)  # for as long as a client likes, and a version may go meanwhile
            found = service.models.find(name, version, label)
            if verb != "predict":
                expected = f"Expected {verb} signature method_name to be tensorflow/serving/{verb}."
                raise invalid(f"{expected} Was: tensorflow/serving/predict")
            signature, inputs, by_rows = parse_request(body, found.signature)
            measurement.signature = signature.name
            outputs = await found.compute(signature, inputs)
            return Response(format_response(outputs, by_rows), media_type="application/json")

    async def models(_):
        return JSONResponse({"models": service.models.available()})

    async def metrics(request):
        service.admin.check(request.headers.get("authorization"))
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    application = Starlette(
        routes=[
            *page_routes(),
            *health_routes(service.readiness),
            Route(METRICS_PATH, metrics),
            Route("/v1/models", models),
            *(Route(f"/{v}1/{{path:path}}", model, methods=_METHODS) for v in "vV"),
        ],
        exception_handlers={RequestError: _request_error, HTTPException: _http_error, Exception: _internal_error},
    )
    application.router.redirect_slashes = False  # to what the request's Host says, which anybody may have written
    return application


def _version(digits):
    if digits is None:
        return None
    number = digits.lstrip("0") or "0"
    if len(number) > 19 or int(number) > LARGEST_VERSION:
        raise invalid(f"Failed to convert version: {digits} to numeric.")
    return int(number)


def _metadata(version, name):
    described = _as_json(model_metadata(version, name))
    described["metadata"]["signature_def"] = _as_json(signature_map(version))  # without the "@type" of an Any
    return described


def _as_json(message):
    options = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    return json_format.MessageToDict(message, **options)


async def _request_error(_, error):
    headers = {"Retry-After": str(error.retry_seconds)} if error.retry_seconds else _HEADERS.get(error.code)
    return JSONResponse({"error": error.message}, HTTP_STATUS[error.code], headers)


async def _http_error(request, error):
    """Paths outside /v1/, and methods that they do not have."""
    message = f"{error.detail}: {request.method} {request.url.path}"
    return JSONResponse({"error": message}, error.status_code, headers=error.headers)


async def _internal_error(*_):
    return JSONResponse({"error": "internal error, see the server's log"}, 500)
