"""Which versions of which models are served, whatever happens to their folders. The versions themselves are fakes."""

import asyncio
import threading
import weakref
from pathlib import Path

import grpc
import pytest
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving.conftest import FakeVersion
from tfnmt.errors import UserError
from tfnmt.serving import models as serving_models
from tfnmt.serving.files import version_folders
from tfnmt.serving.models import Models
from tfnmt.serving.requests import RequestError
from tfnmt.serving.served_model import State


def load_version(name, path):
    if (path / "broken").exists():
        raise ValueError("broken")
    return FakeVersion(path)


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


def entry(name, platform="tensorflow", base_path="a", more=""):
    return f'config {{ name: "{name}" base_path: "{base_path}" model_platform: "{platform}" {more} }}'


@pytest.mark.parametrize(
    "configs, problem",
    [
        (entry("a") + entry("a"), "Illegal to list model a multiple times in config list"),
        (entry("a", platform="torch"), "Model a requests unsupported platform torch"),
        (entry("a", platform=""), "Illegal setting neither ModelServerConfig::model_type .* .model a."),
        (entry(""), "a model without a name"),
        (entry("a", base_path=""), "Model a has no base_path"),
        (entry("a", base_path="b\\000"), r"Model a has a base_path that no folder can have: 'b\\x00'"),
    ],
)
def test_lists_of_models_that_are_refused(folder, configs, problem):
    path = folder / "models.config"
    path.write_text(f"model_config_list {{ {configs} }}")
    with pytest.raises(UserError, match=f"models.config: {problem}"):
        Models(folder, load_version)
    path.write_text("custom_model_config { }")
    with pytest.raises(UserError, match="models.config: custom_model_config is not supported"):
        Models(folder, load_version)


def test_the_deprecated_type_of_a_model_is_as_good_as_its_platform(folder):
    path = folder / "models.config"
    path.write_text('model_config_list { config { name: "a" base_path: "a" model_type: TENSORFLOW } }')
    assert list(Models(folder, load_version).names()) == ["a"]


def test_labels_of_versions_that_are_not_available(folder, logged):
    labels = 'version_labels { key: "old" value: 1 } version_labels { key: "new" value: 2 }'
    (folder / "models.config").write_text(f"model_config_list {{ {entry('a', more=labels)} }}")
    models = watched(folder, lambda: None, lambda models: True)
    assert models.find("a", label="new").number == 2 and list(models.states("a", label="new")) == [2]
    with pytest.raises(RequestError, match=r"Servable not found for request: Specific\(a, 1\)"):
        models.find("a", label="old")
    for find in (models.find, models.states):
        with pytest.raises(RequestError, match="Unrecognized servable version label: other"):
            find("a", label="other")
    with pytest.raises(RequestError, match="Unrecognized servable version label: new"):
        models.find("b2", label="new")
    complaint = "label old is that of version 1 of model a, which is not available"
    assert [line for line in logged() if line.startswith("label")] == [complaint]


def test_two_wrong_labels_are_told_once(folder, logged):
    """Also when all is looked at again; and anew once they have been right."""

    async def main():
        models = Models(folder, load_version)
        for labels in (wrong, wrong, "", wrong):
            (folder / "models.config").write_text(f"model_config_list {{ {entry('a', more=labels)} }}")
            await models.update()
            await models.update()

    wrong = 'version_labels { key: "old" value: 1 } version_labels { key: "next" value: 3 }'
    asyncio.run(main())
    told = [line for line in logged() if line.startswith("label")]
    assert len(told) == 2 and "label old is" in told[0] and "label next is" in told[0]


def test_another_folder_of_the_same_version_is_served_in_its_place(folder):
    async def main():
        models = Models(folder, load_version)
        await models.update()
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', base_path='b')} }}")
        (folder / "b" / "2").mkdir()
        await models.update()
        assert models.find("a").path == folder / "b" / "2"
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', base_path='c')} }}")
        await models.update()
        assert models.find("a").path == folder / "b" / "2"  # until there is something there

    asyncio.run(main())


def test_a_version_that_is_served_is_available_whatever_was_refused_meanwhile(folder):
    """In its place another folder's version of that number was to be served."""
    (folder / "broken" / "2").mkdir(parents=True)
    (folder / "broken" / "2" / "broken").touch()

    async def main():
        models = Models(folder, load_version)
        await models.update()
        for base_path in ("broken", "a"):
            (folder / "models.config").write_text(f"model_config_list {{ {entry('a', base_path=base_path)} }}")
            await models.update()
            assert models.find("a").path == folder / "a" / "2"
            assert models.states("a", 2) == {2: (State.AVAILABLE, "")}

    asyncio.run(main())


def test_a_refused_version_is_tried_again_when_its_files_become_readable(folder):
    def refuse_unreadable(name, path):
        if any(not file.stat().st_mode & 0o044 for file in path.iterdir()):
            raise OSError("Permission denied")
        return FakeVersion(path)

    async def main():
        file = folder / "b" / "1" / "file"
        file.touch()
        file.chmod(0o600)
        models = Models(folder, refuse_unreadable)
        await models.update()
        assert models.available()["b"] == []
        file.chmod(0o644)
        await models.update()
        assert models.available()["b"] == [1]

    asyncio.run(main())


def test_a_version_whose_files_cannot_be_looked_at_is_refused_and_the_others_are_served(folder, logged):
    """As in a folder without permission; but a link to so long a name is an error for root, too."""
    (folder / "a" / "3").mkdir()
    link = folder / "a" / "3" / "link"
    link.symlink_to("x" * 256)
    reason = f"OSError: [Errno 36] File name too long: '{link}'"

    async def main():
        models = Models(folder, load_version)
        for _ in range(2):
            await models.update()
            assert models.available() == {"a": [2], "b": [1]}
            assert models.states("a") == {3: (State.END, reason), 2: (State.AVAILABLE, "")}
        link.unlink()
        await models.update()
        assert models.available() == {"a": [3], "b": [1]}

    asyncio.run(main())
    assert logged().count(f"a: version 3 is refused: {reason}") == 1


def test_a_version_that_goes_while_it_is_loaded(folder, logged):
    def remove(name, path):
        path.rmdir()
        raise FileNotFoundError(2, "No such file or directory")

    async def main():
        models = Models(folder, load_version)
        await models.update()
        (folder / "a" / "3").mkdir()
        models._load_version = remove
        for states in ({3: (State.END, reason), 2: (State.AVAILABLE, "")}, {2: (State.AVAILABLE, "")}):
            await models.update()
            assert models.states("a") == states

    reason = "its folder went while it was loaded"
    asyncio.run(main())
    assert logged()[-1] == f"a: version 3 is refused: {reason}"


@pytest.mark.parametrize("later", [False, True])
def test_the_status_says_why_a_version_is_refused_that_another_folder_had(folder, later):
    """Whether or not there is another version to serve by then."""
    every = "model_version_policy { all { } }"
    (folder / "c" / "2").mkdir(parents=True)
    (folder / "c" / "2" / "broken").touch()

    async def main():
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', more=every)} }}")
        models = Models(folder, load_version)
        await models.update()
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', base_path='c', more=every)} }}")
        if later:
            await models.update()
            assert models.states("a") == {2: (State.AVAILABLE, ""), 1: (State.AVAILABLE, "")}
        (folder / "c" / "3").mkdir()
        for _ in range(2):
            await models.update()
            assert models.states("a") == {3: (State.AVAILABLE, ""), 2: (State.END, "ValueError: broken")}

    asyncio.run(main())


def test_a_folder_without_a_version_to_serve_is_told_once(folder, logged):
    async def main():
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', base_path='typo')} }}")
        models = Models(folder, load_version)
        for _ in range(2):
            await models.update()
        none = f"a: no version to serve in {folder / 'typo'}"
        assert logged().count(none) == 1
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a')} }}")
        await models.update()
        three = "model_version_policy { specific { versions: 3 } }"
        (folder / "models.config").write_text(f"model_config_list {{ {entry('a', more=three)} }}")
        for _ in range(2):
            await models.update()
        assert models.available() == {"a": [2]}

    asyncio.run(main())
    assert logged().count(f"a: no version to serve in {folder / 'a'}; the versions served so far stay") == 1


def test_a_version_may_begin_with_zeros(folder):
    (folder / "a" / "00000123").mkdir()
    (folder / "a" / "0000").mkdir()
    (folder / "b" / "001").mkdir()
    models = watched(folder, lambda: None, lambda models: models.available()["a"])
    assert models.available() == {"a": [123], "b": [1]}
    assert models.find("a").path.name == "00000123" and models.find("b").path.name == "1"


def test_a_version_may_be_a_time_in_nanoseconds(folder):
    numbers = [1795966322745135450, 2**63 - 1, 2**63, 10**19]
    for number in numbers:
        (folder / "a" / str(number)).mkdir()
    assert list(version_folders(folder / "a")) == [1, 2, *numbers[:2]]


def test_a_version_that_is_written_anew_is_loaded_again(folder):
    """Its number does not change, as where a folder is emptied and a model exported to it."""

    async def main():
        models = Models(folder, load_version)
        await models.update()
        first = models.find("a")
        for file in ("saved_model.pb", "assets.extra/tfnmt.json"):  # the second comes late in a slow copy
            path = folder / "a" / "2" / file
            path.parent.mkdir(exist_ok=True)
            path.touch()
            await models.update()
            assert models.find("a") is not first
            first = models.find("a")
        path.chmod(0o600)
        await models.update()
        assert models.find("a") is first, "what is in its files is the same"

        (folder / "a" / "2" / "broken").touch()
        await models.update()
        assert models.find("a") is first and models.states("a", 2) == {2: (State.AVAILABLE, "")}

    asyncio.run(main())


def test_a_refused_version_is_tried_again_when_files_behind_a_link_change(folder, tmp_path_factory):
    def refuse_empty(name, path):
        if not list((path / "variables").iterdir()):
            raise OSError("no variables")
        return FakeVersion(path)

    shared = tmp_path_factory.mktemp("shared")
    for version in ("a/1", "a/2", "b/1"):
        (folder / version / "variables").symlink_to(shared)

    async def main():
        models = Models(folder, refuse_empty)
        await models.update()
        assert models.available() == {"a": [], "b": []}
        (shared / "variables.index").touch()
        await models.update()
        assert models.available() == {"a": [2], "b": [1]}

    asyncio.run(main())


def test_a_reload_fails_where_a_new_model_does_not_load(folder):
    """What loads is served, what is no longer listed is not, and what is not new is not looked at."""
    for version in ("c/1", "c/2", "d/1"):
        (folder / version).mkdir(parents=True)
    for version in ("c/1", "c/2"):
        (folder / version / "broken").touch()
    entries = "".join(entry(name, base_path=name) for name in "acde")
    config = text_format.Parse(f"model_config_list {{ {entries} }}", ModelServerConfig())

    async def main():
        models = Models(folder, load_version)
        await models.update()
        with pytest.raises(RequestError) as caught:
            await models.reload(config)
        assert caught.value.code == grpc.StatusCode.UNKNOWN
        assert caught.value.message == (
            "Some models did not become available: c, e; they are loaded once their folders are mended. "
            "c, version 2: ValueError: broken; e: no version to serve in e"
        )
        assert models.available() == {"a": [2], "c": [], "d": [1], "e": []}
        await models.reload(config)

    asyncio.run(main())


class Reload:
    """A reload for "a", "c" and "d", whose client waits no longer when version 1 of "c" is being loaded."""

    def __init__(self, folder):
        for name in "cd":
            (folder / name / "1").mkdir(parents=True)
        self.folder, self.loads, self.goes_on = folder, [], threading.Event()

    def load(self, name, path):
        self.loads.append(name)
        assert name != "c" or self.goes_on.wait(10)
        return FakeVersion(path)

    async def abandoned(self):
        models = Models(self.folder, self.load)
        await models.update()
        entries = "".join(entry(name, base_path=name) for name in "acd")
        config = text_format.Parse(f"model_config_list {{ {entries} }}", ModelServerConfig())
        client = asyncio.create_task(models.reload(config))
        while "c" not in self.loads:
            await asyncio.sleep(0.001)
        client.cancel()
        with pytest.raises(asyncio.CancelledError):
            await client
        return models


def test_a_reload_is_finished_whether_or_not_its_client_waits(folder):
    reload = Reload(folder)

    async def main():
        models = await reload.abandoned()
        reload.goes_on.set()
        await models.update()
        assert models.available() == {"a": [2], "c": [1], "d": [1]}

    asyncio.run(main())
    assert reload.loads == ["a", "b", "c", "d"]


def test_a_reload_without_a_client_ends_with_the_server(folder, caplog):
    reload = Reload(folder)
    asyncio.run(reload.abandoned())
    reload.goes_on.set()
    assert reload.loads == ["a", "b", "c"] and not [each for each in caplog.records if each.name == "asyncio"]


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


def test_requests_are_answered_while_a_file_system_hangs(folder, monkeypatch):
    asked, goes_on = threading.Event(), threading.Event()
    in_time = []

    def hanging(path):
        asked.set()
        in_time.append(goes_on.wait(2))
        return version_folders(path)

    async def main():
        models = Models(folder, load_version)
        await models.update()
        monkeypatch.setattr(serving_models, "version_folders", hanging)
        updating = asyncio.create_task(models.update())
        while not asked.is_set():
            await asyncio.sleep(0.001)
        assert models.find("a").path == folder / "a" / "2"
        goes_on.set()
        await updating

    asyncio.run(main())
    assert in_time == [True, True]


def test_folders_are_looked_for_where_requests_do_not_wait(folder, monkeypatch):
    (folder / "a" / "3").mkdir()
    (folder / "a" / "3" / "broken").touch()
    is_dir, threads = Path.is_dir, []
    monkeypatch.setattr(Path, "is_dir", lambda path: threads.append(threading.current_thread().name) or is_dir(path))
    models = Models(folder, load_version)
    asyncio.run(models.update())
    assert models.states("a", 3) == {3: (State.END, "ValueError: broken")} and set(threads) == {"loader_0"}


def test_the_newest_version_is_served(folder):
    models = watched(folder, (folder / "a" / "3").mkdir, lambda models: models.available()["a"] == [3])
    assert models.available() == {"a": [3], "b": [1]} and models.states("a")[2] == (State.END, "")


def test_a_version_whose_folder_goes_is_served_until_another_is_loaded(folder):
    async def main():
        models = Models(folder, load_version)
        await models.update()
        (folder / "a" / "3").mkdir()
        (folder / "a" / "3" / "broken").touch()
        for number in ("1", "2"):
            (folder / "a" / number).rmdir()
        await models.update()
        assert models.available()["a"] == [2]
        (folder / "a" / "4").mkdir()
        await models.update()
        assert models.available()["a"] == [4]

    asyncio.run(main())


def test_a_version_is_freed_once_it_has_answered_its_requests(folder):
    async def main():
        models = Models(folder, load_version)
        await models.update()
        answering = models.find("a")
        answering.itself = answering  # as a real one, which is in cycles
        version = weakref.ref(answering)
        (folder / "a" / "3").mkdir()
        await models.update()
        assert models.find("a").number == 3 and version() is answering
        del answering
        await models.update()
        assert version() is None

    asyncio.run(main())


def test_what_a_version_that_is_refused_has_loaded_is_freed(folder):
    parts = []

    def load(name, path):
        version = FakeVersion(path)
        if path.name == "3":
            version.itself = version
            parts.append(weakref.ref(version))
            raise ValueError("broken")
        return version

    async def main():
        models = Models(folder, load)
        (folder / "a" / "3").mkdir()
        await models.update()
        assert models.available() == {"a": [2], "b": [1]} and [part() for part in parts] == [None]

    asyncio.run(main())


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


@pytest.mark.parametrize("becomes_a_folder", [False, True])
def test_a_models_config_that_cannot_be_read_is_complained_about_once(folder, logged, becomes_a_folder):
    def change():
        (folder / "models.config").unlink()
        if becomes_a_folder:
            (folder / "models.config").mkdir()
        (folder / "a" / "3").mkdir()

    watched(folder, change, lambda models: models.available()["a"] == [3])
    assert len([line for line in logged() if "models.config: cannot be read" in line]) == 1


def test_as_many_of_the_newest_versions_are_served_as_the_policy_says(folder):
    two = "model_version_policy { latest { num_versions: 2 } }"
    (folder / "models.config").write_text(f"model_config_list {{ {entry('a', more=two)} }}")
    models = watched(folder, (folder / "a" / "3").mkdir, lambda models: 3 in models.available()["a"])
    assert models.available() == {"a": [2, 3]} and models.find("a").number == 3
    assert models.find("a", 2).number == 2


def test_a_reload_whose_label_is_of_a_version_that_is_not_served_is_refused(folder):
    """It changes nothing."""
    labels = 'version_labels { key: "old" value: 1 }'
    entries = entry("a", more=labels) + entry("b", base_path="b")
    config = text_format.Parse(f"model_config_list {{ {entries} }}", ModelServerConfig())

    async def main():
        models = Models(folder, load_version)
        await models.update()
        with pytest.raises(RequestError, match="assign label to version 1 of model a, which is not") as caught:
            await models.reload(config)
        assert caught.value.code == grpc.StatusCode.FAILED_PRECONDITION
        with pytest.raises(RequestError, match="Unrecognized servable version label: old"):
            models.find("a", label="old")

    asyncio.run(main())
