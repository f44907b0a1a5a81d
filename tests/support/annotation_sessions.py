"""Random sessions of people with forms: what every form is by rules of its own, and that everybody else says the same.

`FormModel` is one form by its rules, written apart from the product. A `Person` draws what it does next, and compares
what pages, journals, `land` and `doctor` say with the model. How a person acts is for a subclass: requests in one
process, or keys and clicks in browsers.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Literal

import duckdb
import pytest

from debatebench.landing.annotation_journals import annotation_records, annotations_folder, unfinished_forms
from debatebench.output.annotation.debates import ShownDebate
from debatebench.output.annotation.review import open_review
from debatebench.output.annotation.session import open_session
from debatebench.shared.errors import UsageError
from debatebench.shared.records import TABLES, Adjudication, Annotation, Record
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.doctor import examine
from debatebench.warehouse.update import update_warehouse

TAG = "flow"
DEBATES = 2
Answers = dict[str, Any]
Outcome = Literal["saved", "stale", "two versions", "missing"]


def now() -> datetime:
    return datetime(2026, 1, 1, 12)


def answered(form: Answers) -> Answers:
    """The answers of a form without those that were not given."""
    return {name: value for name, value in form.items() if value not in (None, {}, "")}


def is_complete(form: Answers, questions: Sequence[str], *, is_review: bool) -> bool:
    """Whether a form can be handed in."""
    form = answered(form)
    if "skip_reason" in form:
        return True
    if is_review:
        return form.get("is_coherent") is False or "winner" in form
    if form.get("is_coherent") is False:
        return "justification" in form
    scores = form.get("scores", {})
    has_scores = all(set(scores.get(name, ())) == {"pro", "con"} for name in questions)
    return has_scores and {"winner", "confidence", "is_coherent", "justification"} <= form.keys()


@dataclass
class FormModel:
    """One form: what was saved and handed in, what is aside, and what can be undone."""

    saved: Answers = field(default_factory=dict)
    is_filled_in: bool = False
    """Whether the page of a reviewer shows what people agree on, because nothing was saved."""
    handed_in: Answers | None = None
    was_handed_in: bool = False
    version: int = 0
    """Grows with every change of the form; a window that has read another one is stale."""
    asides: dict[str, Answers] = field(default_factory=dict)
    past: list[tuple[Answers, Answers | None, bool]] = field(default_factory=list)
    undone: list[tuple[Answers, Answers | None, bool]] = field(default_factory=list)
    is_typing: bool = False
    """Whether the last change was one of the text only: the next of its kind is the same change."""
    way: str | None = None
    """`undo` or `redo` if that was the last change."""

    @property
    def now(self) -> tuple[Answers, Answers | None, bool]:
        """What an undo brings back."""
        return self.saved, self.handed_in, self.is_filled_in

    @property
    def is_done(self) -> bool:
        return self.handed_in is not None and not self.asides and self.saved == self.handed_in

    @property
    def status(self) -> str:
        if self.is_done or self.was_handed_in:
            return "done" if self.is_done else "changed"
        return "draft" if self.version or self.asides else "open"

    @property
    def words(self) -> str:
        if self.asides:
            return "Two versions: choose one above. Not handed in."
        return {
            "done": "Handed in as skipped." if self.saved.get("skip_reason") else "Handed in.",
            "changed": "Saved. Changed since the hand-in, and not handed in.",
            "draft": "Saved. Not handed in.",
            "open": "Not begun.",
        }[self.status]

    def save(
        self, window: str, version: int, form: Answers, resolves: Sequence[str] = (), *, is_final: bool = False
    ) -> Outcome:
        form = answered(form)
        # The first save of an empty form is one, too.
        is_same = form == self.saved and self.version > 0 and not self.is_filled_in
        if not is_same and version != self.version:
            # The one aside last is shown last.
            if self.asides.get(window) != form:
                self.asides.pop(window, None)
                self.asides[window] = form
            return "stale"
        resolved = {window, *(resolves if version == self.version else ())} & self.asides.keys()
        if is_same and not resolved and (not is_final or self.is_done):
            return "saved"
        if is_final and len(resolved) < len(self.asides):
            return "two versions"
        is_typed = not is_final and form | {"justification": 0} == self.saved | {"justification": 0}
        if not (is_typed and self.is_typing):
            self.past.append(self.now)
        self.undone.clear()
        self.is_typing, self.way = is_typed, None
        self.saved, self.is_filled_in = form, False
        self.version += 1
        for each in resolved:
            del self.asides[each]
        if is_final:
            self.handed_in, self.was_handed_in = form, True
        # What leads back to the same answers is no change.
        while self.past and self.past[-1] == self.now:
            self.past.pop()
            self.is_typing = False
        return "saved"

    def drop(self, version: int, window: str) -> Outcome:
        if window not in self.asides:
            return "saved"
        if version != self.version:
            return "stale"
        del self.asides[window]
        return "saved"

    def go_back(self, version: int, way: str) -> Outcome:
        # The same again is one undo: the answer to the first may have been lost.
        if self.way == way and version == self.version - 1:
            return "saved"
        if version != self.version:
            return "stale"
        source, target = (self.past, self.undone) if way == "undo" else (self.undone, self.past)
        if source:
            target.append(self.now)
            self.saved, self.handed_in, self.is_filled_in = source.pop()
            self.version += 1
            self.is_typing, self.way = False, way
        return "saved"


@dataclass
class Window:
    """A page of one debate: what it shows, and the version that it has read."""

    name: str
    key: str
    version: int
    form: Answers
    is_apart: bool = False
    """Whether another window has saved first, and the person has not chosen."""
    seen: int = 0
    """The version that was saved by others, when it was last told of it."""


@dataclass
class Person(ABC):
    """Someone with some windows open, and the forms by what this person has done."""

    workspace: Workspace
    name: str
    draw: random.Random
    is_review: bool = False
    windows: list[Window] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The states of forms that this person's steps led through."""

    acts = (
        ("choose",) * 5
        + ("fill",) * 2
        + ("hand_in",) * 3
        + ("settle",) * 2
        + ("undo", "undo", "redo", "clear", "reload", "kill")
    )
    acts_of_annotators = ("skip",)

    def __post_init__(self) -> None:
        self.debates = self._debates()
        self.questions = tuple(each.name for each in self.debates[0].dimensions)
        self.forms = {debate.key: FormModel(is_filled_in=self.is_review) for debate in self.debates}

    def _debates(self) -> tuple[ShownDebate, ...]:
        if self.is_review:
            return open_review(self.workspace, TAG, self.name, now=now).session.debates
        return open_session(self.workspace, TAG, self.name, now=now, revise=True).debates

    # --- how this person acts ---------------------------------------------------------------------------------------

    @abstractmethod
    def ask(self, path: str) -> Any:
        """What a page or an address of data answers: text, or what the JSON is."""

    @abstractmethod
    def progress(self) -> str:
        """How much is done, in the words that the command prints."""

    # --- what this person does --------------------------------------------------------------------------------------

    def step(self) -> None:
        if not self.windows or (len(self.windows) < 3 and self.draw.random() < 0.2):
            self.steps.append(f"{self.name}: window")
            self.open_window()
            return
        act = self.draw.choice(self.acts + (() if self.is_review else self.acts_of_annotators))
        self.steps.append(f"{self.name}: {act}")
        getattr(self, act)(self.draw.choice(self.windows))

    def drawn_answer(self) -> Answers:
        """One answer to one question, as a form has it; the scores of both sides."""
        values = {
            "winner": ("pro", "con", "tie"),
            "justification": ("Yes.", "No. \u05d0"),
            "is_coherent": (True, True, False),
            **({} if self.is_review else {"confidence": (1, 3, 5)}),
        }
        question = self.draw.choice([*values, *self.questions])
        if question in values:
            return {question: self.draw.choice(values[question])}
        return {"scores": {question: {side: self.draw.choice((1, 2, 3)) for side in ("pro", "con")}}}

    def merged(self, form: Answers, answer: Answers) -> Answers:
        """A form after an answer."""
        scores = {**form.get("scores", {}), **answer.get("scores", {})}
        return {**form, **answer, "scores": scores}

    def saves(self, window: Window, form: Answers, *, is_final: bool = False) -> Outcome:
        """What comes of a save of this form, by the model, which has it afterwards."""
        model = self.forms[window.key]
        if is_final and not is_complete(form, self.questions, is_review=self.is_review):
            return "missing"
        return self.came(window, form, model.save(window.name, window.version, form, is_final=is_final))

    def came(self, window: Window, form: Answers, outcome: Outcome) -> Outcome:
        """Have the window as it is after this outcome of a save of this form."""
        model = self.forms[window.key]
        window.form = answered(form)
        if outcome == "stale":
            window.is_apart, window.seen = True, model.version
        else:
            window.version, window.is_apart = model.version, False
        return outcome

    def shows_saved(self, window: Window) -> None:
        """Have the window show what is saved."""
        model = self.forms[window.key]
        window.version, window.form, window.is_apart = model.version, self.shown(window.key), False

    def shown(self, key: str) -> Answers:
        """What a page shows of what is saved: before anything is, a reviewer sees what people agree on."""
        if self.forms[key].is_filled_in:
            return answered(self.ask(f"/api/debates/{key}")["review"]["proposed"])
        return self.forms[key].saved

    # --- what must hold ---------------------------------------------------------------------------------------------

    @property
    def landing(self) -> dict[str, Answers]:
        """Debate id → the form that lands."""
        return {each.debate_id: self.forms[each.key].saved for each in self.debates if self.forms[each.key].is_done}

    @property
    def unfinished(self) -> set[str]:
        """The ids of the debates that were handed in, and are not now."""
        return {each.debate_id for each in self.debates if self.forms[each.key].status == "changed"}

    @property
    def next_key(self) -> str | None:
        """What "Go on" opens."""
        ordered = sorted(self.debates, key=lambda each: self.forms[each.key].status != "changed")
        return next((each.key for each in ordered if not self.forms[each.key].is_done), None)

    def records(self) -> dict[str, Record]:
        """Debate id → what the journal on the disk lands for this person."""
        folder = annotations_folder(self.workspace.journal, TAG)
        found: dict[str, Record] = {}
        for record in annotation_records(folder, TAG):
            if isinstance(record, Adjudication) if self.is_review else isinstance(record, Annotation):
                author = record.adjudicator_id if isinstance(record, Adjudication) else record.annotator_id  # type: ignore[attr-defined]
                if author == self.name:
                    found[record.debate_id] = record  # type: ignore[attr-defined]
        return found

    def check(self) -> None:
        """The pages and the journal say what the model says."""
        assert {id_: said(record) for id_, record in self.records().items()} == {
            id_: said_by(form, is_review=self.is_review) for id_, form in self.landing.items()
        }
        folder = annotations_folder(self.workspace.journal, TAG)
        unfinished = [each for each in unfinished_forms(folder, TAG) if each.author == self.name]
        assert {debate_id for each in unfinished for debate_id in each.debate_ids} == self.unfinished
        overview = self.ask("/api/debates")
        listed = {each["key"]: each for each in overview["debates"]}
        for debate in self.debates:
            model = self.forms[debate.key]
            state = self.ask(f"/api/debates/{debate.key}")
            assert (state["words"], state["status"]) == (model.words, model.status)
            assert state["is_handed_in"] == model.is_done
            assert answered(state["form"]) == model.saved
            assert [answered(each["form"]) for each in state["asides"]] == list(model.asides.values())
            assert ((state["undo"] is None), (state["redo"] is None)) == (not model.past, not model.undone)
            assert listed[debate.key]["status"] == model.status
            assert f'role="status">{model.words}<' in self.ask(f"/debate/{debate.key}")
            self.seen.add(model.status)
        changed = len(self.unfinished)
        assert (overview["done"], overview["changed"]) == (len(self.landing), changed)
        assert overview["next"] == self.next_key
        page = self.ask("/")
        assert ("debates are done" in page) == (len(self.landing) == DEBATES) == (self.next_key is None)
        assert ('id="next" href="' in page) == (self.next_key is not None)
        assert (f"{changed} changed and not handed in" in page) == bool(changed)
        what = "reviewed" if self.is_review else "annotated"
        skipped = sum(form.get("skip_reason") is not None for form in self.landing.values())
        words = f"{len(self.landing)} of {DEBATES} debates are {what}"
        words += f" ({skipped} of them skipped)" if skipped else ""
        words += f", {changed} changed and not handed in" if changed else ""
        assert words in self.progress()

    def check_new_start(self) -> None:
        """A new start opens what is not handed in, and refuses one who has nothing left."""
        if self.is_review:
            return
        if self.next_key is not None:
            assert open_session(self.workspace, TAG, self.name, now=now).next_key() == self.next_key
        else:
            with pytest.raises(UsageError, match="has annotated all"):
                open_session(self.workspace, TAG, self.name, now=now)


def check_landed(workspace: Workspace, people: Sequence[Person]) -> None:
    """`land` puts into the warehouse what the model says, and `doctor` names the rest and finds nothing else."""
    update_warehouse(workspace, None, now=now, build=False, replace_landed=True)
    rows: dict[tuple[bool, str], dict[str, Any]] = {}
    """Whether it is a review, and whose it is → debate id → the row."""
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        for table, author in (("annotations", "annotator_id"), ("adjudications", "adjudicator_id")):
            kind = TABLES[table]
            found = con.execute(f"select * from raw.{table} where run_tag = ?", [TAG])
            columns = [each[0] for each in found.description or ()]
            for row in found.fetchall():
                values = dict(zip(columns, row, strict=True))
                landed_of = rows.setdefault((kind is Adjudication, values[author]), {})
                landed_of[values["debate_id"]] = SimpleNamespace(**values)
    for person in people:
        person.check_new_start()
        landed = rows.get((person.is_review, person.name), {})
        assert {id_: said(record) for id_, record in landed.items()} == {
            id_: said_by(form, is_review=person.is_review) for id_, form in person.landing.items()
        }
    findings = examine(workspace)
    # A line that a kill has torn was never called saved.
    assert {each.finding for each in findings} <= {"not_handed_in", "torn_line", "set_aside"}
    places = sorted(
        each.place.partition(", debate ")[2].strip("'") for each in findings if each.finding == "not_handed_in"
    )
    assert places == sorted(debate_id for person in people for debate_id in person.unfinished)


def said(record: Any) -> tuple[Any, ...]:
    """What a record or a row of the warehouse says."""
    given = [score if isinstance(score, dict) else dict(score) for score in record.scores or ()]
    scores = {score["dimension"]: {side: int(score[side]) for side in ("pro", "con")} for score in given}
    more = (record.confidence, record.skip_reason) if hasattr(record, "confidence") else ()
    return record.winner, record.justification, record.is_coherent, scores, *more


def said_by(form: Answers, *, is_review: bool) -> tuple[Any, ...]:
    """What a form says that is handed in: a skipped or an incoherent debate has no verdict."""
    reasons, coherent = form.get("justification"), form.get("is_coherent")
    if form.get("skip_reason"):
        return None, reasons, None, {}, None, form["skip_reason"]
    if coherent is False:
        return None, reasons, False, {}, *(() if is_review else (None, None))
    scores = {name: sides for name, sides in form.get("scores", {}).items() if len(sides) == 2}
    more = () if is_review else (form["confidence"], None)
    return form["winner"], reasons, coherent, scores, *more


def told(text: str, path: str) -> Any:
    """What an answer is: JSON of the addresses of data, else text."""
    return json.loads(text) if path.startswith("/api") else text
