"""The warehouse from Python: relations, runs, SQL models, lineage, and nothing but reading."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import debatebench_here
from paths import REPOSITORY
from two_runs import two_runs

import debatebench as db
from debatebench.shared.errors import DamagedDataError, HeldWarehouseError, SqlModelError, UsageError

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]


@pytest.fixture(scope="module")
def wh(two_runs: Path) -> Iterator[db.Warehouse]:
    with db.open(two_runs) as warehouse:
        yield warehouse


@pytest.fixture
def copied(two_runs: Path, tmp_path: Path) -> Path:
    """The database file of a workspace that the test may change."""
    shutil.copytree(two_runs, tmp_path / "ws")
    return tmp_path / "ws" / "warehouse" / "debatebench.duckdb"


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=os.environ)


# --- the package ------------------------------------------------------------------------------------------------------


def test_import_of_the_package_loads_nothing_heavy():
    done = python(
        "import sys, debatebench, debatebench.api\n"
        "heavy = {'duckdb', 'sqlglot', 'pydantic', 'numpy', 'yaml', 'typer', 'jinja2', 'httpx', 'plotly'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert done.stdout == "[]\n", done.stderr


def test_every_public_name_is_there_and_shown():
    assert set(db.__all__) <= set(dir(db))
    for name in db.__all__:
        assert getattr(db, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        db.nonsense  # noqa: B018


# --- opening and closing ----------------------------------------------------------------------------------------------


def test_file_and_workspace_open_the_same_warehouse(two_runs: Path, wh: db.Warehouse):
    with db.open(str(two_runs / "warehouse" / "debatebench.duckdb")) as other:
        assert other.database == wh.database
        assert other.sql("select count(*) from marts.runs").fetchall() == [(2,)]
    assert wh.sql("select 1").fetchall() == [(1,)], "closing one leaves the other open"


def test_default_is_the_warehouse_of_the_current_folder(two_runs: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(two_runs)
    with db.open() as warehouse:
        assert list(warehouse.runs) == ["demo", "second"]


def test_closed_warehouse_says_so(two_runs: Path):
    warehouse = db.open(two_runs)
    relation = warehouse.sql("select 1")
    warehouse.close()
    warehouse.close()
    assert "closed" in repr(warehouse)
    with pytest.raises(UsageError, match="is closed; open it again"):
        warehouse.sql("select 1")
    with pytest.raises(duckdb.Error):
        relation.fetchall()


def test_repr_counts_what_is_there(wh: db.Warehouse):
    assert repr(wh) == f"<Warehouse {wh.database}: 2 runs, {len(wh.models)} SQL models>"


@pytest.mark.parametrize(
    ("content", "error", "complaint"),
    [(None, UsageError, "`debatebench run`"), (b"x" * 9999, DamagedDataError, "--from-journals")],
)
def test_what_is_no_warehouse_cannot_be_opened(
    tmp_path: Path, content: bytes | None, error: type[Exception], complaint: str
):
    if content is not None:
        (tmp_path / "w.duckdb").write_bytes(content)
    with pytest.raises(error, match=complaint):
        db.open(tmp_path / "w.duckdb")


def test_the_file_is_read_beside_connections_with_another_configuration(copied: Path):
    count = "select count(*) from marts.runs"
    with (
        duckdb.connect(str(copied), read_only=True) as before,
        db.open(copied) as one,
        db.open(copied, memory_limit="1GB") as two,
        duckdb.connect(str(copied), read_only=True) as after,
    ):
        readers = (before.sql(count), one.sql(count), two.sql(count), after.sql(count))
        assert [reader.fetchall() for reader in readers] == [[(2,)]] * 4
    with db.open(copied) as first, duckdb.connect(str(copied), read_only=True) as plain:
        assert (first.sql(count).fetchall(), plain.sql(count).fetchall()) == ([(2,)], [(2,)])


def test_a_file_that_this_process_has_open_for_writing_says_how_to_open_it(copied: Path):
    with duckdb.connect(str(copied)), pytest.raises(HeldWarehouseError, match=r"open for writing; .* `read_only=True`"):
        db.open(copied)


def test_a_new_warehouse_is_read_beside_the_old_one(copied: Path):
    old = db.open(copied)
    assert not old.is_outdated
    changed = copied.with_name("changed.duckdb")
    shutil.copyfile(copied, changed)
    with duckdb.connect(str(changed)) as con:
        con.execute("create table marts.added as select 1 as x")
    os.replace(changed, copied)
    assert old.is_outdated
    with db.open(copied) as new:
        assert new.sql("from marts.added").fetchall() == [(1,)]
        assert len(old.runs) == 2, "an open warehouse keeps the file that it opened"
        with pytest.raises(db.DebatebenchError, match="added does not exist"):
            old.query("from marts.added")
    old.close()


@pytest.mark.parametrize("name", ["memory", "temp", "main", "my warehouse", "x'; drop"])
def test_the_file_may_have_any_name(copied: Path, name: str):
    other = copied.rename(copied.with_name(f"{name}.duckdb"))
    with db.open(other) as warehouse:
        assert warehouse.query("select count(*) from marts.runs").rows == [(2,)]
        assert len(warehouse.runs) == 2


def test_warehouse_that_nobody_closes_leaves_no_complaint(two_runs: Path):
    program = (
        "import debatebench as db, sys\nwh = db.open(sys.argv[1])\nprint(wh.sql('select 1').fetchall(), wh.models)"
    )
    done = python(program, str(two_runs))
    assert done.returncode == 0
    assert done.stderr == ""


# --- relations --------------------------------------------------------------------------------------------------------


def test_sql_gives_a_relation_that_runs_each_time_it_is_read(wh: db.Warehouse):
    relation = wh.sql(
        "select run_tag, count(*) as debates from marts.debates where run_tag = $tag group by 1", {"tag": "demo"}
    )
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert relation.columns == ["run_tag", "debates"]
    assert [str(type_) for type_ in relation.types] == ["VARCHAR", "BIGINT"]
    assert relation.fetchall() == relation.fetchall() == [("demo", 30)]
    assert relation.project("debates * 2").fetchall() == [(60,)]


def test_sql_keeps_exact_types(wh: db.Warehouse):
    rows = wh.sql("select 1.10 as d, timestamp '2025-01-02 03:04:05' as t, [{'a': 1}] as l, sum(1) as s").fetchall()
    assert rows == [(Decimal("1.10"), datetime(2025, 1, 2, 3, 4, 5), [{"a": 1}], 1)]


def test_relation_becomes_a_pandas_frame(wh: db.Warehouse):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = wh.sql("select run_tag, count(*) as n from marts.debates group by 1 order by 1").df()
    assert frame.to_dict("list") == {"run_tag": ["demo", "second"], "n": [30, 30]}


def test_relation_becomes_a_polars_frame(wh: db.Warehouse):
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = wh.sql("select run_tag, count(*) as n from marts.debates group by 1 order by 1").pl()
    assert frame.to_dicts() == [{"run_tag": "demo", "n": 30}, {"run_tag": "second", "n": 30}]


def test_relation_becomes_an_arrow_table(wh: db.Warehouse):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = wh.sql("select run_tag, 1.10 as d from marts.runs order by 1").to_arrow_table()
    assert table.to_pylist() == [{"run_tag": tag, "d": Decimal("1.10")} for tag in ("demo", "second")]


@pytest.mark.parametrize(
    ("sql", "params", "error", "complaint"),
    [
        ("drop table marts.debates", None, UsageError, "exactly one SELECT"),
        ("select 1; select 2", None, UsageError, "exactly one SELECT"),
        ("", None, UsageError, "empty"),
        ("select $x", None, UsageError, r'parameter \$x has no value; give params=\{"x": …\}'),
        ("select ?", None, UsageError, r'write \$name .* give params=\{"name": …\}'),
        ("select 1", {"y": 1}, UsageError, r"no parameter \$y"),
        ("select '\udcff'", None, UsageError, "bytes that are not UTF-8 text"),
        ("select $x", {"x": "\udcff"}, UsageError, "bytes that are not UTF-8 text"),
        ("from marts.debate", None, db.DebatebenchError, 'Did you mean "debates"'),
        ("from read_text('/etc/hostname')", None, db.DebatebenchError, "may read only the warehouse"),
    ],
)
def test_mistakes_are_our_errors(
    wh: db.Warehouse, sql: str, params: dict[str, object] | None, error: type[Exception], complaint: str
):
    with pytest.raises(error, match=complaint):
        wh.sql(sql, params)
    with pytest.raises(error, match=complaint):
        wh.query(sql, params)


def test_query_is_bounded_in_rows_and_time(wh: db.Warehouse):
    result = wh.query("select $a + range as n from range(10)", {"a": 5}, limit=2)
    assert (result.columns, result.rows, result.truncated) == (("n",), [(5,), (6,)], True)
    with pytest.raises(db.DebatebenchError, match=r"longer than 0\.1 seconds"):
        wh.query("select sum(hash(range)) from range(100000000000)", timeout_s=0.1)
    assert wh.query("select 1").rows == [(1,)]


# --- what never blocks a later query ----------------------------------------------------------------------------------

MANY = "select run_tag, debate_id, range as n from marts.debates, range(20000)"


def test_a_reader_that_is_still_open_blocks_no_later_query(wh: db.Warehouse):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    reader = wh.sql(MANY).arrow()
    reader.read_next_batch()
    again = wh.sql(MANY).arrow()
    assert wh.query("select 1 as x").rows == [(1,)]
    assert wh.sql("select 2 as x").fetchall() == [(2,)]
    assert wh.leaderboard("demo").rows
    assert wh.elo("demo")
    assert sum(len(batch) for batch in again) == 60 * 20000


def test_a_relation_has_the_time_zone_of_the_warehouse(two_runs: Path):
    program = (
        "import sys, debatebench as db\n"
        "with db.open(sys.argv[1]) as wh:\n"
        "    q = \"select cast(timestamptz '2026-01-01 00:00:00+00' as varchar)\"\n"
        "    print(wh.sql(q).fetchall() == wh.query(q).rows, wh.query(q).rows[0][0])"
    )
    environ = {**os.environ, "TZ": "America/New_York"}
    done = subprocess.run([sys.executable, "-c", program, str(two_runs)], capture_output=True, text=True, env=environ)
    assert done.stdout == "True 2026-01-01 00:00:00+00\n", done.stderr


# --- results ----------------------------------------------------------------------------------------------------------

TYPED = """
    select
        1::bigint as i, 1.50::decimal(4, 2) as d, 'x' as t, date '2026-01-02' as day, true as b, 2.5::double as f,
        timestamp '2026-01-02 03:04:05' as at, [1, 2] as l, 170141183460469231731687303715884105727::hugeint as h
    union all select 9007199254740993, null, null, null, null, null, null, null, null
    order by i
"""


def test_a_result_is_an_arrow_table_with_the_types_of_the_query(wh: db.Warehouse):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = wh.query(TYPED).arrow()
    types = [str(field.type) for field in table.schema]
    assert types[:7] == ["int64", "decimal128(4, 2)", "string", "date32[day]", "bool", "double", "timestamp[us]"]
    assert [row["i"] for row in table.to_pylist()] == [1, 9007199254740993]
    assert table.to_pylist()[0]["h"] == str(2**127 - 1), "no type of Arrow has so many digits"
    assert [str(field.type) for field in wh.query(f"select * from ({TYPED}) limit 0").arrow().schema][:2] == types[:2]


def test_a_result_is_a_polars_frame_with_the_types_of_the_query(wh: db.Warehouse):
    pytest.importorskip("polars", reason="polars is not installed")
    frame = wh.query(TYPED).pl()
    assert frame["i"].to_list() == [1, 9007199254740993]
    assert frame["h"].to_list() == [2**127 - 1, None]
    assert frame["d"].to_list() == [Decimal("1.50"), None]


def test_a_result_is_a_pandas_frame_whose_integers_are_exact(wh: db.Warehouse):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = wh.query(f"select i, d, null::bigint as n, i as i from ({TYPED})").df()
    assert list(frame.columns) == ["i", "d", "n", "i"]
    assert frame.iloc[:, 0].tolist() == [1, 9007199254740993]
    assert frame["d"].tolist() == [Decimal("1.50"), None]
    assert str(frame["n"].dtype) == "Int64"


def test_two_columns_of_one_name_are_both_in_what_becomes_of_a_result(wh: db.Warehouse):
    result = wh.query("select 1 as a, 2 as b, 3 as a")
    assert result.dicts() == [{"a": 1, "b": 2, "a_1": 3}]
    assert result.columns == ("a", "b", "a")


@pytest.mark.parametrize(("package", "convert"), [("polars", "pl"), ("pyarrow", "arrow")])
def test_two_columns_of_one_name_are_both_in_a_frame(wh: db.Warehouse, package: str, convert: str):
    pytest.importorskip(package, reason=f"{package} is not installed")
    frame = getattr(wh.query("select 1 as a, 2 as b, 3 as a"), convert)()
    rows = frame.to_pylist() if package == "pyarrow" else frame.to_dicts()
    assert rows == [{"a": 1, "b": 2, "a_1": 3}]


def test_a_package_that_is_not_there_is_named(wh: db.Warehouse, monkeypatch: pytest.MonkeyPatch):
    result = wh.query("select 1 as x")
    for package, convert in (("pandas", result.df), ("polars", result.pl), ("pyarrow", result.arrow)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(UsageError, match=rf"{package} is not installed; `pip install {package}`"):
            convert()


def test_a_notebook_shows_a_result_as_a_table_in_which_nothing_is_markup(wh: db.Warehouse):
    hostile = "<script>alert(1)</script> & \u202e\x1b[31m"
    html = wh.query('select $x as "<b>x</b>", 1.25 as n, null as e', {"x": hostile})._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; �␛[31m" in html
    assert '<td style="text-align: right">1.25</td>' in html
    assert "<p>1 row</p>" in html


def test_a_long_result_is_shown_in_part_and_says_so(wh: db.Warehouse):
    result = wh.query("select range as n from range(2000)")
    assert result._repr_html_().count("<tr>") == 51
    assert "The first 50 of the first 1,000 rows, and there are more." in result._repr_html_()
    assert str(wh.query("select range as n from range(60)")).endswith("The first 50 of 60 rows.\n")
    assert str(wh.query("select 1 as n")).split() == ["n", "─", "1"]
    assert repr(result) == "<the first 1,000 rows, and there are more: n>"
    assert len(result) == 1000


# --- what there is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [3, b"x", ["demo"], Path("demo")])
def test_an_argument_of_a_wrong_type_is_one_sentence(wh: db.Warehouse, wrong: Any):
    asked: dict[str, Callable[[], object]] = {
        "sql must be text": lambda: wh.query(wrong),
        "sql must be text, not of type": lambda: wh.sql(wrong),
        "debate_id must be text": lambda: wh.debate(wrong),
        "run_tag must be text": lambda: wh.debate("x", wrong),
        "run_tag must be text, not of type": lambda: wh.leaderboard(wrong),
        "baseline must be text": lambda: wh.compare(wrong, "demo"),
        "candidate must be text": lambda: wh.compare("demo", wrong),
        "run_tag must be": lambda: wh.elo(wrong),
        "name must be text": lambda: wh.lineage(wrong),
        "params must be a mapping": lambda: wh.query("select 1", wrong),
        "params must be a mapping from names": lambda: wh.sql("select 1", wrong),
        "limit must be a whole number": lambda: wh.query("select 1", limit="5"),  # type: ignore[arg-type]
        "timeout_s must be a number": lambda: wh.query("select 1", timeout_s="5"),  # type: ignore[arg-type]
        "initial must be a number": lambda: wh.elo("demo", initial="5"),  # type: ignore[arg-type]
        "k must be a number": lambda: wh.elo("demo", k="5"),  # type: ignore[arg-type]
    }
    for complaint, ask in asked.items():
        with pytest.raises(UsageError, match=f"^The argument {complaint}"):
            ask()


def test_text_that_is_needed_cannot_be_none(wh: db.Warehouse):
    none: Any = None
    for ask in (wh.query, wh.sql, wh.debate, wh.elo, wh.lineage, db.open):
        with pytest.raises(UsageError, match="not of type NoneType"):
            ask(none)
    with pytest.raises(UsageError, match="not of type NoneType"):
        wh.compare("demo", none)


def test_elo_settings_that_give_no_ratings_are_refused(wh: db.Warehouse):
    with pytest.raises(UsageError, match="k must be a finite number of at least 0, not nan"):
        wh.elo("demo", k=float("nan"))
    with pytest.raises(UsageError, match="the initial rating must be a finite number, not inf"):
        wh.elo("demo", initial=float("inf"))


def test_a_name_that_is_no_text_is_no_key(wh: db.Warehouse):
    for mapping in (wh.models, wh.runs):
        assert None not in mapping
        with pytest.raises(KeyError, match="'None'"):
            mapping[None]  # type: ignore[index]


def test_everything_has_a_short_repr(wh: db.Warehouse):
    debate_id = wh.query("select debate_id from marts.debates where run_tag = 'demo' order by 1 limit 1").rows[0][0]
    shown = {
        "<2 runs: demo, second>": wh.runs,
        "<simulated run demo: 30 debates, version v1>": wh.runs["demo"],
        f"<debate {debate_id} of run 'demo': ": wh.debate(debate_id, "demo"),
        "<run 'demo' and run 'second': ": wh.compare("demo", "second"),
        "<marts.leaderboard.win_rate from ": wh.lineage("marts.leaderboard.win_rate"),
        "<marts.leaderboard: table of ": wh.models["leaderboard"],
        f"<{len(wh.models)} SQL models: ": wh.models,
        "<6 rows: rank, ": wh.leaderboard("demo"),
    }
    for start, thing in shown.items():
        assert repr(thing).startswith(start), repr(thing)
        assert len(repr(thing)) < 500


def test_a_model_is_found_without_its_schema_and_a_misspelt_one_is_suggested(wh: db.Warehouse):
    assert wh.models["leaderboard"] is wh.models["marts.leaderboard"]
    assert wh.models["stg_debates"].name == "staging.stg_debates"
    assert "leaderboard" in wh.models
    assert "leaderbord" not in wh.models
    with pytest.raises(KeyError, match=r"Did you mean 'marts\.leaderboard'"):
        wh.models["leaderbord"]
    with pytest.raises(KeyError, match="Did you mean 'demo'"):
        wh.runs["deno"]


def test_the_leaderboard_is_that_of_the_run_or_of_the_last(wh: db.Warehouse):
    result = wh.leaderboard("demo")
    expected = wh.sql(
        "select model_id, rating from marts.leaderboard where run_tag = 'demo' and is_displayed order by rank, model_id"
    )
    assert [(row["model_id"], row["rating"]) for row in result.dicts()] == expected.fetchall()
    assert wh.leaderboard().rows == wh.leaderboard("second").rows
    with pytest.raises(UsageError, match=r"No run 'deno'.*Did you mean 'demo'"):
        wh.leaderboard("deno")


def test_a_debate_is_its_row_with_speeches_and_verdicts_and_prints_as_text(wh: db.Warehouse):
    debate_id = wh.query("select debate_id from marts.debates where run_tag = 'demo' order by 1 limit 1").rows[0][0]
    debate = wh.debate(debate_id, "demo")
    assert (debate["run_tag"], len(debate["turns"])) == ("demo", 6)
    assert str(debate).startswith(debate["motion"])
    assert debate._repr_html_().startswith("<pre>")
    with pytest.raises(UsageError, match="No debate 'nope'"):
        wh.debate("nope")


def test_a_comparison_is_the_one_of_the_command(wh: db.Warehouse):
    compared = wh.compare("demo", "second")
    assert (compared.baseline.name, compared.candidate.name) == ("demo", "second")
    assert {row["model_id"] for row in compared.debaters} == {row[3] for row in wh.leaderboard("demo").rows}
    with pytest.raises(UsageError, match="Did you mean 'second'"):
        wh.compare("demo", "secnd")


def test_a_comparison_prints_what_the_command_prints(wh: db.Warehouse, two_runs: Path):
    compared = wh.compare("demo", "second")
    text, command = str(compared), debatebench_here(two_runs, "compare", "demo", "second").out.splitlines()
    assert text.splitlines()[:4] == command[:4]
    assert {compared.outcome, compared.basis(), compared.verdict["explanation"]} <= set(text.splitlines())
    assert set(text.splitlines()) <= {*command, ""}
    assert "Win rates" in text
    doubtful = replace(compared, unfinished=[{"run_tag": "demo", "count_complete": 1, "count_planned": 2}])
    assert "\nWarning: run 'demo' is not finished: 1 of 2 debates are complete.\n" in str(doubtful)
    assert "is not finished" in doubtful._repr_html_()


def test_a_notebook_shows_a_comparison_in_which_nothing_is_markup(wh: db.Warehouse):
    hostile = "<script>alert(1)</script> & \u202e\x1b[31m"
    compared = wh.compare("demo", "second")
    rows = [{**row, "model_id": hostile} for row in compared.debaters]
    html = replace(compared, outcome=hostile, debaters=rows)._repr_html_()
    assert "<script>" not in html
    assert "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; �␛[31m</p>" in html
    assert html.count("<table>") == html.count("</table>") >= 3
    text = str(replace(compared, outcome=hostile, debaters=rows))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_runs_are_in_the_order_of_their_making(wh: db.Warehouse):
    assert list(wh.runs) == ["demo", "second"]
    run = wh.runs["second"]
    assert (run.source, run.seed, run.is_simulated) == ("run", 7, True)
    assert run.count_planned == run.count_debates == run.count_complete == 30
    assert isinstance(run.cost_usd, Decimal)
    assert isinstance(run.created_at, datetime)
    assert (run.kind, run.title, run.is_excluded, run.is_pinned) == ("tournament", None, False, False)
    with pytest.raises(TypeError):
        wh.runs["x"] = run  # type: ignore[index]


def test_models_have_descriptions_columns_and_rows(wh: db.Warehouse):
    table, view = wh.models["marts.panel_winners_v4"], wh.models["marts.panel_winners"]
    assert (table.materialized, table.version, table.rows, table.alias_of) == ("table", 4, 60, None)
    assert (view.materialized, view.version, view.rows, view.alias_of) == ("view", None, None, table.name)
    assert table.description == view.description != ""
    assert table.columns == view.columns
    assert [column.name for column in table.columns][:3] == ["run_tag", "debate_id", "count_pro"]
    assert table.columns[0].type == "VARCHAR"
    assert all(column.description for model in wh.models.values() for column in model.columns)
    assert list(wh.models) == sorted(wh.models)


def test_every_model_can_be_queried_with_the_columns_it_states(wh: db.Warehouse):
    for model in wh.models.values():
        relation = wh.sql(f"select * from {model.name}")
        assert relation.columns == [column.name for column in model.columns]
        assert [str(type_) for type_ in relation.types] == [column.type for column in model.columns]


def test_models_of_a_workspace_are_described_by_its_own_files(copied: Path):
    own = copied.parent.parent / "sql" / "marts"
    own.mkdir(parents=True)
    packaged = REPOSITORY / "sql" / "marts" / "debaters" / "leaderboard.yml"
    (own / "leaderboard.yml").write_text(
        packaged.read_text().replace("Debaters ranked by Bradley–Terry", "Ours. Ranked", 1)
    )
    with pytest.warns(UserWarning, match="was built from other SQL models"):
        warehouse = db.open(copied)
    with warehouse:
        assert warehouse.models["marts.leaderboard"].description.startswith("Ours.")


def test_file_outside_a_workspace_is_described_by_the_packaged_files(copied: Path, tmp_path: Path):
    lone = tmp_path / "elsewhere.duckdb"
    shutil.copyfile(copied, lone)
    with db.open(lone) as warehouse:
        assert warehouse.models["marts.leaderboard"].description.startswith("Debaters ranked by Bradley–Terry")


def test_warehouse_without_a_build_has_no_models(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        con.execute("create table t as select 1 as x")
    with db.open(tmp_path / "w.duckdb") as warehouse:
        assert dict(warehouse.models) == {}
        with pytest.raises(db.DebatebenchError, match=r"marts\.runs.* does not exist"):
            warehouse.runs  # noqa: B018
        assert "not built" in repr(warehouse)


def test_lineage_goes_down_to_the_landed_columns(wh: db.Warehouse):
    node = wh.lineage("marts.leaderboard.win_rate")
    assert node.name == "marts.leaderboard.win_rate"
    assert {each.relation for each in node.nodes() if each.is_in_raw} >= {"raw.verdicts"}
    with pytest.raises(UsageError, match=r"marts\.nonsense"):
        wh.lineage("marts.nonsense.x")


# --- only reading -----------------------------------------------------------------------------------------------------


def test_elo_is_that_of_the_warehouse_and_can_be_asked_for_other_settings(wh: db.Warehouse):
    for run_tag in wh.runs:
        stored = dict(
            wh.sql("select model_id, rating from ratings.elo where run_tag = $tag", {"tag": run_tag}).fetchall()
        )
        assert wh.elo(run_tag) == stored
    raised = wh.elo(run_tag, initial=1400)
    assert raised == pytest.approx({model_id: rating + 1000 for model_id, rating in stored.items()})
    assert set(wh.elo(run_tag, k=0).values()) == {400.0}
    with pytest.raises(UsageError, match="No run 'nope' in the warehouse"):
        wh.elo("nope")


def test_python_variables_are_no_tables(wh: db.Warehouse):
    numpy = pytest.importorskip("numpy")
    canary = {"a": numpy.array([1])}
    assert canary
    with pytest.raises(db.DebatebenchError, match="Table with name canary does not exist"):
        wh.sql("from canary")
    with pytest.raises(duckdb.Error, match="Table with name canary does not exist"):
        wh.connection.sql("from canary")


def test_relation_writes_no_file(wh: db.Warehouse, tmp_path: Path):
    relation = wh.sql("select 1 as x")
    for write in (relation.to_parquet, relation.write_parquet, relation.to_csv, relation.write_csv):
        with pytest.raises(duckdb.PermissionException):
            write(str(tmp_path / "x"))
    for act in (relation.create, relation.to_table):
        with pytest.raises(duckdb.Error):
            act("marts.x")
    assert list(tmp_path.iterdir()) == []


# --- a warehouse that does not fit its SQL models ---------------------------------------------------------------------


def add_sql(database: Path, name: str, text: str) -> None:
    """Add a file to the SQL models of the workspace."""
    path = database.parents[1] / "sql" / "marts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_warehouse_that_was_built_from_other_sql_models_is_a_warning(copied: Path):
    with db.open(copied):
        pass
    add_sql(copied, "one.sql", "select 1 as one\n")
    with pytest.warns(UserWarning, match="was built from other SQL models or data; this is the last build") as warned:
        wh = db.open(copied)
    with wh:
        assert list(wh.runs) == ["demo", "second"]
        assert wh.elo("demo")
    assert [warning.filename for warning in warned] == [__file__]


def test_runs_and_ratings_of_a_warehouse_that_lacks_sql_models_are_refused(copied: Path):
    with duckdb.connect(str(copied)) as con:
        con.execute("drop view intermediate.int_comparison_topics; drop table meta.build_state")
    with pytest.warns(UserWarning, match="was built from other SQL models or data"):
        wh = db.open(copied)
    with wh:
        for read in (lambda: wh.runs, lambda: wh.elo("demo")):
            with pytest.raises(UsageError, match="lacks SQL models of this version; run `debatebench build` first"):
                read()
        assert wh.query("select count(*) from raw.runs").rows == [(2,)]


def test_a_copy_outside_a_workspace_is_read_as_it_is(copied: Path, tmp_path: Path):
    with duckdb.connect(str(copied)) as con:
        con.execute("drop table meta.build_state")
    with db.open(shutil.copy(copied, tmp_path / "copy.duckdb")) as wh:
        assert list(wh.runs) == ["demo", "second"]


def test_sql_models_that_cannot_be_read_are_named(copied: Path):
    add_sql(copied, "wrong.sql", "select from where\n")
    with pytest.warns(UserWarning, match="was built from other SQL models"):
        wh = db.open(copied)
    with wh:
        with pytest.warns(UserWarning, match=r"Not described is what is broken: .*wrong\.sql"):
            assert wh.models["marts.leaderboard"].description
        with pytest.raises(SqlModelError, match=r"wrong\.sql"):
            wh.lineage("marts.wrong.one")
        assert wh.lineage("marts.leaderboard.win_rate")
