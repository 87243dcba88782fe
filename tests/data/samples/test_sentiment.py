"""The small grammar of reviews: every phrase's label follows from its parts."""

import random

import tensorflow as tf

from tfnmt.data.samples.sentiment import ADJECTIVES, draw
from tfnmt.text.brackets import REDUCE, SHIFT, from_labelled_brackets
from tfnmt.text.transitions import child_pointers


def test_labels_follow_from_the_parts():
    rng = random.Random(4)
    forms = set()
    for _ in range(300):
        words, transitions, labels = from_labelled_brackets(draw(rng))
        left, right = (pointers[0].numpy() for pointers in child_pointers(tf.constant([transitions])))
        values = [int(label) - 2 for label in labels]

        def left_word(node, words=words, transitions=transitions, left=left):
            """The word that is the left child of a node, if it is one."""
            child = left[node]
            return words[left[child]] if transitions[node] == REDUCE and transitions[child] == SHIFT else None

        for node, transition in enumerate(transitions):
            if transition == SHIFT:
                assert values[node] == ADJECTIVES.get(words[left[node]], 0)
                continue
            first, follows = left_word(node), left_word(right[node])
            one, other = values[left[node]], values[right[node]]
            forms |= {first, follows}
            if first == "very":
                expected = max(-2, min(2, 2 * other))
            elif first == "hardly":
                expected = -other
            elif follows == "but":
                expected = other
            else:
                expected = max(-2, min(2, one + other))
            assert values[node] == expected
    assert {"very", "hardly", "but", "and"} <= forms
