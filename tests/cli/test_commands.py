"""The command line: every command with good and bad input, each error one line and its own exit code."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built
from command_line import debatebench, debatebench_from_the_start, debatebench_here
from paths import REPOSITORY
from preloaded import begin_preloaded, write_command
from site_pages import only_pages

import debatebench as db
from debatebench.cli.app import ALIASES, GROUPS

pytestmark = pytest.mark.slow

COMMANDS = [
    "init",
    "import",
    "prompts",
    "run",
    "retry",
    "judge",
    "probe-judges",
    "annotate",
    "runs",
    "view",
    "show-leaderboard",
    "inspect-debate",
    "query",
    "sql",
    "mcp",
    "compare",
    "gate",
    "report",
    "plot",
    "summarize",
    "sample-debates",
    "rate",
    "export",
    "upload",
    "build",
    "test",
    "lineage",
    "diff-models",
    "transpile",
    "docs",
    "land",
    "doctor",
]
# typer itself loads pydantic to read the options of a command; the overview has none.
HEAVY = {"duckdb", "sqlglot", "httptools", "httpx", "plotly", "jinja2", "numpy", "yaml", "rich"}
READING = (HEAVY | {"pydantic"}) - {"duckdb"}
# A run of two debates, where their number does not matter.
SMALL = ("--sample-topics", "1", "--debater=sim-atlas", "--debater=sim-breeze")


def first_debate(root: Path) -> str:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return str(con.execute("select min(debate_id) from marts.debates").fetchall()[0][0])


# --- start-up -------------------------------------------------------------------------------------------------------


def loaded_by(*arguments: str) -> set[str]:
    """The top-level packages that a command loads."""
    program = (
        "import sys\nfrom debatebench.cli.app import run_app\n"
        "try: run_app(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_the_overview_loads_nothing_but_typer(arguments: list[str]):
    assert loaded_by(*arguments) & (HEAVY | {"asyncio", "pydantic"}) == set()


@pytest.fixture(scope="module")
def loaded_by_help() -> dict[str, set[str]]:
    """Command → the top-level packages that its help loads, in a fork of a process that has loaded only the app."""
    program = (
        "import os, sys\nfrom debatebench.cli.app import run_app\n"
        "for command in sys.argv[1:]:\n"
        "    if os.fork() == 0:\n"
        "        try: run_app([command, '--help'])\n"
        "        finally: print(command, *sys.modules, file=sys.stderr, flush=True); os._exit(0)\n"
        "    os.wait()"
    )
    command = [sys.executable, "-c", program, *COMMANDS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = [line.split() for line in done.stderr.splitlines()]
    return {command: {name.split(".")[0] for name in names} for command, *names in loaded}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(loaded_by_help: dict[str, set[str]], command: str):
    assert loaded_by_help[command] & HEAVY == set()


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["query", "select 1"], READING),
        (["show-leaderboard"], READING),
        (["summarize"], READING),
        (["build"], HEAVY - {"duckdb"}),
        (["run", "--run-tag", "dry", "--dry-run"], HEAVY - {"yaml", "duckdb"}),
        (["report"], {"httpx", "sqlglot", "plotly", "numpy"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_uses(copied: Path, arguments: list[str], unused: set[str]):
    assert loaded_by("--root", str(copied), *arguments) & unused == set()


def test_a_build_with_nothing_to_do_knows_it_without_duckdb(copied: Path):
    assert "Nothing has changed" in debatebench(copied, "build").out
    assert loaded_by("--root", str(copied), "build") & HEAVY == set()


# --- good input -----------------------------------------------------------------------------------------------------


def test_every_command_is_in_the_overview_on_one_whole_line():
    done = debatebench_here(Path(), "--help")
    assert done.code == 0
    listed = done.out.partition("\nBegin:\n")[2].splitlines()
    lines = [line for line in listed if line and not line.endswith(":")]
    assert [line.split()[0] for line in lines] == COMMANDS
    assert all(line.endswith(".") and "..." not in line and len(line) <= 80 for line in lines), done.out
    groups = [line.removesuffix(":") for line in listed if line.endswith(":")]
    assert ["Begin", *groups] == list(GROUPS)


def test_aliases_of_the_original_are_the_same_commands(played: Path):
    for alias, name in ALIASES.items():
        ours, theirs = (debatebench(played, c, "--help").out for c in (name, alias))
        assert theirs.replace(alias, name) == ours


def test_a_run_says_how_it_ended(played: Path):
    again = debatebench(played, "run", "--run-tag", "t", "--sample-topics", "1", "--format", "json")
    assert again.code == 0
    (report,) = json.loads(again.out)
    assert report["planned"] == report["complete"] == 30
    assert report["missing"] == 0
    assert report["session_answers"] == 0, "a finished run asks nobody"
    assert "unchanged since it was landed" in again.err


def test_the_leaderboard_has_one_format_for_each_reader(played: Path):
    table = debatebench_here(played, "show-leaderboard")
    assert table.code == 0
    assert "simulated" in table.err
    assert "not what is true" in table.err
    rows = json.loads(debatebench_here(played, "show-leaderboard", "--format", "json").out)
    assert [row["rank"] for row in rows] == list(range(1, 7))
    assert all(row["model_id"] in table.out for row in rows)
    assert sum(row["rating"] for row in rows) == pytest.approx(6 * 400)
    text = debatebench_here(played, "show-leaderboard", "--format", "csv").out
    assert "\r" not in text
    assert [row["model_id"] for row in csv.DictReader(io.StringIO(text))] == [row["model_id"] for row in rows]


def test_top_cuts_and_says_so(played: Path):
    done = debatebench_here(played, "show-leaderboard", "--top", "2", "--format", "json")
    assert len(json.loads(done.out)) == 2
    assert "4 more debaters" in done.err


def test_debaters_with_too_few_games_are_hidden_and_counted(copied: Path):
    config = copied / "configs" / "config.yaml"
    config.write_text(re.sub(r"min_games_for_display: \d+", "min_games_for_display: 500", config.read_text()))
    assert debatebench(copied, "run", "--run-tag", "strict", *SMALL).code == 0
    done = debatebench_here(copied, "show-leaderboard", "--run-tag", "strict", "--format", "json")
    assert json.loads(done.out) == []
    assert "2 of 2 debaters have fewer than 500 rated debates; the leaderboard does not show them." in done.err


def test_summaries_are_eleven_files_with_the_line_ends_of_the_original(copied: Path, tmp_path: Path):
    out = tmp_path / "out"
    done = debatebench_here(copied, "summarize", "--run-tag", "t", "--out-dir", str(out))
    assert done.code == 0
    assert len(list(out.glob("*.csv"))) == 11 == len(done.out.splitlines())
    for path in out.glob("*.csv"):
        assert path.read_bytes().endswith(b"\r\n")
        assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


def test_ratings_are_written_where_told(copied: Path, tmp_path: Path):
    path = tmp_path / "deep" / "ratings.json"
    assert debatebench_here(copied, "rate", "--run-tag", "t", "--output", str(path)).code == 0
    ratings = json.loads(path.read_text())
    assert sorted(ratings) == ["benchmark_version", "elo", "models", "rubric_version"]
    assert len(ratings["models"]) == 6


def test_a_debate_is_shown_whole(played: Path):
    debate_id = first_debate(played)
    done = debatebench_here(played, "inspect-debate", debate_id)
    assert done.code == 0
    assert done.out.count("\n── PRO ") == done.out.count("\n── CON ") == 3
    assert "── verdicts" in done.out
    whole = json.loads(debatebench_here(played, "inspect-debate", debate_id[:12], "--format", "json").out)
    assert whole["debate_id"] == debate_id
    assert len(whole["turns"]) == 6
    assert len(whole["verdicts"]) == 3


def test_a_query_takes_parameters_files_and_standard_input(played: Path, tmp_path: Path):
    sql = "select model_id from marts.leaderboard where run_tag = $tag and rank <= $n order by rank"
    params = ["--param", "tag=t", "--param", "n=2", "--format", "json"]
    given = debatebench_here(played, "query", sql, *params)
    (tmp_path / "q.sql").write_text(sql)
    assert given.out == debatebench_here(played, "query", "--file", str(tmp_path / "q.sql"), *params).out
    assert given.out == debatebench(played, "query", "-", *params, stdin=sql).out
    assert given.out == debatebench(played, "query", "--file", "-", *params, stdin=sql).out
    assert len(json.loads(given.out)) == 2


@pytest.mark.parametrize("comment", ["-- All of them.\n", "--\tall\n\n-- of them\n", "/* All. */", "  -- All.\n"])
def test_a_query_may_begin_with_a_comment(played: Path, comment: str):
    plain = debatebench_here(played, "query", "select 1 as x", "--format", "csv")
    sql, as_csv = f"{comment}select 1 as x", ("--format", "csv")
    for words in ((sql, *as_csv), (*as_csv, sql)):
        done = debatebench_here(played, "query", *words)
        assert (done.out, done.err) == (plain.out, plain.err)


@pytest.mark.parametrize(
    ("ending", "first"),
    [
        (".csv", "a,b"),
        (".tsv", "a\tb"),
        (".json", "["),
        (".JSONL", '{"a": 1, "b": "x"}'),
        (".md", "| a | b |"),
        (".txt", "a  b"),
        ("", "a  b"),
    ],
)
def test_the_ending_of_an_output_file_decides_its_format(played: Path, tmp_path: Path, ending: str, first: str):
    path = tmp_path / f"result{ending}"
    assert debatebench_here(played, "query", "select 1 as a, 'x' as b", "--output", str(path)).code == 0
    assert path.read_text().splitlines()[0] == first
    named = tmp_path / "result.any"
    assert debatebench_here(played, "query", "select 1 as a", "--output", str(named), "--format", "line").code == 0
    assert named.read_text() == "a = 1\n"


def test_a_pivot_finds_its_values_by_itself(played: Path, tmp_path: Path):
    pivot = "pivot (select model_id, run_tag, games from leaderboard) on run_tag using first(games) order by all"
    listed = pivot.replace("on run_tag", "on run_tag in ('t')")
    wide = debatebench_here(played, "query", listed, "--format", "csv").out
    assert wide.splitlines()[0] == "model_id,t"
    assert debatebench_here(played, "query", pivot, "--format", "csv").out == wide
    assert debatebench_here(played, "query", f"{pivot}; -- done", "--output", str(tmp_path / "x.parquet")).code == 0
    with duckdb.connect() as con:
        rows = con.execute("from read_parquet(?)", [str(tmp_path / "x.parquet")]).fetchall()
    assert len(rows) == len(wide.splitlines()) - 1
    with db.open(played) as warehouse:
        assert warehouse.sql(pivot).fetchall() == rows


def test_a_long_result_is_cut_and_says_so(played: Path, tmp_path: Path):
    done = debatebench_here(played, "query", "from range(50)", "--limit", "3", "--format", "csv")
    assert done.out.splitlines() == ["range", "0", "1", "2"]
    assert "--limit 0" in done.err
    path = tmp_path / "all.csv"
    done = debatebench_here(played, "query", "from range(50)", "--limit", "0", "--format", "csv", "--output", str(path))
    assert len(path.read_text().splitlines()) == 51
    assert done.out == ""


def test_a_dry_run_asks_nobody_and_leaves_only_the_plan(tmp_path: Path):
    debatebench_here(tmp_path, "init")
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    first = debatebench(tmp_path, "run", "--run-tag", "d", "--sample-topics", "2", "--dry-run")
    assert first.code == 0
    plan = tmp_path / "warehouse" / "plans" / "d.json"
    assert {p for p in tmp_path.rglob("*") if p.is_file()} - before == {plan}
    written = plan.read_bytes()
    assert debatebench(tmp_path, "run", "--run-tag", "d", "--sample-topics", "2", "--dry-run").out == first.out
    assert plan.read_bytes() == written
    assert len(json.loads(written)["debates"]) == 60
    assert "60 debates: 540 calls" in first.out


def test_the_packaged_configuration_serves_where_a_workspace_has_none(tmp_path: Path):
    done = debatebench(tmp_path, "run", "--run-tag", "t", "--sample-topics", "1")
    assert done.code == 0, done.err
    assert (tmp_path / "warehouse" / "debatebench.duckdb").exists()


def test_a_workspace_overlays_single_sql_models(copied: Path):
    model = copied / "sql" / "original" / "winner_counts.sql"
    model.parent.mkdir(parents=True, exist_ok=True)
    packaged = REPOSITORY / "sql" / "original" / "winner_counts.sql"
    only_pro = packaged.read_text().replace("(values ('pro'), ('con'), ('tie'))", "(values ('pro'))")
    assert only_pro != packaged.read_text()
    model.write_text(only_pro)
    assert debatebench_here(copied, "build").code == 0
    rows = json.loads(debatebench_here(copied, "query", "from original.winner_counts", "--format", "json").out)
    assert [row["winner"] for row in rows] == ["pro"]
    model.unlink()
    assert debatebench_here(copied, "build").code == 0
    assert (
        len(json.loads(debatebench_here(copied, "query", "from original.winner_counts", "--format", "json").out)) == 3
    )


def test_landing_without_building_leaves_the_models_for_later(copied: Path):
    done = debatebench(copied, "run", "--run-tag", "later", *SMALL, "--no-build")
    assert done.code == 0
    count = "select count(*) as n from ratings.elo where run_tag = 'later'"
    assert json.loads(debatebench_here(copied, "query", count, "--format", "json").out) == [{"n": 0}]
    assert debatebench_here(copied, "build").code == 0
    assert json.loads(debatebench_here(copied, "query", count, "--format", "json").out) == [{"n": 2}]
    assert "Nothing has changed" in debatebench_here(copied, "build").out


def test_the_warehouse_is_made_anew_from_journals_and_imports(copied: Path):
    database = copied / "warehouse" / "debatebench.duckdb"
    query = ["query", "from marts.leaderboard order by all", "--format", "csv"]
    before = debatebench_here(copied, *query).out
    database.write_bytes(b"no database at all")
    assert debatebench_here(copied, "land").code == 3
    done = debatebench_here(copied, "build", "--from-journals")
    assert done.code == 0, done.err
    assert debatebench_here(copied, *query).out == before
    database.unlink()
    assert debatebench_here(copied, "land").code == 0
    assert debatebench_here(copied, *query).out == before


def change(root: Path, sql: str) -> None:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb")) as con:
        con.execute(sql)


def test_a_warehouse_of_another_version_is_landed_anew(copied: Path):
    query = ["query", "from marts.leaderboard order by all", "--format", "csv"]
    before = debatebench_here(copied, *query).out
    change(copied, "alter table raw.topics drop info_slide; create table raw.speeches (content varchar)")
    done = debatebench_here(copied, "land")
    assert done.code == 0, done.err
    assert "t: landed 30 debates" in done.err
    assert debatebench_here(copied, *query).out == before


def test_a_warehouse_of_another_version_is_left_alone_when_a_run_would_be_lost(copied: Path):
    change(copied, "alter table raw.topics drop info_slide")
    (copied / "warehouse" / "journal" / "t.jsonl").rename(copied / "elsewhere.jsonl")
    before = (copied / "warehouse" / "debatebench.duckdb").read_bytes()
    done = debatebench_here(copied, "build", "--full-refresh")
    assert done.code == 3
    assert "contains run 't', but its journal or import is missing" in done.error_line
    assert (copied / "warehouse" / "debatebench.duckdb").read_bytes() == before


def test_any_duckdb_client_sees_every_mart_and_rating(played: Path):
    program = (
        "import duckdb, sys\n"
        "con = duckdb.connect(sys.argv[1], read_only=True)\n"
        "names = con.execute(\"select schema_name || '.' || view_name from duckdb_views() where not internal union all "
        "select schema_name || '.' || table_name from duckdb_tables()\").fetchall()\n"
        # The short names in `main` are views of the marts, whose rows are read already.
        "for (name,) in names:\n"
        "    con.execute(f'select * from {name}' + ' limit 0' * name.startswith('main.')).fetchall()\n"
        "print(len([n for (n,) in names if n.startswith(('marts.', 'ratings.'))]))\n"
        "con.close()"
    )
    database = str(played / "warehouse" / "debatebench.duckdb")
    done = subprocess.run([sys.executable, "-I", "-c", program, database], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 25


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["show-leaderboard", "--run-tag", "nope"], 2, r"No run 'nope' in the warehouse. Known: t\."),
        (["summarize", "--run-tag", "nope"], 2, r"Known: t\."),
        (["rate", "--run-tag", "nope"], 2, r"Known: t\."),
        (["report", "--run-tag", "nope"], 2, r"nope.*\bt\b"),
        (["land", "--run-tag", "nope"], 2, r"No run 'nope'.*Known: t\."),
        (["inspect-debate", "nope"], 2, "No debate 'nope'"),
        (["inspect-debate", ""], 2, r"matches 30 debates .*give a longer prefix"),
        (["query"], 2, "Give the query either as an argument"),
        (["query", "select 1", "--file", "x.sql"], 2, "either as an argument"),
        (["query", "--file", "missing.sql"], 2, "Cannot read the query in missing.sql: No such file"),
        (["query", "drop table raw.runs"], 2, "exactly one SELECT"),
        (["query", "select 1; select 2"], 2, "exactly one SELECT"),
        (["query", "select nope"], 1, "nope"),
        (["query", "--file", "-", "select 1"], 2, "either as an argument"),
        (["query", "select 1", "--output", "x.xlsx"], 2, r"ending of x\.xlsx is not that of a format: \.csv, \.json, "),
        (
            ["query", "-- ?\npivot (from marts.runs where run_tag = $x) on run_tag", "--param", "x=1"],
            1,
            r"ON run_tag IN",
        ),
        (["query", "select $x"], 2, r"--param x=VALUE"),
        (["import", "nope", ".", "--run-tag", "i"], 2, "No format 'nope'. Known: debatebench, debateflow, panelbench"),
        (["import", "debatebench", "missing.jsonl", "--run-tag", "i"], 2, r"missing\.jsonl"),
        (["import", "debatebench", ".", "--run-tag", "t"], 2, "'t' is a run that was played in this workspace"),
        (["import", "debatebench", ".", "--run-tag", "../x"], 2, r"'\.\./x'"),
        (["run", "--run-tag", "a/b"], 2, "'a/b'"),
        (["run", "--config-path", "missing.yaml"], 2, r"missing\.yaml"),
        (["run", "--run-tag", "t", "--sample-topics", "2"], 2, "Run 't' was started with other inputs: .*topics"),
        (["run", "--run-tag", "t", "--sample-topics", "1", "--seed", "1"], 2, r"started with other inputs: .*seed"),
        (["build", "--select", "nope"], 2, "nope"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_line(played: Path, arguments: list[str], code: int, complaint: str):
    done = debatebench_here(played, *arguments)
    assert re.search(complaint, done.error_line), done.err
    assert done.code == code
    assert done.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run", "--nonsense"],
        ["run", "--seed", "x"],
        ["query", "--format", "x", "select 1"],
        ["rate", "x"],
    ],
    ids=" ".join,
)
def test_wrong_words_on_the_command_line_are_usage_errors(tmp_path: Path, arguments: list[str]):
    done = debatebench_here(tmp_path, *arguments)
    assert done.code == 2
    assert "Usage: " in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["show-leaderboard", "summarize", "report", "rate"])
def test_without_a_warehouse_a_command_says_how_to_make_one(tmp_path: Path, command: str):
    done = debatebench_here(tmp_path, command)
    assert done.code == 2
    assert "debatebench run" in done.error_line


def test_a_judge_that_is_a_debater_is_refused_until_allowed(copied: Path):
    judges, models = copied / "configs" / "judges.yaml", copied / "configs" / "models.yaml"
    judges.write_text(models.read_text().replace("models:", "judges:").replace("role: debater", "role: judge"))
    arguments = ["run", "--run-tag", "overlap", "--sample-topics", "1"]
    refused = debatebench_here(copied, *arguments)
    assert refused.code == 2
    assert "--allow-judge-overlap" in refused.error_line
    assert not (copied / "warehouse" / "journal" / "overlap.jsonl").exists()


def test_a_missing_key_is_named_before_anything_is_asked(copied: Path):
    (copied / "configs" / "models.yaml").write_text(
        "models:\n  - {id: a, provider: openrouter, model: x/a}\n  - {id: b, provider: openrouter, model: x/b}\n"
    )
    done = debatebench(copied, "run", "--run-tag", "hosted", environ={"OPENROUTER_API_KEY": ""})
    assert done.code == 2
    assert "OPENROUTER_API_KEY" in done.error_line
    assert not (copied / "warehouse" / "journal" / "hosted.jsonl").exists()


def test_a_damaged_journal_stops_landing_and_leaves_the_warehouse(copied: Path):
    journal = copied / "warehouse" / "journal" / "t.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b":", b";", 1)
    journal.write_bytes(b"".join(lines))
    before = (copied / "warehouse" / "debatebench.duckdb").read_bytes()
    done = debatebench_here(copied, "land")
    assert done.code == 3
    assert "line 6 at byte" in done.error_line
    assert (copied / "warehouse" / "debatebench.duckdb").read_bytes() == before


def test_output_into_a_closed_pipe_is_no_error(played: Path, tmp_path: Path):
    program = f"{write_command(tmp_path)} --root {played} query 'from range(20000)' --limit 0 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", program], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("warehouse", ["run", "--run-tag", "u", "--sample-topics", "1"]),
        ("warehouse", ["run", "--run-tag", "u", "--sample-topics", "1", "--dry-run"]),
        ("warehouse", ["land"]),
        ("warehouse", ["build", "--full-refresh"]),
        ("warehouse", ["build", "--from-journals"]),
        ("warehouse/journal", ["run", "--run-tag", "u", "--sample-topics", "1"]),
        ("warehouse/ratings", ["rate"]),
        ("warehouse/summaries", ["summarize"]),
        ("warehouse/plans", ["run", "--run-tag", "u", "--sample-topics", "1", "--dry-run"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_file_where_a_folder_is_wanted_is_one_clear_line(copied: Path, place: str, arguments: list[str]):
    if (copied / place).exists():
        (copied / place).rename(copied / "away")
    (copied / place).touch()
    done = debatebench_here(copied, *arguments)
    assert done.code in (1, 2)
    assert re.search(rf"{place}.*: Not a directory", done.error_line)


def test_a_run_tag_that_is_empty_is_not_taken_for_none(tmp_path: Path):
    done = debatebench(tmp_path, "run", "--run-tag", "", "--sample-topics", "1")
    assert done.code == 2
    assert "'' cannot be a run tag" in done.error_line
    assert not (tmp_path / "warehouse").exists()


def test_a_run_tag_that_names_an_import_is_a_usage_error(copied: Path):
    (copied / "warehouse" / "imports" / "taken").mkdir(parents=True)
    done = debatebench(copied, "run", "--run-tag", "taken", "--sample-topics", "1")
    assert done.code == 2
    assert "'taken' is already the tag of an import" in done.error_line


@pytest.fixture(scope="module")
def unbuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run that was landed, where nothing was ever built. Tests only read it."""
    root = tmp_path_factory.mktemp("unbuilt")
    assert debatebench(root, "run", "--run-tag", "t", *SMALL, "--no-build").code == 0
    return root


@pytest.mark.parametrize("command", [["show-leaderboard"], ["inspect-debate", "0"], ["summarize"], ["report"]])
def test_what_was_landed_but_never_built_says_how_to_build_it(unbuilt: Path, command: list[str]):
    done = debatebench_here(unbuilt, *command)
    assert done.code in (1, 2)
    assert "`debatebench build`" in done.error_line


def test_rating_what_was_never_built_builds_it(unbuilt: Path, tmp_path: Path):
    copied = shutil.copytree(unbuilt, tmp_path / "copied")
    done = debatebench_here(copied, "rate")
    assert done.code == 0, done.err
    assert "Rated 2 debaters of run 't'" in done.out


@pytest.mark.parametrize("command", [["show-leaderboard"], ["summarize"], ["rate"], ["inspect-debate", "0"]])
def test_a_duckdb_file_of_somebody_else_holds_no_run(tmp_path: Path, command: list[str]):
    (tmp_path / "warehouse").mkdir()
    duckdb.connect(str(tmp_path / "warehouse" / "debatebench.duckdb")).close()
    done = debatebench_here(tmp_path, *command)
    assert done.code == 2
    assert "`debatebench run`" in done.error_line or "`debatebench build`" in done.error_line


def test_the_report_of_a_run_is_printed_even_where_it_cannot_be_landed(copied: Path):
    (copied / "warehouse" / "debatebench.duckdb").write_bytes(b"no database at all")
    done = debatebench(copied, "run", "--run-tag", "u", "--sample-topics", "1", "--format", "json")
    assert done.code == 3
    assert "--from-journals" in done.error_line
    assert json.loads(done.out)[0]["complete"] == 30


# --- streams and signals --------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.parametrize("redirection", ["2>&-", ">&-", "2>/dev/full", "2> >(exec true)"])
def test_a_run_goes_on_when_nobody_listens(tmp_path: Path, redirection: str):
    begin_built(tmp_path)
    program = f"{sys.executable} -m debatebench --root {tmp_path} run --run-tag t {' '.join(SMALL)} {redirection}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert debatebench(tmp_path, "show-leaderboard").code == 0


def test_a_full_disk_behind_standard_output_is_one_clear_line(played: Path, tmp_path: Path):
    program = write_command(tmp_path)
    for command in ("show-leaderboard", "summarize", "query 'from range(20000)' --limit 0"):
        line = f"{program} --root {played} {command} > /dev/full"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == "Error: No space left on device."
        assert "Traceback" not in done.stderr


def test_what_an_encoding_lacks_is_written_in_another_way(played: Path):
    environ = {"PYTHONIOENCODING": "ascii"}
    done = debatebench_from_the_start(played, "inspect-debate", first_debate(played), environ=environ)
    assert done.code == 0
    assert "\\u2500" in done.out


def wait_for_open_file(pid: int, path: Path) -> None:
    """Wait until the process has opened `path`."""
    while True:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if link.readlink() == path:
                    return
            except OSError:
                continue
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", [["land"], ["run", "--run-tag", "u", "--sample-topics", "1"]], ids=["land", "run"])
def test_a_signal_while_landing_leaves_with_130_and_no_traceback(
    copied: Path, tmp_path: Path, command: list[str], number: int
):
    lock = copied / "warehouse" / ".debatebench.duckdb.lock"
    before = (copied / "warehouse" / "debatebench.duckdb").read_bytes()
    out, err = tmp_path / "out", tmp_path / "err"
    with lock.open("ab") as publisher, out.open("wb") as out_file, err.open("wb") as err_file:
        fcntl.flock(publisher, fcntl.LOCK_EX)
        files = [0, out_file.fileno(), err_file.fileno()]
        process = begin_preloaded(["--root", str(copied), *command], dict(os.environ), files)
        wait_for_open_file(process.pid, lock)
        os.kill(process.pid, number)
        assert process.exit_code() == 130
    assert err.read_text().splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err.read_text()
    assert ("30" in out.read_text()) == (command[0] == "run"), "what was played is reported all the same"
    assert (copied / "warehouse" / "debatebench.duckdb").read_bytes() == before


# --- a workspace without runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["show-leaderboard", "summarize", "report", "query select", "inspect-debate x", "rate"]
)
def test_without_a_warehouse_a_command_says_how_to_get_one(tmp_path: Path, command: str):
    done = debatebench_here(tmp_path, *command.split())
    assert done.code == 2
    assert "There is no warehouse at" in done.error_line
    assert (
        "`debatebench run` creates it with a run, `debatebench land` with the journals and imports" in done.error_line
    )


def test_a_warehouse_without_runs_is_called_empty(tmp_path: Path):
    done = debatebench_here(tmp_path, "land")
    assert done.code == 0
    assert "There is nothing to land" in done.err
    for command in ("show-leaderboard", "summarize", "inspect-debate x", "rate", "export --format jsonl --out-dir x"):
        done = debatebench_here(tmp_path, *command.split())
        assert done.code == 2
        assert "The warehouse contains no runs yet: `debatebench run` plays one" in done.error_line
    with only_pages("index"):
        assert debatebench_here(tmp_path, "report", "--out-dir", str(tmp_path / "site")).code == 0
    assert "No runs yet" in (tmp_path / "site" / "index.html").read_text()
