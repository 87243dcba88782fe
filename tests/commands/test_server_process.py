"""A server as a process of its own."""

import pytest

from tfnmt.commands.server_process import server_process
from tfnmt.errors import UserError


def test_a_server_that_ends_while_it_loads_its_models_is_one_line(tmp_path):
    package = tmp_path / "tfnmt"
    package.mkdir()
    (package / "__init__.py").touch()
    said = "REST http://127.0.0.1:1 gRPC 127.0.0.1:1"  # where nothing listens
    (package / "__main__.py").write_text(f"import sys; print({said!r}, flush=True); sys.stdout.close(); sys.exit(3)")
    with (
        pytest.raises(UserError, match="^the server at http://127.0.0.1:1 (does not answer|ended with status 3 while)"),
        server_process(tmp_path, checkout=tmp_path),
    ):
        pass
