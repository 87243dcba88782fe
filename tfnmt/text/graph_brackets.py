"""Binary brackets and transitions, one from the other, in the graph: `tfnmt.text.brackets` for tensors of strings."""

import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.text.brackets import BRACKETS_AS_WORDS, PAD, REDUCE, SHIFT
from tfnmt.text.transitions import are_trees, brackets_at_words

NO_TREE = "each text must be one binary tree in brackets, with single spaces, such as ( ( A dog ) runs )"
"""The error message for a text that is not one."""


@on_cpu
def without_brackets(texts: tf.Tensor) -> tf.Tensor:
    """Strings [batch] → the same without brackets, single spaces between the words."""
    tokens = tf.strings.split(texts)
    words = tf.ragged.boolean_mask(tokens, (tokens != "(") & (tokens != ")"))
    return tf.strings.reduce_join(words, axis=1, separator=" ")


@on_cpu
def brackets_as_words(texts: tf.Tensor) -> tf.Tensor:
    """Strings [batch] → the same with brackets as words, too, as `tfnmt.text.brackets.brackets_as_words` writes them,
    and single spaces.
    """
    tokens = tf.strings.split(texts)
    written = tokens.values
    for bracket, words in BRACKETS_AS_WORDS.items():
        written = tf.where(tokens.values == bracket, words, written)
    return tf.strings.reduce_join(tokens.with_values(written), axis=1, separator=" ")


@on_cpu
def are_brackets(texts: tf.Tensor) -> tf.Tensor:
    """Whether each text is one binary tree, as `tfnmt.text.brackets.from_brackets` reads it: strings → bool [batch]."""
    return _read(texts)[1]


@on_cpu
def transitions_from_brackets(texts: tf.Tensor) -> tf.Tensor:
    """Strings [batch] in binary brackets → transitions int32 [batch, steps], with PAD on the right.

    Raises:
        tf.errors.InvalidArgumentError: a text is not one binary tree, see `are_brackets`; when the graph runs.
    """
    transitions, valid = _read(texts)
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(valid), [NO_TREE])]):
        return tf.identity(transitions)


def _read(texts):
    """(transitions int32 [batch, steps], whether each text is one valid tree: bool [batch])."""
    tokens = tf.strings.split(texts).to_tensor("")
    opening, closing = tokens == "(", tokens == ")"
    is_word = (tokens != "") & ~opening & ~closing
    transitions = tf.ragged.boolean_mask(tf.where(closing, REDUCE, SHIFT), is_word | closing).to_tensor(PAD)
    # The transitions say how many phrases begin at each word; as many brackets must open before it, and none after the
    # last word. Between two words, brackets close before others open.
    opened = tf.ragged.boolean_mask(tf.cumsum(tf.cast(opening, tf.int32), axis=1), is_word)
    begin, _ = brackets_at_words(transitions, opened.bounding_shape(axis=1, out_type=tf.int32))
    begun = tf.RaggedTensor.from_tensor(tf.cumsum(begin, axis=1), opened.row_lengths())
    differ = tf.cast(opened.values != begun.values, tf.int32)
    in_place = tf.math.unsorted_segment_sum(differ, opened.value_rowids(), opened.nrows()) == 0
    in_place &= tf.reduce_sum(begin, axis=1) == tf.math.count_nonzero(opening, axis=1, dtype=tf.int32)
    in_order = ~tf.reduce_any(opening[:, :-1] & closing[:, 1:], axis=1)
    spaced = tf.strings.regex_full_match(texts, r"[^\t\n\v\f\r]*")
    return transitions, are_trees(transitions) & in_place & in_order & spaced


@on_cpu
def brackets_from_transitions(words: tf.RaggedTensor, transitions: tf.Tensor) -> tf.Tensor:
    """Words and transitions → text in binary brackets.

    Args:
        words: ragged string [batch, (words)].
        transitions: int32 [batch, steps], with PAD on the right, a tree of just these words each.

    Returns:
        string [batch].
    """
    lengths = words.row_lengths()
    counts = brackets_at_words(transitions, words.bounding_shape(axis=1, out_type=tf.int32))
    begin, end = (tf.RaggedTensor.from_tensor(count, lengths) for count in counts)
    # Three tokens a word, each as often as it is written: ( … ( word ) … )
    tokens = tf.stack(
        [tf.fill(tf.shape(words.values), "("), words.values, tf.fill(tf.shape(words.values), ")")], axis=1
    )
    repeats = tf.stack([begin.values, tf.ones_like(begin.values), end.values], axis=1)
    last = tf.cumsum(tf.reshape(repeats, [-1])) - 1  # where each token is written for the last time
    positions = tf.range(tf.reduce_sum(repeats))
    written = tf.gather(tf.reshape(tokens, [-1]), tf.searchsorted(last, positions))
    tokens_of_text = tf.reduce_sum(begin + end + 1, axis=1)
    texts = tf.RaggedTensor.from_row_lengths(written, tokens_of_text)
    return tf.strings.reduce_join(texts, axis=1, separator=" ")
