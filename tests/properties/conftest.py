"""How many examples of each property are tried: few and always the same ones, or many and new ones.

HYPOTHESIS_PROFILE=many pytest tests/properties
"""

import os

from hypothesis import HealthCheck, settings

# A machine that is busy makes an example slow, which is no fault.
SLOW = [HealthCheck.too_slow, HealthCheck.differing_executors]
settings.register_profile("few", max_examples=30, derandomize=True, database=None, deadline=None)
settings.register_profile("many", max_examples=300, database=None, deadline=None, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))
