"""The journal keeps every event that was acknowledged, and notices every event that is not what was written."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import LONGEST_WAIT_S

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import has_begun, read_journal
from debatebench.journal.writing import Journal
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, NewerDataError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def write(path: Path, *events: dict[str, object]) -> None:
    with Journal.open(path) as journal:
        for event in events:
            journal.append(event)


def texts(path: Path) -> list[object]:
    return [event.data.get("text") for event in read_journal(path)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3), max_size=5))
def test_whatever_is_appended_is_read_back(tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, object]]):
    path = tmp_path_factory.mktemp("journal") / "run.jsonl"
    write(path, *events)
    assert [event.data for event in read_journal(path)] == events


def test_an_event_is_read_at_its_place(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "a"}, {"text": "bb"}, {"text": "ccc"})
    with Journal.open(path) as journal:
        assert [journal.read_at(e.offset, e.length)["text"] for e in read_journal(path)] == ["a", "bb", "ccc"]


def test_a_line_is_ascii_whatever_the_text(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    hostile = "line\nbreak \u2028 \x00 \ud800 \u202e é"
    write(path, {"text": hostile})
    assert path.read_bytes().isascii()
    assert path.read_bytes().count(b"\n") == 1
    assert texts(path) == [hostile]


def test_the_file_is_for_its_owner_only(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "a"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_cut_at_any_byte_of_its_last_line_goes_on(tmp_path: Path):
    whole = tmp_path / "whole.jsonl"
    write(whole, {"text": "one"}, {"text": "two"}, {"text": "three"})
    content = whole.read_bytes()
    start_of_last = content[:-1].rindex(b"\n") + 1
    for end in range(start_of_last, len(content)):
        path = tmp_path / f"cut-{end}.jsonl"
        path.write_bytes(content[:end])
        write(path, {"text": "four"})
        assert texts(path) == ["one", "two", "four"]
        if end > start_of_last:
            side = path.with_name(f"{path.name}.torn-{start_of_last}")
            assert side.read_bytes() == content[start_of_last:end]


def test_a_reader_ignores_a_torn_last_line_and_leaves_it_there(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "one"}, {"text": "two"})
    torn = path.read_bytes()[:-3]
    path.write_bytes(torn)
    assert texts(path) == ["one"]
    assert path.read_bytes() == torn


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], lines[1].replace(b"two", b"twO"), *lines[2:]],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[0], *lines[1:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [lines[0], b"\n", *lines[1:]],
        lambda lines: [lines[0], lines[1][:-5], *lines[2:]],
    ],
    ids=["changed", "lost", "repeated", "swapped", "empty line", "joined"],
)
def test_a_damaged_line_that_is_not_the_last_is_named_by_line_and_byte(tmp_path: Path, damage):
    path = tmp_path / "run.jsonl"
    write(path, *({"text": text} for text in ("one", "two", "three", "four")))
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    before = path.read_bytes()
    with pytest.raises(DamagedDataError, match=r"run\.jsonl: line \d+ at byte \d+ is damaged") as reading:
        list(read_journal(path))
    with pytest.raises(DamagedDataError) as opening:
        Journal.open(path)
    assert str(opening.value) == str(reading.value)
    assert opening.value.exit_code == 3
    assert path.read_bytes() == before


def test_every_flipped_bit_is_noticed(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "one"}, {"text": "two"}, {"text": "three"})
    content = path.read_bytes()
    events = [event.data for event in read_journal(path)]
    for position in range(len(content)):
        for bit in (0x01, 0x20):
            changed = bytearray(content)
            changed[position] ^= bit
            path.write_bytes(bytes(changed))
            try:
                found = [event.data for event in read_journal(path)]
            except DamagedDataError:
                continue
            assert found == events[: len(found)]
            assert len(found) < len(events)


def test_a_second_opener_is_told_that_the_run_is_being_played(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    with Journal.open(path) as journal:
        journal.append({"text": "mine"})
        with pytest.raises(BusyError, match="Another process is playing run 'run'"):
            Journal.open(path)
        assert texts(path) == ["mine"]
    write(path, {"text": "later"})
    assert texts(path) == ["mine", "later"]


def test_durable_returns_after_the_event_is_synced(tmp_path: Path):
    async def play() -> list[int]:
        with Journal.open(tmp_path / "run.jsonl") as journal:

            async def one(number: int) -> int:
                seq = journal.append({"text": str(number)})
                await journal.durable(seq)
                return seq

            return await asyncio.gather(*(one(n) for n in range(200)))

    assert asyncio.run(play()) == list(range(1, 201))
    assert len(texts(tmp_path / "run.jsonl")) == 200


async def one_waits_while_others_follow(journal: Journal, *, hurries: bool) -> list[str]:
    """Wait for an event that others are said to follow, and then perhaps for one that none follows."""
    patient = asyncio.create_task(journal.durable(journal.append({"text": "first"}), others_follow=True))
    await asyncio.sleep(0.05)
    assert not patient.done()
    if hurries:
        await journal.durable(journal.append({"text": "last"}))
        await patient
    else:
        patient.cancel()
    return texts(journal.path)


def test_a_sync_waits_for_the_events_that_are_said_to_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("debatebench.journal.writing._LONG_GATHERING_S", 3600)
    with Journal.open(tmp_path / "run.jsonl") as journal:
        assert asyncio.run(one_waits_while_others_follow(journal, hurries=True)) == ["first", "last"]


def test_an_end_does_not_wait_for_events_that_were_said_to_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("debatebench.journal.writing._LONG_GATHERING_S", 3600)
    with Journal.open(tmp_path / "run.jsonl") as journal:
        assert asyncio.run(one_waits_while_others_follow(journal, hurries=False)) == ["first"]


def test_an_event_that_follows_from_others_leaves_with_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run.jsonl"
    monkeypatch.setattr("debatebench.journal.writing._GATHERING_S", 3600)
    with Journal.open(path) as journal:
        journal.append({"text": "answer"})
        journal.append({"text": "what became of it"}, with_next=True)
        assert texts(path) == ["answer"]
        assert journal.append({"text": "question"}) == 3
        assert texts(path) == ["answer", "what became of it", "question"]


def test_an_event_that_follows_from_others_leaves_with_the_next_sync_or_the_end(tmp_path: Path):
    path = tmp_path / "run.jsonl"

    async def last_event_is_durable(journal: Journal) -> None:
        await journal.durable(journal.append({"text": "synced"}, with_next=True))

    with Journal.open(path) as journal:
        asyncio.run(last_event_is_durable(journal))
        assert texts(path) == ["synced"]
        journal.append({"text": "closed"}, with_next=True)
    assert texts(path) == ["synced", "closed"]


def test_a_full_disk_keeps_the_whole_lines_and_refuses_every_later_event(tmp_path: Path):
    # A limit on the file's size is a refusal by the kernel in the middle of a write, as a full disk is.
    path = tmp_path / "run.jsonl"
    program = f"""
import resource, signal
from pathlib import Path
from debatebench.shared.errors import DebatebenchError, NewerDataError
from debatebench.journal.writing import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
with Journal.open(Path({str(path)!r})) as journal:
    refused = 0
    for n in range(40):
        try:
            journal.append({{"text": "x" * 60}})
        except DebatebenchError as error:
            refused += 1
            assert "cannot be written" in str(error)
    print(journal.count, refused)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    kept, refused = map(int, done.stdout.split())
    assert kept + refused == 40
    assert refused > 1
    assert len(texts(path)) == kept
    assert not list(tmp_path.glob("*.torn-*"))
    write(path, {"text": "after"})
    assert texts(path)[-1] == "after"


def test_whoever_waits_for_an_event_that_a_full_disk_refuses_is_told(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    program = f"""
import asyncio, resource, signal
from pathlib import Path
from debatebench.shared.errors import DebatebenchError, NewerDataError
from debatebench.journal.writing import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
async def main(journal):
    try:
        for n in range(40):
            journal.append({{"text": "x" * 60}}, with_next=True)
        await journal.durable(journal.count)
    except DebatebenchError as error:
        print(journal.count, error)
with Journal.open(Path({str(path)!r})) as journal:
    asyncio.run(main(journal))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    kept, _, message = done.stdout.partition(" ")
    assert message.startswith(f"The journal {path} cannot be written")
    assert len(texts(path)) == int(kept) < 40


def test_every_acknowledged_event_survives_a_kill(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    program = f"""
import asyncio
from pathlib import Path
from debatebench.journal.writing import Journal
async def main():
    journal = Journal.open(Path({str(path)!r}))
    for n in range(10**9):
        await journal.durable(journal.append({{"text": str(n)}}))
        print(n, flush=True)
asyncio.run(main())
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline() for _ in range(25)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    numbers = [int(line) for line in acknowledged if line.endswith("\n")]
    assert texts(path)[: len(numbers)] == [str(n) for n in numbers]
    write(path, {"text": "again"})
    assert texts(path)[-1] == "again"


def test_a_journal_that_cannot_be_opened_is_an_error_with_its_name(tmp_path: Path):
    with pytest.raises(DebatebenchError, match=r"Cannot read the journal .*missing\.jsonl"):
        list(read_journal(tmp_path / "missing.jsonl"))
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DebatebenchError, match=r"Cannot open the journal .*folder\.jsonl"):
        Journal.open(tmp_path / "folder.jsonl")


def test_numbers_that_json_has_not_are_refused_before_they_are_written(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    with Journal.open(path) as journal:
        with pytest.raises(ValueError, match="not JSON compliant"):
            journal.append({"text": float("nan")})
        journal.append({"text": "sound"})
    assert texts(path) == ["sound"]
    assert json.loads(path.read_bytes().split(b" ", 2)[2]) == {"text": "sound"}


def test_a_reader_never_takes_a_line_that_is_being_written_for_damage(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "whole"})
    with path.open("ab") as file:
        # Checking so long a line takes longer than it takes to write a little more.
        file.write(b"2 00000000 " + b"x" * 20_000_000)
    program = (
        "import os, sys, time\n"
        "file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)\n"
        "print('writing', flush=True)\n"
        "while True: os.write(file, b'x'); time.sleep(0.0005)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            for _ in range(5):
                assert texts(path) == ["whole"]
        finally:
            writer.kill()


def test_a_journal_of_a_newer_version_is_said_to_be_that_and_not_damaged(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"type": "header", "format": JOURNAL_FORMAT + 1, "text": "from the future"}, {"text": "more"})
    before = path.read_bytes()
    for read in (lambda: list(read_journal(path)), lambda: Journal.open(path)):
        with pytest.raises(NewerDataError, match=rf"format {JOURNAL_FORMAT + 1}, written by a newer version"):
            read()
    assert path.read_bytes() == before


def test_a_journal_has_begun_with_its_first_whole_line(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"text": "one"})
    content = path.read_bytes()
    for end in (0, 1, len(content) - 1):
        path.write_bytes(content[:end])
        assert not has_begun(path)
    path.write_bytes(content)
    assert has_begun(path)


def test_whoever_leaves_while_an_event_is_synced_does_not_stop_the_syncing(tmp_path: Path):
    with Journal.open(tmp_path / "run.jsonl") as journal:

        async def wait() -> None:
            await journal.durable(journal.append({"text": "waited for"}))

        async def leave_at_once() -> None:
            asyncio.get_running_loop().create_task(wait())
            await asyncio.sleep(0)

        for _ in range(20):
            asyncio.run(leave_at_once())
        asyncio.run(asyncio.wait_for(wait(), LONGEST_WAIT_S))
    assert len(texts(tmp_path / "run.jsonl")) == 21


def test_a_place_that_cannot_hold_a_journal_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DebatebenchError, match=r"Cannot open the journal .*run\.jsonl: Not a directory"):
        Journal.open(tmp_path / "file" / "run.jsonl")


def test_a_journal_of_an_older_format_states_the_new_one_before_the_first_event_that_is_added(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"type": "header", "format": 1, "text": "long ago"})
    before = path.read_bytes()
    with Journal.open(path):
        pass
    assert path.read_bytes() == before
    for text in ("added", "later"):
        write(path, {"text": text})
    assert path.read_bytes().startswith(before)
    raised = {"type": "format", "format": JOURNAL_FORMAT}
    assert [event.data for event in read_journal(path)][1:] == [raised, {"text": "added"}, {"text": "later"}]


def test_a_journal_that_a_newer_version_went_on_with_is_refused_before_its_events_are_misread(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write(path, {"type": "header", "format": JOURNAL_FORMAT, "text": "ours"})
    write(path, {"type": "format", "format": JOURNAL_FORMAT + 1}, {"type": "unheard_of"})
    for read in (lambda: list(read_journal(path)), lambda: Journal.open(path)):
        with pytest.raises(NewerDataError, match=rf"format {JOURNAL_FORMAT + 1}, written by a newer version"):
            read()
