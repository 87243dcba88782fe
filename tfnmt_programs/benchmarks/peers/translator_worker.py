"""Reads and decodes sentences with a recurrent translator, define-by-run, in PyTorch, to be timed beside ours.

Runs as a process of its own, in a Python that has torch and NumPy:

    python translator_worker.py SETTINGS.json BATCHES.npz

It describes its model in one line of JSON. Then, for each line that comes in, it finds outputs and gradients of all
batches once and answers with a line {"each": [seconds of each batch]}. It ends with its standard input.

The encoder is the loop of Bradbury's post "Recursive Neural Networks with PyTorch" (2017); the decoder has a
conditional GRU, additive attention and deep output, as `tfnmt.layers.decoder.Decoder`. What a PyTorch programmer keeps
out of a loop is out of it here, too: the attention's keys, and the logits of all words.
"""

import sys
import time

import numpy as np
import torch
from torch import nn

from torch_worker import begin_with_torch, shapes
from worker import arrays_of, say


def main(settings_file, batches_file):
    """Build the model, then go over all batches for every line of standard input; tell how long each took."""
    settings, answers = begin_with_torch(settings_file)
    sizes = settings["vocabulary_size"], settings["units"]
    model = Translator(*sizes) if settings["decodes"] else Encoder(*sizes)
    batches = read_batches(batches_file, ("source", "target") if settings["decodes"] else ("source",))
    say(answers, {"weights": shapes(model), "torch": torch.__version__})
    for _ in sys.stdin:
        times = [time.perf_counter()]
        for batch in batches:
            model.zero_grad()
            model(*batch)[-1].mean().backward()
            times.append(time.perf_counter())
        say(answers, {"each": np.diff(times).tolist()})


class Encoder(nn.Module):
    """h = rnn_unit(word, h), for word in words."""

    def __init__(self, vocabulary_size, units):
        super().__init__()
        self.embed = nn.Embedding(vocabulary_size, units)
        self.rnn_unit = nn.GRUCell(units, units)

    def forward(self, words):
        """int64 [batch, time], padded with 0 → (h at all times [batch, time, units], the last [batch, units])."""
        real = (words != 0)[:, :, None].unbind(1)
        h = torch.zeros(len(words), self.rnn_unit.hidden_size)
        states = []
        for word, is_real in zip(self.embed(words).unbind(1), real, strict=True):
            h = torch.where(is_real, self.rnn_unit(word, h), h)
            states.append(h)
        return torch.stack(states, 1), h


class Translator(nn.Module):
    """An encoder, and a decoder that attends to its states."""

    def __init__(self, vocabulary_size, units):
        super().__init__()
        self.encoder = Encoder(vocabulary_size, units)
        self.embed = nn.Embedding(vocabulary_size, units)
        self.initial = nn.Linear(units, units)
        self.first, self.second = nn.GRUCell(units, units), nn.GRUCell(units, units)
        self.query, self.key = nn.Linear(units, units, bias=False), nn.Linear(units, units)
        self.energy = nn.Linear(units, 1, bias=False)
        self.readout = nn.Linear(3 * units, units)
        self.output = nn.Linear(units, vocabulary_size)

    def forward(self, source, target):
        """int64 [batch, source time], [batch, target time] → (logits of all words at each place of the target,)."""
        h, summary = self.encoder(source)
        keys, padding = self.key(h), source == 0
        z = torch.tanh(self.initial(summary))
        readouts = []
        for word in self.embed(target).unbind(1):
            z = self.first(word, z)
            energies = self.energy(torch.tanh(self.query(z)[:, None] + keys))[:, :, 0]
            alpha = torch.softmax(energies.masked_fill(padding, -torch.inf), 1)
            context = torch.bmm(alpha[:, None], h)[:, 0]
            z = self.second(context, z)
            readouts.append(torch.cat([z, word, context], 1))
        return (self.output(torch.tanh(self.readout(torch.stack(readouts, 1)))),)


def read_batches(path, names):
    """[tensors of those names, int64 [batch, time]] of each batch."""
    return [tuple(torch.from_numpy(ids.astype(np.int64)) for ids in batch) for batch in arrays_of(path, *names)]


if __name__ == "__main__":
    main(*sys.argv[1:])
