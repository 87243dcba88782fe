"""The certificate that a server proves with who it is."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from tfnmt.errors import UserError


@dataclass(frozen=True)
class Certificate:
    """Files in PEM format."""

    chain: str | Path
    """The server's certificate, then those that signed it, if any."""
    key: str | Path
    """Its private key, not encrypted."""

    def ssl_context(self) -> ssl.SSLContext:
        """For HTTPS.

        Raises:
            UserError: the files cannot be read, or do not belong together.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.chain, self.key, password=lambda: "")  # one is not asked for
        except OSError as error:  # those of OpenSSL, too
            reason = error.strerror or str(error)
            raise UserError(f"{self.chain}, {self.key}: no certificate and its private key ({reason})") from error
        return context

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For gRPC; the same files."""
        return grpc.ssl_server_credentials([(Path(self.key).read_bytes(), Path(self.chain).read_bytes())])
