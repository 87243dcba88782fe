"""SPINN, define-by-run, in PyTorch: the model of Bradbury's post "Recursive Neural Networks with PyTorch" (2017), for
the PyTorch of today.

Kept from the post: a list for each buffer and stack, one loop over the transitions, REDUCE over the rows that reduce,
two separate readings for first and second sentences, fixed word vectors with a trained projection to (h, c), batch
normalisation, dropout, RMSprop. Put right, for its code trains SPINN-PI alone: transitions that the tracker decides on
are legal ones, and they are learnt, from parses ("spinn") or from rewards ("rl-spinn").
"""

import torch
from torch import nn
from torch.nn import functional

PAD, SHIFT, REDUCE = 0, 1, 2
UNLIKELY = -1e9


class Classifier(nn.Module):
    """Pairs of sentences: [p, h, p − h, p · h] of their vectors, then hidden layers, then logits of the classes."""

    def __init__(self, settings):
        super().__init__()
        units, head_units = settings["units"], settings["head_units"]
        self.embed = nn.Embedding(settings["vocabulary_size"], settings["embedding_size"])
        self.embed.weight.requires_grad = settings["encoder_alone"]
        self.projection = nn.Linear(settings["embedding_size"], 2 * units)
        self.normalization = nn.BatchNorm1d(2 * units)
        self.dropout = nn.Dropout(settings["embedding_dropout"])
        self.encoder = Spinn(units, settings["tracker_units"], settings["parse"])
        sizes = [4 * units] + [head_units] * settings["head_layers"]
        layers = [nn.BatchNorm1d(sizes[0]), nn.Dropout(settings["head_dropout"])]
        for size, next_size in zip(sizes[:-1], sizes[1:], strict=True):
            layers += [nn.Linear(size, next_size), nn.ReLU()]
            layers += [nn.BatchNorm1d(next_size), nn.Dropout(settings["head_dropout"])]
        last = nn.Linear(sizes[-1], settings["classes"])
        nn.init.uniform_(last.weight, -0.005, 0.005)
        self.head = nn.Sequential(*layers, last)

    def forward(self, sentences):
        """[(words, transitions), (words, transitions)] → logits [batch, classes], and the outputs of each reading."""
        readings = [self.encoder(self.vectors(words), words, transitions) for words, transitions in sentences]
        p, h = (reading["root"] for reading in readings)
        return self.head(torch.cat([p, h, p - h, p * h], 1)), readings

    def vectors(self, words):
        """[length, batch] → [length, batch, 2 · units]."""
        x = self.projection(self.embed(words))
        return self.dropout(self.normalization(x.flatten(0, 1)).view_as(x))


class Spinn(nn.Module):
    """The post's SPINN.

    Args:
        size: of h and of c.
        tracker_size: of the tracker's state; None for no tracker.
        parse: "given" transitions; "predicted": given ones in training, and logits from which to learn them; "sampled":
            drawn from the tracker's logits.
    """

    def __init__(self, size, tracker_size, parse):
        super().__init__()
        self.parse = parse
        self.reduce = Reduce(size, tracker_size)
        self.tracker = None if tracker_size is None else Tracker(size, tracker_size, predicts=parse != "given")

    def forward(self, buffers, words, transitions):
        """buffers [length, batch, 2 · size], reversed, a null value first; transitions [steps, batch]."""
        lengths = (words != 0).sum(0).tolist()
        buffers = [list(torch.split(b.squeeze(1), 1, 0)) for b in torch.split(buffers, 1, 1)]
        # Padding stands before the words, so all but one of it goes: an empty buffer shows a null.
        buffers = [buf[len(buf) - length - 1 :] for buf, length in zip(buffers, lengths, strict=True)]
        stacks = [[buf[0], buf[0]] for buf in buffers]
        state, logits, chosen = None, [], []
        for trans_batch in transitions.tolist():
            tracker_states = [None] * len(buffers)
            if self.tracker is not None:
                state = self.tracker(buffers, stacks, state)
                tracker_states = torch.split(state[0], 1, 0)
                if self.parse != "given":
                    logits.append(self.tracker.logits(state[0], buffers, stacks))
                if self.parse == "sampled":
                    trans_batch = sample(logits[-1], buffers, stacks)
                    chosen.append(trans_batch)
            lefts, rights, trackings = [], [], []
            batch = zip(trans_batch, buffers, stacks, tracker_states, strict=True)
            for transition, buf, stack, tracking in batch:
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
        reading = {"root": bundle([stack.pop() for stack in stacks])[0]}
        if logits:
            reading["transition_logits"] = torch.stack(logits)
        if chosen:
            reading["log_probability"] = log_probability(reading["transition_logits"], torch.tensor(chosen))
        return reading


class Reduce(nn.Module):
    """The TreeLSTM, with a third input from the tracker."""

    def __init__(self, size, tracker_size=None):
        super().__init__()
        self.left = nn.Linear(size, 5 * size)
        self.right = nn.Linear(size, 5 * size, bias=False)
        self.track = None if tracker_size is None else nn.Linear(tracker_size, 5 * size, bias=False)

    def forward(self, left_in, right_in, tracking):
        left, right = bundle(left_in), bundle(right_in)
        lstm_in = self.left(left[0]) + self.right(right[0])
        if self.track is not None:
            lstm_in = lstm_in + self.track(torch.cat(tracking, 0))
        return unbundle(tree_lstm(left[1], right[1], lstm_in))


def tree_lstm(c1, c2, lstm_in):
    """The parent (h, c) of two children, from their c and the sum of all products [parents, 5 · units]."""
    a, i, f1, f2, o = lstm_in.chunk(5, 1)
    c = a.tanh() * i.sigmoid() + f1.sigmoid() * c1 + f2.sigmoid() * c2
    return o.sigmoid() * c.tanh(), c


class Tracker(nn.Module):
    """An LSTM that sees the buffer's first word and the two highest phrases of the stack."""

    def __init__(self, size, tracker_size, predicts):
        super().__init__()
        self.cell = nn.LSTMCell(3 * size, tracker_size)
        self.transition = nn.Linear(tracker_size, 2) if predicts else None

    def forward(self, buffers, stacks, state):
        first = bundle([buf[-1] for buf in buffers])[0]
        top = bundle([stack[-1] for stack in stacks])[0]
        second = bundle([stack[-2] for stack in stacks])[0]
        return self.cell(torch.cat([first, top, second], 1), state)

    def logits(self, h, buffers, stacks):
        """Logits of SHIFT and REDUCE, [batch, 2]."""
        allowed = torch.tensor([legal(buf, stack) for buf, stack in zip(buffers, stacks, strict=True)])
        return torch.where(allowed, self.transition(h), UNLIKELY)


def legal(buf, stack):
    """Whether SHIFT and REDUCE are: one null is at the bottom of the buffer, two at that of the stack."""
    return len(buf) > 1, len(stack) > 3


def sample(logits, buffers, stacks):
    """A transition for each sentence, drawn from its logits."""
    moves = torch.multinomial(functional.softmax(logits.detach(), 1), 1)[:, 0].tolist()
    going_on = [any(legal(buf, stack)) for buf, stack in zip(buffers, stacks, strict=True)]
    return [(SHIFT, REDUCE)[move] if going else PAD for move, going in zip(moves, going_on, strict=True)]


def transition_loss(logits, given):
    """Cross-entropy of the given transitions [steps, batch], padding aside."""
    return functional.cross_entropy(logits.flatten(0, 1), given.flatten() - SHIFT, ignore_index=PAD - SHIFT)


def log_probability(logits, chosen):
    """log p of each sentence's transitions, [batch]."""
    taken = functional.log_softmax(logits, 2).gather(2, (chosen - SHIFT).clamp(min=0)[:, :, None])[:, :, 0]
    return (taken * (chosen != PAD)).sum(0)


def bundle(states):
    """A list of tensors [1, 2 · size] → (h, c), each [len(states), size]."""
    return torch.cat(states, 0).chunk(2, 1)


def unbundle(state):
    """(h, c) → a list of tensors [1, 2 · size]."""
    return torch.split(torch.cat(state, 1), 1, 0)
