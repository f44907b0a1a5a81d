"""The rule for winners has one home: whatever depends on it follows the latest version, a workspace's own included."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import land_records

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import SqlModelError
from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Topic, Verdict
from debatebench.shared.workspace import Workspace, packaged
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12)
POINTS = {"pro": (7, 5), "con": (5, 7), "tie": (6, 6)}
TOPICS = {"t1": "law", "t2": "law", "t3": "art", "t4": "art", "t5": None}
JUDGES = ("j1", "j2", "j3", "j4", "j5")
DEBATERS = "abcd"
INITIAL, K = 400.0, 32.0

OWN = "models: [{name: panel_winners, latest_version: 5, versions: [{v: 5, description: Two verdicts more win.}]}]\n"
OWN_VERDICTS = """
models:
  - {name: panel_winners, latest_version: 5, versions: [{v: 5, description: By the verdicts of version 5.}]}
  - {name: judge_verdicts, latest_version: 5, versions: [{v: 5, description: "As declared, else by the scores."}]}
"""
# All that hangs on the verdicts that count.
FOLLOWING = "judge_verdicts+"
FIRST = "models: [{name: panel_winners, latest_version: 1}, {name: judge_verdicts, latest_version: 1}]\n"

Votes = Mapping[str, str]
Rule = Callable[[int, int, int], str]


def strict_majority(pro: int, con: int, tie: int) -> str:
    half = (pro + con + tie) / 2
    return "pro" if pro > half else "con" if con > half else "tie"


def more_than_the_other(pro: int, con: int, tie: int) -> str:
    return "pro" if pro > con else "con" if con > pro else "tie"


def two_more_than_the_other(pro: int, con: int, tie: int) -> str:
    return "pro" if pro >= con + 2 else "con" if con >= pro + 2 else "tie"


class Played:
    """One debate: who met on what, and each judge's scores and declared winner, which need not agree."""

    def __init__(self, number: int, topic: str, pro: str, con: str, rng: random.Random) -> None:
        self.debate_id, self.topic, self.pro, self.con = f"d{number:03}", topic, pro, con
        panel = rng.sample(JUDGES, rng.choice((1, 2, 3, 4, 5)))
        weights = (3, 2, 1) if pro < con else (2, 3, 1)
        self.scored = {judge: rng.choices(("pro", "con", "tie"), weights)[0] for judge in panel}
        self.declared = {
            judge: vote if rng.random() < 0.7 else rng.choice(("pro", "con", "tie"))
            for judge, vote in self.scored.items()
        }

    def records(self) -> Iterator[Record]:
        where = {"run_tag": "r", "debate_id": self.debate_id}
        number = int(self.debate_id[1:])
        yield Debate(
            **where,
            source_position=number,
            schedule_position=number,
            topic_id=self.topic,
            format="two_sided",
            pro_model_id=self.pro,
            con_model_id=self.con,
            status="complete",
            created_at=NOON,
        )
        for seat, (judge, vote) in enumerate(self.scored.items()):
            pro, con = map(Decimal, POINTS[vote])
            yield Verdict(
                **where,
                judge_id=judge,
                panel_position=seat,
                is_valid=True,
                declared_winner=self.declared[judge],
                scores=(Score(dimension="d", pro=pro, con=con),),
            )


def tournament() -> list[Played]:
    """Every ordered pair on every topic, before panels of one to five judges; and a debate against oneself."""
    rng = random.Random(11)
    pairs = [(topic, *pair) for topic in TOPICS for pair in itertools.permutations(DEBATERS, 2)]
    return [Played(n, *where, rng) for n, where in enumerate([*pairs, ("t1", "a", "a")])]


def project_with(root: Path, yaml: str, sql: Mapping[str, str]) -> Project:
    """The packaged SQL models under a workspace's own files."""
    folder = root / "sql" / "marts"
    folder.mkdir(parents=True)
    (folder / "rules.yml").write_text(yaml, encoding="utf-8")
    for name, text in sql.items():
        (folder / name).write_text(text, encoding="utf-8")
    return load_project(Workspace(root).files("sql", "**/*"))


def own_rule() -> str:
    """The SQL of version 5 in the documentation: a few lines."""
    page = (Path(__file__).parents[2] / "docs" / "sql-models.md").read_text(encoding="utf-8")
    sql = next(block for block in page.split("```\n") if block.startswith("-- One row") and "panel_winners_v4" in block)
    assert len(sql.splitlines()) <= 10
    return sql


def own_verdicts() -> dict[str, str]:
    """Version 5 of both: a judge's verdict counts by its declared winner where it has one, else by its scores."""
    second = (packaged("sql") / "marts" / "debates" / "panel_winners_v2.sql").read_text(encoding="utf-8")
    verdicts = """\
        select run_tag, debate_id, judge_id, panel_position,
            coalesce(declared.winner, scored.winner) as winner,
            coalesce(declared.winner, scored.winner) is not null as is_valid
        from marts.judge_verdicts_v2 as scored
        left join marts.judge_verdicts_v1 as declared using (run_tag, debate_id, judge_id, panel_position)
    """
    return {
        "judge_verdicts_v5.sql": verdicts,
        "panel_winners_v5.sql": second.replace("judge_verdicts_v2", "judge_verdicts_v5"),
    }


def warehouse(
    project: Project, debates: Sequence[Played], select: Sequence[str] | None = None
) -> duckdb.DuckDBPyConnection:
    records: list[Record] = [
        Run(
            run_tag="r",
            source="import",
            format="tournament",
            elo_initial_rating=INITIAL,
            elo_k_factor=K,
            min_games_for_display=0,
            created_at=NOON,
        )
    ]
    records += [
        Topic(run_tag="r", topic_id=topic, source_position=n, motion=f"This house would {topic}.", category=category)
        for n, (topic, category) in enumerate(TOPICS.items())
    ]
    records.append(Dimension(run_tag="r", dimension="d", source_position=0))
    records += [Debater(run_tag="r", model_id=name) for name in DEBATERS]
    records += [Judge(run_tag="r", judge_id=name) for name in JUDGES]
    for debate in debates:
        records += debate.records()
    con = new_warehouse()
    land_records(con, "r", records)
    build(con, project, select=select)
    return con


# --- The same numbers in plain Python --------------------------------------------------------------------------------


def decided(rule: Rule, votes: Votes) -> str:
    counts = Counter(votes.values())
    return rule(counts["pro"], counts["con"], counts["tie"]) if votes else "no_decision"


def without(votes: Votes, judge: str) -> Votes:
    return {name: vote for name, vote in votes.items() if name != judge}


def fitted(games: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    """Bradley–Terry ratings of (pro, con, winner) by the oldest method: each strength in turn, until none moves."""
    wins: Counter[str] = Counter()
    meetings: Counter[tuple[str, str]] = Counter()
    for pro, con, winner in games:
        score = {"pro": 1.0, "con": 0.0, "tie": 0.5}[winner]
        wins[pro] += score  # type: ignore[assignment]
        wins[con] += 1 - score  # type: ignore[assignment]
        meetings[pro, con] += 1
        meetings[con, pro] += 1
    strength = dict.fromkeys(sorted({name for pair in meetings for name in pair}), 1.0)
    for _ in range(3000):
        before = dict(strength)
        for name in strength:
            met = sum(n / (strength[name] + strength[b]) for (a, b), n in meetings.items() if a == name)
            strength[name] = wins[name] / met
        if all(math.isclose(strength[name], before[name], rel_tol=1e-14) for name in strength):
            break
    logs = {name: math.log10(value) for name, value in strength.items()}
    mean = math.fsum(logs.values()) / len(logs)
    return {name: INITIAL + 400 * (value - mean) for name, value in logs.items()}


def elo(games: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    ratings = dict.fromkeys(DEBATERS, INITIAL)
    for pro, con, winner in games:
        expected = 1 / (1 + 10 ** ((ratings[con] - ratings[pro]) / 400))
        gain = K * ({"pro": 1.0, "con": 0.0, "tie": 0.5}[winner] - expected)
        ratings[pro] += gain
        ratings[con] -= gain
    return ratings


def ranks(ratings: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > rating + 1e-6 for other in ratings.values()) for name, rating in ratings.items()}


class Expected:
    """Everything that hangs on winners, from the raw votes and a rule."""

    def __init__(self, debates: Sequence[Played], rule: Rule, votes: Callable[[Played], Votes]) -> None:
        self.rule, self.votes, self.debates = rule, votes, debates
        self.winners = {each.debate_id: decided(rule, votes(each)) for each in debates}
        self.rated = [each for each in debates if each.pro != each.con]

    def games(self, skip: Callable[[Played], bool] = lambda _: False, judge: str = "") -> list[tuple[str, str, str]]:
        """(pro, con, winner) of the rated debates that are not skipped and have a decision without `judge`."""
        found = [
            (each.pro, each.con, decided(self.rule, without(self.votes(each), judge)))
            for each in self.rated
            if not skip(each)
        ]
        return [game for game in found if game[2] != "no_decision"]

    def alignment(self, judge: str) -> tuple[int, int, int]:
        """Debates with another judge; of them, those where the others agree, and those that the judge turns."""
        found = [
            (decided(self.rule, without(votes, judge)), votes[judge], self.winners[each.debate_id])
            for each in self.debates
            if judge in (votes := self.votes(each)) and len(votes) > 1
        ]
        return len(found), sum(a == own for a, own, _ in found), sum(a != whole for a, _, whole in found)

    def influence(self, judge: str) -> tuple[int, int, int]:
        """Rated debates of the judge; of them, those with another winner and those with none without it."""
        heard = [each for each in self.rated if judge in self.votes(each)]
        after = [decided(self.rule, without(self.votes(each), judge)) for each in heard]
        changed = sum(
            winner not in ("no_decision", self.winners[each.debate_id])
            for each, winner in zip(heard, after, strict=True)
        )
        return len(heard), changed, after.count("no_decision")


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-5)


def check(con: duckdb.DuckDBPyConnection, expected: Expected) -> None:
    """Every number that hangs on winners is the expected one."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return con.execute(sql).fetchall()

    assert dict(rows("select debate_id, winner from marts.panel_winners")) == expected.winners
    assert dict(rows("select winner, count from original.winner_counts where count > 0")) == Counter(
        expected.winners.values()
    )
    games = expected.games()
    assert rows("select pro_model_id, con_model_id, winner from marts.games order by game_number") == games
    assert dict(rows("select model_id, rating from ratings.elo")) == near(elo(games))
    ratings = fitted(games)
    assert dict(rows("select model_id, rating from ratings.bradley_terry")) == near(ratings)
    assert dict(rows("select model_id, rank from marts.leaderboard")) == ranks(ratings)

    for category in ("law", "art"):
        rest = fitted(expected.games(skip=lambda each, left=category: TOPICS[each.topic] == left))
        found = rows(
            f"select model_id, rating from ratings.bradley_terry_without_category where category = '{category}'"
        )
        assert dict(found) == near(rest)
    for judge in JUDGES:
        left = expected.games(judge=judge)
        rest = fitted(left)
        found = rows(
            "select model_id, rating, rank, games, rating_change from ratings.bradley_terry_without_judge "
            f"where judge_id = '{judge}'"
        )
        assert {name: rating for name, rating, *_ in found} == near(rest)
        assert {name: rank for name, _, rank, *_ in found} == ranks(rest)
        assert {name: count for name, _, _, count, _ in found} == Counter(name for *pair, _ in left for name in pair)
        assert {row[0]: row[4] for row in found} == near({name: rest[name] - ratings[name] for name in rest})
        assert rows(
            f"select count_debates, count_aligned, count_flips from marts.judge_alignment where judge_id = '{judge}'"
        ) == [expected.alignment(judge)]
        assert rows(
            "select count_debates, count_changed, count_undecided_without, largest_rating_change, count_moved "
            f"from marts.judge_influence where judge_id = '{judge}'"
        ) == [
            (
                *expected.influence(judge),
                near(max(abs(rest[name] - ratings[name]) for name in rest)),
                sum(ranks(rest)[name] != ranks(ratings)[name] for name in rest),
            )
        ]


def failures(con: duckdb.DuckDBPyConnection, project: Project, select: str = FOLLOWING) -> list[str]:
    results = run_data_tests(con, project, select=[select])
    return [str(result) for result in results if result.status != "pass"]


# --- What a version changes -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def debates() -> list[Played]:
    return tournament()


@pytest.fixture(scope="module")
def second(debates: list[Played]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse under the packaged SQL models."""
    with warehouse(packaged_project(), debates) as con:
        store_views(con, packaged_project().select([FOLLOWING]))
        yield con


def test_everything_follows_the_packaged_rule(second: duckdb.DuckDBPyConnection, debates: list[Played]) -> None:
    check(second, Expected(debates, more_than_the_other, lambda each: each.scored))


def test_one_sql_file_and_one_line_of_yaml_change_the_rule_everywhere_in_a_warehouse_built_before(
    tmp_path: Path, second: duckdb.DuckDBPyConnection, debates: list[Played]
) -> None:
    project = project_with(tmp_path, OWN, {"panel_winners_v5.sql": own_rule()})
    expected = Expected(debates, two_more_than_the_other, lambda each: each.scored)
    with warehouse(packaged_project(), debates) as con:
        build(con, project)
        store_views(con, project.select([FOLLOWING]))
        check(con, expected)
        assert failures(con, project) == []
        for name in (
            "marts.panel_winners",
            "marts.games",
            "ratings.elo",
            "ratings.bradley_terry",
            "ratings.bradley_terry_without_judge",
            "ratings.bradley_terry_without_category",
            "marts.judge_alignment",
            "marts.judge_influence",
        ):
            everything = f"select * from {name} order by all"
            assert con.execute(everything).fetchall() != second.execute(everything).fetchall(), name


def test_a_version_of_the_winners_follows_a_version_of_the_verdicts(tmp_path: Path, debates: list[Played]) -> None:
    project = project_with(tmp_path, OWN_VERDICTS, own_verdicts())
    with warehouse(project, debates) as con:
        store_views(con, project.select([FOLLOWING]))
        check(con, Expected(debates, more_than_the_other, lambda each: each.declared))
        assert failures(con, project) == []


def test_one_line_of_yaml_goes_back_to_declared_winners_and_strict_majorities(
    tmp_path: Path, debates: list[Played]
) -> None:
    project = project_with(tmp_path, FIRST, {})
    with warehouse(project, debates) as con:
        store_views(con, project.select([FOLLOWING]))
        check(con, Expected(debates, strict_majority, lambda each: each.declared))
        assert failures(con, project) == []


def test_winners_by_one_version_of_the_verdicts_beside_another_fail_a_data_test(
    tmp_path: Path, debates: list[Played]
) -> None:
    project = project_with(tmp_path, "models: [{name: panel_winners, latest_version: 1}]\n", {})
    with warehouse(project, debates, select=["+panel_winners"]) as con:
        found = failures(con, project, "panel_winners")
        assert any("panels_decide_on_the_verdicts_that_count" in failure for failure in found)


def test_a_version_that_forgets_a_column_is_refused_with_who_needs_it(tmp_path: Path, debates: list[Played]) -> None:
    sql = own_rule()
    sql = sql.replace(
        ",\n    macros.more_verdicts(status, count_pro, count_con, count_tie - 1, 2) as winner_without_tie", ""
    )
    assert "winner_without_tie" not in sql
    project = project_with(tmp_path, OWN, {"panel_winners_v5.sql": sql})
    with pytest.raises(SqlModelError) as caught:
        warehouse(project, debates[:3], select=["+int_decided_verdicts"])
    message = str(caught.value)
    assert message.startswith("SQL model intermediate.int_decided_verdicts (")
    assert (
        "It reads marts.panel_winners, which lacks winner_without_tie since version 5 (version 4 has it): "
    ) in message
    assert "panel_winners_v5.sql, set `latest_version: 4`, or change intermediate.int_decided_verdicts." in message
    assert "SQL model marts.panel_winners_v5 breaks its contract in " in message


# --- The rules themselves ---------------------------------------------------------------------------------------------


def winners_of(panels: Sequence[Sequence[str]], version: int) -> list[str]:
    """What a version of `panel_winners` decides for these panels; a vote for anything else is not valid."""
    project = packaged_project()
    rng = random.Random(0)
    played = [Played(n, "t1", "a", "b", rng) for n in range(len(panels))]
    for each, panel in zip(played, panels, strict=True):
        valid = {f"j{n}": vote for n, vote in enumerate(panel) if vote in POINTS}
        each.scored = each.declared = valid
    with warehouse(project, played, select=["+panel_winners"]) as con:
        found = con.execute(f"select winner from marts.panel_winners_v{version} order by debate_id").fetchall()
    return [winner for (winner,) in found]


@pytest.mark.parametrize(("version", "name"), [(2, "rule_plurality_pro_vs_con"), (1, "rule_strict_majority_of_valid")])
def test_panels_vote_as_in_the_worked_example(version: int, name: str, shared: Path) -> None:
    example = json.loads((shared / "stats" / "majority_vote.json").read_text(encoding="utf-8"))
    assert winners_of(example["input"]["panels"], version) == example["expected"][name]


@pytest.mark.parametrize("version", [1, 2])
def test_a_split_panel_is_a_tie_and_an_empty_one_decides_nothing(version: int) -> None:
    assert winners_of([["pro", "con"], [], ["invalid"]], version) == ["tie", "no_decision", "no_decision"]
