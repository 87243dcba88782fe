"""Which options of a translator go together."""

import pytest

from tfnmt.errors import UserError
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS

PLAIN = {"conditional": False, "deep_output": False}


def test_attention_that_nothing_would_read_is_refused():
    with pytest.raises(
        UserError, match="attention=additive: allowed is none without conditional, deep_output and a sec"
    ):
        TranslatorConfiguration(**PLAIN)
    with pytest.raises(UserError, match="attention=additive: allowed is none"):
        PRESETS["cho2014"].override(["attention=additive"])
    for options in ({"conditional": True}, {"deep_output": True}, {"decoder_layers": 2}, {"attention": "none"}):
        TranslatorConfiguration(**PLAIN | options)


def test_attention_first_needs_the_deep_output_which_reads_the_word_before():
    with pytest.raises(UserError, match="attend_first=true: allowed is false without attention or deep_output"):
        TranslatorConfiguration(**PLAIN, attend_first=True)
    with pytest.raises(UserError, match="attend_first=true"):
        PRESETS["rnnsearch"].override(["deep_output=false", "output_units=none", "output_activation=tanh"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deep_output": False, "input_feeding": True}, "input_feeding=true: allowed is false without deep_output"),
        ({"deep_output": False, "tied_embeddings": True}, "tied_embeddings=true: allowed is false without deep_output"),
        ({"deep_output": False, "output_units": 9}, "output_units=9: allowed is left out unless deep_output"),
        ({"tied_embeddings": True, "output_units": 9}, "output_units=9: allowed is left out unless deep_output"),
        ({"input_feeding": True, "output_units": 9}, "output_units=9: allowed is left out unless deep_output"),
        ({"input_feeding": True, "output_activation": "maxout"}, "output_activation=maxout: allowed is left out"),
        ({"attend_first": True}, "attend_first=true: allowed is false without"),
        ({"attend_first": True, "conditional": False, "decoder_layers": 2}, "attend_first=true: allowed is false"),
        ({"attend_first": True, "conditional": False, "input_feeding": True}, "attend_first=true: allowed is false"),
        ({"attend_first": True, "conditional": False, "attention": "none"}, "attend_first=true: allowed is false"),
        (
            {"attention": "dot", "encoder_units": 8, "decoder_units": 8},
            r"attention=dot: .* where the encoder's states \(16\) and the decoder's \(8\) differ in size",
        ),
    ],
)
def test_what_does_not_go_together_is_told_by_its_key(options, message):
    with pytest.raises(UserError, match=f"^{message}"):
        TranslatorConfiguration(**options)


def test_dot_attention_takes_states_of_one_size():
    TranslatorConfiguration(attention="dot", encoder_units=8, decoder_units=16)
    TranslatorConfiguration(attention="dot", encoder_units=8, decoder_units=8, bidirectional=False)
