"""Trains SPINN, define-by-run, in PyTorch, to be timed beside ours: the model of Bradbury's post "Recursive Neural
Networks with PyTorch" (2017), written for the PyTorch of today.

Runs as a process of its own, in a Python that has torch and NumPy:

    python spinn_worker.py SETTINGS.json BATCHES.npz

It describes its model in one line of JSON. Then, for each line that comes in, it trains on all batches once and
answers with a line {"seconds": ..., "each": [seconds of each batch]}. It ends with its
standard input. With the setting "encoder_alone" a batch is one side's sentences, and all it does with them is outputs
and gradients of the encoder, over trained word vectors.

Kept from the post: a list for each buffer and stack, one loop over the transitions, REDUCE over the rows that reduce,
two separate readings for first and second sentences, fixed word vectors with a trained projection to (h, c), batch
normalisation, dropout, RMSprop. Put right, for its code trains SPINN-PI alone: transitions that the tracker decides on
are legal ones, and they are learnt, from parses ("spinn") or from rewards ("rl-spinn").
"""

import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from worker import begin, say, shapes

PAD, SHIFT, REDUCE = 0, 1, 2
UNLIKELY = -1e9


def main(settings_file, batches_file):
    """Build the model, then do a round of training for every line of standard input; tell how long each took."""
    settings, answers = begin(settings_file)
    model = Classifier(settings)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.RMSprop(trained, lr=settings["learning_rate"], alpha=0.9, eps=1e-6)
    batches = read_batches(batches_file, sides=1 if settings["encoder_alone"] else 2)
    say(answers, {"weights": shapes(model), "torch": torch.__version__})
    for _ in sys.stdin:
        times = [time.perf_counter()]
        for batch in batches:
            if settings["encoder_alone"]:
                read(model, batch)
            else:
                train(model, optimizer, batch)
            times.append(time.perf_counter())
        each = np.diff(times).tolist()
        say(answers, {"seconds": sum(each), "each": each})


def read(model, batch):
    """Outputs and gradients of the encoder."""
    model.zero_grad()
    (((words, transitions),), _) = batch
    reading = model.encoder(model.embed(words), words, transitions)
    sum(result.mean() for result in reading.values()).backward()


def train(model, optimizer, batch):
    """One step of training."""
    model.train()
    optimizer.zero_grad()
    sentences, labels = batch
    logits, readings = model(sentences)
    losses = functional.cross_entropy(logits, labels, reduction="none")
    loss = losses.mean()
    if model.encoder.parse == "predicted":
        given = [transitions for _, transitions in sentences]
        loss = loss + sum(
            transition_loss(reading["transition_logits"], g) for reading, g in zip(readings, given, strict=True)
        )
    elif model.encoder.parse == "sampled":
        # The post's `transition.reinforce(rewards)`, as the surrogate loss that takes its place since PyTorch 0.3.
        rewards = -losses.detach()
        rewards = (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-6)
        for reading in readings:
            loss = loss - (rewards * reading["log_probability"]).mean()
    loss.backward()
    optimizer.step()


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


def read_batches(path, sides):
    """[((words, transitions) of each side, labels)]: times first, words reversed after nulls."""
    with np.load(path) as arrays:
        batches = []
        for i in range(len(arrays) // 3):
            both = zip(*(np.split(arrays[f"{name}_{i}"], sides) for name in ("words", "transitions")), strict=True)
            sentences = tuple((reversed_words(words), without_padding(parses)) for words, parses in both)
            batches.append((sentences, torch.from_numpy(arrays[f"labels_{i}"].astype(np.int64))))
    return batches


def reversed_words(words):
    """[batch, words] → [1 + words, batch]: a null (0), padding, then the words from the last to the first."""
    longest = int((words != 0).sum(1).max())
    nulls = np.zeros([len(words), 1], np.int64)
    return torch.from_numpy(np.concatenate([nulls, words[:, :longest][:, ::-1]], 1).T.astype(np.int64))


def without_padding(transitions):
    """[batch, steps] → [steps, batch], no longer than the longest."""
    longest = int((transitions != PAD).sum(1).max())
    return torch.from_numpy(transitions[:, :longest].T.astype(np.int64))


if __name__ == "__main__":
    main(*sys.argv[1:])
