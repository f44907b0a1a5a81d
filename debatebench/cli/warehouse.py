"""Commands that change the warehouse: import, land, build, rate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from debatebench.cli.common import (
    Engine,
    EngineOption,
    FormatOption,
    MasterOption,
    RunTagsOption,
    TargetOption,
    address,
    chosen_runs,
    note,
    now,
    of_run,
    only_on_spark,
    print_rows,
    say,
    warn,
    workspace_of,
)
from debatebench.cli.completion import rubrics, run_tags
from debatebench.landing.importers import FORMATS
from debatebench.shared.amounts import counted, listed
from debatebench.shared.errors import DamagedDataError, SqlModelError, UnbuiltError, UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace
    from debatebench.warehouse.update import Update

NoBuildOption = Annotated[bool, typer.Option("--no-build", help="Land the data, but do not build the SQL models.")]
RunTagArgument = Annotated[str, typer.Option("--run-tag", help="The tag to import under.")]


_OF_DATA = frozenset(
    {
        "invalid_verdicts",
        "silent_judge",
        "undecided_debates",
        "empty_annotations",
        "annotations_without_debate",
        "gold_without_debate",
    }
)
"""What is said of a run when it lands. The end of a run says itself which debates are missing, and why."""


def report_update(workspace: Workspace, update: Update) -> None:
    """Print what an update of the warehouse did, and what does not count in the runs that landed.

    Raises `DamagedDataError` if a run was set aside, and `UnbuiltError` if some SQL models could not be built.
    """
    from debatebench.landing.annotation_journals import annotations_folder, unfinished_forms

    for landed in update.landed:
        if landed.rows is None:
            note(f"{landed.run_tag}: unchanged since it was landed")
        else:
            debates = landed.rows.get("debates", 0)
            note(f"{landed.run_tag}: landed {debates:,} debates, {sum(landed.rows.values()):,} rows")
        _note_missing_shards(workspace, landed.run_tag)
        for unfinished in unfinished_forms(annotations_folder(workspace.journal, landed.run_tag), landed.run_tag):
            warn(str(unfinished))
    if update.build is not None:
        note(f"built {len(update.build.built)} SQL models, {len(update.build.unchanged)} unchanged")
        for warning in update.build.warnings:
            warn(warning)
        _note_left_out(workspace, {landed.run_tag for landed in update.landed if landed.rows is not None})
    if len(update.set_aside) == 1:
        ((run_tag, reason),) = update.set_aside.items()
        raise DamagedDataError(f"Run '{run_tag}' was set aside, the others are up to date: {reason}")
    for run_tag, reason in update.set_aside.items():
        note(f"Run '{run_tag}': {reason}")
    if update.set_aside:
        names = ", ".join(sorted(update.set_aside))
        raise DamagedDataError(f"{len(update.set_aside)} runs were set aside ({names}); the others are up to date.")
    if update.unbuilt is not None:
        which = "no SQL model is built" if update.build is None else "not all SQL models are built"
        raise UnbuiltError(
            f"All has landed, but {which}, and `debatebench build` builds them when this is mended: {update.unbuilt}"
        )


def _note_missing_shards(workspace: Workspace, run_tag: str) -> None:
    """Print which shards of a run have no journal here, and what to do."""
    from debatebench.journal.shards import journals_in, read_shards, shards_folder

    folder = shards_folder(workspace.journal, run_tag)
    missing = read_shards(folder).missing if journals_in(folder) else []
    if missing:
        is_one = len(missing) == 1
        note(
            f"{run_tag}: {'shard' if is_one else 'shards'} {listed([str(each) for each in missing], 8)} "
            f"{'has' if is_one else 'have'} no journal here, so {'its' if is_one else 'their'} debates count as not "
            f"played: copy {'it' if is_one else 'them'} to {folder}, or play `debatebench run --run-tag {run_tag} "
            f"--shard {missing[0]}`; then land again."
        )


def _note_left_out(workspace: Workspace, run_tags: set[str]) -> None:
    """Print which verdicts and debates of these runs do not count."""
    from debatebench.query.left_out import left_out
    from debatebench.query.safe_query import open_for_query

    if not run_tags:
        return
    only = next(iter(run_tags)) if len(run_tags) == 1 else None
    with closing(open_for_query(workspace.database)) as con:
        for each in left_out(con, only):
            if each.run_tag in run_tags and each.kind in _OF_DATA:
                note(f"{each.run_tag}: {each.sentence}")


class OnConflict(StrEnum):
    """What becomes of two motions under one topic id."""

    KEEP_BOTH = "keep-both"
    REFUSE = "refuse"


def import_(
    context: typer.Context,
    format_name: Annotated[
        str, typer.Argument(metavar="FORMAT", help=f"{', '.join(FORMATS)}, or one that an installed package adds.")
    ],
    path: Annotated[Path, typer.Argument(help="A file or folder in that format.")],
    run_tag: RunTagArgument,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace kept records with imported ones that differ.")
    ] = False,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric",
            metavar="NAME",
            autocompletion=rubrics,
            help="Take the scales that the source does not state from configs/rubrics/NAME.yaml; people who annotate "
            "the import need them.",
        ),
    ] = None,
    weaknesses_path: Annotated[
        Path | None,
        typer.Option(
            "--weaknesses",
            metavar="FILE",
            help="Take the dimensions on which weaknesses should cost points, if the source does not state them, from "
            "this file, such as configs/weaknesses.yaml.",
        ),
    ] = None,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option(
            "--on-conflict",
            help="What becomes of two motions under one topic id: keep-both makes two topics of them, also in later "
            "imports under the tag. Default: refuse.",
            show_default=False,
        ),
    ] = None,
    no_build: NoBuildOption = False,
) -> None:
    """Import debates, verdicts, annotations or gold verdicts."""
    from debatebench.landing.importers.store import importing
    from debatebench.warehouse.publish import check_path
    from debatebench.warehouse.update import update_warehouse

    workspace = workspace_of(context)
    check_path(workspace.database)
    weaknesses = None
    if weaknesses_path is not None:
        from debatebench.cli.playing_plan import config_path

        weaknesses = config_path(workspace, str(weaknesses_path), "weaknesses.yaml")
    conflict: Any = None if on_conflict is None else on_conflict.value
    with importing(
        workspace,
        run_tag,
        format_name,
        path,
        replace=replace,
        rubric=rubric,
        weaknesses=weaknesses,
        on_conflict=conflict,
    ) as report:
        for warning in report.warnings:
            warn(warning)
        say(report.summary())
        update = update_warehouse(workspace, [run_tag], now=now, build=not no_build, rows=report.rows, note=note)
        report_update(workspace, update)


def land(
    context: typer.Context,
    run_tag: Annotated[list[str] | None, of_run(help="Land only this run. Repeatable. Default: all runs.")] = None,
    reparse: Annotated[
        bool,
        typer.Option(
            "--reparse",
            help="First read the stored answers again: verdicts with the current parser, tokens, and costs.",
        ),
    ] = False,
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            metavar="FILE",
            help="With --reparse: the prices, in a file like models.yaml or a saved catalogue (.json).",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Land a run even if its source has lost records since it was landed.")
    ] = False,
    no_build: NoBuildOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Land journals and imports, and build the SQL models."""
    from debatebench.warehouse.update import update_warehouse

    workspace = workspace_of(context)
    if prices is not None and not reparse:
        raise UsageError("--prices needs --reparse.")
    if output is not Format.TABLE and not reparse:
        raise UsageError("--format needs --reparse, which prints what it reads differently.")
    if reparse:
        _reparse(workspace, run_tag, prices, output)
    update = update_warehouse(
        workspace,
        run_tag,
        now=now,
        build=not no_build,
        replace_landed=replace,
        note=note,
    )
    report_update(workspace, update)
    if not update.landed:
        note(
            f"There is nothing to land in {workspace.warehouse}: no run has begun, and nothing was imported; "
            "`debatebench run` plays a run."
        )


def _reparse(workspace: Workspace, run_tags: Sequence[str] | None, prices: Path | None, output: Format) -> None:
    """Read the stored answers of some runs or of all again, and print what that changes."""
    from debatebench.journal.shards import journals_of
    from debatebench.landing.run_marks import check_not_archived
    from debatebench.plan.prices import prices_in
    from debatebench.play.reparsing import ChangedVerdict, reparse_run
    from debatebench.play.repricing import ChangedCosts, reprice_run
    from debatebench.shared.workspace import check_known_run
    from debatebench.warehouse.sources import sources

    known = sources(workspace)
    for run_tag in run_tags or ():
        check_not_archived(workspace, run_tag)
        check_known_run(run_tag, known, workspace.warehouse)
    price_of = None if prices is None else prices_in(prices)
    wanted = known if run_tags is None else set(run_tags)
    runs = [tag for tag, source in known.items() if source.is_journal and tag in wanted]
    journals = [journal for tag in runs for journal in journals_of(workspace.journal, tag)]
    changed = [row for journal in journals for row in reparse_run(journal)]
    print_rows(ChangedVerdict.columns(), [row.row() for row in changed], output)
    note(f"The current parser reads {counted(len(changed), 'verdict')} of {counted(len(runs), 'run')} differently.")
    costs = [row for journal in journals for row in reprice_run(journal, price_of or (lambda _: None))]
    if costs or price_of is not None:
        print_rows(ChangedCosts.columns(), [row.row() for row in costs], output)
        note(f"The tokens or cost of {sum(row.changed_attempts for row in costs):,} attempts are read differently.")


def build(
    context: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", help="Build only these SQL models: name, +name, name+, tag:x, path:sql/marts. Repeatable."
        ),
    ] = None,
    full_refresh: Annotated[bool, typer.Option("--full-refresh", help="Also build what has not changed.")] = False,
    from_journals: Annotated[
        bool, typer.Option("--from-journals", help="Create the whole warehouse again from journals and imports.")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="TAG",
            autocompletion=run_tags,
            help="With --from-journals: leave this run out. Repeatable.",
        ),
    ] = None,
    engine: EngineOption = Engine.DUCKDB,
    master: MasterOption = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="URL",
            help="With --engine spark: the landed rows, as `export --format parquet --select 'raw.*'` writes them.",
        ),
    ] = None,
    target: TargetOption = None,
    table_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="With --engine spark: how tables are stored: parquet, orc, or what the session has besides, such as "
            "delta. Default: parquet.",
        ),
    ] = None,
) -> None:
    """Build the SQL models and ratings in the warehouse."""
    if engine is Engine.SPARK:
        if select or from_journals or without:
            raise UsageError("--engine spark builds all SQL models; leave out --select, --from-journals and --without.")
        if source is None or target is None:
            raise UsageError("--engine spark needs --source and --target.")
        _build_on_spark(workspace_of(context), master, source, target, table_format or "parquet", full_refresh)
        return
    only_on_spark({"--master": master, "--source": source, "--target": target, "--format": table_format})
    from debatebench.warehouse.up_to_date import build_is_current

    if without and not from_journals:
        raise UsageError("--without needs --from-journals.")
    workspace = workspace_of(context)
    if not (select or full_refresh or from_journals) and build_is_current(workspace):
        say("Nothing has changed since the last build.")
        return
    from debatebench.warehouse.update import update_warehouse

    update = update_warehouse(
        workspace,
        None if from_journals else [],
        now=now,
        from_scratch=from_journals,
        without=without or (),
        select=select,
        full_refresh=full_refresh,
        note=note,
    )
    try:
        report_update(workspace, update)
    except UnbuiltError:
        raise SqlModelError(str(update.unbuilt)) from None
    say(f"{workspace.database} is up to date.")


def _build_on_spark(
    workspace: Workspace, master: str | None, source: str, target: str, table_format: str, full_refresh: bool
) -> None:
    """Build the SQL models of a workspace on Spark, and print what was done."""
    from debatebench.query.sql_project import load_project
    from debatebench.transform.spark.engine import build_on_spark
    from debatebench.transform.spark.session import spark_session

    project = load_project(workspace.files("sql", "**/*"))
    with spark_session(master) as spark:
        done = build_on_spark(
            spark, project, address(source), address(target), table_format=table_format, full_refresh=full_refresh
        )
    if not done.built:
        say("Nothing has changed since the last build.")
        return
    note(f"built {len(done.built)} SQL models; {len(done.families)} of {done.count} families of runs had changed")
    say(f"{target} is up to date.")


def rate(
    context: typer.Context,
    run_tag: RunTagsOption = None,
    output_path: Annotated[
        Path | None, typer.Option("--output", help="The JSON file of one run. Default: warehouse/ratings/TAG.json.")
    ] = None,
) -> None:
    """Recompute the ratings and write them as JSON."""
    from debatebench.output.summaries import ratings_json
    from debatebench.query.safe_query import open_for_query
    from debatebench.shared.files import not_written, write_atomically
    from debatebench.shared.output_paths import check_output
    from debatebench.shared.workspace import check_run_tag
    from debatebench.warehouse.up_to_date import build_is_current
    from debatebench.warehouse.update import update_warehouse

    workspace = workspace_of(context)
    with closing(open_for_query(workspace.database)) as con:
        is_current = build_is_current(workspace, con)
    if not is_current:
        try:
            unbuilt = update_warehouse(workspace, [], now=now, note=note).unbuilt
        except SqlModelError as error:
            unbuilt = str(error)
        if unbuilt is not None:
            warn(f"not all SQL models are built: {unbuilt}")
    with closing(open_for_query(workspace.database)) as con:
        run_tags = chosen_runs(con, run_tag)
        if output_path is not None and len(run_tags) > 1:
            raise UsageError("--output names the file of one run; leave it out, or give one --run-tag.")
        paths = [output_path or workspace.warehouse / "ratings" / f"{check_run_tag(tag)}.json" for tag in run_tags]
        for path in paths:
            check_output(workspace, path)
        ratings = [ratings_json(con, tag) for tag in run_tags]
    for tag, path, rated in zip(run_tags, paths, ratings, strict=True):
        try:
            write_atomically(path, json.dumps(rated, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise not_written(path, error) from error
        say(f"Rated {counted(len(rated['models']), 'debater')} of run '{tag}': {path}")
