"""A SQL model that cannot be built stops a run before it pays, and later only what depends on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench, debatebench_here
from imported import ORIGINAL

YAML = "models: [{name: x_case, description: A case.}]\n"
UNREADABLE = "select run_tag from {{ ref('debates') }}\n"
UNKNOWN = "select run_tag from marts.debaits\n"
# Only the database finds out.
UNBUILDABLE = "select no_such_column from marts.debates\n"


def put(root: Path, sql: str) -> None:
    folder = root / "sql" / "marts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "x_case.sql").write_text(sql)
    (folder / "x_case.yml").write_text(YAML)


def landed(root: Path) -> list[str]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return [tag for (tag,) in con.execute("select run_tag from raw.runs order by 1").fetchall()]


@pytest.mark.slow
@pytest.mark.parametrize("sql", [UNREADABLE, UNKNOWN])
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_run_notices_it_before_its_first_request(tmp_path: Path, sql: str, options: tuple[str, ...]) -> None:
    root = begin_built(tmp_path)
    put(root, sql)
    done = debatebench(root, "run", "--run-tag", "q", "--quick-test", *options)
    assert done.code == 1
    assert "x_case.sql" in done.error_line
    assert not (root / "warehouse" / "journal" / "q.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "retry"])
def test_a_run_that_builds_nothing_needs_no_sql_models(tmp_path: Path, command: str) -> None:
    root = tmp_path
    if command == "retry":
        assert debatebench(root, "run", "--run-tag", "q", "--quick-test", "--no-build").code == 0
    put(root, UNREADABLE)
    what = ("retry", "q") if command == "retry" else ("run", "--run-tag", "q", "--quick-test")
    dry = debatebench(root, *what, "--no-build", "--dry-run")
    assert dry.code == 0, dry.err
    done = debatebench(root, *what, "--no-build")
    assert done.code == 0, done.err
    assert landed(root) == ["q"]


def imported(root: Path) -> Done:
    return debatebench_here(root, "import", "debatebench", str(ORIGINAL), "--run-tag", "old")


def played(root: Path) -> Done:
    return debatebench(root, "run", "--run-tag", "old", "--quick-test")


@pytest.mark.slow
@pytest.mark.parametrize("command", [imported, played])
def test_what_was_played_or_imported_lands_and_is_built_without_it(
    tmp_path: Path, command: Callable[[Path], Done]
) -> None:
    root = begin_built(tmp_path)
    put(root, UNBUILDABLE)
    done = command(root)
    assert done.code == 3
    assert done.error_line.startswith(
        "Error: All has landed, but not all SQL models are built, and `debatebench build` builds them when this is "
        "mended: "
    )
    assert 'x_case.sql:1) failed: Binder Error: Referenced column "no_such_column" not found' in done.error_line
    assert landed(root) == ["old"]
    ranked = debatebench_here(root, "query", "select count(*) > 1 as found from marts.leaderboard", "--format", "csv")
    assert ranked.out == "found\ntrue\n"
    assert debatebench_here(root, "build").code == 1, "a mere build still says what is wrong"
    assert debatebench_here(root, "build", "--select", "leaderboard").code == 0
    put(root, "select run_tag from marts.debates\n")
    assert debatebench_here(root, "build").code == 0
    counted = debatebench_here(root, "query", "select count(*) > 0 as found from marts.x_case", "--format", "csv")
    assert counted.out == "found\ntrue\n"
