"""Elo: the pure functions, and the same through SQL."""

from __future__ import annotations

import json
import random
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.stats import sql as udfs
from debatebench.stats.elo import elo_path, elo_ratings
from debatebench.stats.elo_orders import elo_over_orders

PLAYERS = 5

games = st.lists(
    st.tuples(
        st.permutations(range(1, PLAYERS + 1)).map(lambda codes: tuple(codes[:2])),
        st.sampled_from([0.0, 0.5, 1.0]),
    ).map(lambda game: (*game[0], game[1])),
    max_size=40,
)


def columns(played: list[tuple[int, int, float]]) -> tuple[list[int], list[int], list[float]]:
    """Games as the three lists that the functions take."""
    return [g[0] for g in played], [g[1] for g in played], [g[2] for g in played]


@pytest.fixture
def con() -> Any:
    connection = duckdb.connect()
    udfs.register(connection)
    yield connection
    connection.close()


@pytest.fixture
def worked_example(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "stats" / "elo.json").read_text())


def test_equal_debaters_move_by_half_of_k() -> None:
    assert elo_ratings([1], [2], [1.0]) == [416.0, 384.0]


def test_a_tie_between_equals_moves_nobody() -> None:
    assert elo_ratings([1], [2], [0.5]) == [400.0, 400.0]


def test_both_ratings_move_from_their_values_before_the_game() -> None:
    # Worked by hand: after 416 to 384 the expected score of 1 is 1 / (1 + 10 ** (-32 / 400)).
    expected = 1 / (1 + 10 ** (-32 / 400))
    assert elo_ratings([1, 1], [2, 2], [1.0, 0.0]) == pytest.approx([416 - 32 * expected, 384 + 32 * expected])


def test_no_games_leave_everybody_at_the_start() -> None:
    assert elo_ratings([], [], []) == []
    assert elo_ratings([], [], [], players=3, initial=1500) == [1500, 1500, 1500]


@given(games)
def test_ratings_are_zero_sum(played: list[tuple[int, int, float]]) -> None:
    ratings = elo_ratings(*columns(played), players=PLAYERS)
    assert sum(ratings) == pytest.approx(400.0 * PLAYERS)


@given(games, st.permutations(range(1, PLAYERS + 1)))
def test_ratings_do_not_depend_on_how_debaters_are_coded(
    played: list[tuple[int, int, float]], renamed: list[int]
) -> None:
    before = elo_ratings(*columns(played), players=PLAYERS)
    after = elo_ratings(*columns([(renamed[p - 1], renamed[c - 1], s) for p, c, s in played]), players=PLAYERS)
    assert [after[renamed[i] - 1] for i in range(PLAYERS)] == before


@given(games)
def test_swapping_the_sides_of_every_game_changes_nothing(played: list[tuple[int, int, float]]) -> None:
    swapped = [(c, p, 1.0 - s) for p, c, s in played]
    assert elo_ratings(*columns(swapped), players=PLAYERS) == pytest.approx(
        elo_ratings(*columns(played), players=PLAYERS)
    )


@given(games)
def test_the_path_starts_at_the_initial_rating_joins_up_and_ends_at_the_ratings(
    played: list[tuple[int, int, float]],
) -> None:
    path = elo_path(*columns(played))
    standing = dict.fromkeys(range(1, PLAYERS + 1), 400.0)
    for (pro, con_code, _), pro_before, con_before, gain in zip(
        played, path.pro_before, path.con_before, path.pro_gain, strict=True
    ):
        assert (standing[pro], standing[con_code]) == (pro_before, con_before)
        standing[pro], standing[con_code] = pro_before + gain, con_before - gain
    assert list(standing.values()) == elo_ratings(*columns(played), players=PLAYERS)


@given(games.filter(bool))
def test_the_winner_never_loses_rating(played: list[tuple[int, int, float]]) -> None:
    path = elo_path(*columns(played))
    for (_, _, score), gain in zip(played, path.pro_gain, strict=True):
        assert gain >= 0 or score < 1
        assert gain <= 0 or score > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], [1], [1.0]), "itself"),
        (([1, 2], [2], [1.0, 0.0]), "lengths differ"),
        (([0], [1], [1.0]), "codes run from 1"),
        (([1], [2], [1.5]), "scores must be from 0"),
        (([1], [2], [float("nan")]), "scores must be from 0"),
    ],
)
def test_impossible_games_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        elo_ratings(*arguments)
    with pytest.raises(ValueError, match=message):
        elo_path(*arguments)


def coded(example: dict[str, Any]) -> tuple[list[str], list[tuple[int, int, float]]]:
    """Names in order of their codes, and the worked example's games by code."""
    played = example["input"]["games_player_a_player_b_score_a"]
    names = sorted(set(chain.from_iterable(game[:2] for game in played)))
    return names, [(names.index(a) + 1, names.index(b) + 1, score) for a, b, score in played]


@pytest.mark.parametrize(
    "settings", [{"initial": float("nan")}, {"initial": float("inf")}, {"k": -32}, {"k": float("nan")}]
)
def test_settings_that_rate_nothing_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        elo_ratings([1], [2], [1.0], **settings)
    with pytest.raises(ValueError, match="must be a finite number"):
        elo_path([1], [2], [1.0], **settings)
    with pytest.raises(ValueError, match="must be a finite number"):
        elo_over_orders([1], [2], [1.0], **settings)


@pytest.mark.parametrize(("step", "key"), [(1, "ratings"), (-1, "ratings_reversed_order")])
def test_the_worked_example_comes_out_of_the_pure_function(worked_example: dict[str, Any], step: int, key: str) -> None:
    names, played = coded(worked_example)
    ratings = elo_ratings(*columns(played[::step]), initial=worked_example["input"]["init"])
    assert dict(zip(names, ratings, strict=True)) == pytest.approx(worked_example["expected"][key], abs=1e-9)


@pytest.mark.parametrize(("sign", "key"), [(1, "ratings"), (-1, "ratings_reversed_order")])
def test_the_worked_example_comes_out_of_sql(
    con: duckdb.DuckDBPyConnection, worked_example: dict[str, Any], sign: int, key: str
) -> None:
    played = worked_example["input"]["games_player_a_player_b_score_a"]
    con.execute("create table games (n bigint, pro varchar, con varchar, score double)")
    rows = [(sign * n, *game) for n, game in enumerate(played)]
    random.Random(0).shuffle(rows)
    con.executemany("insert into games values (?, ?, ?, ?)", rows)
    con.execute(
        """
        with codes as (
            select model_id, (dense_rank() over (order by model_id))::integer as code
            from (select pro as model_id from games union select con from games)
        ), rated as (
            select elo_ratings(list(n), list(p.code), list(c.code), list(score), ?, ?) as ratings
            from games
            inner join codes as p on p.model_id = games.pro
            inner join codes as c on c.model_id = games.con
        )
        select model_id, ratings[code] from codes, rated
        """,
        [worked_example["input"]["init"], worked_example["input"]["K"]],
    )
    assert dict(con.fetchall()) == pytest.approx(worked_example["expected"][key], abs=1e-9)


def test_sql_functions_put_games_in_order_themselves(con: duckdb.DuckDBPyConnection) -> None:
    in_order = "elo_ratings([1, 2, 3], [1, 2, 1], [2, 3, 3], [1.0, 0.5, 0.0], 400, 32)"
    shuffled = "elo_ratings([3, 1, 2], [1, 1, 2], [3, 2, 3], [0.0, 1.0, 0.5], 400, 32)"
    assert con.execute(f"select {in_order} = {shuffled}").fetchall() == [(True,)]


def test_the_sql_path_unnests_to_one_row_per_game_in_game_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        with played as (
            select elo_path([9, 4], [1, 2], [2, 1], [0.0, 0.0], 400, 32)
                ::struct(pro_before double[], con_before double[], pro_gain double[]) as path
        )
        select
            generate_subscripts(path.pro_before, 1) as game_number,
            unnest(path.pro_before), unnest(path.con_before), unnest(path.pro_gain)
        from played
        """
    )
    first, second = con.fetchall()
    assert first == (1, 400.0, 400.0, -16.0)
    assert second[:3] == (2, 416.0, 384.0)


def test_sql_functions_give_null_where_there_are_no_games(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("select elo_ratings(list(n), list(n), list(n), list(n), 400, 32) from (select 1 as n where false)")
    assert con.fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ("[1, 1], [1, 2], [2, 1], [1, 0]", "position twice"),
        ("[1, null], [1, 2], [2, 1], [1, 0]", "`order` contains a null"),
        ("[1, 2], [1, 2], [2, 1], [1, null]", "`score` contains a null"),
        ("[1, 2], [1, 2], [2], [1, 0]", "`con` has 1 elements"),
        ("[1, 2], [1, 2.5], [2, 1], [1, 0]", "elo_ratings: a list of INTEGER contains a value of another type"),
        (
            "['nan'::double, 2], [1, 2], [2, 1], [1, 0]",
            "elo_ratings: a list of BIGINT contains a value of another type",
        ),
        ("[1, 2], [1, 2], [2, 1], ['x', 'y']", "elo_ratings: a list of DOUBLE contains a value of another type"),
        ("[1, 2], [1, 2], [2, 1], [1, 'nan'::double]", "scores must be from 0"),
    ],
)
def test_sql_functions_refuse_games_they_cannot_order(con: duckdb.DuckDBPyConnection, lists: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"select elo_ratings({lists}, 400, 32)").fetchall()


def test_registering_twice_changes_nothing(con: duckdb.DuckDBPyConnection) -> None:
    udfs.register(con)
    assert con.execute("select elo_ratings([1], [1], [2], [1], 400, 32)").fetchall() == [([416.0, 384.0],)]


def test_a_function_has_one_fingerprint_and_functions_differ() -> None:
    assert udfs.fingerprint("elo_ratings") == udfs.fingerprint("elo_ratings")
    assert udfs.fingerprint("elo_ratings") != udfs.fingerprint("elo_path")


@given(games)
def test_the_mean_over_orders_is_zero_sum_and_ranks_hold_their_bounds(played: list[tuple[int, int, float]]) -> None:
    spread = elo_over_orders(*columns(played), count=20)
    debaters = max([0, *columns(played)[0], *columns(played)[1]])
    assert sum(spread.mean) == pytest.approx(400.0 * debaters)
    assert all(1 <= low <= high <= debaters for low, high in zip(spread.rank_low, spread.rank_high, strict=True))
    assert len(spread.mean) == len(spread.sd) == debaters


@given(games)
def test_every_order_of_few_games_is_rated_as_the_plain_pass_does(played: list[tuple[int, int, float]]) -> None:
    few = played[:4]
    spread = elo_over_orders(*columns(few), count=24)
    debaters = len(spread.mean)
    passes = [elo_ratings(*columns(list(order)), players=debaters) for order in permutations(few)]
    assert spread.count == (len(passes) if few else 0)
    if few:
        assert spread.mean == pytest.approx([sum(column) / len(passes) for column in zip(*passes, strict=True)])


def test_an_order_is_drawn_from_the_seed() -> None:
    played = [(1 + n % 3, 1 + (n + 1 + n % 2) % 3, [1.0, 0.0, 0.5][n % 3]) for n in range(30)]
    played = [game for game in played if game[0] != game[1]]
    first, again, other = (elo_over_orders(*columns(played), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.count == 100


def test_a_debater_who_always_wins_is_first_in_every_order() -> None:
    spread = elo_over_orders([1, 1, 1, 2, 2, 3] * 4, [2, 3, 2, 3, 1, 1] * 4, [1, 1, 1, 0.5, 0, 0] * 4)
    assert (spread.rank_low[0], spread.rank_high[0]) == (1, 1)
    assert spread.sd[0] > 0


def over_orders(example: dict[str, Any]) -> dict[str, Any]:
    """What the worked example says of all orders of its first six games."""
    expected = example["expected"]
    return {"mean": expected["mean_over_all_720_orders_of_first_6_games"], "sd": expected["sd_over_orders"]}


def test_the_worked_example_over_all_orders_comes_out_of_the_pure_function(worked_example: dict[str, Any]) -> None:
    names, played = coded(worked_example)
    spread = elo_over_orders(*columns(played[:6]), count=720)
    assert spread.count == 720
    for name, values in over_orders(worked_example).items():
        assert dict(zip(names, getattr(spread, name), strict=True)) == pytest.approx(values, abs=1e-9)


def test_the_worked_example_over_all_orders_comes_out_of_sql(
    con: duckdb.DuckDBPyConnection, worked_example: dict[str, Any]
) -> None:
    names, played = coded(worked_example)
    con.execute("select elo_over_orders(?, ?, ?, ?, 400, 32, 720, 0)", [list(range(6)), *columns(played[:6])])
    [(spread,)] = con.fetchall()
    for name, values in over_orders(worked_example).items():
        assert dict(zip(names, spread[name], strict=True)) == pytest.approx(values, abs=1e-9)
