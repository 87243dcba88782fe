"""The structure of binary trees, from their SHIFT and REDUCE transitions, in the graph.

A tree of n words has 2n − 1 transitions, and each makes one node: SHIFT takes the next word from the buffer and puts it
on the stack as a leaf, REDUCE replaces the two highest nodes of the stack by their parent. Node i is what step i makes,
so the children of a node come before it, its subtree is made in consecutive steps, and the root comes last.

Which nodes lie where is known from the transitions alone, before any vector is computed. Every function takes a batch
of trees, int32 [sentences, steps], with PAD on the right, and computes all sentences and steps at once, without a
stack, in time O(n log n) and memory O(n) for n = sentences · steps.
"""

import tensorflow as tf

from tfnmt.text.brackets import PAD, REDUCE, SHIFT


def are_trees(transitions: tf.Tensor) -> tf.Tensor:
    """Whether each row is one tree: bool [sentences]. There is nothing but SHIFT, REDUCE and, after them, PAD; every
    REDUCE finds two nodes, and one node is left in the end.
    """
    changes, steps = _changes(transitions), tf.math.count_nonzero(transitions != PAD, axis=1)
    in_order = (changes != 0) == tf.sequence_mask(steps, tf.shape(transitions)[1])
    enough = tf.cumsum(changes, axis=1) >= 1
    return tf.reduce_all(in_order & enough, axis=1) & (tf.reduce_sum(changes, axis=1) == 1)


def stack_sizes(transitions: tf.Tensor) -> tf.Tensor:
    """How many nodes lie on the stack after each step: int32 [sentences, steps]."""
    return tf.cumsum(_changes(transitions), axis=1)


def buffer_reads(transitions: tf.Tensor) -> tf.Tensor:
    """The position of the buffer's first word before each step: int32 [sentences, steps].

    Where no word remains it is the number of words.
    """
    return tf.cumsum(tf.cast(transitions == SHIFT, tf.int32), axis=1, exclusive=True)


def stack_reads(transitions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The two highest nodes of the stack before each step.

    Returns:
        (top, second), int32 [sentences, steps]; −1 where there is none, and for PAD.
    """
    steps = tf.range(tf.shape(transitions)[1])
    top = tf.where(transitions == PAD, -1, steps - 1)
    second = tf.pad(nodes_below(transitions), [[0, 0], [1, 0]], constant_values=-1)[:, :-1]
    return top, second


def borders_of_top(transitions: tf.Tensor) -> tf.Tensor:
    """The positions of the words at the borders of the highest phrase of the stack, before each step: of the word
    before it, of its first, of its last, and of the word after it, which is the buffer's first.

    Returns:
        int32 [sentences, steps, 4]. Where there is no such word, positions are −1 or the number of words. With nothing
        on the stack they are −1, 0, −1 and 0.
    """
    after = buffer_reads(transitions)
    top, second = stack_reads(transitions)
    words_taken = after + tf.cast(transitions == SHIFT, tf.int32)
    first = tf.where(second >= 0, tf.gather(words_taken, tf.maximum(second, 0), batch_dims=1), 0)
    return tf.stack([first - 1, first, after - 1, after], axis=-1)


def child_pointers(transitions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The children of every node.

    Returns:
        (left, right), int32 [sentences, steps]. For REDUCE, the nodes that become one; for SHIFT, both are the position
        of the word that it takes; 0 for PAD.
    """
    top, second = stack_reads(transitions)
    word = tf.where(transitions == SHIFT, buffer_reads(transitions), 0)
    reduces = transitions == REDUCE
    return tf.where(reduces, second, word), tf.where(reduces, top, word)


def nodes_below(transitions: tf.Tensor) -> tf.Tensor:
    """The node under each node on the stack, when the node has just been made: int32 [sentences, steps], −1 for none.

    It is the last earlier node after which the stack was lower by one. So the subtree of node i is made in the steps
    from `nodes_below + 1` to i.
    """
    sizes, steps = stack_sizes(transitions), tf.shape(transitions)[1]
    # Keys that sort by size, then by step; the node sought has the last key before (size − 1, step). They are int64,
    # since int32 would end at 32,768 words.
    steps = tf.cast(steps, tf.int64)
    keys = tf.cast(sizes, tf.int64) * steps + tf.range(steps)
    ordered = tf.sort(keys, axis=1)
    places = tf.searchsorted(ordered, keys - steps) - 1
    found = tf.gather(ordered, tf.maximum(places, 0), batch_dims=1)
    return tf.where(sizes > 1, tf.cast(found % steps, tf.int32), -1)


def depths(transitions: tf.Tensor) -> tf.Tensor:
    """How many phrases each node lies in, itself not counted: int32 [sentences, steps], 0 for the root and for PAD."""
    reduces = tf.cast(transitions == REDUCE, tf.int32)
    starts = nodes_below(transitions) + 1
    begun = tf.cumsum(_sums(reduces, starts, tf.shape(transitions)[1]), axis=1)
    return begun - tf.cumsum(reduces, axis=1)


def legal_moves(transitions: tf.Tensor) -> tf.Tensor:
    """Which transitions were legal before each step.

    Returns:
        bool [sentences, steps, 2]: whether SHIFT (a word remained) and REDUCE (two nodes lay on the stack) were;
        neither for PAD.
    """
    words = tf.math.count_nonzero(transitions == SHIFT, axis=1, keepdims=True, dtype=tf.int32)
    shift = buffer_reads(transitions) < words
    reduce = tf.cumsum(_changes(transitions), axis=1, exclusive=True) > 1
    return tf.stack([shift, reduce], axis=-1) & (transitions != PAD)[:, :, tf.newaxis]


def brackets_at_words(transitions: tf.Tensor, words: tf.Tensor | int) -> tuple[tf.Tensor, tf.Tensor]:
    """How many phrases begin and end at each word.

    Args:
        transitions: int32 [sentences, steps], with PAD on the right.
        words: scalar int32, the most words of a sentence.

    Returns:
        (begin, end), int32 [sentences, words].
    """
    reduces = tf.cast(transitions == REDUCE, tf.int32)
    next_word = buffer_reads(transitions)
    first_word = tf.gather(next_word, nodes_below(transitions) + 1, batch_dims=1)
    return _sums(reduces, first_word, words), _sums(reduces, next_word - 1, words)


def without_words(transitions: tf.Tensor, kept: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The same trees with some words left out, and each phrase of which only one child is left replaced by that child.

    Args:
        transitions: int32 [sentences, steps], with PAD on the right.
        kept: bool [sentences, words]: which words stay, at least one of every sentence.

    Returns:
        The transitions that stay, int32 [sentences, fewer steps], with PAD on the right; and for every node the node
        that it becomes among these, int32 [sentences, steps], −1 where no word of it stays, and for PAD.
    """
    real, reduces = transitions != PAD, transitions == REDUCE
    starts = tf.gather(buffer_reads(transitions), nodes_below(transitions) + 1, batch_dims=1)
    ends = buffer_reads(transitions) + tf.cast(transitions == SHIFT, tf.int32)
    kept_before = tf.pad(tf.cumsum(tf.cast(kept, tf.int32), axis=1), [[0, 0], [1, 0]])
    within = tf.gather(kept_before, ends, batch_dims=1) - tf.gather(kept_before, starts, batch_dims=1)
    within_right = tf.gather(within, tf.where(reduces, tf.range(tf.shape(transitions)[1]) - 1, 0), batch_dims=1)
    stays = real & tf.where(reduces, (within_right > 0) & (within_right < within), within > 0)
    # The steps of a subtree are consecutive, so the child that replaces a phrase is the last node before it that stays.
    nodes = tf.where(real & (within > 0), tf.cumsum(tf.cast(stays, tf.int32), axis=1) - 1, -1)
    return tf.ragged.boolean_mask(transitions, stays).to_tensor(PAD), nodes


def _changes(transitions):
    """By how much each transition makes the stack higher."""
    return tf.cast(transitions == SHIFT, tf.int32) - tf.cast(transitions == REDUCE, tf.int32)


def _sums(values, places, size):
    """Σ of values [sentences, steps] by places [sentences, steps]: int32 [sentences, size].

    What has a place out of range is left out.
    """
    sentences = tf.shape(places)[0]
    flat = places + size * tf.range(sentences)[:, tf.newaxis]
    flat = tf.where((places >= 0) & (places < size), flat, -1)
    return tf.reshape(tf.math.unsorted_segment_sum(values, flat, sentences * size), [sentences, size])
