import json
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from tfnmt.classification.presets import ClassifierPreset
from tfnmt.configuration import Configuration, describe, different_keys, from_json, parse_overrides, require
from tfnmt.errors import UserError
from tfnmt.translation.presets import Preset
from tfnmt.translation.search_configuration import SearchConfiguration


class Model(Configuration):
    units: int = Field(512, description="units of the decoder")
    dropout: float = Field(0.0, description="part of the units dropped", ge=0, lt=1)
    cell: Literal["gru", "lstm"] = Field("gru", description="recurrent cell")
    tied: bool = Field(False, description="share the target embedding with the softmax")
    widths: tuple[int, ...] = Field((3, 5), description="widths of the convolution", strict=False)
    projection: int | None = Field(None, description="size of the projection", ge=1)

    @model_validator(mode="after")
    def _check(self):
        require(self.projection != self.units, "projection", self.projection, "a size other than units")
        return self


class Training(Configuration):
    optimizer: str = Field("adam", description="how weights are updated")
    rate: float = Field(0.001, description="learning rate", gt=0)


class Experiment(Configuration):
    name: str
    model: Model = Field(Model(), description="the model")


class Both(Configuration):
    model: Model = Model()
    training: Training = Training()


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
    assert model == Model(units=64, cell="lstm", tied=True, widths=(1, 2), projection=8)
    assert training == Training(optimizer="a=b", rate=0.01)


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
        ("units", "setting 'units': write it as key=value, such as epochs=10"),
        ("units=many", "units=many: allowed is an integer"),
        ("units=1.5", "units=1.5: allowed is an integer"),
        ("dropout=1.5", "dropout=1.5: allowed is 0 <= dropout < 1"),
        ("dropout=nan", "dropout=nan: allowed is 0 <= dropout < 1"),
        ("dropout=some", "dropout=some: allowed is 0 <= dropout < 1"),
        ("rate=inf", "rate=inf: allowed is a number over 0"),
        ("rate=0", "rate=0.0: allowed is a number over 0"),
        ("tied=yes", "tied=yes: allowed is true or false"),
        ("cell=rnn", "cell=rnn: allowed is one of gru, lstm"),
        ("widths=3,x", "widths=x: allowed is an integer"),
        ("projection=x", "projection=x: allowed is an integer from 1, or none"),
        ("projection=0", "projection=0: allowed is an integer from 1, or none"),
        ("projection=512", "projection=512: allowed is a size other than units"),
    ],
)
def test_a_bad_setting_is_named_with_what_is_allowed(setting, message):
    with pytest.raises(UserError) as error:
        parse_overrides([setting], Model(), Training())
    assert str(error.value) == message


def _whole_numbers(configuration):
    """All fields that are whole numbers, those of the configurations within too: pairs (configuration, name)."""
    for name, field in configuration.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Configuration):
            yield from _whole_numbers(field.annotation)
        elif field.annotation in (int, int | None):
            yield configuration, name


@pytest.mark.parametrize("configuration", [Preset, ClassifierPreset, SearchConfiguration])
def test_no_whole_number_is_larger_than_tensorflow_can_count(configuration):
    fields = list(_whole_numbers(configuration))
    assert len(fields) > 3
    for owner, name in fields:
        with pytest.raises(UserError, match=f"{name}=1000.*: allowed is"):
            parse_overrides([f"{name}={10**30}"], owner())


def test_a_key_in_two_configurations_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="units"):
        parse_overrides([], Model(), Model())


def test_values_given_in_python_are_checked_and_made_uniform():
    model = Model(dropout=0, widths=[1, 2])
    assert type(model.dropout) is float
    assert model.widths == (1, 2)
    with pytest.raises(UserError, match="units=true: allowed is an integer"):
        Model(units=True)


@pytest.mark.parametrize("wrong", [{"units": "64"}, {"units": 64.0}, {"dropout": False}, {"tied": 1}, {"cell": None}])
def test_no_value_is_converted_to_another_type(wrong):
    with pytest.raises(UserError, match=f"{next(iter(wrong))}=.*: allowed is"):
        Model(**wrong)


def test_configurations_are_immutable_and_copies_are_checked():
    model = Model()
    with pytest.raises(ValidationError, match="frozen"):
        model.units = 64
    assert model.replace(units=64) == Model(units=64)
    with pytest.raises(UserError, match="units=many: allowed is an integer"):
        model.replace(units="many")


def test_overrides_of_a_configuration_made_of_configurations():
    both = Both().override(["units=64", "rate=0.1"])
    assert both == Both(model=Model(units=64), training=Training(rate=0.1))


def test_json_round_trip_of_nested_configurations():
    experiment = Experiment(name="first", model=Model(units=7, widths=(1,), projection=3))
    plain = experiment.model_dump(mode="json")
    assert plain["model"]["widths"] == [1]
    assert from_json(Experiment, json.loads(json.dumps(plain))) == experiment


def test_what_tables_and_lists_take_is_told():
    class Of(Configuration):
        table: dict[str, int]
        rows: list[int]
        pair: Annotated[tuple[int, int], Field(strict=False)] = (1, 2)

    for key, value, allowed in (
        ("table", 1, "an object"),
        ("rows", 1, "a list"),
        ("pair", 1, "an integer; several with commas between"),
    ):
        with pytest.raises(UserError, match=f"^{key}=1: allowed is {allowed}$"):
            Of(**({"table": {}, "rows": []} | {key: value}))


@pytest.mark.parametrize("values", [{"float32_products": ((2, 3), (4, 5))}, {"banned_words": ("a",)}, {}])
def test_json_round_trip_of_a_search(values):
    search = SearchConfiguration(**values)
    assert from_json(SearchConfiguration, json.loads(search.model_dump_json())) == search


def test_json_may_leave_out_what_has_a_default():
    assert from_json(Experiment, {"name": "a", "model": {"units": 2}}) == Experiment(name="a", model=Model(units=2))


@pytest.mark.parametrize(
    "mapping, message",
    [
        ({"name": "a", "modell": {}}, "config.json: unknown key 'modell'; the nearest is 'model'"),
        ({"name": "a", "model": {"unit": 3}}, "config.json: unknown key 'unit'; the nearest is 'units'"),
        ({"name": "a", "model": {"units": "3x"}}, "config.json: units=3x: allowed is an integer"),
        ({"name": "a", "model": 5}, "config.json: Model=5: allowed is the fields of Model"),
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
    assert lines[1].endswith("part of the units dropped (0 <= dropout < 1)")
    assert lines[2].endswith("recurrent cell (one of gru, lstm)")
    assert lines[4].split()[1] == "3,5"
    assert lines[5].endswith("size of the projection (an integer from 1, or none)")
    assert lines[7].endswith("learning rate (a number over 0)")


def test_described_values_can_be_given_back_as_overrides():
    model = Model(units=64, tied=True, widths=(9, 8))
    settings = ["=".join(line.split()[:2]) for line in describe(model).splitlines()]
    assert parse_overrides(settings, Model()) == (model,)


def test_keys_that_differ_are_those_within():
    before = {"model": {"units": 1, "cell": "gru"}, "files": ["a"], "search": None}
    now = {"model": {"units": 2, "cell": "gru"}, "files": ["b"], "search": {"beam_size": 1}, "added": 3}
    assert different_keys(before, before) == []
    assert different_keys(now, before) == ["units", "files", "search", "added"]
    assert different_keys({"model": {"cell": "gru"}}, before) == ["model"]
