"""Limits of gRPC calls, and how the server stops. Its only service returns the message it is sent."""

import asyncio
import socket
import struct
import time

import grpc
import pytest

from tfnmt.errors import UserError
from tfnmt.serving.grpc_server import GrpcServer
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import ServerOptions


def half_sent(port):
    """A connection with a call whose message of 100 bytes has only arrived in part."""

    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    fields = {":method": "POST", ":scheme": "http", ":path": "/echo/Now", ":authority": "x", "te": "trailers"}
    fields["content-type"] = "application/grpc"
    texts = [text.encode() for pair in fields.items() for text in pair]
    head = b"".join(b"\0" * (i % 2 == 0) + bytes([len(text)]) + text for i, text in enumerate(texts))
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head))
    connection.sendall(frame(0, 0, 1, b"\0" + struct.pack(">I", 100) + b"0123456789"))
    return connection


def served(clients, **limits):
    """The result of `await clients(port, channel, go)`, and the server stopped after it.

    Calls of /echo/Now are answered at once, those of /echo/Later when `go` is set.
    """

    async def main():
        go = asyncio.Event()

        async def now(message, context):
            return message

        async def later(message, context):
            await go.wait()
            return message

        server = GrpcServer(ServerOptions(limits=Limits(last_seconds=0.3, **limits), access_log=True))
        handlers = {
            "Now": grpc.unary_unary_rpc_method_handler(now),
            "Later": grpc.unary_unary_rpc_method_handler(later),
        }
        server.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo", handlers),))
        port = server.bind("127.0.0.1", 0)
        await server.start()
        try:
            async with asyncio.timeout(10), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                return await clients(port, channel, go, server)
        finally:
            await server.stop()

    return asyncio.run(main())


def test_a_message_must_arrive_in_time():
    async def clients(port, channel, go, server):
        reader, _ = await asyncio.open_connection(sock=half_sent(port))
        await reader.readuntil(b"the request has not arrived within 0.1 s")
        assert await channel.unary_unary("/echo/Now")(b"a") == b"a"

    served(clients, body_seconds=0.1)


def test_calls_are_limited_and_half_sent_ones_do_not_take_the_place_of_others_for_ever():
    async def clients(port, channel, go, server):
        connections = []
        call = channel.unary_unary("/echo/Now")
        refused = 0
        while True:
            if not refused:  # anew, if the machine was so slow that the first have given up their places already
                connections += [half_sent(port) for _ in range(4)]
            try:
                answer = await call(b"a")
            except grpc.aio.AioRpcError as error:
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                refused += 1
                await asyncio.sleep(0.01)
            else:
                if refused:
                    break
        for connection in connections:
            connection.close()
        return answer

    assert served(clients, calls=3, body_seconds=0.2) == b"a"


def test_calls_that_wait_for_a_busy_server_are_answered_when_it_stops():
    answers = []

    async def clients(port, channel, go, server):
        channels = [
            grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)]) for _ in range(8)
        ]
        calls = [channel.unary_unary("/echo/Now") for channel in channels]
        await asyncio.gather(*(asyncio.to_thread(call, b"connected") for call in calls))
        answers.extend(call.future(b"a") for call in 4 * calls)
        time.sleep(0.5)  # the event loop, and so the server, is busy while the calls arrive

    served(clients)
    assert [answer.result(5) for answer in answers] == [b"a"] * 32


def test_errors_of_a_call():
    async def clients(port, channel, go, server):
        codes = []
        for message in (bytes(2 << 20), None):
            call = channel.stream_unary("/echo/Now")()
            if message is not None:
                await call.write(message)
            await call.done_writing()
            codes.append((await call.code()).name)
        return codes

    assert served(clients) == ["RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"]


def test_stopping_answers_what_has_arrived_and_waits_for_no_one_else():
    async def clients(port, channel, go, server):
        half = half_sent(port)
        answer = asyncio.ensure_future(channel.unary_unary("/echo/Later")(b"a"))
        assert await channel.unary_unary("/echo/Now")(b"a") == b"a"
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0.1)
        go.set()
        assert await answer == b"a"
        await stopping
        half.close()

    served(clients)


def test_a_call_that_never_ends_does_not_hold_up_a_stop():
    async def clients(port, channel, go, server):
        call = channel.unary_unary("/echo/Later")(b"a")
        assert await channel.unary_unary("/echo/Now")(b"a") == b"a"
        await server.stop()
        with pytest.raises((grpc.aio.AioRpcError, asyncio.CancelledError)):
            await call

    served(clients, grace_seconds=0.2)


def test_a_call_that_its_client_gives_up_is_logged_as_such(logged):
    async def clients(port, channel, go, server):
        call = channel.unary_unary("/echo/Later")(b"a")
        while not server._calls.number:
            await asyncio.sleep(0.01)
        call.cancel()
        assert await channel.unary_unary("/echo/Now")(b"a") == b"a"
        while server._calls.number:
            await asyncio.sleep(0.01)

    served(clients)
    assert sorted(line.split()[1:3] for line in logged()) == [["/echo/Later", "CANCELLED"], ["/echo/Now", "OK"]]


def test_an_idle_connection_is_closed():
    async def clients(port, channel, go, server):
        assert await channel.unary_unary("/echo/Now")(b"a") == b"a"
        await channel.wait_for_state_change(grpc.ChannelConnectivity.READY)
        return channel.get_state()

    assert served(clients, idle_seconds=0.2) == grpc.ChannelConnectivity.IDLE


def test_a_port_in_use():
    async def main():
        server = GrpcServer(ServerOptions())
        port = server.bind("127.0.0.1", 0)
        with pytest.raises(
            UserError, match=f"^127.0.0.1:{port}: cannot listen .Address already in use.: choose .*grpc-port"
        ):
            GrpcServer(ServerOptions()).bind("127.0.0.1", port)
        await server.stop()

    asyncio.run(main())


def test_a_connection_that_says_nothing_is_closed():
    async def clients(port, channel, go, server):
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.wait_for(reader.read(), 5)

    served(clients, head_seconds=0.2)
