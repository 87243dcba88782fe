"""Rates of this machine, and how measurements take turns."""

from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.machine_rates import matrix_rate, memory_rate


def test_sides_take_turns_at_going_first():
    calls = []

    def side(name, values):
        return lambda: calls.append(name) or next(values)

    measurements = {"ours": side("ours", iter([30.0, 20.0, 60.0])), "peer": side("peer", iter([10.0, 10.0, 15.0]))}
    rates = alternate(measurements, rounds=3)
    assert calls == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert rates == {"ours": [30.0, 20.0, 60.0], "peer": [10.0, 10.0, 15.0]}
    figures = ratio_figures(**rates)
    assert figures == {"ours": 30.0, "peer": 10.0, "ratio": 3.0, "ratio_min": 2.0, "ratio_max": 4.0}


def test_matrix_rate_of_any_shape():
    assert matrix_rate(3, 4, 8, seconds=0.001) > 0
    assert matrix_rate(4, 4, 4, seconds=0.001) > 0


def test_memory_rate():
    assert memory_rate(megabytes=1, seconds=0.001) > 0
