"""The port of an address of this machine, or why it cannot be had."""

import errno
import socket

from tfnmt.errors import UserError


def bound_socket(host: str, port: int, option: str) -> socket.socket:
    """A TCP socket that has the port of this host's address; 0 is any free port.

    Args:
        host: a name or an address.
        port: its number.
        option: the command line's, of the port, for the error message.

    Raises:
        UserError: the port is taken, or the address is none of this machine's.
    """
    if not host:
        raise UserError("the host is empty: give --host an address of this machine, such as 127.0.0.1 or 0.0.0.0")
    # asyncio sets TCP_NODELAY only where the protocol is named.
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, TypeError, UnicodeError) as error:  # the latter two of a host that no name can be
        bound.close()
        number = error.errno if isinstance(error, OSError) else None
        of_port = number in (errno.EADDRINUSE, errno.EACCES)
        advice = f"choose another {option}" if of_port else "give --host an address of this machine"
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{host}:{port}: cannot listen ({reason}): {advice}") from error
    return bound
