"""Random sessions of one person: after every step the words of the pages, the journal and what lands are the same."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from annotating import full_form, imported_workspace
from annotation_sessions import TAG, Answers, Outcome, Person, Window, check_landed, now

from debatebench.landing.annotation_journals import annotations_folder
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.app import make_app
from debatebench.output.annotation.debates import ShownDebate
from debatebench.output.annotation.session import Session, open_session
from debatebench.shared.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

pytest.importorskip("starlette", reason="the packages of the extra `annotate` are not installed")

SESSIONS, STEPS = 100, 14
STATUSES = {"saved": 200, "stale": 409, "two versions": 409, "missing": 422}


@dataclass
class Requesting(Person):
    """Someone whose windows send what their script sends, to a server in this process."""

    session: Session | None = None
    runner: asyncio.Runner | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start()

    def _debates(self) -> tuple[ShownDebate, ...]:
        assert self.session is not None
        return self.session.debates

    # --- the server -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new server: all that it knows is in the journal."""
        assert self.session is not None
        self.session = replace(self.session, journal=FormJournal(self.session.journal.path, TAG))
        self.app = make_app(self.session, "/token")

    def request(self, path: str, value: Any = None) -> tuple[int, Any]:
        """The status of an answer, and its JSON or text."""
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"" if value is None else json.dumps(value).encode()}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET" if value is None else "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        assert self.runner is not None
        self.runner.run(self.app(scope, receive, send))  # type: ignore[arg-type]
        text = b"".join(message.get("body", b"") for message in sent).decode()
        return sent[0]["status"], json.loads(text) if path.startswith("/api") else text

    def ask(self, path: str) -> Any:
        return self.request(path)[1]

    def progress(self) -> str:
        assert self.session is not None
        return self.session.progress().words("annotated")

    def change(self, at: Window, action: str, expected: Callable[[], Outcome], **value: Any) -> None:
        """One request of a window, as its script sends it; the answer is as the model says."""
        body = {"revision": self.revision(at), "window": at.name, **value}
        status, data = self.request(f"/api/debates/{at.key}/{action}", body)
        assert status == STATUSES[outcome := expected()], (action, outcome, data)
        if status == 200:
            self.revisions[at.key, self.forms[at.key].version] = data["revision"]

    def revision(self, window: Window) -> int:
        return self.revisions.get((window.key, window.version), 0)

    @property
    def revisions(self) -> dict[tuple[str, int], int]:
        """Debate and version of the model → the number that the server gave it."""
        return self.__dict__.setdefault("_revisions", {})

    # --- what a person does -----------------------------------------------------------------------------------------

    def open_window(self) -> None:
        window = Window(f"w{len(self.steps)}", self.draw.choice(self.debates).key, 0, {})
        self.shows_saved(window)
        self.windows.append(window)

    def choose(self, window: Window) -> None:
        self.puts(window, self.merged(window.form, self.drawn_answer()))

    def puts(self, window: Window, form: Answers, *, is_final: bool = False) -> None:
        action = "final" if is_final else "draft"
        self.change(window, action, lambda: self.saves(window, form, is_final=is_final), form=form)

    def fill(self, window: Window) -> None:
        form = full_form(self.questions, winner=self.draw.choice(("pro", "con")), skip_reason=None)
        self.puts(window, form)

    def clear(self, window: Window) -> None:
        self.puts(window, {**window.form, "winner": None})

    def skip(self, window: Window) -> None:
        self.puts(window, {**window.form, "skip_reason": self.draw.choice(("language", "not_a_debate"))})
        self.hand_in(window)

    def hand_in(self, window: Window) -> None:
        if not window.is_apart:
            self.puts(window, window.form, is_final=True)

    def undo(self, window: Window, way: str = "undo") -> None:
        def expected() -> Outcome:
            outcome = self.forms[window.key].go_back(window.version, way)
            self.shows_saved(window)
            return outcome

        if not window.is_apart:
            self.change(window, way, expected)

    def redo(self, window: Window) -> None:
        self.undo(window, "redo")

    def reload(self, window: Window) -> None:
        self.shows_saved(window)
        # The version of the window before it was loaded again is now one of another window.
        window.name += "r"

    def settle(self, window: Window) -> None:
        """Choose one of two versions."""
        model = self.forms[window.key]
        for aside, form in list(model.asides.items())[:1]:
            window.version = model.version
            if self.draw.random() < 0.5:

                def taken(aside: str = aside, form: Answers = form) -> Outcome:
                    return self.came(window, form, model.save(window.name, window.version, form, [aside]))

                self.change(window, "draft", taken, form=form, resolves=[aside])
            else:

                def dropped(aside: str = aside) -> Outcome:
                    outcome = model.drop(window.version, aside)
                    self.shows_saved(window)
                    return outcome

                self.change(window, "drop", dropped, window=aside)

    def kill(self, _: Window) -> None:
        """The server dies, and half of the time in the middle of a line that nobody was told about."""
        assert self.session is not None
        if self.session.journal.path.is_file() and self.draw.random() < 0.5:
            with open(self.session.journal.path, "ab") as file:
                file.write(b"99 1234abcd {")
        self.start()


async def at_once(call: Callable[..., Any], *arguments: Any) -> Any:
    return call(*arguments)


def test_after_every_step_of_random_sessions_the_pages_and_what_lands_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    workspace = imported_workspace(tmp_path)
    session = open_session(workspace, TAG, "ann", now=now)
    # Threads would only cost time here: what happens at once is tested with processes.
    monkeypatch.setattr("debatebench.output.annotation.app.run_in_threadpool", at_once)
    seen = set()
    with asyncio.Runner() as runner:
        for seed in range(SESSIONS):
            seen |= statuses_of(workspace, session, seed, runner)
    assert seen == {"open", "draft", "done", "changed"}


def statuses_of(workspace: Workspace, session: Session, seed: int, runner: asyncio.Runner) -> set[str]:
    """One session, checked after every step; the states that it has led through."""
    for each in annotations_folder(workspace.journal, TAG).glob("*"):
        each.unlink()
    person = Requesting(workspace, "ann", random.Random(seed), session=session, runner=runner)
    for _ in range(STEPS):
        try:
            person.step()
            person.check()
        except AssertionError as error:
            raise AssertionError(f"session {seed} after {person.steps}: {error}") from error
    if seed % 25 == 0:
        check_landed(workspace, [person])
    return person.seen
