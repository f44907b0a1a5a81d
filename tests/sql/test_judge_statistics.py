"""SQL models about judges, over a tournament with planted biases, beside their definitions."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, permutations
from pathlib import Path
from statistics import correlation, fmean, linear_regression
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records
from oracles import (
    agreeing_pairs,
    cohen_kappa,
    difference_p,
    effective_count,
    fleiss_kappa,
    gwet_ac1,
    jackknife,
    krippendorff_alpha_interval,
    leaving_out,
    wilson_interval,
)

from debatebench.shared.records import (
    Adjudication,
    Annotation,
    Debate,
    Debater,
    Dimension,
    Judge,
    Record,
    Run,
    Score,
    Side,
    Topic,
    Turn,
    Verdict,
)
from debatebench.stats.distributions import t_quantile
from debatebench.transform.build import build

pytestmark = pytest.mark.slow

Biases = dict[tuple[str, str], dict[str, Any]]
Mirrored = dict[str, dict[str, Any]]

MODELS = (
    "int_rating_patterns",
    "reliability",
    "judge_pair_agreement",
    "judge_alignment",
    "judge_mirrored_pairs",
    "judge_bias",
)
JUDGES = {
    "fair": "alibaba/qwen-judge",
    "lenient": "mistral/mistral-large",
    "pro-leaning": "meta-llama/llama-judge",
    "wordy": "deepseek/deepseek-judge",
    "eager": "cohere/command",
    "relative": "openai/gpt-judge",
}
DEBATERS = {"gpt": "openai/gpt-x", "claude": "anthropic/claude-x", "grok": "xai/grok-x", "nova": "amazon/nova-x"}
STRENGTH = {"gpt": 0.4, "claude": 0.3, "grok": -0.2, "nova": -0.5}
DIMENSIONS = ("logic", "clarity")


def planted(tag: str, topics: int = 6, seed: int = 4) -> list[Record]:
    """Every ordered pair debates on every topic; five of six judges hear each debate, some shown con first.

    `lenient` gives a point more to both sides, `pro-leaning` one and a half to pro, `wordy` one and a half per thousand
    characters, `eager` 0.7 to who is shown first, `relative` one and a half to the debater of its family.
    """
    rng = random.Random(seed)
    records: list[Record] = [Run(run_tag=tag, source="run", format="tournament")]
    records += [Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.") for n in range(topics)]
    records += [Debater(run_tag=tag, model_id=i, provider="openrouter", model_name=m) for i, m in DEBATERS.items()]
    records += [Judge(run_tag=tag, judge_id=i, provider="openrouter", model_name=m) for i, m in JUDGES.items()]
    records += [
        Dimension(run_tag=tag, dimension=d, source_position=n, min_score=Decimal(0), max_score=Decimal(20))
        for n, d in enumerate(DIMENSIONS)
    ]
    fixtures = [(n, pro, con) for n in range(topics) for pro, con in permutations(DEBATERS, 2)]
    for position, (topic, pro, con) in enumerate(fixtures):
        debate_id = f"d{position:03}"
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
        lengths = {side: rng.randrange(200, 1800) for side in ("pro", "con")}
        for index, side in enumerate(("pro", "con")):
            speech = {"turn_index": index, "position": side, "side": side, "content": "x" * lengths[side]}
            speech |= {"run_tag": tag, "debate_id": debate_id, "model_id": pro if side == "pro" else con}
            records.append(Turn.model_validate(speech))
        seen = STRENGTH[pro] - STRENGTH[con] + rng.gauss(0, 0.5)
        for seat, judge in enumerate(rng.sample(list(JUDGES), 5)):
            shown_first: Side = rng.choice(("pro", "con"))
            lead = seen + {
                "pro-leaning": 1.5,
                "wordy": 1.5 * (lengths["pro"] - lengths["con"]) / 1000,
                "eager": 0.7 if shown_first == "pro" else -0.7,
                "relative": 1.5 * ((pro == "gpt") - (con == "gpt")),
            }.get(judge, 0)
            level = 8 + (judge == "lenient") + rng.gauss(0, 0.3)
            scores = []
            for dimension in DIMENSIONS:
                half = (lead + rng.gauss(0, 0.3)) / 2
                # Halves of points, so that ties happen.
                pair = [Decimal(str(round((level + side * half) * 2) / 2)) for side in (1, -1)]
                scores.append(Score(dimension=dimension, pro=pair[0], con=pair[1]))
            records.append(
                Verdict(
                    run_tag=tag,
                    debate_id=debate_id,
                    judge_id=judge,
                    panel_position=seat,
                    presented_first=shown_first,
                    is_valid=True,
                    scores=tuple(scores),
                )
            )
    return records


def with_people(records: list[Record], seed: int = 3) -> list[Record]:
    """The same, where three people annotated two debates of three, and agreed later on some of these."""
    rng, tag = random.Random(seed), records[0].run_tag
    people: list[Record] = []
    for debate in [each for each in records if isinstance(each, Debate) and rng.random() < 0.67]:
        where = {"run_tag": tag, "debate_id": debate.debate_id}
        for number in range(3):
            winner = rng.choice(("pro", "con", "tie"))
            people.append(Annotation.model_validate({**where, "annotator_id": f"p{number}", "winner": winner}))
        if rng.random() < 0.3:
            agreed = {"adjudicator_id": "p0", "winner": rng.choice(("pro", "con"))}
            people.append(Adjudication.model_validate({**where, **agreed}))
    return records + people


def votes_as_records(tag: str, votes: Sequence[tuple[int, str, str]]) -> list[Record]:
    """(debate, judge, winner) as debates on one topic."""
    records: list[Record] = [
        Run(run_tag=tag, source="import", format="debatebench"),
        Topic(run_tag=tag, topic_id="t", source_position=0, motion="Motion."),
        *(Debater(run_tag=tag, model_id=name) for name in ("a", "b")),
        *(Judge(run_tag=tag, judge_id=name) for name in sorted({judge for _, judge, _ in votes})),
        Dimension(run_tag=tag, dimension="logic", source_position=0),
    ]
    seats: Counter[int] = Counter()
    for debate in sorted({debate for debate, _, _ in votes}):
        records.append(
            Debate(
                run_tag=tag,
                debate_id=f"d{debate}",
                source_position=debate,
                topic_id="t",
                pro_model_id="a",
                con_model_id="b",
            )
        )
    for debate, judge, winner in votes:
        pro = {"pro": 6, "tie": 5, "con": 4}[winner]
        records.append(
            Verdict(
                run_tag=tag,
                debate_id=f"d{debate}",
                judge_id=judge,
                panel_position=seats[debate],
                is_valid=True,
                scores=(Score(dimension="logic", pro=Decimal(pro), con=Decimal(5)),),
            )
        )
        seats[debate] += 1
    return records


def built(*runs: Sequence[Record], threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A warehouse in memory with the SQL models about judges."""
    con = new_warehouse(threads=threads)
    for records in runs:
        land_records(con, records[0].run_tag, records)
    build(con, packaged_project(), select=[f"+{name}" for name in MODELS])
    return con


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = built(
        planted("planted"), planted("two topics", topics=2, seed=9), with_people(planted("people", seed=12))
    )
    yield connection
    connection.close()


def rows(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[dict[str, Any]]:
    result = con.execute(query, list(values))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


class Verdicts:
    """The verdicts of the planted run as plain data: by judge and debate, the mean scores and the winner."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.debates = {r.debate_id: r for r in records if isinstance(r, Debate)}
        self.said: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.turns: dict[str, list[Turn]] = defaultdict(list)
        for record in records:
            if isinstance(record, Verdict):
                self.said[record.debate_id][record.judge_id] = record
            elif isinstance(record, Turn):
                self.turns[record.debate_id].append(record)

    def margin(self, debate: str, judge: str) -> float:
        return fmean(float(s.pro - s.con) for s in self.said[debate][judge].scores or ())

    def level(self, debate: str, judge: str) -> float:
        return fmean(float(s.pro + s.con) / 2 for s in self.said[debate][judge].scores or ())

    def winner(self, debate: str, judge: str) -> str:
        margin = self.margin(debate, judge)
        return "pro" if margin > 0 else "con" if margin < 0 else "tie"

    def points(self, debate: str, judge: str) -> float:
        return {"pro": 1.0, "tie": 0.5, "con": 0.0}[self.winner(debate, judge)]

    def longer(self, debate: str) -> int:
        return sum(len(turn.content) * (1 if turn.side == "pro" else -1) for turn in self.turns[debate])

    def beyond(self, value: Callable[[str, str], float], debate: str, judge: str) -> float:
        """The judge's value minus the mean of the others'."""
        return value(debate, judge) - fmean(value(debate, other) for other in self.said[debate] if other != judge)

    def heard_by(self, judge: str) -> list[str]:
        return [debate for debate, panel in self.said.items() if judge in panel]

    def by_topic(self, values: dict[str, Any]) -> dict[str, list[Any]]:
        """Values by debate as lists by topic."""
        grouped: dict[str, list[Any]] = defaultdict(list)
        for debate, value in values.items():
            grouped[self.debates[debate].topic_id].append(value)
        return grouped


@pytest.fixture(scope="module")
def verdicts() -> Verdicts:
    return Verdicts(planted("planted"))


@pytest.fixture(scope="module")
def biases(con: duckdb.DuckDBPyConnection) -> Biases:
    """`marts.judge_bias` of the planted run by judge and kind."""
    found = rows(con, "select * from marts.judge_bias where run_tag = 'planted'")
    return {(row["judge_id"], row["bias"]): row for row in found}


@pytest.fixture(scope="module")
def mirrored(con: duckdb.DuckDBPyConnection) -> Mirrored:
    found = rows(con, "select * from marts.judge_mirrored_pairs where run_tag = 'planted'")
    return {row["judge_id"]: row for row in found}


def near(value: float | None) -> Any:
    return value if value is None else pytest.approx(value, abs=1e-7)


def left_out(grouped: dict[str, list[Any]], statistic: Callable[[list[Any]], float | None]) -> list[float | None]:
    return [statistic([v for other, values in grouped.items() if other != topic for v in values]) for topic in grouped]


# Biases that were planted are found, and only those


@pytest.mark.parametrize(
    ("bias", "guilty"),
    [
        ("leniency", "lenient"),
        ("side_lean", "pro-leaning"),
        ("side_preference", "pro-leaning"),
        ("mirrored_side_preference", "pro-leaning"),
        ("verbosity", "wordy"),
        ("verbosity_beyond_others", "wordy"),
        ("verbosity_correlation", "wordy"),
        ("longer_wins", "wordy"),
        ("position", "eager"),
        ("own_family_margin", "relative"),
        ("own_family_points", "relative"),
        ("own_family_preference", "relative"),
    ],
)
def test_a_planted_bias_is_found_in_the_judge_that_has_it(biases: Biases, bias: str, guilty: str) -> None:
    found = {judge: biases[judge, bias] for judge in JUDGES}
    assert found[guilty]["ci_low"] > found[guilty]["neutral"]
    others = [row["ci_low"] for judge, row in found.items() if judge != guilty and row["ci_low"] is not None]
    assert found[guilty]["ci_low"] > max(others, default=-1)


def test_planted_sizes_are_recovered(biases: Biases) -> None:
    """A point of leniency; 1.5 points per thousand characters; 1.5 points for one's own family."""
    for judge, bias, size in (
        ("lenient", "leniency", 1.0),
        ("wordy", "verbosity_beyond_others", 1.5),
        ("relative", "own_family_margin", 1.5),
    ):
        row = biases[judge, bias]
        assert row["ci_low"] - 0.3 < size < row["ci_high"] + 0.3


def test_a_judge_without_a_debater_of_its_family_prefers_none(biases: Biases) -> None:
    for bias in ("own_family_margin", "own_family_points", "own_family_preference"):
        row = biases["fair", bias]
        assert (row["value"], row["ci_low"], row["reason"], row["count_debates"]) == (None, None, "no_family", 0)


def test_people_are_the_reference_of_a_judges_family_where_they_gave_a_verdict(con: duckdb.DuckDBPyConnection) -> None:
    records = with_people(planted("people", seed=12))
    verdicts, people = Verdicts(records), defaultdict[str, list[float]](list)
    for kind in (Annotation, Adjudication):
        for each in records:
            if isinstance(each, kind):
                points = {"pro": 1.0, "tie": 0.5, "con": 0.0}[each.winner or "tie"]
                people[each.debate_id] = [*people[each.debate_id], points] if kind is Annotation else [points]
    own = {}
    for debate_id in verdicts.heard_by("relative"):
        debate = verdicts.debates[debate_id]
        if "gpt" in (debate.pro_model_id, debate.con_model_id):
            panel = [verdicts.points(debate_id, judge) for judge in verdicts.said[debate_id] if judge != "relative"]
            beyond = verdicts.points(debate_id, "relative") - fmean(people.get(debate_id) or panel)
            own[debate_id] = beyond if debate.pro_model_id == "gpt" else -beyond
    grouped = verdicts.by_topic(own)
    expected = jackknife(fmean(own.values()), left_out(grouped, fmean))

    (row,) = rows(
        con,
        "select * from marts.judge_bias where run_tag = 'people' and judge_id = 'relative' "
        "and bias = 'own_family_preference'",
    )
    assert [row[name] for name in ("value", "ci_low", "ci_high")] == [
        near(each) for each in (expected.value, expected.ci_low, expected.ci_high)
    ]
    assert row["count_debates"] == len(own)
    assert row["count_people_debates"] == len(set(own) & set(people))
    assert 0 < row["count_people_debates"] < row["count_debates"]


# The same numbers as from the pure functions


def test_means_are_those_of_plain_python(biases: Biases, verdicts: Verdicts) -> None:
    for judge in JUDGES:
        heard = verdicts.heard_by(judge)
        for bias, value in (("leniency", verdicts.level), ("side_lean", verdicts.points)):
            grouped = verdicts.by_topic({debate: verdicts.beyond(value, debate, judge) for debate in heard})
            everything = [v for values in grouped.values() for v in values]
            expected = jackknife(fmean(everything), left_out(grouped, fmean))
            row = biases[judge, bias]
            assert row["value"] == near(expected.value)
            assert (row["ci_low"], row["ci_high"]) == (near(expected.ci_low), near(expected.ci_high))
            assert (row["count_debates"], row["count_clusters"]) == (len(heard), 6)


def test_verbosity_is_that_of_plain_python(biases: Biases, verdicts: Verdicts) -> None:
    def beyond(debate: str, judge: str) -> float:
        return verdicts.beyond(verdicts.margin, debate, judge)

    for judge in JUDGES:
        for bias, y in (
            ("verbosity", verdicts.margin),
            ("verbosity_beyond_others", beyond),
            ("verbosity_correlation", verdicts.margin),
        ):
            pairs = {debate: (verdicts.longer(debate), y(debate, judge)) for debate in verdicts.heard_by(judge)}

            def statistic(values: list[Any], is_slope: bool = bias != "verbosity_correlation") -> float:
                x, y = [x for x, _ in values], [v for _, v in values]
                return 1000 * linear_regression(x, y).slope if is_slope else correlation(x, y)

            expected = jackknife(
                statistic(list(pairs.values())), left_out(verdicts.by_topic(pairs), statistic), low=-9, high=9
            )
            row = biases[judge, bias]
            assert row["value"] == near(expected.value)
            assert row["ci_low"] == near(expected.ci_low)


def test_rates_and_their_p_values_are_those_over_topics(biases: Biases, verdicts: Verdicts) -> None:
    for judge in JUDGES:
        winners = {debate: verdicts.winner(debate, judge) for debate in verdicts.heard_by(judge)}
        decisive = {debate: winner for debate, winner in winners.items() if winner != "tie"}
        longer = {
            debate: float((winner == "pro") == (verdicts.longer(debate) > 0))
            for debate, winner in decisive.items()
            if verdicts.longer(debate) != 0
        }
        for bias, outcomes in (
            ("side_preference", {debate: float(winner == "pro") for debate, winner in decisive.items()}),
            ("longer_wins", longer),
        ):
            grouped = verdicts.by_topic(outcomes)
            rate, n = fmean(outcomes.values()), len(outcomes)
            error = jackknife(rate, left_out(grouped, fmean)).error
            effective = effective_count(rate, n, len(grouped), error)
            above = sum(fmean(values) > 0.5 for values in grouped.values())
            below = sum(fmean(values) < 0.5 for values in grouped.values())
            assert effective is not None
            row = biases[judge, bias]
            assert (row["value"], row["count_debates"]) == (near(rate), n)
            assert (row["ci_low"], row["ci_high"]) == tuple(
                near(end) for end in wilson_interval(rate * effective, effective)
            )
            assert row["p_value"] == near(difference_p(rate - 0.5, error, len(grouped), above, below, False))


def test_mirrored_pairs_are_those_of_plain_python(mirrored: Mirrored, verdicts: Verdicts) -> None:
    for judge in JUDGES:
        said = {
            (d.topic_id, d.pro_model_id, d.con_model_id): verdicts.winner(d.debate_id, judge)
            for d in verdicts.debates.values()
            if judge in verdicts.said[d.debate_id]
        }
        pairs = [
            (said[topic, a, b], said[topic, b, a])
            for topic, a, b in said
            if a is not None and b is not None and a < b and (topic, b, a) in said
        ]
        consistent = sum(pairs.count(pair) for pair in (("pro", "con"), ("con", "pro"), ("tie", "tie")))
        row = mirrored[judge]
        assert (row["count_pairs"], row["count_pro_both"], row["count_con_both"], row["count_consistent"]) == (
            len(pairs),
            pairs.count(("pro", "pro")),
            pairs.count(("con", "con")),
            consistent,
        )
        assert row["consistency_rate"] == near(consistent / len(pairs))


def test_pairs_of_judges_agree_as_in_plain_python(con: duckdb.DuckDBPyConnection, verdicts: Verdicts) -> None:
    found = rows(con, "select * from marts.judge_pair_agreement where run_tag = 'planted' order by judge_a, judge_b")
    assert [(row["judge_a"], row["judge_b"]) for row in found] == list(combinations(sorted(JUDGES), 2))
    for row in found:
        judges = row["judge_a"], row["judge_b"]
        both = {
            debate: tuple(verdicts.winner(debate, judge) for judge in judges)
            for debate in verdicts.heard_by(judges[0])
            if judges[1] in verdicts.said[debate]
        }
        pairs = list(both.values())
        decisive = [pair for pair in pairs if "tie" not in pair]
        assert (row["count_debates"], row["count_decisive"]) == (len(pairs), len(decisive))
        assert (row["agreement_rate"], row["decisive_agreement_rate"]) == (
            near(fmean(a == b for a, b in pairs)),
            near(fmean(a == b for a, b in decisive)),
        )
        assert row["kappa_linear"] == near(cohen_kappa(pairs, 1, ["pro", "tie", "con"]))
        assert row["kappa_quadratic"] == near(cohen_kappa(pairs, 2, ["pro", "tie", "con"]))
        interval = leaving_out(pairs, [verdicts.debates[debate].topic_id for debate in both], cohen_kappa, -1, 1)
        assert interval is not None
        assert (row["kappa"], row["kappa_ci_low"], row["kappa_ci_high"]) == (
            near(interval.value),
            near(interval.ci_low),
            near(interval.ci_high),
        )


@pytest.mark.parametrize("tag", ["planted", "two topics"])
def test_reliability_is_that_of_plain_python(con: duckdb.DuckDBPyConnection, tag: str) -> None:
    """With two topics, each debate is left out in its turn."""
    said = Verdicts(planted("planted") if tag == "planted" else planted(tag, topics=2, seed=9))
    found = {
        (row["unit"], row["statistic"], row["level"]): row
        for row in rows(con, "select * from marts.reliability where run_tag = ?", tag)
    }
    panels = [(debate, judge) for debate, panel in said.said.items() for judge in panel]
    cluster = {debate: d.topic_id if tag == "planted" else debate for debate, d in said.debates.items()}
    winners = [said.winner(debate, judge) for debate, judge in panels]
    places = [("pro", "tie", "con").index(winner) for winner in winners]
    for level, values in (("nominal", winners), ("ordinal", places)):
        rated = [(debate, value) for (debate, _), value in zip(panels, values, strict=True)]
        compare(found["winner", "krippendorff_alpha", level], rated, level, cluster)
    for n, dimension in enumerate(DIMENSIONS):
        sides = [
            ((debate, side), float(getattr((said.said[debate][judge].scores or ())[n], side)))
            for debate, judge in panels
            for side in ("pro", "con")
        ]
        for level in ("ordinal", "interval"):
            compare(found[dimension, "krippendorff_alpha", level], sides, level, cluster)
    counts = [
        [[said.winner(debate, judge) for judge in panel].count(winner) for winner in ("pro", "tie", "con")]
        for debate, panel in said.said.items()
    ]
    assert found["winner", "fleiss_kappa", "nominal"]["value"] == near(fleiss_kappa(counts))
    assert found["winner", "gwet_ac1", "nominal"]["value"] == near(gwet_ac1(counts))
    assert found["winner", "agreement", "nominal"]["value"] == near(agreeing_pairs(counts))


def compare(row: dict[str, Any], rated: Sequence[tuple[Any, Any]], level: str, cluster: dict[str, str]) -> None:
    """A row of `marts.reliability` with the alpha of ratings, whose units are debates or (debate, side)."""
    clusters = [cluster[unit if isinstance(unit, str) else unit[0]] for unit, _ in rated]
    expected = krippendorff_alpha_interval(rated, clusters, level)
    assert expected is not None
    assert (row["value"], row["ci_low"], row["ci_high"]) == (
        near(expected.value),
        near(expected.ci_low),
        near(expected.ci_high),
    )
    assert (row["count_debates"], row["count_ratings"], row["count_clusters"]) == (
        len(cluster),
        len(rated),
        len(set(clusters)),
    )


def test_leniency_per_dimension_adds_up_to_leniency(con: duckdb.DuckDBPyConnection, biases: Biases) -> None:
    for judge in JUDGES:
        found = rows(con, "select * from marts.judge_bias where run_tag = 'planted' and judge_id = ?", judge)
        found = [row for row in found if row["bias"] == "dimension_leniency"]
        assert [row["dimension"] for row in sorted(found, key=lambda row: row["dimension"])] == sorted(DIMENSIONS)
        overall = biases[judge, "leniency"]
        assert fmean(row["value"] for row in found) == near(overall["value"])
        assert all(row["ci_low"] < row["value"] < row["ci_high"] for row in found)
        assert {row["count_debates"] for row in found} == {overall["count_debates"]}


def test_a_query_of_biases_reads_stored_sums_and_no_verdict(con: duckdb.DuckDBPyConnection) -> None:
    plan = con.execute("explain (format json) select * from marts.judge_bias").fetchall()[0][1]
    read = set(re.findall(r"\.((?:raw|intermediate|marts)\.\w+)", plan))
    assert "intermediate.int_judge_bias_sums" in read
    assert read <= {"intermediate.int_judge_bias_sums", "intermediate.int_t_quantiles", "raw.judges", "raw.debaters"}


def test_t_quantiles_are_those_of_the_distribution(con: duckdb.DuckDBPyConnection) -> None:
    found = dict(con.execute("select df, t_95 from intermediate.int_t_quantiles").fetchall())
    assert len(found) == 1000
    for df in (1, 2, 3, 5, 10, 23, 30, 31, 32, 50, 100, 400, 1000):
        assert found[df] == pytest.approx(t_quantile(0.95, df), rel=1e-14)


# The worked example


def test_panels_agree_as_in_the_worked_example(shared: Path) -> None:
    example = json.loads((shared / "stats" / "judge_agreement.json").read_text())
    votes = [tuple(vote) for vote in example["input"]["votes_debate_judge_winner"]]
    con = built(votes_as_records("votes", votes))
    expected = example["expected"]
    for row in rows(con, "select * from marts.judge_pair_agreement"):
        wanted = expected["pair_n_agree_ndecisive_agreedecisive"][f"{row['judge_a']}-{row['judge_b']}"]
        names = ("count_debates", "agreement_rate", "count_decisive", "decisive_agreement_rate")
        assert [row[name] for name in names] == [near(value) for value in wanted]
    for row in rows(con, "select * from marts.judge_alignment"):
        wanted = expected["loo_n_agreewithrest_panelflips"][row["judge_id"]]
        assert [row["count_debates"], row["alignment_rate"], row["count_flips"]] == [near(value) for value in wanted]
    (alpha,) = con.execute(
        "select value from marts.reliability where unit = 'winner' and statistic = 'krippendorff_alpha' "
        "and level = 'nominal'"
    ).fetchone() or (None,)
    assert alpha == pytest.approx(expected["krippendorff_nominal"], abs=1e-9)
    con.close()


def test_cohens_kappa_of_a_pair_is_that_of_the_worked_example(shared: Path) -> None:
    example = json.loads((shared / "stats" / "cohen_kappa.json").read_text())
    given, expected = example["input"], example["expected"]
    runs = [
        votes_as_records(
            tag,
            [
                (n, judge, w)
                for judge, key in (("a", f"{prefix}_a"), ("b", f"{prefix}_b"))
                for n, w in enumerate(given[key])
            ],
        )
        for tag, prefix in (("plain", "rater"), ("paradox", "paradox"))
    ]
    con = built(*runs)
    found = {row["run_tag"]: row for row in rows(con, "select * from marts.judge_pair_agreement")}
    for name in ("kappa", "kappa_linear", "kappa_quadratic"):
        assert found["plain"][name] == pytest.approx(expected[name], abs=1e-9)
    assert found["paradox"]["agreement_rate"] == pytest.approx(expected["paradox_agreement"], abs=1e-9)
    assert found["paradox"]["kappa"] == pytest.approx(expected["paradox_kappa"], abs=1e-9)
    (ac1,) = con.execute(
        "select value from marts.reliability where run_tag = 'paradox' and statistic = 'gwet_ac1'"
    ).fetchone() or (None,)
    assert ac1 == pytest.approx(expected["paradox_gwet_ac1"], abs=1e-9)
    con.close()


# Order


def relation(name: str) -> str:
    return f"{'intermediate' if name.startswith('int_') else 'marts'}.{name}"


def test_numbers_do_not_depend_on_the_order_of_rows_or_on_threads(con: duckdb.DuckDBPyConnection) -> None:
    records = planted("planted")
    shuffled = [records[0], *random.Random(1).sample(records[1:], len(records) - 1)]
    again = built(shuffled, threads=1)
    for name in MODELS:
        query = f"select * from {relation(name)} where run_tag = 'planted' order by all"
        assert again.execute(query).fetchall() == con.execute(query).fetchall(), name
    again.close()
