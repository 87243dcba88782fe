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
from tfnmt.serving.json_tensors import answer, read_request
from tfnmt.serving.metadata import model_metadata, model_status, signature_map
from tfnmt.serving.requests import HTTP_STATUS, MAXIMUM_BODY, RequestError, invalid

_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
    r"(?::(?P<verb>predict|classify|regress)|(?P<metadata>/metadata))?"
)
# The page needs nothing from elsewhere, and nothing from elsewhere gets into it.
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def rest_application(service):
    """The ASGI application over a `Service`."""

    async def model(request):
        path = request.scope["path"]
        match = _PATH.fullmatch(path)
        verb = match and match["verb"]
        if not match or request.method != ("POST" if verb else "GET"):
            raise invalid(f"Malformed request: {request.method} {path}")
        name, label = match["model"], match["label"]
        version = int(match["version"]) if match["version"] else None
        if match["metadata"]:
            found = service.models.find(name, version, label)
            described = _plain(model_metadata(found, name))
            described["metadata"]["signature_def"] = _plain(signature_map(found))  # without the "@type" of an Any
            return JSONResponse(described)
        if not verb:
            return JSONResponse(_plain(model_status(service.models.states(name, version))))
        with service.observed("rest", name) as observed:
            if verb != "predict":
                raise invalid(f"Expected {verb} signature method_name to be tensorflow/serving/{verb}."
                              " Was: tensorflow/serving/predict")  # fmt: skip
            found = service.models.find(name, version, label)
            body = await _body(request)
            signature, inputs, by_rows = read_request(body, found.signature)
            observed.signature = signature
            outputs = await service.compute(found, signature, inputs)
            return JSONResponse(answer(outputs, by_rows))

    async def models(_):
        return JSONResponse({"models": service.models.available()})

    async def health(_):
        healthy = service.healthy()
        return JSONResponse({"status": "ok" if healthy else "unavailable"}, 200 if healthy else 503)

    async def metrics(_):
        return Response(generate_latest(service.registry), media_type=CONTENT_TYPE_LATEST)

    async def page(_):
        headers = {"Content-Security-Policy": _PAGE_POLICY}
        return FileResponse(Path(__file__).with_name("page.html"), headers=headers)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/health", health),
            Route(METRICS_PATH, metrics),
            Route("/v1/models", models),
            Route("/{path:path}", model, methods=["GET", "POST"]),
        ],
        exception_handlers={RequestError: _refused, Exception: _failed},
    )


async def _body(request):
    """The whole body, unless it is too large."""
    body, too_large = bytearray(), f"a request of more than {MAXIMUM_BODY:,} bytes is not taken"
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAXIMUM_BODY:
                raise RequestError(grpc.StatusCode.RESOURCE_EXHAUSTED, too_large)
    except ClientDisconnect:
        raise invalid("the client hung up before its request was whole") from None
    return bytes(body)


def _plain(message):
    options = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    return json_format.MessageToDict(message, **options)


async def _refused(_, error):
    # What is left of a body that is too large is not read; so this connection has to end.
    headers = {"Connection": "close"} if error.code == grpc.StatusCode.RESOURCE_EXHAUSTED else None
    return JSONResponse({"error": error.message}, HTTP_STATUS[error.code], headers=headers)


async def _failed(*_):
    return JSONResponse({"error": "internal error; the server's log has more"}, 500)
