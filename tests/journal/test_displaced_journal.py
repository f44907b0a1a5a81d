"""A journal that another program replaces, moves or changes while it is open: the run stops, and no answer is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from debatebench.journal.reading import all_lines, check_saved, is_played_now, read_journal
from debatebench.journal.writing import Journal
from debatebench.shared.errors import BusyError, DamagedDataError
from debatebench.shared.locks import lock_file


def texts(path: Path) -> list[object]:
    return [event.data["text"] for event in read_journal(path)]


def write(path: Path, *said: str) -> None:
    with Journal.open(path) as journal:
        for text in said:
            journal.append({"text": text})


def play(path: Path, interfere: Callable[[Path], object]) -> str:
    """Acknowledge three events, interfere, append two more, as if replies were in flight, and return the error."""

    async def run() -> None:
        with Journal.open(path) as journal:
            for text in ("one", "two", "three"):
                await journal.durable(journal.append({"text": text}))
            interfere(path)
            four = journal.append({"text": "four"})
            with pytest.raises(DamagedDataError):
                await journal.durable(four)
            late = journal.append({"text": "late"})
            await journal.durable(late)

    with pytest.raises(DamagedDataError) as raised:
        asyncio.run(run())
    return str(raised.value)


def replace(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    new.replace(path)


def test_a_replaced_journal_stops_the_run_and_all_its_events_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    message = play(path, replace)
    saved = tmp_path / "run.jsonl.saved"
    assert f"{path} was replaced by another program during the run. All answers are in {saved}" in message
    assert texts(path) == ["one"]
    assert texts(saved) == ["one", "two", "three", "four", "late"]
    assert saved.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "interfere",
    [
        lambda path: path.unlink(),
        lambda path: path.rename(path.with_name("elsewhere.jsonl")),
        lambda path: path.parent.rename(path.parent.with_name("moved")),
        lambda path: shutil.rmtree(path.parent),
    ],
    ids=["deleted", "moved", "folder moved", "folder deleted"],
)
def test_a_journal_without_its_name_is_saved_under_another(tmp_path: Path, interfere: Callable[[Path], object]) -> None:
    path = tmp_path / "journal" / "run.jsonl"
    message = play(path, interfere)
    assert "was moved or deleted by another program during the run" in message
    assert texts(path.with_name("run.jsonl.saved")) == ["one", "two", "three", "four", "late"]


def test_a_truncated_journal_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    message = play(path, lambda path: os.truncate(path, 20))
    assert "was changed by another program during the run: it has" in message
    # What came after the loss is still there, for `debatebench doctor --salvage`.
    kept = [line.data["text"] for line in all_lines(path) if line.data is not None]
    assert kept == ["late"]


def test_a_journal_to_which_others_append_stops_the_run_and_keeps_every_event(tmp_path: Path) -> None:
    def append(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b"a foreign line\n")

    path = tmp_path / "run.jsonl"
    assert "was changed by another program during the run: it has" in play(path, append)
    found = [line.data and line.data["text"] for line in all_lines(path)]
    assert found == ["one", "two", "three", None, "four", "late"]


def test_a_journal_that_is_copied_over_in_place_stops_the_run(tmp_path: Path) -> None:
    path, older = tmp_path / "run.jsonl", tmp_path / "older"
    write(older, "one")
    assert "was changed by another program" in play(path, lambda path: shutil.copyfile(older, path))


def test_a_change_that_nobody_waits_for_is_raised_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal.open(path)
    journal.append({"text": "one"})
    asyncio.run(journal.durable(1))
    replace(path)
    with pytest.raises(DamagedDataError, match="was replaced by another program"):
        journal.close()
    assert texts(tmp_path / "run.jsonl.saved") == ["one"]


def test_a_link_or_a_file_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    path, other = tmp_path / "run.jsonl", tmp_path / "other"
    other.write_text("precious")

    def link_and_replace(path: Path) -> None:
        (tmp_path / "run.jsonl.saved").symlink_to(other)
        replace(path)

    play(path, link_and_replace)
    assert other.read_text() == "precious"
    assert texts(tmp_path / "run.jsonl.saved-2") == ["one", "two", "three", "four", "late"]


def test_a_run_does_not_go_on_without_the_events_that_were_saved(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    play(path, replace)
    saved = tmp_path / "run.jsonl.saved"
    with pytest.raises(DamagedDataError, match=r"run\.jsonl\.saved contains events of run 'run' that .* does not have"):
        Journal.open(path)
    assert texts(path) == ["one"]
    shutil.copyfile(saved, path)
    write(path, "five")
    assert texts(path) == ["one", "two", "three", "four", "late", "five"]
    check_saved(path)


def test_no_empty_journal_appears_where_only_saved_events_are(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    play(path, lambda path: path.unlink())
    with pytest.raises(DamagedDataError, match="Rename it"):
        Journal.open(path)
    assert not path.exists()


def test_the_lock_stays_with_the_name_of_a_journal_that_is_moved(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal.open(path)
    path.rename(tmp_path / "elsewhere.jsonl")
    assert is_played_now(path)
    assert is_played_now(tmp_path / "elsewhere.jsonl")
    with pytest.raises(BusyError, match="Another process is playing run 'run'"):
        Journal.open(path)
    with pytest.raises(DamagedDataError, match="was moved or deleted"):
        journal.close()
    assert not is_played_now(path)


def test_a_deleted_lock_file_lets_no_second_process_in(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Journal.open(path) as journal:
        journal.append({"text": "mine"})
        lock_file(path).unlink()
        assert is_played_now(path)
        with pytest.raises(BusyError):
            Journal.open(path)
    write(path, "later")


def test_a_hard_link_as_backups_make_them_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Journal.open(path) as journal:
        os.link(path, tmp_path / "backup")
        journal.append({"text": "one"})
        asyncio.run(journal.durable(1))
    assert texts(path) == ["one"]


def test_a_second_torn_line_at_one_place_does_not_replace_the_first(tmp_path: Path) -> None:
    path, other = tmp_path / "run.jsonl", tmp_path / "other"
    write(path, "one")
    other.write_text("precious")
    end = path.stat().st_size
    (tmp_path / f"run.jsonl.torn-{end}").symlink_to(other)
    for torn in (b"first", b"second"):
        with path.open("ab") as file:
            file.write(torn)
        write(path)
    assert other.read_text() == "precious"
    assert (tmp_path / f"run.jsonl.torn-{end}-2").read_bytes() == b"first"
    assert (tmp_path / f"run.jsonl.torn-{end}-3").read_bytes() == b"second"
    assert texts(path) == ["one"]


def test_a_whole_last_line_with_another_checksum_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write(path, "one", "two")
    changed = path.read_bytes().replace(b"two", b"twO")
    path.write_bytes(changed)
    for read in (lambda: list(read_journal(path)), lambda: Journal.open(path)):
        with pytest.raises(DamagedDataError, match=r"line 2 at byte \d+ is damaged"):
            read()
    assert path.read_bytes() == changed
    assert not list(tmp_path.glob("*.torn-*"))
