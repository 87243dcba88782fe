"""The loop in which a tracker predicts every transition, and trees are composed as it does."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.layers.trees.schedule import first_rows, longest_first
from tfnmt.layers.trees.table import new_table
from tfnmt.layers.trees.tracker import ILLEGAL
from tfnmt.shapes import any_rows
from tfnmt.text.brackets import REDUCE, SHIFT


class Parses(NamedTuple):
    """What `parse` returns; steps = 2 · width − 1, whether or not a sentence has so many."""

    transitions: tf.Tensor
    """int32 [sentences, steps], PAD after a sentence's tree is complete."""
    logits: tf.Tensor
    """float [sentences, steps, 2], of SHIFT and REDUCE, legal or not; 0 for PAD."""
    h: tf.Tensor
    """float [rows, units], h of all nodes."""
    rows: tf.Tensor
    """int32 [sentences, steps], the row of every node; 0 for PAD."""


def parse(
    track: Callable,
    predict: Callable,
    compose: Callable,
    leaves: tuple[tf.Tensor, tf.Tensor],
    lengths: tf.Tensor,
    width: tf.Tensor,
    states: tuple[tf.Tensor, ...],
    noise: tf.Tensor | None = None,
) -> Parses:
    """Let the tracker choose every transition, which makes a binary tree of any sentence, and compose each node once.

    SHIFT is legal while words remain, REDUCE while two nodes lie on the stack; so n words take 2n − 1 steps, and which
    sentences still read is known beforehand. The nodes lie in a table as in `tfnmt.layers.trees.loop`, with a row for
    every step. The stack is a linked list in it: `below` has the node that lies under each node. Rows are int64 in the
    loop, since a GPU computes with int64 where it would leave int32 to the host and wait for it.

    There is no gradient: for one, `compose_trees` composes the trees again, as if they had been given.

    Args:
        track: `track(reads, states) -> states`, the tracker: reads float [reading, 3, units] are h of the buffer's
            first word, of the top of the stack and of what lies below it, zeros for nothing.
        predict: `predict(h) -> logits`, the tracker's h = states[0] to the logits of SHIFT and REDUCE, [reading, 2].
        compose: `compose(h, c, tracking) -> (h, c)`: children [parents, 2, units], and the tracker's h for each parent.
        leaves: (h, c), each float [words, units]: all words of all sentences, without padding.
        lengths: int32 [sentences], how many words each sentence has.
        width: int32 scalar, to how many words the sentences are padded: the results are as wide as such a tree.
        states: the tracker's states before the first step, a tuple of tensors [sentences, size].
        noise: float [steps or more, sentences, 2], added to the logits before the larger one is taken. None: the most
            probable transition is taken.
    """
    order, rank, lengths, starts, steps, node_starts, places = _known_beforehand(lengths)
    table = tuple(new_table(leaf, tf.shape(places)[0]) for leaf in leaves)
    below = tf.raw_ops.Empty(shape=tf.shape(table[0])[:1], dtype=tf.int64, init=True)
    lengths, starts = tf.cast(lengths, tf.int64), tf.cast(starts, tf.int64)

    def body(t, table, below, stack, states, results):
        rows = tf.range(node_starts[t], node_starts[t + 1])
        reading, rows = tf.size(rows), tf.cast(rows, tf.int64)
        position, top, second = (x[:reading] for x in stack)
        remains = position < lengths[:reading]
        word = tf.where(remains, starts[:reading] + position, 0)
        reads = tf.stack([word, top, second], axis=1)
        states = track(tf.gather(table[0], reads), tuple(state[:reading] for state in states))

        logits = predict(states[0])
        scores = tf.where(tf.stack([remains, second > 0], axis=1), logits, ILLEGAL)
        if noise is not None:
            scores += tf.gather(noise[t], order[:reading])
        reduces = tf.argmax(scores, axis=1) == 1

        reducing = tf.where(reduces)[:, 0]
        parents = tf.cast(tf.gather(rows, reducing), tf.int32)
        h, c = (tf.gather(x, tf.gather(reads[:, :0:-1], reducing)) for x in table)
        composed = compose(h, c, tf.gather(states[0], reducing))
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=parents, v=new) for x, new in zip(table, composed, strict=True))

        node = tf.where(reduces, rows, word)
        second = tf.where(reduces, tf.gather(below, second), top)
        below = tf.raw_ops.InplaceUpdate(x=below, i=tf.cast(node, tf.int32), v=second)
        position = tf.where(reduces, position, position + 1)
        result = (tf.where(reduces, tf.constant(REDUCE, tf.int64), SHIFT), logits, node)
        results = tuple(array.write(t, value) for array, value in zip(results, result, strict=True))
        return t + 1, table, below, (position, node, second), states, results

    stack = any_rows((tf.zeros_like(lengths),) * 3)
    dtype = leaves[0].dtype
    results = tuple(_new_array(dtype, steps, *size) for dtype, *size in ((tf.int64,), (dtype, 2), (tf.int64,)))
    loop_state = (0, table, below, stack, any_rows(states), results)
    _, table, _, _, _, results = tf.while_loop(lambda t, *_: t < steps, body, loop_state)
    padded_steps = tf.maximum(2 * width - 1, steps)
    transitions, logits, rows = (_by_sentence(array.concat(), places, rank, padded_steps) for array in results)
    return Parses(tf.cast(transitions, tf.int32), logits, table[0], tf.cast(rows, tf.int32))


@on_cpu
def _known_beforehand(lengths):
    """Of sentences of these lengths, all that does not depend on their words.

    Returns:
        (order, rank, lengths, starts, steps, node_starts, places): as `longest_first` gives them; lengths and first
        rows in that order, int32 [sentences]; how many steps there are; the first row of what each step makes, int32
        [steps + 1]; and (sentence, step) of all that the steps make, int64 [all_steps, 2].
    """
    order, rank = longest_first(lengths)
    lengths, starts = tf.gather(lengths, order), tf.gather(first_rows(lengths), order)
    longest = tf.reduce_max(tf.concat([lengths, [1]], axis=0))  # 1 where there are no sentences, or none with words
    steps = 2 * longest - 1
    reads_at = tf.sequence_mask(2 * lengths - 1, steps)
    ends = tf.cumsum(tf.math.count_nonzero(reads_at, axis=0, dtype=tf.int32))
    node_starts = 1 + tf.reduce_sum(lengths) + tf.concat([[0], ends], axis=0)
    return order, rank, lengths, starts, steps, node_starts, tf.where(tf.transpose(reads_at))[:, ::-1]


def gumbel_noise(seed: tf.Tensor, steps: tf.Tensor, sentences: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """[steps, sentences, 2]: the larger of two logits plus such noise is a draw from their softmax (Gumbel 1954)."""
    # In float32, whatever the dtype: in bfloat16 no draw would be nearer to 1 than 1/128.
    uniform = tf.random.stateless_uniform([steps, sentences, 2], seed, minval=1e-30)
    return tf.cast(-tf.math.log(-tf.math.log(uniform)), dtype)


def _new_array(dtype, steps, *columns):
    return tf.TensorArray(dtype, size=steps, element_shape=[None, *columns], infer_shape=False)


def _by_sentence(values, places, rank, steps):
    """Values [all_steps, ...] of the places [all_steps, 2] → [sentences, steps, ...], with 0 where there is none."""
    shape = tf.concat([[tf.size(rank), steps], tf.shape(values)[1:]], axis=0)
    return tf.gather(tf.scatter_nd(places, values, tf.cast(shape, places.dtype)), rank)
