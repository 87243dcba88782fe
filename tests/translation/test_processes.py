"""Translation by processes: as by one, in the same order; and the devices that a process may compute on."""

import numpy as np
import pytest

from tests.translation.test_searcher import SOURCES, made
from tfnmt.devices import use_device
from tfnmt.errors import UserError
from tfnmt.training.model_directory import save_configuration, save_tokenizers, save_weights
from tfnmt.translation.processes import Work, translate_in_processes
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


@pytest.mark.slow
def test_a_process_gives_what_this_one_gives_in_the_same_order(tmp_path, capfd):
    model = made()
    configuration = SearchConfiguration(beam_size=2)
    for save in (save_tokenizers, save_configuration, save_weights):
        save(model, tmp_path)
    work = Work([str(tmp_path)], configuration, None, batch_size=4, threads=1, device="cpu")
    texts = [*SOURCES[:5], ""]
    capfd.readouterr()
    found = list(translate_in_processes(work, (([text], None) for text in texts), processes=1))
    assert capfd.readouterr().err == ""  # nothing of TensorFlow's start-up chatter
    expected = Searcher([model], configuration).translate(texts, 4)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.texts, other.texts)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-5)


def test_a_device_that_is_not_there():
    assert use_device("cpu") == "cpu"
    with pytest.raises(UserError, match="--device gpu:7: there is no such device here; there is cpu"):
        use_device("gpu:7")
