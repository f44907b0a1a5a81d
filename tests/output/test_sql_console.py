"""`report --sql-console`: the marts as a DuckDB file, and DuckDB in a real browser on a page from a folder."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from built_warehouse import stored
from command_line import debatebench, tour
from npm_wasm import installed_wasm
from report_warehouse import HOSTILE, NOON, make_warehouse, tournament
from site_browser import Watched, chromium, site_address, violations, watched
from site_pages import report_files

from debatebench.output.report.console import find_wasm, write_marts
from debatebench.output.report.site import build_site
from debatebench.query.safe_query import run_query
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

READY_MS = 120_000
FILES = report_files("index", "results")
RUNS = ("first", "second", f"third{HOSTILE}")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with three runs, of which one is hostile wherever a run can be."""
    names = ("alpha", "beta", f"gamma{HOSTILE}")
    runs = [(tag, tournament(tag, names, motion=f"={HOSTILE}", created_at=NOON)) for tag in RUNS]
    return make_warehouse(tmp_path_factory.mktemp("console") / "warehouse.duckdb", *runs)


@pytest.fixture(scope="module")
def quick(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it that has computed its views."""
    return stored(Path(shutil.copy(database, tmp_path_factory.mktemp("quick") / "warehouse.duckdb")))


@pytest.fixture(scope="module")
def site(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of all three runs with a console."""
    folder = tmp_path_factory.mktemp("console") / "site"
    build_site(quick, FILES, folder, run_tags=RUNS, wasm=installed_wasm(), now=NOON)
    return folder


@pytest.fixture(scope="module")
def file(database: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The file of all runs, and the names of its tables."""
    path = tmp_path_factory.mktemp("console") / "file.duckdb"
    return path, write_marts(database, path, None)


def questions(database: Path) -> list[str]:
    sql = "select unnest(questions).sql from main.sql_models where sql_model like 'marts.%'"
    return [text for (text,) in run_query(database, sql, limit=None).rows]


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_holds_every_mart_as_a_table(database: Path, file: tuple[Path, list[str]]):
    path, names = file
    relations = "select table_schema || '.' || table_name from information_schema.tables where table_schema in "
    assert run_query(database, f"{relations} ('marts', 'ratings', 'original') order by all", limit=None).rows == [
        (name,) for name in sorted(names)
    ]
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("select count(*) from duckdb_views() where not internal").fetchall() == [(0,)]
        for name in ("marts.leaderboard", "marts.debates", "marts.verdict_scores", "ratings.elo"):
            counted = f"select count(*), count(distinct x::varchar) from {name} as x"
            assert con.execute(counted).fetchall() == run_query(database, counted).rows
    assert path.stat().st_size < database.stat().st_size / 3


def test_every_question_of_the_marts_has_the_same_answer_in_the_file(quick: Path, file: tuple[Path, list[str]]):
    asked = questions(quick)
    assert len(asked) > 40
    with duckdb.connect(str(file[0]), read_only=True) as con:
        for sql in asked:
            own = sorted(map(repr, con.execute(sql).fetchall()))
            assert own == sorted(map(repr, run_query(quick, sql, limit=None).rows)), sql


def test_a_file_of_one_run_says_nothing_about_the_others(database: Path, tmp_path: Path):
    path = tmp_path / "file.duckdb"
    names = write_marts(database, path, ("first",))
    assert "marts.run_comparability" not in names
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("select run_tag from marts.runs").fetchall() == [("first",)]
        for name in names:
            found = con.execute(f"select count(*) from {name} as x where x::varchar like '%second%'").fetchall()
            assert found == [(0,)], name
    assert b"second" not in path.read_bytes()


# --- the files of npm -------------------------------------------------------------------------------------------------


def test_without_duckdb_wasm_the_command_of_npm_is_told(tmp_path: Path):
    tour(tmp_path / "w")
    done = debatebench(tmp_path / "w", "report", "--sql-console", "--duckdb-wasm", str(tmp_path))
    assert done.code == 2
    command = f"`npm install --ignore-scripts --prefix {tmp_path} @duckdb/duckdb-wasm@1.32.0 apache-arrow@17.0.0`"
    assert command in done.error_line
    assert not (tmp_path / "w" / "reports" / "site").exists()
    done = debatebench(tmp_path / "w", "report", "--duckdb-wasm", str(tmp_path))
    assert (done.code, "--duckdb-wasm needs --sql-console" in done.error_line) == (2, True)


def test_a_changed_file_of_duckdb_wasm_is_refused(tmp_path: Path):
    installed_wasm()
    from npm_wasm import FOLDER

    for name in ("@duckdb/duckdb-wasm/dist", "apache-arrow"):
        shutil.copytree(FOLDER / "node_modules" / name, tmp_path / "node_modules" / name)
    assert find_wasm([tmp_path]).parts == find_wasm([tmp_path / "node_modules"]).parts
    client = tmp_path / "node_modules" / "@duckdb" / "duckdb-wasm" / "dist" / "duckdb-browser.cjs"
    client.write_bytes(client.read_bytes() + b"\n")
    with pytest.raises(UsageError, match=r"duckdb-browser\.cjs is not that of @duckdb/duckdb-wasm@1\.32\.0"):
        find_wasm([tmp_path])


def test_a_site_without_a_console_has_nothing_of_it(quick: Path, tmp_path: Path, site: Path):
    build_site(quick, FILES, tmp_path / "site", run_tags=RUNS, now=NOON)
    plain = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")}
    added = {path.relative_to(site).as_posix() for path in site.rglob("*")} - plain
    assert {"sql.html", "data/console/engine.js", "assets/console.js", "assets/duckdb.LICENSE.txt"} <= added
    assert {path.split("/")[0] for path in added} == {"sql.html", "data", "assets"}
    assert "sql.html" in (site / "index.html").read_text(encoding="utf-8")
    assert "sql.html" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    (packed,) = re.findall(r'"([A-Za-z0-9+/=]{100,})"', (site / "data/console/marts.js").read_text(encoding="ascii"))
    assert gzip.decompress(base64.b64decode(packed))[8:12] == b"DUCK"
    # What the help says.
    assert 9e6 < sum((site / path).stat().st_size for path in added if (site / path).is_file()) < 13e6


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def console(browser: Browser, site: Path, fragment: str = "", **look: Any) -> Iterator[Watched]:
    """The console of a site, ready, on which nothing may go wrong."""
    with watched(browser, site_address(site), **look) as found:
        page = found.open(f"{site_address(site)}sql.html{fragment}")
        page.wait_for_function("() => /is ready/.test(document.getElementById('status').textContent)", timeout=READY_MS)
        yield found
        assert found.problems() == []


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Path) -> Iterator[Page]:
    """One console for many queries: the engine starts once."""
    with console(browser, site) as found:
        yield found.page


def answered(page: Page, sql: str) -> tuple[list[str], list[list[str]], str]:
    """The columns and rows of the answer to a query, and the error."""
    page.fill("#sql", sql)
    page.press("#sql", "Control+Enter")
    page.wait_for_function("() => !document.getElementById('run').disabled", timeout=READY_MS)
    columns = page.locator("#answer th").all_inner_texts()
    rows = page.eval_on_selector_all(
        "#answer tbody tr", "all => all.map((r) => [...r.cells].map((c) => c.textContent))"
    )
    return columns, rows, page.inner_text("#error") if page.is_visible("#error") else ""


def test_the_engine_reads_the_file_that_this_duckdb_has_written(opened: Page):
    columns, rows, error = answered(opened, "select version() as v, count(*) as n from marts.runs;")
    assert (columns, error) == (["v", "n"], "")
    ((version, count),) = rows
    assert re.fullmatch(r"v1\.\d+\.\d+", version)
    assert int(count) == len(RUNS)


def test_a_question_of_each_subject_has_the_answer_of_the_warehouse(opened: Page, quick: Path):
    groups = opened.locator("#question optgroup")
    assert groups.count() > 5
    for group in groups.all():
        opened.select_option("#question", group.locator("option").first.get_attribute("value"))
        sql = opened.input_value("#sql")
        _, rows, error = answered(opened, sql)
        assert error == "", sql
        assert len(rows) == len(run_query(quick, sql, limit=None).rows), sql


def test_values_are_exact(opened: Page):
    sql = (
        "select 9007199254740993 as big, 0.1::decimal(38, 18) as money, null as nothing, [1, 2] as list, "
        "timestamp '2026-01-01 12:00:00' as at, true as yes, 1e300 as large, 1 as big"
    )
    columns, rows, error = answered(opened, sql)
    assert error == ""
    assert columns == ["big", "money", "nothing", "list", "at", "yes", "large", "big"]
    assert rows == [
        ["9007199254740993", "0.100000000000000000", "null", "[1, 2]", "2026-01-01 12:00:00", "true", "1e+300", "1"]
    ]


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select * from marts.nothing", "marts.nothing"),
        ("selec 1", "syntax error"),
        ("from read_csv('https://example.com/x.csv')", "disabled"),
        ("from read_text('/etc/passwd')", "disabled"),
        ("from 'https://example.com/x.parquet'", ""),
        ("select '{}'::json", "json"),
        ("load json", ""),
        ("set enable_external_access = true", "locked"),
        ("set autoload_known_extensions = true", "locked"),
        ("create table marts.mine as select 1", "read-only"),
        ("copy (select 1) to 'x.csv'", "disabled"),
        ("attach 'https://example.com/x.duckdb' as x", "disabled"),
        ("select 1; select 2; drop table marts.runs", ""),
    ],
)
def test_what_a_query_may_not_do_is_an_error_in_words(opened: Page, sql: str, words: str):
    _, rows, error = answered(opened, sql)
    assert rows == []
    assert len(error) > 10
    assert words.lower() in error.lower()
    assert answered(opened, "select 1 as one")[1] == [["1"]]


def test_a_statement_that_is_no_select_but_reads_is_answered(opened: Page):
    assert ["run_tag"] in [row[:1] for row in answered(opened, "describe marts.runs")[1]]
    assert answered(opened, "-- a comment\nfrom marts.runs select count(*) as n -- and another")[1] == [["3"]]


def test_hostile_values_are_text_and_formulas_are_defused(opened: Page):
    _, rows, error = answered(opened, "select distinct motion from marts.topics order by all")
    assert error == ""
    shown = rows[0][0]
    assert "<script>document.title='pwned'</script>" in shown
    assert not re.search("[\x00\x1b\u202e\u2066\u200b]", shown)
    assert opened.locator("#answer img, #answer script, #answer a").count() == 0
    assert "pwned" not in opened.title()
    with opened.expect_download() as download:
        opened.click("#csv")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("motion\n\"'=") or text.startswith("motion\r\n\"'=")
    # Numbers stay numbers, and text that is none of them stays as it is.
    answered(opened, "select -1 as n, '+1' as t, 'a,b' as c, 'plain' as p")
    with opened.expect_download() as download:
        opened.click("#csv")
    assert Path(download.value.path()).read_bytes() == b'n,t,c,p\r\n-1,\'+1,"a,b",plain\r\n'


def test_a_hostile_error_is_text(opened: Page):
    _, _, error = answered(opened, 'select "<img src=x onerror=document.title=1>\u202e" from marts.runs')
    assert "<img src=x" in error
    assert "\u202e" not in error
    assert opened.locator("#error img").count() == 0


def test_a_long_answer_is_shown_in_part_and_downloaded_whole(opened: Page):
    _, rows, _ = answered(opened, "select range as n from range(2500)")
    assert len(rows) == 1000
    assert opened.inner_text("#status").startswith("2,500 rows, of which the first 1,000 are shown")
    with opened.expect_download() as download:
        opened.click("#csv")
    assert len(Path(download.value.path()).read_bytes().splitlines()) == 2501
    answered(opened, "select range as n from range(200000)")
    assert opened.inner_text("#status").startswith("The first 100,000 rows")


def test_on_a_phone_numbers_and_names_stay_whole_and_a_long_text_is_broken_between_words(opened: Page):
    size = opened.viewport_size
    opened.set_viewport_size({"width": 390, "height": 844})
    numbers = ", ".join(f"849.599101413 + {n} as n{n}" for n in range(5))
    answered(opened, f"select 'gemma-27b' as m, {numbers} union all select repeat('a word ', 30), {numbers}")
    heights = opened.locator("#answer tbody tr").evaluate_all("all => all.map((r) => r.offsetHeight)")
    opened.set_viewport_size(size or {"width": 1280, "height": 720})
    assert heights[0] < 60 < heights[1]


def test_an_endless_query_can_be_stopped_and_the_next_is_answered(opened: Page):
    opened.fill("#sql", "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = -1")
    opened.press("#sql", "Control+Enter")
    opened.click("#stop")
    opened.wait_for_selector("text=The query was stopped.", timeout=READY_MS)
    assert answered(opened, "select 2 as two")[1] == [["2"]]


def test_a_link_brings_a_query_and_does_not_run_it(browser: Browser, site: Path):
    with console(browser, site, "#sql=select%20%27a%2Bb%27%20as%20x") as found:
        assert found.page.input_value("#sql") == "select 'a+b' as x"
        assert found.page.locator("#answer *").count() == 0
        found.page.click("#run")
        found.page.wait_for_selector("#answer td")
        assert found.page.url.endswith("#sql=select%20'a%2Bb'%20as%20x")


@pytest.mark.slow_inputs
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_the_page_fits(browser: Browser, site: Path, scheme: Any, width: int):
    with watched(browser, site_address(site), color_scheme=scheme, viewport={"width": width, "height": 844}) as found:
        page = found.open(f"{site_address(site)}sql.html")
        page.wait_for_function("() => !document.getElementById('run').disabled", timeout=READY_MS)
        answered(page, "select * from marts.leaderboard")
        page.click("summary")
        assert violations(page) == []
        answered(page, "select nothing")
        assert violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
