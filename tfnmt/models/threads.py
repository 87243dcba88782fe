"""How many threads an operation is split over: more do not always help."""

SMALL, SMALL_LEVELS = 128, 64


def operation_threads(configuration):
    """Threads of one operation that suit training a classifier: 1, or 0 for as many as TensorFlow takes by itself.

    A tree's products are small, and the smaller they are, the more of their time two threads spend waiting for each
    other; operations that do not wait for one another still run side by side. Measured on two processors
    (docs/results.md): an encoder that reads level by level has larger products than one that reads step by step.

    Args:
        configuration: a `ClassifierConfiguration`.
    """
    c = configuration
    if not (c.needs_parses or c.parses):
        return 0
    return 1 if c.units <= (SMALL_LEVELS if c.encoder == "spinn-pi-nt" else SMALL) else 0
