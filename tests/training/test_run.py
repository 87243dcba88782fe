"""A run as a whole, on a small model: that a killed one ends as if nothing had been, and when it stops."""

import csv
import functools
import io
import itertools
import json
import math
import re
import shutil
import signal
from types import SimpleNamespace
from unittest import mock

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt import signals as signals_module
from tfnmt.data import progress as data_progress
from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.signals import StopSignals
from tfnmt.training import callbacks
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.digests import write_with_digest
from tfnmt.training.model_directory import WEIGHTS
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.replicas import Replicas
from tfnmt.training.run import TrainingRun
from tfnmt.training.run_lock import lock_directory
from tfnmt.training.trainer import train
from tfnmt.training.workers import Workers

SIZE, BATCH, BATCHES = 52, 8, 7  # the last batch has 4
RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(SIZE, 6)).astype(np.float32)
LABELS = (INPUTS @ RANDOM.normal(size=(6, 3)).astype(np.float32)).argmax(axis=1)
DEV = tf.data.Dataset.from_tensors((INPUTS[:20], LABELS[:20]))
EPOCHS = {"epochs": 4, "checkpoint_steps": 4, "selection": "loss", "learning_rate": 0.05}


def batches(epoch, skip):
    """`SIZE` examples in an order of the epoch's own."""

    def one_epoch(_):
        order = tf.random.experimental.stateless_shuffle(tf.range(SIZE), seed=tf.stack([tf.identity(epoch), 7]))
        return tf.data.Dataset.from_tensor_slices(order).batch(BATCH).skip(skip)

    numbers = tf.data.Dataset.range(1).flat_map(one_epoch)
    return numbers.map(lambda i: (tf.gather(INPUTS, i), tf.gather(LABELS, i)))


def dev_loss(model):
    """Sometimes better, sometimes worse, and another number if the weights differ ever so little."""
    return lambda: {"dev_loss": 3 + math.sin(1000 * model.evaluate(DEV, verbose=0)[0])}


def start(directory, resume=False, seed=1, scores=dev_loss, saved=None, session=None, **options):
    """Train a new model; returns it, the run's progress, and all that its newest checkpoint holds but the time."""
    directory.mkdir(exist_ok=True)
    configuration = TrainingConfiguration(**EPOCHS | options)
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input([6]), keras.layers.Dropout(0.3), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        make_optimizer(configuration, configuration.epochs * BATCHES), loss, metrics=["accuracy"], jit_compile=False
    )
    saved = [] if saved is None else saved

    def save(model, directory):
        saved.append(model.get_weights())
        h5py.File(directory / WEIGHTS, "w").close()

    with mock.patch.object(callbacks, "save_weights", save):
        return model, train(
            TrainingRun(directory, configuration, model, batches, BATCHES, scores(model), resume, **session or {})
        )


def newest_checkpoint(directory):
    """What the newest checkpoint of a run holds, but for the time it took."""
    newest = max(directory.glob("checkpoints/*.index"), key=lambda path: int(path.stem.split("-")[1]))
    reader = tf.train.load_checkpoint(str(newest.with_suffix("")))
    held = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if "GRAPH" not in name}
    progress = json.loads(held.pop("progress/.ATTRIBUTES/VARIABLE_VALUE"))
    for part in (progress, *progress["history"]):
        part.pop("seconds")
    return progress, held


def history(directory):
    with open(directory / "history.csv", newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def do_after(monkeypatch, owner, method, calls, act):
    """Act right after the call number `calls` of a method of a run."""
    original, done = getattr(owner, method), []

    def with_act(self, *arguments, **named):
        original(self, *arguments, **named)
        done.append(self)
        if len(done) == calls:
            act()

    monkeypatch.setattr(owner, method, with_act)


def start_with_kills(directory, kills, **options):
    """As `start`; {name: a directory as a kill at that moment would have left the run's}, beside it."""
    directories = {name: directory.with_name(f"killed {name}") for name in kills}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, place in kills.items():
            do_after(monkeypatch, *place, functools.partial(shutil.copytree, directory, directories[name]))
        return *start(directory, **options), directories


HARDEST = {"weight_average": 0.8, "accumulation_steps": 2, "schedule": "plateau", "plateau_patience": 1}
KILLS = {
    "before the first batch": (callbacks.CheckpointCallback, "on_epoch_begin", 1),
    "before a second checkpoint": (callbacks.CheckpointCallback, "on_train_batch_end", 3),
    "between two checkpoints": (callbacks.CheckpointCallback, "on_train_batch_end", 6),
    "at a checkpoint": (callbacks.CheckpointCallback, "on_train_batch_end", 12),
    "after an epoch's last batch": (callbacks.CheckpointCallback, "on_train_batch_end", 14),
    "after an epoch's scores": (callbacks.DevScoringCallback, "score", 2),
    "between two epochs": (callbacks.CheckpointCallback, "finish_epoch", 2),
    "in the last epoch": (callbacks.CheckpointCallback, "on_train_batch_end", 26),
}


@pytest.fixture(scope="module")
def whole_and_killed(tmp_path_factory):
    """A run that nothing interrupts, with all that a checkpoint has to remember; and what kills would leave of it."""
    directory = tmp_path_factory.mktemp("runs") / "whole"
    model, _, killed = start_with_kills(directory, KILLS, **HARDEST)
    return (directory, model.get_weights()), killed


@pytest.fixture(scope="module")
def whole(whole_and_killed):
    return whole_and_killed[0]


@pytest.mark.parametrize("kill", KILLS)
def test_a_killed_run_ends_as_if_nothing_had_been(kill, whole_and_killed):
    (directory, weights), killed = whole_and_killed
    model, _ = start(killed[kill], resume=True, seed=2, **HARDEST)

    for value, expected in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(value, expected)
    assert newest_checkpoint(killed[kill])[0] == newest_checkpoint(directory)[0]
    for name, expected in newest_checkpoint(directory)[1].items():
        np.testing.assert_array_equal(newest_checkpoint(killed[kill])[1][name], expected, err_msg=name)
    assert history(killed[kill]) == history(directory)
    assert [row["epoch"] for row in history(killed[kill])] == ["1", "2", "3", "4"]


SIGNALS = {
    "before the first batch": (callbacks.CheckpointCallback, "on_epoch_begin", 1, signal.SIGTERM, 0),
    "between two checkpoints": (callbacks.CheckpointCallback, "count_seconds", 6, signal.SIGHUP, 6),
    "at a checkpoint": (callbacks.CheckpointCallback, "count_seconds", 13, signal.SIGTERM, 12),
    "amid the scores": (callbacks.CheckpointCallback, "check_weights", 4, signal.SIGINT, 6),
}


@pytest.mark.usefixtures("heeded_signals")
@pytest.mark.parametrize("moment", SIGNALS.values(), ids=SIGNALS)
def test_a_signal_ends_a_run_with_what_it_has_trained(moment, whole, tmp_path, monkeypatch):
    *place, number, steps = moment
    handlers = [signal.getsignal(number) for number in signals_module.SIGNALS]
    with monkeypatch.context() as context, pytest.raises(InterruptedBySignal) as caught, StopSignals() as signals:
        do_after(context, *place, lambda: signal.raise_signal(number))
        start(tmp_path, session={"signals": signals}, **HARDEST)
    assert caught.value.signal == number
    assert [signal.getsignal(number) for number in signals_module.SIGNALS] == handlers
    assert checkpoint_names(tmp_path / "checkpoints")[0] == f"step-{steps}"
    model, _ = start(tmp_path, resume=True, seed=2, **HARDEST)
    for value, expected in zip(model.get_weights(), whole[1], strict=True):
        np.testing.assert_array_equal(value, expected)
    assert newest_checkpoint(tmp_path)[0] == newest_checkpoint(whole[0])[0]


def test_a_signal_that_comes_while_processes_agree_counts_after_the_next_batch(tmp_path, monkeypatch):
    """They agree on 0, since none had a signal when it was asked."""
    agreed = []

    def agree(replicas, number):
        agreed.append(number)
        if len(agreed) == 2:
            signal.raise_signal(signal.SIGTERM)
        return number

    with monkeypatch.context() as context, pytest.raises(InterruptedBySignal), StopSignals() as signals:
        context.setattr(Replicas, "agree", agree)
        start(tmp_path, session={"signals": signals}, **HARDEST)
    assert agreed == [0, 0, signal.SIGTERM]
    assert checkpoint_names(tmp_path / "checkpoints")[0] == "step-3"


def test_a_signal_that_another_process_has_received_for_this_one_ends_the_run(tmp_path):
    """As the command has that starts workers by Ray."""
    replicas = Replicas()
    replicas.outside_signal = lambda: signal.SIGTERM
    with pytest.raises(InterruptedBySignal) as caught, StopSignals() as signals:
        start(tmp_path, session={"signals": signals, "replicas": replicas})
    assert caught.value.signal == signal.SIGTERM
    assert checkpoint_names(tmp_path / "checkpoints")[0] == "step-1"


@pytest.mark.slow
def test_several_processes_stop_at_the_last_step_within_an_epoch_as_one_does(tmp_path):
    several = Replicas()
    several.processes = 2
    _, alone = start(tmp_path / "alone", steps=BATCHES + 2)
    _, together = start(tmp_path / "together", session={"replicas": several}, steps=BATCHES + 2)
    assert alone.steps == together.steps == BATCHES + 2
    assert checkpoint_names(tmp_path / "together" / "checkpoints") == checkpoint_names(tmp_path / "alone/checkpoints")


def test_the_checkpoint_before_an_epochs_last_batch_is_not_one_of_those_kept(whole):
    assert checkpoint_names(whole[0] / "checkpoints") == ["step-28", "step-24", "step-21"]


REMOVALS = {
    "between two batches": (callbacks.CheckpointCallback, "on_train_batch_end", 2),
    "amid the scores": (callbacks.CheckpointCallback, "check_weights", 3),
    "after an epoch's scores": (callbacks.DevScoringCallback, "score", 2),
}


@pytest.mark.parametrize("moment", REMOVALS.values(), ids=REMOVALS)
def test_a_directory_that_is_removed_ends_the_run(moment, tmp_path, monkeypatch):
    directory = tmp_path / "run"
    with monkeypatch.context() as context, pytest.raises(UserError) as caught, lock_directory(directory) as check:
        do_after(context, *moment, lambda: shutil.rmtree(directory))
        start(directory, session={"check_directory": check})
    assert (
        str(caught.value)
        == f"{directory / 'run.lock'}: was removed or replaced while the run was writing there: the run ends"
    )
    assert not directory.exists()


def test_a_killed_run_goes_on_along_its_cosine_schedule(tmp_path):
    options = {"schedule": "cosine", "warmup_steps": 3}
    kills = {"in the second epoch": (callbacks.CheckpointCallback, "on_train_batch_end", 13)}
    whole, progress, killed = start_with_kills(tmp_path / "whole", kills, **options)
    model, resumed = start(killed["in the second epoch"], resume=True, seed=2, **options)
    for value, expected in zip(model.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    rates = [row["learning_rate"] for row in resumed.history]
    assert rates == [row["learning_rate"] for row in progress.history]
    expected = [0.05 * (1 + math.cos(math.pi * (7 * epoch - 3) / 25)) / 2 for epoch in (1, 2, 3, 4)]
    np.testing.assert_allclose(rates, expected, rtol=1e-5, atol=1e-9)


def test_every_kind_of_state_was_there_to_be_lost(whole):
    directory, _ = whole
    progress, held = newest_checkpoint(directory)
    assert (progress["epoch"], progress["steps"], progress["batches"]) == (4, 28, 0)
    rates = [row["learning_rate"] for row in progress["history"]]
    assert rates[-1] < rates[0], "the plateau schedule had nothing to do"
    assert progress["best_epoch"] >= 1
    generators = [value for value in held.values() if value.dtype == np.int64 and value.shape == (2,)]
    assert len(generators) == 1 and generators[0].any(), "dropout has no state"


def test_a_run_that_is_over_is_left_as_it_is(whole, capsys, logged):
    directory, _ = whole
    before = newest_checkpoint(directory)[0]
    _, progress = start(directory, resume=True, **HARDEST)
    assert newest_checkpoint(directory)[0] == before
    assert progress.steps == 28
    assert logged() == ["the run is over, after 4 epochs"]
    assert capsys.readouterr() == ("", "")


def test_what_the_user_sees(tmp_path, capsys, logged, monkeypatch):
    start(tmp_path, epochs=2)
    assert capsys.readouterr() == ("", ""), "without a terminal, all is logged"
    begin, first, second = logged()
    assert begin == "2 epochs of 7 batches begin"
    pattern = r"epoch 1 of 2: accuracy: 0\.\d{4} - loss: \d\.\d{4} - dev_loss: \d\.\d{4} \(the best so far\)"
    assert re.fullmatch(pattern, first) and second.startswith("epoch 2 of 2: accuracy: 0.")
    head = (tmp_path / "history.csv").read_text().splitlines()[0]
    assert head == "epoch,steps,seconds,learning_rate,accuracy,loss,dev_loss"


@pytest.mark.parametrize(("warmup_steps", "warned"), [(7, False), (8, True)])
def test_few_updates_are_told(warmup_steps, warned, tmp_path, logged):
    start(tmp_path, epochs=2, warmup_steps=warmup_steps)  # of 7 batches
    message = "most of the 14 updates are the warm-up, in which the learning rate rises (warmup_steps=8); with more"
    assert [line.startswith(message) for line in logged()[1:2]] == [warned]


@pytest.mark.parametrize(("plateau_patience", "told"), [(1, False), (2, True)])
def test_a_plateau_that_ends_the_run_before_the_rate_is_halved_is_told(plateau_patience, told, tmp_path, logged):
    start(tmp_path, epochs=1, schedule="plateau", patience=2, plateau_patience=plateau_patience)
    expected = "the learning rate is never halved: patience=2 stops the run before plateau_patience=2 could halve it"
    assert (expected in logged()) == told


def test_a_terminal_shows_how_far_an_epoch_is(tmp_path, monkeypatch, capsys, logged):
    stream = io.StringIO()
    monkeypatch.setattr(data_progress.TerminalHandler, "shown", data_progress.TerminalHandler(stream))
    ticks = itertools.count()
    monkeypatch.setattr(data_progress, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    start(tmp_path, epochs=1)
    assert capsys.readouterr() == ("", "") and len(logged()) == 2
    assert "epoch 1 of 1: 7 of 7 batches, 1 a second, 0 s left; accuracy: 0." in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K"), "at the end, nothing of it is left"


@pytest.mark.slow
def test_long_epochs_are_followed_in_the_log(tmp_path, monkeypatch, logged):
    """Where each batch takes six seconds: every ten seconds."""
    ticks = itertools.count(0, 6)
    monkeypatch.setattr(data_progress, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    start(tmp_path, epochs=1)
    lines = logged(progress=True)
    pattern = r"epoch 1 of 1: 3 of 7 batches, 0\.17 a second, 24 s left; accuracy: 0\.\d{4} - loss: \d\.\d{4}"
    assert re.fullmatch(pattern, lines[1]) and len(lines) == 4


def test_what_is_said_of_a_run_that_ends_at_a_step(tmp_path, logged):
    start(tmp_path / "less", epochs=30, steps=3)
    start(tmp_path / "more", epochs=30, steps=9)
    start(tmp_path / "all", epochs=2, steps=14)
    begin = [line.removesuffix(" begin") for line in logged() if line.endswith(" begin")]
    assert begin == ["3 of the first epoch's 7 batches", "1 epoch of 7 batches, and 2 batches", "2 epochs of 7 batches"]


def test_a_resumed_epoch_has_the_figures_of_all_its_batches(tmp_path, logged):
    kills = {"in the second epoch": (callbacks.CheckpointCallback, "on_train_batch_end", 12)}
    *_, killed = start_with_kills(tmp_path / "whole", kills, epochs=2)
    *_, expected = logged()
    start(killed["in the second epoch"], resume=True, epochs=2)
    assert logged() == ["going on after 1 epoch and 5 batches", expected]


def test_the_seconds_of_a_run_are_those_of_all_its_sessions(tmp_path, monkeypatch):
    """By a clock that is a second later whenever it is looked at: once a batch, and after the scores."""
    ticks = itertools.count()
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    start(tmp_path, epochs=1)
    _, progress = start(tmp_path, resume=True, epochs=2)
    assert [row["seconds"] for row in progress.history] == [BATCHES + 1, 2 * (BATCHES + 1)]


class OfAWorker(Replicas):
    """One replica, with the random numbers of a worker of that index."""

    def __init__(self, index):
        self.index = index

    def separate_seeds(self, model):
        Workers.separate_seeds(self, model)


def test_each_worker_draws_numbers_of_its_own(tmp_path):
    """For dropout; the first those of one that trains alone."""
    alone, first, second = (
        start(tmp_path / name, epochs=1, session={"replicas": replicas})[0].get_weights()[0]
        for name, replicas in (("alone", Replicas()), ("first", OfAWorker(0)), ("second", OfAWorker(1)))
    )
    np.testing.assert_array_equal(first, alone)
    assert not np.array_equal(second, alone)


def test_files_that_are_changed_end_the_run_before_its_next_checkpoint(tmp_path):
    changed = mock.Mock(side_effect=[None] * 5 + [UserError("train.en: has changed")])
    with pytest.raises(UserError, match="train.en: has changed"):
        start(tmp_path, session={"check_files": changed}, checkpoint_steps=2)
    assert checkpoint_names(tmp_path / "checkpoints")[0] == "step-4"


@pytest.mark.parametrize("changed", [True, False])
def test_what_tensorflow_cannot_read_is_told_as_a_change_of_the_files_if_it_is_one(changed, tmp_path):
    failing = [None] * 3 + [UserError("train.en: has changed")] if changed else [None] * 4
    broken = functools.partial(_fail_at_the_fourth_batch, batches)
    with mock.patch(f"{__name__}.batches", broken), pytest.raises(UserError if changed else tf.errors.OpError) as error:
        start(tmp_path, session={"check_files": mock.Mock(side_effect=failing)})
    assert ("has changed" in str(error.value)) == changed


def _fail_at_the_fourth_batch(batches, epoch, skip):
    """Three batches, and then what TensorFlow says of a file that is shorter than before."""
    good = batches(epoch, skip).take(3)
    return good.concatenate(good.map(lambda x, y: (tf.debugging.check_numerics(x / 0.0, "broken"), y)))


def test_best_weights_that_are_gone_are_written_anew(tmp_path, logged):
    """Else those of a later epoch would have to be better than what is not there any more."""
    _, progress = start(tmp_path, epochs=2, scores=lambda _: lambda: {"dev_loss": 1.0})[:2]
    assert progress.best_epoch == 1
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(UserError, match=f"^{tmp_path / WEIGHTS}: is missing, and the run is over: tfnmt average-"):
        start(tmp_path, resume=True, epochs=2)
    _, progress = start(tmp_path, resume=True, epochs=3, scores=lambda _: lambda: {"dev_loss": 2.0})[:2]
    assert (progress.best_score, progress.best_epoch) == (-2.0, 3) and (tmp_path / WEIGHTS).exists()
    assert f"{tmp_path / WEIGHTS} is missing: the best weights from here on are kept" in logged()


@pytest.mark.parametrize("problem", ["is broken", "is not as it was written"])
def test_best_weights_that_are_not_whole_are_written_anew(problem, tmp_path, logged):
    path = tmp_path / WEIGHTS
    start(tmp_path, epochs=1, scores=lambda _: lambda: {"dev_loss": 1.0})
    if problem == "is broken":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        write_with_digest(path, b"what was written")
        path.write_bytes(b"what was not")
    with pytest.raises(UserError, match=f"^{path}: {problem}, and the run is over: tfnmt average-checkpoints --model"):
        start(tmp_path, resume=True, epochs=1)
    _, progress = start(tmp_path, resume=True, epochs=2, scores=lambda _: lambda: {"dev_loss": 2.0})[:2]
    assert (progress.best_score, progress.best_epoch) == (-2.0, 2)
    assert f"{path} {problem}: the best weights from here on are kept" in logged()


@pytest.mark.slow
def test_steps_that_were_done_already_are_scored(tmp_path):
    """As those of a run that had so many from its start; an epoch before has been scored."""
    start(tmp_path / "alone", epochs=9, steps=12)
    kills = {"late": (callbacks.CheckpointCallback, "on_train_batch_end", 12)}
    *_, killed = start_with_kills(tmp_path / "killed", kills, epochs=9, checkpoint_steps=3)
    for _ in range(2):
        start(killed["late"], resume=True, epochs=9, checkpoint_steps=3, steps=12)
        rows = [[row["epoch"], row["steps"]] for row in history(killed["late"])]
        assert rows == [[row["epoch"], row["steps"]] for row in history(tmp_path / "alone")]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_signal_in_an_epoch_s_last_batch_is_heeded_by_several_processes(processes, tmp_path, monkeypatch):
    with monkeypatch.context() as context, pytest.raises(InterruptedBySignal), StopSignals() as signals:
        context.setattr(Replicas, "processes", processes)
        do_after(context, callbacks.CheckpointCallback, "count_seconds", 7, lambda: signal.raise_signal(signal.SIGTERM))
        start(tmp_path, session={"signals": signals}, epochs=2)
    assert checkpoint_names(tmp_path / "checkpoints")[0] == "step-6", "that before the last of an epoch's 7"


def test_a_disk_without_room_is_told_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(UserError, match="there is room for 0 checkpoints"):
        start(tmp_path)
    assert not list(tmp_path.glob("checkpoints/*"))


def test_a_run_without_a_checkpoint_is_not_begun_anew(tmp_path):
    start(tmp_path, epochs=1)
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(UserError) as caught:
        start(tmp_path, resume=True, epochs=2)
    assert str(caught.value) == f"{tmp_path / 'checkpoints'}: there is no checkpoint to go on from"
    assert not (tmp_path / "checkpoints").exists()


def test_stopping_at_a_step_and_going_on_to_a_larger_one(whole, tmp_path):
    """The plateau schedule goes by the scores of whole epochs, not by those at the steps where the run was stopped."""
    for steps in (3, 14, 25, None):
        model, progress = start(tmp_path, resume=steps != 3, steps=steps, **HARDEST)
        assert progress.steps == (steps or 28)
        assert len(progress.history) == -(-progress.steps // BATCHES)
    for value, expected in zip(model.get_weights(), whole[1], strict=True):
        np.testing.assert_array_equal(value, expected)
    assert [row["steps"] for row in history(tmp_path)] == ["7", "14", "21", "28"]


def test_going_on_with_more_epochs(tmp_path):
    start(tmp_path, epochs=1)
    model, _ = start(tmp_path, resume=True, epochs=2)
    whole, _ = start(tmp_path / "whole", epochs=2)
    for value, expected in zip(model.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [5, 2], ids=["the batches done", "fewer"])
def test_a_run_that_is_cut_short_before_its_first_scores_is_scored(steps, tmp_path):
    kills = {"in the first epoch": (callbacks.CheckpointCallback, "on_train_batch_end", 5)}
    options = {"checkpoint_steps": 5, "weight_average": 0.8}
    whole, _, killed = start_with_kills(tmp_path / "whole", kills, **options)
    directory, saved = killed["in the first epoch"], []
    options |= {"resume": True}
    start(directory, steps=steps, saved=saved, **options)
    assert len(saved) == 1
    assert [(row["epoch"], row["steps"]) for row in history(directory)] == [("1", "5")]
    _, progress = start(directory, steps=steps, saved=saved, scores=scripted(), **options)
    assert len(saved) == 1 and progress.best_epoch == 1, "once"
    model, _ = start(directory, **options)
    for value, expected in zip(model.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected, err_msg="it goes on as if it had not been cut short")


class StopAfter(keras.callbacks.Callback):
    """Stops `fit` after some batches, or after some epochs."""

    def __init__(self, batches=None, epochs=None):
        super().__init__()
        self.batches, self.epochs, self.begun = batches, epochs, 0

    def on_train_begin(self, logs=None):
        self.begun += 1

    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training |= batch + 1 == self.batches

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training |= epoch + 1 == self.epochs


@pytest.mark.parametrize("moment, steps", [({"batches": 3}, 3), ({"batches": 7}, 7), ({"epochs": 2}, 14)])
def test_a_callback_that_stops_training_ends_the_run(moment, steps, whole, tmp_path, logged):
    stop = StopAfter(**moment)
    _, progress = start(tmp_path, session={"callbacks": [stop]}, **HARDEST)
    assert (progress.steps, stop.begun) == (steps, 1)
    assert logged()[-1] == "a callback has stopped the run"
    model, _ = start(tmp_path, resume=True, **HARDEST)
    for value, expected in zip(model.get_weights(), whole[1], strict=True):
        np.testing.assert_array_equal(value, expected)


def test_a_callback_can_stop_a_run_at_the_end_of_a_resumed_epoch(tmp_path):
    start(tmp_path, steps=9)
    _, progress = start(tmp_path, resume=True, session={"callbacks": [StopAfter(epochs=2)]})
    assert progress.steps == 14


def scripted(*losses):
    """Dev scores that are known in advance."""
    left = list(losses)
    return lambda model: lambda: {"dev_loss": left.pop(0)}


def test_a_score_that_is_no_number_is_not_the_best_for_long(tmp_path):
    _, progress = start(tmp_path, scores=scripted(math.nan, 2.0, math.nan, 3.0))
    assert (progress.best_epoch, progress.best_score) == (2, -2.0)


def test_the_best_weights_are_kept(tmp_path, logged):
    saved = []
    _, progress = start(tmp_path, scores=scripted(3.0, 2.0, 2.5, 2.0), saved=saved)
    assert len(saved) == 2, "no worse and no equal score takes the place of the best"
    assert (progress.best_epoch, progress.best_score) == (2, -2.0)
    endings = [line.partition(" (")[2] for line in logged()[1:]]
    assert endings == ["the best so far)", "the best so far)", "best: epoch 2)", "best: epoch 2)"]


def test_patience(tmp_path, logged):
    options = {"patience": 2, "epochs": 9}
    _, progress = start(tmp_path, scores=scripted(3.0, 2.0, 2.5, 2.6), **options)
    assert progress.epoch == 4
    assert logged()[-1] == "no better for 2 epochs: stopping"
    _, progress = start(tmp_path, resume=True, scores=scripted(), **options)
    assert progress.epoch == 4, "stopped for good"
    _, progress = start(tmp_path, resume=True, scores=scripted(2.7), **options | {"patience": 3})
    assert progress.epoch == 5


def test_plateau_halves_the_learning_rate(tmp_path):
    losses = [3.0, 2.0, 2.5, 2.6, 2.7, 1.0, 1.5, 1.6]
    _, progress = start(
        tmp_path, scores=scripted(*losses), epochs=8, learning_rate=0.4, schedule="plateau", plateau_patience=2
    )
    rates = [row["learning_rate"] for row in progress.history]
    np.testing.assert_allclose(rates, [0.4, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2], rtol=1e-6)
    assert progress.halved_at == 8


def test_what_is_scored_and_kept_is_the_average_of_the_weights(tmp_path):
    """a_1 = w_1 and a_t = 0.8 a_{t-1} + 0.2 w_t of the weights w_t after every step t."""
    trained = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            trained.append(self.model.get_weights())

    seen, saved = [], []

    def scores(model):
        def dev_scores():
            seen.append(model.get_weights())
            return {"dev_loss": 1.0}

        fit = model.fit
        model.fit = lambda *data, callbacks, **options: fit(*data, callbacks=[Watch(), *callbacks], **options)
        return dev_scores

    model, _ = start(tmp_path, scores=scores, saved=saved, epochs=1, weight_average=0.8)
    average = trained[0]
    for weights in trained[1:]:
        average = [0.8 * a + 0.2 * w for a, w in zip(average, weights, strict=True)]
    for weights in (seen[0], saved[0], model.get_weights()):
        for value, expected, last in zip(weights, average, trained[-1], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
            assert not np.allclose(value, last, rtol=1e-3)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    with pytest.raises(UserError) as caught:
        start(tmp_path, optimizer="sgd", learning_rate=1e38, clip_norm=None)
    assert str(caught.value).startswith("the loss is not a number after ")
    assert f"the last good checkpoint is kept: {tmp_path / 'checkpoints' / 'step-0'};" in str(caught.value)


def test_the_last_good_checkpoint_is_named_and_can_be_resumed(tmp_path, monkeypatch):
    def poison(self, batch, logs=None):
        if self.progress.steps == 9:
            self.model.trainable_variables[0].assign(tf.fill([6, 3], np.nan))
        original(self, batch, logs)

    with monkeypatch.context() as context:
        original = callbacks.CheckpointCallback.on_train_batch_end
        context.setattr(callbacks.CheckpointCallback, "on_train_batch_end", poison)
        with pytest.raises(UserError) as caught:
            start(tmp_path)
    good = tmp_path / "checkpoints" / "step-8"
    assert str(caught.value) == (
        f"the loss is not a number after 11 steps; the last good checkpoint is kept: {good};"
        " train anew, in another directory, with a smaller learning_rate or clip_norm"
    )
    model, progress = start(tmp_path, resume=True)
    assert progress.steps == 28
    assert all(np.isfinite(value).all() for value in model.get_weights())


@pytest.mark.parametrize("step", [4, 7], ids=["at a checkpoint", "at the end of an epoch"])
def test_weights_that_are_no_numbers_are_never_saved(step, tmp_path, monkeypatch):
    def poison(self, batch, logs=None):
        if self.progress.steps == step - 1:
            self.model.trainable_variables[0].assign(tf.fill([6, 3], np.nan))
        original(self, batch, logs)

    original = callbacks.CheckpointCallback.on_train_batch_end
    monkeypatch.setattr(callbacks.CheckpointCallback, "on_train_batch_end", poison)
    saved = []
    with pytest.raises(UserError, match=f"not a number after {step} steps"):
        start(tmp_path, saved=saved)
    assert saved == []
    assert checkpoint_names(tmp_path / "checkpoints") == (["step-6", "step-4", "step-0"] if step == 7 else ["step-0"])


@pytest.mark.slow
def test_other_data_are_refused(tmp_path, monkeypatch):
    start(tmp_path, epochs=1)
    monkeypatch.setitem(globals(), "BATCHES", 6)
    with pytest.raises(UserError, match="started on data of 7 batches an epoch, not 6; resume it with the same files"):
        start(tmp_path, resume=True)


def test_a_resumed_epoch_is_shown_whole(tmp_path, monkeypatch):
    start(tmp_path, epochs=1, steps=3)
    stream = io.StringIO()
    monkeypatch.setattr(data_progress, "_SECONDS_DRAWN", 0.0)
    monkeypatch.setattr(data_progress.TerminalHandler, "shown", data_progress.TerminalHandler(stream))
    start(tmp_path, resume=True, epochs=1)
    assert "epoch 1 of 1: 7 of 7 batches" in stream.getvalue()


def test_few_updates_that_were_asked_for_are_not_told(tmp_path, logged):
    start(tmp_path, epochs=30, steps=3, warmup_steps=8)
    assert not [line for line in logged() if line.startswith("most of the")]


def test_a_score_within_an_epoch_does_not_count_for_patience(tmp_path):
    options = {"patience": 1, "epochs": 4}
    start(tmp_path, scores=scripted(3.0, 1.0), steps=10, **options)  # the second amid an epoch
    _, progress = start(tmp_path, resume=True, scores=scripted(2.5, 2.0, 1.5), **options)
    assert progress.epoch == 4 and progress.best_score == -1.0
