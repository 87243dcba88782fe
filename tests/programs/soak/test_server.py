"""The soak of a server; what its clients count is in test_traffic.py."""

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError


def test_one_client_is_too_few():
    with pytest.raises(UserError, match="^--clients 1: there must be 2 at least, a good one and a rude one$"):
        call("soak-server", "--clients", 1)
