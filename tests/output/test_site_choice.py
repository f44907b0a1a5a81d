"""What a site is about: options, `site.yml`, and what is chosen without either; and the pages of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import debatebench, debatebench_here
from judged_runs import judged_run
from probed_runs import probed_run
from report_warehouse import NOON, annotated, make_warehouse, tournament
from site_browser import chromium, draw_charts, site_address, violations, watched
from site_pages import only_pages, parse, report_files, section, text_of, words
from two_runs import two_runs

from debatebench.output.report.choice import Choice, combined, comparisons, front_run, read_choice, wanted_runs
from debatebench.output.report.site import build_site
from debatebench.output.report.subjects import RunPages, find_runs
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.errors import ConfigError, UsageError
from debatebench.shared.records import Record, Run

__all__ = ["two_runs"]

NAMES = ("x", "y", "z")
KNOWN = {"rubric_version": "v1", "harness_version": "1", "language": "en"}


def made(tag: str, day: int, names: tuple[str, ...] = NAMES, **values: Any) -> Iterator[Record]:
    """A tournament of that day."""
    for record in tournament(tag, names, repetitions=4, created_at=NOON + timedelta(days=day)):
        yield record.model_copy(update=values) if isinstance(record, Run) else record


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine runs: four tournaments, of which `bad` is excluded, imports, and three runs that judge stored debates."""
    old = list(made("old", 0))
    path = make_warehouse(
        tmp_path_factory.mktemp("nine") / "nine.duckdb",
        ("old", iter(old)),
        ("new", made("new", 1, NAMES[::-1], benchmark_version="v2")),
        ("newest", made("newest", 2, benchmark_version="v3")),
        ("bad", made("bad", 3)),
        ("import", annotated("import")),
        ("other", made("other", 4, ("p", "q", "r"), source="import", format="debatebench")),
        ("again", judged_run("again", old)),
        ("probed", probed_run("probed", old, {"flattery": "pro"})),
        ("tied", judged_run("tied", old, methods={})),
    )
    with duckdb.connect(str(path)) as con:
        con.execute("insert into raw.run_marks (run_tag, is_excluded) values ('bad', true)")
    return path


@pytest.fixture
def con(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(database) as opened:
        yield opened


def pages_of(con: duckdb.DuckDBPyConnection, choice: Choice | None = None) -> list[RunPages]:
    return find_runs(con, wanted_runs(con, choice or Choice()))


def chosen(con: duckdb.DuckDBPyConnection, **fields: Any) -> list[tuple[str, str]]:
    choice = Choice(**fields)
    return [(each.baseline, each.candidate) for each in comparisons(con, choice, pages_of(con, choice))]


def resolve(con: duckdb.DuckDBPyConnection, choice: Choice) -> None:
    runs = pages_of(con, choice)
    front_run(con, choice, runs)
    comparisons(con, choice, runs)


# --- without a choice -------------------------------------------------------------------------------------------------


def test_a_site_without_a_choice_has_every_run_that_is_not_excluded(con: duckdb.DuckDBPyConnection) -> None:
    tags = [run.tag for run in pages_of(con)]
    assert len(tags) == 8
    assert "bad" not in tags
    assert [tag for tag in tags if tag in ("newest", "new", "old")] == ["newest", "new", "old"]


def test_the_front_is_a_tournament_and_not_an_import_or_a_judgment_that_landed_later(
    con: duckdb.DuckDBPyConnection,
) -> None:
    front = front_run(con, Choice(), pages_of(con))
    assert front is not None
    assert front.kind == "tournament"
    only = Choice(run_tags=["import", "again"])
    alone = front_run(con, only, pages_of(con, only))
    assert alone is not None
    assert alone.tag == "import"


def test_a_pinned_run_is_the_front(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "pinned.duckdb"
    copy.write_bytes(database.read_bytes())
    with duckdb.connect(str(copy)) as con:
        con.execute("insert into raw.run_marks (run_tag, is_excluded, pin_number) values ('other', false, 1)")
    with open_for_reading(copy) as opened:
        front = front_run(opened, Choice(), pages_of(opened))
    assert front is not None
    assert front.tag == "other"


def test_nine_runs_are_not_all_compared_with_each_other(con: duckdb.DuckDBPyConnection) -> None:
    pairs = chosen(con)
    # All tournaments have one more debater, of the same name, which `other` has in common with the newest one.
    assert set(pairs) == {("old", "new"), ("new", "newest"), ("newest", "other"), ("old", "again"), ("v1", "v2")}
    assert len(pairs) == 5


# --- options ----------------------------------------------------------------------------------------------------------


def test_chosen_comparisons_keep_their_order_and_may_be_of_versions(con: duckdb.DuckDBPyConnection) -> None:
    found = comparisons(con, Choice(comparisons=[("newest", "old"), ("v1", "version:v2")]), pages_of(con))
    assert [tuple(each) for each in found] == [
        ("run", "newest", "run", "old"),
        ("version", "v1", "version", "v2"),
    ]
    assert found[1].words == {"baseline": "version v1", "candidate": "version v2"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"run_tags": ["nwe"]}, "No run 'nwe' in the warehouse.*Did you mean 'newest' or 'new'"),
        (
            {"front": "bad"},
            "Run 'bad' is not in the site, whose runs are other, newest, .*--run-tag, or `runs` of site.yml",
        ),
        ({"front": "none"}, "No run 'none' in the warehouse"),
        ({"run_tags": ["old"], "front": "new"}, "Run 'new' is not in the site, whose runs are old;"),
        ({"comparisons": [("old", "nwe")]}, "No run or benchmark version 'nwe'. Did you mean 'newest' or 'new'"),
        ({"comparisons": [("old", "old")]}, "'old' is to be compared with itself"),
        ({"comparisons": [("v1", "old")]}, "Run 'old' is on both sides"),
        ({"comparisons": [("old", "bad")]}, "Run 'bad' is not in the site"),
        ({"comparisons": [("old", "new"), ("old", "run:new")]}, "'old' and 'new' are to be compared twice"),
    ],
)
def test_a_choice_that_does_not_fit_the_warehouse_is_one_clear_sentence(
    con: duckdb.DuckDBPyConnection, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(con, Choice(**fields))


# --- site.yml ---------------------------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Choice:
    path = folder / "site.yml"
    path.write_text(text, encoding="utf-8")
    return read_choice(path)


def test_a_file_chooses_what_options_do_not(tmp_path: Path) -> None:
    text = "title: Spring\nruns: [old, new]\nfront: old\ncompare:\n  - [old, new]\n  - [v1, v2]\n"
    file = written(tmp_path, text)
    assert (file.title, file.run_tags, file.front) == ("Spring", ["old", "new"], "old")
    assert file.comparisons == [("old", "new"), ("v1", "v2")]
    given = combined(Choice(title="Autumn", front="new", comparisons=[("new", "old")]), file)
    assert (given.title, given.front, given.comparisons, given.run_tags) == (
        "Autumn",
        "new",
        [("new", "old")],
        ["old", "new"],
    )
    # With runs of the options, the front and the comparisons of the file are those about these runs.
    narrower = combined(Choice(run_tags=["new"]), file)
    assert (narrower.run_tags, narrower.front, narrower.comparisons) == (["new"], None, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "titel: Spring\n",
            r"site\.yml: titel: found an unknown key \(did you mean 'title'\?\); allowed: compare, front",
        ),
        ("title: 7\n", "title: found 7; allowed: text"),
        ("title: " + "x" * 300 + "\n", "allowed: at most 200 characters"),
        ("runs: spring\n", "runs: found 'spring'; allowed: a list"),
        ("runs: []\n", "runs: found an empty list; allowed: a list of run tags"),
        ("runs: [[a]]\n", r"runs\[0\]: found a list; allowed: text"),
        ("compare: [a, b]\n", r"compare\[0\]: found 'a'; allowed: a list"),
        ("compare: [[a]]\n", r"compare\[0\]: found a list; allowed: a list of two runs or benchmark versions"),
        ("compare: [[a, b, c]]\n", "allowed: a list of two runs or benchmark versions, the baseline first"),
        ("front: [a]\n", "front: found a list; allowed: text"),
        ("front: a\nfront: b\n", "found the key 'front' twice"),
        ("title: [\n", "site.yml: line"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_key_and_what_is_allowed(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        written(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: [nwe]\n", r"site\.yml: runs: No run 'nwe'"),
        ("front: bad\n", r"site\.yml: front: Run 'bad' is not in the site"),
        ("compare: [[old, nwe]]\n", r"site\.yml: compare: No run or benchmark version 'nwe'"),
    ],
)
def test_a_file_with_names_that_are_not_in_the_warehouse_is_named(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, text: str, message: str
) -> None:
    choice = combined(Choice(), written(tmp_path, text))
    with pytest.raises(ConfigError, match=message):
        resolve(con, choice)
    # An option in its place is all that counts.
    instead = combined(Choice(run_tags=["old", "new"], front="old", comparisons=[("old", "new")]), choice)
    assert [run.tag for run in pages_of(con, instead)] == ["new", "old"]


# --- the pages --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of comparisons of the nine runs, with those that are suggested, one of versions and some odd ones."""
    files = report_files("compared", "comparison")
    pairs = [
        ("old", "again"),
        ("old", "new"),
        ("new", "newest"),
        ("v1", "v2"),
        ("old", "import"),
        ("old", "other"),
        ("import", "other"),
    ]
    out = tmp_path_factory.mktemp("site")
    return build_site(
        database, files, out, compare=pairs, title="Spring & <b>more</b>", now=datetime(2026, 2, 1)
    ).parent


def page_of(site: Path, name: str) -> Path:
    return site / "comparisons" / f"{name}.html"


@pytest.mark.slow
def test_each_comparison_has_a_page_that_begins_with_its_outcome(site: Path, con: duckdb.DuckDBPyConnection) -> None:
    overview = words(site / "comparison.html")
    for baseline, candidate in (("old", "new"), ("old", "again"), ("old", "import"), ("import", "other")):
        ((outcome,),) = con.execute(
            "select outcome from marts.comparison_outcomes where baseline_kind = 'run' and baseline = $1 "
            "and candidate_kind = 'run' and candidate = $2",
            [baseline, candidate],
        ).fetchall()
        page = page_of(site, f"{baseline}--{candidate}")
        assert outcome in words(page)
        assert outcome in overview
        assert f"What changed from {baseline} to {candidate}?" in words(page)


@pytest.mark.slow
def test_the_overview_has_the_trend_of_versions_and_every_pair(site: Path) -> None:
    overview = site / "comparison.html"
    assert "Ratings from version to version" in words(overview)
    assert "version v2 against version v1" in text_of(section(overview, "comparisons"))
    # Eight runs have 28 pairs; those with a page lead to it.
    pairs = section(overview, "pairs")
    assert pairs.count("<tr>") == 29
    assert 'href="comparisons/old--new.html"' in pairs
    assert 'href="comparisons/old--newest.html"' not in pairs


@pytest.mark.slow
def test_a_site_of_one_run_compares_nothing(database: Path, tmp_path: Path) -> None:
    files = report_files("compared", "comparison")
    build_site(database, files, tmp_path / "one", run_tags=["old"], now=NOON)
    assert list((tmp_path / "one").rglob("*.html")) == []


@pytest.mark.slow
def test_settings_have_names_in_words(site: Path, con: duckdb.DuckDBPyConnection) -> None:
    items = [item for (item,) in con.execute("select item from intermediate.int_setting_items").fetchall()]
    keys = [item for item in items if "_" in item]
    for page in site.rglob("*.html"):
        text = words(page)
        assert [key for key in keys if key in text.split("with chosen as")[0]] == [], page


@pytest.mark.slow
def test_a_flipped_debate_leads_to_both_transcripts(site: Path, con: duckdb.DuckDBPyConnection) -> None:
    ((flipped,),) = con.execute(
        "select count(*) from marts.debate_comparison where baseline_kind = 'run' and baseline = 'old' "
        "and candidate_kind = 'run' and candidate = 'new' and is_flipped"
    ).fetchall()
    links = [str(attrs.get("href")) for tag, attrs in parse(page_of(site, "old--new")).tags if tag == "a"]
    beside = [link for link in links if "&beside=new%2F" in link]
    assert flipped > 0
    assert len(beside) == flipped
    assert all(link.startswith("../debates.html#run=old&debate=") for link in beside)


@pytest.mark.slow
def test_what_changed_by_more_than_chance_comes_first_and_stands_out(site: Path) -> None:
    text = text_of(section(page_of(site, "old--new"), "rating-changes"))
    table = text.partition("would be found")[2]
    assert "more than chance" in table
    assert "may be chance" in table
    assert "may be chance" not in table.partition("more than chance")[0]


@pytest.mark.slow
def test_a_site_has_its_title(site: Path) -> None:
    text = (site / "comparison.html").read_text(encoding="utf-8")
    assert "Spring &amp; &lt;b&gt;more&lt;/b&gt;</title>" in text
    assert "<b>more" not in text


@pytest.mark.slow
def test_pages_of_comparisons_work_in_a_browser(site: Path) -> None:
    sizes: list[dict[str, Any]] = [{"width": 390, "height": 800}, {"width": 1280, "height": 900}]
    with chromium() as browser:
        for size in sizes:
            with watched(browser, site_address(site), viewport=size, color_scheme="dark") as seen:
                for page in sorted(site.rglob("*.html")):
                    opened = seen.open(page.as_uri())
                    draw_charts(opened)
                    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
                assert seen.problems() == []
                # Last, because it asks for style sheets, which the policy of the pages refuses.
                assert violations(opened) == []


@pytest.mark.slow
def test_compare_begins_with_the_sentence_of_the_page(two_runs: Path, tmp_path: Path) -> None:
    done = debatebench(two_runs, "compare", "demo", "second")
    assert done.code == 0
    sentence = done.out.splitlines()[1]
    assert sentence.endswith(".")
    with only_pages("index", "compared", "comparison"):
        made = debatebench_here(
            two_runs, "report", "--compare", "demo", "second", "--title", "Two", "--out-dir", str(tmp_path / "site")
        )
    assert made.code == 0, made.err
    page = page_of(tmp_path / "site", "demo--second")
    assert sentence in words(page)
    assert sentence in words(tmp_path / "site" / "comparison.html")
    twice = debatebench(two_runs, "report", "--compare", "demo")
    assert twice.code == 2
