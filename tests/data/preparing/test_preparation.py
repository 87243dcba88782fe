"""A corpus through all passes, on Ray: what comes out, and that after a kill it goes on where it was."""

import json
import os
import shutil
import signal
from pathlib import Path
from unittest.mock import MagicMock

import pytest

import tfnmt
from tests.commands.calls import call
from tests.processes import wait_until
from tfnmt.data.preparing import passes, preparation
from tfnmt.data.preparing.configuration import FilterConfiguration, ShardConfiguration
from tfnmt.data.preparing.inputs import find_inputs
from tfnmt.data.preparing.preparation import Preparation, prepare
from tfnmt.data.record_batches import read_ids
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.pretrained import find_model
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.run_record import read_preset
from tfnmt.translation.presets import Preset

PREPARATION = Preparation(
    text=TextConfiguration(tokenizer="words", joint_vocabulary=False),
    filters=FilterConfiguration(),
    shards=ShardConfiguration(shard_pairs=50),
)


class KilledError(Exception):
    """Stands for a kill of the driver."""


def killed(*_):
    raise KilledError


@pytest.mark.slow
def test_a_corpus_is_prepared_through_mistakes_and_kills(tmp_path, monkeypatch, ray_cluster):
    """200 pairs and 30 of them again, in two files, with a pair to drop. One TAB is missing at first."""
    pairs, directory = sample_pairs(200, 0, "train"), tmp_path / "records"
    parts = pairs[:120], [*pairs[120:], ("The same.", "The same."), *pairs[:30]]
    names = [str(tmp_path / f"{number}.tsv") for number in range(2)]
    for name, part in zip(names, parts, strict=True):
        Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in part), encoding="utf-8")
    inputs, right = find_inputs(names, None), Path(names[1]).read_text(encoding="utf-8")
    Path(names[1]).write_text(right.replace("\t", " ", 1), encoding="utf-8")
    with pytest.raises(UserError, match=r"^\S+1\.tsv, line 1: 0 TABs; there must be one, between source and target$"):
        prepare(directory, inputs, PREPARATION)
    Path(names[1]).write_text(right, encoding="utf-8")
    (directory / "parts" / "00000-000000.json").touch()  # the first file's parts may be there or not
    with pytest.raises(UserError, match=r"prepare.json: \S+1\.tsv was another when this was begun"):
        prepare(directory, inputs, PREPARATION)
    shutil.rmtree(directory)

    # Killed before anything is tidied up; then as if it had been killed with two of six shards not written yet.
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr(preparation, "_remove_parts", killed)
        prepare(directory, inputs, PREPARATION)
    index = (directory / "index.json").read_bytes()
    left = "00000-000002", "00001-000000"
    for name in ("index.json", *(f"{name}{end}" for name in left for end in (".json", ".tfrecord"))):
        (directory / name).unlink()
    done = {path: path.stat().st_mtime_ns for path in directory.glob("*.tfrecord")}
    records = prepare(directory, inputs, PREPARATION)
    assert len(done) == 4 and {path: path.stat().st_mtime_ns for path in done} == done
    assert (directory / "index.json").read_bytes() == index

    counts = {reason: (count["pairs"], count.get("first")) for reason, count in records.index.counts.items()}
    identical = {"file": names[1], "line": 81, "source": "The same.", "target": "The same."}
    again = {"file": names[1], "line": 82, "source": pairs[0][0], "target": pairs[0][1]}
    assert counts == {"kept": (200, None), "identical": (1, identical), "duplicate": (30, again)}
    assert [shard.pairs for shard in records.index.shards] == [50, 50, 20, 50, 30]
    assert records.check() == 200
    others = ["index.json", "prepare.json", "source.json", "source.txt", "target.json", "target.txt"]
    assert sorted(path.name for path in directory.iterdir() if path.suffix != ".tfrecord") == others
    for side, tokenizer in enumerate(records.tokenizers()):
        texts = [line for ids in read_ids(records, 64) for line in tokenizer.decode(ids[side]).numpy()]
        assert texts == [pair[side].encode() for pair in pairs]

    times = {path: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert prepare(directory, inputs, PREPARATION).index == records.index
    assert {path: path.stat().st_mtime_ns for path in directory.iterdir()} == times, "it was prepared already"
    with pytest.raises(UserError, match="prepare.json: shard_pairs was another when this was begun"):
        prepare(directory, inputs, PREPARATION.replace(shards=ShardConfiguration(shard_pairs=60)))


@pytest.mark.slow
def test_a_process_that_dies_while_it_reads_loses_no_pair(tmp_path, monkeypatch, ray_cluster):
    """Ray reads the input again, and leaves out as many parts as it has had."""
    lines = [f"sentence number {number}\tSatz Nummer {number}" for number in range(1200)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    read, has_died = passes._read, tmp_path / "has died"

    def dies_once(inputs, parts, *others):
        for number, table in enumerate(read(inputs, parts, *others)):
            yield table
            if number == 6 and not has_died.exists():
                wait_until(lambda: len(list(parts.glob("?????-??????.json"))) > 3)
                has_died.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(passes, "_read", dies_once)
    monkeypatch.setattr(passes, "_LARGEST_BLOCK", 2000)  # so that some parts get out before it dies
    preparation = PREPARATION.replace(shards=ShardConfiguration(shard_pairs=100))
    records = prepare(tmp_path / "records", find_inputs([str(tmp_path / "pairs.tsv")], None), preparation)
    assert has_died.exists() and records.check() == 1200


def test_parts_that_are_missing_are_told(tmp_path):
    path, ray = tmp_path / "pairs.tsv", MagicMock()
    path.write_text("a\tb\n")
    filtered = ray.data.from_items.return_value.map_batches.return_value.map_batches.return_value
    filtered.iter_rows.return_value = []
    (tmp_path / "input-00000.txt").write_text("1")
    with pytest.raises(UserError, match=f"^{path}: not all of it has been filtered; give the same command again$"):
        passes.filter_inputs(ray, find_inputs([str(path)], None), tmp_path, FilterConfiguration(), 100)


def test_after_a_mistake_before_the_first_part_the_mended_file_is_taken(tmp_path, monkeypatch):
    directory, names = tmp_path / "records", [str(tmp_path / f"{number}.tsv") for number in range(2)]
    for name in names:
        Path(name).write_text("a\tb\n")
    monkeypatch.setattr(preparation, "ray_started", MagicMock())
    monkeypatch.setattr(preparation, "_write", MagicMock(side_effect=UserError("1.tsv, line 1: 0 TABs")))
    for _ in range(2):
        with pytest.raises(UserError, match="0 TABs"):
            prepare(directory, find_inputs(names, None), PREPARATION)
        Path(names[1]).write_text("a\tb\nc\td\n")
    (directory / "parts" / "00000-000000.json").touch()
    Path(names[1]).write_text("a\tb\n")
    with pytest.raises(
        UserError, match=f"prepare.json: {names[1]} was another when this was begun; go on with the same"
    ):
        prepare(directory, find_inputs(names, None), PREPARATION)


@pytest.mark.parametrize("name", ["index.json", "target.json", "00000-000000.tfrecord"])
def test_other_records_and_models_stay(tmp_path, name):
    """A model's tokenizers would take the place of those asked for."""
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    (tmp_path / name).write_text("{}")
    with pytest.raises(UserError, match=f"{tmp_path / name}: there are records or a model already"):
        prepare(tmp_path, find_inputs([str(tmp_path / "pairs.tsv")], None), PREPARATION)


def test_the_tokenizers_of_a_classifier_are_of_no_use(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    model = find_model("sample-spinn")
    with pytest.raises(UserError, match=f"{model}: is a classifier, not a translator"):
        call(
            "prepare",
            "--output",
            tmp_path / "records",
            "--source",
            tmp_path / "pairs.tsv",
            "--tokenizers",
            "sample-spinn",
        )


def test_a_translator_encodes_each_side_with_its_own_tokenizer(tmp_path, monkeypatch):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    asked = []

    def prepared(*given):
        asked.append(given)
        raise UserError("enough")

    monkeypatch.setattr(preparation, "prepare", prepared)
    options = ["--output", tmp_path / "records", "--source", tmp_path / "pairs.tsv", "--tokenizers", "sample-en-de"]
    with pytest.raises(UserError, match="enough"):
        call("prepare", *options)
    ((_, _, as_the_model, tokenizers),) = asked
    model = tfnmt.load("sample-en-de", "translator")
    assert [each.digest() for each in tokenizers] == [each.digest() for each in model.tokenizers]
    assert tokenizers[0].digest() != tokenizers[1].digest()
    assert as_the_model.text == read_preset(find_model("sample-en-de"), Preset).text


def test_duplicates_are_looked_for_and_pairs_are_drawn_as_asked(tmp_path, monkeypatch):
    """Of ten pairs that the filters keep."""
    asked = []

    def write_sample(ray, parts, names, share, seed):
        asked.append((share, seed))
        raise UserError("enough")

    monkeypatch.setattr(preparation, "filtered_parts", lambda _: [{"name": "0", "dropped": {"kept": {"pairs": 10}}}])
    monkeypatch.setattr(passes, "filter_inputs", lambda *_: None)
    monkeypatch.setattr(passes, "mark_duplicates", lambda *_: asked.append("duplicates"))
    monkeypatch.setattr(passes, "write_sample", write_sample)
    for settings in ({}, {"filters": FilterConfiguration(drop_duplicates=False)}):
        configuration = PREPARATION.replace(shards=ShardConfiguration(sample_pairs=4, seed=3), **settings)
        with pytest.raises(UserError, match="enough"):
            preparation._write(None, tmp_path, [], configuration, None)
    assert asked == ["duplicates", (0.4, 3), (0.4, 3)]


def test_what_was_begun_before_times_were_kept_goes_on(tmp_path):
    path, begun = tmp_path / "pairs.tsv", tmp_path / "records" / "prepare.json"
    path.write_text("a\tb\n")
    given = begun.parent, find_inputs([str(path)], None), Preparation(), None
    assert not preparation._begin(*given)
    description = json.loads(begun.read_text())
    assert description["files"] == [[str(path), 4, path.stat().st_mtime_ns]]
    begun.write_text(json.dumps(description | {"files": [[str(path), 4]]}))
    assert preparation._begin(*given)
    path.write_text("a\tb\nc\td\n")
    with pytest.raises(UserError, match=f"prepare.json: {path} was another when"):
        preparation._begin(*given)


def test_other_files_or_tokenizers_do_not_go_on(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\n")
    os.utime(path, (0, 0))
    given = tmp_path / "records", find_inputs([str(path)], None), Preparation()
    own = WordTokenizer(["a"]), WordTokenizer(["b"])
    assert not preparation._begin(*given, own) and preparation._begin(*given, own)
    for others in (None, (own[0], WordTokenizer(["c"]))):
        with pytest.raises(UserError, match="prepare.json: tokenizers was another"):
            preparation._begin(*given, others)
    changed = Preparation(text=TextConfiguration(vocabulary_size=99))
    with pytest.raises(UserError, match="prepare.json: vocabulary_size was another when this was begun; go on with"):
        preparation._begin(*given[:2], changed, own)
    (tmp_path / "more.tsv").write_text("a\tb\n")
    for names in (["more.tsv"], ["pairs.tsv", "more.tsv"]):
        inputs = find_inputs([str(tmp_path / name) for name in names], None)
        with pytest.raises(UserError, match="prepare.json: the list of files was another when this was begun"):
            preparation._begin(given[0], inputs, given[2], own)
    for text in ("a\tc\n", "a\tb\nc\td\n"):
        path.write_text(text)
        with pytest.raises(UserError, match=f"prepare.json: {path} was another when"):
            preparation._begin(*given, own)
    for text in ("{", "[" * 100_000):
        (tmp_path / "records" / "prepare.json").write_text(text)
        with pytest.raises(UserError, match=r"prepare.json: is broken \("):
            preparation._begin(*given, own)
