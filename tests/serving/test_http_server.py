"""Limits of HTTP connections, and how the server stops. Its application here answers with the body it is sent."""

import asyncio
import errno
import re
import socket
import ssl
import struct
from unittest.mock import Mock

import pytest

from tfnmt.errors import UserError
from tfnmt.serving.http_server import HttpServer, listening
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import ServerOptions

WHOLE = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
HALF_HEAD = b"POST /echo HTTP/1.1\r\nHost"
HALF_BODY = WHOLE[:-2]
SLOW = WHOLE.replace(b"/echo", b"/slow")
PATIENT = {
    "head_seconds": 60.0,
    "body_seconds": 60.0,
    "idle_seconds": 60.0,
    "unread_seconds": 60.0,
    "last_seconds": 0.3,
}


class Echo:
    """The application. Requests for /slow wait until `go` is set; /deaf does not read the body, /huge answers 64 MB."""

    def __init__(self):
        self.go = asyncio.Event()
        self.arrived = asyncio.Event()
        self.gone = []
        self.answered = []

    async def __call__(self, scope, receive, send):
        body, more = b"", scope["path"] != "/deaf"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.append(scope["path"])
                return
            body, more = body + message["body"], message["more_body"]
        self.arrived.set()
        if scope["path"] == "/slow":
            await self.go.wait()
        if scope["path"] == "/huge":
            body = bytes(64 << 20)
        self.answered.append(scope["path"])
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def served(clients, certificate=None, **options):
    """The result of `await clients(connect, application, server)`, and the server stopped after it."""
    limits = Limits(**PATIENT | options)

    async def main():
        application = Echo()
        with listening("127.0.0.1", 0, limits) as listener:
            server = HttpServer(application, ServerOptions(limits=limits, certificate=certificate, access_log=True))
            serving = asyncio.create_task(server.serve([listener]))

            connections = []  # one that nobody refers to is closed

            async def connect(beginning=b"", context=None):
                connections.append(await asyncio.open_connection(*listener.getsockname(), ssl=context))
                connections[-1][1].write(beginning)
                return connections[-1]

            async with asyncio.timeout(10):
                result = await clients(connect, application, server)
                server.should_exit = True
                await serving
                return result

    return asyncio.run(main())


def answer(text):
    """(status, body) of one answer."""
    head, _, body = text.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    "beginning, status",
    [(b"", None), (HALF_HEAD, 408), (HALF_BODY, 408), (WHOLE + HALF_HEAD, 408), (WHOLE + HALF_BODY, 408)],
)
def test_a_request_must_arrive_in_time(beginning, status):
    async def clients(connect, application, server):
        reader, _ = await connect(beginning)
        return await reader.read(), application.gone  # until the server closes

    text, gone = served(clients, head_seconds=0.05, body_seconds=0.05)
    assert gone == ["/echo"] * beginning.endswith(HALF_BODY)
    if beginning.startswith(WHOLE):
        assert text.startswith(b"HTTP/1.1 200 OK")
        text = text[text.rindex(b"HTTP/1.1") :]
    if status is None:
        assert text == b""
    else:
        assert answer(text)[0] == status and b"has not arrived within 0.05 s" in text


@pytest.mark.parametrize("beginning", [HALF_HEAD, b"POST /deaf HTTP/1.1\r\nContent-Length: 99999\r\nHost: x\r\n\r\n"])
def test_bytes_that_trickle_in_do_not_extend_the_time(beginning):
    async def clients(connect, application, server):
        reader, writer = await connect(beginning)
        reading = asyncio.create_task(reader.read())
        while not reading.done():
            writer.write(b"x")
            await asyncio.sleep(0.005)

    served(clients, head_seconds=0.1, body_seconds=0.1)


def test_an_idle_connection_is_closed_and_one_in_use_is_not():
    async def clients(connect, application, server):
        (idle, _), (slow, _) = await connect(WHOLE), await connect(SLOW)
        await idle.readuntil(b"body")
        assert await idle.read() == b""
        application.go.set()
        return await slow.readuntil(b"body")

    assert served(clients, idle_seconds=0.05, head_seconds=0.05, body_seconds=0.05).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("requests", [1, 3])
def test_a_client_that_sends_no_more_gets_its_answers(requests):
    async def clients(connect, application, server):
        reader, writer = await connect(SLOW * requests)
        writer.write_eof()
        await application.arrived.wait()
        await asyncio.sleep(0.02)
        application.go.set()
        return await reader.read()  # all, and then the server closes

    assert served(clients).count(b"\r\n\r\nbody") == requests


def test_a_client_that_sends_no_more_is_asked_whether_it_still_reads():
    async def clients(connect, application, server):
        reader, writer = await connect(SLOW)
        writer.write_eof()
        await application.arrived.wait()
        interim = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await reader.readexactly(2 * len(interim)) == 2 * interim
        application.go.set()
        return await reader.read()

    assert served(clients).startswith(b"HTTP/1.1 200")


def test_a_client_that_closes_its_connection_is_computed_for_no_longer(logged):
    async def clients(connect, application, server):
        _, writer = await connect(SLOW)
        await application.arrived.wait()
        writer.close()  # without a reset, as curl ends at its time limit
        while server.server_state.tasks:  # it would wait for `go`, which never comes
            await asyncio.sleep(0.01)
        return application.answered

    assert served(clients) == [] and without_ports(logged()) == ["POST /slow 499"]


def test_a_path_may_have_the_address_before_it():
    async def clients(connect, application, server):
        reader, _ = await connect(WHOLE.replace(b"/echo", b"http://x:1/a%20b?c"))
        await reader.readuntil(b"body")
        return application.answered

    assert served(clients) == ["/a b"]


def test_connections_beyond_the_limit_of_open_files_are_one_line(logged):
    async def main():
        loop = asyncio.get_running_loop()
        with listening("127.0.0.1", 0, Limits()) as listener:
            server = HttpServer(Echo(), ServerOptions())
            serving = asyncio.create_task(server.serve([listener]))
            while not server.started:
                await asyncio.sleep(0)
            accept = Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
            loop._accept_connection(Mock, Mock(accept=accept, fileno=lambda: 1 << 20), backlog=1)
            assert accept.call_count == 1
            server.should_exit = True
            await serving

    asyncio.run(main())
    assert logged() == ["no further connection can be accepted: Too many open files"]


def test_a_client_that_sends_half_a_request_and_no_more_gets_no_answer():
    async def clients(connect, application, server):
        for beginning in (HALF_HEAD, HALF_BODY):
            reader, writer = await connect(beginning)
            writer.write_eof()
            assert await reader.read() == b""

    served(clients)


def test_connections_are_limited():
    async def clients(connect, application, server):
        kept, writer = await connect(WHOLE)
        await kept.readuntil(b"body")
        await connect(HALF_HEAD)
        refused, _ = await connect()
        text = await refused.read()
        writer.write(WHOLE)
        await kept.readuntil(b"body")
        return text

    text = served(clients, connections=2)
    assert answer(text) == (503, b'{"error": "the server has 2 connections, and takes no more"}')


def test_a_tls_handshake_must_be_done_in_time(certificate):
    async def clients(connect, application, server):
        reader, _ = await connect()  # and not a byte of a handshake
        return await reader.read()  # until the server closes

    assert served(clients, certificate, head_seconds=0.05) == b""


def test_a_tls_connection_is_closed_though_its_client_says_no_goodbye(certificate):
    async def clients(connect, application, server):
        reader, writer = await connect()
        received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=certificate.chain)
        client = context.wrap_bio(received, to_send, server_hostname="localhost")
        shaken = False
        while not shaken:
            try:
                client.do_handshake()
                shaken = True
            except ssl.SSLWantReadError:
                writer.write(to_send.read())
                received.write(await reader.read(1 << 16))
        writer.write(to_send.read())
        async with asyncio.timeout(10):  # left alone, asyncio waits 30 s for the client's goodbye
            await reader.read()

    served(clients, certificate, head_seconds=1.0, idle_seconds=0.05)


def test_tls_handshakes_are_limited(certificate):
    """Apart from the connections that have theirs done, which are answered with 503 where they are too many."""

    async def clients(connect, application, server):
        context = ssl.create_default_context(cafile=certificate.chain)
        kept, _ = await connect(WHOLE, context)
        await kept.readuntil(b"body")
        refused, _ = await connect(b"", context)
        assert answer(await refused.read())[0] == 503
        await connect()
        one_too_many, _ = await connect()
        return await one_too_many.read()

    assert served(clients, certificate, connections=1) == b""


def test_a_client_that_does_not_read_its_answer_is_dropped():
    async def clients(connect, application, server):
        _, writer = await connect(WHOLE.replace(b"/echo", b"/huge"))
        await application.arrived.wait()
        while server.server_state.connections:
            await asyncio.sleep(0.01)

    served(clients, unread_seconds=0.1)


def test_stopping_answers_what_has_arrived_and_waits_for_no_one_else():
    async def clients(connect, application, server):
        await connect()
        await connect(HALF_HEAD)
        kept, _ = await connect(WHOLE)
        await kept.readuntil(b"body")
        await connect(HALF_BODY)
        await connect(WHOLE.replace(b"/echo", b"/huge"))  # and does not read it
        late, late_writer = await connect(HALF_BODY)
        application.arrived.clear()
        slow, _ = await connect(SLOW)
        await application.arrived.wait()
        server.should_exit = True
        while server.servers[0].is_serving():
            await asyncio.sleep(0.01)
        late_writer.write(b"dy")  # it was on its way
        await late.readuntil(b"body")
        application.go.set()
        return await slow.read()

    assert answer(served(clients)) == (200, b"body")


def test_a_request_that_is_never_answered_does_not_hold_up_a_stop():
    async def clients(connect, application, server):
        await connect(SLOW)
        await application.arrived.wait()
        return application.answered

    assert served(clients, grace_seconds=0.2) == []


def without_ports(lines):
    """Lines of the access log without what differs from run to run."""
    return [re.sub(r"^127\.0\.0\.1:\d+ |\.\d ms$|\d+\.\d ms$", "", line).rstrip() for line in lines]


@pytest.mark.parametrize(
    "beginning, lines",
    [
        (HALF_HEAD, ["- 408"]),
        (HALF_BODY, ["POST /echo 408"]),
        (WHOLE + HALF_HEAD, ["POST /echo 200", "- 408"]),
        (b"\x16\x03\x01\r\n\r\n", ["- 400"]),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", ["POST /echo 400"]),
    ],
)
def test_what_the_application_does_not_answer_is_logged(beginning, lines, logged):
    async def clients(connect, application, server):
        reader, _ = await connect(beginning)
        await reader.read()

    served(clients, head_seconds=0.05, body_seconds=0.05)
    assert without_ports(logged()) == lines


def test_a_refused_connection_is_logged(logged):
    async def clients(connect, application, server):
        await connect(HALF_HEAD)
        refused, _ = await connect()
        await refused.read()

    served(clients, connections=1)
    assert without_ports(logged()) == ["- 503"]


@pytest.mark.parametrize("beginning", [HALF_BODY, SLOW])
def test_a_request_that_its_client_gives_up_is_logged_as_such(beginning, logged):
    async def clients(connect, application, server):
        _, writer = await connect(beginning)
        while not server.server_state.tasks:
            await asyncio.sleep(0)
        writer.transport.abort()
        await writer.wait_closed()
        application.go.set()
        while server.server_state.connections:
            await asyncio.sleep(0)

    served(clients)
    assert without_ports(logged()) == [f"POST {beginning.split()[1].decode()} 499"]


def test_a_request_whose_client_has_gone_is_not_answered(logged):
    async def clients(connect, application, server):
        _, writer = await connect(SLOW)
        await application.arrived.wait()
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()
        while server.server_state.tasks:  # it would wait for `go`, which never comes
            await asyncio.sleep(0)
        return application.answered

    assert served(clients) == [] and without_ports(logged()) == ["POST /slow 499"]


def test_the_address_that_a_proxy_tells_is_one_field_of_the_log(logged):
    async def clients(connect, application, server):
        reader, _ = await connect(WHOLE.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: a GET / 200\x1b[2J\x85\r\n\r\n"))
        await reader.readuntil(b"body")

    served(clients)
    (line,) = logged()
    assert line.startswith(r"a\x20GET\x20/\x20200\x1b[2J:0 POST /echo 200 "), line


def test_an_empty_host_is_refused():
    with pytest.raises(UserError, match="the host is empty: give --host"), listening("", 0, Limits()):
        pass


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "fe80::1", "no..name", "ä..b", "a" * 64])
def test_an_address_that_is_not_of_this_machine(host):
    complaint = "cannot listen .*: give --host an address of this machine"
    with pytest.raises(UserError, match=complaint), listening(host, 0, Limits()):
        pass


def test_a_port_in_use():
    with listening("127.0.0.1", 0, Limits()) as taken:
        port = taken.getsockname()[1]
        complaint = "cannot listen .Address already in use.: choose another --rest-port"
        with pytest.raises(UserError, match=complaint), listening("127.0.0.1", port, Limits()):
            pass
