"""What is wrong with a workspace: journals, kept imports and the warehouse are examined and not changed."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import duckdb

from debatebench.journal.reading import has_begun
from debatebench.journal.shards import folders_of_shards, is_any_played, journals_in, read_shards, shards_folder
from debatebench.landing.annotation_journals import annotations_folder, folders_of_annotations
from debatebench.landing.importers.kept import MANIFEST, check_part, kept_manifest
from debatebench.landing.journal_records import CUT_SHORT, journal_records
from debatebench.landing.run_marks import Marks, landed_marks, marks_journal, read_marks
from debatebench.query.left_out import left_out
from debatebench.query.safe_query import open_for_query
from debatebench.shared.activity import each_of
from debatebench.shared.advice import Vote, advice, advice_on_call
from debatebench.shared.amounts import amount_text
from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.errors import DamagedDataError, DebatebenchError, HeldWarehouseError, NewerDataError
from debatebench.shared.files import unfinished_in
from debatebench.shared.locks import is_locked, lock_file
from debatebench.shared.memory import check_memory
from debatebench.shared.problem_texts import clause, cut_speeches, without_ids
from debatebench.shared.records import (
    Call,
    Debate,
    Debater,
    Judge,
    Record,
    Run,
    RunMark,
    ScheduledDebate,
    Turn,
    Verdict,
)
from debatebench.shared.service_tiers import asked_tier, served_otherwise
from debatebench.shared.workspace import Workspace, check_known_run
from debatebench.warehouse.archive import archived_source, archived_tags, unmoved
from debatebench.warehouse.journal_findings import (
    Finding,
    annotation_findings,
    line_findings,
    mark_findings,
    saved_events,
)
from debatebench.warehouse.publish import private_copy
from debatebench.warehouse.sources import (
    Content,
    import_folders,
    landed_contents,
    published_contents,
    source_at,
)
from debatebench.warehouse.up_to_date import check_fits

_REPEATED = """
select run_tag, first_run_tag, count(*), (select count(*) from marts.games where games.run_tag = repeated.run_tag)
from marts.duplicate_debates as repeated
where is_repeated
group by run_tag, first_run_tag
order by run_tag, first_run_tag
"""
_FINAL = frozenset({"failed", "refused", "oversize"})
"""Statuses of attempts that are not followed by another one, unless a user asks for it."""


def grouped(found: Iterable[Finding]) -> list[list[Finding]]:
    """The findings of a run that have the same kind and detail together, in the order of the first of each group.

    Details that differ only in ids, times and numbers of two digits or more are the same, unless a number is a status.
    """
    groups: dict[tuple[str, str, bool, str], list[Finding]] = {}
    for each in found:
        groups.setdefault((each.run_tag, each.finding, each.is_damage, without_ids(each.detail)), []).append(each)
    return list(groups.values())


def has_runs(workspace: Workspace) -> bool:
    """Whether there is any run: a journal, an import or rows in the warehouse. Raises what reading the latter does."""
    return bool({**_journals(workspace), **_imports(workspace), **published_contents(workspace.database)})


def _journals(workspace: Workspace) -> dict[str, Path]:
    whole = {path.stem: path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file()}
    return {**folders_of_shards(workspace.journal), **whole}


def _imports(workspace: Workspace) -> dict[str, Path]:
    return {folder.name: folder for folder in import_folders(workspace)}


def examine(workspace: Workspace, run_tags: Collection[str] | None = None) -> list[Finding]:
    """Everything that is wrong or unfinished, tag by tag and place by place; only for `run_tags` if they are given.

    Reads every byte of the warehouse, the journals and the imports. What cannot be read is a finding, and the rest is
    still examined. Raises `UsageError` when nothing in the workspace has such a tag.
    """
    journals, imports = _journals(workspace), _imports(workspace)
    saved = {path.name.partition(".jsonl.saved")[0] for path in workspace.journal.glob("*.jsonl.saved*")}
    landed, marks_before, problem = _landed(workspace)
    of_marks = list(mark_findings(marks_journal(workspace)))
    marks = Marks() if any(finding.is_damage for finding in of_marks) else read_marks(workspace)
    built = _findings_of_models(workspace) if landed and problem is None else {}
    annotated = folders_of_annotations(workspace.journal)
    archived = archived_tags(workspace) | marks.archived
    known = sorted({*journals, *saved, *imports, *landed, *annotated, *archived, *marks.marked})
    for run_tag in run_tags or ():
        check_known_run(run_tag, known, workspace.warehouse)
    found = [problem] if problem is not None else []
    found += of_marks if run_tags is None else []
    for tag in each_of("Examining runs", known if run_tags is None else sorted(set(run_tags))):
        journal = workspace.journal / f"{tag}.jsonl"
        of_tag: list[Finding] = []
        try:
            is_archived = marks.of(tag).archived
            if tag in archived:
                of_tag += _archive_findings(workspace, tag, is_marked=is_archived)
            elif tag in journals or tag in saved:
                of_tag += _journal_findings(tag, journals[tag]) if tag in journals else saved_events(tag, journal)
            if tag in imports and not is_archived:
                of_tag += _import_findings(tag, imports[tag])
            if tag in annotated and not is_archived:
                of_tag += annotation_findings(tag, annotated[tag], has_debates=tag in journals or tag in imports)
            is_damaged = any(finding.is_damage for finding in of_tag)
            of_tag += _landing_findings(
                workspace,
                tag,
                journals.get(tag),
                imports.get(tag),
                {} if is_archived else landed,
                is_known=problem is None and not is_archived,
                is_damaged=is_damaged or is_archived,
            )
        except (DebatebenchError, OSError) as error:
            place = journals.get(tag, imports.get(tag, journal))
            is_newer = isinstance(error, NewerDataError)
            kind = "newer_import" if is_newer else "unreadable_source"
            of_tag.append(Finding(tag, kind, not is_newer, str(place), str(error)))
        is_there = workspace.database.is_file() and problem is None
        if is_there and marks.record(tag) != marks_before.get(tag):
            detail = "Its marks have changed since they were landed; run `debatebench land`."
            of_tag.append(Finding(tag, "not_landed", False, str(marks_journal(workspace)), detail))
        found += [*of_tag, *built.get(tag, ())]
    if run_tags is None:
        found += [*_outdated(workspace, problem), *_leftovers(workspace)]
    return found


def _journal_findings(tag: str, path: Path) -> Iterator[Finding]:
    """The damage in a journal, or in those of shards; if there is none, what is unfinished."""
    is_in_shards = path.is_dir()
    journals = journals_in(path) if is_in_shards else [path]
    found = [each for journal in journals for each in (*saved_events(tag, journal), *line_findings(tag, journal))]
    yield from found
    if not journals or not has_begun(journals[0]) or any(finding.is_damage for finding in found):
        return
    try:
        for shard in read_shards(path).missing if is_in_shards else ():
            detail = (
                f"It has no journal here: copy it to this folder, or play `debatebench run --run-tag {tag} --shard "
                f"{shard}`."
            )
            yield Finding(tag, "missing_shard", False, f"{path}, shard {shard}", detail)
        yield from _unfinished(tag, path)
    except NewerDataError as error:
        yield Finding(tag, "newer_journal", False, str(path), str(error))
    except DamagedDataError as error:
        yield Finding(tag, "damaged_journal", True, str(path), str(error))


@dataclass(slots=True)
class _Played:
    """What a journal holds of a run's debates, speeches and calls. Pass every record to `see`."""

    planned: dict[str, ScheduledDebate] = field(default_factory=dict)
    ended: dict[str, Debate] = field(default_factory=dict)
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    """Debate that is not complete → its verdicts."""
    is_judged_by_debaters: bool = False
    answered: set[str] = field(default_factory=set)
    last_attempts: dict[str, Call] = field(default_factory=dict)
    """Call → its last attempt, of the calls without an answer."""
    ambiguous: list[Call] = field(default_factory=list)
    speeches: Counter[str] = field(default_factory=Counter)
    cut: dict[str, list[str]] = field(default_factory=dict)
    """Debater → the places of its speeches that were cut off."""
    asked: dict[str, str | None] = field(default_factory=dict)
    """Debater or judge → the service tier that its requests ask for."""
    served: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(debater or judge, service tier) → the attempts that were served in it."""

    def see(self, record: Record) -> None:
        """Process one record. Attempts of one call need not be in order: an open one of a killed session is last."""
        if isinstance(record, ScheduledDebate):
            self.planned[record.debate_id] = record
        elif isinstance(record, Debate):
            self.ended[record.debate_id] = record
        elif isinstance(record, Verdict):
            # The rows of a debate come after it.
            if self.ended[record.debate_id].status != "complete":
                self.verdicts.setdefault(record.debate_id, []).append(record)
        elif isinstance(record, Run):
            self.is_judged_by_debaters = bool((record.options or {}).get("judges_from_selection"))
        elif isinstance(record, Turn):
            self.speeches[record.model_id] += 1
            if record.is_truncated:
                self.cut.setdefault(record.model_id, []).append(f"{record.debate_id} turn:{record.turn_index}")
        elif isinstance(record, Debater | Judge):
            member_id = record.model_id if isinstance(record, Debater) else record.judge_id
            self.asked[member_id] = asked_tier(record.parameters)
        elif isinstance(record, Call):
            self._see_call(record)
            if record.service_tier is not None:
                self.served[record.model_id or record.judge_id or "", record.service_tier] += 1

    def _see_call(self, call: Call) -> None:
        if call.status == "ambiguous":
            self.ambiguous.append(call)
        if call.status == "answered":
            self.answered.add(call.call_id)
            self.last_attempts.pop(call.call_id, None)
        elif call.call_id not in self.answered:
            last = self.last_attempts.get(call.call_id)
            if last is None or last.attempt < call.attempt:
                self.last_attempts[call.call_id] = call

    def leave_out_unsettled(self) -> None:
        """Forget what a session that still plays has in flight."""
        self.ambiguous = [call for call in self.ambiguous if call.error != CUT_SHORT]
        self.planned = {debate_id: self.planned[debate_id] for debate_id in self.planned if debate_id in self.ended}


def _unfinished(tag: str, path: Path) -> Iterator[Finding]:
    """Attempts that may have been billed in vain, failed calls, cut speeches and missing debates.

    What a session that plays now has not finished is not listed.
    """
    is_played = is_any_played(path)
    played = _Played()
    for record in journal_records(path):
        played.see(record)
    if is_played:
        played.leave_out_unsettled()
    yield from _ambiguous(tag, played)
    yield from _failed(tag, played)
    for model_id, places in sorted(played.cut.items()):
        detail = cut_speeches(model_id, len(places), played.speeches[model_id])
        yield from (Finding(tag, "cut_speech", False, place, detail) for place in places)
    for member_id, detail in served_otherwise(played.asked, played.served):
        yield Finding(tag, "other_tier", False, member_id, detail)
    yield from _missing(tag, played, read_shards(path).count if path.is_dir() else 0)


def _ambiguous(tag: str, played: _Played) -> Iterator[Finding]:
    """Attempts that may have been billed, and what all of them with the same reason may have cost at most."""
    groups: dict[tuple[bool, str], list[Call]] = {}
    for call in played.ambiguous:
        groups.setdefault((call.call_id in played.answered, without_ids(call.error or "")), []).append(call)
    for (is_answered, _), calls in groups.items():
        # An attempt that broke off with its usage has a cost instead of a bound.
        most = (call.possible_cost if call.cost is None else call.cost for call in calls)
        bounds = [bound for bound in most if bound is not None]
        what = "It may have been billed twice" if is_answered else "It may have been billed without an answer"
        also = ", and another attempt was answered" if is_answered else ""
        for call in calls:
            detail = f"{what}: {clause(call.error)}{also}; {_bound(bounds, len(calls))}."
            yield Finding(tag, "ambiguous_call", False, _place(call), detail)


def _bound(bounds: list[Decimal], attempts: int) -> str:
    """What `attempts` may have cost, where the known `bounds` are of some of them."""
    if not bounds:
        return "what it may have cost is unknown"
    unbounded = f", without {attempts - len(bounds):,} of unknown cost" if len(bounds) < attempts else ""
    return f"at most {amount_text(sum(bounds))} USD for all{unbounded}"


def _failed(tag: str, played: _Played) -> Iterator[Finding]:
    """Calls that ended without an answer. The next run goes on with a call whose debate has not ended."""
    for call in played.last_attempts.values():
        debate = played.ended.get(call.debate_id)
        status = debate.status if debate is not None else None
        if call.error == CUT_SHORT or status in ("void", "forfeit") or (status is None and call.status not in _FINAL):
            continue
        who = f"Debater '{call.model_id}'" if call.model_id is not None else f"Judge '{call.judge_id}'"
        then = advice_on_call(tag, call.status, _why(call, debate, played))
        if status == "complete":
            then = "another call took its place, and the debate is complete"
        detail = f"{who} gave no answer ({call.status}): {clause(call.error)}; {then}."
        yield Finding(tag, "failed_call", False, _place(call), detail)


def _why(call: Call, debate: Debate | None, played: _Played) -> str | None:
    """The reason that its verdict states, or for a debater its debate."""
    if call.judge_id is None:
        return debate.status_reason if debate is not None else None
    verdicts = played.verdicts.get(call.debate_id, ())
    return next((verdict.invalid_reason for verdict in verdicts if verdict.judge_id == call.judge_id), None)


def _missing(tag: str, played: _Played, count_shards: int) -> Iterator[Finding]:
    """Planned debates that are not complete, and why; of a run in so many shards, if it is."""
    named = f"{tag} --shard K/{count_shards}" if count_shards else tag
    may_add_judges = None if count_shards else not played.is_judged_by_debaters
    for debate_id, scheduled in played.planned.items():
        debate = played.ended.get(debate_id)
        if debate is None:
            command = "run --run-tag" if scheduled.source_debate_id is None or count_shards else "retry"
            detail = f"It was not finished; `debatebench {command} {named}` goes on with it."
        elif debate.status == "complete":
            continue
        elif debate.status == "void":
            detail = f"It is void: {clause(debate.status_reason)}."
        elif debate.status == "forfeit":
            detail = f"It is lost by forfeit, by {debate.refused_by}: {clause(debate.status_reason)}."
        else:
            votes = map(Vote.of, played.verdicts.get(debate_id, ()))
            helps = advice(named, scheduled.panel, votes, debate.status_reason, may_add_judges=may_add_judges)
            detail = f"{clause(debate.status_reason or debate.status)}; {helps}."
        pairing = scheduled.teams or [m for m in (scheduled.pro_model_id, scheduled.con_model_id) if m is not None]
        about = f"{scheduled.topic_id}: {' against '.join(pairing)}" if pairing else scheduled.topic_id
        place = f"{debate_id} ({about})"
        yield Finding(tag, "missing_debate", False, place, detail)


def _place(call: Call) -> str:
    return f"{call.debate_id} {call.step} attempt {call.attempt} of {call.model_id or call.judge_id}"


def _import_findings(tag: str, folder: Path) -> Iterator[Finding]:
    """Files of an import that have changed, are missing or were added, and what a killed import has left."""
    try:
        manifest = kept_manifest(folder)
    except NewerDataError:
        raise
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


def _outdated(workspace: Workspace, problem: Finding | None) -> list[Finding]:
    """That the warehouse, if it can be read, is not the result of its SQL models and data."""
    found: list[Finding] = []
    if problem is None:
        check_fits(
            workspace,
            lambda text: found.append(Finding("", "outdated_warehouse", False, str(workspace.database), text)),
            needs_models=False,
        )
    return found


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


def _landed(workspace: Workspace) -> tuple[dict[str, Content], dict[str, RunMark], Finding | None]:
    """Run tag → what was landed, and its marks; and a finding if the warehouse cannot be read as a whole."""
    if not workspace.database.is_file():
        return {}, {}, None
    contents: dict[str, Content] = {}
    marks: dict[str, RunMark] = {}
    place = str(workspace.database)
    try:
        with closing(open_for_query(workspace.database)) as con:
            contents = landed_contents(con)
            marks = {record.run_tag: record for record in landed_marks(con)}
            _read_all(con)
    except HeldWarehouseError as error:
        return contents, marks, Finding("", "unreadable_warehouse", False, place, str(error).splitlines()[0])
    except (DebatebenchError, duckdb.Error) as error:
        check_memory(error)
        detail = f"{str(error).splitlines()[0]} `debatebench build --from-journals` creates it again."
        is_damage = not isinstance(error, NewerDataError)
        return contents, marks, Finding("", "unreadable_warehouse", is_damage, place, detail)
    return contents, marks, None


def _findings_of_models(workspace: Workspace) -> dict[str, list[Finding]]:
    """Run tag → judges of which no verdict counts, and debates of other runs, by the SQL models as they were built."""
    found: dict[str, list[Finding]] = {}
    # Models that cannot be read are reported by what builds them.
    with suppress(DebatebenchError, duckdb.Error), closing(open_for_query(workspace.database)) as con:
        for each in left_out(con):
            if each.is_warning:
                place = f"judge '{each.judge_id}'"
                found.setdefault(each.run_tag, []).append(
                    Finding(each.run_tag, each.kind, False, place, each.explanation)
                )
        for tag, first, count, games in con.execute(_REPEATED).fetchall():
            detail = f"{count} of {games} rated debates are also in '{first}': ratings over runs count them once."
            found.setdefault(tag, []).append(Finding(tag, "repeated_debates", False, f"run '{tag}'", detail))
    return found


def _read_all(con: duckdb.DuckDBPyConnection) -> None:
    """Read every column of every table: DuckDB checks the checksum of a block when it reads it."""
    tables = con.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = current_database() order by all"
    )
    for schema, table in tables.fetchall():
        con.execute(f"select bit_xor(hash(t)) from {quoted_identifier(schema)}.{quoted_identifier(table)} as t")


def _archive_findings(workspace: Workspace, tag: str, *, is_marked: bool) -> Iterator[Finding]:
    """The damage in the files of an archived run, and what a killed command has not moved. It has not landed."""
    for base in (workspace.archive, workspace.warehouse) if is_marked else (workspace.archive,):
        journal, folder = base / "journal" / f"{tag}.jsonl", base / "imports" / tag
        annotated = annotations_folder(base / "journal", tag)
        for shard in journals_in(shards_folder(base / "journal", tag)):
            yield from (*saved_events(tag, shard), *line_findings(tag, shard))
        yield from saved_events(tag, journal)
        if journal.is_file():
            yield from line_findings(tag, journal)
        if folder.is_dir():
            yield from _import_findings(tag, folder)
        if annotated.is_dir():
            yield from annotation_findings(tag, annotated, has_debates=True)
    if not is_marked:
        detail = f"It is in the archive, but no mark says so; `debatebench runs restore {tag}` brings it back."
        yield Finding(tag, "unfinished_archive", False, str(workspace.archive), detail)
    elif archived_source(workspace, tag) is None:
        detail = "The run is archived, but its journal or import is missing; put it back."
        yield Finding(tag, "lost_source", True, str(workspace.archive), detail)
    else:
        detail = f"The run is archived, but this is not in the archive; `debatebench runs archive {tag}` moves it."
        yield from (Finding(tag, "unfinished_archive", False, str(path), detail) for path in unmoved(workspace, tag))


def _landing_findings(
    workspace: Workspace,
    tag: str,
    journal: Path | None,
    folder: Path | None,
    landed: dict[str, Content],
    *,
    is_known: bool,
    is_damaged: bool,
) -> Iterator[Finding]:
    """Sources that have not landed or have lost what was landed, and landings whose source is gone.

    What a damaged source has lost is listed already, and it cannot land.
    """
    if journal is not None and not journal.is_dir() and not has_begun(journal):
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
    if is_damaged:
        return
    source = source_at(workspace, tag, path, is_journal=path == journal)
    content = source.content()
    if tag in landed:
        try:
            source.check_continues(landed[tag])
        except DamagedDataError as error:
            yield Finding(tag, "lost_records", True, str(path), str(error))
            return
    if is_known and (tag not in landed or landed[tag].sha256 != content.sha256):
        state = "changed since it was landed" if tag in landed else "not landed yet"
        yield Finding(tag, "not_landed", False, str(path), f"It has {state}; run `debatebench land`.")
