"""A corpus through all passes, on Ray: what comes out, and that after a kill it goes on where it was."""

from pathlib import Path

import pytest

from tfnmt.data.preparing import passes
from tfnmt.data.preparing.configuration import FilterConfiguration, ShardConfiguration
from tfnmt.data.preparing.inputs import find_inputs
from tfnmt.data.preparing.preparation import Preparation, prepare
from tfnmt.data.record_batches import read_ids
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.text.tokenizer_configuration import TextConfiguration

PREPARATION = Preparation(
    text=TextConfiguration(tokenizer="words", joint_vocabulary=False),
    filters=FilterConfiguration(),
    shards=ShardConfiguration(shard_pairs=50),
)


class KilledError(Exception):
    """Stands for a kill of the driver."""


def test_a_corpus_is_prepared_through_mistakes_and_kills(tmp_path, monkeypatch):
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

    logged_rows = passes._logged

    def killed_after_a_shard(items, doing):
        for row in logged_rows(items, doing):
            yield row
            if doing == "encoding":
                raise KilledError

    monkeypatch.setattr(passes, "_logged", killed_after_a_shard)
    with pytest.raises(KilledError):
        prepare(directory, inputs, PREPARATION)
    done = [path.with_suffix(".tfrecord") for path in directory.glob("?????-??????.json")]
    times = [path.stat().st_mtime_ns for path in done]
    assert done and not (directory / "index.json").exists()
    monkeypatch.setattr(passes, "_logged", logged_rows)
    records = prepare(directory, inputs, PREPARATION)
    assert [path.stat().st_mtime_ns for path in done] == times

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
    with pytest.raises(UserError, match="prepare.json: shards was another when this was begun"):
        prepare(directory, inputs, PREPARATION.replace(shards=ShardConfiguration(shard_pairs=60)))
