"""Intervals and p values of any SQL model: what fails without a line of YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_project import STAGING, raw_database, write_project

from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import run_data_tests


def failures(folder: Path, columns: str) -> list[str]:
    """The data tests that a SQL model with these columns fails, among those that need no YAML."""
    with raw_database() as con:
        project = write_project(
            folder,
            STAGING
            | {
                "marts/t.sql": f"select {columns}",
                "marts/t.yml": "models:\n- name: t\n  description: T.\n  columns: []\n",
            },
        )
        build(con, project)
        results = run_data_tests(con, project, select=["t"])
    return [result.name for result in results if result.status != "pass" and result.kind != "description"]


@pytest.mark.parametrize(
    ("columns", "failed"),
    [
        ("0.1::double as ci_low, 0.2::double as ci_high", []),
        ("1.0::double as ci_low, 1.0::double as ci_high", ["has_width_marts.t_ci_low"]),
        ("1.0::double as x_ci_low, null::double as x_ci_high", ["has_width_marts.t_x_ci_low"]),
        ("null::double as ci_low, null::double as ci_high", ["explained_marts.t_ci_low"]),
        ("null::double as ci_low, null::double as ci_high, 'one_cluster' as reason", []),
        ("null::double as x_ci_low, null::double as x_ci_high, 'one_cluster' as x_reason", []),
        (
            "null::double as x_ci_low, null::double as x_ci_high, null::varchar as x_reason, 'y' as reason",
            ["explained_marts.t_x_ci_low"],
        ),
        ("null::double as p_value", ["explained_marts.t_p_value"]),
        ("null::double as x_p_value, 'no_cases' as reason, null::double as x_p_value_holm", []),
        ("0.3::double as x_p_value", []),
    ],
)
def test_an_interval_has_a_width_and_what_is_null_has_a_reason(tmp_path: Path, columns: str, failed: list[str]) -> None:
    assert failures(tmp_path, columns) == failed
