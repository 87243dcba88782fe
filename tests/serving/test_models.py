"""Which versions of which models are served, whatever happens to their folders. The versions themselves are fakes."""

import asyncio
from types import SimpleNamespace

import pytest

from tfnmt.serving.models import Models, State


def load_version(name, path):
    if (path / "broken").exists():
        raise ValueError("broken")
    return SimpleNamespace(number=int(path.name), waiting_rows=0)


@pytest.fixture
def folder(tmp_path):
    """A folder of servables with versions 1 and 2 of "a", version 1 of "b"."""
    for version in ("a/1", "a/2", "b/1"):
        (tmp_path / version).mkdir(parents=True)
    configure(tmp_path, "a", "b")
    return tmp_path


def configure(folder, *names):
    configs = "".join(f'config {{ name: "{name}" base_path: "{name}" model_platform: "tensorflow" }}' for name in names)
    (folder / "models.config").write_text(f"model_config_list {{ {configs} }}")


def watched(folder, change, until):
    """The models after `change()`, once `until(models)` holds."""

    async def main():
        models = Models(folder, load_version)
        await models.update()
        watching = asyncio.create_task(models.watch(0.001))
        change()
        async with asyncio.timeout(10):
            while not until(models):
                assert not watching.done()
                await asyncio.sleep(0.001)
        watching.cancel()
        return models

    return asyncio.run(main())


def test_the_newest_version_is_served(folder):
    models = watched(folder, (folder / "a" / "3").mkdir, lambda models: models.available()["a"] == [3])
    assert models.available() == {"a": [3], "b": [1]} and models.states("a")[2] == (State.END, "")


def test_the_watcher_survives_a_base_path_that_is_a_file(folder, logged):
    def change():
        (folder / "a").rename(folder / "old")
        (folder / "a").write_text("")
        (folder / "b" / "2").mkdir()

    models = watched(folder, change, lambda models: models.available()["b"] == [2])
    assert models.available()["a"] == [2]  # what is loaded still works
    assert [line for line in logged() if "Not a directory" in line] == [
        f"a: NotADirectoryError: [Errno 20] Not a directory: '{folder / 'a'}'; the versions served so far stay"
    ]


def test_a_server_starts_with_a_base_path_that_is_a_file(folder):
    (folder / "c").write_text("")
    configure(folder, "c", "b")
    models = watched(folder, lambda: None, lambda models: True)
    assert models.available() == {"c": [], "b": [1]}


def test_the_watcher_survives_folders_that_vanish_while_it_looks(folder, monkeypatch):
    from tfnmt.serving import models as module

    def vanished(path):
        raise FileNotFoundError(2, "No such file or directory", str(path))

    def change():
        monkeypatch.setattr(module, "_fingerprint", vanished)
        (folder / "a" / "3").mkdir()
        asyncio.get_running_loop().call_later(0.05, lambda: monkeypatch.setattr(module, "_fingerprint", lambda _: []))

    assert watched(folder, change, lambda models: models.available()["a"] == [3]).available()["a"] == [3]


def test_the_watcher_survives_any_error(folder, monkeypatch, logged):
    update, calls = Models.update, []

    async def sometimes(models):
        calls.append(models)
        if 2 <= len(calls) < 10:
            raise RuntimeError("nobody thought of this")
        await update(models)

    monkeypatch.setattr(Models, "update", sometimes)
    models = watched(folder, (folder / "a" / "3").mkdir, lambda models: models.available()["a"] == [3])
    assert models.available()["a"] == [3]
    assert logged().count("looking for changes failed: RuntimeError('nobody thought of this'); looking again") == 1


def test_a_missing_models_config_is_complained_about_once(folder, logged):
    def change():
        (folder / "models.config").unlink()
        (folder / "a" / "3").mkdir()

    watched(folder, change, lambda models: models.available()["a"] == [3])
    assert len([line for line in logged() if "models.config: cannot be read" in line]) == 1
