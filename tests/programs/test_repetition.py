"""Experiments over seeds; the commands are not run, but write what they would leave."""

import json
import shlex
from pathlib import Path

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs import repetition
from tfnmt_programs.repetition import Repetition, markdown_table

TRAINING = ["train-translator", "--preset", "tiny"]
EVALUATION = ["evaluate-translator", "--beam-size", "5"]
BLEU = {1: 30.0, 2: 31.0, 3: 35.0}


@pytest.fixture
def commands(monkeypatch):
    """The commands that were run."""
    run = []

    def fake(command):
        run.append(command)
        if command[0].startswith("evaluate"):
            seed = int(command[command.index("--model") + 1][-1])
            return json.dumps({"bleu": BLEU[seed], "bleu_signature": "tok:13a", "sentences_per_second": 9.0}) + "\n"
        directory = Path(command[command.index("--resume" if "--resume" in command else "--output") + 1])
        directory.mkdir(exist_ok=True)
        (directory / "history.csv").write_text("epoch,seconds\n1,60\n2,120\n")
        return f"{directory}: best dev_bleu 29.5000, of epoch 2\n"

    monkeypatch.setattr(repetition, "run_command", fake)
    return run


def test_each_seed_is_trained_and_evaluated_once(commands, tmp_path):
    experiment = Repetition(tmp_path / "runs", TRAINING, [EVALUATION])
    experiment.run([1, 2])
    first = str(tmp_path / "runs" / "seed-1")
    assert commands[0] == [*TRAINING, "--set", "seed=1", "--output", first]
    assert commands[1] == [*EVALUATION, "--model", first, "--json"]
    assert len(commands) == 4
    Repetition(tmp_path / "runs", TRAINING, [EVALUATION]).run([1, 2, 3])
    assert [command[0] for command in commands[4:]] == ["train-translator", "evaluate-translator"]


@pytest.mark.parametrize("seed", ["-1", "4294967296", "one"])
def test_seeds_are_checked_before_the_first_training(seed, commands, tmp_path, capsys):
    with pytest.raises(SystemExit):
        call("repeat", "--seeds", "1", seed, "--output", tmp_path / "runs", "--", *TRAINING)
    assert f"argument --seeds: {seed}: allowed is an integer from 0 to 4294967295" in capsys.readouterr().err
    assert not commands


def test_no_seed_is_named_twice(commands, tmp_path):
    with pytest.raises(UserError, match="--seeds 1: named 2 times; name each seed once"):
        call("repeat", "--seeds", 1, 2, 1, "--output", tmp_path / "runs", "--", *TRAINING)
    assert not commands and not (tmp_path / "runs").exists()


def test_figures_that_cannot_be_written_are_not_half_written(commands, full_disk, tmp_path):
    experiment = Repetition(tmp_path, TRAINING, [EVALUATION])
    experiment.run([1])
    with full_disk(40), pytest.raises(UserError, match="seed-2"):
        experiment.figures(2)
    assert not (tmp_path / "seed-2.json").exists()


def test_a_training_that_has_begun_is_resumed(commands, tmp_path):
    checkpoints = tmp_path / "runs" / "seed-1" / "checkpoints"
    checkpoints.mkdir(parents=True)
    (checkpoints / "step-5.index").touch()
    Repetition(tmp_path / "runs", TRAINING, []).run([1])
    assert commands == [["train-translator", "--resume", str(tmp_path / "runs" / "seed-1")]]


def test_a_resumed_training_keeps_the_options_that_a_run_does_not_record(commands, tmp_path):
    checkpoints = tmp_path / "seed-1" / "checkpoints"
    checkpoints.mkdir(parents=True)
    (checkpoints / "step-5.index").touch()
    options = ["--workers", "2", "--max-failures", "0", "--no-board"]
    Repetition(tmp_path, [*TRAINING, *options, "--epochs", "3"], []).run([1])
    assert commands == [["train-translator", "--resume", str(tmp_path / "seed-1"), *options]]


def test_the_table_has_mean_and_deviation_and_the_commands(commands, tmp_path):
    table = Repetition(tmp_path, TRAINING, [EVALUATION]).run([1, 2, 3])
    rows = {row.split(" | ")[0]: row for row in table.splitlines()}
    assert rows["| bleu"] == "| bleu | 32.00 | 2.646 | 30.00 | 31.00 | 35.00 |"  # √(((−2)² + (−1)² + 3²) / 2)
    assert rows["| minutes"] == "| minutes | 2.0000 | 0 | 2.0000 | 2.0000 | 2.0000 |"
    assert "| sentences_per_second" not in rows
    assert f"tfnmt {' '.join(EVALUATION)} --model {tmp_path}/seed-S --json" in rows
    assert (tmp_path / "table.md").read_text() == table


def test_the_commands_of_a_table_can_be_copied_where_paths_have_blanks(commands, tmp_path):
    table = Repetition(tmp_path / "my runs", [*TRAINING, "--initial", "my model"], []).run([1])
    command = next(line for line in table.splitlines() if line.startswith("tfnmt"))
    assert shlex.split(command) == [
        *("tfnmt", *TRAINING, "--initial", "my model", "--set", "seed=S"),
        *("--output", f"{tmp_path}/my runs/seed-S"),
    ]


@pytest.mark.parametrize("names", [("test2016.en", "test2017.en"), ("2016/test.en", "2017/test.en")])
def test_figures_of_several_evaluations_are_told_apart(names, commands, tmp_path):
    files = [[*EVALUATION, "--source", f"{tmp_path}/{name}"] for name in names]
    rows = {row.split(" | ")[0] for row in Repetition(tmp_path / "runs", TRAINING, files).run([1]).splitlines()}
    assert {f"| bleu, {name}" for name in names} < rows


def test_evaluations_with_the_same_words_in_another_order_are_told_apart(commands, tmp_path):
    evaluations = [[*EVALUATION[:1], "--beam-size", a, "--batch-size", b] for a, b in (("1", "5"), ("5", "1"))]
    rows = {row.split(" | ")[0] for row in Repetition(tmp_path, TRAINING, evaluations).run([1]).splitlines()}
    assert {f"| bleu, {' '.join(evaluation)}" for evaluation in evaluations} < rows


def test_a_figure_that_one_seed_does_not_have_has_no_mean():
    table = markdown_table({1: {"bleu": 1.0}, 2: {"bleu": 3.0, "perplexity": 4.0}})
    assert table.splitlines()[-1] == "| perplexity |  |  |  | 4.0000 |"


def test_a_training_whose_best_score_is_no_number_is_told_as_such(commands, monkeypatch, tmp_path):
    fake = repetition.run_command
    monkeypatch.setattr(repetition, "run_command", lambda command: fake(command).replace("29.5000", "nan"))
    assert "| dev_bleu | nan |  | nan |" in Repetition(tmp_path, TRAINING, []).run([1])
    assert "| dev_bleu | nan |  | nan | nan |" in Repetition(tmp_path, TRAINING, []).run([1, 2])


def test_one_seed_has_no_deviation():
    assert markdown_table({7: {"accuracy": 0.5}}).splitlines()[-1] == "| accuracy | 0.5000 |  | 0.5000 |"


def test_another_experiment_is_not_mixed_in(commands, tmp_path):
    Repetition(tmp_path, TRAINING, [EVALUATION]).run([1])
    with pytest.raises(UserError, match="another experiment lies there, with other training; name another --output"):
        Repetition(tmp_path, [*TRAINING, "--epochs", "3"], [EVALUATION])


@pytest.mark.parametrize("options", ["--source {}", "--source={}"])
def test_seeds_with_other_data_are_not_mixed_in(options, commands, tmp_path):
    source = tmp_path / "test.en"
    source.write_text("a cat\n")
    evaluation = [*EVALUATION, *options.format(source).split()]
    table = Repetition(tmp_path / "runs", TRAINING, [evaluation]).run([1])
    assert Repetition(tmp_path / "runs", TRAINING, [evaluation]).run([1]) == table
    source.write_text("a dog\n")
    with pytest.raises(UserError, match=rf"files\.json: another experiment lies there, with other {source}; name"):
        Repetition(tmp_path / "runs", TRAINING, [evaluation])


@pytest.mark.parametrize(
    ("options", "part"), [("--records {}", "index.json"), ("--set initial={}", "model.weights.h5")]
)
def test_seeds_with_another_folder_of_data_are_not_mixed_in(options, part, commands, tmp_path):
    (tmp_path / part).write_text("1")
    training = [*TRAINING, *options.format(tmp_path).split()]
    Repetition(tmp_path / "runs", training, [])
    (tmp_path / part).write_text("2")
    with pytest.raises(UserError, match=rf"another experiment lies there, with other {tmp_path / part}; name"):
        Repetition(tmp_path / "runs", training, [])


def test_a_broken_record_is_one_line(commands, tmp_path):
    Repetition(tmp_path, TRAINING, [])
    for record in sorted(tmp_path.glob("*.json")):
        whole = record.read_text()
        record.write_text(whole[:-3])
        with pytest.raises(UserError, match=rf"{record}: is broken .*; name another --output"):
            Repetition(tmp_path, TRAINING, [])
        record.write_text(whole)


def test_a_file_that_was_missing_may_be_given_later(commands, tmp_path):
    source = tmp_path / "test.en"
    evaluation = [*EVALUATION, "--source", str(source)]
    Repetition(tmp_path / "runs", TRAINING, [evaluation])
    source.write_text("a cat\n")
    Repetition(tmp_path / "runs", TRAINING, [evaluation])
    source.write_text("a dog\n")
    with pytest.raises(UserError, match=r"files\.json: another experiment lies there"):
        Repetition(tmp_path / "runs", TRAINING, [evaluation])


def test_an_experiment_of_before_files_were_recorded_goes_on(commands, tmp_path):
    experiment = Repetition(tmp_path, TRAINING, [EVALUATION])
    (tmp_path / "files.json").unlink()
    assert Repetition(tmp_path, TRAINING, [EVALUATION]).run([1]) == experiment.run([1])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "after -- there should be one of train-translator, train-classifier"),
        (["--", "translate"], "after -- there should be one of"),
        (["--", *TRAINING, "--output", "x"], "train-translator --output: leave it out"),
        (["--", *TRAINING, "--outp=x"], "train-translator --output: leave it out"),
        (["--", *TRAINING, "--", *EVALUATION, "--mod", "x"], "evaluate-translator --model: leave it out"),
        (["--", *TRAINING, "--set", "seed=4"], "train-translator seed: leave it out"),
        (["--", *TRAINING, "--set=seed=4"], "train-translator seed: leave it out"),
        (["--", *TRAINING, "--dry-run"], "train-translator --dry-run: leave it out, since nothing would be trained"),
        (["--", *TRAINING, "--", *EVALUATION, "--model=x"], "evaluate-translator --model: leave it out"),
        (
            ["--", *TRAINING, "--", "evaluate-translater"],
            "unknown verb 'evaluate-translater'; .* 'evaluate-translator'",
        ),
        (
            ["--", *TRAINING, "--", *EVALUATION, "--bleu=13a"],
            "^tfnmt evaluate-translator: ambiguous option: --bleu=13a .*; tfnmt evaluate-translator --help lists all",
        ),
        (["--", *TRAINING, "--", "translate"], "^tfnmt translate: unrecognized arguments: --json"),
        (["--", *TRAINING, "--epochs"], "^tfnmt train-translator: argument --epochs: expected one argument"),
    ],
)
def test_commands_that_cannot_be_repeated_are_refused(words, complaint, commands, tmp_path):
    with pytest.raises(UserError, match=complaint):
        call("repeat", "--seeds", "1", "2", "--output", str(tmp_path / "runs"), *words)
    assert not commands and not (tmp_path / "runs").exists()
