"""What is wrong with a workspace: journals, kept imports and the warehouse are examined and not changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.journal.reading import all_lines, has_begun, is_played_now
from debatebench.journal.writing import write_journal
from debatebench.landing.importers.manifest import check_part, kept_manifest
from debatebench.landing.journal_records import journal_header, journal_records
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.records import Call, Debate, ScheduledDebate

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace

__all__ = ["Finding", "Salvaged", "examine", "salvage"]

_NEVER_ENDED = "the debate was not finished"
_ENDED_BADLY = frozenset({"ambiguous", "empty", "refused", "oversize", "failed"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that the user should know about. `is_damage` says whether data changed after it was written.

    `finding` is `damaged_line`, `damaged_journal`, `torn_line`, `set_aside`, `ambiguous_call`, `failed_call`,
    `missing_debate`, `changed_import`, `not_landed`, `lost_source` or `unreadable_warehouse`.
    """

    run_tag: str
    finding: str
    is_damage: bool
    place: str
    detail: str

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the fields."""
        return [field.name for field in fields(cls)]

    def row(self) -> tuple[Any, ...]:
        """The values of the fields."""
        return astuple(self)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of salvaging a damaged journal: the new file, and how many events it has and lacks."""

    source: Path
    target: Path
    events: int
    lost: int


def examine(workspace: Workspace, run_tag: str | None = None) -> list[Finding]:
    """Everything that is wrong or unfinished, tag by tag; only for `run_tag` if it is given.

    Raises `UsageError` when nothing in the workspace has that tag.
    """
    journals = {path.stem: path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file()}
    imports = {path.parent.name: path.parent for path in sorted(workspace.imports.glob("*/manifest.json"))}
    landings, problem = _landings(workspace)
    known = sorted({*journals, *imports, *landings})
    if run_tag is not None and run_tag not in known:
        raise UsageError(f"No run '{run_tag}' in {workspace.warehouse}. Known: {', '.join(known) or 'none yet'}.")
    found = [problem] if problem is not None else []
    for tag in known if run_tag is None else [run_tag]:
        if tag in journals:
            found += _journal_findings(tag, journals[tag])
        if tag in imports:
            found += _import_findings(tag, imports[tag])
        found += _landing_findings(tag, journals.get(tag), imports.get(tag), landings, is_known=problem is None)
    return found


def _journal_findings(tag: str, path: Path) -> Iterator[Finding]:
    """The damage in a journal; if there is none, what is unfinished."""
    if not has_begun(path):
        return
    is_damaged = False
    for line in all_lines(path):
        if line.data is not None:
            continue
        place = f"{path}, line {line.number}, byte {line.offset}"
        if line.is_damaged:
            is_damaged = True
            yield Finding(
                tag,
                "damaged_line",
                True,
                place,
                "Restore the file from a copy, or save the rest with `debatebench doctor --salvage`.",
            )
        elif not is_played_now(path):
            yield Finding(
                tag, "torn_line", False, place, "The next `debatebench run` sets it aside; it was never used."
            )
    for side in sorted(path.parent.glob(f"{path.name}.torn-*")):
        yield Finding(tag, "set_aside", False, str(side), "A torn last line of an earlier session; it was never used.")
    if is_damaged:
        return
    try:
        journal_header(path)
        yield from _unfinished(tag, path)
    except DamagedDataError as error:
        yield Finding(tag, "damaged_journal", True, str(path), str(error))


def _unfinished(tag: str, path: Path) -> Iterator[Finding]:
    """Calls that may have been billed without an answer, calls that ended without one, and missing debates.

    An attempt that a later answer followed is listed only if it may have been billed.
    """
    planned: dict[str, ScheduledDebate] = {}
    ended: dict[str, Debate] = {}
    unanswered: dict[str, Call] = {}
    ambiguous: list[Call] = []
    for record in journal_records(path):
        if isinstance(record, ScheduledDebate):
            planned[record.debate_id] = record
        elif isinstance(record, Debate):
            ended[record.debate_id] = record
        elif isinstance(record, Call):
            if record.status == "ambiguous":
                ambiguous.append(record)
            if record.status == "answered":
                unanswered.pop(record.call_id, None)
            else:
                unanswered[record.call_id] = record
    for call in ambiguous:
        yield Finding(tag, "ambiguous_call", False, _place(call), f"{call.error}; {_bound(call)}")
    for call in unanswered.values():
        if call.status in _ENDED_BADLY:
            detail = f"{call.status}: {call.error}; `debatebench run --retry-failed` retries it."
            yield Finding(tag, "failed_call", False, _place(call), detail)
    for debate_id, scheduled in planned.items():
        debate = ended.get(debate_id)
        if debate is None or debate.status != "complete":
            reason = debate.status_reason or debate.status if debate is not None else _NEVER_ENDED
            place = f"{debate_id} ({scheduled.topic_id}: {scheduled.pro_model_id} against {scheduled.con_model_id})"
            yield Finding(tag, "missing_debate", False, place, reason)


def _place(call: Call) -> str:
    return f"{call.debate_id} {call.step} attempt {call.attempt} of {call.model_id or call.judge_id}"


def _bound(call: Call) -> str:
    if call.possible_cost is None:
        return "what it may have cost is unknown"
    return f"it may have cost up to {call.possible_cost} USD"


def _import_findings(tag: str, folder: Path) -> Iterator[Finding]:
    try:
        manifest = kept_manifest(folder)
    except DamagedDataError as error:
        yield Finding(tag, "changed_import", True, str(folder), str(error))
        return
    for part in manifest.parts:
        try:
            check_part(folder, manifest, part)
        except DamagedDataError as error:
            yield Finding(tag, "changed_import", True, str(folder / part.name), str(error))


def _landings(workspace: Workspace) -> tuple[dict[str, str], Finding | None]:
    """Run tag → hash of the landed content; and a finding if the warehouse cannot be read."""
    import duckdb

    from debatebench.query.safe_query import open_for_query

    if not workspace.database.is_file():
        return {}, None
    try:
        with closing(open_for_query(workspace.database)) as con:
            rows = con.execute("select run_tag, content_sha256 from meta.landings").fetchall()
    except (BusyError, duckdb.CatalogException) as error:
        return {}, Finding("", "unreadable_warehouse", False, str(workspace.database), str(error).splitlines()[0])
    except (DebatebenchError, duckdb.Error) as error:
        detail = f"{str(error).splitlines()[0]} `debatebench build --from-journals` creates it again."
        return {}, Finding("", "unreadable_warehouse", True, str(workspace.database), detail)
    return dict(rows), None


def _landing_findings(
    tag: str, journal: Path | None, folder: Path | None, landings: dict[str, str], *, is_known: bool
) -> Iterator[Finding]:
    """Sources that have not landed, and landings whose source is gone."""
    from debatebench.warehouse.update import LandingSource

    if journal is not None and not has_begun(journal):
        journal = None
    path = journal or folder
    if path is None:
        detail = (
            "Its journal or import is missing; put it back, or export the run while the warehouse still contains it."
        )
        yield Finding(tag, "lost_source", True, f"warehouse run '{tag}'", detail)
    elif is_known and landings.get(tag) != LandingSource(tag, path, path == journal).content_sha256():
        state = "changed since it was landed" if tag in landings else "not landed yet"
        yield Finding(tag, "not_landed", False, str(path), f"It has {state}; run `debatebench land`.")


def salvage(path: Path) -> Salvaged | None:
    """Copy the sound events of a damaged journal to `<name>.salvaged` next to it; None if no line is damaged.

    Sound events after the damage are kept too, unless they need one that is lost: an attempt without its intent, an
    outcome without its reply. The run sends the missing requests again when it is resumed. The damaged file is only
    read. Raises `DamagedDataError` if the header is lost, because the answers mean nothing without the frozen plan.
    """
    if is_played_now(path):
        raise BusyError(f"Another process is playing run '{path.stem}'; wait until it ends, or stop it.")
    count, is_damaged = 0, False
    for line in all_lines(path):
        count += 1
        is_damaged = is_damaged or line.is_damaged
        if line.number == 1 and (line.data or {}).get("type") != "header":
            raise DamagedDataError(
                f"The header of {path}, which contains the plan, is damaged; the run can be restored only from a copy "
                "of the file."
            )
    if not is_damaged:
        return None
    sound = (line.data for line in all_lines(path) if line.data is not None)
    target, events = write_journal(path.with_name(f"{path.name}.salvaged"), _consistent(sound))
    return Salvaged(path, target, events, count - events)


def _consistent(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events that do not depend on lost ones.

    A call counts as answered only with its reply; a debate counts as ended only with every call that it used.
    """
    planned: set[str] = set()
    intents: set[tuple[str, int]] = set()
    replies: set[tuple[str, int]] = set()
    answered: set[str] = set()
    for data in events:
        kind = data.get("type")
        planned.update(row["debate_id"] for row in data.get("records", {}).get("schedule", ()))
        if "debate_id" in data and data["debate_id"] not in planned:
            continue
        if kind == "intent":
            intents.add((data["call_id"], data["attempt"]))
        elif kind == "response":
            if (data["call_id"], data["attempt"]) not in intents:
                continue
            replies.add((data["call_id"], data["attempt"]))
        elif kind == "outcome" and data.get("of") == "call":
            (row,) = data["records"]["calls"]
            key = (row["call_id"], row["attempt"])
            if key not in intents or (row["status"] == "answered" and key not in replies):
                continue
            if row["status"] == "answered":
                answered.add(row["call_id"])
        elif kind == "outcome" and not _used_calls(data) <= answered:
            continue
        yield data


def _used_calls(outcome: dict[str, Any]) -> set[str]:
    """The calls whose answers became turns or valid verdicts of a debate."""
    records = outcome["records"]
    rows = [*records.get("turns", ()), *(row for row in records.get("verdicts", ()) if row.get("is_valid"))]
    return {row["call_id"] for row in rows if row.get("call_id")}
