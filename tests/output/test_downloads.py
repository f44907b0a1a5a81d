"""`report --downloads`: the marts of the runs of a site as files, and the links to them."""

from __future__ import annotations

import csv
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from built_warehouse import stored
from every_kind_of_run import EVIL
from report_warehouse import NOON, make_warehouse, tournament
from site_pages import parse, report_files

from debatebench.output.report.check import check_site
from debatebench.output.report.site import build_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("warehouse") / "w.duckdb"
    runs = {tag: tournament(tag, names) for tag, names in {"evil": EVIL, "absent": ("alpha", "beta")}.items()}
    return stored(make_warehouse(path, *runs.items()))


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "site"
    files = report_files("index", "data")
    return build_site(database, files, out, run_tags=["evil"], now=NOON, has_downloads=True).parent


def test_files_have_the_rows_of_the_runs_of_the_site(database: Path, site: Path):
    with closing(duckdb.connect(str(database), read_only=True)) as con:
        for mart in ("leaderboard", "debates", "head_to_head"):
            file = str(site / "marts" / f"{mart}.parquet")
            expected = con.execute(f"select * from marts.{mart} where run_tag = 'evil' order by all").fetchall()
            assert con.execute("select * from read_parquet($1) order by all", [file]).fetchall() == expected != []
            with (site / "marts" / f"{mart}.csv").open(encoding="utf-8", newline="") as text:
                assert len(list(csv.reader(text))) == 1 + len(expected)
    assert "absent" not in (site / "marts" / "runs.csv").read_text(encoding="utf-8")
    # It would be about all runs.
    assert not (site / "marts" / "comparability_verdicts.csv").exists()


def test_formulas_are_harmless_in_csv(site: Path):
    with (site / "marts" / "leaderboard.csv").open(encoding="utf-8", newline="") as text:
        cells = [cell for row in csv.reader(text) for cell in row]
    assert any(cell.startswith("'=HYPERLINK(") for cell in cells)
    assert not [cell for cell in cells if cell[:1] in "=@+" and cell]


def test_the_page_of_data_leads_to_every_file(site: Path):
    linked = {str(attrs["href"]) for tag, attrs in parse(site / "data.html").tags if "href" in attrs}
    files = {path.relative_to(site).as_posix() for path in (site / "marts").iterdir()}
    # The rows after the first thirty are packed.
    assert len(files & linked) == 60
    assert len(files) > 150


def test_a_check_makes_the_files_again_and_finds_a_change(database: Path, site: Path):
    files = report_files("index", "data")
    assert check_site(database, files, site, now=NOON).differences == []
    changed = site / "marts" / "runs.csv"
    before = changed.read_bytes()
    changed.write_bytes(before.replace(b"evil", b"good"))
    try:
        (found,) = check_site(database, files, site, now=NOON).differences
    finally:
        changed.write_bytes(before)
    assert found.startswith("marts/runs.csv: line 2, byte ")
