"""The page *What judges miss*: every share leads to its debates, and what judges and debaters wrote is only text."""

from __future__ import annotations

import re
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from built_warehouse import stored
from report_warehouse import HOSTILE, make_warehouse, tournament
from site_browser import draw_charts, site_address, watched
from site_pages import chart_specs, opened_debates, report_files, section, text_of, words
from weakened import DIMENSIONS, annotations, judged, source

from debatebench.output.report.site import build_site
from debatebench.query.safe_query import run_query
from debatebench.shared.records import Debate, Record, Weakness, Winner

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

NOW = datetime(2026, 2, 3, 4, 5)
EVIL = f"judge {HOSTILE}"
EQUAL = dict.fromkeys(DIMENSIONS, (2, 2))


def weak_side_lower(weakness: Weakness, dimension: str) -> dict[str, tuple[int, int]]:
    """Scores that differ only on a dimension, on which the weakened side is lower."""
    return {**EQUAL, dimension: (1, 2) if weakness.side == "pro" else (2, 1)}


def winner_against(weakness: Weakness) -> Winner:
    return "con" if weakness.side == "pro" else "pro"


def sees(_: Debate, weakness: Weakness | None, __: int) -> tuple[dict[str, tuple[int, int]], Winner]:
    """Sees every weakness."""
    if weakness is None or weakness.dimension is None:
        return EQUAL, "tie"
    return weak_side_lower(weakness, weakness.dimension), winner_against(weakness)


def blames(_: Debate, weakness: Weakness | None, __: int) -> tuple[dict[str, tuple[int, int]], Winner]:
    """Finds the weakened side lower, but on a dimension that no weakness here should hurt."""
    if weakness is None:
        return EQUAL, "tie"
    return weak_side_lower(weakness, "argument_extension"), winner_against(weakness)


def misses(_: Debate, __: Weakness | None, ___: int) -> tuple[dict[str, tuple[int, int]], Winner]:
    return EQUAL, "tie"


def always_pro(_: Debate, __: Weakness | None, ___: int) -> tuple[dict[str, tuple[int, int]], Winner]:
    return dict.fromkeys(DIMENSIONS, (3, 1)), "pro"


DEBATES = [("weak_evidence", "pro"), ("weak_evidence", "con"), ("logical_gaps", "con"), (None, "pro")]
DIAGNOSES = {"seer": "sees it", "blamer": "blames another dimension", EVIL: "misses it", "ann": "rewards it"}


def flawed() -> list[Record]:
    records = list(source("flow", DEBATES, speech=HOSTILE, motion=HOSTILE))  # type: ignore[arg-type]
    return [*records, *annotations(records, {"ann": rewards})]


def rewards(_: Debate, weakness: Weakness | None, __: int) -> tuple[dict[str, tuple[int, int]], Winner]:
    """Prefers the weakened side."""
    if weakness is None:
        return EQUAL, "tie"
    return EQUAL, weakness.side


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = flawed()
    judges = {"seer": sees, "blamer": blames, EVIL: misses}
    run = judged("again", records, judges, baselines={"always_pro": always_pro}, reason=HOSTILE)
    folder = tmp_path_factory.mktemp("weaknesses")
    return stored(make_warehouse(folder / "w.duckdb", ("flow", iter(records)), ("again", run)))


@pytest.fixture(scope="module")
def page(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = report_files("index", "weaknesses", "debates")
    return build_site(database, files, tmp_path_factory.mktemp("out") / "site", now=NOW).parent / "weaknesses.html"


def test_a_perfect_judge_is_not_promised(page: Path) -> None:
    assert "not even a perfect judge has 100 %" in words(page)


def test_every_share_above_none_leads_to_its_debates_on_the_page(page: Path) -> None:
    """Three judges and a person, two types of weakness, and one diagnosis each: eight shares of 100 %."""
    targets = re.findall(r'href="#(cases-[0-9a-f]+)"[^>]*>([^<]*)<', section(page, "cells"))
    assert [shown for _, shown in targets] == ["100.0%"] * 8
    groups = dict(re.findall(r'<summary[^>]*>(.*?)</summary>\s*<div id="(cases-[0-9a-f]+)"', section(page, "cases")))
    assert sorted(groups.values()) == sorted(target for target, _ in targets)
    for judge, diagnosis in DIAGNOSES.items():
        headings = [text_of(heading) for heading in groups if text_of(heading).startswith(judge[:15])]
        assert [heading.rpartition(" (")[0].rpartition(": ")[2] for heading in headings] == [diagnosis] * 2, judge


def test_the_passage_stands_beside_the_reasons(page: Path, database: Path) -> None:
    """A debate with weak evidence on pro: the speeches of pro, and not those of con."""
    html = section(page, "cases")
    group = next(
        each for each in html.split("<details")[1:] if "seer · direct · weak evidence" in text_of(f"<a {each}")
    )
    (case, other) = group.split("<article")[1:]
    said, reasons = (text_of(f"<div {each}") for each in case.split('class="said"')[1:])
    assert "(pro, 0)" in said
    assert "(pro, 2)" in said
    assert "(con, " not in said
    assert "(seer)" in reasons
    assert "Weakness on pro, which loses. On burden fulfillment 1 against 2." in text_of(f"<a {case}")
    assert "Weakness on con, which loses." in text_of(f"<a {other}")
    (link,) = re.findall(r'href="debates.html#([^"]+)"', case)
    assert len(opened_debates(page.parent, unescape(link))) == 1
    assert "ann explains." in text_of(html)


def test_figures_are_those_of_the_marts(page: Path, database: Path) -> None:
    rows = run_query(
        database,
        "select judge_id, weakness_type, measure, detection_rate, count_controls, control_rate "
        "from marts.weakness_detection where measure <> 'score' and weakness_type <> 'all'",
    ).rows
    assert len(rows) == 20
    text = text_of(section(page, "controls"))
    for judge, weakness, measure, rate, controls, control_rate in rows:
        method = {"ann": "person", "always_pro": "always_pro"}.get(judge, "direct")
        how = {"winner": "loses", "dimension": "is lower"}[measure]
        shown = f"{100 * rate:.1f}% {controls} {100 * control_rate:.1f}%"
        name = "direct" if judge == EVIL else f"{judge} {method}"
        pattern = rf"{name} {weakness.replace('_', ' ')} {how} [12] {shown}"
        assert re.search(pattern, text), (judge, weakness, measure)


def test_baselines_stand_below_the_judges_and_people(page: Path) -> None:
    specs = chart_specs(page, "profile")
    assert len(specs) == 3
    for spec in specs:
        names = spec["layout"]["yaxis"]["ticktext"]
        assert [name.partition("<br>")[0] for name in names][-2:] == ["ann", "always_pro"]


def test_runs_without_weaknesses_have_no_such_page(tmp_path: Path) -> None:
    made = make_warehouse(tmp_path / "w.duckdb", ("tiny", tournament("tiny", ("alpha", "beta"))))
    out = build_site(made, report_files("index", "weaknesses"), tmp_path / "site", now=NOW).parent
    assert not (out / "weaknesses.html").exists()
    assert "What judges miss" not in words(out / "index.html")


def test_hostile_text_runs_nothing_and_every_chart_is_drawn(page: Path, browser: Browser) -> None:
    with watched(browser, site_address(page.parent)) as shown:
        opened = shown.open(page.as_uri())
        assert draw_charts(opened) == 9
        assert opened.title() == "Do judges see an injected weakness? · debatebench"
        assert opened.locator("img").count() == 0
        assert shown.problems() == []
