"""Every preset, with every encoder."""

import pytest

from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("preset", CLASSIFIER_PRESETS)
def test_every_encoder_fits_every_preset(preset, encoder):
    assert CLASSIFIER_PRESETS[preset].model.replace(encoder=encoder).encoder == encoder
