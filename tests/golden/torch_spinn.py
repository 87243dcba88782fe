"""SPINN as Bradbury's post "Recursive Neural Networks with PyTorch" (2017) writes it, for compute.py.

The steps, their order and the names are the post's and of the spinn.py that it links to. Left out is what the values
do not depend on: the configuration, and transitions that the tracker chooses by itself; its scores are returned.
"""

import itertools

import torch
from torch import nn

PAD, REDUCE, SHIFT = 1, 2, 3
"""The transitions as torchtext numbers them, after the unknown one."""


class SPINN(nn.Module):
    def __init__(self, size, tracker_size=None):
        super().__init__()
        self.reduce = Reduce(size, tracker_size)
        self.tracker = None if tracker_size is None else Tracker(size, tracker_size)

    def forward(self, buffers, transitions):
        """buffers [length, batch, 2 · size], reversed, a null first; transitions [steps, batch]."""
        buffers = [list(torch.split(b.squeeze(1), 1, 0)) for b in torch.split(buffers, 1, 1)]
        # Two nulls at the bottom of each stack, so that the tracker can read it when it is empty.
        stacks = [[buf[0], buf[0]] for buf in buffers]
        state, scores = None, []
        for trans_batch in transitions.tolist():
            tracker_states = itertools.repeat(None)
            if self.tracker is not None:
                state, trans_scores = self.tracker(buffers, stacks, state)
                tracker_states = unbatch(state)
                scores.append(trans_scores)
            lefts, rights, trackings = [], [], []
            for transition, buf, stack, tracking in zip(trans_batch, buffers, stacks, tracker_states, strict=False):
                if transition == SHIFT:
                    stack.append(buf.pop())
                elif transition == REDUCE:
                    rights.append(stack.pop())
                    lefts.append(stack.pop())
                    trackings.append(tracking)
            if rights:
                reduced = iter(self.reduce(lefts, rights, trackings))
                for transition, stack in zip(trans_batch, stacks, strict=True):
                    if transition == REDUCE:
                        stack.append(next(reduced))
        roots = batch([stack.pop() for stack in stacks])[0]
        return {"root": roots} | ({"scores": torch.stack(scores)} if scores else {})


class Reduce(nn.Module):
    def __init__(self, size, tracker_size):
        super().__init__()
        self.left = nn.Linear(size, 5 * size)
        self.right = nn.Linear(size, 5 * size, bias=False)
        self.track = None if tracker_size is None else nn.Linear(tracker_size, 5 * size, bias=False)

    def forward(self, left_in, right_in, tracking):
        left, right = batch(left_in), batch(right_in)
        lstm_in = self.left(left[0]) + self.right(right[0])
        if self.track is not None:
            lstm_in = lstm_in + self.track(batch(tracking)[0])
        return unbatch(tree_lstm(left[1], right[1], lstm_in))


class Tracker(nn.Module):
    def __init__(self, size, tracker_size):
        super().__init__()
        self.rnn = nn.LSTMCell(3 * size, tracker_size)
        self.transition = nn.Linear(tracker_size, 4)

    def forward(self, buffers, stacks, state):
        tops = [[buf[-1] for buf in buffers], [stack[-1] for stack in stacks], [stack[-2] for stack in stacks]]
        state = self.rnn(torch.cat([batch(top)[0] for top in tops], 1), state)
        return state, self.transition(state[0])


def tree_lstm(c1, c2, lstm_in):
    a, i, f1, f2, o = lstm_in.chunk(5, 1)
    c = a.tanh() * i.sigmoid() + f1.sigmoid() * c1 + f2.sigmoid() * c2
    return o.sigmoid() * c.tanh(), c


def batch(states):
    """A list of B tensors [1, 2 · size] → (h, c), each [B, size]."""
    return torch.cat(states, 0).chunk(2, 1)


def unbatch(state):
    """(h, c), each [B, size] → B tensors [1, 2 · size]."""
    return torch.split(torch.cat(state, 1), 1, 0)
