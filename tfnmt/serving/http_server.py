"""HTTP as uvicorn speaks it, with limits that no client can exceed, and an end that no client can hold up."""

import asyncio
import contextlib
import errno
import functools
import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from tfnmt.serving.access_log import log_access
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import ServerOptions
from tfnmt.serving.ports import bound_socket

logger = logging.getLogger(__name__)

_ABSOLUTE = re.compile(rb"https?://[^/]*", re.IGNORECASE)  # what may stand before a path (RFC 9112, 3.2.2)
_BACKLOG = 2048  # connections that wait to be accepted
_PROBE_SECONDS = 0.05  # between the two answers that find out whether a client still reads
_CLIENT_GONE = 499  # the status that nginx logs for a client that closes the connection before its answer


class HttpServer(uvicorn.Server):
    """Serves an ASGI application until `should_exit` is set; then all requests that have arrived are answered.

    Args:
        application: the ASGI application; another one may take its place in the attribute of that name.
        options: the limits, the certificate and whether each request is logged are read.

    Raises:
        UserError: there is no such certificate.
    """

    def __init__(self, application: Any, options: ServerOptions):
        self.application = application
        self._limits = options.limits
        self._access_log = options.access_log
        protocol: Any = functools.partial(_Protocol, options)
        context = options.certificate and options.certificate.ssl_context()
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            timeout_keep_alive=self._limits.idle_seconds,  # type: ignore[arg-type]  # a float will do
            ssl_context_factory=(lambda *_: context) if context else None,
        )
        super().__init__(config)
        self._handshakes: set[asyncio.Task] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen at these sockets. A TLS handshake, and a TLS goodbye, have as much time as the head of a request."""
        # One `accept` at a time: beyond the limit of open files, asyncio would log each of as many as `backlog` says.
        options: dict[str, Any] = {"backlog": 1, "ssl": self.config.ssl}
        create = self._create_protocol
        if self.config.ssl:
            create = self._create_encrypted
            options |= dict.fromkeys(("ssl_handshake_timeout", "ssl_shutdown_timeout"), self._limits.head_seconds)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_log_exception)
        self.servers = [await loop.create_server(create, sock=each, **options) for each in sockets or []]
        for each in sockets or []:
            each.listen(_BACKLOG)  # what `create_server` has set to 1
        self.started = True

    def _create_protocol(self):
        return self.config.http_protocol_class(config=self.config, server_state=self.server_state, app_state={})

    def _create_encrypted(self):
        """For a connection that has just been accepted: its handshake begins, as long as there are not too many."""
        task: Any = asyncio.current_task()  # asyncio's, which ends with the handshake, also with one that fails
        if len(self._handshakes) >= self._limits.connections:
            task.cancel()  # which closes the connection
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        return self._create_protocol()

    async def _answer(self, scope, receive, send):
        start = time.perf_counter()

        async def send_on(message):
            await send(message)
            if message["type"] == "http.response.start":
                scope["state"].setdefault("status", message["status"])  # unless the connection has set another

        def log():
            request = f"{scope['method']} {scope['path']}"
            log_access(_address(scope["client"]), request, scope["state"].get("status", 500), start)

        if absolute := _ABSOLUTE.match(scope["raw_path"]):
            path = scope["raw_path"][absolute.end() :] or b"/"
            scope |= {"raw_path": path, "path": unquote(path.decode("ascii"))}
        scope["state"]["task"] = asyncio.current_task()
        try:
            if not scope["state"].get("gone"):
                await self.application(scope, receive, send_on)
        except asyncio.CancelledError:
            if not scope["state"].get("gone"):
                raise
        finally:
            if self._access_log:
                asyncio.get_running_loop().call_soon(log)  # after `connection_lost`, if the answer could not be sent

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: one signal stops both REST and gRPC."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what has arrived, but wait for no client that is slow to send or to read."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await _emptied(self.server_state.tasks, self._limits.grace_seconds)
        await _emptied(self.server_state.connections, self._limits.last_seconds)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def _log_exception(loop, context):
    """Log what went wrong in the event loop; one line where no connection can be accepted, tried each second."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        logger.warning("no further connection can be accepted: %s", error.strerror)
    else:
        loop.default_exception_handler(context)


def _address(client):
    """A client's host and port in one; "-" if it went so soon that the system no longer knows them."""
    return "-" if client is None else ":".join(map(str, client))


async def _emptied(things, seconds):
    """Wait until a set is empty, so many seconds at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while things:
                await asyncio.sleep(0.01)


class _Protocol(H11Protocol):
    """A connection. `_part` is what of a request has begun to arrive and is not complete, "head" or "body"."""

    def __init__(self, options, config, server_state, app_state, _loop=None):
        super().__init__(config, server_state, app_state, _loop)
        self._limits = options.limits
        self._access_log = options.access_log
        self._part = None
        self._timer = None
        self._half_closed = False

    def connection_made(self, transport):
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(503, f"the server has {self._limits.connections:,} connections, and takes no more")
        self._watch()

    def data_received(self, data):
        super().data_received(data)
        self._watch()

    def on_response_complete(self):
        super().on_response_complete()
        if self._half_closed and not self._is_answering():
            self.transport.close()
        self._watch()

    def eof_received(self):
        """A client that has sent its last request may still wait for the answer."""
        self._half_closed = True
        waits = self._is_answering() and self.scheme == "http"  # TLS cannot be half closed
        if waits:
            self._probe(times=2)
        return waits

    def _probe(self, times):
        """Find out whether a client that sends no more still reads, by interim answers, which mean nothing to it: where
        the connection is closed, the first is answered with a reset, which the second meets."""
        may_be_sent = self.scope["http_version"] == "1.1" and not self.cycle.response_started
        if not self._is_answering() or not may_be_sent or self.transport.is_closing():
            return
        interim = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
        self.transport.write(self.conn.send(interim))
        if times > 1:
            self.loop.call_later(_PROBE_SECONDS, self._probe, times - 1)

    def connection_lost(self, exc):
        if self._is_answering():  # for nobody any more
            self.scope["state"]["gone"] = True
            if "task" in self.scope["state"]:
                self.scope["state"]["task"].cancel()
        self._end_request(_CLIENT_GONE)
        if exc is not None and self.scope is not None:
            self.scope["state"]["status"] = _CLIENT_GONE  # in the midst of its answer
        super().connection_lost(exc)
        self._set_timer(None)

    def shutdown(self):
        if self.transport.is_closing():
            return
        super().shutdown()
        if self._part == "body":
            self._set_timer(self._limits.last_seconds)

    def _is_answering(self):
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def _watch(self):
        part = None
        if self.conn.their_state is h11.SEND_BODY:
            part = "body"
        elif self.conn.their_state is h11.IDLE and (self.cycle is None or self.conn.trailing_data[0]):
            part = "head"
        if self.transport.is_closing():
            part = None
        if part != self._part:
            self._part = part
            limits = {None: None, "head": self._limits.head_seconds, "body": self._limits.body_seconds}
            self._set_timer(limits[part])

    def _set_timer(self, seconds):
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self):
        answered = self.cycle is not None and self.cycle.response_started
        if self.transport.is_closing():
            return
        if self._part == "body" and not answered:
            self.cycle.disconnected = True  # the application's answer, if any, comes too late
            self.cycle.message_event.set()
            self._refuse(408, f"the request's body has not arrived within {self._limits.body_seconds:g} s")
        elif self._part == "head" and self.conn.trailing_data[0]:
            self._refuse(408, f"the request's head has not arrived within {self._limits.head_seconds:g} s")
        else:
            self.transport.close()

    def send_400_response(self, msg):
        """What uvicorn answers to what is no HTTP."""
        self._log_refusal(400)
        super().send_400_response(msg)

    def _end_request(self, status):
        """Note how the application's request ends. Returns whether there was one."""
        there = self.cycle is not None and not self.cycle.response_complete
        if there:
            self.scope["state"].setdefault("status", status)
        return there

    def _log_refusal(self, status):
        """Log an answer that is not the application's: with its request, or at once where there is none yet."""
        if not self._end_request(status) and self._access_log:
            log_access(_address(self.client), "-", status, time.perf_counter())

    def _refuse(self, status, message):
        """Answer without the application, and close the connection."""
        self._log_refusal(status)
        body = json.dumps({"error": message}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        parts = [
            h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status]),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for part in parts:
            self.transport.write(self.conn.send(part))
        self.transport.close()


@contextlib.contextmanager
def listening(host: str, port: int, limits: Limits) -> Iterator[socket.socket]:
    """A socket that listens at the port of this host's address; 0 is any free port.

    Raises:
        UserError: the port is taken, or the address is none of this machine's.
    """
    with bound_socket(host, port, "--rest-port") as listener:
        # Accepted connections inherit it: the kernel ends those whose clients do not read.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.unread_seconds * 1e3))
        listener.listen(_BACKLOG)
        yield listener
