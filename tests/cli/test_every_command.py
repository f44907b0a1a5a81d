"""What every command does with a warehouse that does not fit its SQL models: it was built from others, or it is older.

A new command fails here until it has its place in the table.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pytest
from command_line import Done, debatebench, debatebench_here
from imported import ORIGINAL
from two_runs import two_runs  # noqa: F401

from debatebench.cli.app import make_app
from debatebench.journal.reading import read_journal
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.up_to_date import build_is_current


@dataclass(frozen=True)
class Rule:
    """How a command treats a warehouse that was built from other SQL models, and an older one, which lacks some.

    `refuses` both; `warns` of the one and refuses the other; `shows` both with a warning, as the user names what is
    read; `brings_up_to_date` both; `reads_landed` tables only, so it refuses those of another version; `reads_none`.
    """

    kind: Literal["refuses", "warns", "shows", "brings_up_to_date", "reads_landed", "reads_none"]
    arguments: tuple[str, ...] = ()
    in_process: bool = True


JUDGED = ("--as", "again", "--baseline", "always_pro")
RULES = {
    "init": Rule("reads_none"),
    "run": Rule("brings_up_to_date", ("--run-tag", "third", "--sample-topics", "1"), in_process=False),
    "retry": Rule("brings_up_to_date", ("demo",), in_process=False),
    "judge": Rule("warns", ("demo", *JUDGED), in_process=False),
    "annotate": Rule("reads_landed", ("--run-tag", "demo", "--annotator", "ann", "--no-browser")),
    "probe-judges": Rule("warns", ("--run-tag", "demo", *JUDGED), in_process=False),
    "import": Rule("brings_up_to_date", ("debatebench", str(ORIGINAL), "--run-tag", "imported")),
    "land": Rule("brings_up_to_date"),
    "doctor": Rule("shows"),
    "build": Rule("brings_up_to_date"),
    "rate": Rule("brings_up_to_date"),
    "show-leaderboard": Rule("warns"),
    "summarize": Rule("warns"),
    "inspect-debate": Rule("warns", ("DEBATE",)),
    "query": Rule("shows", ("select 1",)),
    "sql": Rule("shows", in_process=False),
    "report": Rule("warns"),
    "test": Rule("warns", ("--select", "marts.comparison_topics")),
    "lineage": Rule("reads_none", ("marts.runs.run_tag",)),
    "diff-models": Rule("warns", ("panel_winners", "--from", "1", "--to", "2")),
    "compare": Rule("warns", ("demo", "second")),
    "gate": Rule("refuses", ("--baseline", "demo", "--candidate", "second", "--max-drop", "9999")),
    "docs": Rule("reads_none"),
    "export": Rule("refuses", ("--format", "parquet", "--out", "OUT")),
}
SAYS = "was built from other SQL models or data"
WAY_OUT = "run `debatebench build` first"


def test_every_command_has_its_place_in_the_table():
    assert [command.name for command in make_app(()).registered_commands] == list(RULES)


@pytest.fixture
def mine(two_runs: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A copy of a workspace with two finished runs, to be changed."""
    return Path(shutil.copytree(two_runs, tmp_path / "mine"))


@pytest.fixture
def other(mine: Path) -> Path:
    """A workspace whose SQL models have changed since the build."""
    folder = mine / "sql" / "marts"
    folder.mkdir(parents=True)
    (folder / "marts.yml").write_text("models: []\n")
    return mine


@pytest.fixture
def older(mine: Path) -> Path:
    """A workspace whose warehouse an older version has built, with fewer landed columns and SQL models."""
    with duckdb.connect(str(Workspace(mine).database)) as con:
        con.execute("drop view marts.comparison_topics; drop table meta.build_state")
        con.execute("alter table raw.runs drop column source_run_tag")
    return mine


def planned_debates(root: Path) -> list[str]:
    """The ids of the debates of the run."""
    header = next(read_journal(Workspace(root).journal / "demo.jsonl"))
    return [row["debate_id"] for row in header.data["records"]["schedule"]]


def done_in(root: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> Done:
    """Run a command as the table says; a page to annotate is opened and closed at once."""
    from debatebench.output.annotation import serve

    monkeypatch.setattr(serve, "serve", lambda *_, **__: None)
    rule = RULES[command]
    named = {"DEBATE": planned_debates(root)[0], "OUT": str(root / "out")}
    arguments = (command, *(named.get(word, word) for word in rule.arguments))
    return debatebench_here(root, *arguments) if rule.in_process else debatebench(root, *arguments, stdin="")


@pytest.mark.slow
@pytest.mark.parametrize("command", RULES)
def test_a_warehouse_of_other_sql_models(command: str, other: Path, monkeypatch: pytest.MonkeyPatch):
    done = done_in(other, command, monkeypatch)
    kind = RULES[command].kind
    assert "Traceback" not in done.err
    if kind == "refuses":
        assert (done.code, SAYS in done.error_line, WAY_OUT in done.error_line) == (2, True, True)
        return
    assert done.code == 0, done.err
    assert (SAYS in done.out + done.err) == (kind in ("warns", "shows"))
    if kind == "brings_up_to_date":
        assert build_is_current(Workspace(other))


@pytest.mark.slow
@pytest.mark.parametrize("command", RULES)
def test_a_warehouse_of_an_older_version(command: str, older: Path, monkeypatch: pytest.MonkeyPatch):
    done = done_in(older, command, monkeypatch)
    kind = RULES[command].kind
    assert "Traceback" not in done.err
    if kind in ("refuses", "warns", "reads_landed"):
        assert (done.code in (1, 2), WAY_OUT in done.error_line) == (True, True)
        assert debatebench_here(older, "build").code == 0
        done = done_in(older, command, monkeypatch)
        assert SAYS not in done.out + done.err
    assert done.code == 0, done.err
    assert (SAYS in done.out + done.err) == (kind == "shows")
    if kind == "brings_up_to_date":
        assert build_is_current(Workspace(older))
