"""The table of all nodes of a batch, which `tfnmt.layers.trees.loop` describes: made, read and added to."""

import tensorflow as tf


def new_table(leaf: tf.Tensor, parents: tf.Tensor) -> tf.Tensor:
    """Room for all nodes, [1 + words + parents, units], with the leaves [words, units] in their rows."""
    words = tf.shape(leaf)[0]
    empty = tf.raw_ops.Empty(shape=[1 + words + parents, leaf.shape[1]], dtype=leaf.dtype, init=True)
    table = tf.raw_ops.InplaceUpdate(x=empty, i=1 + tf.range(words), v=leaf)
    return tf.ensure_shape(table, [None, leaf.shape[1]])


def rows_of_table(rows: dict[str, tf.Tensor], h: tf.Tensor, c: tf.Tensor) -> dict[str, tf.Tensor]:
    """What lies in these rows of the table, [parents, 2, units] or [reading, 3, units]: c for "c", h for all others."""
    found = {name: tf.gather(c if name == "c" else h, at) for name, at in rows.items()}
    return {name: tf.reshape(x, [-1, 3 if name == "reads" else 2, x.shape[1]]) for name, x in found.items()}


def add_to_rows(
    d_table: tuple[tf.Tensor, tf.Tensor], rows: dict[str, tf.Tensor], d_inputs: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradient of `rows_of_table`, added to that of the table in place.

    Of one name in one iteration only row 0 can repeat, since a node has one parent, and lies in one place of a stack or
    buffer. Its gradient is never used; so it does not matter whether InplaceAdd on a GPU adds twice at a repeated row.
    """
    d_h, d_c = d_table
    for name, d in d_inputs.items():
        if d.shape[-1] == 0:  # c, where the composition has none
            continue
        d_row, at = tf.reshape(d, [-1, d.shape[-1]]), rows[name]
        if name == "c":
            d_c = tf.raw_ops.InplaceAdd(x=d_c, i=at, v=d_row)
        else:
            d_h = tf.raw_ops.InplaceAdd(x=d_h, i=at, v=d_row)
    return d_h, d_c
