"""Trees of words, in three forms: brackets, SHIFT and REDUCE transitions, and pointers from nodes to their children.

    ( ( The church ) ( ( has cracks ) . ) )                       brackets
    The church has cracks .    SHIFT SHIFT REDUCE SHIFT SHIFT REDUCE SHIFT REDUCE REDUCE
                                                                  words and transitions

A tree is binary. One of n words has 2n-1 transitions, and each makes one node: SHIFT takes the next word as a leaf,
REDUCE joins the last two nodes that have no parent yet. So node i is what transition i made, the children of a node
come before it, and the root is the last node.

What is read may come from anywhere, so it raises `UserError`; who knows the file and the line puts them before it.
"""

import re

import numpy as np

from tfnmt.errors import UserError

NOTHING, SHIFT, REDUCE = 0, 1, 2
"""The transitions; NOTHING is their padding."""

# The tokenizers split at these too, so a word that holds one would become two.
_OTHER_SPACE = re.compile(r"[\t\n\v\f\r]")
_BRACKET_OR_WORD = re.compile(r"[()]|[^() ]+")


def from_brackets(text: str) -> tuple[list[str], list[int]]:
    """`( ( The church ) ( ... ) )` -> words and transitions. Only the ASCII space parts what is written.

    A single word needs no brackets.

    Raises:
        UserError: no words, a bracket without its partner, or one that does not hold exactly two nodes.
    """
    _require_plain_spaces(text)
    words, transitions = [], []
    children = [0]  # how many nodes each open bracket has so far, that around everything first
    for token in text.split(" "):
        if token == "(":
            children.append(0)
        elif token == ")":
            _close(children, len(words))
            transitions.append(REDUCE)
        elif token:
            words.append(token)
            transitions.append(SHIFT)
            children[-1] += 1
    _require_one_tree(children)
    return words, transitions


def to_brackets(words: list[str], transitions: list[int]) -> str:
    """The inverse of `from_brackets`. NOTHING at the end is passed over.

    Raises:
        ValueError: the transitions do not make a tree of just these words.
    """
    return _build(words, transitions, lambda node, word: word, lambda node, left, right: f"( {left} {right} )")


def from_labelled_brackets(text: str) -> tuple[list[str], list[int], list[str]]:
    """`(3 (2 fun) (2 .))`, as the Stanford Sentiment Treebank has it -> words, transitions, a label for every node.

    Raises:
        UserError: as `from_brackets`; a node without a label, or a leaf of several words.
    """
    _require_plain_spaces(text)
    words, transitions, labels = [], [], []
    children, open_labels = [0], []
    before = None
    for token in _BRACKET_OR_WORD.findall(text):
        if token == "(":
            children.append(0)
            open_labels.append(None)
        elif token == ")":
            leaf = before not in ("(", ")") and children[-1] == 1
            if leaf and len(children) > 1:
                children.pop()
                children[-1] += 1
            else:
                _close(children, len(words))
                transitions.append(REDUCE)
            labels.append(open_labels.pop())
        elif before == "(":
            open_labels[-1] = token
        else:
            if children[-1] or not open_labels:
                raise UserError(f"the word {token!r} has no label: write each as (label word)")
            words.append(token)
            transitions.append(SHIFT)
            children[-1] += 1
        before = token
    _require_one_tree(children)
    if len(labels) != len(transitions):
        raise UserError("a word has no label: write each as (label word)")
    if None in labels:
        raise UserError(f"node {labels.index(None) + 1} has no label: write each as (label left right)")
    return words, transitions, labels


def to_labelled_brackets(words: list[str], transitions: list[int], labels: list) -> str:
    """The inverse of `from_labelled_brackets`.

    Raises:
        ValueError: the transitions do not make a tree of just these words.
    """
    return _build(
        words,
        transitions,
        lambda node, word: f"({labels[node]} {word})",
        lambda node, left, right: f"({labels[node]} {left} {right})",
    )


def child_pointers(transitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where every node finds what it is made of.

    Args:
        transitions: integers [steps] or [sentences, steps], NOTHING as padding on the right.

    Returns:
        (left, right), int32 of the same shape: for REDUCE, the nodes (steps) that are its children; for SHIFT, twice
        the word that it takes; 0 for NOTHING.

    Raises:
        ValueError: a REDUCE finds fewer than two nodes.
    """
    left, right, _ = pointers_and_heights(transitions)
    return left, right


def heights(transitions: np.ndarray) -> np.ndarray:
    """0 for leaves, 1 + that of the higher child for REDUCE; arguments, shape and errors as `child_pointers`."""
    return pointers_and_heights(transitions)[2]


def pointers_and_heights(transitions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(left, right, height), as the two above, in one walk over the steps of all sentences at once."""
    transitions = np.asarray(transitions)
    if transitions.ndim == 1:
        return tuple(array[0] for array in pointers_and_heights(transitions[np.newaxis]))
    sentences, steps = transitions.shape
    shifts, reduces = transitions == SHIFT, transitions == REDUCE
    _require_children(shifts, reduces)
    rows = np.arange(sentences)
    stack = np.zeros([sentences, steps + 2], np.int32)  # 2 more: room below the first node
    size, word = np.full(sentences, 2), np.zeros(sentences, np.int32)
    left, right, height = (np.zeros([sentences, steps], np.int32) for _ in range(3))
    for step in range(steps):
        shift, reduce = shifts[:, step], reduces[:, step]
        second, first = stack[rows, size - 2], stack[rows, size - 1]
        leaf = np.where(shift, word, 0)
        left[:, step] = np.where(reduce, second, leaf)
        right[:, step] = np.where(reduce, first, leaf)
        height[:, step] = np.where(reduce, 1 + np.maximum(height[rows, second], height[rows, first]), 0)
        size += shift
        size -= reduce
        stack[rows, size - 1] = np.where(shift | reduce, step, first)
        word += shift
    return left, right, height


def levels(height: np.ndarray) -> list[np.ndarray]:
    """The nodes of one tree by their height: `heights(transitions)`, [steps] -> for each height from 0, its nodes.

    All of a level can be computed at once, when those below are.
    """
    return [np.flatnonzero(height == level) for level in range(int(np.max(height)) + 1)]


def _require_plain_spaces(text: str) -> None:
    found = _OTHER_SPACE.search(text)
    if found:
        raise UserError(f"character {found.start() + 1} is {found[0]!r}: part words with single spaces")


def _close(children: list[int], words: int) -> None:
    """One bracket closes; it must hold two nodes."""
    if len(children) == 1:
        raise UserError(f"the bracket that closes after {words} words was never opened")
    held = children.pop()
    if held == 0:
        raise UserError(f"the tree is empty: a bracket that closes after {words} words holds nothing")
    if held != 2:
        raise UserError(
            f"the tree is not binary: the bracket that closes after {words} words holds {held} nodes, not 2"
        )
    children[-1] += 1


def _require_one_tree(children: list[int]) -> None:
    if len(children) > 1:
        raise UserError(f"{len(children) - 1} brackets are never closed")
    if children[0] == 0:
        raise UserError("the tree is empty: there are no words")
    if children[0] > 1:
        raise UserError(f"{children[0]} trees instead of one: put brackets around them, two by two")


def _require_children(shifts: np.ndarray, reduces: np.ndarray) -> None:
    depth = np.cumsum(shifts, axis=1) - np.cumsum(reduces, axis=1)
    wrong = np.argwhere(reduces & (depth < 1))
    if len(wrong):
        raise ValueError(f"sentence {wrong[0][0]}: REDUCE at step {wrong[0][1]} finds fewer than two nodes")


def _build(words, transitions, leaf, join) -> str:
    """`leaf(node, word)` and `join(node, left, right)` all the way up to the root."""
    steps = [int(transition) for transition in transitions if transition != NOTHING]
    if steps.count(SHIFT) != len(words) or len(steps) != 2 * len(words) - 1:
        raise ValueError(f"{len(words)} words and {len(steps)} transitions do not make a tree")
    _require_children(np.equal([steps], SHIFT), np.equal([steps], REDUCE))
    waiting, stack = iter(words), []
    for node, transition in enumerate(steps):
        if transition == SHIFT:
            stack.append(leaf(node, next(waiting)))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(join(node, left, right))
    return stack[0]
