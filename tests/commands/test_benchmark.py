"""The benchmark's command line; the benchmarks themselves have tests of their own."""

import pytest

from tests.commands.calls import call


def test_a_peer_is_asked_for_at_once(capsys):
    with pytest.raises(SystemExit) as ended:
        call("benchmark", "train-translator")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the following arguments are required: --peer, --peer-python")
