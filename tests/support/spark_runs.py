"""The runs on which two engines are compared: a few written by hand, or those and simulated and real ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from command_line import debatebench
from drawn_runs import drawn
from every_kind_of_run import runs
from exported import NOON, land_runs
from imported import add_import
from paths import REPOSITORY
from probed_runs import probed_run

from debatebench.shared.records import Record
from debatebench.shared.workspace import Workspace, packaged
from debatebench.warehouse.update import update_warehouse

_DATA = REPOSITORY.parent / "shared" / "data"
_REAL = {
    "golden": ("debatebench", _DATA / "debatebench-v0" / "golden" / "debates.jsonl"),
    "debateart": ("panelbench", _DATA / "panelbench" / "DebateArt"),
    "bp": ("panelbench", _DATA / "panelbench" / "BP-Competition"),
    "debateflow": ("debateflow", _DATA / "debateflow"),
}


def written_runs() -> Iterator[tuple[str, Iterable[Record]]]:
    """Runs with hostile text, weaknesses and four teams, each judged again; a tournament, and a probed one."""
    wanted = {"evil", "evil-again", "flow", "flow-again", "t", "teams", "first"}
    yield from ((tag, records) for tag, records in runs() if tag in wanted)
    source = drawn("source", 2, 1)
    yield "source", source
    yield "probed", probed_run("probed", source, {"longer": "pro"})


def compared_workspace(root: Path, which: str) -> Workspace:
    """A built workspace with `few` of these runs, or `all`: also simulated ones, and real data where there is any."""
    workspace = Workspace(root)
    if which == "all":
        for run_tag, (format_name, path) in _REAL.items():
            if path.exists():
                add_import(workspace, run_tag, format_name, path)
            else:
                print(f"\nNot compared, because {path} is not there: {run_tag}")
        weaknesses = str(packaged("configs") / "weaknesses.yaml")
        for command in (
            ("run", "--run-tag", "weak", "--sample-topics", "2", "--weaknesses", weaknesses),
            ("judge", "weak", "--as", "again", "--baseline", "longest"),
            ("probe-judges", "weak", "--as", "attacked"),
        ):
            done = debatebench(root, *command)
            assert done.code == 0, done.err
        update_warehouse(workspace, None, now=lambda: NOON, build=False)
    land_runs(workspace, dict(written_runs()))
    return workspace
