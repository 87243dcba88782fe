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
