"""Checkpoints: that they hold everything, that broken ones do no harm, and that a full disk leaves the old ones."""

import errno
import os
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

from tfnmt.errors import UserError
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.progress import Progress

UNITS = 100  # of a matrix of 40 kB, and Adam's two of that size


def new_run(directory, keep=2):
    """A model, its progress and its checkpoints, as at the start of a run."""
    model = keras.Sequential([keras.Input([UNITS]), keras.layers.Dropout(0.5), keras.layers.Dense(UNITS)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    progress = Progress(10)
    return model, progress, Checkpoints(directory / "checkpoints", model, progress, keep)


def save(directory, *steps, keep=2):
    """Checkpoints at these steps; every variable of each is the number of the step."""
    model, progress, checkpoints = new_run(directory, keep)
    for progress.steps in steps:
        fill(model, progress.steps)
        checkpoints.save()


def fill(model, value):
    for variable in model.variables + model.optimizer.variables:
        variable.assign(np.full(variable.shape, value))


def held(model):
    return {float(value) for variable in model.variables + model.optimizer.variables for value in np.ravel(variable)}


def files(directory):
    return sorted(path.name for path in directory.glob("checkpoints/*"))


def pair(step):
    return [f"step-{step}.data-00000-of-00001", f"step-{step}.index"]


def test_everything_comes_back(tmp_path):
    model, progress, checkpoints = new_run(tmp_path)
    progress.steps, progress.best_score, progress.history = 7, 0.1 + 0.2, [{"epoch": 1, "dev_loss": 1e-300}]
    fill(model, 7)
    checkpoints.save()
    assert checkpoints.newest() == tmp_path / "checkpoints" / "step-7"
    other_model, other_progress, other_checkpoints = new_run(tmp_path)
    assert other_checkpoints.restore()
    assert held(other_model) == {7.0}
    assert other_progress == progress


def test_only_the_newest_are_kept(tmp_path):
    save(tmp_path, 8, 9, 10, 11)
    assert files(tmp_path) == pair(10) + pair(11)
    model, _, checkpoints = new_run(tmp_path)
    assert checkpoints.restore()
    assert held(model) == {11.0}


def test_a_passing_one_goes_with_the_next_and_takes_no_place(tmp_path):
    _, progress, checkpoints = new_run(tmp_path)
    for progress.steps, passing in ((1, False), (2, False), (3, True), (4, False)):
        checkpoints.save(passing)
    assert files(tmp_path) == pair(2) + pair(4)
    checkpoints.save(passing=True)
    checkpoints.save()  # of the same step, and to stay
    progress.steps = 5
    checkpoints.save()
    assert files(tmp_path) == pair(4) + pair(5)


def test_a_passing_one_is_known_as_such_by_a_run_that_goes_on(tmp_path):
    _, progress, checkpoints = new_run(tmp_path)
    for progress.steps, passing in ((1, False), (2, False), (3, True)):
        checkpoints.save(passing)
    _, progress, checkpoints = new_run(tmp_path)
    assert checkpoints.restore()
    progress.steps = 4
    checkpoints.save()
    assert files(tmp_path) == pair(2) + pair(4)


def test_a_disk_that_is_full_leaves_a_checkpoint_of_the_same_step(tmp_path, monkeypatch):
    model, _, checkpoints = new_run(tmp_path)
    save(tmp_path, 3, 4)
    assert checkpoints.restore()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoints.checkpoint, "write", full)
    with pytest.raises(UserError, match="step-4: cannot be written"):
        checkpoints.save()
    assert files(tmp_path) == pair(3) + pair(4)


def test_there_may_be_none(tmp_path):
    _, _, checkpoints = new_run(tmp_path)
    assert checkpoints.newest() is None
    assert not checkpoints.restore()


def cut_to(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def garbage(path):
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


BREAKS = {"cut short": cut_to(0.5), "empty": cut_to(0), "garbage": garbage, "missing": lambda path: path.unlink()}


@pytest.mark.parametrize("extension", [".index", ".data-00000-of-00001"])
@pytest.mark.parametrize("how", BREAKS)
def test_of_a_broken_one_the_one_before_it_is_used(how, extension, tmp_path, logged):
    save(tmp_path, 1, 2)
    broken = tmp_path / "checkpoints" / "step-2"
    BREAKS[how](broken.with_name("step-2" + extension))
    model, progress, checkpoints = new_run(tmp_path)
    assert checkpoints.restore()
    assert held(model) == {1.0} and progress.steps == 1
    lines = logged()
    if (how, extension) == ("missing", ".index"):
        assert lines == [], "killed before its last file was there, it never was a checkpoint"
    else:
        (line,) = lines
        assert line.startswith(f"{broken}: this checkpoint cannot be read, trying the one before it (")
    set_aside = [f"unreadable-{name}" for name in pair(2)]
    if how == "missing":  # the index alone is set aside; data without an index are the remains of a kill, and go
        set_aside = set_aside[1:] if extension != ".index" else []
    assert files(tmp_path) == pair(1) + set_aside
    progress.steps = 2
    checkpoints.save()
    assert files(tmp_path) == pair(1) + pair(2) + set_aside


def test_if_none_can_be_read_they_are_left_alone(tmp_path, logged):
    save(tmp_path, 1, 2)
    for path in tmp_path.glob("checkpoints/*.index"):
        garbage(path)
    _, _, checkpoints = new_run(tmp_path)
    with pytest.raises(UserError, match="no checkpoint there can be read"):
        checkpoints.restore()
    assert files(tmp_path) == pair(1) + pair(2)
    assert len(logged()) == 2


def test_those_of_another_model_cannot_be_read(tmp_path, monkeypatch):
    save(tmp_path, 1)
    monkeypatch.setitem(globals(), "UNITS", 90)
    _, _, checkpoints = new_run(tmp_path)
    with pytest.raises(UserError, match="no checkpoint there can be read"):
        checkpoints.restore()


def test_what_a_kill_left_half_written_is_removed(tmp_path):
    save(tmp_path, 1)
    directory = tmp_path / "checkpoints"
    (directory / "step-2.data-00000-of-00001").write_bytes(b"half")
    (directory / "step-1_temp").mkdir()
    (directory / "step-3_temp").mkdir()
    (directory / "step-3_temp" / "part-00000-of-00001.data-00000-of-00001").write_bytes(b"half")
    (directory / "notes.txt").write_text("the user's own")
    model, progress, checkpoints = new_run(tmp_path)
    assert checkpoints.restore() and held(model) == {1.0}
    progress.steps = 3
    checkpoints.save()
    assert files(tmp_path) == ["notes.txt", *pair(1), *pair(3)]


@pytest.mark.parametrize("room", [0, 10_000, 60_000, 121_000], ids=lambda room: f"{room} bytes")
def test_a_full_disk_leaves_the_ones_before(room, tmp_path, full_disk):
    model, progress, checkpoints = new_run(tmp_path)
    for progress.steps in (1, 2):
        fill(model, progress.steps)
        checkpoints.save()
    fill(model, 3)
    progress.steps = 3
    with full_disk(room), pytest.raises(UserError) as caught:
        checkpoints.save()
    assert str(caught.value) == (
        f"{tmp_path / 'checkpoints' / 'step-3'}: cannot be written (File too large);"
        " what was saved before is whole: put that right, then run it again (training: with --resume)"
    )
    assert files(tmp_path) == pair(1) + pair(2)
    model, _, checkpoints = new_run(tmp_path)
    assert checkpoints.restore()
    assert held(model) == {2.0}


def test_too_little_room_is_told_before_it_is_needed(tmp_path, monkeypatch):
    _, _, checkpoints = new_run(tmp_path, keep=2)
    size = 4 * 3 * UNITS * (UNITS + 1)  # of weights and Adam's two, but for a few scalars
    for free, enough in ((4 * size, True), (3 * size, False), (2.5 * size, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: shutil._ntuple_diskusage(1e9, 0, int(free)))
        if enough:
            checkpoints.require_space()
        else:
            with pytest.raises(UserError) as caught:
                checkpoints.require_space()
            assert str(caught.value) == (
                f"{tmp_path / 'checkpoints'}: there is room for 2 checkpoints of 0.1 MB, and 3 are to come;"
                " free some, keep fewer (keep_checkpoints), or name another --output"
            )
    save(tmp_path, 1, 2)
    checkpoints.require_space()


def test_finding_what_is_not_finite(tmp_path):
    model, _, checkpoints = new_run(tmp_path)
    assert checkpoints.all_finite()
    for variable in (model.trainable_variables[0], model.optimizer.variables[-1]):
        for value in (np.nan, np.inf):
            array = variable.numpy()
            array.flat[1] = value
            variable.assign(array)
            assert not checkpoints.all_finite()
        variable.assign(np.zeros(variable.shape))
        assert checkpoints.all_finite()


def test_what_was_set_aside_can_be_put_back(tmp_path):
    save(tmp_path, 1, 2)
    index = tmp_path / "checkpoints" / "step-2.index"
    good = index.read_bytes()
    garbage(index)
    new_run(tmp_path)[2].restore()
    index.with_name("unreadable-step-2.index").unlink()
    index.write_bytes(good)
    data = index.with_name("step-2.data-00000-of-00001")
    data.with_name(f"unreadable-{data.name}").rename(data)
    model, _, checkpoints = new_run(tmp_path)
    assert checkpoints.restore() and held(model) == {2.0}


def test_an_index_is_removed_before_its_data(tmp_path, monkeypatch):
    """So that a kill between them leaves no index without data, which would be taken for a checkpoint."""
    save(tmp_path, 1, 2)
    gone, unlink, rename = [], Path.unlink, Path.rename
    monkeypatch.setattr(Path, "unlink", lambda path, *a: gone.append(path.name) or unlink(path, *a))
    monkeypatch.setattr(Path, "rename", lambda path, to: gone.append(path.name) or rename(path, to))
    save(tmp_path, 3)
    assert [name.split(".")[1].split("-")[0] for name in gone if name.startswith("step-1")] == ["index", "data"]
    (tmp_path / "checkpoints" / "step-3.index").write_bytes(b"")
    gone.clear()
    new_run(tmp_path)[2].restore()
    assert gone[:2] == ["step-3.index", "step-3.data-00000-of-00001"]
