"""Settings that are given, and have no effect together with the others: told, since who gives them expects one."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

logger = logging.getLogger(__name__)


def warn_of_unused_settings(preset: Any, settings: Sequence[str], others: Mapping[str, str] | None = None) -> None:
    """Log a warning for each setting that changes nothing; see `Configuration.without_effect`.

    Args:
        preset: a configuration made of configurations.
        settings: `key=value` each.
        others: further keys without effect, each with the cause.
    """
    keys = {setting.partition("=")[0].strip() for setting in settings}
    unused = dict(others or {})
    for _, section in preset:
        unused |= section.without_effect()
    for key, cause in unused.items():
        if key in keys:
            logger.warning("%s has no effect with %s", key, cause)
