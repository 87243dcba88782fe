"""TensorBoard's own plugin reads back what is written for it."""

import json

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin
from werkzeug.test import Client

from tfnmt.inspection import projector
from tfnmt.inspection.projector import word_table, write_projector
from tfnmt.text.tokenizers import WordTokenizer

VECTORS = np.array([[1.0, 0.25], [-2.5, 0.0], [3e-4, 7.0]])
TABLES = {
    "sentences": (VECTORS, {"sentence": ['"', "a\tb", "c\nd"], "length": [1, 2, 3]}),
    "words": (VECTORS[:2], {"word": ["ein", "Haus"]}),
}


@pytest.fixture
def ask(tmp_path):
    """A function that asks the plugin: (route, parameters) → the response's bytes."""
    write_projector(tmp_path / "run", TABLES)
    with tf.summary.create_file_writer(str(tmp_path / "run")).as_default(step=1):
        tf.summary.scalar("loss", 1.0)
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    data_provider = MultiplexerDataProvider(multiplexer, str(tmp_path))
    plugin = ProjectorPlugin(TBContext(logdir=str(tmp_path), data_provider=data_provider))

    def ask(route, **parameters):
        response = Client(plugin.get_plugin_apps()[route]).get(query_string=parameters)
        assert response.status_code == 200
        return response.get_data()

    return ask


def test_the_plugin_finds_the_tables(ask):
    assert json.loads(ask("/runs")) == ["run"]
    tables = json.loads(ask("/info", run="run"))["embeddings"]
    assert [(table["tensorName"], table["tensorShape"]) for table in tables] == [
        ("sentences", [3, 2]),
        ("words", [2, 2]),
    ]


@pytest.mark.parametrize("name", TABLES)
def test_the_plugin_reads_the_vectors(ask, name):
    vectors = np.frombuffer(ask("/tensor", run="run", name=name), np.float32)
    np.testing.assert_allclose(vectors.reshape(-1, 2), TABLES[name][0], rtol=1e-4)


def test_the_plugin_reads_the_labels(ask):
    sentences = ask("/metadata", run="run", name="sentences").decode().splitlines()
    assert sentences == ["sentence\tlength", '"\t1', "a b\t2", "c d\t3"]
    assert ask("/metadata", run="run", name="words").decode().splitlines() == ["ein", "Haus"]  # one column has no head


def test_the_most_frequent_words_are_projected(monkeypatch):
    monkeypatch.setattr(projector, "PROJECTED_WORDS", 6)
    vectors, columns = word_table(WordTokenizer(["a", "b", "c"]), tf.random.normal([7, 3]))
    assert vectors.shape == (6, 3)
    assert columns["word"][-2:] == ["a", "b"]
