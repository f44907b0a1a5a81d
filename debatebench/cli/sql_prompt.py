"""The SQL prompt: where the lines of a session come from, a person at a terminal or a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from debatebench.cli.common import note, note_error, say
from debatebench.cli.signals import at_prompt, forget_signals
from debatebench.cli.sql_session import LeaveSession, SqlSession
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.visible_text import visible

_HISTORY_LINES = 10_000
# The usual delimiters without the dot, which is part of `schema.table`.
_DELIMITERS = " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?"


def run_lines(session: SqlSession, lines: Iterable[str]) -> None:
    """Run the lines from a pipe. The first failure ends the session with its `DebatebenchError`."""
    try:
        for line in lines:
            session.feed(line.rstrip("\r\n"))
        session.finish()
    except LeaveSession:
        return


def interact(session: SqlSession, history: Path) -> None:
    """Read lines from the terminal until the user leaves. An error is printed on one line, then the session goes on."""
    say(f"{session.database}, read-only. Type .help for help, .quit to leave.")
    with _line_editing(session, history) as remember:
        while True:
            try:
                with at_prompt():
                    text = input("        ...> " if session.is_in_statement else "debatebench> ")
            except EOFError:
                say("")
                return
            except KeyboardInterrupt:
                forget_signals()
                session.drop()
                say("")
                continue
            except UnicodeDecodeError:
                note("Error: the input is not UTF-8 text.")
                continue
            remember()
            if not _took(session, text):
                return


def _took(session: SqlSession, text: str) -> bool:
    """Feed typed or pasted text to the session; False if the user wants to leave."""
    try:
        for line in text.split("\n"):
            session.feed(line)
    except LeaveSession:
        return False
    except KeyboardInterrupt:
        forget_signals()
        session.drop()
        note("Interrupted.")
    except DebatebenchError as error:
        session.drop()
        note_error(error)
    return True


def history_file(environ: Mapping[str, str]) -> Path:
    """The file with the lines of earlier sessions, in `XDG_STATE_HOME`, by default `~/.local/state`."""
    state = environ.get("XDG_STATE_HOME", "")
    # The XDG base directory specification says to ignore a relative path.
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "debatebench" / "sql_history"


@contextmanager
def _line_editing(session: SqlSession, history: Path) -> Iterator[Callable[[], None]]:
    """Give the terminal completion and a history; what it yields writes the last line to the history file."""
    try:
        import readline
    except ImportError:
        yield lambda: None
        return
    readline.set_completer_delims(_DELIMITERS)
    readline.set_completer(_completer(session))
    uses_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if uses_libedit else "tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    has_file = _private_file(history)
    if has_file:
        with suppress(OSError):
            readline.read_history_file(history)
    saved = readline.get_current_history_length()

    def remember() -> None:
        nonlocal saved
        added, saved = readline.get_current_history_length() - saved, readline.get_current_history_length()
        if has_file and added > 0:
            with suppress(OSError):
                # At once, because a terminal that is closed kills the process.
                readline.append_history_file(added, history)

    try:
        yield remember
    finally:
        readline.set_completer(None)


def _completer(session: SqlSession) -> Callable[[str, int], str | None]:
    """`SqlSession.candidates` as readline wants it: asked for one at a time."""
    found: list[str] = []

    def complete(word: str, number: int) -> str | None:
        import readline

        nonlocal found
        if number == 0:
            try:
                known = session.candidates(word, readline.get_line_buffer()[: readline.get_begidx()])
                # The terminal gets these names as they are.
                found = [name for name in known if name == visible(name)]
            except DebatebenchError:
                found = []
        return found[number] if number < len(found) else None

    return complete


def _private_file(path: Path) -> bool:
    """Create the file if it is missing, readable only by its owner. False if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
    except OSError:
        return False
    return True
