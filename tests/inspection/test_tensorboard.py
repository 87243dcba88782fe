"""What a run writes for TensorBoard; that writing changes no weight."""

import html
import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard import plugin_util
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

import tfnmt
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.inspection import tensorboard as module
from tfnmt.inspection.callbacks import tensorboard_callbacks
from tfnmt.inspection.tensorboard import TrainingSummaries
from tfnmt.inspection.translation_summaries import TranslationSummaries, _as_it_is
from tfnmt.text.tokenizers import END, WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.optimizers import make_optimizer
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS
from tfnmt.translation.training import train_translator
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.training_memory import MemoryOfEpochs

SIZES = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")
SETTINGS = [f"{name}=8" for name in SIZES] + ["batch_size=2", "epochs=2", "selection=loss", "accumulation_steps=2"]
SETTINGS += ["bidirectional=false", "conditional=false"]  # sooner traced


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The directory and model of a run with TensorBoard's callbacks, the model of the same run without them, and how
    many graphs were alive after each epoch of the first."""
    directory = tmp_path_factory.mktemp("runs")
    files = []
    for split, count in (("train", 104), ("dev", 7)):
        paths = [directory / f"{split}.{side}" for side in ("source", "target")]
        for path, lines in zip(paths, zip(*sample_pairs(count, 1, split), strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(ParallelFiles(*map(str, paths)))
    preset = PRESETS["tiny"].override(SETTINGS)
    with_callbacks, plain = directory / "with_callbacks", directory / "plain"
    callbacks = tensorboard_callbacks(with_callbacks, preset, profile_steps=(3, 4))
    memory = MemoryOfEpochs()
    model, _ = train_translator(
        with_callbacks, preset, *files, make_callbacks=lambda *of_run: [*callbacks(*of_run), memory]
    )
    plain_model, _ = train_translator(plain, preset, *files)
    return with_callbacks, model, plain_model, memory.graphs


@pytest.fixture(scope="module")
def events(runs):
    accumulator = EventAccumulator(str(runs[0] / "logs"), size_guidance={"tensors": 0})
    accumulator.Reload()
    return accumulator


def values(events, tag):
    return [(event.step, float(tf.make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]


@pytest.mark.slow
def test_writing_changes_no_weight(runs):
    for weight, plain in zip(runs[1].get_weights(), runs[2].get_weights(), strict=True):
        np.testing.assert_array_equal(weight, plain)


@pytest.mark.slow
def test_no_graph_is_traced_anew_each_epoch(runs):
    """TensorFlow would never free it."""
    first, second = runs[3]
    assert first == second


@pytest.mark.slow
def test_scalars_of_every_fifty_batches_and_of_every_epoch(runs, events):
    scalars = ("loss", "perplexity", "token_accuracy", "learning_rate", "gradient_norm")
    for name in scalars:
        assert [step for step, _ in values(events, f"batch/{name}")] == [50, 100]
    assert all(norm > 0 for _, norm in values(events, "batch/gradient_norm"))
    epochs = [step for step, _ in values(events, "epoch/dev_bleu")]
    assert len(epochs) == 2 and epochs[1] == 2 * epochs[0]
    history = (runs[0] / "history.csv").read_text().splitlines()
    names, last = (line.split(",") for line in (history[0], history[-1]))
    written = float(last[names.index("dev_loss")])
    assert values(events, "epoch/dev_loss")[-1][1] == pytest.approx(written, rel=1e-6)


@pytest.mark.slow
def test_histograms_graph_and_translations(runs, events):
    tags = events.Tags()
    assert {weight.path for weight in runs[1].trainable_variables} <= set(tags["tensors"])
    assert tags["graph"]
    table = tf.make_ndarray(events.Tensors("translations")[-1].tensor_proto).item().decode()
    assert len(events.Tensors("attention")) == 2
    assert table.startswith("| source | translation | reference |") and len(table.splitlines()) == 2 + 5


@pytest.mark.slow
def test_the_profiler_watched_the_steps(runs):
    assert list((runs[0] / "logs").glob("plugins/profile/*/*.xplane.pb"))


def test_the_profiler_stops_once_and_within_the_epoch_that_it_started_in(tmp_path, monkeypatch):
    """Also where `fit` is called twice, as in a run that was resumed within an epoch."""
    seen = []
    for name in ("start", "stop"):
        monkeypatch.setattr(tf.profiler.experimental, name, lambda *_, name=name: seen.append(name))
    optimizer, weight = keras.optimizers.SGD(), keras.Variable(np.ones(1, np.float32))
    summaries = TrainingSummaries(tmp_path, {"batch_size": 1}, profile_steps=(3, 9))
    summaries.set_model(SimpleNamespace(optimizer=optimizer, metrics=[], stop_training=False))
    summaries.set_params({"steps": 4})
    for fit in range(2):
        summaries.on_train_begin()
        summaries.on_epoch_begin(fit)
        for batch in range(4):
            summaries.on_train_batch_begin(batch)
            optimizer.apply([np.ones(1, np.float32)], [weight])
            seen.append(fit * 4 + batch + 1)
            summaries.on_train_batch_end(batch, {})
        summaries.on_train_end()
    assert seen == [1, 2, "start", 3, 4, "stop", 5, 6, 7, 8]


@pytest.mark.slow
def test_hparams_hold_settings_and_final_scores(runs):
    final = EventAccumulator(str(runs[0] / "logs" / "final"))
    final.Reload()
    metadata = final.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    settings = plugin_data_pb2.HParamsPluginData.FromString(metadata).session_start_info.hparams
    assert settings["decoder_units"].number_value == 8
    assert settings["optimizer"].string_value == "adam"
    assert "final/dev_bleu" in final.Tags()["tensors"]


@pytest.mark.slow
def test_word_vectors_and_sentence_summaries_are_projected(runs):
    logs = runs[0] / "logs"
    model = runs[1]
    vectors = np.loadtxt(logs / "source_words_vectors.tsv", delimiter="\t")
    np.testing.assert_allclose(vectors, model.encoder.E.embeddings.numpy()[: len(vectors)], rtol=1e-4, atol=1e-6)
    labels = (logs / "source_words_labels.tsv").read_text(encoding="utf-8").splitlines()
    assert len(labels) == len(vectors)
    assert labels[5] == model.source_tokenizer.ids_to_tokens(tf.constant([5])).numpy()[0].decode()
    sentences = (logs / "sentence_summaries_labels.tsv").read_text(encoding="utf-8").splitlines()
    assert sentences[0] == "sentence\twords" and len(sentences) == 1 + 7


def test_an_empty_dev_sentence_is_left_out_with_its_translation(tmp_path):
    summaries = TranslationSummaries(tmp_path, None, ["a", " ", "b"], ["x", "y", "z"])
    assert (summaries.sources, summaries.references) == (["a", "b"], ["x", "z"])


def test_translations_are_those_of_the_averaged_weights_beside_their_sentences(tmp_path):
    """After one update the averages are the weights; with the weights that follow nothing but END is written."""
    keras.utils.set_random_seed(1)
    tokenizer = WordTokenizer([*"abc"])
    sizes = {name: 4 for name in SIZES} | {"bidirectional": False, "conditional": False}
    model = Translator(TranslatorConfiguration(**sizes), tokenizer, tokenizer)
    model.compile(make_optimizer(TrainingConfiguration(weight_average=0.5), 1))
    weights = model.trainable_weights
    model.optimizer.apply([np.zeros(weight.shape, np.float32) for weight in weights], weights)
    sources, references = ["a b", "c"], ["b", "a c"]
    averaged = model.translate(sources, beam_size=1)
    model.decoder.b.assign(100.0 * tf.one_hot(END, 7))
    assert model.translate(sources, beam_size=1) == ["", ""] != averaged
    summaries = TranslationSummaries(tmp_path, model, sources, references)
    summaries.set_model(model)
    summaries.on_epoch_end(0)
    summaries.writer.close()
    events = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    events.Reload()
    rows = tf.make_ndarray(events.Tensors("translations")[0].tensor_proto).item().decode().splitlines()[2:]
    expected = zip(sources, map(_as_it_is, averaged), references, strict=True)
    assert rows == [f"| {' | '.join(row)} |" for row in expected]


def test_a_dev_set_without_words_has_neither_translations_nor_summaries(tmp_path):
    model = tfnmt.load("sample-en-de", "translator")
    summaries = TranslationSummaries(tmp_path, model, ["", " "], ["x", "y"])
    summaries.set_model(model)
    summaries.on_epoch_end(0)
    summaries.on_train_end()
    assert (tmp_path / "source_words_vectors.tsv").exists()
    assert not (tmp_path / "sentence_summaries_vectors.tsv").exists()


def test_settings_of_any_kind_can_be_shown():
    summaries = TrainingSummaries("unused", dict(PRESETS["multi30k"].training))
    assert summaries.settings["steps"] == "None"
    assert summaries.settings["epochs"] == PRESETS["multi30k"].training.epochs


def test_words_a_second_since_the_last_point(tmp_path, monkeypatch):
    times = iter([10.0, 14.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    metric, summaries = SimpleNamespace(words=100.0), TrainingSummaries(tmp_path, {})
    summaries.set_model(SimpleNamespace(metrics=[metric]))
    summaries.on_epoch_begin(0)
    assert summaries._speed() == {}
    metric.words = 300.0
    assert summaries._speed() == {"words_per_second": 50.0}


def test_examples_a_second_of_a_model_whose_metrics_count_no_words(tmp_path, monkeypatch):
    times, steps = iter([10.0, 14.0]), iter([3, 13])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    summaries = TrainingSummaries(tmp_path, {"batch_size": 8})
    summaries.set_model(SimpleNamespace(metrics=[]))
    summaries.step = lambda: next(steps)
    summaries.on_epoch_begin(0)
    assert summaries._speed() == {}
    assert summaries._speed() == {"examples_per_second": 20.0}


@pytest.mark.parametrize("batches", [10, 60])
def test_each_point_has_words_a_second(batches, tmp_path, monkeypatch):
    """Those of the batches of its own epoch, without the first. A first epoch of fewer than 50 has a point, too."""
    times = iter(range(1000))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    metric, step, points = SimpleNamespace(words=0.0), 0, {}
    summaries = TrainingSummaries(tmp_path, {})
    optimizer = SimpleNamespace(learning_rate=0.1)
    summaries.set_model(SimpleNamespace(metrics=[metric], optimizer=optimizer, stop_training=False))
    summaries.set_params({"steps": batches})
    summaries.step = lambda: step
    summaries.write_scalars = lambda prefix, values: points.update({step: values["words_per_second"]})
    for epoch in range(120 // batches):
        metric.words = 0.0  # Keras resets metrics
        summaries.on_epoch_begin(epoch)
        for batch in range(batches):
            metric.words += 7
            step += 1
            summaries.on_train_batch_end(batch, {})
    assert points == {10: {10: 63.0, 50: 63.0, 100: 63.0}, 60: {50: 343.0, 100: 273.0}}[batches]


def test_a_run_that_is_stopped_before_fifty_batches_has_a_point(tmp_path):
    step, points, model = 0, [], SimpleNamespace(metrics=[], stop_training=False)
    model.optimizer = SimpleNamespace(learning_rate=0.1)
    summaries = TrainingSummaries(tmp_path, {"batch_size": 8})
    summaries.set_model(model)
    summaries.set_params({"steps": 100})
    summaries.step = lambda: step
    summaries.write_scalars = lambda prefix, values: points.append((step, values["examples_per_second"] > 0))
    summaries.on_epoch_begin(0)
    for batch in range(7):
        step, model.stop_training = batch + 1, batch == 6
        summaries.on_train_batch_end(batch, {})
    assert points == [(7, True)]


def test_texts_are_shown_as_they_are():
    """Markdown and HTML in a text are none: TensorBoard shows what was translated."""
    text = r"A *small* dog &apos;s __init__ | a\_b [x](y) `c` <unk> & ~~d~~"
    shown = plugin_util.markdown_to_safe_html("| a | b |\n|---|---|\n| x | " + _as_it_is(text) + " |\n")
    cell = re.search(r"<td>x</td>\s*<td>(.*)</td>", shown)[1]
    assert "<em>" not in cell and html.unescape(cell) == text
