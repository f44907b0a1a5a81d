"""In runs with very many verdicts nothing overflows, and values are those of exact fractions.

Most of these runs are large by counts, not by rows: ratings that a billion panels gave are one row of
`intermediate.int_rating_patterns`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

import duckdb
import pytest
from built_warehouse import packaged_project
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import krippendorff_alpha

from debatebench.stats.distributions import t_quantile
from debatebench.transform.create_macros import create_macros
from debatebench.transform.project import Project

pytestmark = pytest.mark.slow

# (cluster, ratings in ascending order, how many panels gave them)
Patterns = Sequence[tuple[str, Sequence[int], int]]
Point = tuple[int, ...]
Level = Literal["nominal", "ordinal", "interval"]

BILLION = 10**9
PATTERNS = (
    "(run_tag varchar, unit varchar, cluster_unit varchar, cluster_id varchar, ratings decimal(18, 6)[], "
    "count_rated bigint, count_first bigint, count_first_of_size bigint)"
)
RELIABILITY = ("intermediate.int_reliability_sums", "intermediate.int_reliability", "marts.reliability")


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def views_over(project: Project, tables: str, *models: str) -> duckdb.DuckDBPyConnection:
    """The SQL models as views over tables that `tables` creates."""
    con = duckdb.connect(config={"threads": 2})
    create_macros(con, project.macros)
    con.execute("create schema marts; create schema intermediate")
    con.execute("create table intermediate.int_t_quantiles (df bigint, t_95 double)")
    quantiles = [(df, t_quantile(0.95, df)) for df in (1, 2)]
    con.executemany("insert into intermediate.int_t_quantiles values (?, ?)", quantiles)
    con.execute(tables)
    for name in models:
        con.execute(f"create view {name} as {project.models[name].query.sql}")
    return con


@pytest.fixture(scope="module")
def patterns_con(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    tables = "; ".join(f"create table intermediate.int_{of}_patterns {PATTERNS}" for of in ("rating", "people"))
    con = views_over(project, tables, *RELIABILITY)
    yield con
    con.close()


# Alpha and its jackknife in exact fractions


def points(patterns: Patterns, level: Level) -> dict[int, Point]:
    """Points whose squared distances are the differences between ratings."""
    counts = Counter[int]()
    for _, ratings, count in patterns:
        for rating in ratings:
            counts[rating] += count
    values = sorted(counts)
    if level == "ordinal":
        return {v: (2 * sum(counts[w] for w in values if w < v) + counts[v],) for v in values}
    return {v: (v,) if level == "interval" else tuple(int(v == w) for w in values) for v in values}


def exact_alpha(patterns: Patterns, place: dict[int, Point]) -> Fraction | None:
    n, within, among = sum(len(ratings) * count for _, ratings, count in patterns), Fraction(0), 0
    for axis in range(len(next(iter(place.values())))):
        total = squares = 0
        for _, ratings, count in patterns:
            xs = [place[rating][axis] for rating in ratings]
            x, xx = sum(xs), sum(x * x for x in xs)
            within += count * Fraction(len(xs) * xx - x * x, len(xs) - 1)
            total, squares = total + count * x, squares + count * xx
        among += n * squares - total * total
    return 1 - (n - 1) * within / among if among else None


def exact(patterns: Patterns, level: Level) -> tuple[float | None, float | None]:
    """Alpha, and half the width of its interval; one cluster is left out at a time."""
    place, clusters = points(patterns, level), sorted({cluster for cluster, _, _ in patterns})
    whole = exact_alpha(patterns, place)
    others = [exact_alpha([p for p in patterns if p[0] != cluster], place) for cluster in clusters if len(clusters) > 1]
    if whole is None or not others or None in others:
        return None if whole is None else float(whole), None
    squares = sum((other - whole) ** 2 for other in others if other is not None)
    g = len(clusters)
    width = t_quantile(0.95, g - 1) * math.sqrt(squares * (g - 1) / g)
    # The squares are added up to 24 decimals.
    return float(whole), width if squares > 1e-20 else None


def assert_exact(con: duckdb.DuckDBPyConnection, unit: str, patterns: Patterns) -> None:
    con.execute("delete from intermediate.int_rating_patterns")
    con.executemany(
        "insert into intermediate.int_rating_patterns values ('r', ?, 'topic', ?, ?, ?, ?, ?)",
        [(unit, *p, p[2], p[2]) for p in patterns],
    )
    found = con.execute(
        "select level, value, value - ci_low from marts.reliability where statistic = 'krippendorff_alpha'"
    ).fetchall()
    levels: set[Level] = {"nominal", "ordinal"} if unit == "winner" else {"ordinal", "interval"}
    assert {level for level, _, _ in found} == levels
    for level, value, width in found:
        expected, expected_width = exact(patterns, level)
        assert value == near(expected), (level, patterns)
        if expected_width is not None:
            assert width == pytest.approx(expected_width, rel=1e-6, abs=1e-9)


def near(value: float | None) -> Any:
    return value if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)


def drawn_patterns(most: int, ratings: int = 5) -> st.SearchStrategy[list[tuple[str, list[int], int]]]:
    panel = st.lists(st.integers(1, ratings), min_size=2, max_size=5).map(sorted)
    rows = st.tuples(st.sampled_from(["t1", "t2", "t3"]), panel, st.integers(1, most))
    return st.lists(rows, min_size=1, max_size=8, unique_by=lambda row: (row[0], tuple(row[1])))


@settings(max_examples=25, deadline=None)
@given(patterns=drawn_patterns(most=4))
def test_small_runs_agree_with_the_definition(
    patterns_con: duckdb.DuckDBPyConnection, patterns: list[tuple[str, list[int], int]]
) -> None:
    assert_exact(patterns_con, "logic", patterns)
    panels = [ratings for _, ratings, count in patterns for _ in range(count)]
    rated = [(unit, rating) for unit, ratings in enumerate(panels) for rating in ratings]
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    for level in levels:
        assert krippendorff_alpha(rated, level) == near(exact(patterns, level)[0])


@settings(max_examples=25, deadline=None)
@given(patterns=drawn_patterns(most=BILLION // 40), unit=st.sampled_from(["winner", "logic"]))
def test_large_runs_have_the_alpha_of_exact_fractions(
    patterns_con: duckdb.DuckDBPyConnection, patterns: list[tuple[str, list[int], int]], unit: str
) -> None:
    capped = [(t, [min(r, 3) for r in ratings], n) for t, ratings, n in patterns] if unit == "winner" else patterns
    assert_exact(patterns_con, unit, capped)


@pytest.mark.parametrize("verdicts", [3 * 10**6, 10**7, BILLION // 2])
@pytest.mark.parametrize("unit", ["winner", "logic"])
def test_the_largest_ranks_do_not_overflow(patterns_con: duckdb.DuckDBPyConnection, verdicts: int, unit: str) -> None:
    """Panels that contradict each other as much as they can, and panels that agree: the first and the last rank."""
    ratings = verdicts if unit == "winner" else 2 * verdicts
    for disagree, agree in ((0.4, 0.05), (0.0, 0.25)):
        patterns = [
            ("t1", [1, 3], round(ratings * disagree)),
            ("t1", [1, 1], round(ratings * agree)),
            ("t2", [3, 3], round(ratings * agree)),
            ("t3", [1, 2, 3, 3], 3),
        ]
        assert_exact(patterns_con, unit, [row for row in patterns if row[2]])


def test_scores_beyond_any_scale_do_not_overflow(patterns_con: duckdb.DuckDBPyConnection) -> None:
    patterns = [("t1", [1, 10**11], 10**6), ("t2", [5 * 10**11, 9 * 10**11], 10**6), ("t3", [10**10] * 2, 10**5)]
    assert_exact(patterns_con, "money", patterns)


# Slopes, correlations and differences of scores


@pytest.mark.parametrize("n", [10, 10**7, BILLION])
def test_slopes_and_correlations_of_very_many_observations(project: Project, n: int) -> None:
    """A judge on a scale of 100: half of the observations at (2, 60), the others at (-1, -90) and (-1, -89)."""
    shares = [(Fraction(2), Fraction(60), n // 2), (Fraction(-1), Fraction(-90), n // 4)]
    shares.append((Fraction(-1), Fraction(-89), n - n // 2 - n // 4))

    def total(term: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
        return sum((term(x, y) * count for x, y, count in shares), Fraction(0))

    x, y = total(lambda x, y: x), total(lambda x, y: y)
    xx, xy, yy = total(lambda x, y: x * x), total(lambda x, y: x * y), total(lambda x, y: y * y)
    covered, spread, other = xy - x * y / n, xx - x * x / n, yy - y * y / n
    con = views_over(project, "")
    sums = (
        f"cast({n} as bigint), cast({x} as decimal(38, 3)), cast({y} as decimal(38, 9)), cast({xx} as decimal(38, 6)), "
        f"cast({xy} as decimal(38, 12)), cast({yy} as decimal(38, 18))"
    )
    for measure, value in (
        ("slope", float(covered / spread)),
        ("correlation", float(covered) / math.sqrt(spread) / math.sqrt(other)),
    ):
        found = con.execute(f"select macros.measure_from_sums('{measure}', {sums})").fetchall()
        assert found[0][0] == near(value)
    con.close()


def test_differences_of_large_scores_do_not_overflow(project: Project) -> None:
    """Two topics with opposite leads: the sum over a topic is as large as a billion debates on a scale of ten give."""
    debates, lead = 24_000, 900_000
    con = views_over(
        project,
        f"""
        create table marts.games as
        select 'r' as run_tag, i as debate_id, i % 2 as topic_id, 'a' as pro_model_id, 'b' as con_model_id
        from range({debates}) as t(i);
        create table intermediate.int_verdict_totals as
        select run_tag, debate_id, true as is_valid, 1 as count_dimensions,
            cast(topic_id * {lead} as decimal(38, 6)) as pro_total,
            cast((1 - topic_id) * {lead} as decimal(38, 6)) as con_total
        from marts.games;
        create table intermediate.int_clusters as
        select run_tag, debate_id, 'topic' as cluster_unit, topic_id as cluster_id from marts.games
        """,
        "intermediate.int_debater_score_gaps",
    )
    found = con.execute("select mean_gap, standard_error from intermediate.int_debater_score_gaps").fetchall()
    con.close()
    assert found == [(0, pytest.approx(lead, rel=1e-12))]


# As many rows


def test_ten_million_verdicts_have_the_alpha_of_exact_fractions(project: Project) -> None:
    """Winners by ten million verdicts; scores on one dimension in every third debate. Both repeat after 30 debates."""
    period, periods, size = 30, 111_112, 3
    con = views_over(
        project,
        f"""
        create table marts.panel_winners as
        select 'r' as run_tag, i as debate_id, i % 4 % 3 as count_pro, i % 5 % 2 as count_tie,
            {size} - i % 4 % 3 - i % 5 % 2 as count_con, {size} as count_valid_verdicts, 'pro' as winner
        from range({period * periods}) as t(i);
        create table intermediate.int_clusters as
        select run_tag, debate_id, 'topic' as cluster_unit, 't' || debate_id % 3 as cluster_id
        from marts.panel_winners;
        create table intermediate.int_people_patterns {PATTERNS};
        create table intermediate.int_repeated_debates (run_tag varchar, debate_id bigint, source_debate_id bigint);
        create table marts.team_verdicts (run_tag varchar, debate_id bigint, judge_id varchar, winner varchar);
        create table marts.verdict_scores as
        select 'r' as run_tag, i as debate_id, 'logic' as dimension,
            cast(1 + i % 10 * j as decimal(18, 6)) as pro_score, cast(9 - i % 5 + j as decimal(18, 6)) as con_score
        from range(0, {period * periods}, 3) as t(i), range({size}) as u(j)
        """,
        "intermediate.int_rating_patterns",
        *RELIABILITY,
    )
    found = con.execute(
        "select unit, level, value, count_ratings from marts.reliability where statistic = 'krippendorff_alpha'"
    ).fetchall()
    con.close()
    assert len(found) == 4

    winners, scores = [], []
    for i in range(2 * period):
        pro, tie = i % 4 % 3, i % 5 % 2
        winners.append([1] * pro + [2] * tie + [3] * (size - pro - tie))
        if i % 3 == 0:
            scores += [[1 + i % 10 * j for j in range(size)], [9 - i % 5 + j for j in range(size)]]
    for unit, level, value, count in found:
        patterns = [("t", ratings, periods // 2) for ratings in (winners if unit == "winner" else scores)]
        assert count == sum(len(ratings) * times for _, ratings, times in patterns) >= 6 * 10**6
        assert value == near(exact(patterns, level)[0])
