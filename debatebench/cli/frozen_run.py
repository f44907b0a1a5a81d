"""A run whose plan is frozen in a file: `run --plan`, and `--shard` for a part of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from debatebench.cli.common import note, warn
from debatebench.cli.playing_options import SessionOptions
from debatebench.cli.playing_plan import load_inputs, planned
from debatebench.journal.shards import Shard, check_not_in_shards, plan_in, shards_folder
from debatebench.plan.plan import Plan
from debatebench.plan.plan_differences import plan_differences
from debatebench.plan.prices import with_prices_of
from debatebench.plan.source import Source
from debatebench.play.before_run import Transcripts
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.workspace import Workspace, check_run_tag

# To compare, the debates are planned again, which takes as long as planning them.
_MOST_COMPARED = 20_000
# A frozen plan does not grow.
_GROWING = {"new_judge", "replace_parameters", "plan_output"}
_OF_SESSION = {field.name for field in fields(SessionOptions)} - _GROWING
_ALLOWED = _OF_SESSION | {
    *("run_tag", "plan_file", "shard", "resume", "retry_failed", "skip_on_empty", "empty_debates", "output")
}


@dataclass(frozen=True, slots=True)
class FrozenRun:
    """A plan, or the shard of it that is played; the file that it is from; and the speeches that its judges read."""

    plan: Plan
    file: Path
    transcripts: Transcripts | None


def frozen_run(
    workspace: Workspace, file: Path | None, shard_text: str | None, run_tag: str | None, stated: Mapping[str, str]
) -> FrozenRun:
    """What `--plan` and `--shard` name. Without a file, it is the plan that is kept beside the shards of `run_tag`.

    `stated` are the options on the command line: raises `UsageError` for one that a frozen plan decides itself.
    """
    from debatebench.plan.plan_file import read_plan

    for name, written in stated.items():
        if name not in _ALLOWED:
            raise UsageError(f"{written} changes a plan, and a plan in a file is frozen: leave it out, or plan again.")
    shard = None if shard_text is None else Shard.of(shard_text)
    if file is None:
        if run_tag is None:
            raise UsageError("--shard is a part of a frozen plan: name the plan with --plan FILE.")
        file = plan_in(shards_folder(workspace.journal, check_run_tag(run_tag)))
        if not file.is_file():
            raise UsageError(f"No shard of run '{run_tag}' has begun here: name its plan with --plan FILE.")
    plan = read_plan(file, shard)
    check_run_tag(plan.run_tag)
    if run_tag is not None and run_tag != plan.run_tag:
        raise UsageError(f"{file} is the plan of run '{plan.run_tag}', not of '{run_tag}': leave --run-tag out.")
    if (workspace.imports / plan.run_tag).exists():
        raise UsageError(f"Run tag '{plan.run_tag}' is already the tag of an import here; plan under another one.")
    if shard is None:
        check_not_in_shards(workspace.journal, plan.run_tag)
    _note_changed_inputs(workspace, plan)
    return FrozenRun(plan, file, None if plan.source is None else _transcripts(workspace, plan.source))


def _note_changed_inputs(workspace: Workspace, plan: Plan) -> None:
    """Say where the configuration of this workspace, if it has one, differs from that of the plan, which counts."""
    count = len(plan.debates) if plan.shard is None else plan.shard.debates
    if plan.source is not None or count > _MOST_COMPARED or not os.path.lexists(workspace.configs):
        return
    try:
        today, _ = planned(workspace, plan.run_tag, plan, load_inputs(workspace, plan.options, plan), plan.options, ())
    except DebatebenchError as error:
        warn(f"the plan is played as it was frozen, and could not be made from the configuration here: {error}")
        return
    one, other = (each.model_copy(update={"debates": ()}) for each in (plan, with_prices_of(today, plan)))
    if differences := plan_differences(one, other):
        warn(f"the plan is played as it was frozen; the configuration here differs in {'; '.join(differences)}.")


def _transcripts(workspace: Workspace, source: Source) -> Transcripts:
    """The speeches of the stored debates that a plan judges, from the warehouse here."""
    from debatebench.query.stored_debates import read_stored_debates
    from debatebench.warehouse.up_to_date import check_fits

    check_fits(workspace, note, needs_models=False)
    try:
        return read_stored_debates(workspace.database, source.run_tag, debate_ids=source.by_id).turns
    except UsageError as error:
        raise UsageError(
            f"The plan judges stored debates of run '{source.run_tag}', so every machine that plays it needs them in "
            f"{workspace.database}: {error}"
        ) from error
