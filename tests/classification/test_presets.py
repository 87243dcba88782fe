"""Every preset, with every encoder."""

import pytest

from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.errors import UserError


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("preset", CLASSIFIER_PRESETS)
def test_every_encoder_fits_every_preset(preset, encoder):
    assert CLASSIFIER_PRESETS[preset].model.replace(encoder=encoder).encoder == encoder


@pytest.mark.parametrize(
    "preset", [name for name in CLASSIFIER_PRESETS if CLASSIFIER_PRESETS[name].model.reads_phrases]
)
def test_brackets_are_no_words_where_phrases_have_labels(preset):
    with pytest.raises(UserError, match="brackets_as_words=true: allowed is false with task=sst"):
        CLASSIFIER_PRESETS[preset].model.replace(brackets_as_words=True)
