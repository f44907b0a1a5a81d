"""Commands about the SQL models themselves: test, lineage, diff-models, transpile, docs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from debatebench.cli.common import (
    Engine,
    EngineOption,
    FormatOption,
    MasterOption,
    TargetOption,
    address,
    built_workspace,
    note,
    now,
    of_run,
    only_on_spark,
    print_caption,
    print_json,
    print_rows,
    say,
    warn,
    workspace_of,
)
from debatebench.shared.activity import doing
from debatebench.shared.amounts import did_you_mean, listed
from debatebench.shared.errors import DebatebenchError, SqlModelError, UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.query.version_diff import ModelDiff, Standing
    from debatebench.transform.project import Project
    from debatebench.transform.testing.data_tests import TestResult

_MOST_NAMED = 3


class LineageFormat(StrEnum):
    """How lineage is printed."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"


class DocsFormat(StrEnum):
    """What describes the SQL models."""

    HTML = "html"
    MARKDOWN = "markdown"


def _project(context: typer.Context) -> Project:
    from debatebench.query.sql_project import load_project

    doing("Reading SQL models")
    return load_project(workspace_of(context).files("sql", "**/*"), skip_broken=True)


def _built_project(context: typer.Context) -> Project:
    """The project for a command that reads the warehouse: SQL that the build has parsed is not parsed again."""
    from debatebench.query.safe_query import open_for_reading
    from debatebench.transform.parse_cache import recall_parsed

    database = workspace_of(context).database
    # A problem with the warehouse is reported where the warehouse is needed.
    with suppress(DebatebenchError), open_for_reading(database) as con:
        recall_parsed(con)
    return _project(context)


def _check_sound(project: Project, *names: str) -> None:
    """Refuse what cannot be read; other SQL models may be broken."""
    from debatebench.transform.broken import broken_among, why_broken

    if broken := broken_among(project.broken, names):
        raise SqlModelError(why_broken(broken))


# --- test ---


def run_tests(
    context: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", help="Test only these SQL models: name, +name, name+, tag:x, path:sql/marts. Repeatable."
        ),
    ] = None,
    unit_only: Annotated[
        bool, typer.Option("--unit-only", help="Run only the unit tests, which need no warehouse.")
    ] = False,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="Run only the check for SQL that means something else in other engines; it needs no warehouse.",
        ),
    ] = False,
    engine: EngineOption = Engine.DUCKDB,
    master: MasterOption = None,
    target: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run the tests of the SQL models.

    Unit tests run in memory. Data tests and contracts run on the warehouse; with --engine spark, data tests run on the
    tables that `build --engine spark` wrote.
    """
    if engine is Engine.SPARK:
        if select or unit_only or portable:
            raise UsageError(
                "--engine spark runs all data tests and no others; leave out --select, --unit-only and --portable."
            )
        if target is None:
            raise UsageError("--engine spark needs --target.")
        _report_tests(_tests_on_spark(context, master, target), output)
        return
    only_on_spark({"--master": master, "--target": target})
    from debatebench.query.attached import attached
    from debatebench.shared.duckdb_sql import close_to_outside
    from debatebench.transform.testing.data_tests import broken_results, run_data_tests, unbuilt_models
    from debatebench.transform.testing.unit_tests import run_unit_tests
    from debatebench.transform.testing.version_names import version_name_test
    from debatebench.warehouse.up_to_date import check_fits

    if portable and unit_only:
        raise UsageError("--portable and --unit-only are two checks; give one of them.")
    database = workspace_of(context).database
    project = _built_project(context)
    results = broken_results(project, select)
    if portable:
        from debatebench.transform.transpiling import portability_results

        results += portability_results(project, project.select(select))
    elif unit_only:
        results += run_unit_tests(project, select)
    elif not database.is_file():
        raise UsageError(
            f"There is no warehouse at {database}: `debatebench run` or `debatebench land` creates it; `debatebench "
            "test --unit-only` does not need it."
        )
    else:
        with attached(database) as con:
            con.execute("use warehouse")
            con.execute("set TimeZone = 'UTC'")
            close_to_outside(con)
            missing = unbuilt_models(con, project, select)
            if missing:
                are = "is" if len(missing) == 1 else "are"
                raise SqlModelError(
                    f"{listed(missing, _MOST_NAMED)} {are} not in the warehouse yet; run `debatebench build` first."
                )
            check_fits(workspace_of(context), note, needs_models=False, con=con)
            results += [*run_unit_tests(project, select), *run_data_tests(con, project, select)]
            if select is None:
                results.append(version_name_test(project, workspace_of(context).files("reports", "pages/**/*.yml")))
    _report_tests(results, output)


def _tests_on_spark(context: typer.Context, master: str | None, target: str) -> list[TestResult]:
    from debatebench.transform.spark.data_tests import test_on_spark
    from debatebench.transform.spark.session import spark_session

    project = _project(context)
    with spark_session(master) as spark:
        return test_on_spark(spark, project, address(target))


def _report_tests(results: Sequence[TestResult], output: Format) -> None:
    """Print the results; raises `SqlModelError` if a test failed."""
    _print_results(results, output)
    failed = [result.name for result in results if result.status in ("fail", "error")]
    if failed:
        raise SqlModelError(f"{len(failed)} of {len(results)} tests failed: {listed(failed, _MOST_NAMED)}.")


def _print_results(results: Sequence[TestResult], output: Format) -> None:
    """Print failures in full and counts for people, every test for programs."""
    if output is Format.JSON or output.is_one_table:
        columns = ["name", "kind", "model", "status", "failures", "message", "file", "seconds", "query", "rows"]
        print_rows(columns, [_result_row(result) for result in results], output)
        return
    for result in results:
        if result.status != "pass":
            say(str(result), output, keep_lines=True)
            say("")
    kinds = ("file", "unit", "contract", "description", "singular", "portability")
    counts: dict[str, dict[str, float]] = {}
    for result in results:
        row = counts.setdefault(
            result.kind if result.kind in kinds else "data", dict.fromkeys(("pass", "warn", "fail", "error", "s"), 0)
        )
        row[result.status] += 1
        row["s"] += result.seconds
    print_rows(
        ["tests", "passed", "warned", "failed", "broken", "seconds"],
        [
            (kind, *(int(row[key]) for key in ("pass", "warn", "fail", "error")), row["s"])
            for kind, row in counts.items()
        ],
        output,
    )
    if not results:
        note("The selection contains no tests.")


def _result_row(result: TestResult) -> tuple[Any, ...]:
    from debatebench.shared.files import shown_path

    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    values = (result.name, result.kind, result.model, result.status, result.failures, result.message)
    return (*values, shown_path(result.file), result.seconds, result.query, rows)


# --- lineage ---


def lineage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A column, such as marts.leaderboard.win_rate, or a SQL model.")],
    output: Annotated[LineageFormat, typer.Option("--format", help="How to print the result.")] = LineageFormat.TEXT,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", min=0, help="Number of SQL models to go through. Default: all, down to the landed columns."
        ),
    ] = None,
) -> None:
    """Trace a column through the SQL models to its sources."""
    from debatebench.transform.lineage.column_lineage import column_lineage
    from debatebench.transform.lineage.formats import lineage_json, lineage_mermaid, lineage_text
    from debatebench.transform.model_versions import remarks

    project = _project(context)
    _check_sound(project, name, name.rpartition(".")[0])
    root = column_lineage(project, name)
    match output:
        case LineageFormat.JSON:
            text = lineage_json(root, depth=depth)
        case LineageFormat.MERMAID:
            text = lineage_mermaid(root, depth=depth)
        case LineageFormat.TEXT:
            width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 120
            text = lineage_text(root, depth=depth, width=width)
    say(text, keep_lines=True)
    seen = dict.fromkeys(node.relation for node in root.nodes())
    for model in (project.models[relation] for relation in seen if relation in project.models):
        for remark in remarks(model, now().date()) if model.alias_of is None else ():
            warn(remark)


# --- diff-models ---


def diff_models(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A SQL model with versions, such as panel_winners.")],
    before: Annotated[int, typer.Option("--from", help="The version to compare with.")],
    after: Annotated[int, typer.Option("--to", help="The version to compare.")],
    run_tag: Annotated[list[str] | None, of_run(help="Compare only this run. Repeatable. Default: all runs.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Maximum number of rows to print; 0 for all.")] = 20,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare two versions of a SQL model.

    Print the rows that differ, and how the leaderboard changes.
    """
    from debatebench.query.version_diff import diff_model
    from debatebench.transform.model_versions import remarks, versions_of

    workspace = built_workspace(context)
    project = _built_project(context)
    _check_sound(project, name, f"{name}_v{before}", f"{name}_v{after}")
    doing("Comparing the versions")
    diff = diff_model(workspace.database, project, name, before, after, run_tags=run_tag, limit=limit or None)
    if output is Format.JSON:
        _print_diff_json(diff)
    elif output.is_one_table:
        print_rows(["change", *_key_columns(diff), "column", "before", "after"], _cell_rows(diff), output)
    else:
        _print_diff(diff, output)
    if diff.differing_rows > len(diff.rows):
        note(f"{len(diff.rows)} of {diff.differing_rows} differing rows are shown; --limit 0 shows all.")
    if diff.remark:
        note(diff.remark)
    for version in (before, after):
        for remark in remarks(versions_of(project.models, name)[1][version], now().date()):
            warn(remark)


def _key_columns(diff: ModelDiff) -> list[str]:
    return list(diff.key or (diff.rows[0].key if diff.rows else ()))


def _cell_rows(diff: ModelDiff) -> list[tuple[Any, ...]]:
    """One line for each cell that differs."""
    return [(row.change, *row.key.values(), *cell) for row in diff.rows for cell in row.cells()]


def _print_diff(diff: ModelDiff, output: Format) -> None:
    """Print the tables for people, one below the other."""
    by = f"rows matched by {', '.join(diff.key)}" if diff.key else "whole rows are matched, because no key is tested"
    say(f"{diff.name}: version {diff.before} → version {diff.after}; {by}", output)
    say("")
    for version, only in ((diff.before, diff.columns_only_before), (diff.after, diff.columns_only_after)):
        if only:
            say(f"Only version {version} has: {', '.join(only)}", output)
            say("")
    names = ["run_tag", f"rows_v{diff.before}", f"rows_v{diff.after}", "added", "removed", "changed", "unchanged"]
    counts = [
        (run.run_tag, run.rows_before, run.rows_after, run.added, run.removed, run.changed, run.unchanged)
        for run in diff.runs
    ]
    print_rows(names, counts, output)
    if diff.columns_changed:
        print_caption("Columns that differ", output)
        print_rows(["column", "rows"], list(diff.columns_changed.items()), output)
    if diff.values:
        print_caption("Values that differ", output)
        values = [(value.column, value.before, value.after, value.rows) for value in diff.values]
        print_rows(["column", f"v{diff.before}", f"v{diff.after}", "rows"], values, output)
    if diff.rows:
        print_caption("Rows that differ", output)
        columns = ["change", *_key_columns(diff), "column", f"v{diff.before}", f"v{diff.after}"]
        print_rows(columns, _cell_rows(diff), output)
    if diff.leaderboard is not None:
        _print_leaderboard(diff, diff.leaderboard, output)


def _print_leaderboard(diff: ModelDiff, standings: Sequence[Standing], output: Format) -> None:
    moved = sum(each.rank_before != each.rank_after for each in standings)
    print_caption(f"The leaderboard under both versions; {moved} of {len(standings)} debaters change rank", output)
    b, a = f"v{diff.before}", f"v{diff.after}"
    columns = ["run_tag", "model_id", f"rank_{b}", f"rank_{a}", f"rating_{b}", f"rating_{a}", "difference"]
    rows = [
        (
            each.run_tag,
            each.model_id,
            each.rank_before,
            each.rank_after,
            each.rating_before,
            each.rating_after,
            each.difference,
        )
        for each in standings
    ]
    print_rows(columns, rows, output)


def _print_diff_json(diff: ModelDiff) -> None:
    value = asdict(diff)
    value["differing_rows"] = diff.differing_rows
    for run, counts in zip(value["runs"], diff.runs, strict=True):
        run["unchanged"] = counts.unchanged
    print_json(value)


# --- transpile ---


def _dialects_from(incomplete: str) -> list[str]:
    from debatebench.transform.transpiling import ENGINES

    return [name for name in ENGINES if name.startswith(incomplete)]


def transpile(
    context: typer.Context,
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect",
            metavar="[spark|databricks|snowflake|bigquery|trino|clickhouse|postgres]",
            autocompletion=_dialects_from,
            help="The SQL to write.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A SQL model, such as marts.leaderboard. Default: all, in order."),
    ] = None,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out-dir", help="Write a file for each SQL model to this new folder, and print none."),
    ] = None,
) -> None:
    """Print SQL models as SQL for another engine.

    Macros are expanded. The first line says whether the result was compared with DuckDB's, row by row. What means
    something else in a dialect that was not compared is listed below it.
    """
    from debatebench.transform.transpiling import check_dialect

    wanted = check_dialect(dialect)
    project = _project(context)
    names = [_model_named(project, name)] if name is not None else list(project.models)
    if out_dir is None:
        failures = _print_transpiled(project, names, wanted)
    else:
        failures = _write_transpiled(project, names, wanted, out_dir)
    broken = list(project.broken.values()) if name is None else []
    if problems := [*failures, *broken]:
        rest = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        raise SqlModelError(f"{problems[0].message.rstrip('.')}{rest}.", [each.message for each in problems[1:]])


def _model_named(project: Project, name: str) -> str:
    """The dotted name of the SQL model that is meant; a name without a schema is completed if only one has it."""
    models = project.models
    _check_sound(project, name)
    found = [each for each in models if name.lower() in (each, each.partition(".")[2])]
    if len(found) != 1:
        known = models if "." in name else [each.partition(".")[2] for each in models]
        hint = f" Write one of {', '.join(found)}." if found else did_you_mean(name, known)
        raise UsageError(f"There is {'more than one' if found else 'no'} SQL model '{name}'.{hint}")
    if models[found[0]].seed is not None:
        raise UsageError(f"{found[0]} is a seed; load its file {models[found[0]].file} into the other engine.")
    return found[0]


def _print_transpiled(project: Project, names: Sequence[str], dialect: str) -> list[SqlModelError]:
    from debatebench.transform.transpiling import transpile as transpiled

    failures = []
    for place, each in enumerate(transpiled(project, names, dialect)):
        if isinstance(each, SqlModelError):
            failures.append(each)
        else:
            say(("\n" if place else "") + f"{each.text};", keep_lines=True)
    return failures


def _write_transpiled(project: Project, names: Sequence[str], dialect: str, out_dir: Path) -> list[SqlModelError]:
    """Write `schema/name.sql` for each SQL model to a new folder, complete or not at all."""
    from debatebench.shared.files import new_folder_beside
    from debatebench.transform.transpiling import transpile as transpiled

    if out_dir.exists():
        raise UsageError(f"{out_dir} exists; name a folder that does not, or delete it.")
    failures, count = [], 0
    with new_folder_beside(out_dir) as folder:
        for each in transpiled(project, names, dialect):
            if isinstance(each, SqlModelError):
                failures.append(each)
                continue
            file = folder / f"{each.model.replace('.', '/', 1)}.sql"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"{each.text};\n", encoding="utf-8")
            count += 1
        folder.rename(out_dir)
    say(f"Wrote {count} SQL models for {dialect} to {out_dir}")
    return failures


# --- docs ---


def docs(
    context: typer.Context,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Folder for the page. Default: reports/docs.")
    ] = None,
    output: Annotated[
        DocsFormat, typer.Option("--format", help="A page in HTML, or the marts and their questions in Markdown.")
    ] = DocsFormat.HTML,
) -> None:
    """Write an HTML page that describes all SQL models.

    It shows the graph of the SQL models, and the columns, tests, versions, lineage and SQL of each. In Markdown, it
    shows the marts by subject, with the questions that they answer.
    """
    from debatebench.output.docs.marts_page import write_marts_page
    from debatebench.output.docs.page import write_docs
    from debatebench.shared.output_paths import check_output, check_output_folder
    from debatebench.transform.broken import why_broken
    from debatebench.transform.model_versions import reading_warnings

    workspace = workspace_of(context)
    target = out_dir or workspace.reports / "docs"
    if output is DocsFormat.HTML:
        check_output_folder(workspace, target, marks=["index.html"])
    else:
        check_output(workspace, target / "marts.md")
    project = _project(context)
    today = now().date()
    if output is DocsFormat.MARKDOWN:
        path = write_marts_page(project, target)
    else:
        path = write_docs(project, workspace.files("reports", "**/*"), target, today)
    for warning in reading_warnings(project.models, today):
        warn(warning)
    say(str(path))
    if project.broken:
        raise SqlModelError(f"The page lacks what is broken: {why_broken(project.broken)}")
