"""Pages ask a question and begin with its computed answer, which is right on odd runs as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import duckdb
import pytest
from built_warehouse import stored
from odd_runs import LONG_IDS, odd_runs
from report_warehouse import make_warehouse
from site_pages import Parsed, parse, report_files, site_data

from debatebench.output.report.page import KINDS, load_pages
from debatebench.output.report.site import build_site
from debatebench.output.report.subjects import path_of

pytestmark = pytest.mark.slow

NOW = datetime(2026, 2, 3, 4, 5)
PAGES = {page.name: page for page in load_pages(report_files())}
LEADS = "leads with 630 points (95 % interval \u2212136 to 1,396); its lead over"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(make_warehouse(tmp_path_factory.mktemp("odd") / "debatebench.duckdb", *odd_runs()))


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, report_files(), tmp_path_factory.mktemp("out") / "site", now=NOW).parent


@pytest.fixture(scope="module")
def con(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(database), read_only=True) as connection:
        yield connection


def answer(site: Path, page: str, **words: str) -> str:
    """The answer at the top of a page."""
    html = (site / path_of(PAGES[page], words)).read_text(encoding="utf-8")
    (found,) = re.findall(r'<p class="answer"[^>]*>(.*?)</p>', html, re.S)
    parsed = Parsed()
    parsed.feed(found)
    return "".join(parsed.text)


def test_each_page_asks_a_question_and_has_an_answer_with_its_sql(site: Path) -> None:
    asked = [page for page in PAGES.values() if page.answer]
    assert {"index", "results", "debaters", "debater", "judges", "topics", "costs", "calls", "reading", "people"} <= {
        page.name for page in asked
    }
    assert {"weaknesses", "robustness", "methods", "data"} <= {page.name for page in asked}
    for page in asked:
        assert page.title.endswith("?"), page.name
        assert "null" not in page.title, page.name
    html = (site / "runs/usual/index.html").read_text(encoding="utf-8")
    assert 'data-queries="queries/results"' in html
    assert "leaderboard" in site_data(site, "queries/results")["answer"]
    assert html.index("<h1") < html.index('id="answer"') < html.index("<section")


@pytest.mark.parametrize(
    ("page", "run_tag", "said"),
    [
        ("results", "nothing", "Nobody yet: this run has no debates."),
        ("results", "no-debates", "Nobody yet: this run has no debates."),
        ("results", "no-judges", "Nobody has a rating to show."),
        ("results", "one-debater", "5 of 5 debates have one debater on both sides; no rating includes them."),
        ("results", "only-ties", "atlas and boreas share the first place with 400 points each."),
        ("results", "long-ids", f"{LONG_IDS[0]} {LEADS} {LONG_IDS[1]}, with 270, is not settled."),
        ("results", "right-to-left", "أطلس leads with 630 points"),
        ("results", "few-debates", "3 of 3 debaters have fewer than 5 rated debates"),
        ("debaters", "one-debater", "fewer than two debaters have a rating"),
        ("debaters", "no-debates", "None yet: this run has no debates."),
        ("debaters", "only-ties", "No two debaters differ significantly"),
        ("judges", "no-judges", "Not known: this run has no verdicts of judges."),
        ("judges", "no-valid-verdict", "Not known: no verdict of this run counts."),
        ("judges", "one-judge", "Not known: no two judges have judged the same debate."),
        ("judges", "only-ties", "name the same winner in 100\u00a0% of cases."),
        ("costs", "no-cost", "The cost is not known: no provider reported it, and no configured price gives it."),
        (
            "costs",
            "part-cost",
            "It cost at least $0.0336, all of it for speeches. The cost of 21 answers is not known.",
        ),
        ("costs", "no-judges", "It cost $0.0336, all of it for speeches."),
        ("costs", "nothing", "Nothing yet: this run has no debates."),
        ("topics", "no-judges", "Not known: no debate of this run is rated."),
        ("topics", "few-debates", "the only topic that can be tested does not give a side"),
        ("calls", "nothing", "No model was asked in this run."),
        ("calls", "usual", "All 148 calls were answered; attempts that failed are not recorded."),
        ("reading", "one-judge", "7 debates have a verdict, each of one judge, so no panel is split."),
        ("reading", "no-valid-verdict", "No verdict on the 7 debates of this run counts"),
        ("reading", "only-ties", "The panel was split in none of 7 judged debates"),
    ],
)
def test_an_odd_run_is_told_in_words(site: Path, page: str, run_tag: str, said: str) -> None:
    assert said in answer(site, page, run_tag=run_tag)


def test_answers_are_sentences(site: Path) -> None:
    found = 0
    for path in sorted(site.rglob("*.html")):
        for html in re.findall(r'<p class="answer"[^>]*>(.*?)</p>', path.read_text(encoding="utf-8"), re.S):
            text = unescape(re.sub(r"<[^>]+>", "", html))
            assert text.endswith("."), (path, text)
            assert not re.search(
                r"\bNone\b(?! yet| that| of)|\bnull\b|  |\.\.|(?<!of )\b1 [a-z]{3,}s\b|[(, ]-\d|nan", text
            ), (path, text)
            found += 1
    assert found > 100


def test_numbers_of_answers_are_those_of_the_warehouse(site: Path, con: duckdb.DuckDBPyConnection) -> None:
    def value(sql: str) -> Any:
        return con.execute(sql).fetchall()[0]

    rating, low, high = value(
        "select rating, ci_low, ci_high from marts.leaderboard where run_tag = 'usual' and rank = 1"
    )
    assert f"atlas leads with {rating:,.0f} points (95 % interval {low:,.0f} to {high:,.0f})" in answer(
        site, "results", run_tag="usual"
    )
    (agreement,) = value(
        "select value from marts.reliability where run_tag = 'usual' and unit = 'winner' and statistic = 'agreement'"
    )
    assert f"in {100 * agreement:.0f}\u00a0% of cases" in answer(site, "judges", run_tag="usual")
    (cost,) = value("select cost_usd from marts.runs where run_tag = 'usual'")
    assert f"It cost ${cost:.2f}, of which" in answer(site, "costs", run_tag="usual")
    wins, losses = value("select wins, losses from marts.leaderboard where run_tag = 'usual' and model_id = 'boreas'")
    assert f"it won {wins}, lost {losses} and tied" in answer(site, "debater", run_tag="usual", model_id="boreas")


def test_every_debater_has_a_page_to_which_the_leaderboard_leads(site: Path) -> None:
    html = (site / "runs/usual/index.html").read_text(encoding="utf-8")
    for name in ("atlas", "boreas", "calypso"):
        assert (site / f"runs/usual/debaters/{name}.html").is_file()
        assert f'href="debaters/{name}.html"' in html
    assert len(list((site / "runs/long-ids/debaters").iterdir())) == 3


def test_every_link_and_fragment_leads_somewhere(site: Path) -> None:
    ids: dict[Path, set[str]] = {}

    def ids_of(path: Path) -> set[str]:
        if path not in ids:
            ids[path] = {str(attrs["id"]) for _, attrs in parse(path).tags if "id" in attrs}
        return ids[path]

    for path in sorted(site.rglob("*.html")):
        for tag, attrs in parse(path).tags:
            href = attrs.get("href")
            if tag != "a" or not href:
                continue
            place, _, fragment = href.partition("#")
            target = (path.parent / place).resolve() if place else path
            assert target.is_file(), (path, href)
            # The state of a page that filters is no place in it.
            if fragment and "=" not in fragment and target.suffix == ".html":
                assert fragment in ids_of(target), (path, href)


def counted(con: duckdb.DuckDBPyConnection, facets: dict[str, str]) -> int:
    """How many debates have all facets of a link, by a query of its own."""
    conditions = {
        "debater": "$debater in (pro_model_id, con_model_id)",
        "opponent": "$opponent in (pro_model_id, con_model_id)",
        "side": "case $side when 'pro' then pro_model_id else con_model_id end = $debater",
        "topic": "topic_id = $topic",
        "category": "category = $category",
        "winner": "winner = $winner",
        "status": "status = $status",
        "rated": "debate_id in (select debate_id from marts.games where run_tag = $run)",
        "result": "exists (select 1 from marts.debate_results as r where r.run_tag = $run and "
        "r.debate_id = debates.debate_id and r.model_id = $debater and r.result = $result)",
        "panel": "debate_id in (select debate_id from marts.judge_verdicts where run_tag = $run and judge_id = $panel)",
        "vote": "debate_id in (select debate_id from marts.judge_verdicts where run_tag = $run and judge_id = $panel "
        "and is_valid and winner = $vote)",
    }
    where = " and ".join(["run_tag = $run", *(conditions[name] for name in facets if name != "run")])
    used = {name: value for name, value in facets.items() if f"${name}" in where}
    ((count,),) = con.execute(f"select count(*) from marts.debates where {where}", used).fetchall()
    return int(count)


def test_a_cell_opens_as_many_debates_as_it_counts(site: Path, con: duckdb.DuckDBPyConnection) -> None:
    found = 0
    for path in sorted(site.rglob("*.html")):
        html = path.read_text(encoding="utf-8")
        for href, text in re.findall(r'<a href="[./]*debates\.html#([^"]+)">([\d,]+)</a>', html):
            facets = dict(parse_qsl(unescape(href)))
            assert counted(con, facets) == int(text.replace(",", "")), (path, href, text)
            found += 1
    assert found > 100, "no cell opens debates"


def test_kinds_of_pages_are_all_used() -> None:
    assert {page.for_each for page in PAGES.values()} >= set(KINDS) - {"comparison"}
