"""Trains SPINN, define-by-run, in PyTorch, to be timed beside ours: the model of Bradbury's post "Recursive Neural
Networks with PyTorch" (2017), as `spinn_model.py` has it.

Runs as a process of its own, in a Python that has torch and NumPy:

    python spinn_worker.py SETTINGS.json BATCHES.npz

It describes its model in one line of JSON. Then, for each line that comes in, it trains on all batches once and
answers with a line {"seconds": ..., "each": [seconds of each batch]}. It ends with its standard input. With the setting
"encoder_alone" a batch is one side's sentences, and all it does with them is outputs and gradients of the encoder, over
trained word vectors.
"""

import sys
import time

import numpy as np
import torch
from torch.nn import functional

from spinn_model import PAD, Classifier, transition_loss
from torch_worker import begin_with_torch, shapes
from worker import arrays_of, say


def main(settings_file, batches_file):
    """Build the model, then train on all batches for every line of standard input, and report how long each took."""
    settings, answers = begin_with_torch(settings_file)
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


def read_batches(path, sides):
    """[((words, transitions) of each side, labels)]: times first, words reversed after nulls."""
    batches = []
    for words, transitions, labels in arrays_of(path, "words", "transitions", "labels"):
        both = zip(np.split(words, sides), np.split(transitions, sides), strict=True)
        sentences = tuple((reversed_words(words), without_padding(parses)) for words, parses in both)
        batches.append((sentences, torch.from_numpy(labels.astype(np.int64))))
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
