"""The benchmark that compares the numbers of two commits: what it takes as equal, and what it finds."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

SCORES = """
create table marts.scores as
select *
from (
    values
        ('r', 1, 0.5::double, 1.25::decimal(9, 2), [{'side': 'pro', 'mean': 2.0::double}], 7::hugeint),
        ('r', 2, 'nan'::double, null, null, null),
        ('r', 3, null, 0.10::decimal(9, 2), [{'side': 'con', 'mean': 3.0::double}], 170141183460469231731687::hugeint),
        ('r', 3, null, 0.10::decimal(9, 2), [{'side': 'con', 'mean': 3.0::double}], 170141183460469231731687::hugeint)
) as rows(run_tag, place, rate, cost_usd, means, total)
"""


@pytest.fixture
def same_numbers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "same_numbers", raising=False)
    import same_numbers

    return same_numbers


@pytest.fixture
def compared(same_numbers: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Changes of a warehouse as SQL, and a file of renames → the printed lines, and how many floats are only near."""

    def write(name: str, *statements: str) -> Path:
        database = tmp_path / f"{name}.duckdb"
        with duckdb.connect(str(database)) as con:
            for statement in ("create schema marts", "create schema staging", SCORES, *statements):
                con.execute(statement)
        (tmp_path / name).mkdir()
        same_numbers.write_relations(database, tmp_path / name)
        return tmp_path / name

    def run(*changes: str, renamed: str = "") -> tuple[list[str], int]:
        file = tmp_path / "renamed.yml"
        file.write_text(renamed)
        report = same_numbers.Report()
        same_numbers.compare_relations((write("a"), write("b", *changes)), same_numbers.Renamed.read(file), report)
        lines = capsys.readouterr().out.splitlines()
        assert report.differences == len([line for line in lines if line.startswith("DIFFERS ")])
        return lines, report.near.total()

    return run


def test_the_order_of_rows_does_not_matter(compared) -> None:
    assert compared("create or replace table marts.scores as from marts.scores order by place desc") == ([], 0)


def test_floats_within_the_tolerance_are_counted_and_are_equal(compared) -> None:
    assert compared(
        "update marts.scores set rate = rate + 1e-12 where place = 1",
        "update marts.scores set means = [{'side': 'con', 'mean': 3.0 + 1e-12}] where place = 3",
    ) == ([], 3)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("rate = 0.5000001 where place = 1", "rate: 1 row, the first: 0.5 became 0.5000001 where place=1"),
        ("rate = null where place = 2", "rate: 1 row, the first: nan became None where place=2"),
        ("rate = 'nan' where place = 3", "rate: 2 rows, the first: None became nan where place=3"),
        (
            "cost_usd = 1.26 where place = 1",
            "cost_usd: 1 row, the first: Decimal('1.25') became Decimal('1.26') where place=1",
        ),
        (
            "means = [{'side': 'con', 'mean': 2.0}] where place = 1",
            "means: 1 row, the first: [{'side': 'pro', 'mean': 2.0}] became [{'side': 'con', 'mean': 2.0}] "
            "where place=1",
        ),
        (
            "total = total + 1 where place = 3",
            "total: 2 rows, the first: Decimal('170141183460469231731687') became "
            "Decimal('170141183460469231731688') where place=3",
        ),
    ],
)
def test_a_cell_that_differs_is_named_with_its_row(compared, change: str, line: str) -> None:
    lines, _ = compared(f"update marts.scores set {change}")
    assert lines == [f"DIFFERS marts.scores.{line}"]


def test_a_row_that_is_there_once_too_often_or_too_rarely_is_found(compared) -> None:
    lines, _ = compared("insert into marts.scores from marts.scores where place = 2")
    assert len(lines) == 1
    assert lines[0].startswith("DIFFERS marts.scores: 1 row new, the first: place=2")


def test_a_wider_type_is_told_and_any_other_type_is_a_difference(compared) -> None:
    lines, _ = compared(
        "alter table marts.scores alter cost_usd type decimal(18, 4)",
        "alter table marts.scores alter total type double",
        "create table staging.stg_new as select 1 as a",
    )
    assert lines[:2] == [
        "wider   marts.scores.cost_usd: DECIMAL(9,2) became DECIMAL(18,4)",
        "DIFFERS marts.scores.total: type HUGEINT became DOUBLE",
    ]


RENAMES = (
    "alter table marts.scores rename rate to win_rate",
    "alter table marts.scores drop total",
    "alter table marts.scores rename to ratings",
    "create table marts.extra as select 1 as a",
)


def test_renames_that_nothing_announces_are_differences(compared) -> None:
    lines, _ = compared(*RENAMES)
    assert lines == [
        "DIFFERS marts.extra: is new",
        "DIFFERS marts.ratings: is new",
        "DIFFERS marts.scores: is gone",
    ]


def test_what_the_file_of_renames_announces_is_no_difference_and_the_rest_must_match(compared) -> None:
    announced = """
        relations: {marts.scores: marts.ratings}
        columns: {marts.ratings: {rate: win_rate}}
        removed: [marts.ratings.total]
        added: [marts.extra]
    """
    assert compared(*RENAMES, renamed=announced) == ([], 0)


NEW_MEANING = "update marts.scores set run_tag = 's', rate = 0.75"


def test_redefined_columns_are_not_compared_and_new_texts_are_expected(compared) -> None:
    announced = "{redefined: [marts.scores.rate], values: {marts.scores: {run_tag: {r: s}}}}"
    assert compared(NEW_MEANING, renamed=announced) == ([], 0)


def test_a_new_text_that_is_not_announced_is_a_difference(compared) -> None:
    lines, _ = compared(NEW_MEANING, renamed="{redefined: [marts.scores.rate]}")
    assert [line.partition(",")[0] for line in lines] == ["DIFFERS marts.scores.run_tag: 4 rows"]


def test_a_rename_of_what_is_not_there_is_a_difference(compared) -> None:
    lines, _ = compared(renamed="{removed: [marts.scores.total], columns: {marts.scores: {pace: place}}}")
    assert [line.partition(":")[0] for line in lines] == ["DIFFERS marts.scores.pace", "DIFFERS marts.scores.total"]
