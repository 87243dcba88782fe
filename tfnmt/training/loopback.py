"""Keeps TensorFlow's server to this machine.

It listens at all addresses, whatever address it is given (grpc_server_lib.cc), asks for no password, and runs any graph
that it is sent. Where the workers have addresses of the loopback device, the kernel is told to drop what comes to the
server's socket from another one: a classic BPF program, see socket(7), SO_ATTACH_FILTER.
"""

import contextlib
import ctypes
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator

from tfnmt.background import repeatedly
from tfnmt.errors import UserError

_SO_ATTACH_FILTER = 26
_HEADER = 0x100000000 - 0x100000  # SKF_NET_OFF: offsets from here on are those of the IP header
_LOAD_BYTE, _LOAD_WORD, _AND, _RETURN, _JUMP_IF_EQUAL = 0x30, 0x20, 0x54, 0x06, 0x15
# (operation, jump over so many if equal, or else over so many, constant)
_FROM_LOOPBACK = (
    (_LOAD_BYTE, 0, 0, _HEADER),
    (_AND, 0, 0, 0xF0),
    (_JUMP_IF_EQUAL, 0, 3, 0x40),  # IPv4: a source in 127.0.0.0/8
    (_LOAD_WORD, 0, 0, _HEADER + 12),
    (_AND, 0, 0, 0xFF000000),
    (_JUMP_IF_EQUAL, 8, 9, 0x7F000000),
    (_LOAD_WORD, 0, 0, _HEADER + 8),  # IPv6: the source ::1
    (_JUMP_IF_EQUAL, 0, 7, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 12),
    (_JUMP_IF_EQUAL, 0, 5, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 16),
    (_JUMP_IF_EQUAL, 0, 3, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 20),
    (_JUMP_IF_EQUAL, 0, 1, 1),
    (_RETURN, 0, 0, 0xFFFFFFFF),
    (_RETURN, 0, 0, 0),
)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine's loopback device."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


@contextlib.contextmanager
def only_from_loopback(port: int) -> Iterator[None]:
    """Within the block, a server is started that listens at a port; from then on, only this machine can connect to it.

    Raises:
        UserError: the kernel refuses, or no server was started.
    """
    found: list[bool] = []

    def look() -> None:
        if not found:
            found.extend([True] * refuse_others(port))

    with repeatedly(look, 0.002):
        yield
    if not found and not refuse_others(port):
        raise UserError(f"port {port}: cannot be closed to other machines; name the workers by other addresses")


def refuse_others(port: int) -> int:
    """Let only this machine connect to what this process listens at a port; the number of sockets found."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), _socket_of(int(name)) as listener:
            listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if listening and listener.family in (socket.AF_INET, socket.AF_INET6) and listener.getsockname()[1] == port:
                _attach(listener)
                found += 1
    return found


def _socket_of(descriptor):
    """A socket of a copy of a descriptor. OSError, if it is none: then the copy is closed."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _attach(listener):
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _FROM_LOOPBACK)
    held = ctypes.create_string_buffer(program, len(program))
    listener.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(_FROM_LOOPBACK), ctypes.addressof(held))
    )
