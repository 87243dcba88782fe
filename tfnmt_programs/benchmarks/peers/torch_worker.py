"""What the workers in PyTorch share beside `worker`."""

import torch

from worker import begin


def begin_with_torch(settings_file):
    """`begin`, with the threads and the seed of the settings."""
    settings, answers = begin(settings_file)
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(settings["seed"])
    return settings, answers


def shapes(model):
    """The shapes of a model's weights by name."""
    return {name: list(weight.shape) for name, weight in model.named_parameters()}
