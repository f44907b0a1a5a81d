"""Files are written whole or not at all, and what is no file is not replaced by one."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from debatebench.shared.files import make_folder, new_folder_beside, replacing_file, write_atomically


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path):
    path = tmp_path / "deep" / "file.txt"
    write_atomically(path, "old\r\n")
    write_atomically(path, "new é\n")
    assert path.read_bytes() == "new é\n".encode()
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    write_atomically(path, "through")
    reader.join()
    assert received == [b"through"]
    assert path.is_fifo()


def test_an_error_names_the_file_that_was_meant_and_leaves_nothing(tmp_path: Path):
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as refused:
        write_atomically(path, "text")
    assert refused.value.filename == str(path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as refused_too:
        write_atomically(tmp_path / "file" / "below", "text")
    assert refused_too.value.filename == str(tmp_path / "file" / "below")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_where_a_folder_is_wanted_is_told(tmp_path: Path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        make_folder(tmp_path / "file")


def break_off(begun: AbstractContextManager[Path], name: str = "") -> None:
    with begun as new:
        (new / name).write_text("half")
        raise KeyError(name)


def test_a_file_is_replaced_when_all_of_it_is_written(tmp_path: Path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with replacing_file(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(KeyError):
        break_off(replacing_file(path))
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_beside_is_gone_at_the_end_unless_it_was_renamed(tmp_path: Path):
    path = tmp_path / "deep" / "folder"
    with pytest.raises(KeyError):
        break_off(new_folder_beside(path), "file")
    assert list(path.parent.iterdir()) == []
    with new_folder_beside(path) as new:
        (new / "file").touch()
        new.rename(path)
    assert [p.name for p in path.iterdir()] == ["file"]
