"""What PyTorch computes, as witness of the layers of this project: writes golden.npz beside this file.

    pip install torch numpy            # in an environment of its own; computed with torch 2.15.0 on a CPU
    python tests/golden/compute.py

Nothing here is of this project. The recurrent layers are `torch.nn.GRU` and `torch.nn.LSTM`, the decoder is made of
`torch.nn.GRUCell` and `torch.nn.Linear` after the equations of Bahdanau et al. 2015 (arXiv:1409.0473) with the
conditional GRU of Firat & Cho 2016, and SPINN is written as Bradbury's post "Recursive Neural Networks with PyTorch"
(2017) and the code that it links to have it.

`torch.nn.GRU` resets after the product with the recurrent matrix, as this project's GRU does, but adds a second bias,
b_hh, of which the part for the candidate is within the reset. This project has one bias; b_hh is 0 here.

All is in double precision. Every case is a set of arrays, named CASE/ROLE/NAME: inputs, weights as PyTorch names and
orders them, results, probes, and gradients of the sum of all results, each number times that of its probe.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from torch_spinn import PAD, REDUCE, SHIFT, SPINN

RANDOM = np.random.default_rng(17)
LENGTHS = [5, 3, 1]
REAL = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, np.newaxis]


def random(*shape):
    return torch.tensor(RANDOM.normal(size=shape), requires_grad=True)


def with_random_weights(module):
    """All of them, so that no bias is 0 but b_hh."""
    for name, weight in module.named_parameters():
        values = np.zeros(weight.shape) if "bias_hh" in name else RANDOM.normal(scale=0.7, size=weight.shape)
        weight.data = torch.tensor(values)
    return module


def case(inputs, module, results, counts=None):
    """The arrays of a case by ROLE/NAME. `counts`: by a result's name, where it counts; everywhere by default."""
    probes = {name: RANDOM.normal(size=result.shape) for name, result in results.items()}
    probes |= {name: probes[name] * count for name, count in (counts or {}).items()}
    sum((results[name] * torch.tensor(probe)).sum() for name, probe in probes.items()).backward()
    weights = {name: weight for name, weight in module.named_parameters() if "bias_hh" not in name}
    has_gradient = inputs | weights
    roles = {"input": inputs, "weight": weights, "result": results, "probe": probes}
    roles["gradient"] = {name: x.grad for name, x in has_gradient.items() if getattr(x, "grad", None) is not None}
    return {f"{role}/{name}": numpy(x) for role, arrays in roles.items() for name, x in arrays.items()}


def numpy(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def recurrent(kind, states):
    """One layer in one direction, from given states."""
    s, given = random(3, 6, 2), [random(3, 4) for _ in range(states)]
    layer = with_random_weights(kind(2, 4, batch_first=True))
    h, last = layer(s, given[0][None] if states == 1 else tuple(state[None] for state in given))
    inputs = {"s": s} | {f"state_{i}": state for i, state in enumerate(given)}
    results = {"h": h} | {f"last_{i}": state[0] for i, state in enumerate([last] if states == 1 else last)}
    return case(inputs, layer, results)


class Encoder(nn.Module):
    """Two layers in both directions over padded sentences."""

    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(9, 2)
        self.rnn = kind(2, 3, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, words):
        s = nn.utils.rnn.pack_padded_sequence(self.embedding(words), LENGTHS, batch_first=True)
        h, last = self.rnn(s)
        states, _ = nn.utils.rnn.pad_packed_sequence(h, batch_first=True)
        last = last[0] if isinstance(last, tuple) else last
        return {"states": states, "summary": torch.cat([last[-2], last[-1]], 1)}


def encoder(kind):
    words = RANDOM.integers(1, 9, REAL.shape) * REAL
    module = with_random_weights(Encoder(kind))
    return case({"words": words}, module, module(torch.tensor(words)), {"states": REAL[:, :, np.newaxis]})


class Decoder(nn.Module):
    """Additive attention between the two halves of a conditional GRU, then a deep output."""

    def __init__(self, words=7, embedding=3, units=4, encoder=5, attention=6):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding)
        self.start = nn.Linear(encoder, units)
        self.first, self.second = nn.GRUCell(embedding, units), nn.GRUCell(encoder, units)
        self.W_a, self.U_a = nn.Linear(units, attention, bias=False), nn.Linear(encoder, attention)
        self.v = nn.Linear(attention, 1, bias=False)
        self.W_1, self.W_2 = nn.Linear(units, embedding), nn.Linear(embedding, embedding, bias=False)
        self.W_3 = nn.Linear(encoder, embedding, bias=False)
        self.output = nn.Linear(embedding, words)

    def forward(self, words, states, summary, real):
        z, logits, attention = torch.tanh(self.start(summary)), [], []
        for word in words.T:
            u = self.embedding(word)
            z = self.first(u, z)
            energies = self.v(torch.tanh(self.W_a(z)[:, None] + self.U_a(states)))[:, :, 0]
            attention.append(torch.softmax(energies.masked_fill(~real, -torch.inf), 1))
            c = torch.bmm(attention[-1][:, None], states)[:, 0]
            z = self.second(c, z)
            logits.append(self.output(torch.tanh(self.W_1(z) + self.W_2(u) + self.W_3(c))))
        return torch.stack(logits, 1), torch.stack(attention, 1)


def decoder():
    words = RANDOM.integers(1, 7, [3, 4])
    states, summary = random(3, 5, 5), random(3, 5)
    module = with_random_weights(Decoder())
    logits, attention = module(torch.tensor(words), states, summary, torch.tensor(REAL))
    inputs = {"words": words, "mask": REAL, "states": states, "summary": summary}
    return case(inputs, module, {"logits": logits}) | {"result/attention": numpy(attention)}


TREES = ["s s r s s r s r r", "s s s r r", "s"]
"""The transitions of three sentences, of 5, 3 and 1 words."""


def spinn(tracker_units, size=3):
    words = (np.arange(REAL.size).reshape(REAL.shape) + 1) * REAL
    vectors = random(REAL.size + 1, 2 * size)
    vectors.data[0] = 0  # what is at the bottom of buffers and stacks, and in padding
    steps = [[{"s": SHIFT, "r": REDUCE}[letter] for letter in tree.split()] for tree in TREES]
    transitions = np.array([tree + [PAD] * (9 - len(tree)) for tree in steps])
    # Reversed, so that words are popped from the end, and a null first.
    buffers = vectors[torch.tensor(np.pad(words[:, ::-1].T, [(1, 0), (0, 0)]))]
    module = with_random_weights(SPINN(size, tracker_units))
    results = module(buffers, torch.tensor(transitions.T))
    inputs = {"words": words, "vectors": vectors, "transitions": transitions}
    return case(inputs, module, results, legal(transitions) if tracker_units else None)


def legal(transitions):
    """Where the scores of transitions count: both moves must be legal, or the other has none to be compared with."""
    words_read = np.cumsum(transitions == SHIFT, axis=1) - (transitions == SHIFT)
    on_stack = words_read - (np.cumsum(transitions == REDUCE, axis=1) - (transitions == REDUCE))
    both = (words_read < np.array(LENGTHS)[:, np.newaxis]) & (on_stack > 1)
    return {"scores": both.T[:, :, np.newaxis] * np.isin(np.arange(4), [SHIFT, REDUCE])}


def main():
    cases = {
        "gru": recurrent(nn.GRU, states=1),
        "lstm": recurrent(nn.LSTM, states=2),
        "gru_encoder": encoder(nn.GRU),
        "lstm_encoder": encoder(nn.LSTM),
        "decoder": decoder(),
        "tree_lstm": spinn(tracker_units=None),
        "spinn": spinn(tracker_units=2),
    }
    arrays = {f"{name}/{key}": array for name, arrays in cases.items() for key, array in arrays.items()}
    np.savez_compressed(Path(__file__).with_name("golden.npz"), **arrays)


if __name__ == "__main__":
    main()
