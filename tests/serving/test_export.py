"""Exported models give the translator's outputs for any batch, and load without this project."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving.conftest import made
from tfnmt.errors import UserError
from tfnmt.serving.export import export
from tfnmt.text.tokenizers import END, PADDING, START
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.servable import TranslatorServable
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.signatures import ALTERNATIVES

TEXTS = [
    "The dog sees a red ball.",
    "",
    "If he has called him, she gives him a newspaper.",
    " \t\u00a0",
    "Zebra 7!",
    "I",
]
# Every operation that an exported translator may have. The stock server links all of TensorFlow's own except
# Python's; those of TensorFlow Text are in its version 2.20, which the server links.
TEXT_OPERATIONS = {
    "NormalizeUTF8",
    "SentencepieceDetokenizeOp",
    "SentencepieceIdToStringOp",
    "SentencepieceOp",
    "SentencepieceTokenizeOp",
    "SentencepieceTokenizeWithOffsetsOp",  # its kernels are in one file with those of the others
}
CORE_OPERATIONS = """
    AddN AddV2 All Any ArgMax AsString Assert AssignVariableOp BatchMatMulV2 BiasAdd BroadcastTo Cast ConcatV2
    Const Cumsum DenseBincount DisableCopyOnRead Einsum Equal Exp ExpandDims Fill FloorDiv GatherNd GatherV2 Greater
    GreaterEqual Identity IdentityN If IsFinite Less LessEqual Log LogSoftmax LogicalAnd LogicalNot LogicalOr
    LookupTableFindV2 MatMul Max Maximum MergeV2Checkpoints Minimum Mul Neg NoOp NotEqual OneHot Pack Pad
    PartitionedCall Placeholder PlaceholderWithDefault Pow Prod RaggedGather RaggedRange RaggedTensorToTensor Range
    ReadVariableOp RealDiv ReduceJoin Reshape RestoreV2 SaveV2 ScatterNd Select SelectV2 Shape ShardedFilename
    Sigmoid Size Softmax Split SplitV Squeeze StatefulPartitionedCall StatelessIf StatelessWhile
    StaticRegexFullMatch StaticRegexReplace StopGradient StridedSlice StringJoin StringLength StringLower
    StringSplitV2 StringStrip Sub Substr Sum Tanh TensorListFromTensor TensorListGetItem TensorListReserve
    TensorListSetItem TensorListStack TensorScatterUpdate Tile TopKV2 Transpose UnsortedSegmentJoin VarHandleOp
    Where While ZerosLike
"""


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(str(exported))


def saved_graphs(path):
    return saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes()).meta_graphs[0]


def operations(graph):
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    functions = {function.signature.name for function in graph.library.function}
    return {node.op for node in nodes} - functions


def test_translations_are_the_translators_for_any_batch_size(loaded, model, sentences):
    lines = sentences + TEXTS
    expected = model.translate(lines, beam_size=3)
    assert expected[-5] == expected[-3] == "" and len(set(expected)) > 140
    for size in (1, 7, len(lines)):
        few = lines if size > 1 else lines[-25:]
        found = []
        for first in range(0, len(few), size):
            batch = tf.constant(few[first : first + size])
            found += loaded.signatures["serving_default"](text=batch)["translation"].numpy().tolist()
        assert [text.decode() for text in found] == expected[-len(few) :]


def test_an_empty_batch(loaded):
    for name, signature in loaded.signatures.items():
        _, inputs = signature.structured_input_signature
        found = signature(**{key: tf.constant([], tf.string) for key in inputs})
        assert {tensor.shape[0] for tensor in found.values()} == {0}, name


def test_the_first_of_n_best_is_the_translation_and_scores_decrease(loaded):
    best = loaded.signatures["serving_default"](text=tf.constant(TEXTS))
    found = loaded.signatures["nbest"](text=tf.constant(TEXTS))
    assert found["translations"].shape == found["scores"].shape == [len(TEXTS), 2]
    np.testing.assert_array_equal(found["translations"][:, 0], best["translation"])
    np.testing.assert_allclose(found["scores"][:, 0], best["score"], rtol=1e-5)
    assert (np.diff(found["scores"]) <= 0).all()
    assert found["translations"][1].numpy().tolist() == [b"", b""] and not best["score"][1].numpy()


def test_attention_has_a_row_for_each_target_word_and_a_column_for_each_source_word(loaded, model):
    found = loaded.signatures["align"](text=tf.constant(TEXTS))
    source, target = (found[f"{side}_words"].numpy() for side in ("source", "target"))
    assert source.shape[1] == found["attention"].shape[2] and target.shape[1] == found["attention"].shape[1]
    np.testing.assert_allclose(tf.reduce_sum(found["attention"], axis=2), target != b"", atol=1e-5)
    assert not tf.reduce_any((found["attention"] > 0) & (source == b"")[:, np.newaxis])
    assert b"".join(source[0]).decode() == "\u2581" + TEXTS[0].replace(" ", "\u2581") + "</s>"
    assert b"".join(target[0]).decode().replace("\u2581", " ").strip() == found["translation"][0].numpy().decode()
    searched = (
        Searcher(model, SearchConfiguration(beam_size=3, alignments=True)).find(tf.constant(TEXTS[:1])).attention[0, 0]
    )
    length = len([word for word in target[0] if word])
    np.testing.assert_allclose(found["attention"][0, :length, : searched.shape[1]], searched[:length], atol=1e-5)


PREFIXES = ["Der kleine", "", "Sie gibt ihm", "Ja", "Zebra", "猫"]


def test_completions_are_what_the_searcher_finds_with_prefixes(loaded, model):
    """And so what `tfnmt translate --n-best --prefix-file` prints."""
    found = loaded.signatures["complete"](text=tf.constant(TEXTS), prefix=tf.constant(PREFIXES))
    search = SearchConfiguration(beam_size=3, n_best=2)
    expected = Searcher(model, search).translate(TEXTS, prefixes=PREFIXES)
    assert found["translations"].numpy().tolist() == [one.texts.tolist() for one in expected]
    np.testing.assert_allclose(found["scores"], [one.scores for one in expected], rtol=1e-4)
    written = [text.decode() for text in found["translations"][:, 0].numpy()]
    assert [text.startswith(prefix) for text, prefix in zip(written, PREFIXES, strict=True)] == [1, 1, 1, 0, 1, 1]
    for key in ("source_words", "target_words"):
        assert found[key].dtype == tf.string and not np.any(found[key].numpy()[3, 1:])
    whole = loaded.signatures["complete"](text=tf.constant(TEXTS), prefix=tf.fill([len(TEXTS)], ""))
    for name, value in loaded.signatures["align"](text=tf.constant(TEXTS)).items():
        if name != "translation":
            np.testing.assert_array_equal(whole[name], value)


def test_the_words_read_are_given_as_the_text_has_them(loaded):
    found = loaded.signatures["complete"](text=tf.constant(["A 猫 runs.", "I"]), prefix=tf.constant(["", ""]))
    read, written = (found[name].numpy() for name in ("source_words", "source_written"))
    assert read.shape == written.shape
    assert written[0][read[0] == b"<unk>"].tolist() == ["猫".encode()]
    assert b"".join(written[0]).decode() == "A猫runs." and b"".join(written[1]) == b"I"


def test_a_text_that_is_cut_has_no_written_word_where_its_end_is_read():
    model = made("word", maximum_source_length=3)
    found = TranslatorServable([model], SearchConfiguration(beam_size=1)).functions["complete"](
        text=tf.constant(["a b", "a b c d e"]), prefix=tf.constant(["", ""])
    )
    assert found["source_words"].shape[1] == 4
    assert found["source_written"].numpy().tolist() == [[b"a", b"b", b"", b""], [b"a", b"b", b"c", b""]]


def test_alternatives_go_on_with_the_most_probable_tokens(loaded, model):
    texts, prefixes = TEXTS[:1] + TEXTS[2:3], ["Der kleine", ""]
    found = loaded.signatures["alternatives"](text=tf.constant(texts), prefix=tf.constant(prefixes))
    assert found["translations"].shape == found["probabilities"].shape == [2, ALTERNATIVES]
    for row, prefix in enumerate(prefixes):
        start = model.target_tokenizer.encode(tf.constant([prefix])).to_tensor()
        inputs = {"source": model.source_ids(tf.constant(texts[row : row + 1]))}
        inputs["target"] = tf.pad(tf.cast(start, tf.int32), [[0, 0], [1, 0]], constant_values=START)
        p = tf.nn.softmax(model(inputs)[0, -1]).numpy()
        p[[PADDING, START, END]] = 0.0
        best = np.argsort(-p)[:ALTERNATIVES]
        np.testing.assert_allclose(found["probabilities"][row], p[best], rtol=1e-3)
        begun = tf.concat([tf.tile(tf.cast(start, tf.int32), [ALTERNATIVES, 1]), best[:, np.newaxis]], axis=1)
        for text, beginning in zip(found["translations"][row], model.target_tokenizer.decode(begun), strict=True):
            assert text.numpy().startswith(beginning.numpy())


def test_alternatives_to_a_prefix_as_long_as_a_translation_may_be(loaded, model):
    """For one word more there is always room."""
    prefix = " ".join(["Der"] * 100)
    found = loaded.signatures["alternatives"](text=tf.constant(TEXTS[:1]), prefix=tf.constant([prefix]))
    probabilities = found["probabilities"][0].numpy()
    assert (np.diff(probabilities) <= 0).all() and 0 < probabilities.sum() <= 1 + 1e-5
    assert len(set(found["translations"][0].numpy())) == ALTERNATIVES


def test_the_score_is_the_log_probability_of_the_target(loaded, model):
    source, target = tf.constant(["The dog sees a red ball.", "A cat."]), tf.constant(["Der Hund", "Eine Katze ruft."])
    found = loaded.signatures["score"](source=source, target=target)["log_probability"]
    for row in range(2):
        words = model.target_tokenizer.encode(target[row : row + 1]).to_tensor()
        inputs = {
            "source": model.source_ids(source[row : row + 1]),
            "target": tf.pad(words, [[0, 0], [1, 0]], constant_values=2),
        }
        labels = tf.pad(words, [[0, 0], [0, 1]], constant_values=3)
        log_p = tf.gather(tf.nn.log_softmax(model(inputs)), labels, batch_dims=2)
        np.testing.assert_allclose(found[row], tf.reduce_sum(log_p), rtol=1e-4)


def test_encode_gives_the_encoders_summary(loaded, model):
    found = loaded.signatures["encode"](text=tf.constant(TEXTS))["summary"]
    np.testing.assert_allclose(found, model.encoder(model.source_ids(tf.constant(TEXTS)))["summary"], atol=1e-5)


def test_a_very_long_sentence_is_truncated_before_tokenization(loaded, model):
    endless = "The dog sees a red ball. " * 400_000
    kept = model.source_tokenizer.decode(model.source_ids(tf.constant([endless[:30_000]])))[0].numpy()
    found, expected = (loaded.signatures["encode"](text=tf.constant([text]))["summary"] for text in (endless, kept))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_invalid_utf8_is_accepted(loaded):
    texts = [b"\xff\xfe\x80", b"a\x00b", b"\xe4"]
    assert len(loaded.signatures["serving_default"](text=tf.constant(texts))["translation"].numpy()) == 3


def test_the_stock_server_links_every_operation(exported):
    assert operations(saved_graphs(exported).graph_def) - TEXT_OPERATIONS - set(CORE_OPERATIONS.split()) == set()
    servable = TranslatorServable([made("word", cell="lstm", attention="general")], SearchConfiguration(), "int8")
    for name, function in servable.functions.items():
        graph = function.get_concrete_function().graph.as_graph_def()
        assert operations(graph) - TEXT_OPERATIONS - set(CORE_OPERATIONS.split()) == set(), name


def test_the_graph_holds_no_shapes_that_are_inferred_again(exported):
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    nodes = [node for function in saved.meta_graphs[0].graph_def.library.function for node in function.node_def]
    assert len(nodes) > 1000 and not any("_output_shapes" in node.attr for node in nodes)
    assert not (exported / "fingerprint.pb").exists()  # it would be that of another graph


def test_the_compose_file_pins_a_server_that_reads_what_is_exported(exported):
    """A TensorFlow reads what the same or an earlier minor version wrote; a graph says which one that was."""
    compose = (exported.parents[1] / "compose.yaml").read_text()
    pinned = re.search(r"image: tensorflow/serving:(\d+)\.(\d+)\.\d+\n", compose).groups()
    needed = saved_graphs(exported).meta_info_def.tensorflow_version.split(".")[:2]
    assert pinned[0] == needed[0] and int(pinned[1]) >= int(needed[1])


@pytest.mark.slow
def test_export_with_a_shortlist_and_bfloat16(tmp_path):
    model = made("word")
    sizes = [tokenizer.vocabulary_size for tokenizer in model.tokenizers]
    shortlist = Shortlist(np.random.default_rng(1).integers(4, sizes[1], [sizes[0], 2]), [4, 5], sizes[1])
    search = SearchConfiguration(beam_size=3, n_best=2, precision="bfloat16", maximum_length_factor=1.0)
    path = export(TranslatorServable([model], search, shortlist=shortlist), tmp_path, "short")
    allowed = {*TEXT_OPERATIONS, *CORE_OPERATIONS.split(), "HashTableV2", "LookupTableImportV2"}
    allowed |= {"FloorMod", "Neg", "PadV2"}
    assert operations(saved_graphs(path).graph_def) - allowed == set()
    found = tf.saved_model.load(str(path)).signatures["nbest"](text=tf.constant(TEXTS))["translations"]
    expected = Searcher(model, search, shortlist).translate(TEXTS)
    assert found.numpy().tolist() == [one.texts.tolist() for one in expected]


def test_the_description_in_the_folder(exported):
    description = json.loads((exported / "assets.extra" / "tfnmt.json").read_text())
    assert description["kind"] == "translator" and description["quantize"] == "none"
    assert description["search"] == SearchConfiguration(beam_size=3, n_best=2).model_dump(mode="json")
    signatures = saved_graphs(exported).signature_def
    assert set(signatures) - {"__saved_model_init_op"} == set(description["signatures"])
    for name, documentation in description["signatures"].items():
        assert set(signatures[name].inputs) == set(documentation["inputs"])
        assert set(signatures[name].outputs) == set(documentation["outputs"])
        assert signatures[name].method_name == "tensorflow/serving/predict"


ELSEWHERE = """
import json, sys
import tensorflow as tf, tensorflow_text
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
found = signature(text=tf.constant(json.loads(sys.argv[2])))["translation"].numpy()
print(json.dumps([text.decode() for text in found]))
from tensorflow.python.tools import saved_model_cli
sys.argv = ["saved_model_cli", "show", "--dir", sys.argv[1], "--all"]
saved_model_cli.main()
assert not any(name.startswith("tfnmt") for name in sys.modules)
"""


@pytest.mark.slow
def test_it_runs_without_this_project_and_saved_model_cli_shows_its_signatures(exported, model, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-I", "-c", ELSEWHERE, exported, json.dumps(TEXTS)], capture_output=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr.decode()
    translations, _, shown = ran.stdout.decode().partition("\n")
    assert json.loads(translations) == model.translate(TEXTS, 3)
    assert "signature_def['nbest']" in shown and "outputs['translations'] tensor_info" in shown


@pytest.mark.slow
def test_it_runs_without_python(exported, model, sentences, tmp_path):
    program = tmp_path / "load_session"
    home = Path(tf.sysconfig.get_lib())
    compiled = subprocess.run(
        ["gcc", Path(__file__).with_name("load_session.c"), "-o", program, f"-I{home / 'include'}", f"-L{home}"]
        + ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2", f"-Wl,-rpath,{home}"],
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stderr
    signature = saved_graphs(exported).signature_def["serving_default"]
    input, output = signature.inputs["text"].name.partition(":")[0], signature.outputs["translation"].name
    libraries = sorted(Path(tensorflow_text.__file__).parent.glob("python/ops/*.so"))
    texts = [text for text in TEXTS if text] + sentences[:20]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    ran = subprocess.run(
        [program, exported, input, output, str(len(libraries)), *libraries, *texts],
        capture_output=True,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode().split("\n") == [*model.translate(texts, 3), ""]


EMPTY_SERVABLE = SimpleNamespace(kind="empty", options={}, functions={}, documentation={}, limits={}, examples=())


def save_nothing(servable, path, **options):
    """As `tf.saved_model.save`, of an empty model."""
    for name in ("saved_model.pb", "fingerprint.pb"):
        Path(path, name).touch()


def test_versions_increase_and_no_incomplete_version_is_visible(tmp_path, monkeypatch):
    seen = []

    def save(servable, path, **options):
        seen.append(sorted(entry.name for entry in (tmp_path / "a").iterdir() if not entry.name.startswith(".")))
        save_nothing(servable, path, **options)

    monkeypatch.setattr(tf.saved_model, "save", save)
    paths = [export(EMPTY_SERVABLE, tmp_path, "a") for _ in range(2)]
    threads = [threading.Thread(target=export, args=(EMPTY_SERVABLE, tmp_path, "a")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in paths] == ["1", "2"] and seen[:2] == [[], ["1"]]
    assert sorted(entry.name for entry in (tmp_path / "a").iterdir()) == ["1", "2", "3", "4", "5", "6"]

    monkeypatch.setattr(tf.saved_model, "save", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(EMPTY_SERVABLE, tmp_path, "a")
    assert len(list((tmp_path / "a").iterdir())) == 6


def test_a_file_that_has_the_next_versions_number_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(tf.saved_model, "save", save_nothing)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").touch()
    assert export(EMPTY_SERVABLE, tmp_path, "a") == tmp_path / "a" / "2"
    assert (tmp_path / "a" / "1").is_file()


def test_models_config_lists_every_model_once_and_keeps_edits(tmp_path, monkeypatch):
    monkeypatch.setattr(tf.saved_model, "save", save_nothing)
    for name in ("b", "a", "b"):
        export(EMPTY_SERVABLE, tmp_path, name)
    text = (tmp_path / "models.config").read_text()
    server = text_format.Parse(text, ModelServerConfig())
    assert [(each.name, each.base_path) for each in server.model_config_list.config] == [
        ("b", "/models/b"),
        ("a", "/models/a"),
    ]
    (tmp_path / "batching.config").write_text("mine")
    export(EMPTY_SERVABLE, tmp_path, "a")
    assert (tmp_path / "models.config").read_text() == text and (tmp_path / "batching.config").read_text() == "mine"


def fail_in_two_lines(path, data):
    raise tf.errors.ResourceExhaustedError(None, None, "no space\nat some place of a kernel")


@pytest.mark.parametrize(
    "write", [Path.write_bytes, lambda path, data: tf.io.write_file(str(path), data), fail_in_two_lines]
)
def test_a_full_disk_is_told_in_one_line_and_leaves_no_version(write, tmp_path, monkeypatch, full_disk):
    def save(servable, path, **options):
        write(Path(path, "saved_model.pb"), bytes(200))

    monkeypatch.setattr(tf.saved_model, "save", save)
    with full_disk(100), pytest.raises(UserError, match="cannot be written") as caught:
        export(EMPTY_SERVABLE, tmp_path, "a")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "a").iterdir())


def test_a_broken_models_config_is_told_before_anything_is_written(tmp_path):
    (tmp_path / "models.config").write_text("model_config_list {")
    with pytest.raises(UserError, match="models.config: is broken: 1:19"):
        export(EMPTY_SERVABLE, tmp_path, "c")
    assert [path.name for path in tmp_path.iterdir()] == ["models.config"]


@pytest.mark.parametrize("name", ["", "../a", "a/b", ".a", "ä"])
def test_invalid_names(name, tmp_path):
    with pytest.raises(UserError, match="cannot be a model's name"):
        export(EMPTY_SERVABLE, tmp_path, name)


@pytest.mark.parametrize("precision, tolerance", [("float16", 1e-3), ("int8", 1e-2)])
def test_quantized_weights_change_outputs_little(precision, tolerance, model):
    texts = tf.constant(TEXTS)
    small, whole = (
        TranslatorServable([model], SearchConfiguration(beam_size=1, n_best=1), each).functions["encode"]
        for each in (precision, "none")
    )
    difference = np.abs(small(texts)["summary"] - whole(texts)["summary"])
    assert 0 < difference.mean() < tolerance


def test_an_ensemble_of_a_model_with_itself_equals_the_model(model, sentences):
    alone, twice = (
        TranslatorServable([model] * n, SearchConfiguration(beam_size=1, n_best=1)).functions["serving_default"]
        for n in (1, 2)
    )
    texts = tf.constant(sentences[:30])
    np.testing.assert_array_equal(twice(texts)["translation"], alone(texts)["translation"])


def test_an_ensemble_averages_probabilities(model):
    other = made(seed=2)
    source, target = tf.constant(["The dog sees a red ball."]), tf.constant([""])
    one, two, both = (
        np.exp(
            TranslatorServable(models, SearchConfiguration(beam_size=1, n_best=1)).functions["score"](source, target)[
                "log_probability"
            ]
        )
        for models in ([model], [other], [model, other])
    )
    np.testing.assert_allclose(both, (one + two) / 2, rtol=1e-5)


def test_an_ensemble_needs_equal_vocabularies(model):
    with pytest.raises(UserError, match="model 1 and model 2 of the ensemble differ in their source vocabulary"):
        TranslatorServable([model, made("word")], SearchConfiguration())


def test_without_attention_there_is_no_align_signature():
    one = SearchConfiguration(beam_size=1)
    servable = TranslatorServable([made("word", attention="none", deep_output=False)], one)
    assert set(servable.functions) == {"serving_default", "nbest", "complete", "alternatives", "score", "encode"}
    text = tf.constant(TEXTS)
    found = servable.functions["complete"](text=text, prefix=text)
    assert set(found) == set(servable.documentation["complete"]["outputs"]) and "attention" not in found
    assert len(servable.functions["serving_default"](tf.constant(TEXTS))["translation"]) == len(TEXTS)


def test_an_unknown_precision_is_refused(model):
    with pytest.raises(UserError, match="quantize=int4: allowed is one of none, float16, int8"):
        TranslatorServable([model], SearchConfiguration(), "int4")
