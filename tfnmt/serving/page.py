"""The page for trying the models: a few files, which load nothing from other hosts."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER = Path(__file__).with_name("page_files")
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "data:",  # the empty icon, for which a browser would ask the server otherwise
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "require-trusted-types-for": "'script'",
}
_HEADERS = {
    "Content-Security-Policy": "; ".join(f"{directive} {allowed}" for directive, allowed in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[Route]:
    """/, and /page/NAME for the scripts and the style sheet that it needs. All are read now."""
    files = {path.name: path for path in _FOLDER.iterdir() if path.suffix in _TYPES}
    return [Route("/" if name == "index.html" else f"/page/{name}", _file(path)) for name, path in files.items()]


def _file(path):
    content, media_type = path.read_bytes(), _TYPES[path.suffix]

    async def answer(_: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=media_type)

    return answer
