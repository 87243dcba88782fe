"""Writing files: whole or not at all."""

import os
import threading

import pytest
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.files import atomic_write, file_errors

END = "what was saved before is whole: put that right, then run it again (training: with --resume)"


def test_a_file_takes_the_place_of_the_old_one_when_it_is_written(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with atomic_write(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_no_file_of_the_users_is_taken_for_the_half_written_one(tmp_path):
    others = {tmp_path / name: name for name in ("part-file.txt", "file.txt.part", ".file.txt")}
    for path, text in others.items():
        path.write_text(text)
    with atomic_write(tmp_path / "file.txt") as part:
        part.write_text("new")
    assert {path: path.read_text() for path in others} == others


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt])
def test_what_goes_wrong_meanwhile_leaves_the_old_one(kind, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(kind), atomic_write(path) as part:
        part.write_text("half")
        raise kind
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_line(tmp_path, full_disk):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with full_disk(1000), pytest.raises(UserError) as caught, atomic_write(path) as part:
        part.write_text("x" * 2000)
    assert str(caught.value) == f"{path}: cannot be written (File too large); {END}"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_too_long_is_one_line(tmp_path):
    path = tmp_path / ("a" * 300)
    with pytest.raises(UserError, match=r"cannot be written \(File name too long\)"), atomic_write(path) as part:
        part.write_text("x")


def test_a_directory_that_is_not_there_is_one_line(tmp_path):
    path = tmp_path / "absent" / "file.txt"
    with pytest.raises(UserError) as caught, atomic_write(path) as part:
        part.write_text("x")
    assert str(caught.value) == f"{path}: cannot be written (No such file or directory); {END}"


def test_a_directory_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UserError) as caught, atomic_write(tmp_path):
        raise AssertionError("nothing is to be written")
    assert str(caught.value) == f"{tmp_path}: cannot be written (Is a directory); {END}"


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    path, link = tmp_path / "file.txt", tmp_path / "link.txt"
    path.write_text("old")
    link.symlink_to(path)
    with atomic_write(link) as part:
        part.write_text("new")
    assert link.is_symlink() and path.read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    with atomic_write(path) as part:
        part.write_text("new")
    reader.join()
    assert read == ["new"] and path.is_fifo()


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_what_is_open_already_is_written_where_it_stands(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("file.txt", "w") as file:
        os.symlink(f"/proc/self/fd/{file.fileno()}", "link")
        print("header", file=file, flush=True)
        with atomic_write(name.format(file.fileno())) as part:
            part.write_text("lines\n")
        print("end", file=file)
    assert (tmp_path / "file.txt").read_text() == "header\nlines\nend\n"
    assert sorted(os.listdir()) == ["file.txt", "link"]


def test_what_is_open_for_reading_alone_is_one_line(tmp_path):
    (tmp_path / "file.txt").write_text("old")
    with open(tmp_path / "file.txt") as file:
        path = f"/dev/fd/{file.fileno()}"
        with pytest.raises(UserError) as caught, atomic_write(path) as part:
            part.write_text("new")
    assert str(caught.value) == f"{path}: cannot be written (Bad file descriptor); {END}"
    assert (tmp_path / "file.txt").read_text() == "old"


def test_an_error_without_words_is_told_by_its_name():
    with pytest.raises(UserError, match=r"^x: cannot be written \(OSError\)"), file_errors("x"):
        raise OSError


def test_what_tensorflow_says_is_told_without_its_own_concerns():
    message = "{{function_node __wrapped__SaveV2}} /x/part-0; No space left on device [Op:SaveV2]\nmore"
    with pytest.raises(UserError) as caught, file_errors("x"):
        raise tf.errors.ResourceExhaustedError(None, None, message)
    assert str(caught.value) == f"x: cannot be written (No space left on device); {END}"
