"""What is wrong with a workspace: journals, kept imports and the warehouse are examined and not changed."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.journal.reading import all_lines, has_begun, is_played_now, saved_beside
from debatebench.landing.importers.manifest import MANIFEST, check_part, kept_manifest
from debatebench.landing.journal_records import journal_records
from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import unfinished_in
from debatebench.shared.locks import is_locked, lock_file
from debatebench.shared.records import Call, Debate, ScheduledDebate
from debatebench.warehouse.publish import private_copy
from debatebench.warehouse.sources import Content, LandingSource, import_folders, landed_contents

if TYPE_CHECKING:
    import duckdb

    from debatebench.shared.workspace import Workspace

__all__ = ["Finding", "examine"]

_NEVER_ENDED = "the debate was not finished"
_ENDED_BADLY = frozenset({"ambiguous", "empty", "refused", "oversize", "failed"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that the user should know about. `is_damage` says whether data changed after it was written.

    `finding` is `damaged_line`, `damaged_journal`, `torn_line`, `set_aside`, `ambiguous_call`, `failed_call`,
    `missing_debate`, `saved_events`, `changed_import`, `not_landed`, `lost_records`, `lost_source`,
    `unreadable_warehouse` or `leftover`.
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


def examine(workspace: Workspace, run_tag: str | None = None) -> list[Finding]:
    """Everything that is wrong or unfinished, tag by tag; only for `run_tag` if it is given.

    Reads every byte of the warehouse, the journals and the imports. Raises `UsageError` when nothing in the workspace
    has that tag.
    """
    journals = {path.stem: path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file()}
    saved = {path.name.partition(".jsonl.saved")[0] for path in workspace.journal.glob("*.jsonl.saved*")}
    imports = {folder.name: folder for folder in import_folders(workspace)}
    landed, problem = _landed(workspace)
    known = sorted({*journals, *saved, *imports, *landed})
    if run_tag is not None and run_tag not in known:
        raise UsageError(f"No run '{run_tag}' in {workspace.warehouse}. Known: {', '.join(known) or 'none yet'}.")
    found = [problem] if problem is not None else []
    for tag in known if run_tag is None else [run_tag]:
        journal = workspace.journal / f"{tag}.jsonl"
        if tag in journals:
            found += _journal_findings(tag, journal)
        elif tag in saved:
            found += _saved_events(tag, journal)
        if tag in imports:
            found += _import_findings(tag, imports[tag])
        is_damaged = any(finding.is_damage and finding.run_tag == tag for finding in found)
        found += _landing_findings(
            tag, journals.get(tag), imports.get(tag), landed, is_known=problem is None, is_damaged=is_damaged
        )
    if run_tag is None:
        found += _leftovers(workspace)
    return found


def _journal_findings(tag: str, path: Path) -> Iterator[Finding]:
    """The damage in a journal; if there is none, what is unfinished."""
    saved = list(_saved_events(tag, path))
    yield from saved
    if not has_begun(path):
        return
    is_damaged = bool(saved)
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
        yield from _unfinished(tag, path)
    except DamagedDataError as error:
        yield Finding(tag, "damaged_journal", True, str(path), str(error))


def _saved_events(tag: str, journal: Path) -> Iterator[Finding]:
    """What was saved when another program replaced or moved the journal during the run."""
    for path in saved_beside(journal):
        detail = f"It has events that {journal.name} does not have: rename it to {journal.name}, or move it elsewhere."
        yield Finding(tag, "saved_events", True, str(path), detail)


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
            detail = f"{call.status}: {call.error}; `debatebench retry {tag}` retries it."
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
    """Files of an import that have changed, are missing or were added, and what a killed import has left."""
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
    kept = {f"{part.name}/{file.name}" for part in manifest.parts for file in part.files} | {MANIFEST}
    parts = {part.name for part in manifest.parts}
    for entry in sorted(folder.iterdir()):
        if entry.name not in parts and (entry.name.startswith(".") or entry.name.isdecimal()):
            yield _leftover(entry, tag)
            continue
        for file in sorted(entry.rglob("*")) if entry.is_dir() else [entry]:
            if not file.is_dir() and file.relative_to(folder).as_posix() not in kept:
                yield Finding(tag, "changed_import", True, str(file), "It is not part of what was imported.")


def _leftovers(workspace: Workspace) -> Iterator[Finding]:
    """What killed commands have left in the workspace. What running commands write is not listed."""
    folders = [workspace.root, workspace.reports, workspace.warehouse, *workspace.warehouse.glob("*/")]
    for folder in folders:
        for path in unfinished_in(folder):
            if not is_locked(path):
                yield _leftover(path)
    if not is_locked(lock_file(workspace.database)):
        copy = private_copy(workspace.database)
        for path in sorted(copy.parent.glob(f"{glob.escape(copy.name)}*")):
            yield _leftover(path)


def _leftover(path: Path, tag: str = "") -> Finding:
    detail = "A killed command left it, and nothing reads it; delete it unless a command is running."
    return Finding(tag, "leftover", False, str(path), detail)


def _landed(workspace: Workspace) -> tuple[dict[str, Content], Finding | None]:
    """Run tag → what was landed; and a finding if the warehouse cannot be read as a whole."""
    import duckdb

    from debatebench.query.safe_query import open_for_query

    if not workspace.database.is_file():
        return {}, None
    contents: dict[str, Content] = {}
    place = str(workspace.database)
    try:
        with closing(open_for_query(workspace.database)) as con:
            contents = landed_contents(con)
            _read_all(con)
    except BusyError as error:
        return contents, Finding("", "unreadable_warehouse", False, place, str(error).splitlines()[0])
    except (DebatebenchError, duckdb.Error) as error:
        detail = f"{str(error).splitlines()[0]} `debatebench build --from-journals` creates it again."
        return contents, Finding("", "unreadable_warehouse", True, place, detail)
    return contents, None


def _read_all(con: duckdb.DuckDBPyConnection) -> None:
    """Read every column of every table: DuckDB checks the checksum of a block when it reads it."""
    tables = con.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = current_database() order by all"
    )
    for schema, table in tables.fetchall():
        con.execute(f"select bit_xor(hash(t)) from {quoted_identifier(schema)}.{quoted_identifier(table)} as t")


def _landing_findings(
    tag: str,
    journal: Path | None,
    folder: Path | None,
    landed: dict[str, Content],
    *,
    is_known: bool,
    is_damaged: bool,
) -> Iterator[Finding]:
    """Sources that have not landed or have lost what was landed, and landings whose source is gone.

    What a damaged source has lost is listed already.
    """
    if journal is not None and not has_begun(journal):
        journal = None
    path = journal or folder
    if path is None:
        if tag in landed:
            detail = (
                "Its journal or import is missing; put it back, or export the run while the warehouse still contains "
                "it."
            )
            yield Finding(tag, "lost_source", True, f"warehouse run '{tag}'", detail)
        return
    source = LandingSource(tag, path, path == journal)
    try:
        content = source.content()
    except DamagedDataError:
        # The manifest of the import, which has its own finding.
        return
    if tag in landed and not is_damaged:
        try:
            source.check_continues(landed[tag])
        except DamagedDataError as error:
            yield Finding(tag, "lost_records", True, str(path), str(error))
            return
    if is_known and (tag not in landed or landed[tag].sha256 != content.sha256):
        state = "changed since it was landed" if tag in landed else "not landed yet"
        yield Finding(tag, "not_landed", False, str(path), f"It has {state}; run `debatebench land`.")
