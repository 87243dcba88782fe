"""Trains SPINN without a tracker in PyTorch, its trees batched by level as `spinn_by_level.py` has them, to be timed
beside ours.

Runs as `spinn_worker.py` does, gets what it gets, and answers as it does.
"""

import functools
import sys

import torch
from torch.nn import functional

from spinn_by_level import LevelClassifier, levels
from torch_worker import begin_with_torch, shapes
from worker import answer_all, arrays_of, say


def main(settings_file, batches_file):
    """Build the model, then train on all batches for every line of standard input, and report how long that took."""
    settings, answers = begin_with_torch(settings_file)
    model = LevelClassifier(settings)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.RMSprop(trained, lr=settings["learning_rate"], alpha=0.9, eps=1e-6)
    batches = [
        (levels(words, transitions), torch.from_numpy(labels).long())
        for words, transitions, labels in arrays_of(batches_file, "words", "transitions", "labels")
    ]
    say(answers, {"weights": shapes(model), "torch": torch.__version__})
    answer_all(answers, functools.partial(train, model, optimizer, batches))


def train(model, optimizer, batches):
    """A step of training on each batch."""
    model.train()
    for trees, labels in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(trees), labels).backward()
        optimizer.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
