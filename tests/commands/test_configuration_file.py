"""--config: a run's config.json or YAML, over a preset and under --set; what is wrong in it is one line."""

import json

import pytest

from tfnmt.commands.configuration_file import configured, read_yaml
from tfnmt.errors import UserError
from tfnmt.translation.presets import PRESETS


def written(folder, text):
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_run_writes_is_a_configuration(tmp_path):
    preset = PRESETS["multi30k"].override(["learning_rate=0.00001", "steps=7", "cell=lstm"])
    sections = {name: value.model_dump(mode="json") for name, value in preset}
    path = written(tmp_path, json.dumps({"kind": "translator"} | sections, indent=2))
    assert "1e-05" in path.read_text()
    assert configured(PRESETS["tiny"], path) == preset


def test_what_is_left_out_is_the_preset_s(tmp_path):
    path = written(tmp_path, "training:\n  epochs: 2\n  learning_rate: 1e-5\n  steps: none\nmodel: {cell: lstm}\n")
    expected = PRESETS["rnnsearch"].override(["epochs=2", "learning_rate=0.00001", "cell=lstm"])
    assert configured(PRESETS["rnnsearch"], path) == expected


def test_a_merged_key_may_be_given_anew(tmp_path):
    text = "training: &first {epochs: 1, seed: 3}\nmore: {one: &second {<<: *first, epochs: 2}}\nlast: {<<: *second}\n"
    assert read_yaml(written(tmp_path, text))["last"] == {"epochs": 2, "seed": 3}


@pytest.mark.parametrize(
    "text, message",
    [
        ("training: {epoch: 2}", "run.yaml: training: unknown key 'epoch'; the nearest is 'epochs'"),
        ("training: {epochs: 0}", "run.yaml: training: epochs=0: allowed is an integer from 1"),
        ("training: 3", "run.yaml: training: 3: should be keys with values, such as initial"),
        ("trainng: {epochs: 2}", "run.yaml: unknown key 'trainng'; the nearest is 'training'"),
        ("kind: classifier", "run.yaml: is not about a translator; the key 'kind' says so"),
        ("model:\n  cell: [", "run.yaml, line 2: is not valid YAML: "),
        ("training: {epochs: 2026-13-01}", "run.yaml: is not valid YAML: month must be in 1..12"),
        ("[" * 5000, "run.yaml: is not valid YAML: maximum recursion depth exceeded"),
        ("model: {decoder_units: &a [*a]}", "run.yaml: model: a value is within itself, or too deep in others"),
        ("training:\n  epochs: 1\n  epochs: 2", "run.yaml, line 3: is not valid YAML: the key 'epochs' stands twice"),
        ('{"training": {"epochs": 1, "epochs": 2}}', "run.yaml: the key 'epochs' stands twice"),
        ("? [a]\n: b", "run.yaml, line 1: is not valid YAML: found unhashable key"),
        ("a\0", "run.yaml: is not valid YAML: unacceptable character #x0000: special characters are not allowed in "),
        ("- 1", "run.yaml: should have sections"),
        ("", "run.yaml: should have sections"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text, message):
    with pytest.raises(UserError) as caught:
        configured(PRESETS["tiny"], written(tmp_path, text))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="nowhere.yaml: cannot be read: No such file or directory"):
        configured(PRESETS["tiny"], tmp_path / "nowhere.yaml")


def test_a_newer_format_is_refused(tmp_path):
    (tmp_path / "config.yaml").write_text("format: 999\ntraining: {epochs: 1}\n")
    with pytest.raises(UserError, match="in format 999; .* reads up to format"):
        configured(PRESETS["tiny"], tmp_path / "config.yaml")
