"""Trees with labels as text."""

from tfnmt.text.brackets import SHIFT


def to_labelled_brackets(words, transitions, labels):
    """The inverse of `from_labelled_brackets`."""
    buffer, stack = iter(words), []
    for transition, label in zip(transitions, labels, strict=True):
        if transition == SHIFT:
            stack.append(f"({label} {next(buffer)})")
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(f"({label} {left} {right})")
    (text,) = stack
    return text
