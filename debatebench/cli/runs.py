"""Runs as things: runs, and its subcommands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from debatebench.cli.common import FormatOption, built_workspace, note, now, print_json, print_rows, say, workspace_of
from debatebench.cli.completion import archived_tags, run_tags
from debatebench.cli.grouped_help import GroupedCommands, command_class
from debatebench.cli.warehouse import report_update
from debatebench.shared.amounts import amount_text
from debatebench.shared.errors import UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.landing.run_marks import Mark
    from debatebench.shared.workspace import Workspace
    from debatebench.warehouse.run_list import ListedRun

Tag = Annotated[str, typer.Argument(metavar="TAG", help="The run or import.", autocompletion=run_tags)]

ArchivedTag = Annotated[str, typer.Argument(metavar="TAG", help="The archived run.", autocompletion=archived_tags)]


def runs(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the runs, or show, exclude, pin, name or archive one."""
    if context.invoked_subcommand is not None:
        # The enumeration has no public name.
        if getattr(context.get_parameter_source("output"), "name", "DEFAULT") != "DEFAULT":
            raise UsageError(f"Write --format after `{context.invoked_subcommand}`, if that prints a result.")
        return
    from debatebench.warehouse.run_list import ListedRun, list_runs

    found = list_runs(built_workspace(context))
    if output.is_for_people:
        columns = [
            "run_tag",
            "title",
            "state",
            "marks",
            "kind",
            "version",
            "debates",
            "cost_usd",
            "simulated",
            "source",
        ]
        print_rows(columns, [_row(run) for run in found], output)
    else:
        print_rows(ListedRun.columns(), [_values(run) for run in found], output)
    if not found:
        note("There is no run yet: `debatebench run` plays one, and `debatebench import` imports one.")


def _row(run: ListedRun) -> list[Any]:
    """A run for people."""
    marks = {"default": run.is_default, "pinned": run.is_pinned, "excluded": run.is_excluded}
    planned = "" if run.count_planned in (None, run.count_complete) else f" of {run.count_planned:,}"
    return [
        run.run_tag,
        run.title,
        run.state,
        ", ".join(name for name, is_set in marks.items() if is_set) or None,
        None if run.kind is None else run.kind.replace("_", " "),
        run.benchmark_version,
        None if run.count_complete is None else f"{run.count_complete:,}{planned}",
        None if run.cost_usd is None else amount_text(run.cost_usd),
        None if run.is_simulated is None else "yes" if run.is_simulated else "no",
        run.source_run_tag,
    ]


def _values(run: ListedRun) -> list[Any]:
    values = {name: getattr(run, name) for name in run.columns()}
    return [str(value) if name == "path" and value is not None else value for name, value in values.items()]


def show(context: typer.Context, tag: Tag, output: FormatOption = Format.TABLE) -> None:
    """Print what is known of one run."""
    from debatebench.shared.workspace import check_known_run
    from debatebench.warehouse.run_list import list_runs

    workspace = built_workspace(context)
    found = {run.run_tag: run for run in list_runs(workspace)}
    check_known_run(tag, sorted(found), workspace.warehouse)
    values = dict(zip(found[tag].columns(), _values(found[tag]), strict=True))
    if output is Format.JSON:
        print_json(values)
    elif output.is_one_table:
        print_rows(list(values), [list(values.values())], output)
    else:
        shown = {**values, "cost_usd": None if values["cost_usd"] is None else amount_text(values["cost_usd"])}
        known = [[name, value] for name, value in shown.items() if value is not None]
        rows = [[name, str(value).lower() if isinstance(value, bool) else str(value)] for name, value in known]
        print_rows(["what", "value"], rows, output)


def exclude(context: typer.Context, tag: Tag) -> None:
    """Leave a run out of numbers over several runs, and of what is shown by default.

    The run stays in the warehouse, and commands that name it show it.
    """
    done = f"Run '{tag}' is left out of pools and defaults; `debatebench runs include {tag}` takes it back in."
    still = "It stays pinned, but is not meant where no run is named as long as it is excluded."
    _mark(context, tag, "excluded", True, done, f"Run '{tag}' is excluded already.", if_pinned=still)


def include(context: typer.Context, tag: Tag) -> None:
    """Undo `exclude`."""
    done, already = f"Run '{tag}' counts again.", f"Run '{tag}' is not excluded."
    _mark(context, tag, "excluded", False, done, already, if_pinned="Its pin holds again.")


def pin(context: typer.Context, tag: Tag) -> None:
    """Make a run the one that is meant where none is named.

    Of several pinned runs, it is the one pinned last. A run that judges stored debates is never meant, and neither is
    one that is excluded or archived, so none of them can be pinned.
    """
    from debatebench.warehouse.run_list import known_run, why_never_meant

    workspace = workspace_of(context)
    known_run(workspace, tag)
    if (reason := why_never_meant(workspace, tag)) is not None:
        raise UsageError(f"A pin would have no effect. {reason}")
    done = f"Run '{tag}' is meant where no run is named; `debatebench runs unpin {tag}` undoes that."
    _mark(context, tag, "pinned", True, done, f"Run '{tag}' is pinned already.")


def unpin(context: typer.Context, tag: Tag) -> None:
    """Undo `pin`."""
    _mark(context, tag, "pinned", False, f"Run '{tag}' is no longer pinned.", f"Run '{tag}' is not pinned.")


def title(
    context: typer.Context,
    tag: Tag,
    text: Annotated[str, typer.Argument(help="One line; an empty text removes the title.")],
) -> None:
    """Give a run a title."""
    _write(context, tag, "title", text)


def write_note(
    context: typer.Context, tag: Tag, text: Annotated[str, typer.Argument(help="An empty text removes the note.")]
) -> None:
    """Keep a note about a run; it replaces an earlier one."""
    _write(context, tag, "note", text)


def _write(context: typer.Context, tag: str, mark: Literal["title", "note"], text: str) -> None:
    from debatebench.landing.run_marks import checked_text

    kept = checked_text(mark, text)
    done = f"Run '{tag}' has the {mark}: {kept}" if kept else f"Run '{tag}' has no {mark} any more."
    already = f"Run '{tag}' has this {mark} already." if kept else f"Run '{tag}' has no {mark}."
    _mark(context, tag, mark, kept, done, already)


def _mark(
    context: typer.Context, tag: str, mark: Mark, value: str | bool, done: str, already: str, *, if_pinned: str = ""
) -> None:
    """Journal a mark, print what that means, also for a pinned run, and bring the warehouse up to date."""
    from debatebench.landing.run_marks import marking
    from debatebench.warehouse.run_list import known_run

    workspace = workspace_of(context)
    known_run(workspace, tag)
    with marking(workspace) as journal:
        has_changed = journal.set(tag, mark, value, now().isoformat())
        is_pinned = journal.marks.of(tag).pinned is not None
    if if_pinned and is_pinned:
        done = f"{done} {if_pinned}"
    say(done if has_changed else already)
    update(workspace)


def update(workspace: Workspace, run_tags: Sequence[str] = ()) -> None:
    """Land the marks, and the runs with these tags; build what follows from them."""
    from debatebench.warehouse.update import update_warehouse

    if run_tags or workspace.database.exists():
        report_update(workspace, update_warehouse(workspace, run_tags, now=now, note=note, with_marks=True))


def archive(context: typer.Context, tag: Tag) -> None:
    """Move a run's journal or import to the archive, and its rows out of the warehouse.

    Nothing is deleted: `restore` undoes it.
    """
    from debatebench.warehouse.archive import archive as archive_run
    from debatebench.warehouse.run_list import known_run, place_of

    workspace = workspace_of(context)
    known_run(workspace, tag)
    place = place_of(workspace, tag)
    has_changed = archive_run(
        workspace, tag, now().isoformat(), judged_by=place.judged_by, landed_later=place.landed_later
    )
    done = f"Run '{tag}' is in {workspace.archive}; `debatebench runs restore {tag}` brings it back, with its marks."
    say(done if has_changed else f"Run '{tag}' is archived already.")
    update(workspace)


def restore(context: typer.Context, tag: ArchivedTag) -> None:
    """Undo `archive`."""
    from debatebench.warehouse.archive import restore as restore_run
    from debatebench.warehouse.run_list import known_run

    workspace = workspace_of(context)
    known_run(workspace, tag)
    has_changed = restore_run(workspace, tag, now().isoformat())
    say(f"Run '{tag}' is back from the archive." if has_changed else f"Run '{tag}' is not archived.")
    update(workspace, [tag] if has_changed else [])


SUBCOMMANDS: dict[str, Callable[..., None]] = {
    "show": show,
    "exclude": exclude,
    "include": include,
    "pin": pin,
    "unpin": unpin,
    "title": title,
    "note": write_note,
    "archive": archive,
    "restore": restore,
}


def make_group() -> typer.Typer:
    """The command `runs` with its subcommands."""
    group = typer.Typer(
        rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True, cls=GroupedCommands
    )
    group.callback()(runs)
    for name, command in SUBCOMMANDS.items():
        group.command(name, cls=command_class({}))(command)
    return group
