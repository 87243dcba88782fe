"""Models side by side have names of their own."""

import pytest

from tfnmt_programs.model_names import distinct_names


@pytest.mark.parametrize(
    "directories, names",
    [
        (["runs/a", "other/b/"], ["a", "b"]),
        (["runs/a/model", "runs/b/model"], ["a/model", "b/model"]),
        (["x/a/m", "y/a/m", "y/b/n"], ["x/a/m", "y/a/m", "n"]),
        (["runs/a", "runs/b/../a"], ["a", "a"]),
        ([], []),
    ],
)
def test_as_many_folders_as_tell_them_apart(directories, names):
    assert distinct_names(directories) == names
