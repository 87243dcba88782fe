"""How time and memory of a training step grow with the length of the sentences."""

import pytest

from tfnmt_programs.benchmarks.growth import growth


@pytest.mark.slow
def test_the_first_length_has_its_memory_too():
    ((_, _, alone),) = growth("spinn-pi-nt", [200], repetitions=1)
    *_, (_, _, last) = growth("spinn-pi-nt", [10, 200], repetitions=1)
    assert last / 2 < alone < 2 * last


@pytest.mark.slow
def test_what_was_measured_before_does_not_hide_memory():
    first, again = (growth("spinn-pi-nt", [10, 200], repetitions=1)[-1][2] for _ in range(2))
    assert first / 2 < again < 2 * first
