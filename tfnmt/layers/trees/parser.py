"""The loop in which a model decides by itself how to parse, as it reads."""

import tensorflow as tf

from tfnmt.layers.trees.grow import new_table
from tfnmt.layers.trees.schedule import first_rows, longest_first
from tfnmt.shapes import any_rows
from tfnmt.text.brackets import REDUCE, SHIFT


def parse(track, choose, compose, leaves, lengths, states):
    """Let the model choose every transition, which makes a binary tree of any sentence.

    SHIFT is legal while words remain, REDUCE while two nodes lie on the stack; so n words take 2n − 1 steps, and which
    sentences still read is known beforehand. The nodes lie in a table as in `tfnmt.layers.trees.grow`. The stack is a
    list linked through it: of every node, `below` says which lies below it.

    What comes out are whole numbers, without gradient: where one is wanted, `grow` grows the trees again.

    Args:
        track: `track(looks, states) -> states`, the tracker: looks float [reading, 3, units] are h of the buffer's
            first word, of the top of the stack and of what is below that, zeros for nothing.
        choose: `choose(t, sentences, states) -> moves`: what step t of the sentences of those numbers [reading] is to
            be where both are legal. Moves, int32 [reading], are 0 for SHIFT and 1 for REDUCE.
        compose: `compose(h, c, tracking) -> (h, c)`: children [parents, 2, units], and the parents' states[0].
        leaves: (h, c), each float [words, units]: all words of all sentences, without padding.
        lengths: int32 [sentences], how many words each sentence has.
        states: a tuple of tensors [sentences, size], before the first step.

    Returns:
        Transitions, int32 [sentences, 2 · longest − 1], NOTHING after a sentence's tree is complete.
    """
    order, rank = longest_first(lengths)
    lengths, starts = tf.gather(lengths, order), tf.gather(first_rows(lengths), order)
    steps = tf.maximum(2 * lengths[0] - 1, 1)
    reads = tf.sequence_mask(2 * lengths - 1, steps)
    ends = tf.cumsum(tf.math.count_nonzero(reads, axis=0, dtype=tf.int32))
    node_starts = 1 + tf.reduce_sum(lengths) + tf.concat([[0], ends], axis=0)
    table = tuple(new_table(leaf, ends[-1]) for leaf in leaves)
    below = tf.raw_ops.Empty(shape=tf.shape(table[0])[:1], dtype=tf.int32, init=True)

    def body(t, table, below, stack, states, moves):
        parents = tf.range(node_starts[t], node_starts[t + 1])
        reading = tf.size(parents)
        shifted, top, second = (x[:reading] for x in stack)
        remains = shifted < lengths[:reading]
        word = tf.where(remains, starts[:reading] + shifted, 0)
        looks = tf.stack([word, top, second], axis=1)
        states = track(tf.gather(table[0], looks), tuple(state[:reading] for state in states))
        move = choose(t, order[:reading], states)
        move = tf.where(remains & (second > 0), move, tf.where(remains, 0, 1))

        reducing = tf.where(move == 1)[:, 0]
        rows = tf.gather(parents, reducing)
        h, c = (tf.gather(x, tf.gather(looks[:, :0:-1], reducing)) for x in table)
        made = compose(h, c, tf.gather(states[0], reducing))
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, made, strict=True))

        node = tf.where(move == 0, word, parents)
        second = tf.where(move == 0, top, tf.gather(below, second))
        below = tf.raw_ops.InplaceUpdate(x=below, i=node, v=second)
        return t + 1, table, below, (shifted + 1 - move, node, second), states, moves.write(t, move)

    stack = any_rows((tf.zeros_like(lengths),) * 3)
    moves = tf.TensorArray(tf.int32, size=steps, element_shape=[None], infer_shape=False)
    carried = (0, table, below, stack, any_rows(states), moves)
    moves = tf.while_loop(lambda t, *_: t < steps, body, carried)[-1].concat()
    transitions = tf.where(moves == 0, SHIFT, REDUCE)
    places = tf.where(tf.transpose(reads))[:, ::-1]
    made = tf.scatter_nd(places, transitions, tf.shape(reads, out_type=places.dtype))
    return tf.gather(made, rank)
