import json
from dataclasses import dataclass
from typing import Literal

import pytest

from tfnmt.configuration import check_types, describe, from_json, option, parse_overrides, require, to_json
from tfnmt.errors import UserError


@dataclass(frozen=True)
class Model:
    units: int = option(512, "units of the decoder")
    dropout: float = option(0.0, "part of the units dropped")
    cell: Literal["gru", "lstm"] = option("gru", "recurrent cell")
    tied: bool = option(False, "share the target embedding with the softmax")
    widths: tuple[int, ...] = option((3, 5), "widths of the convolution")
    projection: int | None = option(None, "size of the projection")

    def __post_init__(self):
        check_types(self)
        require(0 <= self.dropout < 1, "dropout", self.dropout, "0 <= dropout < 1")
        require(self.projection != self.units, "projection", self.projection, "a size other than units")


@dataclass(frozen=True)
class Training:
    optimizer: str = option("adam", "how weights are updated")
    rate: float = option(0.001, "learning rate")


@dataclass(frozen=True)
class Experiment:
    name: str
    model: Model = option(Model(), "the model")


def test_overrides_reach_the_configuration_that_has_the_key():
    settings = [
        "units=64",
        "rate=1e-2",
        "cell=lstm",
        "tied=true",
        "widths=1,2",
        "projection=8",
        "optimizer=a=b",
    ]
    model, training = parse_overrides(settings, Model(), Training())
    assert model == Model(64, 0.0, "lstm", True, (1, 2), 8)
    assert training == Training("a=b", 0.01)


def test_no_overrides_change_nothing():
    assert parse_overrides([], Model(), Training()) == (Model(), Training())


def test_none_and_the_last_of_two_settings():
    (model,) = parse_overrides(["projection=none", "units=1", "units=2", "widths="], Model(projection=8))
    assert (model.projection, model.units, model.widths) == (None, 2, ())


def test_settings_of_one_configuration_are_checked_together():
    (model,) = parse_overrides(["projection=512", "units=256"], Model())
    assert (model.projection, model.units) == (512, 256)


@pytest.mark.parametrize(
    "setting, message",
    [
        ("unit=3", "unknown key 'unit'; the nearest is 'units'; --help lists every key"),
        ("units", "setting 'units': write it as key=value, such as units=256"),
        ("units=many", "units=many: allowed is an integer"),
        ("units=1.5", "units=1.5: allowed is an integer"),
        ("dropout=1.5", "dropout=1.5: allowed is 0 <= dropout < 1"),
        ("dropout=nan", "dropout=nan: allowed is a number"),
        ("tied=yes", "tied=yes: allowed is true or false"),
        ("cell=rnn", "cell=rnn: allowed is one of gru, lstm"),
        ("widths=3,x", "widths=x: allowed is an integer"),
        ("projection=x", "projection=x: allowed is an integer"),
    ],
)
def test_a_bad_setting_is_named_with_what_is_allowed(setting, message):
    with pytest.raises(UserError) as error:
        parse_overrides([setting], Model(), Training())
    assert str(error.value) == message


def test_a_key_in_two_configurations_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="units"):
        parse_overrides([], Model(), Model())


def test_values_given_in_python_are_checked_and_made_uniform():
    model = Model(dropout=0, widths=[1, 2])
    assert type(model.dropout) is float
    assert model.widths == (1, 2)
    with pytest.raises(UserError, match="units=true: allowed is an integer"):
        Model(units=True)


def test_json_round_trip_of_nested_configurations():
    experiment = Experiment("first", Model(units=7, widths=(1,), projection=3))
    plain = to_json(experiment)
    assert plain["model"]["widths"] == [1]
    assert from_json(Experiment, json.loads(json.dumps(plain))) == experiment


def test_json_may_leave_out_what_has_a_default():
    assert from_json(Experiment, {"name": "a", "model": {"units": 2}}) == Experiment("a", Model(units=2))


@pytest.mark.parametrize(
    "mapping, message",
    [
        ({"name": "a", "modell": {}}, "config.json: unknown key 'modell'; the nearest is 'model'"),
        ({"name": "a", "model": {"unit": 3}}, "config.json: unknown key 'unit'; the nearest is 'units'"),
        ({"name": "a", "model": {"units": "3x"}}, "config.json: units=3x: allowed is an integer"),
        ({"name": "a", "model": 5}, "config.json: model=5: allowed is the fields of Model"),
        ({}, "config.json: key 'name' is missing"),
        ([], "config.json: Experiment=: allowed is the fields of Experiment"),
    ],
)
def test_bad_json_is_named_with_its_file(mapping, message):
    with pytest.raises(UserError) as error:
        from_json(Experiment, mapping, "config.json")
    assert str(error.value) == message


def test_description_shows_each_key_its_value_and_meaning():
    lines = describe(Model(units=64), Training()).splitlines()
    assert len(lines) == 8
    assert lines[0].split(maxsplit=2) == ["units", "64", "units of the decoder (an integer)"]
    assert lines[2].endswith("recurrent cell (one of gru, lstm)")
    assert lines[4].split()[1] == "3,5"
    assert lines[5].endswith("size of the projection (an integer, or none)")


def test_described_values_can_be_given_back_as_overrides():
    model = Model(units=64, tied=True, widths=(9, 8))
    settings = ["=".join(line.split()[:2]) for line in describe(model).splitlines()]
    assert parse_overrides(settings, Model()) == (model,)
