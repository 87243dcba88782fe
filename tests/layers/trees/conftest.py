"""What tests of trees share."""

import keras
import pytest


@pytest.fixture
def doubles():
    """All in float64, so that tolerances can be as tight as the arithmetic."""
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")
