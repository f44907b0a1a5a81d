"""Writing journals: append events, sync them in groups, set a torn last line aside.

One file per run, mode 0600. Each event is written in one `write`, which survives the death of the process; one thread
calls `fdatasync` for all waiting events, which survives the loss of power. An event that follows from others may be
written together with the next one.

Another program (a sync client, a restore, `mv`) may replace or change the file while it is open. At every sync, the
thread compares the open file with what is at its path; if they differ, the run stops before its next request. If the
open file has lost its name, it is saved next to the journal, with all replies that are still to come.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from debatebench.journal.events import pass_on
from debatebench.journal.lines import JOURNAL_FORMAT, Event, Tail, data_of, encode_line, text_in
from debatebench.journal.reading import busy, check_saved, is_of_shard, read_journal, run_of, saved_name, sound_events
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import make_folder, new_file, sync_path
from debatebench.shared.locks import is_at, take_lock

if TYPE_CHECKING:
    import asyncio

    _Waiter = tuple[int, asyncio.AbstractEventLoop, asyncio.Future[None]]
    """The number of the awaited event, and the future and loop that wait for it."""

# While one sync runs, more events gather; a pause lets others join, and a longer pause is used while others follow.
# Measured with 64 requests of 100 ms in flight: 20 ms instead of 5 ms saves 0.2 CPU seconds per 1,000 calls (syncs, and
# wake-ups of waiting tasks) without making the run longer.
_GATHERING_S = 0.005
_LONG_GATHERING_S = 0.020
_BLOCK = 1 << 20
# A process that holds a journal of what people write for longer has stopped in the middle of a save.
_LONGEST_WAIT_S = 10.0
_RETRY_S = 0.02


def write_journal(path: Path, events: Iterator[dict[str, Any]]) -> tuple[Path, int]:
    """Write events, numbered and chained again, to a new journal at `path` or at the first free name after it.

    Returns its path and the number of events.
    """
    tail = Tail()
    path, descriptor = new_file(path)
    with open(descriptor, "wb") as file:
        for data in events:
            line, tail.crc = encode_line(tail.seq + 1, tail.crc, data)
            tail.seq += 1
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    sync_path(path.parent)
    return path, tail.seq


class Journal:
    """An open journal, locked by this process. Create it with `Journal.open` and use it as a context manager."""

    def __init__(self, path: Path, descriptor: int, lock: int, tail: Tail) -> None:
        self.path = path
        self._descriptor = descriptor
        self._lock_descriptor = lock
        self._tail = tail
        self._held_back: list[bytes] = []
        self._written_to = tail.seq, tail.offset
        self._failure: DebatebenchError | None = None
        self._is_failure_known = False
        self._is_writable = True
        self._synced = tail.seq
        self._lock = threading.Lock()
        self._written = threading.Event()
        self._waiting: list[_Waiter] = []
        self._hurried = threading.Event()
        self._closing = threading.Event()
        self._syncer = threading.Thread(target=self._sync_for_all, name="journal-sync", daemon=True)
        self._syncer.start()

    @classmethod
    def open(cls, path: Path, index: Callable[[Event], None] | None = None) -> Self:
        """Open or create the journal at `path`, lock it, and set a torn last line aside in `<name>.torn-<byte>`.

        `index` is called with every complete event found; the journal itself keeps no events in memory. Raises
        `BusyError` if another process holds the run, `DamagedDataError` if a line is damaged, or if an event is of an
        unknown kind or does not fit those before it.
        """
        try:
            return cls._open(path, index)
        except OSError as error:
            raise DebatebenchError(f"Cannot open the journal {path}: {error.strerror}.") from error

    @classmethod
    def _open(cls, path: Path, index: Callable[[Event], None] | None) -> Self:
        make_folder(path.parent)
        with ExitStack() as opened:
            try:
                lock = take_lock(path)
                opened.callback(os.close, lock)
                check_saved(path)
                _check_not_archived(path)
                created = not path.exists()
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                opened.callback(os.close, descriptor)
                # A second lock, for the case that something deletes the lock file.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise busy(path) from None
            tail = Tail()
            for event in sound_events(path, tail):
                if index is not None:
                    pass_on(path, event, index)
            _set_torn_tail_aside(path, descriptor, tail)
            if created:
                sync_path(path.parent)
            opened.pop_all()
            return cls(path, descriptor, lock, tail)

    @property
    def count(self) -> int:
        """The number of events in the journal."""
        return self._tail.seq

    @property
    def size(self) -> int:
        """The number of bytes in the journal."""
        return self._tail.offset

    def append(self, data: dict[str, Any], *, with_next: bool = False) -> int:
        """Write one event and return its sequence number. It survives this process; `durable` waits for the disk.

        `with_next` is for an event that follows from those before it, so that it may be lost if the process dies: it
        is written together with the next event, or with the next sync. If the disk reports an error, the file is cut
        back to its last complete line and every later append raises too, so that no answer is paid for and then lost.
        If another program has changed the file, events are still written, but `durable` raises.
        """
        with self._lock:
            if self._failure is not None and not self._is_writable:
                self._raise(self._failure)
            if self._tail.format is not None and self._tail.format < JOURNAL_FORMAT:
                self._tail.format = JOURNAL_FORMAT
                self._hold_back({"type": "format", "format": JOURNAL_FORMAT})
            self._hold_back(data)
            if not with_next:
                self._write()
            if not self._written.is_set():
                self._written.set()
            return self._tail.seq

    def _hold_back(self, data: dict[str, Any]) -> None:
        """Put an event in the buffer, with the lock held."""
        line, crc = encode_line(self._tail.seq + 1, self._tail.crc, data)
        self._held_back.append(line)
        self._tail.seq, self._tail.crc, self._tail.offset = self._tail.seq + 1, crc, self._tail.offset + len(line)

    def _write(self) -> None:
        """Write the buffered events, with the lock held."""
        try:
            _write_whole(self._descriptor, b"".join(self._held_back))
        except OSError as error:
            self._failure, self._is_writable = self._refusal("written", error), False
            self._tail.seq, self._tail.offset = self._written_to
            # If even this fails, the next session sets the torn line aside.
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._tail.offset)
            _tell(self._waiters(lambda seq: seq > self._tail.seq), self._failure)
            self._raise(self._failure, error)
        self._held_back.clear()
        self._written_to = self._tail.seq, self._tail.offset

    async def durable(self, seq: int, *, others_follow: bool = False) -> None:
        """Wait until event `seq` is on the disk; with `others_follow`, a little longer, so that one sync covers all."""
        # Not needed by code that only reads journals.
        import asyncio

        loop = asyncio.get_running_loop()
        with self._lock:
            if self._failure is not None:
                self._raise(self._failure)
            if self._synced >= seq:
                return
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append((seq, loop, future))
            if not others_follow:
                self._hurried.set()
        await future

    def read_at(self, offset: int, length: int) -> dict[str, Any]:
        """The data of the event at this place, given as its `Event.offset` and `Event.length`."""
        return data_of(text_in(os.pread(self._descriptor, length, offset)))

    def _sync_for_all(self) -> None:
        """The body of the sync thread: one `fdatasync` serves all who were waiting when it began."""
        while True:
            self._written.wait()
            # A later write sets it again.
            self._written.clear()
            self._closing.wait(_GATHERING_S)
            self._hurried.wait(_LONG_GATHERING_S - _GATHERING_S)
            # This sync serves all hurried requests up to this point.
            self._hurried.clear()
            target = self._write_for_sync()
            is_closing = self._closing.is_set()
            if target > self._synced:
                try:
                    os.fdatasync(self._descriptor)
                except OSError as error:
                    self._fail(self._refusal("made durable", error), is_writable=False)
                    return
            if (target > self._synced or is_closing) and (change := self._change_by_others()) is not None:
                self._fail(change, is_writable=True)
                return
            if target > self._synced:
                self._wake(target)
            if is_closing and self._synced == self._tail.seq:
                return

    def _change_by_others(self) -> DebatebenchError | None:
        """What another program has done to the open file or its name, with the way out."""
        with self._lock:
            expected, size = self._written_to[1], os.fstat(self._descriptor).st_size
        if not is_at(self._descriptor, self.path):
            what = "replaced" if self.path.exists() else "moved or deleted"
            try:
                saved = self._save_open_file()
            except OSError as error:
                return DamagedDataError(
                    f"The journal {self.path} was {what} by another program during the run, and its answers cannot be "
                    f"saved: {error.strerror}. Restore it from a copy."
                )
            return DamagedDataError(
                f"The journal {self.path} was {what} by another program during the run. All answers are in {saved}: "
                f"rename it to {self.path.name}, and run the same command again."
            )
        if size != expected:
            return DamagedDataError(
                f"The journal {self.path} was changed by another program during the run: it has {size:,} bytes instead "
                f"of {expected:,}. Restore it from a copy, or see with `debatebench doctor` what is left."
            )
        return None

    def _save_open_file(self) -> Path:
        """Copy the open file, which has lost its name, next to the journal, and continue in the copy."""
        make_folder(self.path.parent)
        with self._lock:
            saved, copy = new_file(saved_name(self.path), os.O_RDWR | os.O_APPEND)
            try:
                offset = 0
                while block := os.pread(self._descriptor, _BLOCK, offset):
                    _write_whole(copy, block)
                    offset += len(block)
                os.fsync(copy)
                os.dup2(copy, self._descriptor, inheritable=False)
            finally:
                os.close(copy)
        sync_path(saved.parent)
        return saved

    def _write_for_sync(self) -> int:
        """Write the buffered events, and return the number of the event up to which the file is complete."""
        with self._lock:
            if self._is_writable:
                with suppress(DebatebenchError):
                    self._write()
            return self._tail.seq

    def _wake(self, target: int) -> None:
        """Wake every waiter for an event up to `target`: the event is on the disk."""
        with self._lock:
            self._synced = target
            served = self._waiters(lambda seq: seq <= target)
        _tell(served, None)

    def _waiters(self, is_settled: Callable[[int], bool]) -> list[_Waiter]:
        """Remove and return the waiters for events that can be settled now."""
        settled = [waiter for waiter in self._waiting if is_settled(waiter[0])]
        self._waiting = [waiter for waiter in self._waiting if not is_settled(waiter[0])]
        return settled

    def _fail(self, failure: DebatebenchError, *, is_writable: bool) -> None:
        """After this, nothing counts as durable: every waiter gets the error."""
        with self._lock:
            self._failure, self._is_writable = failure, is_writable
            waiting, self._waiting = self._waiting, []
            self._is_failure_known = bool(waiting)
        _tell(waiting, failure)

    def _raise(self, failure: DebatebenchError, cause: OSError | None = None) -> NoReturn:
        self._is_failure_known = True
        raise _again(failure) from cause

    def _refusal(self, what: str, error: OSError) -> DebatebenchError:
        return DebatebenchError(
            f"The journal {self.path} cannot be {what}: {error.strerror}. "
            "Free space or repair the disk, and run the same command again: what was written before is kept."
        )

    def close(self) -> None:
        """Sync the written events, stop the thread and release the lock. Raises a failure that no one has seen yet."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
        self._hurried.set()
        self._written.set()
        self._syncer.join()
        if self._failure is not None and self._is_writable:
            # Replies that came after another program had changed the file.
            self._write_for_sync()
            with suppress(OSError):
                os.fdatasync(self._descriptor)
        os.close(self._descriptor)
        os.close(self._lock_descriptor)
        if self._failure is not None and not self._is_failure_known:
            self._raise(self._failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_in_turn(path: Path, index: Callable[[Event], None] | None = None) -> Journal:
    """A journal of what people write, opened as `Journal.open` does, after waiting for other processes.

    They hold it for milliseconds each. `index` is called with every event as it is. Raises `BusyError` after 10 s.
    """
    latest = time.monotonic() + _LONGEST_WAIT_S
    while True:
        try:
            journal = Journal.open(path)
            break
        except BusyError:
            if time.monotonic() > latest:
                raise BusyError(f"Another process holds {path}; end it, and try again.") from None
            time.sleep(_RETRY_S)
    if index is not None:
        try:
            for event in read_journal(path):
                index(event)
        except BaseException:
            journal.close()
            raise
    return journal


def _check_not_archived(path: Path) -> None:
    """Raise `UsageError` for a run that was archived after this process had looked for it."""
    place = path.parent if is_of_shard(path) else path
    archived = place.parent.parent / "archive" / place.parent.name / place.name
    if archived.exists() and not path.exists():
        raise UsageError(f"Run '{run_of(path)}' was archived just now: its journal is {archived}.")


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`; the kernel may accept a large write in pieces."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _tell(waiting: list[_Waiter], failure: DebatebenchError | None) -> None:
    """Settle waiters in their own loop, which is woken once; a loop that has been closed has no waiters."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for _, loop, future in waiting:
        loops.setdefault(loop, []).append(future)
    for loop, futures in loops.items():
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, futures, failure)


def _resolve(futures: list[asyncio.Future[None]], failure: DebatebenchError | None) -> None:
    """Settle futures; some of their waiters may have been cancelled meanwhile."""
    for future in futures:
        if future.done():
            continue
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(_again(failure))


def _again(failure: DebatebenchError) -> DebatebenchError:
    """The same error as a new object: each of its readers raises its own."""
    return type(failure)(str(failure))


def _set_torn_tail_aside(path: Path, descriptor: int, tail: Tail) -> None:
    """Copy the bytes after the last sound line to a side file, then cut them off."""
    size = os.fstat(descriptor).st_size
    if size == tail.offset:
        return
    _, side = new_file(path.with_name(f"{path.name}.torn-{tail.offset}"), os.O_WRONLY)
    with open(side, "wb") as file:
        file.write(os.pread(descriptor, size - tail.offset, tail.offset))
        file.flush()
        os.fsync(file.fileno())
    sync_path(path.parent)
    os.ftruncate(descriptor, tail.offset)
    os.fsync(descriptor)
