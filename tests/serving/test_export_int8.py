"""Exported models that multiply in int8: what they give, how large they are, and where they are refused."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.conftest import made
from tests.serving.test_export import CORE_OPERATIONS, TEXT_OPERATIONS, TEXTS, operations, saved_graphs
from tfnmt.errors import UserError
from tfnmt.layers import int8
from tfnmt.layers.int8 import require_int8, weight_levels
from tfnmt.serving.export import export
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.versions import Version
from tfnmt.translation.scoring import Scorer
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.servable import TranslatorServable

OPERATIONS = {"Bitcast", "QuantizeV2", "_QuantizedMatMul"}
SEARCH = SearchConfiguration(beam_size=2, n_best=2, precision="int8", maximum_length_factor=1.0)
LARGE = dict.fromkeys(("encoder_units", "decoder_units", "source_embedding_size", "target_embedding_size"), 128)


@pytest.fixture(scope="module")
def model():
    return made("word", tied_embeddings=True, **LARGE)


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return export(TranslatorServable([model], SEARCH), tmp_path_factory.mktemp("servables"), "int8")


@pytest.mark.slow
def test_the_exported_model_gives_what_the_searcher_gives(model, exported):
    signatures = tf.saved_model.load(str(exported)).signatures
    expected = Searcher(model, SEARCH).translate(TEXTS)
    found = signatures["nbest"](text=tf.constant(TEXTS))
    assert found["translations"].numpy().tolist() == [one.texts.tolist() for one in expected]
    alone = [signatures["nbest"](text=tf.constant([text]))["translations"][0].numpy().tolist() for text in TEXTS]
    assert alone == found["translations"].numpy().tolist()
    targets = [one.texts[0].decode() for one in expected]
    scores = signatures["score"](source=tf.constant(TEXTS), target=tf.constant(targets))["log_probability"]
    of_scorer = [scored.log_probability for scored in Scorer(model, "int8").score(TEXTS, targets)]
    np.testing.assert_allclose(scores, of_scorer, rtol=1e-5)
    assert not np.allclose(
        scores, [scored.log_probability for scored in Scorer(model).score(TEXTS, targets)], rtol=1e-5
    )


def test_its_operations(exported):
    allowed = TEXT_OPERATIONS | set(CORE_OPERATIONS.split()) | OPERATIONS
    assert operations(saved_graphs(exported).graph_def) - allowed <= {"HashTableV2", "LookupTableImportV2", "FloorDiv"}
    description = json.loads((exported / "assets.extra" / "tfnmt.json").read_text())
    assert description["quantize"] == description["search"]["precision"] == "int8"
    assert description["int8_levels"] == weight_levels()


def test_its_weights_take_a_quarter(model, exported):
    size = sum(file.stat().st_size for file in exported.glob("variables/variables.data*"))
    assert 0.25 < size / (4 * model.count_params()) < 0.28


def test_what_does_not_go_together(model):
    with pytest.raises(UserError, match="quantize=float16: allowed is int8 or none with precision=int8"):
        TranslatorServable([model], SEARCH, "float16")


def load(path):
    """The version of that folder, as the server loads it."""
    with ThreadPoolExecutor(1) as pool:
        return Version(path, pool, pool, BatchingOptions(), Limits(), lambda rows: None, lambda seconds: None)


def test_a_machine_without_it_refuses_the_version(exported, monkeypatch):
    monkeypatch.setattr(int8, "_is_exact", lambda levels: False)
    with pytest.raises(UserError, match="^precision=int8: .* when it is exported$"):
        load(exported)


@pytest.mark.slow
def test_a_machine_without_vnni_refuses_weights_of_eight_bits(exported, monkeypatch, tmp_path):
    """And takes those of seven. A folder of before does not say how many it has, and has eight."""
    monkeypatch.setattr(int8, "_is_exact", lambda levels: levels <= 64)
    path = tmp_path / "1"
    shutil.copytree(exported, path)
    file = path / "assets.extra" / "tfnmt.json"
    told = json.loads(file.read_text())
    del told["int8_levels"]
    for levels in ({}, {"int8_levels": 127}):
        file.write_text(json.dumps(told | levels))
        with pytest.raises(UserError, match="^precision=int8: this processor has no VNNI"):
            load(path)
    file.write_text(json.dumps(told | {"int8_levels": 64}))
    load(path)


def test_this_machine_has_it():
    """As every x86-64 has, with weights of seven bits if not of eight."""
    require_int8(int8.REDUCED_LEVELS)
