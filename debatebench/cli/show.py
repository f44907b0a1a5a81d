"""Commands that show what the warehouse holds: show-leaderboard, summarize, inspect-debate, sample-debates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from debatebench.cli.common import (
    FormatOption,
    RunTagsOption,
    built_workspace,
    chosen_runs,
    note,
    of_run,
    print_json,
    print_rows,
    say,
)
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError
from debatebench.shared.formats import Format

_FIRST_COLUMNS = ["ranks", "model_id", "rating", "interval", "win_rate", "cost_usd"]
_DECIMALS = {
    "elo_rating": 1,
    "rating": 1,
    "win_rate": 3,
    "pro_win_rate": 3,
    "con_win_rate": 3,
    "mean_points": 2,
    "mean_score": 2,
    "cost_usd": 4,
}


def show_leaderboard(
    context: typer.Context,
    run_tag: RunTagsOption = None,
    top: Annotated[int | None, typer.Option("--top", min=1, help="Show only the best N debaters.")] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Print every column. Default: six; JSON and CSV have every column.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the debaters of a run, ranked by rating.

    A rating measures what judges prefer, not what is true.
    """
    from debatebench.query.leaderboard import leaderboard_of
    from debatebench.query.one_debate import check_marts
    from debatebench.query.safe_query import open_for_query

    with closing(open_for_query(built_workspace(context).database)) as con:
        run_tags = chosen_runs(con, run_tag)
        check_marts(con)
        found = {tag: leaderboard_of(con, tag) for tag in run_tags}
    columns = found[run_tags[0]].columns
    rows: Sequence[Sequence[Any]] = [row for each in found.values() for row in each.rows[:top]]
    if output in (Format.TABLE, Format.MARKDOWN, Format.LATEX):
        columns, rows = _with_ranges(columns, _rounded(columns, rows))
        if not show_all:
            columns, rows = _FIRST_COLUMNS, [[row[columns.index(name)] for name in _FIRST_COLUMNS] for row in rows]
    if len(run_tags) > 1:
        tags = [tag for tag, each in found.items() for _ in each.rows[:top]]
        columns, rows = ["run_tag", *columns], [[tag, *row] for tag, row in zip(tags, rows, strict=True)]
    print_rows(columns, rows, output)
    for tag, each in found.items():
        note(f"Run '{tag}': {each.method}. They measure what judges prefer, not what is true.")
        for text in each.notes:
            note(text)
        if top is not None and len(each.rows) > top:
            left = len(each.rows) - top
            are = "is" if left == 1 else "are"
            note(f"{counted(left, 'more debater')} {are} not shown; leave out --top to see all.")


def _with_ranges(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The same table with each pair of interval ends as one column of text."""
    ranges = {"rank_low": ("rank_high", "ranks", "{}"), "ci_low": ("ci_high", "interval", "{:.0f}")}
    seconds = {high for high, _, _ in ranges.values()}
    shown = []
    for row in rows:
        values = dict(zip(columns, row, strict=True))
        for low, (high, _, form) in ranges.items():
            # A dash beside a minus is hard to read.
            to = " to " if values[low] < 0 else "–"
            ends = dict.fromkeys(form.format(values[end]).replace("-", "−") for end in (low, high))
            values[low] = to.join(ends)
        shown.append([values[name] for name in columns if name not in seconds])
    return [ranges[name][1] if name in ranges else name for name in columns if name not in seconds], shown


def _rounded(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The rows for people, rounded to their meaningful digits."""
    return [
        [value if value is None or name not in _DECIMALS else round(value, _DECIMALS[name]) for name, value in pairs]
        for pairs in (zip(columns, row, strict=True) for row in rows)
    ]


def summarize(
    context: typer.Context,
    run_tag: RunTagsOption = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir",
            help="Folder for the CSV files; of several runs, for a folder each. Default: warehouse/summaries/TAG.",
        ),
    ] = None,
) -> None:
    """Write a run's eleven summary tables as CSV files."""
    from debatebench.output.summaries import SUMMARIES, write_summaries
    from debatebench.query.safe_query import open_for_query
    from debatebench.shared.output_paths import check_output_folder
    from debatebench.shared.workspace import check_run_tag

    workspace = built_workspace(context)
    with closing(open_for_query(workspace.database)) as con:
        run_tags = chosen_runs(con, run_tag)
        base = out_dir or workspace.warehouse / "summaries"
        targets = {
            tag: base if out_dir is not None and len(run_tags) == 1 else base / check_run_tag(tag) for tag in run_tags
        }
        for target in targets.values():
            check_output_folder(workspace, target, {f"{name}.csv" for name in SUMMARIES})
        paths = [path for tag, target in targets.items() for path in write_summaries(con, tag, target)]
    for path in paths:
        say(str(path))


def inspect_debate(
    context: typer.Context,
    debate_id: Annotated[
        str | None,
        typer.Argument(
            help="The id of the debate, or a unique prefix of it. Default: the debate that was made last.",
            show_default=False,
        ),
    ] = None,
    run_tag: Annotated[
        str | None,
        of_run(
            help="The run of the debate. With an id, needed only if several runs contain it; without one, the default "
            "is the pinned run, else the one that landed last.",
        ),
    ] = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="The debate that was made last, which is the default without an id.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print one debate: the motion, speeches and verdicts.

    In other formats than a table and JSON, print only the speeches.
    """
    from debatebench.query.one_debate import check_marts, debate_text, find_debate, latest_debate
    from debatebench.query.safe_query import open_for_query

    if latest and debate_id is not None:
        raise UsageError(f"--latest and '{debate_id}' name two debates; leave one out.")
    with closing(open_for_query(built_workspace(context).database)) as con:
        check_marts(con)
        if debate_id is not None:
            debate = find_debate(con, debate_id, run_tag)
        else:
            (tag,) = chosen_runs(con, run_tag and [run_tag])
            debate = latest_debate(con, tag)
    if output is Format.JSON:
        print_json(debate)
    elif output is Format.TABLE:
        say(debate_text(debate), keep_lines=True)
    else:
        turns = debate["turns"]
        print_rows(list(turns[0]) if turns else ["turn_index"], [list(turn.values()) for turn in turns], output)


def sample_debates(
    context: typer.Context,
    run_tag: RunTagsOption = None,
    count: Annotated[int, typer.Option("--count", min=1, max=10_000, help="How many debates are drawn.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="The same seed draws the same debates of a run.")] = 12345,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir",
            help="Folder for the Markdown files; of several runs, for a folder each. Default: warehouse/samples/TAG.",
        ),
    ] = None,
) -> None:
    """Draw complete debates, and write each as Markdown.

    A file has the motion, the speeches, the verdicts and what the judges wrote.
    """
    from debatebench.output.samples import write_samples
    from debatebench.query.one_debate import check_marts
    from debatebench.query.safe_query import open_for_query
    from debatebench.shared.workspace import check_run_tag

    workspace = built_workspace(context)
    with closing(open_for_query(workspace.database)) as con:
        run_tags = chosen_runs(con, run_tag)
        check_marts(con)
        base = out_dir or workspace.warehouse / "samples"
        for tag in run_tags:
            target = base if out_dir is not None and len(run_tags) == 1 else base / check_run_tag(tag)
            paths = write_samples(con, workspace, tag, count, seed, target)
            if len(paths) < count:
                note(f"Run '{tag}' has only {counted(len(paths), 'complete debate')}.")
            for path in paths:
                say(str(path))
