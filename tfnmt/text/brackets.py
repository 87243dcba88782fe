"""Binary trees of words as text in brackets, and as words with SHIFT and REDUCE transitions.

    ( ( The church ) ( ( has cracks ) . ) )                       brackets
    The church has cracks .    SHIFT SHIFT REDUCE SHIFT SHIFT REDUCE SHIFT REDUCE REDUCE
                                                                  words and transitions

`tfnmt.text.transitions` says what transitions mean, and what follows from them. Text is read by Python here, with an
error for each mistake; `tfnmt.text.graph_brackets` reads it in the graph. This file needs no TensorFlow.

Text comes from users, so what is wrong with it is a `UserError`; the caller adds the file and the line.
"""

import re
from collections.abc import Iterable

from tfnmt.errors import UserError

PAD, SHIFT, REDUCE = 0, 1, 2
"""The transitions, and their padding."""

# The tokenizers split at these too, so a word with one of them would become two.
_OTHER_SPACE = re.compile(r"[\t\n\v\f\r]")
_BRACKET = re.compile(r"(?<![^ \t\n\v\f\r])[()](?![^ \t\n\v\f\r])")
BRACKET_WORDS = ("-LRB-", "-RRB-")
"""The words for brackets, as in the Penn Treebank."""
BRACKETS_AS_WORDS = {"(": f"( {BRACKET_WORDS[0]} ( (", ")": f") {BRACKET_WORDS[1]} ) )"}
"""What `brackets_as_words` writes for a bracket."""
_BRACKET_OR_WORD = re.compile(r"[()]|[^() ]+")


def from_brackets(text: str) -> tuple[list[str], list[int]]:
    """`( ( The church ) ( ... ) )` -> words and transitions. Only the ASCII space separates tokens.

    A single word needs no brackets.

    Raises:
        UserError: no words, a bracket without its partner, or one that does not hold exactly two nodes.
    """
    _require_plain_spaces(text)
    try:
        return _read_brackets(text.split(" "))
    except UserError as error:
        if glued := re.search(r"\([^ ()]\S*|[^ ()]\)", text):
            example = "such as ( A ( dog runs ) )"
            raise UserError(f"{error}; {glued[0]!r} is a word: write spaces around brackets, {example}") from error
        raise


def _read_brackets(tokens: Iterable[str]) -> tuple[list[str], list[int]]:
    words, transitions = [], []
    children = [0]  # how many nodes each open bracket has so far, that around everything first
    for token in tokens:
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


def brackets_as_words(text: str) -> str:
    """`( a b )` -> `( -LRB- ( ( a b ) -RRB- ) )`: brackets that are words as well, and leaves of the tree.

    Without them the words of a formula are ambiguous: `not a or b` has two trees. So published parsers of logic and of
    ListOps read them (Shen et al. 2019, arXiv:1910.11466).
    """
    return _BRACKET.sub(lambda bracket: BRACKETS_AS_WORDS[bracket[0]], text)


def to_brackets(words: list[str], transitions: list[int]) -> str:
    """The inverse of `from_brackets`. PAD at the end is skipped.

    Raises:
        ValueError: the transitions do not make a tree of just these words.
    """
    steps = [int(transition) for transition in transitions if transition != PAD]
    if steps.count(SHIFT) != len(words) or len(steps) != 2 * len(words) - 1:
        raise ValueError(f"{len(words)} words and {len(steps)} transitions do not make a tree")
    buffer, stack = iter(words), []
    for step, transition in enumerate(steps):
        if transition == SHIFT:
            stack.append(next(buffer))
            continue
        if len(stack) < 2:
            raise ValueError(f"REDUCE at step {step} finds fewer than two nodes")
        right, left = stack.pop(), stack.pop()
        stack.append(f"( {left} {right} )")
    return stack[0]


def from_labelled_brackets(text: str) -> tuple[list[str], list[int], list[str]]:
    """`(3 (2 fun) (2 .))`, as the Stanford Sentiment Treebank has it -> words, transitions, the label of every node.

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


def _require_plain_spaces(text: str) -> None:
    found = _OTHER_SPACE.search(text)
    if found:
        raise UserError(f"character {found.start() + 1} is {found[0]!r}: separate words with single spaces")


def _close(children: list[int], words: int) -> None:
    """One bracket closes; it must hold two nodes."""
    if len(children) == 1:
        raise UserError(f"the bracket that closes after {words} words was never opened")
    count = children.pop()
    if count == 0:
        raise UserError(f"the tree is empty: a bracket that closes after {words} words holds nothing")
    if count != 2:
        raise UserError(
            f"the tree is not binary: the bracket that closes after {words} words holds {count} nodes, not 2"
        )
    children[-1] += 1


def _require_one_tree(children: list[int]) -> None:
    if len(children) > 1:
        never_closed = len(children) - 1
        raise UserError(f"{never_closed} bracket{'s are' if never_closed > 1 else ' is'} never closed")
    if children[0] == 0:
        raise UserError("the tree is empty: there are no words")
    if children[0] > 1:
        raise UserError(f"{children[0]} trees instead of one: put brackets around them, two by two")
