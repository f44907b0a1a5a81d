"""Landing: records arrive whole, exactly once, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from imported import land_records
from pydantic import ValidationError

from debatebench.landing.land import create_raw_tables
from debatebench.query.landed_records import outdated_tables
from debatebench.query.run_tags import landed_tags
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Record, Run, Score, Topic, Turn, Verdict, clean_text


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect(str(tmp_path / "warehouse.duckdb"))
    create_raw_tables(con)
    yield con
    con.close()


def run(tag: str = "r") -> Run:
    return Run(run_tag=tag, source="run", format="tournament")


def topic(topic_id: str, motion: str = "A motion", tag: str = "r") -> Topic:
    return Topic(run_tag=tag, topic_id=topic_id, source_position=1, motion=motion)


def verdict(**values: object) -> Verdict:
    return Verdict.model_validate(
        {"run_tag": "r", "debate_id": "d", "judge_id": "j", "panel_position": 0, "is_valid": True, **values}
    )


def snapshot(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[object, ...]]]:
    return {name: con.execute(f"from raw.{name} order by all").fetchall() for name in TABLES}


def test_every_table_has_the_columns_of_its_record(warehouse: duckdb.DuckDBPyConnection):
    for name, record in TABLES.items():
        found = warehouse.execute(f"select column_name, column_type from (describe raw.{name})").fetchall()
        assert dict(found) == column_types(record)
        assert set(record.key) <= set(record.model_fields)


def test_landing_twice_gives_the_same_rows_once(warehouse: duckdb.DuckDBPyConnection):
    records: list[Record] = [run(), topic("t1"), topic("t2"), verdict(scores=[{"dimension": "a", "pro": 7, "con": 6}])]
    counts = land_records(warehouse, "r", records)
    first = snapshot(warehouse)
    assert land_records(warehouse, "r", iter(records)) == counts
    assert counts == {"runs": 1, "topics": 2, "verdicts": 1, "run_settings": 27}
    assert snapshot(warehouse) == first


def test_landing_replaces_its_own_run_and_leaves_the_others(warehouse: duckdb.DuckDBPyConnection):
    land_records(warehouse, "r", [run(), topic("t1"), topic("t2")])
    land_records(warehouse, "other", [run("other"), topic("t1", tag="other")])
    land_records(warehouse, "r", [run(), topic("t3")])
    assert warehouse.execute("select run_tag, topic_id from raw.topics order by all").fetchall() == [
        ("other", "t1"),
        ("r", "t3"),
    ]
    assert landed_tags(warehouse) == ["other", "r"]


@pytest.mark.parametrize(
    ("records", "complaint"),
    [
        ([topic("t1")], "has 0 run records"),
        ([run(), run()], "has 2 run records"),
        ([run(), topic("t1"), topic("t1", "Another")], r"\(run_tag, topic_id\) = \(r, t1\) occurs more than once"),
        ([run(), topic("t1", tag="other")], "has a run tag other than"),
    ],
)
def test_records_that_do_not_fit_change_nothing(
    warehouse: duckdb.DuckDBPyConnection, records: list[Record], complaint: str
):
    land_records(warehouse, "r", [run(), topic("t0")])
    before = snapshot(warehouse)
    with pytest.raises(DamagedDataError, match=complaint):
        land_records(warehouse, "r", records)
    assert snapshot(warehouse) == before


def test_an_error_in_the_middle_of_reading_changes_nothing(warehouse: duckdb.DuckDBPyConnection):
    land_records(warehouse, "r", [run(), topic("t0")])
    before = snapshot(warehouse)

    def broken() -> Iterator[Record]:
        yield run()
        yield topic("t1")
        raise DamagedDataError("line 3 is damaged")

    with pytest.raises(DamagedDataError, match="line 3"):
        land_records(warehouse, "r", broken())
    assert snapshot(warehouse) == before


def test_scores_and_money_arrive_exactly(warehouse: duckdb.DuckDBPyConnection):
    scores = [{"dimension": "a", "pro": 0.1, "con": 0.2}, {"dimension": "b", "pro": 0.2, "con": 0.1}]
    land_records(warehouse, "r", [run(), verdict(scores=scores, cost=0.1)])
    pro, con, cost = warehouse.execute(
        "select list_sum(list_transform(scores, lambda s: s.pro)), list_sum(list_transform(scores, lambda s: s.con)), "
        "cost from raw.verdicts"
    ).fetchall()[0]
    assert pro == con == Decimal("0.3")
    assert cost == Decimal("0.1")


@pytest.mark.parametrize(
    "score",
    [
        *(True, "seven", float("nan"), float("inf"), Decimal("0.1234567"), None),
        *(Decimal("1000000.000001"), Decimal("-1000000.000001"), 10**12),
    ],
)
def test_a_score_that_is_not_an_exact_number_within_a_million_is_refused(score: object):
    with pytest.raises(ValidationError):
        Score.model_validate({"dimension": "a", "pro": score, "con": 1})


def test_hostile_text_arrives_as_it_is_but_for_lone_surrogates(warehouse: duckdb.DuckDBPyConnection):
    hostile = "nul \x00, line\nbreaks\r\n, bidi \u202e, quotes \" ' \\, emoji \U0001f600, lone \ud83d surrogate"
    turn = Turn(run_tag="r", debate_id="d", turn_index=0, position="pro", side="pro", model_id="m", content=hostile)
    turn = turn.model_copy(update={"metadata": None})
    nested = Turn(**{**turn.model_dump(), "turn_index": 1, "metadata": {"k\ud800": [hostile]}})
    land_records(warehouse, "r", [run(), turn, nested])
    contents = warehouse.execute("select content from raw.turns order by turn_index").fetchall()
    assert contents == [(clean_text(hostile),)] * 2
    assert "\ufffd surrogate" in contents[0][0]
    assert warehouse.execute("select metadata is null from raw.turns order by turn_index").fetchall() == [
        (True,),
        (False,),
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (0.1, "0.100000000000000000"),
        ("0.1", "0.100000000000000000"),
        ("0.00000000004", "4.0000000E-11"),
        (5e-19, "1E-18"),
        (4e-19, "0E-18"),
        (0, "0E-18"),
    ],
)
def test_money_is_rounded_to_eighteen_decimals_halves_up(given: object, kept: str):
    assert str(verdict(cost=given).cost) == kept


@pytest.mark.parametrize(
    "cost", [True, "seven", float("nan"), float("inf"), 1e8, Decimal("99999999.9999999999999999995")]
)
def test_money_that_its_column_cannot_hold_is_refused(cost: object):
    with pytest.raises(ValidationError):
        verdict(cost=cost)


ODD_VALUES: list[Any] = [
    *(None, True, 0, 1, 5.0, 7.5, 1e16, 2**40, float("nan"), "", "x", "pro", [], ["a"], {"k\ud800": ["\ud800"]}),
    *("0.1", "0E-10", "-0.0000000001", "99999999.9999999999", "100000000.0000000000", "0.12345678905", "1e3", "007"),
    *("0E-18", "4.0000000E-11", "1E-18", "0.123456789012345678", "99999999.999999999999999999", "1.5E-30", "12E-18"),
    *(
        "\u0661.\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661",
        "0.1000000000\n",
        "lone \ud800",
        "\x00 \xe9 \U0001f600",
    ),
    *("2026-01-01T00:00:00", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00+02:00", "20260101", "2026-02-30T00:00:00"),
    [{"dimension": "a", "pro": "7", "con": "6.5"}],
    [{"dimension": "a", "pro": 7, "con": "\u0667"}],
    [{"dimension": "a", "pro": "7", "con": "0.1234567"}],
    [{"dimension": "a", "pro": "1000000", "con": "-1000000.000000"}],
    [{"dimension": "a", "pro": "1000000.000001", "con": "0"}],
    [{"dimension": "a", "pro": "0", "con": "-1000001"}],
]


@pytest.mark.parametrize("column", [*Verdict.model_fields, "surprise"])
def test_data_that_no_record_wrote_lands_as_its_record_takes_it_or_is_refused(column: str):
    scores = [{"dimension": "a", "pro": 7, "con": 6.5}]
    whole = verdict(scores=scores, cost=0.1, created_at=datetime(2026, 1, 1), metadata={"x": [1]})
    for value in ODD_VALUES:
        data = {**whole.model_dump(mode="json", exclude_defaults=True), column: value}
        text = json.dumps(data).encode("ascii")
        try:
            expected = Verdict.model_validate(data).row()
        except ValidationError:
            with pytest.raises(ValidationError):
                Verdict.row_of(text)
            continue
        row = Verdict.row_of(text)
        assert row[:2] == expected[:2]
        assert Verdict.model_validate_json(row.json) == Verdict.model_validate_json(expected.json)


def test_times_are_kept_in_utc():
    east = datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    assert run().model_copy().created_at is None
    assert Run(run_tag="r", source="run", format="x", created_at=east).created_at == datetime(2026, 1, 1)
    assert Run.model_validate({**run().model_dump(), "created_at": "2026-01-01T00:00:00Z"}).created_at == datetime(
        2026, 1, 1
    )


def test_a_table_of_another_version_is_noticed(tmp_path: Path):
    con = duckdb.connect(str(tmp_path / "old.duckdb"))
    create_raw_tables(con)
    assert outdated_tables(con) == []
    con.execute("alter table raw.topics drop info_slide; alter table raw.runs alter seed type varchar")
    con.execute("create table raw.speeches (content varchar)")
    assert sorted(outdated_tables(con)) == ["runs", "speeches", "topics"]
    con.close()


def test_a_small_run_needs_little_memory(warehouse: duckdb.DuckDBPyConnection):
    warehouse.execute("set threads = 8; set memory_limit = '128MiB'")
    assert land_records(warehouse, "r", [run(), *(topic(f"t{n}") for n in range(1000))])["topics"] == 1000
