"""The bounds of what a translator's matrices are multiplied with, by hand."""

import numpy as np
import pytest

from tfnmt.layers.bounds import decoder_bounds, encoder_bounds
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder


def made(**options):
    """An encoder of three residual layers in both directions, whose states are within ±3, and a decoder of it.

    The largest number of a source word's vector is 5, of a target word's 0.5.
    """
    encoder = Encoder(8, 3, 4, layers=3, bidirectional=True, residual=True)
    decoder = Decoder(9, 3, 8, attention_units=2, **options)
    encoder.build(None)
    decoder.build(None, {"summary": (None, 8)})
    encoder.E.embeddings.assign(np.full([8, 3], -5.0))
    decoder.E.embeddings.assign(np.full([9, 3], -0.5))
    return encoder, decoder


def by_name(bounds, layer):
    """The bound of each matrix, by the name of the layer that it is in and its own; "none" without an entry."""
    matrices = [weight for weight in layer.weights if weight.shape.rank == 2]
    return {"/".join(weight.path.split("/")[1:]): bounds.get(id(weight), "none") for weight in matrices}


def test_those_of_an_encoder():
    encoder, _ = made()
    expected = {"E/embeddings": 1.0}
    for direction in ("forward", "backward"):
        for layer, bound in enumerate((5.0, 1.0, 2.0)):
            expected |= {f"layer_{layer}_{direction}/W": bound, f"layer_{layer}_{direction}/U": 1.0}
    assert by_name(encoder_bounds(encoder), encoder) == expected


WORDS_AND_CONTEXTS = {"readout/W_2": 0.5, "readout/W_3": 3.0}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"attention": "general", "layers": 2, "residual": True, "input_feeding": True},
            {"z_0_0/kernel": 1.0, "z_0_1/kernel": 1.0, "E/embeddings": 1.0, "W_f": 1.0, "w": 1.0}
            | {"first/W": 0.5, "first/U": 1.0, "second/W": 3.0, "second/U": 1.0, "layer_1/W": 3.0, "layer_1/U": 1.0}
            | {"attention/W_a": 3.0, "readout/W_1": 2.0}
            | WORDS_AND_CONTEXTS,
        ),
        (
            {"conditional": False, "attend_first": True, "output_activation": "maxout"},
            {"z_0_0/kernel": 1.0, "E/embeddings": 1.0, "W_c": 3.0, "w": None, "first/W": 0.5, "first/U": 1.0}
            | {"attention/W_a": 1.0, "attention/U_a": 3.0, "attention/v": "none", "readout/W_1": 1.0}
            | WORDS_AND_CONTEXTS,
        ),
        (
            {"attention": "none", "deep_output": False, "layers": 3, "residual": True},
            {"z_0_0/kernel": 1.0, "z_0_1/kernel": 1.0, "z_0_2/kernel": 1.0, "E/embeddings": 3.0, "w": 3.0}
            | {"first/W": 1.0, "first/U": 1.0, "layer_1/W": 1.0, "layer_1/U": 1.0, "layer_2/W": 2.0, "layer_2/U": 1.0},
        ),
    ],
    ids=["general", "attend first", "no attention"],
)
def test_those_of_a_decoder(options, expected):
    """Every matrix has one, but for v of the energies, which is not multiplied in int8, and what maxout gives."""
    encoder, decoder = made(**options)
    assert by_name(decoder_bounds(decoder, encoder), decoder) == expected
