"""The static site: every number from a query, nothing from elsewhere, and hostile text that stays text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from built_warehouse import stored
from command_line import debatebench_here
from hypothesis import given
from hypothesis import strategies as st
from imported import PANELBENCH, add_import, imported_run, kept_records
from judged_runs import judged_run
from report_warehouse import HOSTILE, NOON, annotated, make_warehouse, tournament
from site_browser import draw_charts, site_address, watched
from site_pages import Parsed, chart_specs, figures, opened_debates, parse, report_files, site_data, unpacked, words

from debatebench.output.report.charts import chart
from debatebench.output.report.colours import SCALES, contrast, ink_on, shade_colour
from debatebench.output.report.data_files import packed
from debatebench.output.report.folder import FORMAT, MANIFEST, replace_files
from debatebench.output.report.html import format_values, guess_format, heading
from debatebench.output.report.page import CHARTS, FORMATS, ColumnFormat, Options, Section, load_pages
from debatebench.output.report.site import build_site
from debatebench.output.report.stored_once import STORED, stored_once
from debatebench.query.attached import attached
from debatebench.query.safe_query import run_query
from debatebench.shared.errors import ConfigError, DebatebenchError, UsageError
from debatebench.shared.records import Debate, Record, Run, Topic
from debatebench.shared.workspace import Workspace, packaged

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

NOW = datetime(2026, 2, 3, 4, 5)
DEBATERS = ("alpha", "beta", "gamma")
EVIL_DEBATERS = (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>click</a>", "2024")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `tiny` (simulated), `evil` (hostile text everywhere, overlapping judges), `bare` (no judges)."""
    evil = tournament(
        "evil",
        EVIL_DEBATERS,
        motion=HOSTILE,
        speech=HOSTILE,
        judges=("judge-a", f"judge {HOSTILE}"),
        allows_judge_overlap=True,
        created_at=datetime(2025, 1, 1),
    )
    made = make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("tiny", tournament("tiny", DEBATERS, is_simulated=True)),
        ("evil", evil),
        ("bare", annotated("bare")),
    )
    return stored(made)


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, report_files(), tmp_path_factory.mktemp("out") / "site", now=NOW).parent


def html_pages(site: Path) -> list[Path]:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 8
    return pages


# --- what the pages say -----------------------------------------------------------------------------------------------


def test_site_has_a_page_for_the_whole_for_each_run_and_for_all_debates(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "debates.html").is_file()
    for tag, count in (("tiny", 13), ("evil", 13), ("bare", 2)):
        folder = site / "runs" / tag
        assert sorted(p.name for p in folder.glob("*.html")) == [
            "calls.html",
            "costs.html",
            "debaters.html",
            "index.html",
            "judges.html",
            "reading.html",
            "topics.html",
        ]
        assert len(site_data(site, f"debates/{tag}/list")["ids"]) == count


def test_leaderboard_shows_what_the_mart_says(site: Path, database: Path) -> None:
    rows = run_query(
        database,
        "select model_id, rating, wins, win_rate from marts.leaderboard "
        "where run_tag = 'tiny' and is_displayed order by rank",
    ).rows
    text = words(site / "runs" / "tiny" / "index.html")
    assert [row[0] for row in rows] == ["alpha", "beta", "gamma"]
    for name, rating, wins, win_rate in rows:
        assert re.search(rf"{name} {rating:,.0f} \S+ to \S+ \d+ \d+ {wins} .*? {100 * win_rate:.1f}%", text)
    assert "alpha" in words(site / "index.html")


def test_debaters_with_few_debates_are_hidden_and_counted(site: Path) -> None:
    for page in (site / "index.html", site / "runs" / "tiny" / "index.html"):
        assert "1 of 4 debaters has fewer than 5 rated debates; the leaderboard does not show it." in words(page)


def test_speeches_cut_at_the_token_limit_are_told_with_the_leaderboard(site: Path, database: Path) -> None:
    told = "1 of 52 speeches was cut off at the token limit and judged as it is: 1 of 16 of beta."
    assert told in words(site / "runs" / "tiny" / "index.html")
    assert "cut off" not in words(site / "runs" / "bare" / "index.html")
    (root := site.parent / "root" / "warehouse").mkdir(parents=True)
    (root / "debatebench.duckdb").write_bytes(database.read_bytes())
    assert told in debatebench_here(root.parent, "show-leaderboard", "--run-tag", "tiny").err
    assert "cut off" not in debatebench_here(root.parent, "show-leaderboard", "--run-tag", "bare").err


def test_of_many_debaters_with_cut_speeches_five_are_named(tmp_path: Path) -> None:
    (root := tmp_path / "warehouse").mkdir()
    debaters = tuple(f"debater-{n}" for n in range(7))
    made = make_warehouse(
        root / "debatebench.duckdb", ("many", tournament("many", debaters, repetitions=1, are_cut=True))
    )
    told = (
        "44 of 172 speeches were cut off at the token limit and judged as they are: 7 of 26 of debater-0, 7 of 24 of "
        "debater-1, 6 of 24 of debater-2, 6 of 24 of debater-3, 6 of 24 of debater-4, and those of 2 more debaters."
    )
    assert told in debatebench_here(tmp_path, "show-leaderboard", "--run-tag", "many").err
    site = build_site(made, report_files("index", "results"), tmp_path / "site", now=NOW).parent
    assert told in words(site / "runs" / "many" / "index.html")


def test_every_page_says_that_it_measures_preference_not_truth(site: Path) -> None:
    for page in html_pages(site):
        assert "Every number here is a preference" in words(page)
        assert "None of them measures whether what was said is true" in words(page)


def test_simulated_runs_carry_a_banner_and_others_do_not(site: Path) -> None:
    banner = "This run was made with simulated debaters and judges, so it says nothing about real models."
    for page in (site / "runs" / "tiny").rglob("*.html"):
        assert banner in words(page)
    assert "simulated debaters and judges" not in words(site / "runs" / "evil" / "index.html")
    assert "Run 'tiny' was made with simulated debaters and judges" in words(site / "index.html")


def test_runs_with_overlapping_judges_carry_a_banner(site: Path) -> None:
    assert "In this run, debaters were also judges" in words(site / "runs" / "evil" / "index.html")
    assert "sat on panels" not in words(site / "runs" / "tiny" / "index.html")


def test_run_without_verdicts_says_so_in_words(site: Path) -> None:
    text = words(site / "runs" / "bare" / "index.html")
    assert "No debater of this run has a rating to show." in text
    assert "2 of 2 debates have no decision, because no verdict on them counts." in text
    assert "Human verdicts" in text
    assert "weak evidence" in text
    assert "No verdicts yet." in words(site / "runs" / "bare" / "judges.html")
    assert "No debater of this run has both a rating and a known cost." in words(site / "runs" / "bare" / "costs.html")


def test_a_run_with_verdicts_and_too_few_debates_does_not_say_that_it_has_no_verdicts(tmp_path: Path) -> None:
    records = tournament("few", ("alpha", "beta"), repetitions=1)
    made = make_warehouse(tmp_path / "debatebench.duckdb", ("few", records))
    site = build_site(made, report_files("index", "results"), tmp_path / "site", now=NOW).parent
    text = words(site / "runs" / "few" / "index.html")
    assert "No debater of this run has a rating to show." in text
    assert "3 of 3 debaters have fewer than 5 rated debates; the leaderboard does not show them." in text
    assert "No verdicts yet" not in text


def test_every_section_unfolds_its_sql(site: Path) -> None:
    sql = " ".join(site_data(site, "queries/results")["leaderboard"].split())
    assert sql.endswith(
        "from marts.leaderboard where run_tag = $run_tag and is_displayed order by format desc, rank, model_id"
    )
    needs = figures(site / "runs" / "tiny" / "index.html")
    assert needs["command"] == "debatebench query --file FILE --param run_tag=tiny"
    assert needs["params"] == [["run_tag", "'tiny'"]]


def test_every_chart_has_its_numbers_in_a_table(site: Path) -> None:
    seen = 0
    for page in html_pages(site):
        html = page.read_text(encoding="utf-8")
        for section in re.findall(r"<section.*?</section>", html, re.S):
            if "<figure" in section:
                seen += 1
                assert section.count("<table>") == 1
                assert "<th" in section
                assert "<caption>" in section
    assert seen > 15


# --- what the pages are made of ---------------------------------------------------------------------------------------


def test_pages_load_nothing_from_elsewhere_and_every_link_leads_somewhere(site: Path) -> None:
    ids = {page: {attrs["id"] for _, attrs in parse(page).tags if "id" in attrs} for page in html_pages(site)}
    for page in ids:
        for tag, attrs in parse(page).tags:
            for name in ("href", "src", "action", "data", "poster", "srcset"):
                address = attrs.get(name)
                # The empty icon, without which a browser asks the server for one.
                if address is None or (tag, address) == ("link", "data:,"):
                    continue
                assert not re.match(r"[a-z]+:|//", address), (page, tag, address)
                path, _, fragment = address.partition("#")
                target = (page.parent / path).resolve() if path else page
                assert target.is_file(), (page, address)
                assert target.is_relative_to(site)
                if target.name == "debates.html" and "=" in fragment:
                    assert opened_debates(site, fragment), (page, address)
                else:
                    assert not fragment or fragment in ids[target]


def test_pages_run_no_inline_script_and_say_so_to_the_browser(site: Path) -> None:
    for page in html_pages(site):
        policies = []
        for tag, attrs in parse(page).tags:
            assert not [name for name in attrs if name.startswith("on")], (page, tag, attrs)
            assert "style" not in attrs, (page, tag, attrs)
            if tag == "script":
                assert attrs.get("src") or attrs.get("type") == "application/gzip"
            if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
                policies.append(str(attrs["content"]))
            assert tag not in ("iframe", "object", "embed", "base", "form", "style")
        (policy,) = policies
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe-eval" not in policy
        assert ("'unsafe-inline'" in policy) == ("<figure" in page.read_text(encoding="utf-8"))


def test_plotly_is_the_published_bundle_of_the_version_of_the_package(site: Path) -> None:
    vendor = packaged("reports") / "vendor"
    sums = dict(line.split("  ")[::-1] for line in (vendor / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in vendor.iterdir()} - {"SHA256SUMS"}
    for name, known in sums.items():
        for path in (vendor / name, site / "assets" / name):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == known, path
    heads = [
        (vendor / "plotly-cartesian.min.js").read_text(encoding="utf-8")[:200],
        (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")[:200],
    ]
    bundled, packed = (re.findall(r"plotly\.js (?:\(cartesian - minified\) )?(v[0-9.]+)\n", head) for head in heads)
    assert bundled == packed != []


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_now_is_the_only_time_on_a_page(database: Path, site: Path, tmp_path: Path) -> None:
    build_site(database, report_files(), tmp_path / "later", run_tags=["bare"], now=datetime(2030, 1, 1))
    for name in ("index.html", "judges.html"):
        old = (site / "runs" / "bare" / name).read_text(encoding="utf-8")
        new = (tmp_path / "later" / "runs" / "bare" / name).read_text(encoding="utf-8")
        assert new != old
        assert new == old.replace("2026-02-03 04:05", "2030-01-01 00:00")


# --- debates that are judged again ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of `held`, `again` (which judges it twice, in hostile words), an import, and `teams` (which judges it)."""
    held = list(tournament("held", ("alpha", "beta"), repetitions=1))
    methods = {f"judge {HOSTILE}": "chronological_v1", "judge-b": "direct"}
    made = make_warehouse(
        tmp_path_factory.mktemp("judged") / "debatebench.duckdb",
        ("held", iter(held)),
        ("again", judged_run("again", held, trials=2, methods=methods, text=HOSTILE)),
        ("t", iter(imported_run("panelbench", PANELBENCH))),
        ("teams", judged_run("teams", imported_run("panelbench", PANELBENCH))),
    )
    return build_site(stored(made), report_files(), tmp_path_factory.mktemp("out") / "site", now=NOW).parent


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [(tag, tournament(tag, DEBATERS)) for tag in ("first", "second", "third")]
    return make_warehouse(tmp_path_factory.mktemp("three") / "debatebench.duckdb", *runs)


def stored_of(warehouse: Path, names: Iterable[str], *, count_runs: int, count_debates: int) -> set[str]:
    """What is stored for a site once it has read these views, each of which has the rows of the warehouse."""
    with attached(warehouse) as con:
        con.execute("use warehouse")
        with stored_once(con, count_runs=count_runs, count_debates=count_debates) as shared:
            for name in sorted(names):
                query = f"select * from {name} order by all"
                sharing = shared.reading(query)
                assert sharing is not None, f"{name} is no view of the warehouse"
                assert sharing.execute(query).fetchall() == con.execute(query).fetchall(), name
            made = con.execute(
                "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'stored views'"
            ).fetchall()
    return {name for (name,) in made}


@pytest.mark.parametrize("count_runs", [1, 3])
def test_what_queries_of_a_site_share_has_the_rows_of_the_warehouse(three_runs: Path, count_runs: int) -> None:
    assert stored_of(three_runs, STORED, count_runs=count_runs, count_debates=1_000_000) == STORED


def test_queries_about_few_debates_share_every_view(three_runs: Path) -> None:
    names = ("marts.runs", "marts.topics")
    made = stored_of(three_runs, names, count_runs=3, count_debates=30_000)
    assert made >= set(names)
    assert "marts.judge_bias" not in made, "only what is read is computed"
    assert not any(name.startswith("staging.") for name in made)


def test_every_link_of_a_site_with_judged_runs_leads_somewhere(judged: Path) -> None:
    for page in html_pages(judged):
        for tag, attrs in parse(page).tags:
            href = str(attrs.get("href") or "")
            if tag == "a" and href and not href.startswith(("#", "http")):
                path, _, fragment = href.partition("#")
                assert (page.parent / path).is_file(), (page, href)
                assert "debates.html" not in path or not fragment or opened_debates(judged, fragment), (page, href)


# --- hostile text -----------------------------------------------------------------------------------------------------


def test_hostile_text_is_text_in_every_page(site: Path) -> None:
    seen = 0
    for page in html_pages(site):
        html = page.read_text(encoding="utf-8")
        assert "\x00" not in html
        assert "\x1b" not in html
        assert not set(html) & set("\u202e\u2066\u200b\U000e0041")
        parsed = parse(page)
        tags = {tag for tag, _ in parsed.tags}
        assert not tags & {"img", "b", "i"}
        assert "49" not in re.findall(r"\{\{ 7 \* 7 \}\}|\b49 \{%", html)
        seen += "<img src=x onerror=" in "".join(parsed.text)
        assert not [attrs for _, attrs in parsed.tags if "javascript:" in str(attrs.get("href", ""))]
    assert seen >= 5
    assert "{{ 7 * 7 }} {% raw %} ${alert(1)} ]]> --> ␀␛[31m���� %{x} & &lt;i&gt;" in "".join(
        parse(site / "runs" / "evil" / "index.html").text
    )


def test_hostile_names_are_text_in_charts(site: Path) -> None:
    specs = chart_specs(site / "runs" / "evil" / "index.html")
    assert len(specs) >= 5

    def texts(value: Any) -> list[str]:
        if isinstance(value, str):
            return [value]
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [text for part in parts for text in texts(part)]

    found = [text for spec in specs for text in texts(spec)]
    assert any("&lt;img src=x" in text for text in found)
    assert {tag for text in found for tag in re.findall(r"<[^>]*>", text)} <= {"<br>", "<extra>", "</extra>"}


def test_debate_ids_never_choose_where_files_go(tmp_path: Path) -> None:
    names = [
        "../../etc",
        "UPPER",
        "upper",
        "a" * 300,
        "with space",
        "é",
        ".hidden",
        "a/b",
        "a\\b",
        "index.html",
        "",
        "d1",
    ]

    def records() -> Iterator[Record]:
        yield Run(run_tag="t", source="import", format="debateflow")
        yield Topic(run_tag="t", topic_id="t", source_position=0, motion="M")
        for n, name in enumerate(names):
            yield Debate(run_tag="t", debate_id=name, source_position=n, topic_id="t")

    database = make_warehouse(tmp_path / "w.duckdb", ("t", records()))
    site = build_site(database, report_files("index", "debates"), tmp_path / "out" / "site", now=NOW).parent
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["site"]
    assert sorted(p.name for p in (site / "data" / "debates" / "t").iterdir()) == ["list.js", "texts-0.js"]
    assert site_data(site, "debates/t/list")["ids"] == names


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    "path", ["runs/tiny/index.html", "runs/tiny/judges.html", "runs/tiny/costs.html", "index.html"]
)
def test_charts_are_drawn_without_a_complaint(browser: Browser, site: Path, path: str) -> None:
    with watched(browser, site_address(site)) as shown:
        page = shown.open((site / path).as_uri())
        assert draw_charts(page) >= 1
        assert page.locator("thead button").count() > 3, "columns can be sorted"
        assert shown.problems() == []


@pytest.mark.parametrize("path", ["index.html", "runs/evil/index.html", "runs/evil/judges.html"])
def test_hostile_text_runs_nothing_in_a_browser(browser: Browser, site: Path, path: str) -> None:
    with watched(browser, site_address(site)) as shown:
        page = shown.open((site / path).as_uri())
        draw_charts(page)
        assert page.title().endswith("· debatebench")
        parsed = Parsed()
        parsed.feed(page.content())
        assert shown.problems() == []
    assert "img" not in {tag for tag, _ in parsed.tags}
    for tag, attrs in parsed.tags:
        address = attrs.get("href") or attrs.get("xlink:href") or ""
        assert "javascript:" not in address, (tag, address)
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)


# --- the folder -------------------------------------------------------------------------------------------------------


def fill(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def test_new_files_replace_old_ones_and_foreign_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "site"
    replace_files(fill(tmp_path / "a", {"index.html": "1", "runs/x/index.html": "1", "assets/a.css": "1"}), out)
    fill(out, {"notes.txt": "mine", "runs/x/mine.html": "mine"})
    replace_files(fill(tmp_path / "b", {"index.html": "2", "runs/y/index.html": "2"}), out)
    assert contents(out) == {
        "index.html": "2",
        "notes.txt": "mine",
        "runs/x/mine.html": "mine",
        "runs/y/index.html": "2",
    }
    assert not (out / "assets").exists()
    assert list(json.loads((out / MANIFEST).read_text())["files"]) == ["index.html", "runs/y/index.html"]


def test_foreign_file_in_the_way_is_refused_before_anything_changes(tmp_path: Path) -> None:
    out = fill(tmp_path / "site", {"index.html": "mine"})
    new = fill(tmp_path / "new", {"assets/a.css": "1", "index.html": "1"})
    with pytest.raises(UsageError, match=r"index\.html is not a file of this site; move it elsewhere"):
        replace_files(new, out)
    assert contents(out) == {"index.html": "mine"}
    assert not (out / MANIFEST).exists()


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "site", fill(tmp_path / "elsewhere", {"keep": "me"})
    out.mkdir()
    (out / "runs").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="runs is not a folder of this site"):
        replace_files(fill(tmp_path / "new", {"runs/keep": "1"}), out)
    assert contents(elsewhere) == {"keep": "me"}


def test_manifest_cannot_delete_what_lies_outside(tmp_path: Path) -> None:
    out = tmp_path / "site"
    listed = {"format": FORMAT, "files": ["../precious", "/etc/x", 7]}
    fill(tmp_path, {"precious": "1", f"site/{MANIFEST}": json.dumps(listed)})
    replace_files(fill(tmp_path / "new", {"index.html": "1"}), out)
    assert (tmp_path / "precious").read_text() == "1"


def test_unreadable_manifest_is_refused(tmp_path: Path) -> None:
    out = fill(tmp_path / "site", {MANIFEST: "{"})
    with pytest.raises(UsageError, match="is not the manifest of a site"):
        replace_files(fill(tmp_path / "new", {"index.html": "1"}), out)


def test_site_whose_writing_was_broken_off_is_written_again(tmp_path: Path) -> None:
    out = tmp_path / "site"
    # As it is when the process dies half way: listed, but only some files there.
    listed = {"format": FORMAT, "files": {"assets/a.css": None, "index.html": None, "old.html": None}}
    fill(out, {"assets/a.css": "half", MANIFEST: json.dumps(listed)})
    replace_files(fill(tmp_path / "new", {"assets/a.css": "1", "index.html": "1"}), out)
    assert contents(out) == {"assets/a.css": "1", "index.html": "1"}


def overlay(tmp_path: Path, **files: str) -> dict[str, Path]:
    """Files of a site with few pages, and some over them: `pages__x` is `pages/x.yml`, `templates__x` an HTML file."""
    result = report_files("index", "debates")
    for name, text in files.items():
        folder, _, stem = name.partition("__")
        path = tmp_path / f"{stem}.{'yml' if folder == 'pages' else 'html'}"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        result[f"{folder}/{path.name}"] = path
    return result


def test_failed_page_leaves_the_old_site_as_it_was(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "site"
    build_site(database, overlay(tmp_path), out, run_tags=["bare"], now=NOW)
    before = tree(out)
    broken = overlay(
        tmp_path,
        pages__zz="path: zz.html\ntitle: Z\nsections:\n  - {id: a, title: A, query: select * from marts.nothing}\n",
    )
    with pytest.raises(ConfigError, match=r"zz\.yml: sections\[0\]: section 'a': SQL: Table with name nothing"):
        build_site(database, broken, out, run_tags=["bare"], now=NOW)
    assert tree(out) == before
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["site"]


def test_folder_behind_a_link_is_written_where_it_is(database: Path, tmp_path: Path) -> None:
    (tmp_path / "real" / "folder").mkdir(parents=True)
    (tmp_path / "site").symlink_to(tmp_path / "real" / "folder")
    index = build_site(database, report_files("index"), tmp_path / "site", run_tags=["bare"], now=NOW)
    assert index == tmp_path / "site" / "index.html"
    assert (tmp_path / "real" / "folder" / "index.html").is_file()
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["folder"]


def test_place_that_cannot_be_written_is_an_error_in_one_sentence(database: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DebatebenchError, match=r"file cannot be written: .+\.$"):
        build_site(database, report_files("index"), tmp_path / "file" / "site", run_tags=["bare"], now=NOW)
    with pytest.raises(UsageError, match="file is not a folder; choose another --out-dir"):
        build_site(database, report_files("index"), tmp_path / "file", run_tags=["bare"], now=NOW)


def test_site_of_one_run_holds_that_run_only(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    for tag in ("tiny", "bare"):
        build_site(database, report_files("index", "results"), out, run_tags=[tag], now=NOW)
    assert [path.name for path in (out / "runs").iterdir()] == ["bare"]


def test_unknown_run_names_the_known_ones(database: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"No run 'tinny' in the warehouse\. Known: bare, evil, tiny\. Did you mean 'tiny'\?"
    ):
        build_site(database, report_files(), tmp_path / "site", run_tags=["tinny"], now=NOW)
    assert list(tmp_path.iterdir()) == []


def test_warehouse_without_marts_says_what_makes_them(tmp_path: Path) -> None:
    import duckdb

    duckdb.connect(str(tmp_path / "w.duckdb")).close()
    with pytest.raises(UsageError, match="has no marts yet; run `debatebench build`"):
        build_site(tmp_path / "w.duckdb", report_files(), tmp_path / "site", now=NOW)


def test_warehouse_without_runs_gives_a_page_that_says_so(tmp_path: Path) -> None:
    index = build_site(make_warehouse(tmp_path / "w.duckdb"), report_files(), tmp_path / "site", now=NOW)
    assert "No runs yet" in words(index)
    assert {path.name for path in (tmp_path / "site").rglob("*.html")} == {"index.html", "methods.html", "data.html"}


def test_report_changes_no_byte_of_the_warehouse_folder(database: Path, tmp_path: Path) -> None:
    before = tree(database.parent)
    build_site(database, report_files(), tmp_path / "site", run_tags=["bare"], now=NOW)
    assert tree(database.parent) == before


# --- page definitions -------------------------------------------------------------------------------------------------


def test_workspace_adds_and_replaces_pages(database: Path, tmp_path: Path) -> None:
    files = overlay(
        tmp_path,
        pages__mine=(
            "path: mine.html\ntitle: Mine\nintro: One.\n"
            "sections:\n  - id: a\n    title: Only of {run_tag}\n    show: dots\n"
            "    query: select model_id, rating from marts.leaderboard where run_tag = $run_tag and is_displayed\n"
            "    roles: {label: model_id, value: rating}\n"
        ),
    )
    out = build_site(database, files, tmp_path / "site", run_tags=["tiny"], now=NOW).parent
    assert "Only of tiny" in words(out / "mine.html")


def test_cells_open_the_debates_that_they_count(database: Path, tmp_path: Path) -> None:
    page = """
path: mine.html
title: Mine
sections:
  - id: wins
    title: Wins
    query: >-
      select run_tag, model_id, wins, null as nothing, opponent_id, games from marts.head_to_head
      join (select run_tag, model_id, wins as own from marts.leaderboard) using (run_tag, model_id)
    columns:
      model_id:
      wins: {opens: {debater: model_id, opponent: opponent_id, result: =win, rated: =1}}
      games: {opens: {debater: nothing}}
  - id: table
    title: By opponent
    show: crosstab
    query: select run_tag, model_id, opponent_id, games from marts.head_to_head
    roles: {x: opponent_id, y: model_id, value: games}
    columns:
      games: {opens: {debater: model_id, opponent: opponent_id}}
"""
    site = build_site(
        database, overlay(tmp_path, pages__mine=page), tmp_path / "site", run_tags=["tiny", "evil"], now=NOW
    ).parent
    links = [str(attrs["href"]) for tag, attrs in parse(site / "mine.html").tags if tag == "a" and "href" in attrs]
    opened = [link for link in links if link.startswith("debates.html#")]
    assert "debates.html#run=tiny&debater=alpha&opponent=beta&result=win&rated=1" in opened
    assert "debates.html#run=tiny&debater=alpha&opponent=beta" in opened
    pairs = run_query(database, "select wins > 0 from marts.head_to_head").rows
    # A cell that counts no debate leads nowhere.
    assert len(opened) == len(pairs) + sum(has_won for (has_won,) in pairs)
    evil = [link for link in opened if "run=evil" in link]
    assert evil
    assert all(re.fullmatch(r"[\w.#=&%-]+", link) for link in evil)


def test_page_of_the_readme_can_be_used(database: Path, tmp_path: Path) -> None:
    readme = (packaged("reports") / "README.md").read_text(encoding="utf-8")
    page = re.findall(r"```yaml\n(.*?)```", readme, re.S)[0]
    site = build_site(
        database, overlay(tmp_path, pages__mine=page), tmp_path / "site", run_tags=["tiny"], now=NOW
    ).parent
    assert "Ratings of tiny" in words(site / "mine.html")
    assert re.search(r"Debater Rating .*alpha \d\d\d", words(site / "mine.html"))


def test_readme_names_every_way_to_show_rows_and_every_format() -> None:
    readme = (packaged("reports") / "README.md").read_text(encoding="utf-8")
    for word in (*CHARTS, *FORMATS, *(role for needed, possible in CHARTS.values() for role in (*needed, *possible))):
        assert f"`{word}`" in readme, word


PAGE = "path: p.html\ntitle: P\nsections:\n  - id: a\n    title: A\n    query: select 1 as x\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: P\n", "path: found nothing; allowed: text"),
        ("path: ../p.html\ntitle: P\n", r"path: found '\.\./p\.html'; allowed: a relative path"),
        ("path: /p.html\ntitle: P\n", "allowed: a relative path"),
        ("path: assets/p.html\ntitle: P\n", "allowed: a relative path"),
        ("path: p.js\ntitle: P\n", "allowed: a relative path"),
        ("path: p.html\ntitle: P\nfor_each: run\n", r"allowed: a path with \{run_tag\}"),
        ("path: p.html\ntitle: '{motion}'\n", "allowed: text with no placeholders"),
        ("path: p.html\ntitle: P\nfor_each: judge\n", "for_each: found 'judge'; allowed: site, run, comparison"),
        ("path: p.html\ntitle: P\nsection: []\n", r"section: found an unknown key \(did you mean 'sections'\?\)"),
        (PAGE + "    show: pie\n", "show: found 'pie'; allowed: bars"),
        (PAGE + "    show: dots\n    roles: {label: x}\n", "roles.value: found nothing; allowed: the name of a column"),
        (PAGE + "    show: dots\n    roles: {label: x, value: x, size: x}\n", "size: found an unknown key"),
        (PAGE + "    show: dots\n    roles: {label: x, value: [x, x]}\n", "roles.value: found"),
        (PAGE + "    options: {range: [1, 0]}\n", "range: found .*; allowed: two numbers, the lower first"),
        (PAGE + "    columns: {x: {format: euro}}\n", "format: found 'euro'; allowed: text, count"),
        (PAGE + "    columns: {x: {opens: {model: x}}}\n", r"opens\.model: found an unknown key"),
        (PAGE + "    columns: {x: {opens: {debater: y}}}\n", "returns no column 'y'; it returns: x"),
        (PAGE + "    columns: {y: }\n", "the query of section 'a' returns no column 'y'; it returns: x"),
        (PAGE + "  - id: a\n    title: B\n    query: select 1\n", "'a' occurs twice"),
        (PAGE.replace("id: a", "id: 'a b'"), "id: found 'a b'; allowed: lower-case letters"),
        (PAGE.replace("select 1 as x", "select 1; select 2"), "exactly one SELECT statement"),
        (PAGE.replace("select 1 as x", "copy (select 1) to 'x'"), "exactly one SELECT statement"),
        (PAGE.replace("select 1 as x", "from read_text('/etc/hostname')"), "may read only the warehouse"),
        ("path: index.html\ntitle: P\n", "'index' and 'p' both have the path index.html"),
    ],
)
def test_page_that_cannot_be_used_is_refused_with_its_place(
    database: Path, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_site(database, overlay(tmp_path, pages__p=text), tmp_path / "site", run_tags=["bare"], now=NOW)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ nothing }}", r"section\.html:1: 'nothing' is undefined"),
        ("{% if %}", r"section\.html:1"),
        ("{{ ''.__class__ }}", "unsafe"),
        ("\n{{ 1 / 0 }}", r"section\.html:2: division by zero"),
        ("{{ {}['a'] }}", r"section\.html:1: 'dict object' has no attribute 'a'"),
        ("{% include 'section.html' %}", r"section\.html:1: maximum recursion depth"),
        ("{% extends 'section.html' %}", r"section\.html:1: maximum recursion depth"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", r"section\.html:1: maximum recursion depth"),
        ("{{ range(10 ** 9) }}", r"section\.html:1: Range too big"),
        ("{{ 'a' * 10 ** 16 }}", r"section\.html:1: MemoryError"),
        ("\udcff", r"section\.html is not UTF-8 text \(byte 0\)"),
    ],
)
def test_template_that_cannot_be_used_is_refused(database: Path, tmp_path: Path, text: str, message: str) -> None:
    files = overlay(tmp_path, templates__section=text)
    with pytest.raises(ConfigError, match=message):
        build_site(database, files, tmp_path / "site", run_tags=["bare"], now=NOW)
    assert not (tmp_path / "site").exists()


def test_packaged_pages_describe_themselves() -> None:
    pages = load_pages(report_files())
    assert [page.name for page in pages] == [
        "index",
        "results",
        "debaters",
        "debater",
        "judges",
        "topics",
        "costs",
        "calls",
        "debates",
        "reading",
        "comparison",
        "compared",
        "people",
        "weaknesses",
        "robustness",
        "methods",
        "data",
    ]
    for page in pages:
        for section in page.sections:
            assert section.show != "text" or section.text
            assert "select *" not in section.query.replace("select * from winners", "").replace(
                "select * from scores", ""
            )


# --- charts -----------------------------------------------------------------------------------------------------------


def section_of(show: str, options: Options | None = None, **roles: str | tuple[str, ...]) -> Section:
    named = {role: (columns,) if isinstance(columns, str) else columns for role, columns in roles.items()}
    return Section("s", "S", "select 1", show, roles=named, options=options or Options())


def test_a_line_joins_the_frontier_from_cheap_to_dear() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "dear", "usd": 3, "rating": 500, "best": True},
        {"name": "waste", "usd": 2, "rating": 300, "best": False},
        {"name": "cheap", "usd": 1, "rating": 400, "best": True},
        {"name": "unknown", "usd": None, "rating": 450, "best": None},
    ]
    line, points = chart(section_of("scatter", x="usd", y="rating", label="name", frontier="best"), rows)["data"]
    assert (line["mode"], line["x"], line["y"]) == ("lines", [1, 3], [400, 500])
    assert points["text"] == ["dear", "waste", "cheap", "unknown"]


@pytest.mark.parametrize("show", ["bars", "heatmap", "dots", "boxes"])
def test_names_that_look_like_numbers_are_not_places(show: str) -> None:
    names = ["2024", "1e3", "alpha", "2025-01-01"]
    rows: list[dict[str, Any]] = [{"m": name, "v": 1} for name in names]
    roles: dict[str, dict[str, str | tuple[str, ...]]] = {
        "bars": {"label": "m", "values": ("v",)},
        "heatmap": {"x": "v", "y": "m", "value": "v"},
        "dots": {"label": "m", "value": "v"},
        "boxes": {"label": "m"} | dict.fromkeys(("low", "q1", "median", "q3", "high"), "v"),
    }
    spec = chart(section_of(show, **roles[show]), rows)
    axis = spec["layout"]["yaxis"]
    assert (axis["type"], axis["tickvals"], axis["ticktext"]) == ("linear", [0, 1, 2, 3], names)
    assert axis["range"] == [3.5, -0.5]
    assert spec["data"][0]["y"] == [0, 1, 2, 3]
    assert all(isinstance(note["y"], int) for note in spec["layout"].get("annotations", []))


def test_sides_have_the_same_colour_wherever_they_are_drawn() -> None:
    spec = chart(
        section_of("bars", label="m", values=("con_rate", "pro_rate", "x")),
        [{"m": "a", "con_rate": 1, "pro_rate": 2, "x": 3}],
    )
    assert [trace["marker"]["color"] for trace in spec["data"]] == ["var(--con)", "var(--pro)", "var(--series-3)"]


def test_what_is_no_number_is_a_gap_in_a_chart() -> None:
    rows = [{"m": "a", "v": None}, {"m": "b", "v": float("nan")}, {"m": "c", "v": Decimal("1.5")}]
    spec = chart(section_of("bars", label="m", values=("v",)), rows)
    assert spec["data"][0]["x"] == [None, None, 1.5]
    json.loads(unpacked(packed(spec)))


def test_heat_map_of_the_same_names_has_them_in_the_same_order() -> None:
    rows = [{"a": a, "b": b, "v": 0.5} for a in ("x", "y", "z") for b in ("x", "y", "z") if a != b]
    spec = chart(section_of("heatmap", x="b", y="a", value="v"), rows)
    assert spec["layout"]["xaxis"]["ticktext"] == spec["layout"]["yaxis"]["ticktext"] == ["x", "y", "z"]
    (trace,) = spec["data"]
    assert [trace["z"][n][n] for n in range(3)] == [None, None, None]
    assert sum(text != "" for line in trace["text"] for text in line) == 6


def test_heat_map_places_values_within_its_range() -> None:
    rows = [{"a": "x", "b": str(n), "v": v} for n, v in enumerate((0.2, 0.5, 0.8))]
    spec = chart(section_of("heatmap", Options(range=(0.2, 0.8)), x="b", y="a", value="v"), rows)
    cells = [
        (z, trace["text"][0][n], trace["textfont"]["color"])
        for trace in spec["data"]
        for n, z in enumerate(trace["z"][0])
    ]
    drawn = sorted((z, text, ink) for z, text, ink in cells if z is not None)
    assert [z for z, _, _ in drawn] == [0, 0.5, 1]
    assert [text for _, text, _ in drawn] == ["0.20", "0.50", "0.80"]
    assert [ink for _, _, ink in drawn] == [ink_on(shade_colour(z, "sequential")) for z in (0, 0.5, 1)]
    assert len({ink for _, _, ink in drawn}) == 2


def test_long_names_are_cut_only_while_they_differ() -> None:
    differing = [{"m": f"{n} " + "x" * 50, "v": 1} for n in range(2)]
    same_start = [{"m": "x" * 50 + str(n), "v": 1} for n in range(2)]
    section = section_of("bars", label="m", values=("v",))
    assert all(text.endswith("…") for text in chart(section, differing)["layout"]["yaxis"]["ticktext"])
    assert chart(section, same_start)["layout"]["yaxis"]["ticktext"] == ["x" * 50 + "0", "x" * 50 + "1"]


def test_dots_show_intervals_where_they_are_known() -> None:
    rows = [{"m": "a", "v": 5, "lo": 4, "hi": 7}, {"m": "b", "v": 5, "lo": None, "hi": None}]
    spec = chart(section_of("dots", label="m", value="v", low="lo", high="hi"), rows)
    assert spec["data"][0]["error_x"]["array"] == [2.0, None]
    assert spec["data"][0]["error_x"]["arrayminus"] == [1.0, None]


def test_dots_that_are_not_strong_are_hollow() -> None:
    rows = [{"m": "a", "v": 5, "s": True}, {"m": "b", "v": 4, "s": False}, {"m": "c", "v": 3, "s": None}]
    spec = chart(section_of("dots", label="m", value="v", strong="s"), rows)
    assert spec["data"][0]["marker"]["symbol"] == ["circle", "circle-open", "circle-open"]


@given(st.floats(0, 1), st.sampled_from(sorted(SCALES)))
def test_ink_on_a_heat_map_can_be_read(shade: float, scale: str) -> None:
    background = shade_colour(shade, scale)
    assert contrast(ink_on(background), background) >= 4.5


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)
    assert contrast("#123456", "#123456") == pytest.approx(1)


@given(st.text())
def test_packed_data_cannot_be_left_by_any_text(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert re.fullmatch("[A-Za-z0-9+/=]+", packed([text]))
    assert json.loads(unpacked(packed([text]))) == [text]


# --- values -----------------------------------------------------------------------------------------------------------


def shown(name: str, *values: Any) -> list[str]:
    return [cell.text for cell in format_values(values, guess_format(name, values))]


def test_values_are_written_as_their_names_suggest() -> None:
    assert shown("win_rate", 2 / 3, None, 1.0) == ["66.7%", "–", "100.0%"]
    assert shown("rating", 1523.456, 400.0) == ["1,523", "400"]
    assert shown("total_tokens", 1234567) == ["1,234,567"]
    assert shown("mean_turn_duration_ms", 12345.6, 940.2) == ["12.3 s", "940 ms"]
    assert shown("cost_usd", Decimal("12.3456"), Decimal("2")) == ["$12.35", "$2.00"]
    assert shown("cost_usd", Decimal("0.0123"), Decimal("2")) == ["$0.0123", "$2.0000"]
    assert shown("cost_usd", Decimal("0.0000123"), Decimal("0")) == ["$0.000012", "$0.000000"]
    assert shown("cost_usd", Decimal("4e-11"), Decimal("0")) == ["$0.000000000040", "$0.000000000000"]
    assert shown("winner", "no_decision", "pro") == ["no decision", "pro"]
    assert shown("is_simulated", True, False) == ["yes", "no"]
    assert shown("created_at", NOON) == ["2026-01-01 12:00"]
    assert shown("x", [1, Decimal("2.50")]) == ["[1, 2.50]"]


def test_a_shared_rank_is_marked_and_sorts_as_a_number() -> None:
    cells = format_values([1, 1, 3, None, None], "rank")
    assert [cell.text for cell in cells] == ["1=", "1=", "3", "–", "–"]
    assert [cell.sort for cell in cells] == [1, 1, 3, None, None]


def test_headings_are_labels_or_what_the_name_says() -> None:
    assert heading("model_id") == "Debater"
    assert heading("win_rate") == "Win rate"
    assert heading("mean_ms") == "Mean"
    assert heading("model_id", ColumnFormat(label="Model")) == "Model"


def test_imports_of_every_format_give_a_site(shared: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    sources = {
        "flow": ("debateflow", shared / "debateflow"),
        "bp": ("panelbench", shared / "panelbench" / "BP-Competition"),
        "golden": ("debatebench", shared / "debatebench-v0" / "golden" / "debates.jsonl"),
    }
    for tag, (format_name, path) in sources.items():
        add_import(workspace, tag, format_name, path)
    database = make_warehouse(tmp_path / "w.duckdb", *((tag, kept_records(workspace.imports / tag)) for tag in sources))
    site = build_site(database, report_files("index", "results"), tmp_path / "site", now=NOW).parent
    assert re.search(r"OO 8 CG 4 OG 4 CO 3", words(site / "runs" / "bp" / "index.html"))
    assert "Injected weaknesses" in words(site / "runs" / "flow" / "index.html")
    ratings = json.loads((shared / "debatebench-v0" / "golden" / "ratings.json").read_text())["models"]
    text = words(site / "runs" / "golden" / "index.html")
    for name, rated in ratings.items():
        assert re.search(rf"\b\d+ {name} \S+ \S+ to \S+ {rated['rating']:,.0f} {rated['games_played']} ", text)
    topics = site_data(site, "debates/golden/list")["topics"]
    assert sum(" on privacy." in topics["values"][code][1] for code in topics["codes"]) > 20
