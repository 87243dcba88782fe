"""The folder of servables, with exports that end at the same time."""

import threading
import time

import pytest
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfnmt.errors import UserError
from tfnmt.serving import files


def test_no_export_takes_the_model_of_another_out_of_the_list(tmp_path, monkeypatch):
    read_models = files.read_models

    def read_slowly(directory):
        models = read_models(directory)
        time.sleep(0.05)  # in which the others would read the same
        return models

    monkeypatch.setattr(files, "read_models", read_slowly)
    files.register(tmp_path, "first")
    names = [f"model-{i}" for i in range(5)]
    exports = [threading.Thread(target=files.register, args=(tmp_path, name)) for name in names]
    for export in exports:
        export.start()
    for export in exports:
        export.join()
    listed = [model.name for model in read_models(tmp_path).model_config_list.config]
    assert sorted(listed) == ["first", *names]


def test_an_export_leaves_comments_in_models_config(tmp_path):
    path = tmp_path / "models.config"
    first = """# Mine: keep } version 1.
model_config_list {
  config {  # the first
    name: "first" base_path: "/models/first" model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 } }
  }
"""
    path.write_text(first + "}\n# The end }")
    files.register(tmp_path, "second")
    second = """  config {
    name: "second"
    base_path: "/models/second"
    model_platform: "tensorflow"
  }
"""
    assert path.read_text() == first + second + "}\n# The end }"


@pytest.mark.parametrize(
    "text",
    [
        'model_config_list: < config < name: "first" base_path: "x" model_platform: "tensorflow" > >  # old style',
        "model_config_list {}",
        "# nothing yet",
    ],
)
def test_an_export_adds_to_any_list_of_models(text, tmp_path):
    (tmp_path / "models.config").write_text(text)
    listed = [model.name for model in files.read_models(tmp_path).model_config_list.config]
    files.register(tmp_path, "second")
    found = files.read_models(tmp_path).model_config_list.config
    assert [model.name for model in found] == [*listed, "second"]


def test_batching_values_as_one_may_write_them(tmp_path):
    assert files.batching_values(tmp_path) == {}
    files.register(tmp_path, "a")
    assert files.batching_values(tmp_path)["max_batch_size"] == 32
    other = (
        'max_batch_size: <value:8> num_batch_threads {\n value: 3 }  # two on one line\nthread_pool_name {value: "x"}'
    )
    (tmp_path / files.BATCHING).write_text(other)
    assert files.batching_values(tmp_path) == {"max_batch_size": 8, "num_batch_threads": 3}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"max_batch_size { value: many }", "is broken: 1:25 : .*many"),
        (b"max_batch_size { value: 1", "is broken: "),
        (b"# \xff", "is broken: 'utf-8' codec"),
        (b"num_batch_threads { value: 0 }", "num_batch_threads is 0, and has to be 1 or more"),
        (b"num_batch_threads { value: 3000000000 }", "num_batch_threads is 3000000000, and has to be 1,024 or less"),
        (b"batch_timeout_micros { value: -1 }", "batch_timeout_micros is -1, and has to be 0 or more"),
    ],
)
def test_batching_values_that_are_wrong(text, problem, tmp_path):
    (tmp_path / files.BATCHING).write_bytes(text)
    with pytest.raises(UserError, match=f"batching.config: {problem}"):
        files.batching_values(tmp_path)


@pytest.mark.parametrize(
    "base_path, folder",
    [
        ("/models/a", "{here}/a"),
        ("/models//a", "{here}/a"),
        ("/models", "{here}"),
        ("a/b", "{here}/a/b"),
        ("/models-of-old/a", "/models-of-old/a"),
        ("/srv/models/a", "/srv/models/a"),
    ],
)
def test_what_a_base_path_is_on_this_machine(base_path, folder, tmp_path):
    assert str(files.base_path(tmp_path, ModelConfig(base_path=base_path))) == folder.format(here=tmp_path)
