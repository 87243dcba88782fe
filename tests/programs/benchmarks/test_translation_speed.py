"""The benchmark of translating, with random weights."""

import json
from types import SimpleNamespace

import pytest

from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS, Preset
from tfnmt_programs.benchmarks import translation_speed


def test_figures_of_translating(monkeypatch):
    """Of a preset: as many words as there are in the sentences, whatever the random weights would write."""
    sizes = dict.fromkeys(("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units"), 2)
    small = Preset(model=TranslatorConfiguration(**sizes, decoder_units=4), text=TextConfiguration(vocabulary_size=9))
    monkeypatch.setitem(PRESETS, "small", small)
    monkeypatch.setattr(translation_speed, "matrix_rate", lambda *shape: 1.0)  # of each of two threads
    monkeypatch.setattr(translation_speed, "memory_rate", lambda: 2.0)
    options = SimpleNamespace(preset="small", sentences=10, beam_size=3, batch_size=4, rounds=1, threads=2)
    vars(options).update(dict.fromkeys(("model", "source", "target", "peer", "shortlist")), precision="float32")
    figures = translation_speed.translation_speed(options)
    assert figures["words"] == 200 and figures["sentences"] == 10
    assert figures["seconds_per_word"] == pytest.approx(1 / figures["ours"] / 20)
    # The decoder's matrices, [in, out]: three times GRU and its U, W_a, readout, scores of 9 words.
    gru, second, attention, readout = 2 * 12 + 4 * 12, 4 * 12 + 4 * 12, 4 * 2, 4 * 2 + 2 * 2 + 4 * 2
    assert figures["mbytes_per_step"] == pytest.approx(4e-6 * (gru + second + attention + readout + 2 * 9))
    # Batches of 4, 4 and 2 sentences: 60 steps read the matrices for 200 words.
    assert figures["floor_of_memory"] == pytest.approx(figures["mbytes_per_step"] / 4.0 / 1000 * 60 / 200)
    assert figures["floor_of_operations"] == pytest.approx(figures["mflop_per_word"] / 2.0 / 1000)
    assert figures["share_of_matrix_rate"] == pytest.approx(
        figures["floor_of_operations"] / figures["seconds_per_word"]
    )
    json.dumps(figures)
