"""Training on several devices of one process."""

import pytest

from tfnmt.errors import UserError
from tfnmt.training.preparation import open_run
from tfnmt.training.strategies import Mirrored
from tfnmt.translation.presets import PRESETS


def test_accumulation_is_refused(tmp_path):
    preset, message = PRESETS["tiny"].override(["accumulation_steps=2"]), "accumulation_steps=2: allowed is 1 with"
    with pytest.raises(UserError, match=message), open_run(tmp_path, preset, False, ["bleu"], Mirrored()):
        pass
