"""The rule for the names of columns: what breaks it, what keeps it, and what is exempt."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_project import STAGING, raw_database, write_project

from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import TestResult, run_data_tests

COUNT = "a count is named count_x"
MEAN = "a mean is named mean_x"
RATE = "a share is named x_rate"
INTERVAL = "the ends of an interval are named x_ci_low and x_ci_high"
P_VALUE = "a p value is named p_value or x_p_value"
DURATION = "a duration is named duration_ms or x_duration_ms, and is in milliseconds"
SIDE = "a value of one side is named pro_x or con_x"
MONEY = "an amount of money is named cost_usd or x_usd"


def described(folder: Path, columns: dict[str, str], path: str = "marts/t") -> TestResult:
    """Build a SQL model with columns of these types, and return the test of its description."""
    query = ", ".join(f"null::{data_type} as {name}" for name, data_type in columns.items())
    yaml = "models:\n- name: t\n  description: T.\n  columns:\n" + "".join(
        f"  - {{name: {name}, description: D.}}\n" for name in columns
    )
    with raw_database() as con:
        project = write_project(folder, STAGING | {f"{path}.sql": f"select {query}", f"{path}.yml": yaml})
        build(con, project)
        result = next(each for each in run_data_tests(con, project, select=["t"]) if each.kind == "description")
    return result


@pytest.mark.parametrize(
    ("column", "data_type", "rule"),
    [
        ("num_votes", "bigint", COUNT),
        ("n_votes", "integer", COUNT),
        ("vote_count", "ubigint", COUNT),
        ("debates", "bigint", COUNT),
        ("baseline_debates", "hugeint", COUNT),
        ("total", "bigint", COUNT),
        ("avg_score", "double", MEAN),
        ("score_mean", "decimal(18, 6)", MEAN),
        ("tie_share", "double", RATE),
        ("pct", "float", RATE),
        ("win_rate_low", "double", INTERVAL),
        ("ci_upper", "double", INTERVAL),
        ("p", "double", P_VALUE),
        ("wins_p_holm", "double", P_VALUE),
        ("mean_ms", "double", DURATION),
        ("wait_seconds", "bigint", DURATION),
        ("mean_pro", "double", SIDE),
        ("score_con", "decimal(18, 6)", SIDE),
        ("cost", "decimal(18, 10)", MONEY),
        ("usd_per_win", "double", MONEY),
        ("Mean_Pro", "double", SIDE),
    ],
)
def test_a_name_that_breaks_the_rule_fails_and_is_told_the_rule(
    tmp_path: Path, column: str, data_type: str, rule: str
) -> None:
    result = described(tmp_path, {column: data_type})
    assert (result.kind, result.status, result.message) == ("description", "fail", f"{column.lower()}: {rule}")


def test_names_that_keep_the_rule_pass(tmp_path: Path) -> None:
    columns = {
        "count_votes": "bigint",
        "count_pro": "bigint",
        "games": "bigint",
        "pro_wins": "bigint",
        "prompt_tokens": "bigint",
        "rank": "bigint",
        "rank_low": "bigint",
        "http_status": "bigint",
        "is_basis": "boolean",
        "mean_score": "double",
        "pro_mean_score": "double",
        "win_rate": "double",
        "ci_low": "double",
        "win_rate_ci_high": "double",
        "p_value": "double",
        "wins_p_value_holm": "double",
        "duration_ms": "double",
        "mean_turn_duration_ms": "double",
        "cost_usd": "decimal(38, 10)",
        "cost_per_win_usd": "double",
        "rating_per_usd": "double",
        "winner_without_pro": "varchar",
        "samples": "varchar[]",
        "total": "decimal(38, 12)",
    }
    assert described(tmp_path, columns).status == "pass"


def test_tables_in_a_folder_named_original_keep_their_names(tmp_path: Path) -> None:
    columns = {"total": "bigint", "mean_ms": "double"}
    assert described(tmp_path / "a", columns, "marts/original/t").status == "pass"
    assert described(tmp_path / "original", columns, "marts/other/t").failures == 2
