"""From files to a trained translator: what is refused, what is dropped, and half precision."""

import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import tfnmt
from tfnmt.classification.presets import ClassifierPreset
from tfnmt.configuration import Configuration
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.data.training_pairs import batches_of
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer, make_tokenizers
from tfnmt.training import description as model_description
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.model_directory import save_weights
from tfnmt.training.progress import Progress
from tfnmt.training.run_record import started_preset
from tfnmt.translation import training
from tfnmt.translation.presets import PRESETS, Preset, find_preset
from tfnmt.translation.training import train_translator

SMALL = ["decoder_units=8", "batch_size=16", "epochs=2", "checkpoint_steps=3", "selection=loss"]
SMALL += [
    f"{name}=8" for name in ("source_embedding_size", "target_embedding_size", "encoder_units", "attention_units")
]
SMALL += ["bidirectional=false", "conditional=false", "attention=none"]  # sooner traced


def small(*settings):
    """The preset `tiny`, smaller, with these settings."""
    return PRESETS["tiny"].override([*SMALL, *settings])


def write(path, lines):
    path.write_bytes(b"".join(line if isinstance(line, bytes) else f"{line}\n".encode() for line in lines))
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training files of 60 pairs and dev files of 20."""
    directory = tmp_path_factory.mktemp("files")
    written = []
    for split, count in (("train", 60), ("dev", 20)):
        sides = zip(*sample_pairs(count, 1, split), strict=True)
        written.append(ParallelFiles(*(write(directory / f"{split}.{i}", side) for i, side in enumerate(sides))))
    return written


def lines_of(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read().splitlines()


@pytest.mark.slow
def test_lines_that_are_empty_or_have_a_million_characters(files, tmp_path, logged):
    many_words, one_word = "hund " * 200_000, "x" * 1_000_000
    odd = {"train": ["", many_words, one_word], "dev": [many_words, "", one_word]}
    odd_files = []
    for (split, strange), plain in zip(odd.items(), files, strict=True):
        source, target = lines_of(plain.source), lines_of(plain.target)
        source[4:7], target[5:8] = strange, strange
        odd_files.append(ParallelFiles(*(write(tmp_path / f"{split}.{i}", s) for i, s in enumerate((source, target)))))
    preset = small("steps=2", "maximum_source_length=50")
    model, progress = train_translator(tmp_path / "model", preset, *odd_files)
    learning, *lines = logged()
    assert learning == "learning the vocabulary"
    assert lines[0] == (
        f"{odd_files[0].source}: kept 56 of 60 pairs; dropped 3 longer than 100 tokens (first: line 6), "
        "1 empty (first: line 5)"
    )
    assert lines[2:4] == [
        f"{odd_files[1].source}, line {line}: too long, only its first 50 tokens are read" for line in (5, 7)
    ]
    assert lines[4] == (
        f"{odd_files[1].target}, line 6: too long, loss, perplexity and accuracy are of its first 16,000 tokens"
    )
    assert lines[5].endswith(" of the first epoch's 8 batches begin") and len(lines) == 7
    assert lines[6].startswith("epoch 1 of 1: loss: ") and " - dev_loss: " in lines[6]
    assert progress.steps == 2 and np.isfinite(progress.best_score)
    translations = model.translate([many_words[:1000], "", "the dog"])
    assert len(translations) == 3 and translations[1] == ""


@pytest.mark.slow
def test_half_precision(files, tmp_path, monkeypatch):
    seen = []
    original = training.compile_for_training
    monkeypatch.setattr(
        training, "compile_for_training", lambda model, *more: seen.append(model) or original(model, *more)
    )
    model, progress = train_translator(
        tmp_path / "model", small("mixed_precision=true", "steps=2", "attention=additive"), *files
    )
    assert np.isfinite(progress.best_score)
    (trained,) = seen
    assert trained.product_dtype == "bfloat16"
    assert all(weight.dtype == "float32" for weight in trained.weights)
    loaded = tfnmt.load(tmp_path / "model")
    assert loaded.product_dtype is model.product_dtype is None, "only training computes in half precision"
    for value, expected in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    assert loaded.translate(["the dog"]) == model.translate(["the dog"])


def test_training_begins_with_a_trained_model(files, tmp_path, monkeypatch):
    """In half precision too. What `train` is given is looked at, and kept without any training."""
    given = []

    def train(run):
        given.append(run.model)
        save_weights(run.model, run.directory)
        return Progress()

    monkeypatch.setattr(model_description, "train", train)
    monkeypatch.setattr(training, "model_card", Mock())
    first, _ = train_translator(tmp_path / "first", small("lowercase=true"), *files)
    begin = [f"initial={tmp_path / 'first'}", "mixed_precision=true", "seed=2"]
    train_translator(tmp_path / "second", small(*begin), files[1], files[1])
    second = given[-1]
    assert second.product_dtype == "bfloat16"
    for name in ("source_tokenizer", "target_tokenizer"):
        assert getattr(second, name).get_config() == getattr(first, name).get_config()
    for value, expected in zip(second.get_weights(), first.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
    assert started_preset(tmp_path / "second", Preset).text == small("lowercase=true").text, "what it was made with"
    message = refusal(tmp_path / "third", small(*begin, "decoder_units=9"), *files)
    assert "the shape of" in message and f"; --config {tmp_path / 'first'}/config.json makes the same" in message


def refusal(directory, preset, training_files, dev_files, resume=False):
    with pytest.raises(UserError) as caught:
        train_translator(directory, preset, training_files, dev_files, resume)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_training_files_without_dev_files_are_refused(files, tmp_path):
    """And the sample corpus is not trained on in their place."""
    for given in ((files[0], None), (None, files[1])):
        message = refusal(tmp_path / "model", small(), *given)
        assert "dev_files=" in message and "allowed is files with training_files, or a number to hold out" in message


def test_files_that_nothing_can_be_learned_from(files, tmp_path):
    training, dev = files
    empty = write(tmp_path / "empty", [])
    blank = write(tmp_path / "blank", [""] * 60)
    bad = write(tmp_path / "bad", [*lines_of(training.source)[:6], b"caf\xe9\n", *lines_of(training.source)[7:]])
    output = tmp_path / "model"
    for source, complaint in (
        (
            dev.source,
            f"{dev.source} has 20 lines and {training.target} 60: line-aligned files must have the same number",
        ),
        (empty, f"{empty}: the file is empty"),
        (blank, f"{blank}: no words to learn: "),
        (bad, f"{bad}, line 7: not UTF-8 (byte 0xe9 at byte 4 of the line)"),
        (str(tmp_path / "absent"), f"{tmp_path / 'absent'}: cannot be read: No such file or directory"),
    ):
        pair = ParallelFiles(source, training.target)
        assert complaint in refusal(output, small(), pair, dev)
        if source != blank:
            assert complaint in refusal(output, small(), training, pair)
    blank_dev = ParallelFiles(write(tmp_path / "blank-dev", ["", " "]), write(tmp_path / "dev", ["a", "b"]))
    assert refusal(output, small(), training, blank_dev) == f"{blank_dev.source}: has no sentence, only blank lines"
    message = refusal(output, small("maximum_length=1"), training, dev)
    assert message == (
        f"{training.source}: no pair is left to train on: "
        "kept 0 of 60 pairs; dropped 60 longer than 1 tokens (first: line 1)"
    )
    assert not output.exists(), "nothing is in the way of the next attempt"


@pytest.fixture(scope="module")
def begun(files, tmp_path_factory):
    """The directory of a training that ended in its first batch."""
    directory = tmp_path_factory.mktemp("begun") / "model"
    until_the_first_batch(train_translator, directory, small(), *files)
    return directory


def until_the_first_batch(function, *arguments, **named):
    """Call what trains; it ends when it calls `fit`."""
    with pytest.MonkeyPatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(tfnmt.Translator, "fit", Mock(side_effect=KeyboardInterrupt))
        function(*arguments, **named)


def test_two_runs_do_not_write_to_one_directory(files, tmp_path, monkeypatch):
    told = []

    def train(run):
        told.append(refusal(run.directory, small(), *files))
        save_weights(run.model, run.directory)
        return Progress()

    monkeypatch.setattr(model_description, "train", train)
    monkeypatch.setattr(training, "model_card", Mock())
    train_translator(tmp_path / "model", small(), *files)
    assert told[0].startswith(f"{tmp_path / 'model'}: another run is writing there (process ")


def test_a_model_is_not_trained_over(begun, files):
    before = {path: path.stat().st_mtime_ns for path in begun.rglob("*")}
    message = refusal(begun, small(), *files)
    assert message == f"{begun}: a model is there already; --resume {begun} goes on with it, or name another --output"
    assert {path: path.stat().st_mtime_ns for path in begun.rglob("*")} == before


@pytest.mark.parametrize(
    "setting, was, value",
    [
        ("decoder_units=9", 8, 9),
        ("vocabulary_size=99", 10000, 99),
        ("batch_size=8", 16, 8),
        ("learning_rate=0.1", 0.004, 0.1),
        ("weight_average=0.9", None, 0.9),
        ("seed=3", 1, 3),
    ],
)
def test_a_resumed_training_has_the_settings_it_was_started_with(setting, was, value, begun, files):
    before = (begun / "config.json").read_bytes()
    message = refusal(begun, small(setting), *files, resume=True)
    key = setting.split("=")[0]
    assert message == (
        f"{begun}: the run was started with {key}={was}, not {value}; only epochs, steps, patience, checkpoint_steps,"
        " keep_checkpoints may change: begin another run, in another directory, perhaps with the weights of this one"
        f" (--initial {begun})"
    )
    assert (begun / "config.json").read_bytes() == before


def test_a_cosine_schedule_is_as_long_as_its_run(begun, files, tmp_path, monkeypatch):
    """So a run that goes on keeps its length, or the learning rate would jump."""
    model = shutil.copytree(begun, tmp_path / "model")
    description = json.loads((model / "config.json").read_text())
    description["training"] |= {"schedule": "cosine", "steps": 6, "warmup_steps": 2}
    (model / "config.json").write_text(json.dumps(description))
    (model / "digests.json").unlink()  # the change is meant
    cosine = ["schedule=cosine", "steps=6", "warmup_steps=2"]
    for setting, change in (("epochs=3", "epochs=2, not 3"), ("steps=7", "steps=6, not 7")):
        assert refusal(model, small(*cosine, setting), *files, resume=True) == (
            f"{model}: the run was started with {change}, and its cosine schedule is as long as the run; resume it with"
            f" the same, or train on from its end in another --output, with --initial {model}"
        )
    given = []

    def train(run):
        given.append(run)
        save_weights(run.model, run.directory)
        return Progress()

    monkeypatch.setattr(model_description, "train", train)
    monkeypatch.setattr(training, "model_card", Mock())
    train_translator(model, small(*cosine, "patience=9"), *files, resume=True)
    schedule = given[0].model.optimizer.get_config()["learning_rate"]
    assert schedule["config"]["decay_steps"] == 6 - 2


def resume(directory, *settings, **named):
    preset = started_preset(directory, Preset).override([*settings])
    return train_translator(directory, preset, resume=True, **named)


def resume_refusal(directory, *settings, **named):
    with pytest.raises(UserError) as caught:
        resume(directory, *settings, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def copy(begun, tmp_path):
    """A copy of the directory, to change."""
    return shutil.copytree(begun, tmp_path / "copy")


def test_a_run_knows_its_options_and_files(copy):
    assert started_preset(copy, Preset) == small()
    until_the_first_batch(resume, copy, "patience=9")
    assert started_preset(copy, Preset) == small("patience=9")


def test_what_is_no_run_is_not_resumed(copy, tmp_path):
    absent = tmp_path / "absent" / "model"
    assert resume_refusal(absent) == f"{absent}: no run has begun there (it has no run.json); --output begins one"
    assert not absent.parent.exists()
    (copy / "config.json").write_text((copy / "config.json").read_text() + "\n")
    assert resume_refusal(copy).startswith(f"{copy / 'config.json'}: has changed since it was written; put the right")
    (copy / "digests.json").unlink()
    shutil.rmtree(copy / "checkpoints")
    (copy / "model.weights.h5").touch()
    before = {path: path.read_bytes() for path in copy.iterdir()}
    assert resume_refusal(copy) == (
        f"{copy / 'checkpoints'}: there is no checkpoint to go on from; begin anew, in another directory"
        f" (--initial {copy} takes the best weights from here)"
    )
    assert {path: path.read_bytes() for path in copy.iterdir()} == before
    with pytest.raises(UserError, match="is a translator, not a classifier"):
        started_preset(copy, ClassifierPreset)
    for text, complaint in (("{", "is broken ("), ("[" * 100_000, "is broken ("), ("{}", "key 'training'")):
        (copy / "run.json").write_text(text)
        (copy / "checkpoints").mkdir(exist_ok=True)
        (copy / "checkpoints" / "step-0.index").touch()
        assert f"{copy / 'run.json'}: {complaint}" in resume_refusal(copy)


def test_a_run_that_has_its_record_alone_can_be_started_again(copy):
    """As after a kill between the two."""
    shutil.rmtree(copy / "checkpoints")
    (copy / "config.json").unlink()
    with pytest.raises(UserError, match=f"^{copy}: nothing is saved there yet: start it again, with the same --output"):
        started_preset(copy, Preset)


@pytest.mark.parametrize("split", [0, 1], ids=["train", "dev"])
def test_a_training_watches_its_files(split, files, tmp_path, monkeypatch):
    copies = [
        ParallelFiles(*(shutil.copy(path, tmp_path / f"{name}.{side}") for side, path in enumerate(pairs.paths())))
        for name, pairs in zip(("train", "dev"), files, strict=True)
    ]
    runs = []
    monkeypatch.setattr(training, "train_and_describe", lambda run, *_: runs.append(run))
    train_translator(tmp_path / "model", small(), *copies)
    runs[0].check_files()
    changed = Path(copies[split].target)
    changed.write_text(changed.read_text().replace("e", "q"))
    with pytest.raises(UserError, match=f"^{changed}: has changed while it was in use"):
        runs[0].check_files()


def test_a_run_that_has_not_begun_is_in_nobodys_way(copy, files):
    """As after a kill before the first checkpoint."""
    shutil.rmtree(copy / "checkpoints")
    assert resume_refusal(copy) == f"{copy}: nothing is saved there yet: start it again, with the same --output"
    until_the_first_batch(train_translator, copy, small(), *files)
    assert (copy / "checkpoints" / "step-0.index").exists()
    (copy / "run.json").unlink()
    (copy / "checkpoints" / "step-0.index").unlink()
    assert refusal(copy, small(), *files) == f"{copy}: config.json is there already; name another --output"


def test_the_best_weights_of_a_run_whose_checkpoints_are_gone_are_not_trained_over(copy, files):
    """Nor can such a run go on."""
    shutil.rmtree(copy / "checkpoints")
    (copy / "model.weights.h5").touch()
    assert refusal(copy, small(), *files) == f"{copy}: a model is there already; name another --output"


@pytest.mark.parametrize("split", [0, 1], ids=["train", "dev"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_other_data_are_not_taken_for_the_runs_own(split, side, copy, files, tmp_path):
    """Though they have as many lines, words and batches."""
    path = Path(getattr(files[split], side))
    own = path.read_bytes()
    first, second, rest = own.split(b"\n", 2)
    other = b"\n".join([second, first, rest])
    assert len(other) == len(own) and other != own
    try:
        path.write_bytes(other)
        assert resume_refusal(copy) == (
            f"{path}: is not what the run in {copy} was started with; put that back, or begin another run with the"
            f" weights of this one: --initial {copy} --output ANOTHER"
        )
        path.unlink()
        missing = f"{path}: cannot be read: No such file or directory; if it was moved, name it where it is now"
        assert resume_refusal(copy) == missing
    finally:
        path.write_bytes(own)


def test_files_that_were_moved_are_named_anew(copy, files, tmp_path):
    moved = ParallelFiles(*(shutil.copy(path, tmp_path / f"moved.{i}") for i, path in enumerate(files[1].paths())))
    until_the_first_batch(resume, copy, dev_files=moved)
    record = json.loads((copy / "run.json").read_text())
    assert [file["path"] for file in record["dev"]] == [str(path) for path in moved.paths()]
    one = ParallelFiles(files[1].source)
    assert "name each of these files, or none" in resume_refusal(copy, dev_files=one)


def test_a_run_on_the_sample_has_it_in_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "write_sample", small_sample)
    until_the_first_batch(train_translator, tmp_path / "model", small())
    (tmp_path / "model").rename(tmp_path / "moved")
    until_the_first_batch(resume, tmp_path / "moved")
    (tmp_path / "moved" / "sample" / "dev.de").write_text("x\n" * 20)
    assert f"{tmp_path / 'moved' / 'sample' / 'dev.de'}: is not what the run" in resume_refusal(tmp_path / "moved")


def small_sample(directory):
    directory.mkdir()
    paths = {}
    for split, count in (("train", 40), ("dev", 20)):
        for language, side in zip(("en", "de"), zip(*sample_pairs(count, 1, split), strict=True), strict=True):
            paths[f"{split}.{language}"] = write(directory / f"{split}.{language}", side)
    return paths


def test_a_full_disk_leaves_nothing_in_the_way(files, tmp_path, full_disk):
    output = tmp_path / "model"
    with full_disk(500):
        message = refusal(output, small(), *files)
    assert message.startswith(f"{output / 'run.json'}: cannot be written (File too large)")
    assert not (output / "config.json").exists()


def test_presets_are_known_by_name():
    assert find_preset("tiny") is PRESETS["tiny"]
    with pytest.raises(UserError) as caught:
        find_preset("multi30")
    assert str(caught.value).startswith("unknown preset 'multi30'; the nearest is 'multi30k' of tiny, ")
    for preset in PRESETS.values():
        assert all(isinstance(part, Configuration) for _, part in preset)


def test_dev_scores_in_half_precision_are_of_the_weights_so_far(files):
    preset = small("mixed_precision=true")
    tokenizers = make_tokenizers(preset.text, *files[0].sides(), 1)
    model, trained = training._new_models(preset, tokenizers)
    training.compile_for_training(trained, preset.training, 10)
    assert any(np.any(a != b) for a, b in zip(model.get_weights(), trained.get_weights(), strict=True))
    training.dev_scoring(trained, model, files[1])()
    for value, expected in zip(model.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_metrics_have_their_variables_before_the_first_batch():
    """Keras makes them in it, too late for the step that sums those of several processes."""
    _, trained = training._new_models(small(), (WordTokenizer(["a"]),) * 2)
    training.compile_for_training(trained, small().training, 10)
    names = [variable.path.partition("/")[0] for variable in trained.metrics_variables]
    assert names == ["loss"] * 2 + ["perplexity"] * 2 + ["token_accuracy"] * 2
    assert not any(float(variable) for variable in trained.metrics_variables)


@pytest.mark.parametrize("slower", [False, True])
def test_a_machine_that_is_slower_in_bfloat16_is_told(slower, monkeypatch, logged):
    monkeypatch.setattr(training, "bfloat16_is_slower", lambda: slower)
    training._new_models(small("mixed_precision=true"), (WordTokenizer(["a"]),) * 2)
    told = ["mixed_precision=true: this machine multiplies faster in float32; without it, training is faster"]
    assert logged() == (told if slower else [])


def test_a_seed_decides_the_first_weights():
    tokenizers = (WordTokenizer(["a"]),) * 2
    first, again, other = (training._new_models(small(f"seed={seed}"), tokenizers)[0] for seed in (1, 1, 2))
    for value, same, another in zip(*(model.get_weights() for model in (first, again, other)), strict=True):
        np.testing.assert_array_equal(value, same)
        assert not np.any(value) or np.any(value != another)


def test_the_loss_is_the_one_that_the_configuration_asks_for():
    """Neither value is the default."""
    preset = small("label_smoothing=0.2", "loss_mean=sentences")
    model, _ = training._new_models(preset, (WordTokenizer(["a", "b"]),) * 2)
    training.compile_for_training(model, preset.training, 10)
    inputs = {"source": np.array([[4, 3, 0], [4, 5, 3]]), "target": np.array([[2, 5, 0], [2, 4, 5]])}
    labels, logits = np.array([[5, 3, 0], [4, 5, 3]]), model(inputs)
    expected = MaskedCrossEntropy(0.2, "sentences")(labels, logits)
    np.testing.assert_allclose(model.compute_loss(inputs, labels, logits), expected, rtol=1e-6)


def test_a_run_has_the_batches_of_its_seed_and_of_each_epoch(files, tmp_path, monkeypatch):
    runs, preset, pairs = [], small("seed=2", "warmup_steps=1", "batch_size=4"), files[1]
    monkeypatch.setattr(training, "train_and_describe", lambda run, *_: runs.append(run))
    train_translator(tmp_path / "model", preset, pairs, pairs)
    (run,) = runs
    expected = batches_of(pairs, run.model.tokenizers, preset.batching, seed=2, epoch=1, skip=2)
    batches = zip(run.batches(1, 2), expected, strict=True)
    are_same = [np.array_equal(labels, others) for (_, labels), (_, others) in batches]
    assert len(are_same) == run.batches_per_epoch - 2 and all(are_same)
    schedule = run.model.optimizer.get_config()["learning_rate"]["config"]
    assert schedule["decay_steps"] == 2 * run.batches_per_epoch - 1, "of both epochs"


def test_the_dev_loss_is_of_as_much_of_a_source_as_the_model_reads(files, monkeypatch):
    def evaluate(model, batches, **options):
        return {"loss": max(inputs["source"].shape[1] for inputs, _ in batches)}

    monkeypatch.setattr(tfnmt.Translator, "evaluate", evaluate)
    monkeypatch.setattr(tfnmt.Translator, "translate", lambda model, texts, **options: [""] * len(texts))
    preset = small("maximum_source_length=3")
    model, _ = training._new_models(preset, make_tokenizers(preset.text, *files[0].sides(), 1))
    assert training.dev_scoring(model, model, files[1])()["dev_loss"] == 3 + 1
