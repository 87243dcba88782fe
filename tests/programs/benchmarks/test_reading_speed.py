"""The benchmark of reading a file of pairs with trees."""

import pytest

from tfnmt_programs.benchmarks.reading_speed import reading_speed, write_pairs


def test_a_large_file_is_read(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", 30)
    figures = reading_speed(tmp_path / "pairs.jsonl", "snli", batch_size=4, batches=3)
    assert figures["examples"] == 30
    assert figures["examples_per_second"] == pytest.approx(4 * figures["batches_per_second"])
    assert figures["seconds_to_first_batch"] > 0 < figures["seconds_of_check"]
