"""Random sessions of one person: after every step the words of the pages, the journal and what lands are the same."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from annotating import full_form, imported_workspace

from debatebench.landing.annotation_journals import annotation_records, annotations_folder, unfinished_forms
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.app import make_app
from debatebench.output.annotation.session import Session, open_session
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Annotation
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.doctor import examine
from debatebench.warehouse.journal_findings import annotation_findings
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow

pytest.importorskip("starlette", reason="the packages of the extra `annotate` are not installed")

TAG = "flow"
SESSIONS, STEPS, DEBATES = 100, 14, 2
SHOWN_AS_DONE = {"Handed in.", "Handed in as skipped."}


def now() -> datetime:
    return datetime(2026, 1, 1, 12)


@dataclass
class Window:
    """A page of one debate: what it shows, and the revision that it has read."""

    name: str
    key: str
    revision: int
    form: dict[str, Any]
    is_apart: bool = False
    """Whether another window has saved first, and the person has not chosen."""


@dataclass
class Person:
    """Someone with some windows open, and what the forms should hold by what the person has done."""

    workspace: Workspace
    session: Session
    draw: random.Random
    runner: asyncio.Runner
    windows: list[Window] = field(default_factory=list)
    expected: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Debate → the form that was saved last."""
    kept: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Debate and window → the version that waits for a choice."""
    steps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.questions = tuple(each.name for each in self.session.debates[0].dimensions)
        self.start()

    # --- the server -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new server: all that it knows is in the journal."""
        self.session = replace(self.session, journal=FormJournal(self.session.journal.path, TAG))
        self.app = make_app(self.session, "/token")

    def ask(self, path: str, value: Any = None) -> tuple[int, Any]:
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
        self.runner.run(self.app(scope, receive, send))  # type: ignore[arg-type]
        text = b"".join(message.get("body", b"") for message in sent).decode()
        return sent[0]["status"], json.loads(text) if path.startswith("/api") else text

    def state(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"/api/debates/{key}")[1]
        return found

    def change(self, at: Window, action: str, **value: Any) -> int:
        """One request of a window, as its script sends it and takes the answer."""
        body = {"revision": at.revision, "window": at.name, **value}
        status, data = self.ask(f"/api/debates/{at.key}/{action}", body)
        assert status in (200, 409, 422), data
        if status == 200:
            at.revision, at.is_apart = data["revision"], False
            self.expected[at.key] = data["form"]
            if "form" in value:
                assert answered(data["form"]) == answered(value["form"])
            at.form = data["form"]
            for name in (at.name, *value.get("resolves", ())):
                self.kept.pop((at.key, name), None)
        elif status == 409 and data["revision"] != at.revision and "form" in value:
            if answered(data["form"]) == answered(value["form"]):
                at.revision = data["revision"]
            else:
                at.is_apart = True
                self.kept[at.key, at.name] = value["form"]
        return status

    # --- what a person does -----------------------------------------------------------------------------------------

    def step(self) -> None:
        if not self.windows or (len(self.windows) < 3 and self.draw.random() < 0.2):
            return self.open_window()
        acts = ["choose"] * 5 + ["fill"] * 2 + ["hand_in"] * 3 + ["undo"] * 2
        acts += ["redo", "skip", "clear", "reload", "kill", "settle", "settle"]
        act = self.draw.choice(acts)
        self.steps.append(act)
        window = self.draw.choice(self.windows)
        getattr(self, act)(window)
        return None

    def open_window(self) -> None:
        key = self.draw.choice([debate.key for debate in self.session.debates])
        state = self.state(key)
        self.windows.append(Window(f"w{len(self.steps)}", key, state["revision"], state["form"]))
        self.steps.append("window")

    def choose(self, window: Window, **changed: Any) -> None:
        form = dict(window.form)
        question = self.draw.choice(["winner", "confidence", "justification", *self.questions])
        if changed:
            form |= changed
        elif question in self.questions:
            sides = {side: self.draw.choice((1, 2, 3)) for side in ("pro", "con")}
            form["scores"] = {**form.get("scores", {}), question: sides}
        else:
            values = {"winner": ("pro", "con", "tie"), "confidence": (1, 3, 5), "justification": ("Yes.", "No. \u05d0")}
            form[question] = self.draw.choice(values[question])
        window.form = form
        self.change(window, "draft", form=form)

    def fill(self, window: Window) -> None:
        self.choose(window, **full_form(self.questions, winner=self.draw.choice(("pro", "con"))), skip_reason=None)

    def clear(self, window: Window) -> None:
        self.choose(window, winner=None)

    def skip(self, window: Window) -> None:
        self.choose(window, skip_reason=self.draw.choice(("language", "not_a_debate")))
        self.hand_in(window)

    def hand_in(self, window: Window) -> None:
        if not window.is_apart:
            self.change(window, "final", form=window.form)

    def undo(self, window: Window, way: str = "undo") -> None:
        if not window.is_apart:
            self.change(window, way)

    def redo(self, window: Window) -> None:
        self.undo(window, "redo")

    def reload(self, window: Window) -> None:
        state = self.state(window.key)
        window.revision, window.form, window.is_apart = state["revision"], state["form"], False
        # The version of the window before it was loaded again is now one of another window.
        window.name += "r"

    def settle(self, window: Window) -> None:
        """Choose one of two versions."""
        state = self.state(window.key)
        for aside in state["asides"]:
            window.revision = state["revision"]
            if self.draw.random() < 0.5:
                self.change(window, "draft", form=aside["form"], resolves=[aside["window"]])
            else:
                self.change(window, "drop", window=aside["window"])
                self.kept.pop((window.key, aside["window"]), None)
            break

    def kill(self, _: Window) -> None:
        """The server dies, and half of the time in the middle of a line that nobody was told about."""
        if self.session.journal.path.is_file() and self.draw.random() < 0.5:
            with open(self.session.journal.path, "ab") as file:
                file.write(b"99 1234abcd {")
        self.start()

    # --- what must hold ---------------------------------------------------------------------------------------------

    def check(self) -> set[str]:
        """The pages, the journal, what lands and what `land` and `doctor` say are the same; the states of the forms."""
        folder = annotations_folder(self.workspace.journal, TAG)
        landing = {each.debate_id: each for each in annotation_records(folder, TAG) if isinstance(each, Annotation)}
        unfinished = {debate_id for each in unfinished_forms(folder, TAG) for debate_id in each.debate_ids}
        found = [each for each in annotation_findings(TAG, folder, has_debates=True) if each.finding == "not_handed_in"]
        assert {each.place.partition("debate '")[2].rstrip("'") for each in found} == unfinished
        overview = self.ask("/api/debates")[1]
        listed = {each["key"]: each for each in overview["debates"]}
        for debate in self.session.debates:
            state = self.state(debate.key)
            words = state["words"]
            assert answered(state["form"]) == answered(self.expected.get(debate.key, {}))
            assert (words in SHOWN_AS_DONE) == (debate.debate_id in landing) == state["is_handed_in"], words
            assert ("hand-in" in words) == (debate.debate_id in unfinished and not state["asides"]), words
            kept = {each["window"]: answered(each["form"]) for each in state["asides"]}
            assert kept == {name: answered(form) for (key, name), form in self.kept.items() if key == debate.key}
            assert ("choose one" in words) == bool(kept)
            assert listed[debate.key]["status"] == state["status"]
            assert (state["status"] == "changed") == (debate.debate_id in unfinished)
            assert f'role="status">{words}<' in self.ask(f"/debate/{debate.key}")[1]
            if debate.debate_id in landing:
                assert said(landing[debate.debate_id]) == said_by(state["form"])
        assert (overview["done"], overview["changed"]) == (len(landing), len(unfinished))
        page = self.ask("/")[1]
        assert ("debates are done" in page) == (len(landing) == DEBATES) == (overview["next"] is None)
        assert ("changed and not handed in" in page) == bool(unfinished)
        assert ("changed and not handed in" in self.session.progress().words("annotated")) == bool(unfinished)
        return {each["status"] for each in overview["debates"]}

    def check_landed(self) -> None:
        """What `land` puts into the warehouse, that `doctor` names the rest, and what a new start opens."""
        update_warehouse(self.workspace, None, now=now, build=False, replace_landed=True)
        folder = annotations_folder(self.workspace.journal, TAG)
        landing = {each.debate_id: each for each in annotation_records(folder, TAG) if isinstance(each, Annotation)}
        with duckdb.connect(str(self.workspace.database), read_only=True) as con:
            rows = con.execute(
                "select debate_id, winner, skip_reason from raw.annotations where annotator_id = ?", ["ann"]
            ).fetchall()
        assert sorted(rows) == sorted((each.debate_id, each.winner, each.skip_reason) for each in landing.values())
        names = [each.finding for each in examine(self.workspace)]
        count = sum(len(each.debate_ids) for each in unfinished_forms(folder, TAG))
        assert names.count("not_handed_in") == count
        if len(landing) < DEBATES:
            assert open_session(self.workspace, TAG, "ann", now=now).next_key() is not None
        else:
            with pytest.raises(UsageError, match="has annotated all"):
                open_session(self.workspace, TAG, "ann", now=now)


async def at_once(call: Callable[..., Any], *arguments: Any) -> Any:
    return call(*arguments)


def answered(form: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form.items() if value not in (None, {})}


def said(record: Annotation) -> tuple[Any, ...]:
    scores = {score.dimension: (int(score.pro), int(score.con)) for score in record.scores or ()}
    return record.winner, record.confidence, record.justification, scores, record.skip_reason


def said_by(form: dict[str, Any]) -> tuple[Any, ...]:
    """What a form shows as the verdict."""
    if form["skip_reason"]:
        return None, None, form["justification"], {}, form["skip_reason"]
    scores = {name: (sides["pro"], sides["con"]) for name, sides in form["scores"].items()}
    return form["winner"], form["confidence"], form["justification"], scores, None


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
    person = Person(workspace, session, random.Random(seed), runner)
    seen: set[str] = set()
    for _ in range(STEPS):
        person.step()
        try:
            seen |= person.check()
        except AssertionError as error:
            raise AssertionError(f"session {seed} after {person.steps}: {error}") from error
    if seed % 25 == 0:
        person.check_landed()
    return seen
