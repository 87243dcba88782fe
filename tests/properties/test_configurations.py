"""Configurations of any values, from overrides and from JSON; and any text and any JSON in their place."""

import contextlib
import json
import types
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.configuration import KeyOf, describe, from_json, parse_overrides
from tfnmt.data.batching_configuration import BatchingConfiguration, ExamplesConfiguration
from tfnmt.errors import UserError
from tfnmt.search.configuration import BeamConfiguration, SampleConfiguration
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration

CLASSES = [
    BatchingConfiguration,
    BeamConfiguration,
    ClassifierConfiguration,
    ExamplesConfiguration,
    SampleConfiguration,
    TextConfiguration,
    TrainingConfiguration,
    TranslatorConfiguration,
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=9), values, max_size=3),
    max_leaves=6,
)


def values_of(annotation, constraints):
    """Values that a field allows."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        inner = next(part for part in typing.get_args(annotation) if part is not types.NoneType)
        return st.none() | values_of(inner, constraints)
    if typing.get_origin(annotation) is tuple:
        return st.lists(values_of(typing.get_args(annotation)[0], constraints), min_size=1, max_size=3).map(tuple)
    if typing.get_origin(annotation) is typing.Literal:
        return st.sampled_from(typing.get_args(annotation))
    for constraint in constraints:
        if isinstance(constraint, KeyOf):
            return st.sampled_from(sorted(constraint.registry))
    limits = {name: getattr(c, name) for c in constraints for name in ("ge", "gt", "le", "lt") if hasattr(c, name)}
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if annotation is int:
        return st.integers(low, high)
    if annotation is float:
        excluded = {"exclude_min": "gt" in limits, "exclude_max": "lt" in limits}
        return st.floats(low, high, allow_nan=False, allow_infinity=False, **excluded)
    return {bool: st.booleans(), str: st.text("abc/._-=", min_size=1, max_size=9)}[annotation]


@st.composite
def configurations(draw, cls):
    """One with some fields other than their defaults."""
    fields = cls.model_fields
    names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    values = {name: draw(values_of(fields[name].annotation, fields[name].metadata)) for name in names}
    try:
        return cls(**values)
    except UserError:  # values that do not go together
        return cls()


@pytest.mark.parametrize("cls", CLASSES)
@given(data=st.data())
def test_a_configuration_comes_back(cls, data):
    """From its description, as overrides, and from JSON."""
    configuration = data.draw(configurations(cls))
    assert from_json(cls, json.loads(json.dumps(configuration.model_dump(mode="json")))) == configuration
    settings = []
    for line, (name, field) in zip(describe(configuration).splitlines(), cls.model_fields.items(), strict=True):
        value, _, _ = line.removeprefix(name).partition(f"  {field.description}")
        settings.append(f"{name}={value.strip()}")
    assert parse_overrides(settings, cls()) == (configuration,)


@pytest.mark.parametrize("cls", CLASSES)
@given(data=st.data())
def test_any_settings_are_read_or_refused(cls, data):
    keys = st.sampled_from(sorted(cls.model_fields)) | st.text(max_size=9)
    values = st.text(max_size=9) | st.floats().map(str) | st.integers().map(str)
    settings = data.draw(st.lists(st.builds("{}={}".format, keys, values) | st.text(max_size=9), max_size=3))
    with contextlib.suppress(UserError):
        (configuration,) = parse_overrides(settings, cls())
        assert isinstance(configuration, cls)


@pytest.mark.parametrize("cls", CLASSES)
@given(data=st.data())
def test_any_json_is_read_or_refused(cls, data):
    keys = st.sampled_from(sorted(cls.model_fields)) | st.text(max_size=9)
    mapping = data.draw(st.dictionaries(keys, JSON, max_size=3) | JSON)
    with contextlib.suppress(UserError):
        configuration = from_json(cls, mapping, "config.json")
        assert from_json(cls, configuration.model_dump(mode="json")) == configuration
