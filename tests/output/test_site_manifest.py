"""The same warehouse gives the same site, and its manifest says what it was made from."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built, stored
from command_line import debatebench_here
from report_warehouse import NOON, annotated, make_warehouse, tournament
from site_pages import keep_pages, report_files, words

from debatebench.output.report import site as site_module
from debatebench.output.report.folder import MANIFEST
from debatebench.output.report.page_time import chosen_time
from debatebench.output.report.site import build_site
from debatebench.query.attached import attached
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.errors import UsageError

pytestmark = pytest.mark.slow


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def differing(one: Path, other: Path) -> list[str]:
    """The names of files that only one of two sites has, or whose contents differ."""
    ours, theirs = contents(one), contents(other)
    assert "index.html" in ours
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `tiny` and the later `late`, which can be compared, and `bare` (no judges, no times)."""
    made = make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("tiny", tournament("tiny", ("alpha", "beta", "gamma"))),
        ("late", tournament("late", ("alpha", "beta", "gamma"), created_at=datetime(2026, 3, 1), repetitions=3)),
        ("bare", annotated("bare")),
    )
    return stored(made)


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, report_files(), tmp_path_factory.mktemp("out") / "site").parent


def manifest_of(site: Path) -> dict[str, dict[str, dict[str, str]]]:
    return dict(json.loads((site / MANIFEST).read_text(encoding="utf-8")))


@pytest.mark.parametrize("threads", [1, 2])
def test_pages_do_not_depend_on_the_clock_the_place_and_name_of_the_warehouse_threads_or_the_order_of_stored_rows(
    database: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    turned = tmp_path / "turned.duckdb"
    shutil.copy(database, turned)
    with closing(duckdb.connect(str(turned))) as con:
        tables = con.execute("select schema_name, table_name from duckdb_tables() where schema_name <> 'meta'")
        for schema, table in tables.fetchall():
            name = f'"{schema}"."{table}"'
            con.execute(f"create temp table turned as select * from {name} order by rowid desc")
            con.execute(f"delete from {name}")
            con.execute(f"insert into {name} from turned")
            con.execute("drop table turned")

    @contextmanager
    def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        with attached(path, threads=threads) as con:
            yield con

    monkeypatch.setattr(site_module, "attached", opened)
    again = build_site(turned, report_files(), tmp_path / "again").parent
    assert differing(site, again) == []
    for name, content in contents(again).items():
        assert str(tmp_path).encode() not in content, name
        assert b"turned.duckdb" not in content, name


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two simulated runs, and in `before` their site."""
    root = begin_built(tmp_path_factory.mktemp("played") / "w")
    for arguments in (("second", "--no-build"), ("first",)):
        assert debatebench_here(root, "run", "--sample-topics", "1", "--run-tag", *arguments).code == 0
    assert debatebench_here(root, "report", "--out-dir", str(root / "before")).code == 0
    return root


def test_warehouse_rebuilt_from_journals_gives_the_same_site(played: Path, tmp_path: Path) -> None:
    root = shutil.copytree(played, tmp_path / "w")
    assert debatebench_here(root, "build", "--from-journals").code == 0
    assert debatebench_here(root, "report", "--out-dir", str(root / "after")).code == 0
    assert differing(root / "before", root / "after") == []


# --- the time ---------------------------------------------------------------------------------------------------------


def test_time_of_pages_is_that_of_the_newest_record(site: Path, database: Path, tmp_path: Path) -> None:
    # The last debate of `late` begins 18 minutes after the run.
    assert "As of 2026-03-01 00:18 UTC." in words(site / "index.html")
    tiny = build_site(database, report_files("index"), tmp_path / "tiny", run_tags=["tiny"]).parent
    assert f"As of {NOON:%Y-%m-%d} 12:12 UTC." in words(tiny / "index.html")


def test_pages_about_records_without_times_state_no_time(database: Path, tmp_path: Path) -> None:
    bare = build_site(database, report_files("index"), tmp_path / "bare", run_tags=["bare"]).parent
    assert "As of" not in words(bare / "index.html")
    assert manifest_of(bare)["time"] is None


def test_source_date_epoch_is_the_time_of_pages(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (keep_pages(tmp_path, "index") / "warehouse").mkdir()
    shutil.copy(database, tmp_path / "warehouse" / "debatebench.duckdb")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    done = debatebench_here(tmp_path, "report", "--run-tag", "bare", "--out-dir", str(tmp_path / "site"))
    assert done.code == 0, done.err
    assert "As of 1970-01-02 00:00 UTC." in words(tmp_path / "site" / "index.html")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    done = debatebench_here(tmp_path, "report", "--out-dir", str(tmp_path / "site"))
    assert done.code == 2
    assert "SOURCE_DATE_EPOCH is 'yesterday'; it must be a number of seconds since 1970" in done.err


@pytest.mark.parametrize("text", ["-1", "1.5", " 1", "1e9", "٣", "253402300800", "9" * 5000])
def test_source_date_epoch_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be a number of seconds since 1970"):
        chosen_time({"SOURCE_DATE_EPOCH": text})


def test_empty_source_date_epoch_is_none() -> None:
    assert chosen_time({"SOURCE_DATE_EPOCH": ""}) is None
    assert chosen_time({"SOURCE_DATE_EPOCH": "253402300799"}) == datetime(9999, 12, 31, 23, 59, 59)


# --- the manifest -----------------------------------------------------------------------------------------------------


def test_manifest_lists_every_file_with_its_hash(site: Path) -> None:
    listed = manifest_of(site)["files"]
    found = {name: hashlib.sha256(content).hexdigest() for name, content in contents(site).items()}
    assert listed == {name: sha256 for name, sha256 in found.items() if name != MANIFEST}


def test_manifest_says_what_the_site_was_made_from(site: Path, database: Path) -> None:
    manifest = manifest_of(site)
    assert manifest["runs"]["tiny"]["benchmark_version"] == "v1"
    assert list(manifest["runs"]) == ["late", "tiny", "bare"]
    with open_for_reading(database) as con:
        models = con.execute("select count(*) from meta.builds").fetchall()
    assert [(len(manifest["sql_models"]),)] == models
    assert len(manifest["queries"]["index"]["runs"]) == 64
    assert manifest["data"]["raw.debates"]["tiny"].startswith("13 rows ")
    assert "ratings.bradley_terry" in manifest["data"]


def test_manifest_has_the_rules_in_use_and_the_hashes_of_prompts(played: Path) -> None:
    manifest = manifest_of(played / "before")
    assert manifest["rules"] == {"marts.judge_verdicts": "4", "marts.panel_winners": "4"}
    prompts = manifest["runs"]["first"]["prompts"]
    assert {"debater_prompts: pro", "debater_prompts: con", "judge_prompts: rubric and transcript"} <= prompts.keys()


def test_hashes_of_data_follow_its_content(database: Path, site: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.duckdb"
    shutil.copy(database, changed)
    with closing(duckdb.connect(str(changed))) as con:
        con.execute("update raw.topics set category = 'other' where run_tag = 'tiny' and topic_id = 't1'")
    before, after = (
        manifest_of(each)["data"]
        for each in (site, build_site(changed, report_files("index"), tmp_path / "site").parent)
    )
    assert [(table, tag) for table, runs in before.items() for tag in runs if runs[tag] != after[table][tag]] == [
        ("raw.topics", "tiny")
    ]


def test_site_with_a_former_manifest_is_replaced(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "old.html").write_text("old")
    (out / "mine.txt").write_text("mine")
    (out / ".debatebench-site.json").write_text(json.dumps({"files": ["old.html"]}))
    build_site(database, report_files("index"), out, run_tags=["bare"])
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "mine.txt", MANIFEST} <= names
    assert not {"old.html", ".debatebench-site.json"} & names


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"files": ["index.html"]}', "[" * 100_000, '{"format": 1, "files": 2}']
)
def test_manifest_of_another_program_is_not_replaced(database: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UsageError, match=r"manifest\.json is not the manifest of a site; choose another --out-dir"):
        build_site(database, report_files("index"), tmp_path, run_tags=["bare"])
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]
