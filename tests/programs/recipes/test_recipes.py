"""Recipes: files from a server that breaks off, from a folder or from an archive, and the way from them to the row."""

import functools
import hashlib
import http.server
import io
import os
import re
import socket
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.commands.calls import call
from tfnmt.commands.verbs import command_parser, load_command
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt_programs.command_process import run_command
from tfnmt_programs.commands import recipe as recipe_command
from tfnmt_programs.recipes import run
from tfnmt_programs.recipes.fetch import fetch, obtain
from tfnmt_programs.recipes.recipe import PublishedFile, find_recipe, published_files, recipe_names

RESULTS = "".join(
    page.read_text(encoding="utf-8") for page in (Path(__file__).parents[3] / "docs" / "results").iterdir()
)
CONTENT = b"".join(b"line %d\n" % i for i in range(30000))


class Handler(http.server.SimpleHTTPRequestHandler):
    """Answers ranges, as servers of files do, and breaks the first answer off, if it is to."""

    def do_GET(self):
        content = Path(self.translate_path(self.path)).read_bytes()
        first = int(re.search(r"\d+", self.headers.get("Range", "0"))[0])
        self.server.ranges.append(first)
        if first >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        sent = content[first:]
        if self.server.breaks_after:
            sent, self.server.breaks_after = sent[: self.server.breaks_after], 0
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as served:
        served.ranges, served.breaks_after, served.folder = [], 0, folder
        served.url = f"http://127.0.0.1:{served.server_port}"
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def published(content, name="set/file.txt", **more):
    return PublishedFile(name=name, sha256=hashlib.sha256(content).hexdigest(), **more)


def test_a_file_that_breaks_off_goes_on_where_it_was(server, tmp_path):
    (server.folder / "file.txt").write_bytes(CONTENT)
    server.breaks_after = 100_000  # one block of 65,536 bytes and part of another
    file = published(CONTENT, url=f"{server.url}/file.txt")
    with pytest.raises(UserError, match="run it again: it goes on with what has come"):
        obtain(file, tmp_path / "data")
    path = obtain(file, tmp_path / "data")
    assert path.read_bytes() == CONTENT and server.ranges == [0, 65536]
    assert obtain(file, tmp_path / "data") == path and len(server.ranges) == 2, "it is there"


def test_a_part_that_is_the_whole_is_enough(server, tmp_path):
    (server.folder / "file.txt").write_bytes(CONTENT)
    (tmp_path / "file.txt.part").write_bytes(CONTENT)
    fetch(f"{server.url}/file.txt", tmp_path / "file.txt")
    assert (tmp_path / "file.txt").read_bytes() == CONTENT


def test_what_has_changed_is_refused(server, tmp_path):
    (server.folder / "file.txt").write_bytes(CONTENT + b"more")
    with pytest.raises(UserError, match="is not set/file.txt as it was when the row was documented"):
        obtain(published(CONTENT, url=f"{server.url}/file.txt"), tmp_path / "data")
    assert not (tmp_path / "data" / "set" / "file.txt").exists()


@pytest.mark.parametrize("of_what", [{"lines": 30000}, {"member": "in/file.txt"}])
def test_what_was_taken_from_a_changed_file_is_fetched_again(of_what, server, tmp_path):
    def publish(content):
        (server.folder / "whole").write_bytes(content)
        if "member" in of_what:
            with zipfile.ZipFile(server.folder / "whole", "w") as archive:
                archive.writestr("in/file.txt", content)

    file = published(CONTENT, url=f"{server.url}/whole", **of_what)
    publish(b"wrong\n" + CONTENT)
    with pytest.raises(UserError, match="is not set/file.txt as it was when the row was documented"):
        obtain(file, tmp_path)
    publish(CONTENT)
    assert obtain(file, tmp_path).read_bytes() == CONTENT


def test_a_name_stands_for_a_published_file(recipe):
    path, _ = recipe
    description = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**description, "files": ["sst/train.txt", *description["files"]]}))
    first, second = find_recipe(str(path)).files
    assert first == PublishedFile(**published_files()["sst/train.txt"]) and first.member == "trees/train.txt"
    assert second.name == "all.txt"
    path.write_text(yaml.safe_dump({**description, "files": ["sst/trian.txt"]}))
    with pytest.raises(
        UserError, match="sample.yaml: files: no file 'sst/trian.txt' is known; the nearest is 'sst/train"
    ):
        find_recipe(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="set/file.txt: is published nowhere as it is; name a folder.* --data DIR"):
        obtain(published(CONTENT), tmp_path)


@pytest.mark.parametrize("name", ["set/file.txt", "file.txt"])
def test_files_in_a_folder_are_not_fetched(tmp_path, name):
    given = tmp_path / "given"
    (given / name).parent.mkdir(parents=True)
    (given / name).write_bytes(CONTENT)
    path = obtain(published(CONTENT, url="http://127.0.0.1:1/nothing"), tmp_path / "data", given)
    assert path.is_symlink() and path.read_bytes() == CONTENT
    (given / name).write_bytes(b"changed")
    with pytest.raises(UserError, match="given.*file.txt: is not set/file.txt as it was"):
        obtain(published(CONTENT), tmp_path / "data", given)


def test_a_file_of_the_users_that_is_another_stays(tmp_path):
    own = tmp_path / "set" / "file.txt"
    own.parent.mkdir()
    own.write_bytes(b"my own")
    for given in (tmp_path, None):
        with pytest.raises(UserError, match=r"file\.txt: is not set/file\.txt as it was .* \(SHA-256 "):
            obtain(published(CONTENT), tmp_path, given)
    assert own.read_bytes() == b"my own"


@pytest.mark.parametrize("published_content", [CONTENT, b"not it"])
def test_a_file_of_the_users_stays_where_one_is_published(published_content, server, tmp_path):
    """By itself, in an archive of the user's, or on a mirror; also beside a folder that has the right one."""
    (server.folder / "set").mkdir()
    for name in ("set/file.txt", "long.txt"):
        (server.folder / name).write_bytes(published_content)
    own = tmp_path / "data" / "set" / "file.txt"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"my own")
    given = tmp_path / "given"
    given.mkdir()
    (given / "file.txt").write_bytes(CONTENT)
    file = published(CONTENT, url=f"{server.url}/long.txt")
    for options in ({}, {"mirror": server.url}, {"given": given}):
        with pytest.raises(UserError, match=r"file\.txt: is not set/file\.txt as it was"):
            obtain(file, tmp_path / "data", **options)
        assert own.read_bytes() == b"my own"


def test_an_archive_of_the_users_stays(server, tmp_path):
    archive = tmp_path / "set" / "set.zip"
    archive.parent.mkdir()
    archive.write_bytes(b"my own")
    with pytest.raises(UserError, match="set.zip: is not an archive with in/file.txt"):
        obtain(published(CONTENT, url=f"{server.url}/set.zip", member="in/file.txt"), tmp_path)
    assert archive.read_bytes() == b"my own"


def test_what_a_link_leads_to_stays(server, tmp_path):
    for name, content in (("own", b"my own"), ("published", CONTENT)):
        (server.folder / name).write_bytes(content)
    path = tmp_path / "set" / "file.txt"
    path.parent.mkdir()
    path.symlink_to(server.folder / "own")
    assert obtain(published(CONTENT, url=f"{server.url}/published", lines=30000), tmp_path).read_bytes() == CONTENT
    assert (server.folder / "own").read_bytes() == b"my own"


def test_files_are_taken_from_what_is_published(server, tmp_path):
    with zipfile.ZipFile(server.folder / "set.zip", "w") as archive:
        archive.writestr("in/file.txt", CONTENT)
    (server.folder / "long.txt").write_bytes(CONTENT * 2)
    from_archive = published(CONTENT, "set/a.txt", url=f"{server.url}/set.zip", member="in/file.txt")
    first_lines = published(CONTENT, "set/b.txt", url=f"{server.url}/long.txt", lines=30000)
    for file in (from_archive, first_lines):
        assert obtain(file, tmp_path).read_bytes() == CONTENT
    with pytest.raises(UserError, match="set.zip: is not an archive with in/other.txt"):
        obtain(published(b"", "set/c.txt", url=f"{server.url}/set.zip", member="in/other.txt"), tmp_path)


def test_an_archive_that_is_damaged_is_fetched_again(server, tmp_path):
    content = np.random.default_rng(1).integers(97, 123, 20000, np.uint8).tobytes()
    with zipfile.ZipFile(server.folder / "set.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/file.txt", content)
    whole = (server.folder / "set.zip").read_bytes()
    file = published(content, "set/a.txt", url=f"{server.url}/set.zip", member="in/file.txt")
    contents = range(100, 10000, 900)  # some are no longer Deflate's, others only have another checksum
    for place in (*contents, *range(len(whole) - 96, len(whole) - 8, 4)):  # at the end, the table of contents
        (server.folder / "set.zip").write_bytes(whole[:place] + b"\xff" * 8 + whole[place + 8 :])
        for name in ("set.zip", "set/a.txt"):
            (tmp_path / name).unlink(missing_ok=True)
        try:
            assert obtain(file, tmp_path).read_bytes() == content and place > 10000  # another date does not matter
        except UserError as error:
            assert "set.zip: is not an archive with in/file.txt" in str(error) and not (tmp_path / "set.zip").exists()
    (server.folder / "set.zip").write_bytes(whole)
    for name in ("set.zip", "set/a.txt"):
        (tmp_path / name).unlink(missing_ok=True)
    assert obtain(file, tmp_path).read_bytes() == content


@pytest.fixture
def recipe(server, tmp_path, monkeypatch):
    """The path of a recipe for a small sample corpus that the server has; commands run in this process."""
    lines = TASKS["sst"].write_sample(tmp_path)["train"].read_text().splitlines(keepends=True)[:60]
    content = "".join(lines).encode()
    (server.folder / "all.txt").write_bytes(content)
    sizes = "embedding_size=4 units=4 tracker_units=3 head_units=4 batch_size=8"
    description = {
        "title": "A sample",
        "licence": "not for commerce",
        "asks": True,
        "minutes": 1,
        "files": [
            {"name": "all.txt", "sha256": hashlib.sha256(content).hexdigest(), "url": f"{server.url}/all.txt"},
        ],
        "conversion": 'head -20 "$DATA/all.txt" > "$RUN/dev"; tail -n +21 "$DATA/all.txt" > "$RUN/train"',
        "commands": [
            "train-classifier --output $RUN/model --task sst --encoder bag --epochs 1 --no-board"
            f" --train $RUN/train --dev $RUN/dev --set {sizes}"
        ],
        "scores": [
            {
                "name": "accuracy",
                "command": "evaluate-classifier --model $RUN/model --data $RUN/dev",
                "key": "accuracy",
                "documented": 0.123,
            }
        ],
    }
    (tmp_path / "sample.yaml").write_text(yaml.safe_dump(description))
    commands = []

    def here(command, standard_input=None):
        commands.append(command)
        if standard_input is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(standard_input.read_bytes())))
        return call(*command)

    monkeypatch.setattr(run, "run_command", here)
    return tmp_path / "sample.yaml", commands


def test_from_the_server_to_the_row_and_once_again(recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--set", "learning_rate=0.01")
    with pytest.raises(UserError, match="--accept-licence agrees to the licence of the data"):
        call(*options)
    licence, title, _, row = call(*options, "--accept-licence").splitlines()
    assert licence == "The data: not for commerce" and title == "| A sample | here | documented |"
    assert re.fullmatch(r"\| accuracy \| [01]\.\d\d\d \| 0.123 \|", row)
    assert [command[0] for command in commands] == ["train-classifier", "evaluate-classifier"]
    assert commands[0][-2:] == ["--set", "learning_rate=0.01"]
    assert call(*options, "--accept-licence").splitlines()[-1] == row
    assert [command[0] for command in commands[2:]] == ["evaluate-classifier"], "what is done is not done again"
    with pytest.raises(UserError, match=r"settings\.json: another experiment lies there, with other settings; name"):
        call(*options[:-2], "--accept-licence")
    assert len(commands) == 3


def changed(path, **changes):
    """Write a recipe with other fields."""
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_a_changed_recipe_does_not_tell_the_old_run_s_figures(recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    first = path.read_text()
    training, conversion = (yaml.safe_load(first)[field] for field in ("commands", "conversion"))
    row = call(*options)
    for change in (
        {"commands": [training[0].replace("--epochs 1", "--epochs 2")]},
        {"conversion": conversion.replace("20", "30")},
    ):
        changed(path, **change)
        with pytest.raises(
            UserError, match=f"another experiment lies there, with other (.*, )?{next(iter(change))}[,;]"
        ):
            call(*options)
    assert len(commands) == 2
    path.write_text(first)
    assert call(*options) == row and [command[0] for command in commands[2:]] == ["evaluate-classifier"]


def test_a_folder_of_before_recipes_were_recorded_goes_on(recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    row = call(*options)
    (tmp_path / "runs" / "sample" / "settings.json").write_text("[]\n")
    assert call(*options) == row and len(commands) == 3
    with pytest.raises(UserError, match="another experiment lies there"):
        call(*options, "--set", "learning_rate=0.01")


def test_a_score_that_is_no_number_is_put_right_after_the_training(recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    (score,) = yaml.safe_load(path.read_text())["scores"]
    for key in ("data", "acuracy"):
        changed(path, scores=[score | {"key": key}])
        complaint = rf"^{path}: score 'accuracy': evaluate-.*no number '{key}'; key: should be one of .*\baccuracy\b"
        with pytest.raises(UserError, match=complaint):
            call(*options)
    changed(path, scores=[score])
    call(*options)
    assert [command[0] for command in commands] == ["train-classifier", *3 * ["evaluate-classifier"]]


@pytest.mark.parametrize(
    ("field", "command", "complaint"),
    [
        ("commands", "train-classifier --task sst", "tfnmt train-classifier: one of the arguments --output"),
        (
            "commands",
            "train-classifier --resume $RUN/model",
            "tfnmt train-classifier: a training .* needs --output, such",
        ),
        ("commands", "train-clasifier --task sst", "unknown verb 'train-clasifier'; the nearest is 'train-classifier'"),
        (
            "commands",
            "parse --modle x < $RUN/dev > $RUN/parsed",
            "tfnmt parse: .*; tfnmt parse --help lists all options",
        ),
        ("commands", "parse --model 'x", "parse --model 'x: No closing quotation; close"),
        ("commands", "", "a command is empty"),
        ("scores", "parse --model $RUN/model", "tfnmt parse: unrecognized arguments: --json"),
    ],
)
def test_commands_that_cannot_be_run_are_refused_before_all(field, command, complaint, recipe, tmp_path):
    path, commands = recipe
    of_recipe = yaml.safe_load(path.read_text())
    added = command if field == "commands" else of_recipe["scores"][0] | {"command": command}
    changed(path, **{field: [*of_recipe[field], added]})
    with pytest.raises(UserError, match=rf"^{path}: {complaint}"):
        call("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    assert not commands and not (tmp_path / "runs").exists()


def test_an_output_may_be_written_with_an_equals_sign(recipe, tmp_path):
    path, commands = recipe
    (training,) = yaml.safe_load(path.read_text())["commands"]
    changed(path, commands=[training.replace("--output ", "--output=")])
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    call(*options)
    (tmp_path / "runs" / "sample" / "done.json").unlink()
    call(*options)
    assert commands[2] == ["train-classifier", "--resume", str(tmp_path / "runs" / "sample" / "model"), "--no-board"]


def test_a_training_that_was_interrupted_goes_on(recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    row = call(*options)
    (tmp_path / "runs" / "sample" / "done.json").unlink()
    assert call(*options) == row
    assert commands[2] == ["train-classifier", "--resume", str(tmp_path / "runs" / "sample" / "model"), "--no-board"]


def test_a_setting_counts_more_than_an_option_of_the_recipe(recipe, tmp_path):
    path, commands = recipe
    call("recipe", path, "--output", tmp_path / "runs", "--accept-licence", "--set", "epochs=2", "units=3")
    assert "--epochs 1" in " ".join(commands[0]) and commands[0][-4:] == ["--epochs", "2", "--set", "units=3"]
    history = (tmp_path / "runs" / "sample" / "model" / "history.csv").read_text()
    assert len(history.splitlines()) == 1 + 2


def test_the_end_of_input_is_no_consent(monkeypatch):
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(UserError, match="^not agreed; --accept-licence agrees to the licence of the data$"):
        recipe_command._ask()


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [("sed=2", "--set: unknown key 'sed'; the nearest is 'seed'"), ("epochs=no", "--set: epochs=no: allowed is")],
)
def test_a_setting_that_no_training_can_have_is_told_before_all(setting, complaint, recipe, tmp_path):
    path, commands = recipe
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    with pytest.raises(UserError, match=complaint):
        call(*options, "--set", setting)
    assert not commands and not (tmp_path / "runs").exists()
    changed(path, commands=[])
    with pytest.raises(UserError, match="sample.yaml: --set seed=2: the recipe trains nothing; leave it out$"):
        call(*options, "--set", "seed=2")


@pytest.mark.parametrize("text", ["", "- title", "title"])
def test_what_has_no_keys_is_no_recipe(text, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=f"^{path}: is not a recipe: it has no keys"):
        find_recipe(str(path))


def test_a_recipe_has_no_key_twice(recipe):
    path, _ = recipe
    text = path.read_text()
    path.write_text(text + "title: another\n")
    line = len(text.splitlines()) + 1
    with pytest.raises(UserError, match=f"^{path}, line {line}: is not valid YAML: the key 'title' stands twice$"):
        find_recipe(str(path))


def test_a_mirror_is_an_address_of_the_web(capsys):
    with pytest.raises(SystemExit):
        call("recipe", "sst2", "--mirror", "ftp:x")
    assert "argument --mirror: ftp:x: should begin with http:// or https://" in capsys.readouterr().err


def test_a_data_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UserError, match=f"^--data {tmp_path}/data: there is no such folder$"):
        call("recipe", "sst2", "--data", tmp_path / "data", "--output", tmp_path / "runs", "--accept-licence")
    assert not list(tmp_path.iterdir())


def test_a_server_that_does_not_answer_is_one_reason(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file.txt"
        with pytest.raises(UserError, match=f"^{url}: Connection refused; run it again"):
            obtain(published(CONTENT, url=url), tmp_path)


@pytest.mark.parametrize("seeds", [[1], [1, 2]])
def test_several_models_with_seeds_of_their_own_do_not_get_one(seeds, recipe, tmp_path):
    path, commands = recipe
    description = yaml.safe_load(path.read_text())
    (training,) = description["commands"]
    description["commands"] = [f"{training} seed={seed}" for seed in seeds]
    path.write_text(yaml.safe_dump(description))
    options = ("recipe", path, "--output", tmp_path / "runs", "--accept-licence", "--set", "seed=3")
    if len(seeds) > 1:
        with pytest.raises(UserError, match="--set seed: the recipe trains models with seeds of their own; copy it"):
            call(*options)
        assert not commands
    else:
        call(*options)
        assert commands[0][-2:] == ["--set", "seed=3"]


def test_a_command_reads_and_writes_files(recipe, tmp_path):
    path, _ = recipe
    description = yaml.safe_load(path.read_text())
    description["commands"].append("parse --model sample-spinn < $RUN/dev > $RUN/parsed")
    path.write_text(yaml.safe_dump(description))
    call("recipe", path, "--output", tmp_path / "runs", "--accept-licence")
    run_folder = tmp_path / "runs" / "sample"
    assert len((run_folder / "parsed").read_text().splitlines()) == len((run_folder / "dev").read_text().splitlines())


def test_a_documented_figure_that_ends_in_0_keeps_its_digits(recipe, tmp_path):
    path, _ = recipe
    changed(path, scores=[yaml.safe_load(path.read_text())["scores"][0] | {"documented": "0.120"}])
    *_, row = call("recipe", path, "--output", tmp_path / "runs", "--accept-licence").splitlines()
    assert re.fullmatch(r"\| accuracy \| [01]\.\d\d\d \| 0.120 \|", row)


def test_a_command_s_standard_input_is_the_file(tmp_path):
    (tmp_path / "text").write_text("It is a good film .\n")
    assert run_command(["parse", "--model", "sample-spinn"], tmp_path / "text").split() != []


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_s_commands_are_such_and_its_row_is_documented(name):
    recipe = find_recipe(name)
    section = re.search(rf"^#+ {re.escape(recipe.section)}\n(.*?)(?=^#)", RESULTS, re.M | re.S)[1]
    for command in [*recipe.commands, *(score.command for score in recipe.scores)]:
        verb, *options = re.split(" [<>] ", command)[0].split()
        command_parser(verb, load_command(verb)).parse_args(options)
    named = {file.name for file in recipe.files}
    text = " ".join([recipe.conversion or "", *recipe.commands, *(score.command for score in recipe.scores)])
    used = {word.removeprefix("$DATA/") for word in re.findall(r"\$DATA/\S+", text)}
    assert used <= named
    for score in recipe.scores:
        shown = {str(score.documented), f"{100 * float(score.documented):.4g}"}  # accuracies stand there in percent
        assert shown & set(re.findall(r"[\d.]*\d", section)), score


def test_the_list_has_every_recipe():
    listed = call("recipe").splitlines()
    assert [line.split()[0] for line in listed] == recipe_names()
    titles = [line.index(find_recipe(name).title) for line, name in zip(listed, recipe_names(), strict=True)]
    assert len(set(titles)) == 1, "they stand in one column"


def test_an_unknown_recipe():
    with pytest.raises(UserError, match="unknown recipe 'multi30k'; the nearest is 'multi30k-.*' of listops, "):
        call("recipe", "multi30k")
