"""The page *Judges against people*: what it shows is what the marts say, and it stays away where nobody judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from html import unescape
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from built_warehouse import stored
from imported import PANELBENCH, imported_run
from judged_runs import judged_run
from report_warehouse import HOSTILE, annotated, make_warehouse, tournament
from site_browser import draw_charts, site_address, watched
from site_pages import chart_specs, figures, opened_debates, parse, report_files, section, text_of, words
from weakened import annotations
from weakened import source as annotated_source

from debatebench.output.report.charts import chart
from debatebench.output.report.debates_data import _PEOPLE
from debatebench.output.report.name_places import _around, _boxes, _shared, places_of_names
from debatebench.output.report.page import Options, Section, load_pages
from debatebench.output.report.site import build_site
from debatebench.query.safe_query import run_query
from debatebench.shared.errors import ConfigError
from debatebench.shared.records import Adjudication, Debate, Gold, Judge, Record, Score, Turn, Verdict, Winner

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

NOW = datetime(2026, 2, 3, 4, 5)
EVIL = f"judge {HOSTILE}"
COUNT = 9
LABELS = {"pro": Decimal(0), "con": Decimal(1)}
JUDGES: dict[str, tuple[str, str | None, int]] = {
    "cheap": ("direct", "0.001", 5),
    "dear": ("debatrix_v1", "0.01", 8),
    "waste": ("dimensional_v1", "0.01", 5),
    "middle": ("direct", "0.004", 5),
    EVIL: ("chronological_v1", None, 9),
}
"""Judge → method, cost of a verdict, and how many of the first debates it judges as people do."""


def people_said(place: int) -> Winner:
    """Pro wins the first six debates of nine."""
    return "pro" if place < 6 else "con"


def source() -> list[Record]:
    """Nine debates with gold verdicts on the whole and on one dimension, which nobody has judged; a hostile motion.

    The speeches of the last three are long.
    """
    held = tournament("held", ("alpha", "beta"), repetitions=4, motion=HOSTILE)
    records = [record for record in held if not isinstance(record, Judge | Verdict)]
    debates = [record for record in records if isinstance(record, Debate)]
    assert len(debates) == COUNT
    long = {debate.debate_id for debate in debates[6:]}
    records = [
        record.model_copy(update={"completion_tokens": 1200})
        if isinstance(record, Turn) and record.debate_id in long
        else record
        for record in records
    ]
    for place, debate in enumerate(debates):
        winner = people_said(place)
        records += [
            Gold(
                run_tag="held",
                debate_id=debate.debate_id,
                unit=unit,
                label=LABELS[winner],
                winner=winner,
                winning_positions=(winner,),
            )
            for unit in ("winner", "logic")
        ]
    return records


def judged() -> Iterator[Record]:
    """A run in which `JUDGES` and a baseline judge these debates."""
    skeleton = list(judged_run("again", source(), methods={}, baselines=()))
    yield from skeleton
    yield Judge(run_tag="again", judge_id="always_pro", method="always_pro", is_baseline=True)
    for name, (method, _, _) in JUDGES.items():
        yield Judge(run_tag="again", judge_id=name, method=method, model_name="m")
    for place, debate in enumerate(record for record in skeleton if isinstance(record, Debate)):
        at = {"run_tag": "again", "debate_id": debate.debate_id}
        yield Verdict(**at, judge_id="always_pro", panel_position=9, is_valid=True, declared_winner="pro", scores=())
        for seat, (name, (_, cost, count_right)) in enumerate(JUDGES.items()):
            says_pro = (people_said(place) == "pro") == (place < count_right)
            pro, con = (Decimal(7), Decimal(5)) if says_pro else (Decimal(5), Decimal(7))
            yield Verdict(
                **at,
                judge_id=name,
                panel_position=seat,
                is_valid=True,
                declared_winner="pro" if says_pro else "con",
                scores=(Score(dimension="logic", pro=pro, con=con),),
                total_tokens=1000,
                cost=None if cost is None else Decimal(cost),
            )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The nine debates and the run that judges them; PanelBench's debates and a run that judges those."""
    made = make_warehouse(
        tmp_path_factory.mktemp("people") / "w.duckdb",
        ("held", iter(source())),
        ("again", judged()),
        ("t", iter(imported_run("panelbench", PANELBENCH))),
        ("teams", judged_run("teams", imported_run("panelbench", PANELBENCH))),
    )
    return stored(made)


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = report_files("index", "people", "debates")
    return build_site(database, files, tmp_path_factory.mktemp("out") / "site", now=NOW).parent


@pytest.fixture(scope="module")
def page(site: Path) -> Path:
    return site / "people.html"


def charts(page: Path, identifier: str) -> dict[str, Any]:
    """Title of a panel → specification of its chart."""
    html = section(page, identifier)
    titles = [text_of(each) for each in re.findall(r"<figcaption.*?</figcaption>", html, re.S)]
    return dict(zip(titles, chart_specs(page, identifier), strict=True))


def query_of(identifier: str) -> str:
    (people,) = [page for page in load_pages(report_files()) if page.name == "people"]
    return next(section.query for section in people.sections if section.id == identifier)


# --- what the page says -----------------------------------------------------------------------------------------------


def test_page_says_that_agreement_with_people_is_not_truth(page: Path) -> None:
    assert "This is agreement with what people preferred, not with what is true" in words(page)


def test_figures_are_those_of_the_mart(page: Path, database: Path) -> None:
    rows = run_query(
        database,
        "select judge_id, method, count_debates, accuracy, hit_rate, rmse_direct_prediction from marts.judge_quality "
        "where run_tag = 'again' and dimension = 'overall' and judge_id in ('cheap', 'dear', 'waste')",
    ).rows
    assert len(rows) == 3
    text = text_of(section(page, "quality"))
    for judge, method, debates, accuracy, hits, rmse in rows:
        assert accuracy == pytest.approx(JUDGES[judge][2] / COUNT)
        shown = rf"{judge} {method} {debates} {debates} 100.0% {100 * accuracy:.1f}% \S+% to \S+% {100 * hits:.1f}% "
        assert re.search(rf"held, two sides, gold verdicts {shown}\S+ {rmse:.2f} ", text), judge


def test_input_tokens_stand_beside_the_estimate(page: Path, database: Path) -> None:
    (row,) = run_query(
        database,
        "select count_metered_verdicts, mean_speeches, mean_speech_tokens, mean_analysis_tokens, count_dimensions, "
        "estimated_ratio_to_direct from marts.panelbench_tokens where run_tag = 'teams' and format = 'two_sided'",
    ).rows
    verdicts, speeches, said, noted, dimensions, estimated = row
    assert estimated == dimensions == 2
    text = text_of(section(page, "tokens"))
    shown = f"{verdicts} {speeches:.2f} {said:.0f} {noted:.0f} {dimensions} 700 – {estimated:.2f} teams"
    assert f"t, two sides judge-x dimensional_v1 {shown}" in text


def test_each_collection_has_its_own_chart_with_the_better_judges_first(page: Path) -> None:
    found = charts(page, "accuracy")
    assert list(found) == [
        "held, two sides, gold verdicts",
        "t, two sides, gold verdicts",
        "t, four teams, gold verdicts",
    ]
    axis = found["held, two sides, gold verdicts"]["layout"]["yaxis"]
    named = ["dear<br>debatrix_v1", "cheap<br>direct", "middle<br>direct", "waste<br>dimensional_v1"]
    assert axis["ticktext"][1:] == named
    (dots,) = found["held, two sides, gold verdicts"]["data"]
    assert dots["x"][1] == pytest.approx(8 / 9)
    assert dots["error_x"]["arrayminus"][1] > dots["error_x"]["array"][1] > 0


@pytest.mark.parametrize(
    ("identifier", "at", "text"),
    [("accuracy", 6 / 9, "always_pro 66.7%"), ("error", 100 * (3 / 9) ** 0.5, "always_pro 58")],
)
def test_baselines_are_named_lines_and_not_points(page: Path, identifier: str, at: float, text: str) -> None:
    found = [spec for title, spec in charts(page, identifier).items() if title.startswith("held")]
    assert len(found) == (2 if identifier == "error" else 1)
    for spec in found:
        assert not any("always_pro" in name for name in spec["layout"]["yaxis"]["ticktext"])
        assert [shape["x0"] for shape in spec["layout"]["shapes"]] == [pytest.approx(at)]
        assert [note["text"] for note in spec["layout"]["annotations"]] == [text]


def test_frontier_joins_the_judges_that_no_other_beats_at_the_same_or_a_lower_cost(page: Path) -> None:
    """`waste` costs as much as `dear` and is worse, `middle` costs more than `cheap` and is no better."""
    frontier, *by_method = charts(page, "cost")["held, two sides, gold verdicts"]["data"]
    assert frontier["x"] == [pytest.approx(0.001), pytest.approx(0.01)]
    assert frontier["y"] == [pytest.approx(5 / 9), pytest.approx(8 / 9)]
    assert {points["name"]: points["text"] for points in by_method} == {
        "debatrix_v1": ["dear<br>debatrix_v1"],
        "direct": ["cheap<br>direct", "middle<br>direct"],
        "dimensional_v1": ["waste<br>dimensional_v1"],
    }
    text = text_of(section(page, "cost"))
    assert re.search(r"dear debatrix_v1 \$0\.010000 88\.9% yes no", text)
    assert re.search(r"waste dimensional_v1 \$0\.010000 55\.6% no no", text)
    assert "Not drawn for held, two sides, gold verdicts, because their cost is not known: judge <" in text
    (line,) = [
        note
        for note in charts(page, "cost")["held, two sides, gold verdicts"]["layout"]["annotations"]
        if note["text"] == "always_pro 66.7%"
    ]
    assert line["y"] == pytest.approx(6 / 9)


def test_judges_as_good_at_the_same_cost_are_both_on_the_frontier(tmp_path: Path) -> None:
    source_run = source()
    made = make_warehouse(
        tmp_path / "w.duckdb",
        ("held", iter(source_run)),
        ("again", judged_run("again", source_run, methods={"a": "direct", "b": "direct"}, baselines=())),
    )
    rows = run_query(made, query_of("cost"), {"run_tags": ["again"]})
    assert [row[rows.columns.index("is_on_frontier")] for row in rows.rows] == [True, True]


def test_dimensions_are_compared_with_what_people_say_about_the_whole(page: Path) -> None:
    spec = charts(page, "dimensions")["held, two sides, gold verdicts: logic"]
    assert [note["text"] for note in spec["layout"]["annotations"]] == ["whole debate 0"]
    assert spec["data"][0]["x"][1] == pytest.approx(100 * (1 / 9) ** 0.5)


def test_people_stand_above_the_judges_and_baselines_below_in_the_shares_of_sides_and_teams(page: Path) -> None:
    bars = charts(page, "sides")["held, two sides, 9 debates"]
    names = bars["layout"]["yaxis"]["ticktext"]
    assert (names[0], names[-1]) == ("People<br>gold verdicts", "always_pro<br>baseline")
    assert [trace["x"][-1] for trace in bars["data"]] == [1, 0, 0, 0]
    assert {trace["name"]: trace["x"][0] for trace in bars["data"]} == {
        "Pro": pytest.approx(6 / 9),
        "Tie": 0,
        "Con": pytest.approx(3 / 9),
        "No winner": 0,
    }
    teams = charts(page, "teams")["t, four teams, 1 debate"]
    assert {trace["name"]: trace["x"] for trace in teams["data"]} == {
        "OG": [0, 0, 0],
        "OO": [0.5, 0, 0],
        "CG": [0.5, 1, 0],
        "CO": [0, 0, 0],
        "No winner": [0, 0, 1],
    }


def test_people_are_compared_with_each_other_and_where_they_part_is_listed(tmp_path: Path) -> None:
    """Of four debates, two people differ on the first, and agree on con afterwards."""
    records = list(annotated_source("flow", [(None, "pro")] * 4))
    people = {"ann": lambda *_: (None, "pro"), "ben": lambda _, __, number: (None, "con" if number == 0 else "pro")}
    said: list[tuple[str, str, Winner | None]] = [
        ("d000", "ann", "con"),
        ("d001", "ann", None),
        ("d002", "ann", "pro"),
        ("d002", "ben", "con"),
    ]
    reviews = [
        Adjudication(run_tag="flow", debate_id=debate_id, adjudicator_id=name, winner=winner, justification="read")
        for debate_id, name, winner in said
    ]
    made = make_warehouse(tmp_path / "w.duckdb", ("flow", iter([*records, *annotations(records, people), *reviews])))
    page = build_site(made, report_files("index", "people"), tmp_path / "site", now=NOW).parent / "people.html"
    assert "winner 4 2 75.0% 0.00 " in text_of(section(page, "between-people"))
    parted = text_of(section(page, "parted-people"))
    assert "Cities should close their centres to cars. (0) winner 1 0 1 – – con agreed ann flow" in parted
    assert parted.count("Cities should close") == 1
    # In the list of debates each review says what came of it.
    with duckdb.connect(str(made), read_only=True) as con:
        names = con.execute(
            f"select debate_id, annotator_id from ({_PEOPLE}) order by all", {"run_tag": "flow"}
        ).fetchall()
    assert [each for each in names if "(" in each[1]] == [
        ("d000", "ann (agreed)"),
        ("d001", "ann (review; no winner named)"),
        ("d002", "ann (review; reviewers differ)"),
        ("d002", "ben (review; reviewers differ)"),
    ]


def test_debates_on_which_most_judges_are_wrong_come_first_and_lead_to_their_page(page: Path) -> None:
    """All judges but the hostile one are wrong about the ninth debate, and all but two about those before it."""
    html = section(page, "debates")
    first = html[html.index("<tbody>") :].split("<tr>")[1]
    (target,) = re.findall(r'href="debates.html#([^"]+)"', first)
    assert opened_debates(page.parent, unescape(target)) == [f"j1-{8:016x}"]
    assert re.search(r"con pro: cheap, dear, middle, waste; con: judge .* 80\.0% 89", text_of(first))


def test_pairs_of_judges_are_tested(page: Path, database: Path) -> None:
    ((difference, p_value),) = run_query(
        database,
        "select mean_difference, p_value_holm from marts.panelbench_significance where source_run_tag = 'held' "
        "and measure = 'accuracy' and judge_a = 'cheap' and judge_b = 'dear'",
    ).rows
    text = text_of(section(page, "significance"))
    assert difference == pytest.approx(-3 / 9)
    assert f"accuracy cheap (direct) dear (debatrix_v1) may be chance 9 −{-difference:.3f} " in text
    assert f" {p_value:.3f} " in text


def test_published_tests_over_trials_stand_beside_those_that_findings_use(page: Path, database: Path) -> None:
    ((count, p_value),) = run_query(
        database,
        "select count_trials, trial_p_value from marts.panelbench_significance where source_run_tag = 'held' "
        "and measure = 'accuracy' and judge_a = 'cheap' and judge_b = 'dear'",
    ).rows
    text = text_of(section(page, "significance"))
    assert "the trials of one debate repeat one another" in text
    assert re.search(rf"accuracy cheap \(direct\) dear \(debatrix_v1\) may be chance .*? {count} {p_value:.3f} ", text)


def test_the_page_says_where_the_files_of_panelbench_differ_from_the_paper(page: Path) -> None:
    text = text_of(section(page, "collections"))
    assert "37 debates won by pro, 7 ties and 56 won by con, the files have 38, 6 and 56" in text
    assert "table 14 (VivesDebate) is left out" in text
    assert "What the Debatrix paper calls accuracy is this hit rate" in text_of(section(page, "quality"))


def test_lengths_are_shown_where_debates_differ_in_them(page: Path) -> None:
    """All nine debates have four speeches, and three of them long ones, which pro lost."""
    shown = charts(page, "sizes")
    assert [title for title in shown if not title.startswith("held")] == [
        "t, two sides: few rounds by the collection's flag, 1 debate",
        "t, two sides: many rounds by the collection's flag, 1 debate",
    ]
    found = {title: spec for title, spec in shown.items() if title.startswith("held")}
    assert list(found) == [
        "held, two sides: under 4000 tokens, 6 debates",
        "held, two sides: 4000 to 7999 tokens, 3 debates",
    ]
    lines = [spec["layout"]["annotations"][0]["text"] for spec in found.values()]
    assert lines == ["always_pro 100.0%", "always_pro 0.0%"]
    long = found["held, two sides: 4000 to 7999 tokens, 3 debates"]
    at = long["layout"]["yaxis"]["ticktext"].index("dear<br>debatrix_v1")
    assert long["data"][0]["x"][at] == pytest.approx(2 / 3)


def test_a_reader_can_run_the_queries_with_the_command_of_the_page(page: Path, database: Path) -> None:
    (given,) = re.findall(r"debatebench query --file FILE --param run_tags='(\[.*?\])'", figures(page)["command"])
    tags = json.loads(given)
    assert sorted(tags) == ["again", "held", "t", "teams"]
    for identifier in ("accuracy", "cost", "debates"):
        query = query_of(identifier)
        as_text = run_query(database, query, {"run_tags": given}).rows
        assert as_text == run_query(database, query, {"run_tags": tags}).rows != []


# --- where something is missing ---------------------------------------------------------------------------------------


def test_site_without_verdicts_of_people_has_no_such_page(tmp_path: Path) -> None:
    made = make_warehouse(tmp_path / "w.duckdb", ("tiny", tournament("tiny", ("alpha", "beta"))))
    out = build_site(made, report_files("index", "people"), tmp_path / "site", now=NOW).parent
    assert not (out / "people.html").exists()
    assert "Judges against people" not in words(out / "index.html")


def test_page_says_in_one_sentence_that_no_judge_has_judged(tmp_path: Path) -> None:
    made = make_warehouse(tmp_path / "w.duckdb", ("bare", annotated("bare")))
    out = build_site(made, report_files("index", "people"), tmp_path / "site", now=NOW).parent
    assert "People have judged debates of these runs, but no judge has" in words(out / "people.html")
    assert [attrs["id"] for tag, attrs in parse(out / "people.html").tags if tag == "section"] == ["collections"]


def test_site_of_one_run_compares_only_its_judges(database: Path, tmp_path: Path) -> None:
    files = report_files("index", "people")
    out = build_site(database, files, tmp_path / "site", run_tags=["held"], now=NOW).parent
    assert "dear" not in words(out / "people.html")
    again = build_site(database, files, tmp_path / "again", run_tags=["again"], now=NOW).parent
    assert list(charts(again / "people.html", "accuracy")) == ["held, two sides, gold verdicts"]


def test_baselines_alone_are_lines_without_points(tmp_path: Path) -> None:
    made = make_warehouse(
        tmp_path / "w.duckdb", ("held", iter(source())), ("again", judged_run("again", source(), methods={}))
    )
    page = build_site(made, report_files("index", "people"), tmp_path / "site", now=NOW).parent / "people.html"
    spec = charts(page, "accuracy")["held, two sides, gold verdicts"]
    assert (spec["data"][0]["x"], spec["layout"]["annotations"][0]["text"]) == ([], "always_tie 0.0%")
    assert not re.search(r'<section id="(cost|debates|sides|significance)"', page.read_text(encoding="utf-8"))


# --- hostile text -----------------------------------------------------------------------------------------------------


def test_hostile_judges_and_motions_are_text(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert not set(html) & set("\x00\x1b\u202e\u2066\u200b\U000e0041")
    parsed = parse(page)
    assert not {tag for tag, _ in parsed.tags} & {"img", "b", "i"}
    assert not [attrs for _, attrs in parsed.tags if "javascript:" in str(attrs.get("href", ""))]
    assert "<img src=x onerror=" in words(page)
    found = json.dumps(chart_specs(page))
    assert "&lt;" in found
    assert set(re.findall(r"<[^>]*>", found)) == {"<br>"}


def test_hostile_text_runs_nothing_and_every_chart_is_drawn(page: Path, browser: Browser) -> None:
    with watched(browser, site_address(page.parent)) as shown:
        opened = shown.open(page.as_uri())
        assert draw_charts(opened) > 8
        assert opened.title() == "Which judges agree with people? · debatebench"
        assert opened.locator("img").count() == 0
        assert shown.problems() == []


# --- charts and pages -------------------------------------------------------------------------------------------------


def scatter(rows: list[dict[str, Any]], **options: Any) -> Any:
    roles = {"x": ("usd",), "y": ("rate",), "label": ("name",), "baseline": ("is_line",)}
    return chart(Section("s", "S", "select 1", "scatter", roles=roles, options=Options(**options)), rows)["layout"]


def test_a_logarithmic_axis_needs_positive_values_and_has_few_ticks() -> None:
    rows = [{"name": str(n), "usd": 10.0**-n, "rate": 0.5, "is_line": False} for n in range(1, 5)]
    axis = scatter(rows, log=True)["xaxis"]
    assert axis["type"] == "log"
    assert 3 <= len(axis["tickvals"]) <= 6
    free = {"name": "free", "usd": 0.0, "rate": 0.4, "is_line": False}
    assert "type" not in scatter([*rows, free], log=True)["xaxis"]
    assert "type" not in scatter(rows)["xaxis"]


def test_names_of_lines_are_pushed_apart_and_lie_within_the_chart() -> None:
    rows = [{"name": f"line {n}", "usd": None, "rate": 0.5 + n / 1000, "is_line": True} for n in range(4)]
    rows.append({"name": "point", "usd": 1.0, "rate": 0.9, "is_line": False})
    layout = scatter(rows)
    low, high = layout["yaxis"]["range"]
    assert low < 0.5 < 0.9 < high
    bottoms = sorted(note["y"] / (high - low) * 350 + note["yshift"] for note in layout["annotations"])
    assert all(b - a >= 17.9 for a, b in pairwise(bottoms))


def test_of_many_points_only_those_on_the_frontier_have_names() -> None:
    roles = {"x": ("usd",), "y": ("rate",), "label": ("name",), "frontier": ("best",)}
    rows = [{"name": str(n), "usd": 1.0 + n, "rate": 0.5, "best": n == 0} for n in range(9)]
    of_many, of_few = (
        chart(Section("s", "S", "select 1", "scatter", roles=roles), own)["data"][1] for own in (rows, rows[:8])
    )
    assert of_many["text"] == ["0", *[""] * 8]
    assert of_many["hovertext"][8].startswith("8<br>")
    assert of_few["text"] == [str(n) for n in range(8)]


def test_names_of_lines_stand_beside_the_chart_where_they_cover_no_point() -> None:
    layout = scatter([{"name": "always_pro", "usd": None, "rate": 0.5, "is_line": True}])
    (note,) = layout["annotations"]
    assert (note["x"], note["xanchor"]) == (1, "left")
    assert layout["margin"]["r"] > 6 * len(note["text"])


def test_no_grid_line_hides_a_line_to_compare_with() -> None:
    for show, roles in (("dots", {"label": ("name",), "value": ("rate",)}), ("scatter", {})):
        given = {"x": ("usd",), "y": ("rate",), "label": ("name",)} if show == "scatter" else roles
        section = Section("s", "S", "select 1", show, roles={**given, "baseline": ("is_line",)})
        (line,) = chart(section, [{"name": "always_tie", "usd": None, "rate": 0.5, "is_line": True}])["layout"][
            "shapes"
        ]
        assert line["layer"] == "between"


def test_names_of_near_points_do_not_cover_each_other() -> None:
    at = [(0.2, 0.5), (0.4, 0.52), (0.6, 0.5), (0.95, 0.5)]
    names = ["one judge<br>direct"] * 4
    places = places_of_names(at, names)
    boxes = []
    for (x, y), name, place in zip(at, names, places, strict=True):
        boxes += [box for box, each in _boxes((x * 240, y * 350), name) if each == place]
        boxes.append(_around((x * 240, y * 350)))
    assert len(boxes) == 8
    assert [_shared(a, b) for a, b in combinations(boxes, 2)] == [0] * 28
    assert places_of_names([None], ["not drawn"]) == ["top center"]


def test_a_page_whose_need_cannot_be_asked_is_refused(database: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("path: mine.html\ntitle: Mine\nneeds: select 1 from marts.nothing\n")
    files = report_files("index") | {"pages/mine.yml": tmp_path / "mine.yml"}
    with pytest.raises(ConfigError, match=r"mine\.yml: needs: section 'needs': SQL: Table with name nothing"):
        build_site(database, files, tmp_path / "site", run_tags=["held"], now=NOW)
