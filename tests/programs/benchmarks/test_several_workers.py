"""What the benchmark of several workers trains on."""

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.command_process import parse_command


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--records", "F"], "--records: the workers read text; give --source and --target"),
        (["--dev-source", "F"], "--source is missing: --dev-source means nothing without it"),
        (["--source", "a.tsv"], "--dev-source is missing"),
        (
            ["--model", "spinn", "--source", "a.tsv", "--dev-source", "b.tsv"],
            "--model spinn trains on the sample corpus: leave out the files of pairs",
        ),
    ],
)
def test_files_that_it_would_not_train_on_are_refused(options, complaint):
    with pytest.raises(UserError, match=complaint):
        call("benchmark", "workers", *options)


@pytest.mark.parametrize("work", ["workers", "memory"])
def test_settings_add_up(work):
    assert parse_command(["benchmark", work, "--set", "units=3", "--set", "seed=4"]).set == ["units=3", "seed=4"]
