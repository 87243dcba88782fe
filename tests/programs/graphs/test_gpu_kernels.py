"""What a GPU would do with a graph: small graphs by hand, then all of the project's."""

import json

import pytest
import tensorflow as tf

from tests.commands.calls import call
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.errors import UserError
from tfnmt.translation.presets import PRESETS
from tfnmt_programs.graphs.gpu_kernels import Found, examine
from tfnmt_programs.graphs.traced import traced_graphs

FLOATS, INTEGERS = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int32)

ON_THE_CPU = {
    "DenseBincount of int64, int32": "counts the words of the strings that become brackets",
    "Pad of int64, int32": "the keys of sentences from which sampling draws, once a batch",
}
"""Operations outside of loops that have no kernel for a GPU: why that does no harm."""


def examined(function, *signature):
    return examine(tf.function(function, autograph=False).get_concrete_function(*signature))


def three_times(body, first):
    return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, body(x)), (0, first))[1]


def test_operations_without_a_kernel():
    report = examined(lambda x: tf.unravel_index(x, [2, 3]), INTEGERS)
    assert report.without_kernel == {Found(False, "UnravelIndex of int32"): 1}
    assert not examined(lambda x: x * 2, FLOATS).without_kernel
    in_loop = examined(lambda x: three_times(lambda x: tf.unravel_index(x, [6])[0], x), INTEGERS)
    assert in_loop.without_kernel == {Found(True, "UnravelIndex of int32"): 1}


def test_the_kernel_depends_on_the_types():
    def updated(x, at):
        return tf.raw_ops.InplaceUpdate(x=tf.raw_ops.DeepCopy(x=x), i=at, v=x)

    report = examined(updated, FLOATS, INTEGERS)
    assert not report.without_kernel and not report.copied_to_host
    in_host_memory = examined(
        lambda x, at: updated(tf.argmax(x[tf.newaxis], output_type=tf.int32), at), FLOATS, INTEGERS
    )
    assert in_host_memory.copied_to_host == {Found(False, "ArgMax of float32, int32 → DeepCopy"): 1}


def test_what_the_graph_puts_on_the_cpu_is_no_surprise():
    def function(x):
        with tf.device("CPU:0"):
            return tf.unravel_index(x, [2, 3]), tf.where(x > 0)

    report = examined(function, INTEGERS)
    assert not report.without_kernel and not report.sized_by_values


def test_a_function_that_is_called_is_walked_where_it_is_called():
    inner = tf.function(tf.where, autograph=False)

    def body(x):
        return tf.cond(x[0] > 0, lambda: tf.cast(inner(x > 1)[:, 0], tf.float32), lambda: x)

    for function, in_loop in ((body, False), (lambda x: three_times(body, x), True)):
        assert examined(function, FLOATS).sized_by_values == {Found(in_loop, "Where of bool"): 1}


def test_what_no_result_needs_does_not_count():
    def function(x):
        tf.where(x > 0)
        return x + 1

    assert examined(function, FLOATS) == examined(lambda x: x + 1, FLOATS)


def test_what_the_host_reads_is_copied_once():
    def sizes(x):
        n = tf.argmax(x, output_type=tf.int32)
        return tf.range(n), tf.zeros([n])

    assert examined(sizes, FLOATS).copied_to_host == {Found(False, "ArgMax of float32, int32 → Pack"): 1}
    assert not examined(lambda x: (tf.range(tf.size(x)), x + 1), FLOATS).copied_to_host


def test_what_decides_whether_a_loop_goes_on_is_copied_in_every_step():
    def until_positive(x):
        return tf.while_loop(lambda x: tf.reduce_any(x < 0), lambda x: (x + 1,), (x,))

    assert examined(until_positive, FLOATS).copied_to_host == {Found(True, "Any of int32 → condition of a loop"): 1}
    assert not examined(lambda x: three_times(lambda x: x + 1, x), FLOATS).copied_to_host


def test_operations_of_strings_are_counted_apart():
    report = examined(lambda x: tf.strings.length(tf.strings.lower(x)), tf.TensorSpec([None], tf.string))
    assert sum(report.of_strings.values()) == 2 and not report.without_kernel


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_graph():
    options = ["--only", "training classifier, gru"]
    figures = json.loads(call("gpu-kernels", *options, "--json"))["training classifier, gru"]
    assert figures["operations"] > 300 and not figures["without_kernel"]["in_loops"]
    table = call("gpu-kernels", *options, "--details").partition("\n\n")[0].splitlines()
    assert table[-1].startswith("training classifier, gru") and table[-2].startswith(f"column {len(table) - 1}:")
    with pytest.raises(UserError, match="--only trainings: no graph begins so; these do: .*serving classifier"):
        call("gpu-kernels", "--only", "trainings")


@pytest.fixture(scope="module")
def reports():
    # What `encode` has, `serving_default` of the same classifier has, too.
    traced = ((name, trace) for name, trace in traced_graphs() if not (", encode" in name and "classifier" in name))
    return {name: examine(trace()) for name, trace in traced}


@pytest.mark.slow
def test_all_is_walked(reports):
    trainings = [set(graph.removeprefix("training ").split(", ")) for graph in reports]
    for kind, names in (("translator", PRESETS), ("classifier", CLASSIFIER_PRESETS)):
        assert all(any({kind, f"preset {name}"} <= training for training in trainings) for name in names)
    assert all(any({"classifier", name} <= training for training in trainings) for name in ENCODERS)


@pytest.mark.slow
def test_no_loop_has_an_operation_without_a_kernel(reports):
    found = {(graph, each.what) for graph, report in reports.items() for each in report.without_kernel if each.in_loop}
    assert not found


@pytest.mark.slow
def test_outside_of_loops_few_operations_have_no_kernel(reports):
    found = {each.what for report in reports.values() for each in report.without_kernel}
    assert found == set(ON_THE_CPU)


@pytest.mark.slow
def test_few_loops_wait_for_sizes(reports):
    """Searches that remove finished sentences, and parsers, which compose the sentences that REDUCE."""
    for graph, report in reports.items():
        parses = "spinn" in graph and ("serving" in graph or "rl-spinn" in graph) and "-pi" not in graph
        searches = "search" in graph or "serving translator" in graph
        assert parses or searches or not any(found.in_loop for found in report.sized_by_values), graph


@pytest.mark.slow
def test_loops_wait_for_few_tensors(reports):
    for graph, report in reports.items():
        waits = sum(count for found, count in report.copied_to_host.items() if found.in_loop)
        searches = "search" in graph or "serving translator" in graph
        assert waits <= (4 if searches else 1), graph
