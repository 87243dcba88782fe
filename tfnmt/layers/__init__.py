"""Keras layers: recurrent, attentive, and along trees.

As in `tfnmt`, the names below are imported when they are first used.
"""

import importlib

_HOMES = {
    "AdditiveAttention": "attention",
    "BagOfWords": "flat_encoders",
    "Convolutional": "flat_encoders",
    "Decoder": "decoder",
    "DeepOutput": "deep_output",
    "DotAttention": "attention",
    "Embedding": "embedding",
    "Encoder": "encoder",
    "GRUCell": "cells",
    "GatedRecursiveCell": "trees.gated_recursive",
    "GeneralAttention": "attention",
    "Inception": "convolution",
    "InceptionEncoder": "flat_encoders",
    "LSTMCell": "cells",
    "MultilayerPerceptron": "feedforward",
    "PairAttention": "pair_attention",
    "RNN": "rnn",
    "Recurrent": "flat_encoders",
    "SPINN": "trees.spinn",
    "Tracker": "trees.tracker",
    "TreeLSTM": "trees.tree_lstm",
    "TreeLSTMEncoder": "trees.encoder",
    "WordConvolution": "convolution",
    "WordVectors": "embedding",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'tfnmt.layers' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tfnmt.layers.{_HOMES[name]}"), name)
