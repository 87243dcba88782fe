"""A gRPC server with limits that no client can exceed, and an end that no client can hold up."""

import asyncio
import time
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from tfnmt.errors import UserError
from tfnmt.serving.access_log import log_access
from tfnmt.serving.limits import MAXIMUM_BODY
from tfnmt.serving.options import ServerOptions
from tfnmt.serving.ports import bound_socket


class GrpcServer:
    """A server without services. Add them to `server`, then `bind` and `start` it.

    Args:
        options: the limits, the certificate and whether each call is logged are read.
    """

    def __init__(self, options: ServerOptions):
        limits = self._limits = options.limits
        self._certificate = options.certificate
        arguments = [
            ("grpc.so_reuseport", 0),  # a port that is taken is an error
            ("grpc.max_receive_message_length", MAXIMUM_BODY),
            ("grpc.server_handshake_timeout_ms", int(limits.head_seconds * 1e3)),
            ("grpc.max_connection_idle_ms", int(limits.idle_seconds * 1e3)),
            ("grpc.keepalive_time_ms", int(limits.unread_seconds * 1e3)),  # a client that does not answer it is gone
        ]
        self._calls = _WholeCalls(limits.body_seconds, options.access_log)
        self.server = grpc.aio.server(
            interceptors=[self._calls], options=arguments, maximum_concurrent_rpcs=limits.calls
        )

    def bind(self, host: str, port: int) -> int:
        """Take the port of this host's address; 0 is any free port. Returns the port.

        Raises:
            UserError: the port is taken, or the address is none of this machine's.
        """
        with bound_socket(host, port, "--grpc-port") as bound:  # gRPC would not say why, and log an error of its own
            address = bound.getsockname()[0]
        where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        try:
            if self._certificate:
                return self.server.add_secure_port(where, self._certificate.grpc_credentials())
            return self.server.add_insecure_port(where)
        except RuntimeError as error:  # another has taken it since
            raise UserError(f"{where}: cannot listen: choose another --grpc-port") from error

    async def start(self) -> None:
        """Take calls from now on."""
        await self.server.start()

    async def stop(self) -> None:
        """Take no more calls, answer those that have arrived, and end those that are half sent."""
        await self._take_arrived()
        stopping = asyncio.create_task(self.server.stop(self._limits.grace_seconds))
        await asyncio.wait([stopping], timeout=self._limits.last_seconds)
        while self._calls.number and not stopping.done():
            await asyncio.sleep(0.01)
        await self.server.stop(0)
        await stopping

    async def _take_arrived(self):
        """Let the calls that have arrived become calls of `_WholeCalls`: gRPC hands over one after the other, and would
        cancel those that still wait for it. At most half a second, since others may arrive all the time."""
        for _ in range(10):
            taken = self._calls.taken
            await asyncio.sleep(0.05)
            if self._calls.taken == taken:
                return


class _WholeCalls(grpc.aio.ServerInterceptor):
    """Ends calls whose message does not arrive in time or is none, and counts the others while they are answered.

    gRPC itself calls the handler of a single message when that is complete, and waits for it for ever. The handler of
    a stream of messages is called at once. For the client there is no difference, so the one takes the other's place.
    """

    def __init__(self, seconds: float, access_log: bool):
        self.number = 0
        self.taken = 0
        self._seconds = seconds
        self._access_log = access_log

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """The handler of a call, with the time limit."""
        self.taken += 1
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming:
            return handler
        if handler.response_streaming:
            create, answer = grpc.stream_stream_rpc_method_handler, handler.unary_stream
        else:
            create, answer = grpc.stream_unary_rpc_method_handler, handler.unary_unary

        async def answer_message(_, context):
            message = await self._message(context, handler.request_deserializer, handler_call_details.method)
            self.number += not handler.response_streaming  # a stream of answers need not end
            try:
                return await answer(message, context)
            finally:
                self.number -= not handler.response_streaming

        async def answer_logged(requests, context):
            status, start = "UNKNOWN", time.perf_counter()  # what gRPC makes of any other error
            client = context.peer()  # gRPC forgets it where it ends a call by itself
            try:
                result = await answer_message(requests, context)
                status = "OK"
                return result
            except grpc.aio.AbortError:
                status = grpc.StatusCode(context.code()).name
                raise
            except asyncio.CancelledError:  # the client has gone, or waits no longer
                status = "CANCELLED"
                raise
            except grpc.aio.InternalError:  # gRPC has answered by itself: a message is too large
                status = "-"
                raise
            finally:
                log_access(client, handler_call_details.method, status, start)

        return create(answer_logged if self._access_log else answer_message, None, handler.response_serializer)

    async def _message(self, context, deserialize, method):
        try:
            async with asyncio.timeout(self._seconds):
                body = await context.read()
        except TimeoutError:
            late = f"the request has not arrived within {self._seconds:g} s"
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, late)
        if body is grpc.aio.EOF:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a call without a message")
        try:
            return body if deserialize is None else deserialize(body)
        except DecodeError:  # gRPC itself would log a traceback and answer INTERNAL
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"not a message for {method}")
