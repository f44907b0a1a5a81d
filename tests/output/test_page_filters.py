"""Filters of a page: what it computes again is what the warehouse would say of the debates that are kept."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from built_warehouse import store_views
from imported import PANELBENCH, imported_run
from judged_runs import judged_run
from mixed_run import mixed_run
from report_warehouse import HOSTILE, NOON, make_warehouse, tournament
from site_browser import chromium, site_address, violations, watched
from site_pages import report_files

from debatebench.output.report.filter_data import outcomes
from debatebench.output.report.page import load_pages
from debatebench.output.report.site import build_site
from debatebench.query.safe_query import open_for_reading, run_query
from debatebench.shared.errors import ConfigError
from debatebench.shared.records import Debate, Record, Topic, Verdict
from debatebench.stats.elo import elo_ratings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

COMPUTE = Path(__file__).parents[2] / "reports" / "assets" / "filters_compute.js"
# What many queries read, each after what it reads itself.
STORED = (
    "intermediate.int_panel_verdicts",
    "marts.judge_verdicts_v4",
    "marts.panel_winners_v4",
    "marts.team_verdicts",
    "marts.decided_debates",
    "intermediate.int_cluster_units",
    "intermediate.int_clusters",
)
METHODS = {f"judge-{letter}": "dimensional_v1" for letter in "xyz"}
EVIL = (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>click</a>", "2024", "a&b=c#d", "plain")


@dataclass(frozen=True)
class Filter:
    """The names that are kept, or `None` for all of them."""

    categories: tuple[str, ...] | None = None
    judges: tuple[str, ...] | None = None
    debaters: tuple[str, ...] | None = None
    side: str | None = None

    def places(self, data: dict[str, Any]) -> dict[str, Any]:
        """The filter as the script reads it."""
        found: dict[str, Any] = {"side": self.side}
        for kind in ("categories", "judges", "debaters"):
            names = getattr(self, kind)
            found[kind] = None if names is None else [data[kind].index(name) for name in names]
        return found


def random_filters(data: dict[str, Any], count: int, seed: int) -> list[Filter]:
    """Filters that keep some of everything, and now and then nothing."""
    rng = random.Random(seed)

    def some(names: Sequence[str], most: int) -> tuple[str, ...] | None:
        return None if rng.random() < 0.4 else tuple(rng.sample(list(names), rng.randint(most // 2, most)))

    return [
        Filter(
            some(data["categories"], len(data["categories"])),
            some(data["judges"], len(data["judges"])),
            some(data["debaters"], len(data["debaters"])),
            rng.choice((None, None, "pro", "con")),
        )
        for _ in range(count)
    ]


# --- what the warehouse says ------------------------------------------------------------------------------------------

# The debates that a filter keeps and how their panels decide: `marts` with conditions, and the macros of the rules.
KEPT = """
create or replace temp table kept as
with

votes as (

    select
        debate_id,
        count(case when winner = 'pro' then 1 end) as pro,
        count(case when winner = 'con' then 1 end) as con,
        count(case when winner = 'tie' then 1 end) as tie
    from marts.judge_verdicts
    where run_tag = $run_tag and is_valid and ($judges is null or list_contains($judges::varchar[], judge_id))
    group by debate_id

),

speakers as (

    select debate_id, list(model_id) as names
    from staging.stg_participants
    where run_tag = $run_tag
    group by debate_id

)

select
    debates.*,
    case
        when debates.is_forfeit then debates.winner
        else macros.more_verdicts('complete', coalesce(pro, 0), coalesce(con, 0), coalesce(tie, 0), 1)
    end as kept_winner
from marts.decided_debates as debates
left join votes using (debate_id)
left join speakers using (debate_id)
left join staging.stg_topics as topics using (run_tag, topic_id)
where
    debates.run_tag = $run_tag
    and ($categories is null or list_contains($categories::varchar[], coalesce(topics.category, 'uncategorized')))
    and ($debaters is null or list_has_all($debaters::varchar[], speakers.names))
    and kept_winner <> 'no_decision'
"""
RESULTS = """
create or replace temp table results as
select
    sides.side,
    topic_id,
    case sides.side when 'pro' then pro_model_id else con_model_id end as model_id,
    case sides.side when 'pro' then con_model_id else pro_model_id end as opponent_id,
    case kept_winner when 'tie' then 'tie' when sides.side then 'win' else 'loss' end as result
from kept
cross join (values ('pro'), ('con')) as sides (side)
where is_rated and ($side is null or sides.side = $side)
"""
LEADERBOARD = """
with

topics as (

    select
        model_id, topic_id,
        count(*) as n,
        count(case when result = 'win' then 1 end) as wins,
        count(case when result = 'loss' then 1 end) as losses,
        count(case when result = 'tie' then 1 end) as ties
    from results
    group by model_id, topic_id

),

rates as (

    select
        model_id, units.cluster_unit,
        sum(n)::bigint as games,
        sum(topics.wins)::bigint as wins,
        sum(topics.losses)::bigint as losses,
        sum(topics.ties)::bigint as ties,
        sum(topics.wins + 0.5 * topics.ties)::double / sum(n) as win_rate,
        case units.cluster_unit when 'topic' then count(*) else sum(n)::bigint end as clusters,
        list({'n': n, 'y': topics.wins + 0.5 * topics.ties}) as by_topic
    from topics
    cross join (select * from intermediate.int_cluster_units where run_tag = $run_tag) as units
    group by model_id, units.cluster_unit

),

counted as (

    select
        rates.*,
        macros.effective_count(
            win_rate, games, clusters, macros.mean_error(by_topic, win_rate), of_games.t_95, of_clusters.t_95
        ) as effective
    from rates
    left join intermediate.int_t_quantiles as of_games on games - 1 = of_games.df
    left join intermediate.int_t_quantiles as of_clusters on clusters - 1 = of_clusters.df

)

select
    model_id as debater, games, wins, losses, ties, win_rate,
    macros.wilson_low(win_rate * effective, effective) as low,
    macros.wilson_high(win_rate * effective, effective) as high,
    macros.reason_of(effective is null, games, win_rate, clusters, cluster_unit) as reason
from counted
"""
HEAD_TO_HEAD = """
select
    model_id as debater,
    opponent_id as opponent,
    count(*) as games,
    count(case when result = 'win' then 1 end) as wins,
    count(case when result = 'loss' then 1 end) as losses,
    count(case when result = 'tie' then 1 end) as ties,
    (wins + 0.5 * ties) / games as win_rate
from results
group by model_id, opponent_id
"""
# Verdicts of judges that are kept on debates that are kept; of four teams, what each judge and what the rest named.
JUDGED = """
create or replace temp table judged as
with

verdicts as (

    select
        verdicts.debate_id, verdicts.judge_id, verdicts.winner as side, teams.winner as teams
    from marts.judge_verdicts as verdicts
    inner join kept using (run_tag, debate_id)
    left join marts.team_verdicts as teams using (run_tag, debate_id, judge_id)
    where
        verdicts.is_valid
        and not kept.is_forfeit
        and ($judges is null or list_contains($judges::varchar[], verdicts.judge_id))

),

panels as (

    select
        own.debate_id, own.judge_id,
        list(other.teams) filter (where other.teams is not null) as all_teams,
        list(other.teams) filter (where other.teams is not null and other.judge_id <> own.judge_id) as other_teams,
        macros.more_verdicts(
            'complete',
            count(case when other.side = 'pro' and other.judge_id <> own.judge_id then 1 end),
            count(case when other.side = 'con' and other.judge_id <> own.judge_id then 1 end),
            count(case when other.side = 'tie' and other.judge_id <> own.judge_id then 1 end),
            1
        ) as rest
    from verdicts as own
    inner join verdicts as other using (debate_id)
    group by own.debate_id, own.judge_id

)

select
    verdicts.*, panels.all_teams, panels.other_teams, panels.rest,
    kept.kept_winner as panel_winner,
    kept.topic_id,
    coalesce(verdicts.teams, verdicts.side) as winner,
    clusters.source_debate_id,
    clusters.cluster_unit
from verdicts
inner join panels using (debate_id, judge_id)
inner join kept using (debate_id)
inner join intermediate.int_clusters as clusters
    on clusters.run_tag = $run_tag and clusters.debate_id = verdicts.debate_id
"""
AGREEMENT = """
select
    own.judge_id as judge_a,
    other.judge_id as judge_b,
    count(case when own.winner = other.winner then 1 end) as agree,
    count(*) as total,
    agree / total as agreement_rate
from judged as own
inner join judged as other on own.debate_id = other.debate_id and own.judge_id < other.judge_id
group by own.judge_id, other.judge_id
"""
JUDGE_SIDES = """
select
    judge_id as judge,
    count(case when winner = 'pro' then 1 end) as pro,
    count(case when winner = 'con' then 1 end) as con,
    count(case when winner = 'tie' then 1 end) as tie,
    count(*) as total,
    pro / total as pro_rate,
    con / total as con_rate,
    tie / total as tie_rate
from judged
where teams is null
group by judge_id
"""
ALIGNMENT = """
with

around as (

    select
        judged.*,
        case when teams is null then panel_winner else most_named(all_teams) end as whole,
        case when teams is null then rest else most_named(other_teams) end as without
    from judged

),

debates as (

    select
        judge_id, source_debate_id, topic_id, cluster_unit,
        avg(case when without = winner then 1 else 0 end) as aligned,
        avg(case when without <> whole then 1 else 0 end) as flips
    from around
    where without <> 'no_decision'
    group by judge_id, source_debate_id, topic_id, cluster_unit

),

topics as (

    select judge_id, topic_id, cluster_unit, count(*) as n, sum(aligned) as y, sum(flips) as flips
    from debates
    group by judge_id, topic_id, cluster_unit

),

rates as (

    select
        judge_id, cluster_unit,
        sum(topics.n)::bigint as count_debates,
        sum(topics.y) / sum(topics.n) as rate,
        sum(topics.flips) / sum(topics.n) as flip_rate,
        case cluster_unit when 'topic' then count(*) else sum(topics.n)::bigint end as clusters,
        list({'n': topics.n, 'y': topics.y}) as by_topic
    from topics
    group by judge_id, cluster_unit

),

counted as (

    select
        rates.*,
        macros.effective_count(
            rate, count_debates, clusters, macros.mean_error(by_topic, rate), of_debates.t_95, of_clusters.t_95
        ) as effective
    from rates
    left join intermediate.int_t_quantiles as of_debates on count_debates - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on clusters - 1 = of_clusters.df

)

select
    judge_id as judge, count_debates, rate as alignment_rate,
    macros.wilson_low(rate * effective, effective) as low,
    macros.wilson_high(rate * effective, effective) as high,
    macros.reason_of(effective is null, count_debates, rate, clusters, cluster_unit) as reason,
    flip_rate
from counted
"""


def most_named(teams: Sequence[str] | None) -> str:
    """The teams that most verdicts name, as `marts.team_verdicts` writes them."""
    named = [team for each in teams or () for team in each.split()]
    most = max(map(named.count, named), default=0)
    return " ".join(sorted({team for team in named if named.count(team) == most})) or "no_decision"


class Warehouse:
    """A warehouse that says what it would say of the debates that a filter keeps."""

    def __init__(self, database: Path) -> None:
        # A copy, because one process opens a file in one way only.
        copied = database.with_name("asked.duckdb")
        copied.write_bytes(database.read_bytes())
        self.con = duckdb.connect(str(copied), read_only=True)
        self.con.create_function("most_named", most_named, ["varchar[]"], "varchar", null_handling="special")  # type: ignore[list-item, arg-type]
        self.database = database

    @cache  # noqa: B019
    def data(self, run_tag: str) -> dict[str, Any]:
        with open_for_reading(self.database) as reader:
            names = run_query(
                reader, "select model_id from staging.stg_debaters where run_tag = $run_tag", {"run_tag": run_tag}
            ).rows
            found = outcomes(reader, run_tag, [name for (name,) in names])
        assert found is not None
        return found

    def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        named = {name: value for name, value in params.items() if f"${name}" in sql}
        found = self.con.execute(sql, named)
        columns = [column for column, *_ in found.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def expected(self, run_tag: str, chosen: Filter) -> dict[str, Any]:
        """All that a page shows under a filter."""
        params: dict[str, Any] = {"run_tag": run_tag, "side": chosen.side}
        for kind in ("categories", "judges", "debaters"):
            names = getattr(chosen, kind)
            params[kind] = None if names is None else list(names)
        self.rows(KEPT, **params)
        self.rows(RESULTS, **params)
        self.rows(JUDGED, **params)
        elo = self.elo(run_tag)
        leaderboard = [row | {"elo": elo[row["debater"]]} for row in self.rows(LEADERBOARD, **params)]
        return {
            "leaderboard": leaderboard,
            "headToHead": self.rows(HEAD_TO_HEAD),
            "judgeAgreement": self.rows(AGREEMENT),
            "judgeSides": self.rows(JUDGE_SIDES),
            "judgeAlignment": self.rows(ALIGNMENT),
            "games": self.con.execute("select count(*) from kept where is_rated").fetchall()[0][0],
            "judged": self.con.execute("select count(distinct debate_id) from judged").fetchall()[0][0],
        }

    def elo(self, run_tag: str) -> dict[str, float]:
        """The Elo ratings of the debates that are kept, by the pass of the project."""
        games = self.con.execute(
            "select pro_model_id, con_model_id, kept_winner from kept where is_rated "
            "order by schedule_position nulls last, created_at nulls last, debate_id"
        ).fetchall()
        ((initial, k),) = self.con.execute(
            "select elo_initial_rating, elo_k_factor from marts.runs where run_tag = ?", [run_tag]
        ).fetchall()
        names = sorted({name for game in games for name in game[:2]})
        code = {name: n for n, name in enumerate(names, 1)}
        scores = [{"pro": 1.0, "tie": 0.5, "con": 0.0}[winner] for *_, winner in games]
        pro, con = ([code[game[side]] for game in games] for side in (0, 1))
        return dict(zip(names, elo_ratings(pro, con, scores, initial=initial, k=k), strict=True))


MEASURES = {
    "leaderboard": ("debater",),
    "headToHead": ("debater", "opponent"),
    "judgeAgreement": ("judge_a", "judge_b"),
    "judgeSides": ("judge",),
    "judgeAlignment": ("judge",),
}


def assert_same(found: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Both have the same rows, with numbers that differ by at most 1e-9."""
    by_key = [{tuple(row[key] for key in keys): row for row in rows} for rows in (found, expected)]
    assert [len(rows) for rows in by_key] == [len(found), len(expected)]
    assert by_key[0].keys() == by_key[1].keys()
    for key, row in by_key[1].items():
        own = by_key[0][key]
        assert own.keys() == row.keys()
        for name, value in row.items():
            if isinstance(value, float):
                assert own[name] == pytest.approx(value, rel=0, abs=1e-9), (key, name)
            else:
                assert own[name] == value, (key, name)


# --- fixtures ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `mixed`; `two` (two topics); `evil` (hostile names); `again` (judges `two` twice); `teams` (of four)."""
    two = list(tournament("two", ("alpha", "beta", "gamma")))
    made = make_warehouse(
        tmp_path_factory.mktemp("filters") / "debatebench.duckdb",
        ("mixed", mixed_run("mixed")),
        ("two", iter(two)),
        ("evil", mixed_run("evil", 6, debaters=EVIL, judges=EVIL[::-1], categories=EVIL[:3])),
        ("again", judged_run("again", two, trials=2, methods=METHODS)),
        ("t", iter(imported_run("panelbench", PANELBENCH))),
        ("teams", judged_run("teams", imported_run("panelbench", PANELBENCH), methods=METHODS)),
    )
    with duckdb.connect(str(made)) as con:
        store_views(con, STORED)
    return made


@pytest.fixture(scope="module")
def warehouse(database: Path) -> Iterator[Warehouse]:
    found = Warehouse(database)
    yield found
    found.con.close()


@pytest.fixture(scope="module")
def compute(browser: Browser) -> Iterator[Callable[[dict[str, Any], Sequence[Filter]], list[dict[str, Any]]]]:
    """A function: data and filters → what the script computes in a browser."""
    with browser.new_context() as context:
        page = context.new_page()
        page.add_script_tag(path=COMPUTE)

        def computed(data: dict[str, Any], filters: Sequence[Filter]) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = page.evaluate(
                "([data, filters]) => filters.map((filter) => Object.fromEntries("
                "  Object.entries(debatebench.filtered).filter(([name]) => name !== 'rules')"
                "    .map(([name, compute]) => [name, compute(data, filter)])))",
                [data, [each.places(data) for each in filters]],
            )
            return found

        yield computed


Compute = Callable[[dict[str, Any], Sequence[Filter]], list[dict[str, Any]]]


# --- the numbers ------------------------------------------------------------------------------------------------------


def check_filters(warehouse: Warehouse, compute: Compute, run_tag: str, count: int) -> None:
    """Random filters give what the warehouse gives, to 1e-9."""
    data = warehouse.data(run_tag)
    filters = [Filter(), *random_filters(data, count, seed=11)]
    counts = set()
    for chosen, found in zip(filters, compute(data, filters), strict=True):
        expected = warehouse.expected(run_tag, chosen)
        for measure, keys in MEASURES.items():
            assert_same(found[measure]["rows"], expected[measure], keys)
        assert found["leaderboard"]["counted"] == found["headToHead"]["counted"] == expected["games"]
        assert found["judgeSides"]["counted"] == expected["judged"]
        counts.add((expected["games"], expected["judged"]))
    assert len(counts) > 2


def test_fifty_random_filters_give_what_the_warehouse_gives(warehouse: Warehouse, compute: Compute) -> None:
    check_filters(warehouse, compute, "mixed", 50)


@pytest.mark.slow_inputs
@pytest.mark.parametrize("run_tag", ["two", "evil", "again", "teams"])
def test_so_do_filters_of_odd_runs(warehouse: Warehouse, compute: Compute, run_tag: str) -> None:
    check_filters(warehouse, compute, run_tag, 12)


def test_so_do_fifty_filters_of_the_golden_run(shared: Path, compute: Compute, tmp_path: Path) -> None:
    golden = imported_run("debatebench", shared / "debatebench-v0" / "golden" / "debates.jsonl")
    made = make_warehouse(tmp_path / "debatebench.duckdb", ("t", iter(golden)))
    with duckdb.connect(str(made)) as con:
        store_views(con, STORED)
    check_filters(Warehouse(made), compute, "t", 50)


def test_without_a_filter_the_numbers_are_those_of_the_marts(warehouse: Warehouse, compute: Compute) -> None:
    for run_tag in ("mixed", "two", "evil", "again", "teams"):
        data = warehouse.data(run_tag)
        (found,) = compute(data, [Filter()])
        board = warehouse.rows(
            "select stats.model_id as debater, stats.games, stats.wins, stats.losses, stats.ties, stats.win_rate, "
            "win_rate_ci_low as low, win_rate_ci_high as high, win_rate_reason as reason, elo.rating as elo "
            "from marts.debater_statistics as stats inner join ratings.elo using (run_tag, model_id) "
            "where run_tag = $run_tag",
            run_tag=run_tag,
        )
        assert_same(found["leaderboard"]["rows"], board, ["debater"])
        pairs = warehouse.rows(
            "select model_id as debater, opponent_id as opponent, games, wins, losses, ties, win_rate "
            "from marts.head_to_head where run_tag = $run_tag",
            run_tag=run_tag,
        )
        assert_same(found["headToHead"]["rows"], pairs, ["debater", "opponent"])
        agreement = warehouse.rows(
            "select * exclude (run_tag) from original.judge_agreement where run_tag = $run_tag", run_tag=run_tag
        )
        assert_same(found["judgeAgreement"]["rows"], agreement, ["judge_a", "judge_b"])
        preference = warehouse.rows(
            "select judge_id as judge, * exclude (run_tag, judge_id) from original.judge_side_preference "
            "where run_tag = $run_tag",
            run_tag=run_tag,
        )
        assert_same(found["judgeSides"]["rows"], preference, ["judge"])
        alignment = warehouse.rows(
            "select judge_id as judge, count_debates, alignment_rate, ci_low as low, ci_high as high, reason, "
            "flip_rate from marts.judge_alignment where run_tag = $run_tag",
            run_tag=run_tag,
        )
        assert_same(found["judgeAlignment"]["rows"], alignment, ["judge"])
        ((games,),) = warehouse.con.execute("select count(*) from marts.games where run_tag = ?", [run_tag]).fetchall()
        assert found["leaderboard"]["counted"] == found["leaderboard"]["of"] == games


def test_one_category_or_side_gives_the_intervals_that_the_marts_give_for_it(
    warehouse: Warehouse, compute: Compute
) -> None:
    data = warehouse.data("mixed")
    parts = [("category", name, Filter(categories=(name,))) for name in data["categories"]]
    parts += [("side", side, Filter(side=side)) for side in ("pro", "con")]
    for (kind, part, _), found in zip(parts, compute(data, [chosen for *_, chosen in parts]), strict=True):
        rows = warehouse.rows(
            "select model_id as debater, games, wins, losses, ties, win_rate, win_rate_ci_low as low, "
            "win_rate_ci_high as high, win_rate_reason as reason from intermediate.int_debater_rates "
            "where run_tag = 'mixed' and kind = $kind and part = $part",
            kind=kind,
            part=part,
        )
        own = [{name: row[name] for name in rows[0]} for row in found["leaderboard"]["rows"]]
        assert_same(own, rows, ["debater"])


def test_without_a_judge_winners_are_those_that_the_ratings_use_without_it(
    warehouse: Warehouse, compute: Compute
) -> None:
    data = warehouse.data("mixed")
    judges = data["judges"]
    filters = [Filter(judges=tuple(other for other in judges if other != judge)) for judge in judges]
    for judge, found in zip(judges, compute(data, filters), strict=True):
        rows = warehouse.rows(
            "select model_id as debater, sum(wins)::bigint as wins, sum(ties)::bigint as ties from ("
            "  select pro_model_id as model_id, pro_wins as wins, ties, left_out, run_tag, kind"
            "  from ratings.matchups_left_out union all"
            "  select con_model_id, con_wins, ties, left_out, run_tag, kind from ratings.matchups_left_out"
            ") where run_tag = 'mixed' and kind = 'judge' and left_out = $judge group by model_id",
            judge=judge,
        )
        own = [{name: row[name] for name in ("debater", "wins", "ties")} for row in found["leaderboard"]["rows"]]
        assert_same(own, rows, ["debater"])


def test_a_run_of_the_kept_records_alone_has_the_same_numbers(
    warehouse: Warehouse, compute: Compute, tmp_path: Path
) -> None:
    data = warehouse.data("mixed")
    chosen = Filter(("ethics", "uncategorized"), ("judge-a", "judge-b", "judge-d"), ("alpha", "beta", "gamma"))
    records = list(mixed_run("mixed"))
    topics = {each.topic_id for each in records if isinstance(each, Topic) and each.category != "economy"}
    debates = {
        each.debate_id
        for each in records
        if isinstance(each, Debate)
        and each.topic_id in topics
        and {each.pro_model_id, each.con_model_id} <= set(chosen.debaters or ())
    }

    def is_kept(record: Record) -> bool:
        if isinstance(record, Verdict) and record.judge_id not in (*(chosen.judges or ()), "always_tie"):
            return False
        return getattr(record, "debate_id", None) is None or record.debate_id in debates  # type: ignore[attr-defined]

    made = make_warehouse(tmp_path / "debatebench.duckdb", ("mixed", filter(is_kept, records)))
    (found,) = compute(data, [chosen])
    with duckdb.connect(str(made), read_only=True) as con:
        rows = con.execute(
            "select stats.model_id, stats.games, stats.win_rate, win_rate_ci_low, win_rate_ci_high, elo.rating "
            "from marts.debater_statistics as stats inner join ratings.elo using (run_tag, model_id) order by 1"
        ).fetchall()
        alignment = con.execute(
            "select judge_id, count_debates, alignment_rate, ci_low, ci_high, flip_rate from marts.judge_alignment "
            "order by 1"
        ).fetchall()
    own = sorted(
        tuple(row[name] for name in ("debater", "games", "win_rate", "low", "high", "elo"))
        for row in found["leaderboard"]["rows"]
    )
    assert len(rows) == 3
    for mine, theirs in zip(own, rows, strict=True):
        assert mine[0] == theirs[0]
        assert mine[1:] == pytest.approx(theirs[1:], rel=0, abs=1e-9)
    judges = sorted(
        tuple(row[name] for name in ("judge", "count_debates", "alignment_rate", "low", "high", "flip_rate"))
        for row in found["judgeAlignment"]["rows"]
    )
    for mine, theirs in zip(judges, alignment, strict=True):
        assert mine[0] == theirs[0]
        assert mine[1:] == pytest.approx(theirs[1:], rel=0, abs=1e-9)


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages with filters and that of debates, of the runs `mixed`, `evil` and `t`, which has no decided debate."""
    files = report_files("results", "debaters", "judges", "debates")
    out_dir = tmp_path_factory.mktemp("out") / "site"
    return build_site(database, files, out_dir, run_tags=["mixed", "evil", "t"], now=NOON).parent


@contextmanager
def opened(browser: Browser, site: Path, path: str, **context: Any) -> Iterator[Page]:
    """A page of the site with its filter ready; nothing may go wrong on it."""
    with watched(browser, site_address(site), **context) as seen:
        page = seen.open(site_address(site) + path)
        if "=" in path:
            page.wait_for_selector(".recomputed")
        yield page
        assert seen.problems() == []


def table(page: Page, section: str) -> list[list[str]]:
    """The cells of the table that was computed again, row by row."""
    found: list[list[str]] = page.evaluate(
        "id => Array.from(document.querySelectorAll(`#${id} .recomputed tbody tr`), (row) =>"
        " Array.from(row.cells, (cell) => cell.textContent))",
        section,
    )
    return found


def test_a_filter_in_the_address_computes_the_sections_again_and_marks_the_others(
    browser: Browser, site: Path, warehouse: Warehouse
) -> None:
    expected = warehouse.expected("mixed", Filter(judges=("judge-b", "judge-c", "judge-d", "judge-e"), side="pro"))
    with opened(browser, site, "runs/mixed/index.html#without_judge=judge-a&side=pro") as page:
        rows = {row[0]: row for row in table(page, "leaderboard")}
        assert len(rows) == len(expected["leaderboard"])
        for row in expected["leaderboard"]:
            shown = rows[row["debater"]]
            assert shown[1] == f"{100 * row['win_rate']:.1f}%"
            assert shown[3:7] == [str(row[name]) for name in ("games", "wins", "losses", "ties")]
            assert shown[7] == f"{row['elo']:.0f}"
        text = page.inner_text("#leaderboard")
        assert f"Recomputed: {expected['games']} of" in text
        assert "Winners are derived again from the verdicts of the judges that are kept" in text
        assert "Elo is that of both sides" in text
        assert "Bradley–Terry" in text
        # What is not computed again is out of sight, or says so.
        for section in page.query_selector_all(".sections > section"):
            assert ("Recomputed" in section.inner_text()) != ("Not filtered" in section.inner_text())
        assert not page.is_visible("#leaderboard > .scroll")
        page.click("text=Reset the filter")
        page.wait_for_selector("#leaderboard > .scroll")
        assert page.query_selector(".recomputed, .unfiltered") is None
        assert "=" not in page.url


def test_names_in_the_form_and_in_the_address_go_and_come_back_whatever_they_contain(
    browser: Browser, site: Path, warehouse: Warehouse
) -> None:
    data = warehouse.data("evil")
    with opened(browser, site, "runs/evil/index.html") as page:
        page.click("summary:has-text('Filter the debates')")
        for kind in ("category", "judge", "debater"):
            page.wait_for_selector(f"input[name='{kind}']")
            page.locator(f"input[name='{kind}']").first.uncheck()
        page.check("input[value='con']")
        page.wait_for_selector(".recomputed")
        address, shown = page.url, [table(page, name) for name in ("leaderboard", "head-to-head")]
        status = page.inner_text(".filter-status")
        assert page.title() != "pwned"
        assert page.query_selector("main img, main b") is None
    asked = parse_qs(urlsplit(address).fragment)
    assert asked == {
        "without_category": [data["categories"][0]],
        "without_judge": [data["judges"][0]],
        "without_debater": [data["debaters"][0]],
        "side": ["con"],
    }
    # Nothing runs, even where the policy of the page does not hold.
    with opened(browser, site, "runs/evil/index.html#" + address.partition("#")[2], bypass_csp=True) as page:
        assert [table(page, name) for name in ("leaderboard", "head-to-head")] == shown
        assert page.inner_text(".filter-status") == status
        assert page.url == address
        assert page.title() != "pwned"
        assert page.query_selector("main img, main b") is None
    chosen = Filter(*(tuple(data[name][1:]) for name in ("categories", "judges", "debaters")), "con")
    expected = warehouse.expected("evil", chosen)
    assert f"{expected['games']} of" in status


def test_a_link_to_a_section_keeps_the_filter(browser: Browser, site: Path) -> None:
    with opened(browser, site, "runs/mixed/judges.html#judge=judge-a&judge=judge-b") as page:
        page.click(".contents a[href='#alignment']")
        page.wait_for_url(re.compile("at=alignment"))
        assert {row[0] for row in table(page, "alignment")} == {"judge-a", "judge-b"}
        address = page.url.partition("#")[2]
        assert address == "judge=judge-a&judge=judge-b&at=alignment"
        page.evaluate("location.hash = 'side=pro&debater=nobody&without_debater=alpha'")
        page.locator(".filter-status").filter(has_text="nobody").wait_for()
        assert "Not in this run, and ignored: nobody" in page.inner_text(".filter-status")


def counted_links(page: Page, cells: str) -> list[tuple[str, int]]:
    """Where cells lead, and the number of debates in their text: all of it, or in brackets."""
    found = page.eval_on_selector_all(
        f".recomputed {cells} a", "all => all.map((each) => [each.href, each.textContent])"
    )
    return [(href, int(text.rpartition("(")[2].rstrip(")"))) for href, text in found]


@pytest.mark.parametrize("category", ["ethics", "uncategorized"])
def test_cells_lead_to_the_debates_that_they_count(browser: Browser, site: Path, category: str) -> None:
    with opened(browser, site, f"runs/mixed/index.html#category={category}&side=pro") as page:
        links = [link for n in (4, 5, 6, 7) for link in counted_links(page, f"td:nth-of-type({n - 1})")[:1]]
        links += counted_links(page, ".share")[:2]
    with opened(browser, site, f"runs/mixed/judges.html#category={category}") as page:
        rows = page.query_selector_all("#side-preference .recomputed tbody tr")
        expected = {row.query_selector("th").inner_text(): int(row.inner_text().split()[-1]) for row in rows}  # type: ignore[union-attr]
        votes = page.eval_on_selector_all("#side-preference .recomputed a", "all => all.map((each) => each.href)")
    assert len(links) > 4
    with opened(browser, site, "debates.html") as page:
        for href, count in links:
            assert found_by(page, href) == count, href
        for judge, total in list(expected.items())[:2]:
            own = [href for href in votes if f"panel={judge}&" in href]
            assert sum(found_by(page, href) for href in own) == total, judge


def found_by(page: Page, href: str) -> int:
    """How many debates the page of debates finds under an address."""
    page.goto("about:blank")
    page.goto(href)
    page.locator("#found").filter(has_text=re.compile(r"^\d")).wait_for()
    return int(page.inner_text("#found").split(" of ")[0].replace(",", ""))


def test_counts_by_some_judges_lead_nowhere_because_the_debates_are_listed_by_whole_panels(
    browser: Browser, site: Path
) -> None:
    with opened(browser, site, "runs/mixed/index.html#without_judge=judge-a") as page:
        assert page.query_selector("#leaderboard .recomputed td:nth-of-type(3) a") is not None
        assert page.query_selector("#leaderboard .recomputed td:nth-of-type(4) a") is None


def test_the_form_works_by_keyboard(browser: Browser, site: Path) -> None:
    with opened(browser, site, "runs/mixed/judges.html") as page:
        page.focus(".filter summary")
        page.keyboard.press("Enter")
        page.wait_for_selector("input[name='category']")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.wait_for_selector(".recomputed")
        assert "without_category=" in page.url
        assert "judged debates counted" in page.inner_text("[role='status']")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_in_filtered_pages_and_they_fit(
    browser: Browser, site: Path, scheme: Any, width: int
) -> None:
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    for path in ("index.html#without_judge=judge-a", "judges.html#category=ethics"):
        with opened(browser, site, f"runs/mixed/{path}", **look) as page:
            assert violations(page) == [], path
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), path


def test_without_scripts_or_debates_there_is_no_form(browser: Browser, site: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(site_address(site) + "runs/mixed/index.html#side=pro")
        assert not page.is_visible(".filters")
        assert page.is_visible("#leaderboard > .scroll")
    assert "data-outcomes" not in (site / "runs" / "t" / "index.html").read_text(encoding="utf-8")


def test_the_other_pages_of_the_run_are_opened_with_the_same_filter(browser: Browser, site: Path) -> None:
    with opened(browser, site, "runs/mixed/index.html#category=ethics&side=pro") as page:
        page.click(".tabs a:has-text('Judges')")
        page.wait_for_selector("#agreement .recomputed")
        assert page.url.endswith("/runs/mixed/judges.html#category=ethics&side=pro")
        page.click(".filter-status a")
        page.wait_for_selector(".recomputed", state="detached")
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        link = page.get_attribute(".tabs a:has-text('Debaters')", "href")
        assert link is not None
        assert "category" not in link


def test_every_measure_counts_the_same_of_a_hundred_thousand_debates(browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.add_script_tag(path=COMPUTE)
        counted = page.evaluate(
            """() => {
                const names = (letter, count) => Array.from({ length: count }, (_, n) => letter + n);
                const numbers = (count, of) => Array.from({ length: count }, (_, n) => (n * 7919) % of);
                const pairs = names("", 90).map((_, n) => [Math.floor(n / 9), (Math.floor(n / 9) + 1 + (n % 9)) % 10]);
                const data = {
                    elo: { initial: 400, k: 32 }, cluster_unit: "topic", rule: "more_verdicts", t_95: [],
                    categories: names("c", 5), debaters: names("d", 10), judges: names("j", 6),
                    topics: numbers(1000, 5), pairings: pairs, winners: [["pro"], ["con"], ["tie"]],
                    ballots: numbers(500, 27).map((n, at) => [at % 4, n % 3, 4, (n / 3) % 3 | 0, 5, (n / 9) | 0]),
                    columns: {
                        topic: numbers(100000, 1000), pairing: numbers(100000, 90), ballot: numbers(100000, 500),
                        rated: null, source: null,
                    },
                };
                const filter = { categories: [0, 1, 2, 3], judges: [0, 1, 2, 3, 4], debaters: null, side: null };
                const measures = Object.entries(debatebench.filtered).filter(([name]) => name !== "rules");
                return measures.map(([, compute]) => compute(data, filter).counted);
            }"""
        )
        assert counted == [80_000] * 6


def test_page_with_filters_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    page = "path: {path}\ntitle: T\nfor_each: {kind}\n{keys}sections:\n  - {{id: a, title: A, query: select 1{more}}}\n"
    run = {"path": "runs/{run_tag}/a.html", "kind": "run"}
    for values, message in (
        ({"path": "a.html", "kind": "site", "keys": "filters: [side]\n", "more": ""}, "only in a page for each run"),
        ({**run, "keys": "filters: [colour]\n", "more": ""}, "found 'colour'; allowed: category, side"),
        ({**run, "keys": "", "more": ", recompute: sides"}, "recompute in a page with filters"),
        ({**run, "keys": "filters: [side]\n", "more": ", recompute: elo"}, "found 'elo'; allowed: leaderboard"),
    ):
        (tmp_path / "a.yml").write_text(page.format(**values), encoding="utf-8")
        with pytest.raises(ConfigError) as error:
            load_pages({"pages/a.yml": tmp_path / "a.yml"})
        assert message in str(error.value)


def test_a_rule_that_no_page_knows_is_not_applied(database: Path, tmp_path: Path) -> None:
    copied = tmp_path / "debatebench.duckdb"
    copied.write_bytes(database.read_bytes())
    with duckdb.connect(str(copied)) as con:
        con.execute("update marts.panel_winners_v4 set winner = 'pro' where winner = 'con'")
    with open_for_reading(copied) as con:
        found = outcomes(con, "mixed", ["alpha"])
    assert found is not None
    assert found["rule"] is None
