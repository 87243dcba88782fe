"""Threads of an operation, by what is trained."""

import pytest

from tfnmt.models.classifier_configuration import ClassifierConfiguration
from tfnmt.models.threads import operation_threads


@pytest.mark.parametrize(
    ("encoder", "units", "threads"),
    [
        ("lstm", 64, 0),
        ("spinn-pi-nt", 64, 1),
        ("spinn-pi-nt", 128, 0),
        ("spinn-pi", 128, 1),
        ("rl-spinn", 128, 1),
        ("spinn", 300, 0),
    ],
)
def test_small_trees_take_one_thread(encoder, units, threads):
    assert operation_threads(ClassifierConfiguration(encoder=encoder, units=units)) == threads
