"""The benchmark of preparing a corpus: what is generated, and how memory and time are told."""

from pathlib import Path

from tfnmt_programs.benchmarks.preparing import draw_memory, stage_figures, write_corpus
from tfnmt_programs.benchmarks.process_tree import Samples, sampled


def test_a_generated_corpus_has_as_many_pairs_as_asked(tmp_path):
    sources, targets = write_corpus(tmp_path, 101, 3)
    counts = [[Path(path).read_text(encoding="utf-8").count("\n") for path in side] for side in (sources, targets)]
    assert counts[0] == counts[1] == [33, 34, 34]


def test_the_figures_of_a_stage():
    samples = Samples([0.0, 1.0, 2.0, 3.0], ["a", "b", "b", "c"], [10**6, 3 * 10**6, 2 * 10**6, 10**6], [0, 1, 3, 3])
    assert samples.of_stage("b") == {
        "seconds": 2.0,
        "processor_seconds": 3,
        "megabytes_half_way": 2.0,
        "megabytes_at_most": 3.0,
    }
    assert samples.of_stage("d") == {}
    assert len(draw_memory(Samples([0.0], ["encoding"], [1], [0]), 5).axes[0].lines) == 1


def test_a_stage_too_short_to_tell_has_no_rate():
    seconds = [float(i) for i in range(13)]
    stages = ["generating", *6 * ["filtering"], "duplicates", *5 * ["encoding"]]
    samples = Samples(seconds, stages, 13 * [10**6], [second / 2 for second in seconds])
    figures = stage_figures(samples, 1200)
    rates = {
        name: (of_stage["pairs_per_second"], of_stage["pairs_per_processor_second"])
        for name, of_stage in figures.items()
    }
    assert rates == {
        "generating": (None, None),
        "filtering": (200.0, None),
        "duplicates": (None, None),
        "encoding": (240.0, None),
    }
    assert figures["duplicates"]["seconds"] == 1.0


def test_the_memory_of_this_process_is_seen():
    with sampled(lambda: "stage") as samples:
        sum(range(100_000))
    assert samples.stages[0] == "stage" and samples.bytes[0] > 10**6
    assert samples.processor_seconds[-1] >= samples.processor_seconds[0] > 0
