"""What an experiment's folder was begun with: going on there with something else would mix two experiments."""

import json
from pathlib import Path
from typing import Any

from tfnmt.errors import UserError
from tfnmt.files import read_json, write_file


def record_experiment(path: Path, experiment: dict[str, Any] | list[Any]) -> None:
    """Write what the experiment is, unless it is written there already.

    Args:
        path: the record, a .json file.
        experiment: of lists, dictionaries and strings.

    Raises:
        UserError: another experiment is written there, or what is there is broken.
    """
    if not path.exists():
        write_file(path, json.dumps(experiment, indent=1) + "\n")
        return
    recorded = read_record(path)
    if recorded != experiment:
        others = ""
        if isinstance(recorded, dict) and isinstance(experiment, dict):
            keys = dict.fromkeys([*recorded, *experiment])
            others = ", with other " + ", ".join(key for key in keys if recorded.get(key) != experiment.get(key))
        raise UserError(f"{path}: another experiment lies there{others}; name another --output")


def read_record(path: Path) -> Any:
    """What a .json file in an experiment's folder says.

    Raises:
        UserError: it is broken.
    """
    return read_json(path, "name another --output")
