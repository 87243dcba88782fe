"""The queue of requests: how batches are formed, and which request gets which result."""

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.serving.batching import Batcher
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import RequestError


def batched(main, run, **options):
    """Run `main(batcher)`; returns its result and the sizes of the batches computed."""
    sizes = []

    async def in_loop():
        with ThreadPoolExecutor(4) as executor:
            batcher = Batcher(run, executor, BatchingOptions(**options), sizes.append)
            return await asyncio.wait_for(main(batcher), 60)

    return asyncio.run(in_loop()), sizes


def double(inputs):
    return {"y": 2 * inputs["x"]}


def submit(batcher, *values):
    return batcher.submit({"x": np.array(values)}, len(values))


def values(answers):
    return [answer["y"].tolist() for answer in answers]


def test_concurrent_requests_are_one_batch_and_each_gets_its_own_rows():
    async def main(batcher):
        return await asyncio.gather(submit(batcher, 1, 2), submit(batcher, 3), submit(batcher, 4, 5))

    answers, sizes = batched(main, double, max_batch_size=8, wait_seconds=0.05)
    assert values(answers) == [[2, 4], [6], [8, 10]] and sizes == [5]


def test_a_full_batch_does_not_wait():
    async def main(batcher):
        return await asyncio.wait_for(asyncio.gather(*(submit(batcher, i) for i in range(4))), 5)

    answers, sizes = batched(main, double, max_batch_size=2, wait_seconds=60.0, threads=1)
    assert values(answers) == [[0], [2], [4], [6]] and sizes == [2, 2]


def test_a_batch_waits_for_requests_that_arrived_in_its_time():
    async def main(batcher):
        with batcher.coming():
            first = asyncio.create_task(submit(batcher, 1))
            await asyncio.sleep(0)  # it is due, and its batch would begin
        return [await submit(batcher, 2), await first]

    answers, sizes = batched(main, double, wait_seconds=0.0)
    assert values(answers) == [[4], [2]] and sizes == [2]


def test_a_batch_waits_neither_for_later_requests_nor_for_those_that_are_refused():
    async def main(batcher):
        with contextlib.suppress(ValueError), batcher.coming():
            first = asyncio.create_task(submit(batcher, 1))
            await asyncio.sleep(0)
            later = batcher.coming()
            later.__enter__()
            raise ValueError("refused")
        answer = await asyncio.wait_for(first, 5)
        later.__exit__(None, None, None)
        return [answer, await submit(batcher, 2)]

    answers, sizes = batched(main, double, wait_seconds=0.0)
    assert values(answers) == [[2], [4]] and sizes == [1, 1]


def test_a_full_batch_waits_for_nobody():
    async def main(batcher):
        with batcher.coming():
            return await asyncio.wait_for(asyncio.gather(submit(batcher, 1), submit(batcher, 2)), 5)

    answers, sizes = batched(main, double, max_batch_size=2, wait_seconds=0.0)
    assert values(answers) == [[2], [4]] and sizes == [2]


def test_without_waiting_single_requests_are_computed_alone():
    async def main(batcher):
        return [await submit(batcher, 1), await submit(batcher, 2)]

    answers, sizes = batched(main, double, wait_seconds=0.0)
    assert values(answers) == [[2], [4]] and sizes == [1, 1]


def test_a_large_request_is_split_and_its_outputs_are_padded_to_one_width():
    def run(inputs):
        return {
            "y": np.ones([len(inputs["x"]), inputs["x"].max()], int),
            "s": np.full([len(inputs["x"]), inputs["x"].max()], b"s", object),
        }

    async def main(batcher):
        return await submit(batcher, 1, 1, 3, 2, 1)

    answer, sizes = batched(main, run, max_batch_size=2, wait_seconds=0.0)
    assert sizes == [2, 2, 1]
    assert answer["y"].tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 0, 0]]
    assert answer["s"].tolist() == [[b"s" if y else b"" for y in row] for row in answer["y"]]


def test_an_error_reaches_only_the_request_that_caused_it():
    def run(inputs):
        if (inputs["x"] < 0).any():
            raise RuntimeError("negative")
        return double(inputs)

    async def main(batcher):
        return await asyncio.gather(*(submit(batcher, i) for i in (1, -1, 2)), return_exceptions=True)

    (first, second, third), sizes = batched(main, run, wait_seconds=0.05)
    assert values([first, third]) == [[2], [4]] and isinstance(second, RuntimeError)
    assert sizes == [3, 1, 2, 1, 1]


@pytest.mark.parametrize("output", [np.arange(5), np.float32(1.0), np.zeros([1, 2])])
def test_an_output_without_a_row_for_each_text_belongs_to_nobody(output):
    async def main(batcher):
        return await asyncio.gather(submit(batcher, 1), submit(batcher, 2, 3), return_exceptions=True)

    errors, sizes = batched(main, lambda inputs: {"y": output}, wait_seconds=0.05)
    assert [error.code for error in errors] == [grpc.StatusCode.FAILED_PRECONDITION] * 2 and sizes == [3]
    assert str(errors[0]).startswith(f"the model's output 'y' has shape {list(output.shape)}; expected 3")


def test_an_assertion_of_the_model_is_told_without_what_it_compared():
    def run(inputs):
        compared = "[Condition x <= y did not hold element-wise:] [x (mul:0) = ] [3] [y (y:0) = ] [2]"
        message = f"Graph execution error:\n\nassertion failed: [more than 2 at once (of x)] {compared}\n\t [[Assert]]"
        raise tf.errors.InvalidArgumentError(None, None, message)

    async def main(batcher):
        with pytest.raises(RequestError) as caught:
            await submit(batcher, 3)
        return str(caught.value)

    assert batched(main, run)[0] == "more than 2 at once (of x)"


@pytest.mark.parametrize(
    ("lengths", "limit", "expected"),
    [
        ([3, 100, 2, 1, 3, 50, 3], 60, [(5, 3), (1, 100), (1, 50)]),
        ([1, 20, 1, 1, 1, 1], 40, [(2, 20), (4, 1)]),
    ],
)
def test_one_long_text_does_not_pad_all_others(lengths, limit, expected):
    shapes = []

    def run(inputs):
        shapes.append((len(inputs["x"]), int(inputs["x"].max())))
        return double(inputs)

    async def main(batcher):
        tasks = [batcher.submit({"x": np.array([n])}, 1, np.array([n])) for n in lengths]
        return values(await asyncio.gather(*tasks)) == [[2 * n] for n in lengths]

    right, _ = batched(main, run, max_batch_size=8, max_batch_tokens=limit, wait_seconds=0.02, threads=1)
    assert right and shapes == expected


def test_a_request_is_split_by_tokens_into_texts_of_similar_length():
    shapes = []

    def run(inputs):
        shapes.append((len(inputs["x"]), int(inputs["x"].max())))
        return double(inputs)

    async def main(batcher):
        lengths = np.array([9, 1, 70, 2, 9, 1, 9])
        return (await batcher.submit({"x": lengths}, 7, lengths))["y"].tolist() == (2 * lengths).tolist()

    right, _ = batched(main, run, max_batch_size=4, max_batch_tokens=40, wait_seconds=0.0, threads=1)
    assert right and sorted(shapes) == [(1, 70), (2, 9), (4, 9)]


def test_a_cancelled_request_is_not_computed():
    async def main(batcher):
        waiting = asyncio.create_task(submit(batcher, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        return await submit(batcher, 2)

    answer, sizes = batched(main, double, wait_seconds=0.05)
    assert answer["y"].tolist() == [4] and sizes == [1]


def test_a_full_queue_refuses_requests():
    async def main(batcher):
        return await asyncio.gather(*(submit(batcher, i, i) for i in range(4)), return_exceptions=True)

    answers, _ = batched(main, double, max_batch_size=2, wait_seconds=60.0, threads=1, max_enqueued_batches=1)
    refused = [answer for answer in answers if isinstance(answer, RequestError)]
    assert len(refused) == 2 and {error.code.name for error in refused} == {"UNAVAILABLE"}
    assert values(answers[:2]) == [[0, 0], [2, 2]]


def test_requests_whose_clients_have_gone_do_not_fill_the_queue():
    goes_on = threading.Event()

    def run(inputs):
        assert goes_on.wait(10)
        return double(inputs)

    async def main(batcher):
        first, second = (asyncio.create_task(submit(batcher, i)) for i in (1, 2))
        await asyncio.sleep(0)
        assert batcher.waiting_rows == 1
        second.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting_rows == 0
        third = asyncio.create_task(submit(batcher, 3))
        await asyncio.sleep(0)
        goes_on.set()
        return await asyncio.gather(first, third)

    options = {"max_batch_size": 1, "max_enqueued_batches": 1, "threads": 1, "wait_seconds": 0.0}
    answers, sizes = batched(main, run, **options)
    assert values(answers) == [[2], [6]] and sizes == [1, 1]


def test_a_request_without_rows_has_outputs_without_rows():
    async def main(batcher):
        return await batcher.submit({"x": np.array([], int)}, 0)

    answer, _ = batched(main, double, wait_seconds=0.0)
    assert answer["y"].tolist() == []


@pytest.mark.parametrize("size", [1, 3, 8])
def test_many_concurrent_requests(size):
    async def main(batcher):
        return await asyncio.gather(*(submit(batcher, i) for i in range(500)))

    answers, sizes = batched(main, double, max_batch_size=size, wait_seconds=0.001, max_enqueued_batches=500)
    assert values(answers) == [[2 * i] for i in range(500)] and sum(sizes) == 500 and max(sizes) <= size


def test_a_request_larger_than_the_queue_is_computed_where_nothing_waits():
    async def main(batcher):
        return await submit(batcher, 1, 2, 3, 4, 5)

    answer, sizes = batched(main, double, max_batch_size=2, max_enqueued_batches=1, wait_seconds=0.0)
    assert answer["y"].tolist() == [2, 4, 6, 8, 10] and sizes == [2, 2, 1]


def test_short_texts_are_not_padded_to_a_long_one_that_came_first():
    shapes = []

    def run(inputs):
        shapes.append((len(inputs["x"]), int(inputs["x"].max())))
        return double(inputs)

    async def main(batcher):
        lengths = [40, 2, 2, 2]
        return await asyncio.gather(*(batcher.submit({"x": np.array([n])}, 1, np.array([n])) for n in lengths))

    answers, _ = batched(main, run, max_batch_size=8, max_batch_tokens=60, wait_seconds=0.02, threads=1)
    assert values(answers) == [[80], [4], [4], [4]] and shapes == [(1, 40), (3, 2)]


def test_one_text_longer_than_a_batch_is_one_batch():
    async def main(batcher):
        return await batcher.submit({"x": np.array([100])}, 1, np.array([100]))

    answer, sizes = batched(main, double, max_batch_tokens=60, wait_seconds=0.0)
    assert answer["y"].tolist() == [200] and sizes == [1]


def test_a_request_cancelled_while_it_is_computed_leaves_those_of_its_batch_alone():
    begun, goes_on = threading.Event(), threading.Event()

    def run(inputs):
        begun.set()
        assert goes_on.wait(10)
        return double(inputs)

    async def main(batcher):
        first, second = (asyncio.create_task(submit(batcher, i)) for i in (1, 2))
        await asyncio.to_thread(begun.wait, 10)
        first.cancel()
        await asyncio.sleep(0)
        goes_on.set()
        return await asyncio.wait_for(second, 5)

    answer, sizes = batched(main, run, wait_seconds=0.02)
    assert answer["y"].tolist() == [4] and sizes == [2]
