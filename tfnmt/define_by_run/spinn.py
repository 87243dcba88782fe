"""SPINN with Python lists: Bradbury's post, "Recursive Neural Networks with PyTorch", over this project's layers.

One list for each buffer and each stack; the loop reads like the algorithm, and costs a Python step for every
transition of every sentence. The layers and weights are those of `tfnmt.layers.trees.spinn`, whose encoders do
the same in static graphs.
"""

import tensorflow as tf

from tfnmt.layers.recurrence import invariants_for_one_step
from tfnmt.layers.trees.schedule import legal_moves
from tfnmt.layers.trees.spinn import gumbel_noise, log_probability
from tfnmt.layers.trees.tracker import UNLIKELY
from tfnmt.text.brackets import NOTHING, REDUCE, SHIFT


def encode(encoder, batch, training=False, seed=None):
    """What a `LevelEncoder` or a `SpinnEncoder` computes; arguments and results are theirs."""
    sentences = len(batch["words"])
    lengths = tf.math.count_nonzero(batch["words"], axis=1).numpy()
    compose, tracker = encoder.compose, getattr(encoder, "tracker", None)
    invariants = {part: _invariants(part) for part in (compose, tracker) if part is not None}
    given = batch["transitions"].numpy().T if _is_given(encoder, training) else None
    steps = 2 * max(lengths) - 1 if given is None else len(given)
    leaves = iter(unbundle(encoder.leaves(batch["words"], training)))
    # Words are popped from the end.
    buffers = [[next(leaves) for _ in range(length)][::-1] for length in lengths]
    nothing = tf.zeros_like(buffers[0][0])
    stacks = [[] for _ in range(sentences)]
    nodes = [[nothing] * steps for _ in range(sentences)]
    noise = None if seed is None else gumbel_noise(seed, 2 * batch["words"].shape[1], sentences, nothing.dtype)
    transitions, trackings = [], []
    states = tracker.start(sentences) if tracker else None

    for t in range(steps):
        if tracker:
            looks = [peek(x, at, nothing) for x, at in _in_sight(buffers, stacks)]
            looks = tf.reshape(bundle(looks)[0], [sentences, 3, encoder.units])
            states = tracker.step(looks, states, invariants[tracker])
            trackings.append(states[0])
        if given is None:
            transitions.append(choose(tracker, states[0], buffers, stacks, None if noise is None else noise[t]))
        else:
            transitions.append(given[t])

        lefts, rights, reducing = [], [], []
        for s, (transition, buffer, stack) in enumerate(zip(transitions[t], buffers, stacks, strict=True)):
            if transition == SHIFT:
                stack.append(buffer.pop())
            elif transition == REDUCE:
                rights.append(stack.pop())
                lefts.append(stack.pop())
                reducing.append(s)
        if reducing:
            (h_l, c_l), (h_r, c_r) = bundle(lefts), bundle(rights)
            tracking = tf.gather(states[0], reducing) if tracker else None
            reduced = compose.step(tf.stack([h_l, h_r], 1), tf.stack([c_l, c_r], 1), invariants[compose], tracking)
            for s, phrase in zip(reducing, unbundle(reduced), strict=True):
                stacks[s].append(phrase)
        for s, transition in enumerate(transitions[t]):
            if transition != NOTHING:
                nodes[s][t] = stacks[s][-1]

    return _results(encoder, stacks, nodes, tf.transpose(tf.stack(transitions)), trackings)


def bundle(phrases):
    """A list of phrases, each [1, 2 · units] → (h, c), each [phrases, units]."""
    return tuple(tf.split(tf.concat(phrases, axis=0), 2, axis=1))


def unbundle(state):
    """(h, c), each [phrases, units] → a list of phrases, each [1, 2 · units]."""
    both = tf.concat(state, axis=1)
    return tf.split(both, both.shape[0])


def peek(phrases, at, nothing):
    """The phrase at that place from the end of a list, or nothing where the list is too short."""
    return phrases[-at] if len(phrases) >= at else nothing


def choose(tracker, h, buffers, stacks, noise=None):
    """What the tracker decides from its h [sentences, units]: a transition for every sentence."""
    legal = [[len(buffer) > 0, len(stack) > 1] for buffer, stack in zip(buffers, stacks, strict=True)]
    scores = tracker.scores(h) if noise is None else tracker.scores(h) + noise
    moves = tf.argmax(tf.where(tf.constant(legal), scores, UNLIKELY), axis=1).numpy()
    return [(SHIFT, REDUCE)[move] if any(moves_) else NOTHING for move, moves_ in zip(moves, legal, strict=True)]


def _in_sight(buffers, stacks):
    """For every sentence, where the tracker looks: the first of the buffer, the two highest of the stack."""
    for buffer, stack in zip(buffers, stacks, strict=True):
        yield from ((buffer, 1), (stack, 1), (stack, 2))


def _results(encoder, stacks, nodes, transitions, trackings):
    """As `SpinnEncoder` returns them."""
    results = {
        "root": bundle([stack.pop() for stack in stacks])[0],
        "nodes": tf.stack([bundle(phrases)[0] for phrases in nodes]),
        "transitions": transitions,
    }
    if trackings and encoder.tracker.predicts:
        scores = encoder.tracker.scores(tf.stack(trackings, axis=1))
        scores = tf.where(legal_moves(transitions), scores, UNLIKELY)
        results["transition_logits"] = scores
        if encoder.parse == "sampled":
            results["log_probability"] = log_probability(scores, transitions)
    return results


def _invariants(layer):
    return invariants_for_one_step(layer.loop_weights(), layer.loop_constants())


def _is_given(encoder, training):
    where = getattr(encoder, "parse", "given")
    return where == "given" or (where == "predicted" and training)
