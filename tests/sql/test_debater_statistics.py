"""SQL models about debaters and topics, over a tournament with planted differences, beside the pure functions."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations, permutations
from statistics import fmean
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records
from oracles import benjamini_hochberg, cluster_mean, cluster_rate, holm, paired_t
from scipy import stats as oracle

from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Topic, Turn, Verdict
from debatebench.stats import power
from debatebench.stats.distributions import t_two_sided_p
from debatebench.transform.build import build

pytestmark = pytest.mark.slow

MODELS = (
    "debater_topics",
    "debater_statistics",
    "debater_categories",
    "debater_differences",
    "debater_value",
    "score_by_tokens",
    "run_power",
    "topics",
)
STRENGTH = {"ace": 3.0, "even-1": 0.0, "even-2": 0.0, "prosecutor": 0.0, "wordy": 0.0}
CATEGORIES = ("law", "health", None)
Row = dict[str, Any]


def planted(tag: str, topics: int, *, seed: int) -> list[Record]:
    """Every ordered pair debates on every topic. `ace` is better; `prosecutor` is good as pro and bad as con;
    `wordy` gains what it writes beyond its opponent."""
    rng = random.Random(seed)
    records: list[Record] = [Run(run_tag=tag, source="run", format="tournament")]
    records += [
        Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.", category=CATEGORIES[n % 3])
        for n in range(topics)
    ]
    records += [Debater(run_tag=tag, model_id=name) for name in STRENGTH]
    records += [Judge(run_tag=tag, judge_id=name) for name in ("j1", "j2", "j3")]
    records.append(Dimension(run_tag=tag, dimension="logic", source_position=0))
    fixtures = [(n, *pair) for n in range(topics) for pair in permutations(STRENGTH, 2)]
    for position, (topic, pro, con) in enumerate(fixtures):
        debate_id = f"d{position:04}"
        records.append(
            Debate(
                run_tag=tag,
                debate_id=debate_id,
                source_position=position,
                schedule_position=position,
                topic_id=f"t{topic}",
                pro_model_id=pro,
                con_model_id=con,
            )
        )
        tokens = {side: rng.randrange(100, 900) for side in ("pro", "con")}
        for index, (side, name) in enumerate((("pro", pro), ("con", con))):
            turn = {"turn_index": index, "position": side, "side": side, "content": "text", "model_id": name}
            metered = {
                "completion_tokens": tokens[side],
                "cost": Decimal(tokens[side]) / 1000,
                "cost_source": "billed",
            }
            records.append(Turn.model_validate({"run_tag": tag, "debate_id": debate_id, **turn, **metered}))
        lead = STRENGTH[pro] - STRENGTH[con] + 2.5 * ((pro == "prosecutor") + (con == "prosecutor"))
        lead += 4 * ("wordy" in (pro, con)) * (tokens["pro"] - tokens["con"]) / 800
        for seat in range(3):
            seen = round(2 * (lead + rng.gauss(0, 1.5))) / 2
            score = Score(dimension="logic", pro=Decimal(str(10 + seen / 2)), con=Decimal(str(10 - seen / 2)))
            records.append(
                Verdict(
                    run_tag=tag,
                    debate_id=debate_id,
                    judge_id=f"j{seat + 1}",
                    panel_position=seat,
                    is_valid=True,
                    scores=(score,),
                )
            )
    return records


def uneven(tag: str, *, seed: int) -> list[Record]:
    """The same where most debates were not held, so that debaters were not on both sides equally often."""
    rng, records = random.Random(seed), planted(tag, 8, seed=seed)
    kept = {each.debate_id for each in records if isinstance(each, Debate) and rng.random() < 0.3}
    return [each for each in records if getattr(each, "debate_id", None) in kept or not hasattr(each, "debate_id")]


def built(*runs: list[Record], threads: int = 2) -> duckdb.DuckDBPyConnection:
    con = new_warehouse(threads=threads)
    for records in runs:
        land_records(con, records[0].run_tag, records)
    build(con, packaged_project(), select=[f"+{name}" for name in MODELS])
    return con


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = built(planted("planted", 12, seed=5), planted("one topic", 1, seed=6), uneven("uneven", seed=7))
    yield connection
    connection.close()


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    result = con.execute(sql)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@pytest.fixture(scope="module")
def debates(con: duckdb.DuckDBPyConnection) -> list[Row]:
    """Decided debates of the run with twelve topics, with points and scores of pro."""
    return rows(
        con,
        """
        select d.topic_id, t.category, d.pro_model_id as pro, d.con_model_id as con,
            m.pro_mean_score - m.con_mean_score as gap,
            cast(case d.winner when 'pro' then 1 when 'con' then 0 else 0.5 end as double) as points
        from marts.decided_debates as d
        join intermediate.int_debate_means as m using (run_tag, debate_id)
        join staging.stg_topics as t using (run_tag, topic_id)
        where run_tag = 'planted'
        order by d.debate_id
        """,
    )


def points_of(debates: list[Row], name: str, side: str | None = None) -> list[tuple[Row, float]]:
    """The debates of a debater with its points in each."""
    found = [(d, d["points"]) for d in debates if d["pro"] == name and side != "con"]
    return found + [(d, 1 - d["points"]) for d in debates if d["con"] == name and side != "pro"]


def test_win_rates_and_intervals_are_those_of_the_functions(con: duckdb.DuckDBPyConnection, debates: list[Row]) -> None:
    found = {row["model_id"]: row for row in rows(con, "from marts.debater_statistics where run_tag = 'planted'")}
    assert found.keys() == STRENGTH.keys()
    side_p = []
    for name, row in found.items():
        points = [p for _, p in points_of(debates, name)]
        assert row["win_rate"] == pytest.approx(fmean(points))
        for prefix, side in (("", None), ("pro_", "pro"), ("con_", "con")):
            told = points_of(debates, name, side)
            expected = cluster_rate([p for _, p in told], [d["topic_id"] for d, _ in told])
            assert expected is not None
            assert (row[f"{prefix}win_rate_ci_low"], row[f"{prefix}win_rate_ci_high"]) == pytest.approx(
                (expected.ci_low, expected.ci_high)
            )
        pro, con_ = (points_of(debates, name, side) for side in ("pro", "con"))
        gap = fmean(p for _, p in pro) - fmean(p for _, p in con_)
        assert row["side_gap"] == pytest.approx(gap)
        # The error of both rates together, from what each topic adds to their difference.
        added: dict[str, float] = defaultdict(float)
        for told, sign in ((pro, 1), (con_, -1)):
            for d, p in told:
                added[d["topic_id"]] += sign * (p - fmean(q for _, q in told)) / len(told)
        error = math.sqrt(len(added) / (len(added) - 1) * sum(x * x for x in added.values()))
        assert row["side_gap_p_value"] == pytest.approx(t_two_sided_p(gap / error, len(added) - 1), rel=1e-6)
        assert row["side_gap_reason"] is None
        side_p.append(row["side_gap_p_value"])
    assert [r["side_gap_p_value_holm"] for r in found.values()] == pytest.approx(holm(side_p))
    assert [r["side_gap_p_value_bh"] for r in found.values()] == pytest.approx(benjamini_hochberg(side_p))


def test_a_debater_that_is_good_as_pro_only_stands_out(con: duckdb.DuckDBPyConnection) -> None:
    found = rows(con, "from marts.debater_statistics where run_tag = 'planted' order by side_gap_p_value")
    assert found[0]["model_id"] == "prosecutor"
    assert found[0]["side_gap_p_value_holm"] < 1e-4
    # Whoever meets it wins as pro and loses as con, so the others have something of a gap as well.
    assert found[0]["side_gap"] > 2 * max(row["side_gap"] for row in found[1:])


def test_the_schedule_of_the_best_is_the_weakest(con: duckdb.DuckDBPyConnection) -> None:
    """In a full tournament everybody meets everybody but itself."""
    ratings = dict(
        con.execute("select model_id, rating from ratings.bradley_terry where run_tag = 'planted'").fetchall()
    )
    for row in rows(con, "from marts.debater_statistics where run_tag = 'planted'"):
        others = [rating for name, rating in ratings.items() if name != row["model_id"]]
        assert row["count_opponents"] == 4
        assert row["mean_opponent_rating"] == pytest.approx(fmean(others))


def test_categories_are_compared_with_all_others(con: duckdb.DuckDBPyConnection, debates: list[Row]) -> None:
    found = rows(con, "from marts.debater_categories where run_tag = 'planted' order by model_id, category")
    assert len(found) == len(STRENGTH) * 3
    for row in found:
        inside, outside = [], []
        for debate, points in points_of(debates, row["model_id"]):
            told = inside if (debate["category"] or "uncategorized") == row["category"] else outside
            told.append((points, debate["topic_id"]))
        assert row["difference"] == pytest.approx(fmean(p for p, _ in inside) - fmean(p for p, _ in outside))
        errors = [cluster_mean([p for p, _ in told], [t for _, t in told]) for told in (inside, outside)]
        error = math.hypot(*(each.error or 0 for each in errors))
        df = min(len({t for _, t in told}) for told in (inside, outside)) - 1
        assert row["p_value"] == pytest.approx(t_two_sided_p(row["difference"] / error, df), rel=1e-6)
    p_values = [row["p_value"] for row in found]
    assert [row["p_value_holm"] for row in found] == pytest.approx(holm(p_values))
    assert [row["p_value_bh"] for row in found] == pytest.approx(benjamini_hochberg(p_values))


def test_differences_are_those_of_the_functions(con: duckdb.DuckDBPyConnection, debates: list[Row]) -> None:
    found = rows(con, "from marts.debater_differences where run_tag = 'planted' order by model_a, model_b")
    assert [(r["model_a"], r["model_b"]) for r in found] == list(combinations(sorted(STRENGTH), 2))
    for row in found:
        a, b = row["model_a"], row["model_b"]
        met = [(d, 1 if d["pro"] == a else -1) for d in debates if {d["pro"], d["con"]} == {a, b}]
        wins = [d["points"] if sign > 0 else 1 - d["points"] for d, sign in met]
        decisive = [(win, d["topic_id"]) for win, (d, _) in zip(wins, met, strict=True) if win != 0.5]
        by_topic = cluster_rate([win for win, _ in decisive], [topic for _, topic in decisive])
        assert row["wins_p_value"] == pytest.approx(by_topic.p_value if by_topic else None, rel=1e-6)
        if row["count_games_needed"] is not None:
            rate = wins.count(1) / (wins.count(1) + wins.count(0))
            assert row["count_games_needed"] == power.games_needed(rate, alpha=0.05 / len(found))
            assert row["count_debates_needed"] == math.ceil(
                round(row["count_games_needed"] / (1 - wins.count(0.5) / len(wins)), 6)
            )
        scores = cluster_mean([sign * d["gap"] for d, sign in met], [d["topic_id"] for d, _ in met])
        expected = (scores.mean, scores.ci_low, scores.ci_high, scores.p)
        assert (
            row["score_gap"],
            row["score_gap_ci_low"],
            row["score_gap_ci_high"],
            row["score_gap_p_value"],
        ) == pytest.approx(expected, abs=1e-7)
        # Points per debate of either, on every topic, as the mean of both sides.
        rates: dict[str, list[float]] = {}
        for name in (a, b):
            sides: dict[tuple[str, str], list[float]] = defaultdict(list)
            for debate, points in points_of(debates, name):
                sides[debate["topic_id"], "pro" if debate["pro"] == name else "con"].append(points)
            topics = sorted({topic for topic, _ in sides})
            rates[name] = [fmean([fmean(sides[topic, side]) for side in ("pro", "con")]) for topic in topics]
        test = paired_t(rates[a], rates[b])
        gap = (
            row["win_rate_gap"],
            row["win_rate_gap_ci_low"],
            row["win_rate_gap_ci_high"],
            row["win_rate_gap_p_value"],
        )
        assert gap == pytest.approx((test.mean, max(-1, test.ci_low), min(1, test.ci_high), test.p), abs=1e-7)
    for kind in ("wins", "score_gap", "win_rate_gap"):
        adjusted = holm([row[f"{kind}_p_value"] for row in found])
        assert [row[f"{kind}_p_value_holm"] for row in found] == pytest.approx(adjusted)


def test_the_better_one_is_told_apart_and_equals_are_not(con: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["model_a"], row["model_b"]): row
        for row in rows(con, "from marts.debater_differences where run_tag = 'planted'")
    }
    assert all(row["is_significant"] and row["net_wins"] > 0 for (a, _), row in found.items() if a == "ace")
    assert not found["even-1", "even-2"]["is_significant"]


def test_one_topic_tells_nobody_apart_and_says_so(con: duckdb.DuckDBPyConnection) -> None:
    (run,) = rows(con, "from marts.run_power where run_tag = 'one topic'")
    assert run["warning"] == (
        "No two debaters can be tested: a test needs two topics that both debated on the same side."
    )
    assert (run["count_pairs"], run["count_tested_pairs"], run["count_significant_pairs"]) == (10, 0, 0)
    assert (run["is_leader_significant"], run["detectable_win_rate_gap"]) == (None, None)
    for row in rows(con, "from marts.debater_differences where run_tag = 'one topic'"):
        assert (row["win_rate_gap_p_value"], row["win_rate_gap_reason"]) == (None, "one_cluster")
        assert row["is_significant"] is None
        # Debates are the unit of what the two scored against each other, and nothing is said about other topics.
        assert row["score_gap_p_value"] is not None
        assert row["score_gap_reason"] == ("few_topics" if row["score_gap_ci_low"] is not None else "no_variation")
        assert (row["count_scored_topics"], row["win_rate_gap_ci_low"]) == (1, None)


def test_power_of_a_run_is_that_of_the_functions(con: duckdb.DuckDBPyConnection) -> None:
    (run,) = rows(con, "from marts.run_power where run_tag = 'planted'")
    pairs = rows(con, "from marts.debater_differences where run_tag = 'planted'")
    spread = fmean(row["win_rate_gap_standard_error"] ** 2 * 12 for row in pairs) ** 0.5
    level = 0.05 / run["count_tested_pairs"]
    effect = power.detectable_effect(12, alpha=level)
    assert effect is not None
    assert run["detectable_win_rate_gap"] == pytest.approx(effect * spread)
    decisive = int(sum(row["a_wins"] + row["b_wins"] for row in pairs) / 10)
    assert run["detectable_direct_win_rate"] == pytest.approx(power.detectable_win_rate(decisive, alpha=level))
    assert run["count_significant_pairs"] == sum(row["is_significant"] for row in pairs)
    assert run["is_leader_significant"] is True
    assert run["warning"] is None


def test_length_pays_for_the_one_that_it_was_planted_for(con: duckdb.DuckDBPyConnection) -> None:
    found = {row["model_id"]: row for row in rows(con, "from marts.score_by_tokens where run_tag = 'planted'")}
    assert found["wordy"]["gap_correlation_ci_low"] > 0.3
    assert found["even-1"]["gap_correlation"] < found["wordy"]["gap_correlation"]
    sides = con.execute(
        """
        select sum(case when t.side = 'pro' then t.completion_tokens else -t.completion_tokens end)
            * case when any_value(d.pro_model_id) = 'wordy' then 1 else -1 end,
            any_value(m.pro_mean_score - m.con_mean_score)
            * case when any_value(d.pro_model_id) = 'wordy' then 1 else -1 end,
            any_value(d.topic_id)
        from staging.stg_turns as t
        join staging.stg_debates as d using (run_tag, debate_id)
        join intermediate.int_debate_means as m using (run_tag, debate_id)
        where run_tag = 'planted' and 'wordy' in (d.pro_model_id, d.con_model_id)
        group by debate_id
        """
    ).fetchall()
    gaps = [(float(x), float(y), topic) for x, y, topic in sides]

    def correlation(left_out: str | None = None) -> float:
        kept = [(x, y) for x, y, topic in gaps if topic != left_out]
        return float(oracle.pearsonr(*zip(*kept, strict=True)).statistic)

    topics = sorted({topic for *_, topic in gaps})
    whole = correlation()
    squares = sum((correlation(topic) - whole) ** 2 for topic in topics)
    half_width = oracle.t.ppf(0.975, len(topics) - 1) * math.sqrt(squares * (len(topics) - 1) / len(topics))
    ends = (found["wordy"]["gap_correlation_ci_low"], found["wordy"]["gap_correlation_ci_high"])
    assert found["wordy"]["gap_correlation"] == pytest.approx(whole, abs=1e-8)
    assert ends == pytest.approx((whole - half_width, whole + half_width), abs=1e-8)


def test_cost_is_per_debate_and_per_win(con: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(con, "from marts.debater_value where run_tag = 'planted' and model_id = 'ace'")
    (spent,) = con.execute("select sum(cost) from raw.turns where run_tag = 'planted' and model_id = 'ace'").fetchall()[
        0
    ]
    assert row["full_cost_usd"] == spent
    assert row["cost_per_debate_usd"] == pytest.approx(float(spent) / 96)
    assert row["cost_per_win_usd"] == pytest.approx(float(spent) / row["wins"])
    assert row["is_on_frontier"] is True


def test_results_do_not_depend_on_threads_or_on_the_order_of_rows() -> None:
    records = planted("planted", 3, seed=7)
    shuffled = records[:1] + random.Random(1).sample(records[1:], len(records) - 1)
    one, other = built(records, threads=1), built(shuffled, threads=4)
    for name in MODELS:
        sql = f"select * from marts.{name} order by all"
        assert one.execute(sql).fetchall() == other.execute(sql).fetchall(), name
    one.close()
    other.close()


# --- topics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_tag", ["planted", "one topic", "uneven"])
def test_a_topic_is_as_sided_as_debates_differ_from_what_ratings_predict(
    con: duckdb.DuckDBPyConnection, run_tag: str
) -> None:
    played: defaultdict[str, list[tuple[frozenset[str], float, float]]] = defaultdict(list)
    for topic, pro, other, points, gap in con.execute(
        """
        select games.topic_id, games.pro_model_id, games.con_model_id, games.pro_score, pro.rating - con.rating
        from marts.games
        join ratings.bradley_terry as pro on games.run_tag = pro.run_tag and games.pro_model_id = pro.model_id
        join ratings.bradley_terry as con on games.run_tag = con.run_tag and games.con_model_id = con.model_id
        where games.run_tag = ?
        """,
        [run_tag],
    ).fetchall():
        played[topic].append((frozenset((pro, other)), points, 1 / (1 + 10 ** (-gap / 400))))
    found = [
        row
        for row in rows(con, f"select * from marts.topics where run_tag = '{run_tag}' order by topic_id")
        if row["games"] > 0
    ]

    assert {row["topic_id"] for row in found} == set(played)
    every = [points - expected for debates in played.values() for _, points, expected in debates]
    p_values = []
    for row in found:
        pairs, points, expected = zip(*played[row["topic_id"]], strict=True)
        mean = cluster_mean([a - b for a, b in zip(points, expected, strict=True)], pairs)
        error = max(mean.error or 0, math.sqrt(sum(p * (1 - p) for p in expected)) / len(expected))
        df = len(set(pairs)) - 1
        reach = oracle.t.ppf(0.975, df) * error
        p_values.append(2 * oracle.t.sf(abs(mean.mean) / error, df))
        assert (row["games"], row["count_pairs"], row["reason"]) == (len(pairs), df + 1, None)
        assert row["side_effect"] == pytest.approx(mean.mean, abs=1e-9)
        assert row["expected_pro_win_rate"] == pytest.approx(fmean(expected), abs=1e-9)
        assert row["ci_low"] == pytest.approx(max(mean.mean - reach, -fmean(expected)), abs=1e-6)
        assert row["ci_high"] == pytest.approx(min(mean.mean + reach, 1 - fmean(expected)), abs=1e-6)
        assert row["p_value"] == pytest.approx(p_values[-1], abs=1e-6)
        assert row["run_side_effect"] == pytest.approx(fmean(every), abs=1e-9)
    for column, adjusted in (("p_value_holm", holm(p_values)), ("p_value_bh", benjamini_hochberg(p_values))):
        assert [row[column] for row in found] == pytest.approx(adjusted, abs=1e-6)


def test_a_motion_that_favours_a_side_is_found_at_equal_and_unequal_strength() -> None:
    """On t0 every debate is won by con, also by the weaker debater."""
    records = planted("sided", 6, seed=8)
    on_t0 = {each.debate_id for each in records if isinstance(each, Debate) and each.topic_id == "t0"}
    lost = (Score(dimension="logic", pro=Decimal(4), con=Decimal(8)),)
    sided = [
        each.model_copy(update={"scores": lost}) if isinstance(each, Verdict) and each.debate_id in on_t0 else each
        for each in records
    ]
    with built(sided) as con:
        found = con.execute("select topic_id from marts.topics where ci_high < 0 and p_value_holm < 0.05").fetchall()
        assert found == [("t0",)]
