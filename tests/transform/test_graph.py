"""Which SQL models a selection means."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_project import STAGING, write_project

from debatebench.shared.errors import UsageError
from debatebench.transform.graph import select_models
from debatebench.transform.sql_model import SqlModel

FILES = STAGING | {
    "marts/costs.sql": "select * from staging.stg_debates",
    "marts/winners_v1.sql": "select * from staging.stg_debates",
    "marts/winners_v2.sql": "select * from staging.stg_debates",
    "marts/board.sql": "select * from marts.winners",
    "marts/people/gold.sql": "select * from staging.stg_debates",
    "marts/people/deep/votes_v1.sql": "select * from staging.stg_debates",
    "ratings/elo.sql": "select * from marts.winners_v2",
    "marts/m.yml": """
        models:
          - {name: costs, description: C, config: {tags: [cost]}}
          - {name: winners, description: W, latest_version: 2, versions: [{v: 1}, {v: 2}]}
          - {name: board, description: B, config: {tags: board}}
          - {name: gold, description: G}
          - {name: votes, description: V, versions: [{v: 1}]}
        """,
    "ratings/r.yml": "models: [{name: elo, description: E}]",
}


@pytest.fixture
def models(tmp_path: Path) -> dict[str, SqlModel]:
    return write_project(tmp_path, FILES).models


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["marts.costs"], {"marts.costs"}),
        (["costs"], {"marts.costs"}),
        (["tag:cost"], {"marts.costs"}),
        (["tag:board", "tag:cost"], {"marts.board", "marts.costs"}),
        (["ratings.*"], {"ratings.elo"}),
        (["path:sql/ratings"], {"ratings.elo"}),
        (["path:ratings/"], {"ratings.elo"}),
        (["path:sql/marts/costs.sql"], {"marts.costs"}),
        (["path:sql/marts/people"], {"marts.gold", "marts.votes", "marts.votes_v1"}),
        (["path:marts/people/deep/"], {"marts.votes", "marts.votes_v1"}),
        (["winners"], {"marts.winners", "marts.winners_v1", "marts.winners_v2"}),
        (["winners_v1"], {"marts.winners_v1"}),
        (["winners_v1+"], {"marts.winners_v1"}),
        (["winners_v2+"], {"marts.winners_v2", "marts.winners", "marts.board", "ratings.elo"}),
        (["+board"], {"marts.board", "marts.winners", "marts.winners_v2", "staging.stg_debates"}),
        (["+elo", "costs"], {"ratings.elo", "marts.winners_v2", "staging.stg_debates", "marts.costs"}),
        (["+elo costs"], {"ratings.elo", "marts.winners_v2", "staging.stg_debates", "marts.costs"}),
        (
            ["+winners_v2+"],
            {"staging.stg_debates", "marts.winners_v2", "marts.winners", "marts.board", "ratings.elo"},
        ),
    ],
)
def test_a_selection_means(models: dict[str, SqlModel], selectors: list[str], expected: set[str]) -> None:
    assert set(select_models(models, selectors)) == expected


def test_a_selection_is_in_dependency_order(models: dict[str, SqlModel]) -> None:
    chosen = select_models(models, ["board", "stg_debates+"])
    assert chosen == [name for name in models if name in chosen]
    assert chosen[0] == "staging.stg_debates"


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("winer", "'winer' selects nothing. Did you mean"),
        ("+staging.costs", r"Did you mean 'marts\.costs'"),
        ("tag:money", "Known tags: board, cost"),
        (
            "path:sql/marts/peo",
            "Known folders: sql/marts, sql/marts/people, sql/marts/people/deep, sql/ratings, sql/staging",
        ),
    ],
)
def test_a_selector_that_means_nothing_is_refused(models: dict[str, SqlModel], selector: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_models(models, [selector])
