"""The commands about SQL models (test, lineage, diff-models, transpile, docs); and the guide to them, executed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from built_warehouse import begin_built
from command_line import debatebench, debatebench_here
from paths import REPOSITORY
from site_pages import only_pages

pytestmark = pytest.mark.slow

GUIDE = REPOSITORY / "docs" / "sql-models.md"


def add(root: Path, path: str, text: str) -> None:
    file = root / "sql" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def digest(root: Path) -> dict[str, str]:
    """File below `warehouse/` → hash."""
    files = sorted(path for path in (root / "warehouse").rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# --- test -------------------------------------------------------------------------------------------------------------


def test_of_all_tests_only_that_of_a_page_that_names_a_version_fails_on_a_run(copied: Path):
    page = copied / "reports" / "pages" / "mine.yml"
    page.parent.mkdir(parents=True)
    page.write_text("query: select * from marts.panel_winners_v1\n", encoding="utf-8")
    # The first look at a copy notes beside it that it is up to date.
    assert debatebench_here(copied, "test", "--select", "marts.runs").code == 0
    before = digest(copied)
    done = debatebench(copied, "test", "--format", "csv")
    assert done.code == 1
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["kind"] for row in rows} >= {"unit", "singular", "contract", "description", "unique", "not_null"}
    assert len(rows) > 300
    (failed,) = [row for row in rows if row["status"] != "pass"]
    assert failed["name"] == "description_versions_are_named_by_versions_only"
    assert (
        "mine.yml:1 names marts.panel_winners_v1; write marts.panel_winners, which is the latest" in failed["message"]
    )
    assert done.err == f"Error: 1 of {len(rows)} tests failed: {failed['name']}.\n"
    assert digest(copied) == before


def test_people_get_counts_by_kind(played: Path):
    done = debatebench_here(played, "test", "--select", "panel_winners", "winner_counts")
    assert done.code == 2, "--select takes one selector; give it again for another"
    done = debatebench_here(played, "test", "--select", "panel_winners winner_counts")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()[2:]] == [
        "unit",
        "description",
        "contract",
        "data",
        "singular",
    ]
    assert "FAIL" not in done.out


def test_a_selection_runs_what_belongs_to_it(played: Path):
    done = debatebench_here(played, "test", "--select", "original.judge_agreement", "--format", "json")
    assert done.code == 0
    assert {row["model"] for row in json.loads(done.out)} == {"original.judge_agreement"}


def test_a_failing_singular_test_prints_its_query_and_the_first_rows(copied: Path):
    query = "select run_tag, winner, count from original.winner_counts order by winner"
    add(copied, "tests/nobody_wins.sql", f"-- There should be no winner.\n{query}\n")
    done = debatebench_here(copied, "test", "--select", "winner_counts")
    assert done.code == 1
    assert done.error_line.startswith("Error: 1 of ")
    assert done.error_line.endswith(" tests failed: nobody_wins.")
    assert "FAIL nobody_wins (" in done.out
    assert "3 failing rows" in done.out
    assert query in done.out
    assert "run_tag | winner | count" in done.out
    assert re.search(r"^  t \| con \| \d+$", done.out, re.MULTILINE)
    (failed,) = [
        row
        for row in json.loads(debatebench_here(copied, "test", "--select", "winner_counts", "--format", "json").out)
        if row["status"] != "pass"
    ]
    assert (failed["name"], failed["failures"]) == ("nobody_wins", 3)
    assert failed["rows"][0] == {"run_tag": "t", "winner": "con", "count": failed["rows"][0]["count"]}


def test_a_failing_unit_test_shows_what_is_missing_and_what_is_too_much(copied: Path):
    add(copied, "marts/flags.sql", "select winner = 'pro' as is_pro from marts.panel_winners\n")
    add(
        copied,
        "marts/flags.yml",
        """\
models:
  - name: flags
    description: Flags.
    columns: [{name: is_pro, description: Whether pro won., data_type: boolean}]
unit_tests:
  - name: pro_is_not_con
    model: flags
    given: [{input: marts.panel_winners, rows: [{winner: con}]}]
    expect: {rows: [{is_pro: true}]}
""",
    )
    done = debatebench_here(copied, "test", "--unit-only", "--select", "flags")
    assert done.code == 1
    assert "FAIL pro_is_not_con (" in done.out
    assert "-  True" in done.out
    assert "+  False" in done.out
    unbuilt = debatebench_here(copied, "test", "--select", "flags")
    assert unbuilt.code == 1
    assert "marts.flags is not in the warehouse yet; run `debatebench build` first." in unbuilt.error_line


def test_a_broken_test_fails_and_a_warning_does_not(copied: Path):
    yaml = """\
models:
  - name: more
    description: More.
    columns: [{name: run_tag, description: The run., data_type: varchar}]
    data_tests:
      - expression_is_true: {expression: "run_tag = 'x'", severity: warn}
"""
    add(copied, "marts/more.sql", "select run_tag from marts.runs\n")
    add(copied, "marts/more.yml", yaml)
    assert debatebench_here(copied, "build").code == 0
    warned = debatebench_here(copied, "test", "--select", "more")
    assert warned.code == 0
    assert "WARN expression_is_true_marts.more" in warned.out
    add(copied, "marts/more.yml", yaml.replace("run_tag = 'x'", "nope = 1"))
    broken = debatebench_here(copied, "test", "--select", "more")
    assert broken.code == 1
    assert "ERROR expression_is_true_marts.more" in broken.out
    assert 'Referenced column "nope" not found' in broken.out


def test_control_characters_of_failing_rows_do_not_reach_the_terminal(copied: Path):
    add(copied, "tests/red.sql", "select chr(27) || '[31m' as word from marts.runs\n")
    done = debatebench_here(copied, "test", "--select", "marts.runs")
    assert done.code == 1
    assert "\x1b" not in done.out
    assert "␛[31m" in done.out


def test_files_newer_than_the_warehouse_are_reported(copied: Path):
    add(copied, "marts/gold.sql", "select run_tag from staging.stg_gold\n")
    done = debatebench_here(copied, "test", "--select", "marts.runs")
    assert done.code == 0
    assert "was built from other SQL models or data" in done.err


def test_unit_tests_alone_need_no_warehouse(tmp_path: Path):
    done = debatebench_here(tmp_path, "test", "--unit-only", "--select", "marts.leaderboard")
    assert done.code == 0
    assert "data" not in done.out
    refused = debatebench_here(tmp_path, "test")
    assert refused.code == 2
    assert "There is no warehouse at" in refused.error_line
    assert "--unit-only" in refused.error_line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["test", "--select", "nope"], "'nope' selects nothing"),
        (["lineage", "marts.leaderboard.winrate"], "Did you mean 'win_rate'?"),
        (["lineage", "nope.nope"], "No SQL model or landed table 'nope.nope'"),
        (["diff-models", "panel_winner", "--from", "1", "--to", "2"], "Did you mean 'panel_winners'?"),
        (["diff-models", "marts.runs", "--from", "1", "--to", "2"], "marts.runs has no versions"),
        (["diff-models", "panel_winners", "--from", "1", "--to", "9"], "has no version 9. Versions: 1, 2, 3, 4."),
        (["diff-models", "panel_winners", "--from", "1", "--to", "1"], "Both versions"),
        (["diff-models", "panel_winners", "--from", "1", "--to", "2", "--run-tag", "x"], "No run 'x'"),
        (["transpile", "--dialect", "oracle"], "'oracle' is not one of spark, databricks"),
        (["transpile", "--dialect", "spark", "leaderbord"], "Did you mean 'leaderboard'?"),
        (["transpile", "--dialect", "spark", "--out-dir", "sql"], "sql exists"),
        (["test", "--portable", "--unit-only"], "--portable and --unit-only are two checks"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_line(played: Path, arguments: list[str], complaint: str):
    done = debatebench_here(played, *arguments)
    assert complaint in done.error_line
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["diff-models", "panel_winners", "--from", "1"],
        ["diff-models", "panel_winners", "--from", "one", "--to", "2"],
        ["lineage"],
        ["lineage", "marts.runs.seed", "--format", "table"],
        ["lineage", "marts.runs.seed", "--depth", "-1"],
        ["docs", "elsewhere"],
    ],
    ids=" ".join,
)
def test_wrong_words_are_usage_errors(tmp_path: Path, arguments: list[str]):
    done = debatebench(tmp_path, *arguments)
    assert done.code == 2
    assert "Usage: " in done.err


@pytest.mark.slow_inputs
@pytest.mark.parametrize("command", ["test", "test --select runs", "lineage marts.runs.seed"])
def test_a_sql_model_that_cannot_be_read_is_named_by_what_needs_it(copied: Path, command: str):
    # Nearly everything needs it, so little is left to test.
    add(copied, "staging/stg_runs.sql", "select * from raw.nope\n")
    done = debatebench_here(copied, *command.split())
    assert done.code == 1
    named = done.out if command.startswith("test") else done.error_line
    assert "stg_runs.sql:1: no SQL model or raw table 'raw.nope'" in named


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    "command",
    ["test --select games", "lineage marts.games.winner", "diff-models panel_winners --from 1 --to 2", "docs"],
)
def test_what_does_not_need_a_broken_sql_model_works(copied: Path, command: str):
    add(copied, "marts/x_case.sql", "select * from marts.nope\n")
    add(copied, "marts/x_case.yml", "models: [{name: x_case, description: A case.}]\n")
    done = debatebench_here(copied, *command.split())
    if command == "docs":
        assert done.code == 1
        assert "The page lacks what is broken: " in done.error_line
        assert "x_case.sql:1: no SQL model or raw table 'marts.nope'" in done.error_line
        assert Path(done.out.strip()).read_text(encoding="utf-8").count("leaderboard") > 1
    else:
        assert done.code == 0, done.err


# --- lineage ----------------------------------------------------------------------------------------------------------


def test_lineage_needs_no_warehouse_and_leaves_nothing_behind(tmp_path: Path):
    done = debatebench(tmp_path, "lineage", "marts.leaderboard.win_rate")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    rule = "coalesce((elo.wins + 0.5 * elo.ties) / elo.games, four_teams.first_rate)"
    assert lines[0] == f"marts.leaderboard.win_rate = {rule}"
    assert lines[1].startswith("│    sql/marts/debaters/leaderboard.sql:")
    assert any(line.endswith("─ raw.verdicts.scores") for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_lineage_has_a_format_for_each_reader(tmp_path: Path):
    name = "marts.panel_winners.winner"
    data = json.loads(debatebench_here(tmp_path, "lineage", name, "--format", "json").out)
    assert data["name"] == name
    assert "raw.verdicts.scores" in {node["name"] for node in data["nodes"]}
    mermaid = debatebench_here(tmp_path, "lineage", name, "--format", "mermaid", "--depth", "1").out
    assert mermaid.startswith('flowchart LR\n    n0["marts.panel_winners.winner')
    assert "raw." not in mermaid


def test_a_workspace_overlays_what_lineage_reads(copied: Path):
    add(copied, "marts/mine.sql", "select upper(motion) as loud from marts.debates\n")
    add(copied, "marts/mine.yml", "models: [{name: mine, description: Mine.}]")
    done = debatebench_here(copied, "lineage", "mine.loud")
    assert done.out.splitlines() == [
        "marts.mine.loud = upper(motion)  sql/marts/mine.sql:1",
        *(line for line in done.out.splitlines()[1:-1]),
        done.out.splitlines()[-1],
    ]
    assert done.out.splitlines()[-1].endswith("─ raw.topics.motion")


def test_lineage_warns_of_deprecated_versions_on_the_way(copied: Path):
    packaged = (REPOSITORY / "sql" / "marts" / "debates" / "panel_winners.yml").read_text(encoding="utf-8")
    add(
        copied,
        "marts/panel_winners.yml",
        packaged.replace("- v: 4\n", "- v: 4\n        deprecation_date: 2020-01-01\n"),
    )
    warning = "Warning: marts.panel_winners_v4 has been deprecated since 2020-01-01."
    assert debatebench_here(copied, "lineage", "marts.leaderboard.rating").err.strip() == warning
    assert debatebench_here(copied, "lineage", "original.turn_timings.mean_ms").err == ""


# --- diff-models ------------------------------------------------------------------------------------------------------


def test_people_see_counts_rows_and_both_leaderboards(played: Path):
    before = digest(played)
    done = debatebench(played, "diff-models", "panel_winners", "--from", "1", "--to", "2")
    assert done.code == 0
    assert done.out.startswith("marts.panel_winners: version 1 → version 2; rows matched by run_tag, debate_id\n")
    assert re.search(r"^t +30 +30 +0 +0 +\d+ +\d+$", done.out, re.MULTILINE)
    assert "The leaderboard under both versions" in done.out
    assert "sim-atlas" in done.out
    assert digest(played) == before


def test_programs_get_everything_as_json_or_the_cells_as_csv(played: Path):
    command = ["diff-models", "marts.panel_winners", "--from", "1", "--to", "2", "--limit", "0"]
    data = json.loads(debatebench_here(played, *command, "--format", "json").out)
    assert (data["name"], data["before"], data["after"]) == ("marts.panel_winners", 1, 2)
    assert data["key"] == ["run_tag", "debate_id"]
    assert len(data["rows"]) == data["differing_rows"] == data["runs"][0]["changed"]
    assert data["runs"][0]["unchanged"] == 30 - data["differing_rows"]
    assert [each["rank_after"] for each in data["leaderboard"]] == list(range(1, 7))
    cells = list(csv.DictReader(io.StringIO(debatebench_here(played, *command, "--format", "csv").out)))
    assert len(cells) == sum(len(row["before"]) for row in data["rows"])
    assert list(cells[0] if cells else command) == ["change", "run_tag", "debate_id", "column", "before", "after"]


def test_a_model_that_the_leaderboard_does_not_follow_says_so(copied: Path):
    for version, columns in ((1, "run_tag, debate_id"), (2, "run_tag, debate_id, motion as words")):
        add(copied, f"marts/mine_v{version}.sql", f"select {columns} from marts.debates\n")
    add(
        copied,
        "marts/mine.yml",
        "models:\n  - name: mine\n    description: Mine.\n    latest_version: 1\n    versions: [{v: 1}, {v: 2}]\n"
        "    data_tests: [{unique_combination_of_columns: {combination_of_columns: [run_tag, debate_id]}}]\n",
    )
    assert debatebench_here(copied, "build").code == 0
    done = debatebench_here(copied, "diff-models", "mine", "--from", "1", "--to", "2", "--limit", "1")
    assert done.code == 0, done.err
    assert "Only version 2 has: words" in done.out
    assert "The leaderboard under" not in done.out
    assert "marts.leaderboard does not depend on marts.mine" in done.err


def test_without_a_warehouse_a_difference_cannot_be_shown(tmp_path: Path):
    done = debatebench_here(tmp_path, "diff-models", "panel_winners", "--from", "1", "--to", "2")
    assert done.code == 2
    assert "There is no warehouse at" in done.error_line


# --- docs -------------------------------------------------------------------------------------------------------------


def test_docs_writes_one_page_into_the_reports_folder_or_elsewhere(tmp_path: Path):
    done = debatebench(tmp_path, "docs")
    page = tmp_path / "reports" / "docs" / "index.html"
    assert (done.code, done.err, done.out) == (0, "", f"{page}\n")
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]
    other = debatebench_here(tmp_path, "docs", "--out-dir", str(tmp_path / "public"))
    assert other.out == f"{tmp_path / 'public' / 'index.html'}\n"
    assert (tmp_path / "public" / "index.html").read_bytes() == page.read_bytes()


def test_docs_shows_a_prerelease_and_warns_of_who_reads_it(tmp_path: Path):
    today = datetime.now(UTC).date()
    for n in (1, 2):
        add(tmp_path, f"marts/mine_v{n}.sql", "select run_tag from marts.runs\n")
    add(tmp_path, "marts/reader.sql", "select run_tag from marts.mine_v2 union all select run_tag from marts.mine_v1\n")
    add(
        tmp_path,
        "marts/mine.yml",
        "models:\n  - name: mine\n    description: Mine.\n    latest_version: 1\n"
        f"    versions: [{{v: 1, deprecation_date: {today}}}, {{v: 2}}]\n  - {{name: reader, description: Reads.}}\n",
    )
    done = debatebench_here(tmp_path, "docs")
    assert done.code == 0
    assert f"Warning: marts.reader reads marts.mine_v1, which has been deprecated since {today}." in done.err
    assert "Warning: marts.reader reads marts.mine_v2, a prerelease whose meaning may still change." in done.err
    html = (tmp_path / "reports" / "docs" / "index.html").read_text(encoding="utf-8")
    assert '<span class="badge badge-warning">prerelease</span>' in html


def test_the_page_is_never_committed_by_accident():
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    done = subprocess.run(["git", "check-ignore", "reports/docs/index.html"], cwd=REPOSITORY, capture_output=True)
    assert done.returncode == 0


# --- transpile and portability ----------------------------------------------------------------------------------------

HALVES = """\
-- One row per run.
select
    run_tag,
    count(*) / 2 as half,
    list_sort(list(distinct winner))[1] as first_winner,
    macros.wilson_low(count(case when winner = 'pro' then 1 end), count(*)) as pro_rate_low

from marts.panel_winners
group by run_tag
"""


def test_a_sql_model_is_printed_for_another_engine_with_its_macros_expanded(tmp_path: Path):
    add(tmp_path, "marts/halves.sql", HALVES)
    add(tmp_path, "marts/halves.yml", "models: [{name: halves, description: Halves.}]\n")
    spark = debatebench_here(tmp_path, "transpile", "--dialect", "spark", "halves")
    head, _, body = spark.out.partition("\n")
    assert spark.code == 0, spark.err
    assert head.startswith("-- marts.halves for spark. Compared row by row with DuckDB on Spark 4.3")
    assert "macros" not in body
    assert "TRY_ELEMENT_AT(" in body
    assert "FROM marts.panel_winners AS panel_winners" in body
    databricks = debatebench_here(tmp_path, "transpile", "--dialect", "databricks", "marts.halves").out
    assert "not run on Databricks" in databricks.partition("\n")[0]
    assert databricks.partition("\n")[2] == body
    postgres = debatebench_here(tmp_path, "transpile", "--dialect", "postgres", "halves").out.split("\n")
    assert postgres[0] == "-- marts.halves for postgres. Only text: never run on PostgreSQL."
    assert any(line.startswith("-- line 5: list(…) keeps nulls and its order") for line in postgres)


def test_what_cannot_be_written_for_a_dialect_is_named_and_the_rest_is_written(tmp_path: Path):
    done = debatebench_here(tmp_path, "transpile", "--dialect", "bigquery", "--out-dir", str(tmp_path / "out"))
    assert done.code == 1
    assert "cannot be written for bigquery: " in done.error_line
    written = {file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*.sql")}
    assert done.out == f"Wrote {len(written)} SQL models for bigquery to {tmp_path / 'out'}\n"
    assert "staging/stg_runs.sql" in written
    assert (
        (tmp_path / "out/marts/runs.sql")
        .read_text(encoding="utf-8")
        .startswith("-- marts.runs for bigquery. Only text")
    )


def test_a_construct_that_means_something_else_elsewhere_is_named_with_its_line_and_the_way_out(tmp_path: Path):
    add(tmp_path, "marts/halves.sql", HALVES)
    add(tmp_path, "marts/halves.yml", "models: [{name: halves, description: Halves.}]\n")
    done = debatebench_here(tmp_path, "test", "--portable", "--select", "halves")
    assert done.code == 0, done.err
    assert "WARN portability_marts.halves" in done.out
    assert "halves.sql: line 4: a / b of decimals or integers is a double here" in done.out
    assert "halves.sql: line 5: x[i] fails or counts from 0 elsewhere; join on" in done.out
    add(tmp_path, "marts/halves.sql", "select run_tag, format_bytes(seed) as size from staging.stg_runs\n")
    done = debatebench_here(tmp_path, "test", "--portable", "--select", "halves")
    assert done.code == 1
    assert "line 1: format_bytes(…) is written as it is, and may not exist" in done.out
    assert "it is not translated for Spark either." in done.out


def test_every_construct_that_is_looked_for_is_documented():
    from debatebench.transform.portability import RULES

    page = GUIDE.read_text(encoding="utf-8")
    assert [rule.construct for rule in RULES if rule.construct not in page or rule.instead not in page] == []


# --- start-up ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["lineage", "marts.runs.seed"], {"duckdb", "jinja2", "numpy", "plotly", "httpx", "rich"}),
        (["docs"], {"duckdb", "numpy", "plotly", "httpx", "rich"}),
        (["transpile", "--dialect", "spark", "marts.runs"], {"jinja2", "numpy", "plotly", "httpx", "rich", "pyspark"}),
        (["test", "--unit-only", "--select", "winner_counts"], {"sqlglot", "jinja2", "plotly", "httpx", "rich"}),
        (["diff-models", "panel_winners", "--from", "1", "--to", "2"], {"sqlglot", "jinja2", "plotly", "rich"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_uses(copied: Path, arguments: list[str], unused: set[str]):
    program = (
        "import sys\nfrom debatebench.cli.app import run_app\n"
        "try: run_app(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "--root", str(copied), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {name.split(".")[0] for name in done.stderr.split()} & unused == set()


# --- the guide --------------------------------------------------------------------------------------------------------

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_line(line: str) -> str:
    """Run a line of a shell in the current folder, and return what it printed."""
    words = shlex.split(line)
    if words[0] != "debatebench":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    with only_pages("index", "close_debates") if words[1] == "report" else nullcontext():
        done = debatebench_here(Path(), *words[1:])
    assert done.code == 0, f"{line}\n{done.out}\n{done.err}"
    return done.out


def test_the_guide_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every block of docs/sql-models.md in order: files are written, commands run, printed text compared."""
    monkeypatch.chdir(begin_built(tmp_path))
    printed, kinds = "", []
    for kind, path, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        kinds.append(kind)
        if kind == "sh":
            printed = "".join(map(run_line, text.splitlines()))
        elif kind == "text":
            # Line numbers of packaged files may move on.
            assert re.sub(r":\d+", ":N", printed) == re.sub(r":\d+", ":N", text)
        else:
            assert path, f"a block of {kind} without a file:\n{text}"
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
    assert set(kinds) == {"sh", "sql", "yaml", "csv", "text"}
    rows = debatebench(tmp_path, "query", "select count(*) as n from marts.close_debates_v2", "--format", "json")
    assert json.loads(rows.out)[0]["n"] > 0
