"""Trains a recurrent translator with JoeyNMT 2.3 (Kreutzer et al. 2019, arXiv:1907.12484), or translates with it, to be
timed beside ours.

Runs as a process of its own, in a Python that has joeynmt and torch, and importlib_metadata, which joeynmt imports
without asking for it:

    python joeynmt_worker.py SETTINGS.json BATCHES.npz

It describes its model in one line of JSON. Then, for each line that comes in, it trains on all batches once, or with
the setting "beam_size" translates them all, and answers with a line {"seconds": ...}. It ends with its standard input.
The model, the loss, the training step and the searches are JoeyNMT's own; only the data do not come from its loader,
but as ids, the same padded batches that the other side has.
"""

import functools
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from joeynmt.batch import Batch
from joeynmt.config import parse_train_args
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.training import TrainManager
from joeynmt.vocabulary import Vocabulary

from torch_worker import begin_with_torch, shapes
from worker import answer_all, arrays_of, say

CPU = torch.device("cpu")


def main(settings_file, batches_file):
    """Build the model, then do a round of training for every line of standard input; tell how long each took."""
    settings, answers = begin_with_torch(settings_file)
    with tempfile.TemporaryDirectory() as directory:
        manager = make_manager(settings, Path(directory))
        if "beam_size" in settings:
            work = functools.partial(translate, manager.model, read_sources(batches_file), settings["beam_size"])
        else:
            work = functools.partial(train, manager, read_batches(batches_file))
        say(answers, {"weights": shapes(manager.model), "encoder_size": manager.model.encoder.output_size})
        answer_all(answers, work)


def make_manager(settings, directory):
    """JoeyNMT's trainer, with a model of the given sizes; options as in its configs/rnn_small.yaml unless told."""
    embeddings = {"embedding_dim": settings["embedding_size"], "scale": False}
    configuration = {
        "initializer": "xavier_uniform",
        "embed_initializer": "normal",
        "embed_init_weight": 0.1,
        "bias_initializer": "zeros",
        "encoder": {
            "type": "recurrent",
            "rnn_type": "gru",
            "embeddings": embeddings,
            "hidden_size": settings["encoder_units"],
            "bidirectional": True,
            "num_layers": 1,
            "dropout": 0.0,
        },
        "decoder": {
            "type": "recurrent",
            "rnn_type": "gru",
            "embeddings": embeddings,
            "hidden_size": settings["decoder_units"],
            "num_layers": 1,
            "dropout": 0.0,
            "hidden_dropout": 0.0,
            "input_feeding": True,
            "init_hidden": "bridge",
            "attention": "bahdanau",
        },
    }
    training = {
        "optimizer": "adam",
        "learning_rate": settings["learning_rate"],
        "scheduling": "exponential",  # by epochs, so never here; its "plateau" does not know the newest torch
        "clip_grad_val": 1.0,
        "label_smoothing": 0.0,
        "normalization": "batch",
        "batch_size": 64,  # asked for, but the batches are made already
    }
    vocabularies = [vocabulary(settings[f"{side}_vocabulary_size"]) for side in ("source", "target")]
    model = build_model(configuration, *vocabularies)
    model.loss_function = ("crossentropy", training["label_smoothing"])
    return TrainManager(
        rank=0,
        model=model,
        model_dir=directory,
        device=CPU,
        autocast={"device_type": "cpu", "dtype": torch.bfloat16, "enabled": settings["bfloat16"]},
        train_args=parse_train_args(training, "train"),
    )


def vocabulary(size):
    """One of so many words. What they are does not matter: sentences come as ids."""
    special = {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None, "sep_token": None, "lang_tags": []}
    special |= {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return Vocabulary([f"word{i}" for i in range(4, size)], SimpleNamespace(**special))


def read_batches(path):
    """Pairs of int64 arrays (source, target), START at the beginning of the target and END at that of both.

    Padding is 0 and the unknown word 1 in the file; in JoeyNMT it is the other way round.
    """
    batches = []
    for source, inputs, labels in arrays_of(path, "source", "target", "labels"):
        target = np.concatenate([inputs[:, :1], labels], axis=1)
        batches.append(tuple(np.where(ids < 2, 1 - ids, ids).astype(np.int64) for ids in (source, target)))
    return batches


def train(manager, batches):
    """What `TrainManager.train_and_validate` does between two validations, without its log."""
    model = manager.model
    model.train()
    model.zero_grad()
    for source, target in batches:
        manager._train_step(as_batch(model, source, target))
        manager.clip_grad_fun(parameters=model.parameters())
        manager.optimizer.step()
        model.zero_grad()


def read_sources(path):
    """Pairs of a source, int64 [sentences, length], END at the end, padded; and how many steps its search takes."""
    batches = arrays_of(path, "source", "steps")
    return [(np.where(ids < 2, 1 - ids, ids).astype(np.int64), int(steps)) for ids, steps in batches]


def translate(model, batches, beam_size):
    """Search for translations: as many steps for each batch as told, since what random weights write has no end."""
    model.eval()
    for source, steps in batches:
        search(
            model,
            as_batch(model, source),
            max_output_length=steps,
            min_output_length=steps,  # its END has no chance before
            beam_size=beam_size,
            beam_alpha=1.0,
        )


def as_batch(model, source, target=None):
    """Arrays as a batch of JoeyNMT's."""
    source = torch.from_numpy(source)
    return Batch(
        src=source,
        src_length=(source != model.pad_index).sum(dim=1),
        src_prompt_mask=None,
        trg=None if target is None else torch.from_numpy(target),
        trg_prompt_mask=None,
        indices=torch.arange(len(source)),
        device=CPU,
        pad_index=model.pad_index,
        eos_index=model.eos_index,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
