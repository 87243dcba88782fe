"""The benchmark of reading a file of pairs with trees."""

import pytest

from tfnmt.errors import UserError
from tfnmt_programs.benchmarks.reading_speed import reading_speed, write_pairs


def test_a_large_file_is_read(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", 32)
    figures = reading_speed(tmp_path / "pairs.jsonl", "snli", batch_size=4, batches=3)
    assert figures["examples"] == 32
    assert figures["examples_per_second"] == pytest.approx(4 * figures["batches_per_second"])
    assert figures["seconds_to_first_batch"] > 0 < figures["seconds_of_check"]


def test_a_batch_counts_as_many_examples_as_it_has(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", 30)
    figures = reading_speed(tmp_path / "pairs.jsonl", "snli", batch_size=4, batches=9)
    # After the first batch, which is not timed, come seven: six of 4 pairs and one of 2.
    assert figures["examples_per_second"] / figures["batches_per_second"] == pytest.approx(26 / 7)


@pytest.mark.parametrize("batch_size", [4, 9])
def test_without_a_second_batch_nothing_is_told(batch_size, tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", 4)
    with pytest.raises(UserError, match=r"pairs\.jsonl: 4 examples are one batch; take more .* a smaller --batch-size"):
        reading_speed(tmp_path / "pairs.jsonl", "snli", batch_size, batches=1)
