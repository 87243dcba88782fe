"""Training a classifier from files: resumption, pretrained vectors, initial models, and errors."""

import shutil

import keras
import numpy as np
import pytest

import tfnmt
from tfnmt.classification import training
from tfnmt.classification.presets import CLASSIFIER_PRESETS, ClassifierPreset
from tfnmt.classification.training import train_classifier
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.inspection.callbacks import tensorboard_callbacks
from tfnmt.training.run_record import started_preset
from tfnmt_programs.benchmarks.training_memory import MemoryOfEpochs

SMALL = ["embedding_size=6", "units=8", "tracker_units=5", "head_units=8", "batch_size=8", "epochs=2"]
SMALL += ["checkpoint_steps=2", "batch_normalization=true", "embedding_dropout=0.2", "head_dropout=0.2"]


def small(*settings):
    """The preset `tiny`, smaller, with these settings."""
    return CLASSIFIER_PRESETS["tiny"].override([*SMALL, *settings])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """24 training pairs and 10 dev pairs."""
    directory = tmp_path_factory.mktemp("files")
    paths = TASKS["snli"].write_sample(directory)
    for split, count in (("train", 24), ("dev", 10)):
        lines = paths[split].read_text(encoding="utf-8").splitlines(keepends=True)
        paths[split].write_text("".join(lines[:count]), encoding="utf-8")
    return [paths["train"]], [paths["dev"]]


class Killed(keras.callbacks.Callback):
    """Copies the directory of a run as it is after five batches: what a kill then leaves."""

    def __init__(self, directory, copy):
        super().__init__()
        self.directory, self.copy, self.batches = directory, copy, 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches == 5:
            shutil.copytree(self.directory, self.copy)


@pytest.mark.slow
def test_a_killed_and_resumed_run_gives_the_same_weights(files, tmp_path):
    """With rl-spinn, since its random state must be restored too."""
    preset = small("encoder=rl-spinn")
    memory, killed = MemoryOfEpochs(), Killed(tmp_path / "whole", tmp_path / "killed")
    board = tensorboard_callbacks(tmp_path / "whole", preset)
    model, progress = train_classifier(
        tmp_path / "whole", preset, *files, make_callbacks=lambda *of_run: [*board(*of_run), memory, killed]
    )
    assert memory.graphs[0] == memory.graphs[1], "a graph that is traced anew each epoch would never be freed"
    resumed, again = train_classifier(tmp_path / "killed", preset, *files, resume=True)
    assert again.steps == progress.steps == 6
    loaded = tfnmt.load(tmp_path / "whole")
    assert isinstance(loaded, tfnmt.Classifier) and loaded.configuration == preset.model
    for value, same, expected in zip(resumed.get_weights(), loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(same, expected)
    texts = ["( a dog )", "a cat sleeps"]
    assert loaded.parse(texts) == model.parse(texts)
    drop = {"seconds"}
    for row, expected in zip(again.history, progress.history, strict=True):
        assert {k: v for k, v in row.items() if k not in drop} == {k: v for k, v in expected.items() if k not in drop}
    assert set(progress.history[0]) >= {"accuracy", "loss", "dev_accuracy", "dev_loss", "dev_parse_f1"}


def test_pretrained_vectors_are_not_trained(files, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a 1 2 3\nanimal 4 5 6\nsings 7 8 9\nzebra 1 0 1\n", encoding="utf-8")
    preset = small("encoder=bag", "trained_embeddings=false", "projection=5", "steps=2")
    others = tmp_path / "others.jsonl"
    others.write_text(files[1][0].read_text().splitlines()[0].replace("a ", "zebra ") + "\n", encoding="utf-8")
    train_classifier(tmp_path / "model", preset, *files, vectors=vectors, word_files=[others])
    model = tfnmt.load(tmp_path / "model")
    assert model.configuration.embedding_size == 3
    (id_of_a,) = model.tokenizer.encode(["a"]).flat_values.numpy()
    np.testing.assert_array_equal(model.encoder.embedding.E.embeddings[id_of_a], [1, 2, 3])
    assert "zebra" in model.tokenizer.vocabulary()
    told = f"| word vectors | vectors.txt | `{file_digest(vectors)}` |"
    assert told in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    vectors.unlink()
    train_classifier(tmp_path / "model", started_preset(tmp_path / "model", ClassifierPreset), resume=True)


@pytest.mark.slow
def test_training_starts_from_an_initial_model(files, tmp_path):
    """A rate too small to move anything leaves the weights it began with, though its own files have other words."""
    train_classifier(
        tmp_path / "first", small("encoder=bag", "steps=3", "vocabulary_size=30", "lowercase=true"), *files
    )
    few = tmp_path / "few.jsonl"
    few.write_text("".join(files[0][0].read_text(encoding="utf-8").splitlines(keepends=True)[:4]), encoding="utf-8")
    preset = small("encoder=bag", f"initial={tmp_path / 'first'}", "learning_rate=1e-30", "steps=1")
    model, _ = train_classifier(tmp_path / "second", preset, [few], files[1])
    first = tfnmt.load(tmp_path / "first")

    def assert_same(model):
        assert model.tokenizer.get_config() == first.tokenizer.get_config()
        for value, expected in zip(model.trainable_variables, first.trainable_variables, strict=True):
            np.testing.assert_array_equal(value, expected)

    assert_same(model)
    recorded = started_preset(tmp_path / "second", ClassifierPreset)
    assert (recorded.model.vocabulary_size, recorded.model.lowercase) == (30, True), "what the words were made with"
    # Once it has begun, the run does not need that model any more.
    for path in (tmp_path / "second" / "checkpoints").glob("step-1.*"):
        path.unlink()
    (tmp_path / "second" / "model.weights.h5").unlink()
    (tmp_path / "first" / "model.weights.h5").unlink()
    assert_same(train_classifier(tmp_path / "second", recorded, [few], files[1], resume=True)[0])


@pytest.mark.slow
def test_averages_of_rewards_begin_anew_after_an_initial_model(files, tmp_path):
    """So a run with one baseline goes on from one with the other, in both directions."""
    settings = ("encoder=rl-spinn", "samples=2", "steps=1", "learning_rate=1e-30")
    models = {}
    for name, baseline, initial in (
        ("first", "leave_one_out", None),
        ("second", "running", "first"),
        ("third", "leave_one_out", "second"),
    ):
        begins_with = [f"initial={tmp_path / initial}"] if initial else []
        preset = small(*settings, f"baseline={baseline}", *begins_with)
        models[name], _ = train_classifier(tmp_path / name, preset, *files)
    for name in ("second", "third"):
        pairs = zip(models[name].trainable_variables, models["first"].trainable_variables, strict=True)
        for value, expected in pairs:
            np.testing.assert_array_equal(value, expected)
    assert float(models["second"].standardize.batches) == 1


def test_initial_models_that_do_not_fit_are_errors(files, tmp_path):
    train_classifier(tmp_path / "first", small("encoder=bag", "steps=1"), *files)

    def refusal(*settings, **more):
        with pytest.raises(UserError) as caught:
            train_classifier(tmp_path / "second", small("encoder=bag", "steps=1", *settings), *files, **more)
        assert not (tmp_path / "second").exists() and "\n" not in str(caught.value)
        return str(caught.value)

    first = f"initial={tmp_path / 'first'}"
    assert "the shape of" in (said := refusal(first, "head_units=9")) and "not (" in said and "--preset" in said
    said = refusal(first, "encoder=spinn-pi-nt")
    assert "first: it has" in said and said.endswith("; it has encoder=bag, not spinn-pi-nt")
    assert "there is no such model directory" in refusal(f"initial={tmp_path / 'none'}")
    assert "the word vectors come from initial=" in refusal(first, vectors="vectors.txt")
    (tmp_path / "first" / "config.json").write_text('{"kind": "translator"}')
    (tmp_path / "first" / "digests.json").unlink()
    assert "is a translator, not a classifier" in refusal(first)


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (["selection=bleu"], "selection=bleu: allowed is accuracy or loss"),
        (["mixed_precision=true"], "mixed_precision=true: allowed is false for classifiers"),
        (["loss_mean=sentences"], "loss_mean=sentences: allowed is words for classifiers"),
        (["task=sick"], "line 1: "),
    ],
)
def test_settings_that_are_errors(settings, complaint, files, tmp_path):
    with pytest.raises(UserError) as caught:
        train_classifier(tmp_path / "model", small("encoder=bag", *settings), *files)
    assert complaint in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_random_vectors_that_stay_as_they_are_are_told_of(files, tmp_path, caplog):
    train_classifier(tmp_path / "first", small("encoder=bag", "steps=1"), *files)
    assert "no word vectors" not in caplog.text
    train_classifier(tmp_path / "second", small("encoder=bag", "steps=1", "trained_embeddings=false"), *files)
    assert "no word vectors are given: random ones are used, and are not trained" in caplog.text


@pytest.mark.slow
def test_lengths_that_the_epochs_never_reach_are_told(files, tmp_path, caplog):
    caplog.set_level("WARNING", "tfnmt")
    train_classifier(
        tmp_path, small("encoder=bag", "epochs=2", "first_length=4", "growing_epochs=50", "warmup_steps=0"), *files
    )
    assert caplog.messages == ["examples of more than 4 words are never trained on: growing_epochs=50, epochs=2"]
    caplog.clear()
    settings = "encoder=bag", "epochs=50", "steps=1", "first_length=4", "growing_epochs=50", "warmup_steps=0"
    train_classifier(tmp_path / "steps", small(*settings), *files)
    assert caplog.messages == ["examples of more than 4 words are never trained on: growing_epochs=50, epochs=1"]


def test_a_run_smooths_labels_and_its_rate_falls_over_all_epochs(files, tmp_path):
    rates = []

    def callbacks(model, _):
        end = lambda *_: rates.append(float(model.optimizer.learning_rate))  # noqa: E731
        return [keras.callbacks.LambdaCallback(on_epoch_end=end)]

    preset = small("encoder=bag", "label_smoothing=0.25", "warmup_steps=0", "learning_rate=0.5")
    model, _ = train_classifier(tmp_path / "model", preset, *files, make_callbacks=callbacks)
    assert model.label_smoothing == 0.25
    assert rates == pytest.approx([0.25, 0])


def test_the_model_that_is_returned_has_the_best_weights(files, tmp_path):
    """Those of the first of two epochs: in the second one the loss is large."""

    def callbacks(model, _):
        def spoil(epoch, _):
            if epoch == 1:
                model.set_weights([100 * weight for weight in model.get_weights()])

        return [keras.callbacks.LambdaCallback(on_epoch_begin=spoil)]

    preset = small("encoder=bag", "selection=loss")
    model, progress = train_classifier(tmp_path / "model", preset, *files, make_callbacks=callbacks)
    assert progress.best_epoch == 1 and len(progress.history) == 2
    saved = tfnmt.load(tmp_path / "model")
    for weight, expected in zip(model.get_weights(), saved.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.slow
def test_the_seed_decides_the_order_of_the_examples(files, tmp_path):
    """Runs that begin with the same weights and drop nothing differ in it alone."""
    settings = ("encoder=bag", "steps=1", "embedding_dropout=0", "head_dropout=0")
    train_classifier(tmp_path / "first", small(*settings), *files)
    weights = []
    for seed in (1, 2):
        preset = small(*settings, f"initial={tmp_path / 'first'}", f"seed={seed}")
        model, _ = train_classifier(tmp_path / str(seed), preset, *files)
        weights.append(np.concatenate([weight.ravel() for weight in model.get_weights()]))
    assert not np.array_equal(*weights)


def test_long_examples_are_left_out_of_training_alone(files):
    examples, dev_examples = training._read(small("encoder=bag", "maximum_length=6"), *files)
    assert examples.lengths.max() == 6 < dev_examples.lengths.max()
    assert set(examples.summary.skipped) == {"longer than 6 words"} and len(dev_examples) == 10


def test_words_of_examples_that_are_still_too_long_are_not_learned(tmp_path):
    """In the first of two epochs sentences have one word: the vectors of the others' words stay what they were."""
    path, learned = tmp_path / "words.tsv", []
    path.write_text("1\tone\n2\ttwo\n3\tlong sentence\n")

    def callbacks(model, _):
        words, vectors = model.tokenizer.vocabulary(), model.encoder.embedding.E.embeddings
        before = vectors.numpy()

        def note(*_):
            changed = np.any(vectors.numpy() != before, axis=1)[-len(words) :]
            learned.append({word for word, is_other in zip(words, changed, strict=True) if is_other})

        return [keras.callbacks.LambdaCallback(on_epoch_end=note)]

    settings = ("task=listops", "encoder=bag", "batch_normalization=false", "embedding_dropout=0", "warmup_steps=0")
    preset = small(*settings, "first_length=1", "growing_epochs=1")
    train_classifier(tmp_path / "model", preset, [path], [path], make_callbacks=callbacks)
    assert learned == [{"one", "two"}, {"one", "two", "long", "sentence"}]


@pytest.mark.slow
def test_a_model_of_the_other_kind_is_an_error(files, tmp_path):
    train_classifier(tmp_path / "model", small("encoder=bag", "steps=1"), *files)
    with pytest.raises(UserError, match="is a classifier, not a translator"):
        tfnmt.load(tmp_path / "model", "translator")
    (tmp_path / "model" / "config.json").write_text('{"kind": "poet"}')
    with pytest.raises(UserError, match="kind=poet: allowed is translator or classifier"):
        tfnmt.load(tmp_path / "model")


@pytest.mark.parametrize(
    "name, lines, complaint",
    [
        ("a.tsv", "neutral\tA\tB\nodd\tA\tC\n", "a.tsv, line 2: the label is 'odd'"),
        ("a.txt", "gold_label\tsentence1\n", "a.txt, line 1: no column is named 'sentence1_binary_parse'"),
        ("a.tsv.gz", "", "a.tsv.gz: compressed, or no file on a disk"),
    ],
)
def test_mistakes_in_a_file_to_be_divided_are_told_of_it_and_not_of_its_parts(name, lines, complaint, tmp_path):
    path = tmp_path / name
    path.write_text(lines)
    with pytest.raises(UserError, match=f"^{path.parent}/{complaint}"):
        train_classifier(tmp_path / "model", small("encoder=bag"), [path], 1)
    assert not (tmp_path / "model").exists()


def test_pairs_with_the_same_first_sentence_stay_together(tmp_path):
    """Those of SNLI are three lines each; a header is on both sides."""
    path = tmp_path / "pairs.txt"
    names = ["gold_label", "sentence1_binary_parse", "sentence2_binary_parse"]
    lines = [f"neutral\t( dog {i} )\t( cat {j} )" for j in range(3) for i in range(20)]
    path.write_text("\n".join(["\t".join(names), *lines]) + "\n")
    parts = training._divided(small("encoder=bag"), [path], 5, tmp_path / "split")
    sides = [[line.split("\t")[1] for line in file.read_text().splitlines()[1:]] for (file,) in parts]
    assert len(sides[0]) + len(sides[1]) == 60 and not set(sides[0]) & set(sides[1])
    assert len(sides[1]) == 6, "two sentences, so that there are five lines or more"
    again = training._divided(small("encoder=bag"), [path, path], 5, tmp_path / "a file twice")
    assert [len(files) for files in again] == [2, 2]


def test_a_number_of_dev_examples_needs_files_to_hold_them_out_of(files, tmp_path):
    with pytest.raises(
        UserError, match="dev_files=5: allowed is files with training_files, or a number to hold out of them"
    ):
        train_classifier(tmp_path / "model", small("encoder=bag"), None, 5)
    train_classifier(tmp_path / "model", small("encoder=bag", "steps=1"), *files)
    with pytest.raises(UserError, match="dev_files=5: allowed is None to resume"):
        train_classifier(tmp_path / "model", small("encoder=bag", "steps=1"), None, 5, resume=True)


def test_training_files_without_dev_files_are_refused(files, tmp_path):
    """And the sample corpus is not trained on in their place."""
    for given in ((files[0], None), (None, files[1])):
        with pytest.raises(UserError, match="dev_files=.*: allowed is files with training_files, or a number"):
            train_classifier(tmp_path / "model", small("encoder=bag"), *given)


def test_a_file_that_changes_while_it_is_trained_on_is_told(files, tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(files[0][0].read_bytes())

    def callbacks(*_):
        change = lambda *_: path.write_bytes(path.read_bytes().replace(b"dog", b"fox"))  # noqa: E731
        return [keras.callbacks.LambdaCallback(on_epoch_begin=change)]

    with pytest.raises(UserError, match=f"^{path}: has changed while it was in use"):
        train_classifier(
            tmp_path / "model", small("encoder=bag", "steps=1"), [path], files[1], make_callbacks=callbacks
        )


def test_vectors_of_no_size_are_told_of_their_file(files, tmp_path):
    np.save(tmp_path / "w.npy", np.zeros([2, 0], np.float32))
    with pytest.raises(UserError, match=r"w.npy: holds float32 \[2, 0\]; it must be floats \[words, size\]; size is 1"):
        train_classifier(tmp_path / "model", small("encoder=bag"), *files, vectors=tmp_path / "w.npy")


@pytest.fixture
def with_zebra(files, tmp_path):
    """The same files, with a word in the dev pairs that the training pairs have not."""
    dev = tmp_path / "dev.jsonl"
    dev.write_text(files[1][0].read_text(encoding="utf-8").replace("a ", "zebra ", 1), encoding="utf-8")
    return files[0], [dev]


def test_words_of_dev_files_are_not_learned(with_zebra, tmp_path):
    model, _ = train_classifier(tmp_path / "model", small("encoder=bag", "steps=1"), *with_zebra)
    assert set(model.tokenizer.vocabulary()) == set(ExampleDataset(TASKS["snli"], with_zebra[0]).word_counts)


@pytest.mark.slow
def test_words_of_dev_files_have_vectors(with_zebra, tmp_path):
    (tmp_path / "vectors.txt").write_text("zebra 1 0 1\n", encoding="utf-8")
    preset = small("encoder=bag", "trained_embeddings=false", "steps=1")
    model, _ = train_classifier(tmp_path / "model", preset, *with_zebra, vectors=tmp_path / "vectors.txt")
    assert "zebra" in model.tokenizer.vocabulary()
