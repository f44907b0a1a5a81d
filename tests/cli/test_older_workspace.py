"""A workspace of an earlier version: a finished run, a killed one, imports and its warehouse, through every command.

`tests/data/older-workspace` was made by the version that wrote journals of format 1: `finished` over HTTP, `unfinished`
with simulated members and SIGKILL, and one import per format. Its warehouse is kept as SQL.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench, debatebench_here
from every_command import RULES, WAY_OUT, done_by
from paths import DATA

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import read_journal
from debatebench.shared.errors import RegressionError
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

# What an earlier version landed of these tables has the same keys and texts today.
KEPT = {
    "debates": "run_tag, debate_id, topic_id, pro_model_id, con_model_id, status",
    "turns": "run_tag, debate_id, turn_index, content",
    "verdicts": "run_tag, debate_id, judge_id, is_valid",
    "gold": "run_tag, debate_id, winner",
    "annotations": "run_tag, debate_id, annotator_id",
    "topics": "run_tag, topic_id, motion",
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the finished run's configuration names; nothing is asked."""
    monkeypatch.setenv("TINY_KEY", "sk-unused")
    monkeypatch.setenv("DEBATEBENCH_KEY_VARIABLES", "TINY_KEY")


def copied(root: Path) -> Path:
    """The workspace, with its warehouse."""
    shutil.copytree(DATA / "older-workspace", root)
    with duckdb.connect(str(Workspace(root).database)) as con:
        con.execute((root / "warehouse.sql").read_text(encoding="utf-8"))
    return root


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return copied(tmp_path / "older")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace after a build by this version. Tests copy it."""
    root = copied(tmp_path_factory.mktemp("older") / "built")
    done = debatebench_here(root, "build")
    assert done.code == 0, done.err
    return root


def run_of(root: Path) -> tuple[str, ...]:
    """The arguments with which the unfinished run goes on."""
    folder = root / "simulated"
    members = ("--models-path", str(folder / "models.yaml"), "--judges-path", str(folder / "judges.yaml"))
    return ("--run-tag", "unfinished", *members)


def words_of(root: Path) -> dict[str, tuple[str, ...]]:
    return {"FIRST": ("finished",), "SECOND": ("original",), "DEBATE": ("aaaa0001",), "RUN": run_of(root)}


def landed(root: Path) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        return {
            table: con.execute(f"select {of} from raw.{table} order by all").fetchall() for table, of in KEPT.items()
        }


def definitions(root: Path) -> list[tuple[str, str]]:
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        return con.execute(
            "select sql, comment from duckdb_views() where not internal union all "
            "select sql, comment from duckdb_tables() order by all"
        ).fetchall()


def journals(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Workspace(root).journal.glob("*.jsonl")}


@pytest.mark.parametrize("command", RULES)
def test_a_command_works_or_says_what_to_do(command: str, older: Path):
    before = journals(older)
    done = done_by(command, older, words_of(older))
    assert "Traceback" not in done.err
    if done.code:
        assert WAY_OUT in done.error_line
        assert RULES[command].kind in ("refuses", "warns", "reads_landed")
    after = journals(older)
    assert all(after[name].startswith(content) for name, content in before.items())


@pytest.mark.slow_inputs
@pytest.mark.parametrize("command", RULES)
def test_every_command_works_after_a_build(command: str, built: Path, tmp_path: Path):
    root = Path(shutil.copytree(built, tmp_path / "built"))
    done = done_by(command, root, words_of(root))
    assert "Traceback" not in done.err
    assert done.code in ((0, RegressionError.exit_code) if command == "gate" else (0,)), done.err


def test_a_build_keeps_everything_that_had_landed(built: Path, tmp_path: Path):
    assert landed(built) == landed(copied(tmp_path / "older"))
    root = Path(shutil.copytree(built, tmp_path / "again"))
    assert debatebench_here(root, "build", "--from-journals").code == 0
    assert landed(root) == landed(built)
    assert definitions(root) == definitions(built)


def test_an_older_unfinished_run_is_finished_in_a_journal_that_says_so(built: Path, tmp_path: Path):
    root = Path(shutil.copytree(built, tmp_path / "built"))
    path = Workspace(root).journal / "unfinished.jsonl"
    before = path.read_bytes()
    assert debatebench(root, "run", "--no-input", *run_of(root)).code == 0
    assert path.read_bytes().startswith(before)
    stated = [event.data["format"] for event in read_journal(path) if event.is_of("header") or event.is_of("format")]
    assert stated == [1, JOURNAL_FORMAT]
    rows = "select status, count(*) from raw.debates where run_tag = 'unfinished' group by all"
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        assert con.execute(rows).fetchall() == [("complete", 2)]
    assert debatebench_here(root, "doctor").code == 0
    assert debatebench_here(root, "build", "--from-journals").code == 0
    continued = path.read_bytes()
    assert debatebench(root, "run", "--no-input", *run_of(root)).code == 0
    assert path.read_bytes() == continued
