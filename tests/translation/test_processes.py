"""Translation by processes: as by one, in the same order; and the devices that a process may compute on."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from tests.translation.test_searcher import SOURCES, made
from tests.translation.test_streaming import Shouting
from tfnmt.devices import use_device
from tfnmt.errors import UserError
from tfnmt.training.model_directory import save_configuration, save_tokenizers, save_weights
from tfnmt.translation import processes
from tfnmt.translation.processes import ProcessSettings, translate_in_processes
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


@pytest.mark.slow
def test_a_process_gives_what_this_one_gives_in_the_same_order(tmp_path, capfd):
    model = made()
    configuration = SearchConfiguration(beam_size=2)
    for save in (save_tokenizers, save_configuration, save_weights):
        save(model, tmp_path)
    settings = ProcessSettings([str(tmp_path)], configuration, None, batch_size=4, threads=1, device="cpu")
    texts = [*SOURCES[:5], ""]
    capfd.readouterr()
    found = list(translate_in_processes(settings, (([text], None) for text in texts), processes=1))
    assert capfd.readouterr().err == ""  # nothing of TensorFlow's start-up chatter
    expected = Searcher([model], configuration).translate(texts, 4)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.texts, other.texts)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-5)


@pytest.fixture
def in_threads(monkeypatch):
    """Threads in place of processes, and "translations" that are the window's texts in capitals, unless it has a !."""

    def translate(window):
        if "!" in window[0]:
            raise BrokenProcessPool("A process in the process pool was terminated abruptly")
        return [text.upper() for text in window[0]]

    monkeypatch.setattr(processes, "process_pool", lambda count, *_: ThreadPoolExecutor(count))
    monkeypatch.setattr(processes, "_translate", translate)


def test_what_is_wrong_with_a_line_comes_after_the_lines_before_it(in_threads):
    def windows():
        yield from ((["a", "b"], None), (["c"], None))
        raise UserError("line 4: not UTF-8")

    found = []
    with pytest.raises(UserError, match="line 4: not UTF-8"):
        found.extend(translate_in_processes(None, windows(), processes=2))
    assert found == ["A", "B", "C"]


def test_a_process_that_dies_is_told_in_one_line(in_threads):
    found = translate_in_processes(None, ((text, None) for text in ("ab", "!", "c")), processes=1)
    assert [next(found), next(found)] == ["A", "B"]
    with pytest.raises(UserError, match="a process has died, perhaps for want of memory: take fewer --processes"):
        next(found)


def test_a_process_that_dies_while_nothing_is_read_is_told_after_what_was_translated(in_threads, monkeypatch):
    """Then the pool takes no more work."""
    submit = ThreadPoolExecutor.submit

    def failing(pool, function, window):
        if window[0] == ["late"]:
            raise BrokenProcessPool("A child process terminated abruptly, the process pool is not usable anymore")
        return submit(pool, function, window)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", failing)
    found = []
    with pytest.raises(UserError, match="a process has died"):
        found.extend(translate_in_processes(None, ((text, None) for text in (["a"], ["late"])), processes=2))
    assert found == ["A"]


def test_a_device_that_is_not_there():
    assert use_device("cpu") == "cpu"
    with pytest.raises(UserError, match="--device gpu:7: there is no such device here; there is cpu"):
        use_device("gpu:7")


def test_few_windows_are_read_before_the_first_is_translated(in_threads):
    """Two for each process: a stream without end takes no more memory."""
    read = []

    def windows():
        for number in itertools.count():
            read.append(number)
            yield [str(number)], None

    found = translate_in_processes(None, windows(), processes=3)
    assert [next(found), next(found)] == ["0", "1"]
    assert len(read) == 2 * 3 + 1


def test_a_window_has_its_prefixes_and_the_batch_size_asked_for(monkeypatch):
    searcher = Shouting()
    monkeypatch.setattr(processes, "_searcher", searcher, raising=False)
    monkeypatch.setattr(processes, "_batch_size", 2, raising=False)
    assert processes._translate((["a", "b"], ["x ", ""])) == ["x A", "B"]
    assert processes._translate((["c"], None)) == ["C"]
    assert searcher.calls == [(["a", "b"], 2), (["c"], 2)]
