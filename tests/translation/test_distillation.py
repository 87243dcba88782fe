"""Training data from an ensemble's translations."""

from pathlib import Path

import pytest
import sacrebleu

from tests.commands.calls import call
from tfnmt.data.lines import read_lines
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError
from tfnmt.translation.distillation import distilled_pairs
from tfnmt.translation.formatting import formatted
from tfnmt.translation.postprocessing import Translations

SOURCES = ["A dog runs .", "", "Two cats sleep here ."]
REFERENCES = ["Ein Hund rennt .", "", "Zwei Katzen schlafen hier ."]
FOUND = [
    ["Der Hund läuft .", "Ein Hund rennt los .", "Ein Hund ||| rennt"],
    [""],
    ["Zwei Katzen schlafen .", "Zwei Hunde schlafen .", "Zwei Katzen schlafen ."],
]


@pytest.fixture
def files(tmp_path):
    """The sentences, their references, and an n-best file of the form that translate writes."""
    found = [
        Translations([text.encode() for text in texts], [-0.5 - i for i in range(len(texts))], *[None] * 6)
        for texts in FOUND
    ]
    lines = [line for i, one in enumerate(found) for line in formatted(i, one, n_best=3, scores=True)]
    paths = [tmp_path / name for name in ("source", "target", "n-best")]
    for path, text in zip(paths, (SOURCES, REFERENCES, lines), strict=True):
        path.write_text("".join(line + "\n" for line in text), encoding="utf-8")
    return paths


def test_references_then_the_best_then_the_nearest(files):
    pairs = list(distilled_pairs(ParallelFiles(*files[:2]), files[2]))
    best, nearest = pairs[3:6], pairs[6:]
    assert pairs[:3] == list(zip(SOURCES, REFERENCES, strict=True))
    assert best == [(source, found[0]) for source, found in zip(SOURCES, FOUND, strict=True)]
    assert nearest == [(SOURCES[0], "Ein Hund rennt los ."), (SOURCES[1], ""), (SOURCES[2], "Zwei Katzen schlafen .")]


def test_the_nearest_is_never_further_than_the_best(files):
    pairs = list(distilled_pairs(ParallelFiles(*files[:2]), files[2], tokenize="none"))
    scores = [
        sacrebleu.corpus_bleu([target for _, target in part], [REFERENCES], tokenize="none", force=True).score
        for part in (pairs[:3], pairs[6:], pairs[3:6])
    ]
    assert scores == sorted(scores, reverse=True) and scores[0] == pytest.approx(100)


def test_back_translations_come_after_them_from_the_other_side(files, tmp_path):
    back = tmp_path / "back"
    back.write_text(
        "0 ||| Dogs run . ||| -0.1000\n0 ||| A dog runs on . ||| -0.2000\n1 |||  ||| -0.1000\n"
        "2 ||| Two cats sleep . ||| -0.1000\n",
        encoding="utf-8",
    )
    pairs = ParallelFiles(*files[:2])
    both = list(distilled_pairs(pairs, files[2], back_n_best=back))
    assert both[:9] == list(distilled_pairs(pairs, files[2]))
    given, best, nearest = both[9:12], both[12:15], both[15:]
    assert given == both[:3]
    assert [target for _, target in best] == [target for _, target in nearest] == REFERENCES
    assert [source for source, _ in best] == ["Dogs run .", "", "Two cats sleep ."]
    assert [source for source, _ in nearest] == ["A dog runs on .", "", "Two cats sleep ."]
    options = ["--source", files[0], "--target", files[1], "--n-best", files[2], "--back-n-best", back]
    written = [tmp_path / "out.source", tmp_path / "out.target"]
    call("distill", *options, "--output-source", written[0], "--output-target", written[1])
    lines = [path.read_text(encoding="utf-8").splitlines() for path in written]
    assert list(zip(*lines, strict=True)) == both
    back.write_text("0 ||| Dogs run . ||| -0.1000\n")
    with pytest.raises(UserError, match=f"{back}: ends after 1 of 3 sentences; .* of the target"):
        next(distilled_pairs(pairs, files[2], back_n_best=back))  # before anything is scored


@pytest.mark.parametrize(
    "lines, message",
    [
        (["a translation"], "line 1: must be i \\|\\|\\| translation"),
        (["0 ||| a ||| -1.0000 ||| 0-0"], "line 1: must be i"),
        (["0 ||| a ||| -1.0000", "2 ||| b ||| -1.0000"], "i = 2 comes after 1 of 3 sentences; translate"),
        (["0 ||| a ||| -1.0000"], "ends after 1 of 3 sentences; translate the very sentences of the source"),
        ([f"{i} ||| a ||| -1.0000" for i in range(4)], "i = 3 comes after 3 of 3 sentences; translate"),
    ],
)
def test_what_is_no_n_best_file_of_these_sentences_is_refused(files, lines, message):
    files[2].write_text("".join(line + "\n" for line in lines))
    with pytest.raises(UserError, match=f"{files[2]}.*{message}"):
        list(distilled_pairs(ParallelFiles(*files[:2]), files[2]))


def test_distill_writes_both_files_or_none(files, tmp_path):
    written = [tmp_path / "out.source", tmp_path / "out.target"]
    options = ["--source", files[0], "--target", files[1], "--n-best", files[2]]
    options += ["--output-source", written[0], "--output-target", written[1]]
    assert call("distill", *options) == ""
    pairs = zip(*(path.read_text(encoding="utf-8").splitlines() for path in written), strict=True)
    assert list(pairs) == list(distilled_pairs(ParallelFiles(*files[:2]), files[2]))
    for path in written:
        path.unlink()
    files[2].write_text("no\n")
    with pytest.raises(UserError, match="line 1"):
        call("distill", *options)
    assert not any(path.exists() for path in written)


def test_distill_packs_what_is_named_so(files, tmp_path):
    written = [tmp_path / "out.source.gz", tmp_path / "out.target.gz"]
    options = ["--source", files[0], "--target", files[1], "--n-best", files[2]]
    call("distill", *options, "--output-source", written[0], "--output-target", written[1])
    sides = zip(*(read_lines(path) for path in written), strict=True)
    assert list(sides) == list(distilled_pairs(ParallelFiles(*files[:2]), files[2]))


def test_distill_writes_nothing_where_an_output_cannot_be_written(files, tmp_path):
    old, options = tmp_path / "old", ["--source", files[0], "--target", files[1], "--n-best", files[2]]
    old.write_text("old")
    with pytest.raises(UserError, match="--output-target .*old: --output-source is the same file; name another one"):
        call("distill", *options, "--output-source", old, "--output-target", tmp_path / "." / "old")
    for outputs in ((old, tmp_path), (tmp_path, old), (tmp_path / "none" / "a", old), (old, tmp_path / "none" / "a")):
        side = "target" if outputs[0] == old else "source"
        wrong = outputs[side == "target"]
        with pytest.raises(UserError, match=rf"^{wrong}: cannot be written \(.*\); name another --output-{side}$"):
            call("distill", *options, "--output-source", outputs[0], "--output-target", outputs[1])
    assert old.read_text() == "old" and not list(tmp_path.glob(".part-*"))
    for file, option in zip(files, ("--source", "--target", "--n-best"), strict=True):
        content = file.read_bytes()
        with pytest.raises(UserError, match=f"^--output-target {file}: {option} is the same file; name another one$"):
            call("distill", *options, "--output-source", old, "--output-target", file)
        assert file.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("full", ["source", "target"])
def test_distill_leaves_the_one_where_the_other_does_not_fit(files, full, tmp_path):
    old, options = tmp_path / "old", ["--source", files[0], "--target", files[1], "--n-best", files[2]]
    old.write_text("old")
    outputs = {"source": old, "target": old} | {full: "/dev/full"}
    with pytest.raises(UserError, match=rf"^/dev/full: cannot be written \(No space.*; name another --output-{full}$"):
        call("distill", *options, "--output-source", outputs["source"], "--output-target", outputs["target"])
    assert old.read_text() == "old"


def test_of_short_sentences_too_the_nearest_is_found(files):
    for path, text in zip(files, ("Yes .\n", "Ja .\n", "0 ||| Nein . ||| -0.1\n0 ||| Ja . ||| -0.2\n"), strict=True):
        path.write_text(text)
    *_, nearest = distilled_pairs(ParallelFiles(*files[:2]), files[2])
    assert nearest == ("Yes .", "Ja .")


def test_distill_takes_the_tokenization_asked_for(files, tmp_path):
    n_best = "0 ||| Ein Hund rennt. ||| -0.1\n0 ||| Ein Hund rennt los . ||| -0.2\n"
    for path, text in zip(files, ("A dog runs .\n", "Ein Hund rennt .\n", n_best), strict=True):
        path.write_text(text)
    command = ["distill", "--source", files[0], "--target", files[1], "--n-best", files[2]]
    command += ["--output-source", tmp_path / "s", "--output-target", tmp_path / "t"]
    nearest = {}
    for tokenize in ("13a", "none"):
        call(*command, "--bleu-tokenize", tokenize)
        nearest[tokenize] = (tmp_path / "t").read_text().splitlines()[-1]
    assert nearest == {"13a": "Ein Hund rennt.", "none": "Ein Hund rennt los ."}


def test_back_translations_are_compared_in_the_same_tokenization(tmp_path):
    texts = ("A dog runs .\n", "Ein Hund rennt .\n", "0 ||| Ein Hund rennt . ||| -0.1\n")
    texts += ("0 ||| A dog runs. ||| -0.1\n0 ||| A dog runs on . ||| -0.2\n",)
    paths = [tmp_path / name for name in ("source", "target", "n-best", "back")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    nearest = {
        tokenize: list(distilled_pairs(ParallelFiles(*paths[:2]), paths[2], tokenize, paths[3]))[-1][0]
        for tokenize in ("13a", "none")
    }
    assert nearest == {"13a": "A dog runs.", "none": "A dog runs on ."}
