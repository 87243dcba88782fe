"""SPINN with Python lists: Bradbury's post, "Recursive Neural Networks with PyTorch", over this project's layers.

One list for each buffer and each stack; the loop reads like the algorithm, and costs a Python step for every
transition of every sentence. Layers and weights are those of `tfnmt.layers.trees`, whose encoders do the same in static
graphs; everything else is written a second time here, so that one checks the other.
"""

import numpy as np
import tensorflow as tf

from tfnmt.layers.trees.encoder import TreeEncoder
from tfnmt.text.brackets import PAD, REDUCE, SHIFT


def encode(
    encoder: TreeEncoder, batch: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None
) -> dict[str, tf.Tensor]:
    """What a `TreeLSTMEncoder` or a `SPINN` computes, dropout of the composition aside.

    Arguments and results are theirs. Every sentence has a word.
    """
    sentences = len(batch["words"])
    lengths = np.count_nonzero(batch["words"], axis=1)
    compose, tracker = encoder.compose, getattr(encoder, "tracker", None)
    given = batch["transitions"].numpy().T if _is_given(encoder, training) else None
    steps = 2 * batch["words"].shape[1] - 1 if given is None else len(given)
    leaves = iter(unbundle(encoder.leaves(batch["words"], training)))
    # Words are popped from the end.
    buffers = [[next(leaves) for _ in range(length)][::-1] for length in lengths]
    nothing = tf.zeros_like(buffers[0][0])
    stacks = [[] for _ in range(sentences)]
    nodes = [[nothing] * steps for _ in range(sentences)]
    noise = None if seed is None else gumbel_noise(seed, 2 * batch["words"].shape[1], sentences, nothing.dtype)
    transitions, logits, legal = [], [], []
    states = [tf.zeros([sentences, tracker.units], nothing.dtype)] * 2 if tracker else None

    for t in range(steps):
        legal.append(legal_moves(buffers, stacks))
        if tracker:
            reads = [peek(x, at, nothing) for x, at in _stack_and_buffer(buffers, stacks)]
            reads = tf.reshape(bundle(reads, encoder.units)[0], [sentences, 3, encoder.units])
            h_tracker, states = tracker(reads, states)
            if tracker.predicts:
                logits.append(tf.matmul(h_tracker, tracker.W_p) + tracker.b_p)
        if given is None:
            transitions.append(choose(logits[t] if noise is None else logits[t] + noise[t], legal[t]))
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
            (h_l, c_l), (h_r, c_r) = bundle(lefts, encoder.units), bundle(rights, encoder.units)
            tracking = tf.gather(h_tracker, reducing) if tracker else None
            reduced = compose((tf.stack([h_l, h_r], 1), tf.stack([c_l, c_r], 1)), tracking)
            for s, phrase in zip(reducing, unbundle(reduced), strict=True):
                stacks[s].append(phrase)
        for s, transition in enumerate(transitions[t]):
            if transition != PAD:
                nodes[s][t] = stacks[s][-1]

    results = {
        "root": bundle([stack.pop() for stack in stacks], encoder.units)[0],
        "nodes": tf.stack([bundle(phrases, encoder.units)[0] for phrases in nodes]),
        "transitions": tf.transpose(tf.stack(transitions)),
    }
    return results | (_predictions(encoder, transitions, logits, legal) if logits else {})


def bundle(phrases: list[tf.Tensor], units: int) -> tuple[tf.Tensor, tf.Tensor]:
    """A list of phrases, h and c of each side by side, [1, units + memory] → (h, c), [phrases, units] and the rest."""
    both = tf.concat(phrases, axis=0)
    return both[:, :units], both[:, units:]


def unbundle(state: tuple[tf.Tensor, tf.Tensor]) -> list[tf.Tensor]:
    """(h, c), [phrases, units] and [phrases, memory] → a list of phrases, each [1, units + memory]."""
    both = tf.concat(state, axis=1)
    return tf.split(both, both.shape[0])


def peek(phrases: list[tf.Tensor], at: int, nothing: tf.Tensor) -> tf.Tensor:
    """The phrase at that place from the end of a list, or nothing where the list is too short."""
    return phrases[-at] if len(phrases) >= at else nothing


def legal_moves(buffers: list[list], stacks: list[list]) -> list[list[bool]]:
    """For every sentence, whether SHIFT and REDUCE are legal: they need a word, and two phrases."""
    return [[len(buffer) > 0, len(stack) > 1] for buffer, stack in zip(buffers, stacks, strict=True)]


def choose(scores: tf.Tensor, legal: list[list[bool]]) -> list[int]:
    """The legal transition with the largest of the scores [sentences, 2], for every sentence."""
    transitions = []
    for (shift, reduce), (may_shift, may_reduce) in zip(scores.numpy(), legal, strict=True):
        if may_shift and may_reduce:
            transitions.append(REDUCE if reduce > shift else SHIFT)
        else:
            transitions.append(SHIFT if may_shift else REDUCE if may_reduce else PAD)
    return transitions


def gumbel_noise(seed: tf.Tensor, steps: int, sentences: int, dtype: tf.DType) -> tf.Tensor:
    """−log(−log u), u uniform in (0, 1): [steps, sentences, 2], from the random numbers of this seed."""
    u = tf.random.stateless_uniform([steps, sentences, 2], seed, minval=1e-30).numpy()
    return tf.constant(-np.log(-np.log(u)), dtype)


def _stack_and_buffer(buffers, stacks):
    """For every sentence, what the tracker reads: the first of the buffer, the two highest of the stack."""
    for buffer, stack in zip(buffers, stacks, strict=True):
        yield from ((buffer, 1), (stack, 1), (stack, 2))


def _predictions(encoder, transitions, logits, legal):
    """The logits of all steps, and the log-probability of what was drawn: a sum over the legal moves alone."""
    logits = tf.where(tf.constant(legal), tf.stack(logits), tf.constant(-1e4, logits[0].dtype))
    results = {"transition_logits": tf.transpose(logits, [1, 0, 2])}
    if encoder.parse == "sampled":
        log_p = [tf.constant(0.0, logits.dtype)] * len(transitions[0])
        for t, of_sentences in enumerate(transitions):
            for s, transition in enumerate(of_sentences):
                if transition != PAD:
                    taken = logits[t, s, 0] if transition == SHIFT else logits[t, s, 1]
                    log_p[s] += taken - tf.reduce_logsumexp(logits[t, s])
        results["log_probability"] = tf.stack(log_p)
    return results


def _is_given(encoder, training):
    where = getattr(encoder, "parse", "given")
    return where == "given" or (where == "predicted" and training)
