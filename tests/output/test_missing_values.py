"""Where an interval or a p value is missing, a page says why; where it holds for few topics, a page says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from site_pages import report_files

from debatebench.output.report.html import format_values, guess_format
from debatebench.output.report.page import ColumnFormat, Section, load_pages
from debatebench.output.report.reasons import WORDS
from debatebench.output.report.sections import SectionView, view
from debatebench.query.sql_project import load_project
from debatebench.shared.errors import ConfigError
from debatebench.shared.workspace import Workspace

NAMES = ("name", "value", "ci_low", "ci_high", "p_value", "reason")
# Ratings with side and length held constant always have an interval, so they have no reason.
ALWAYS_THERE = {("results", "rating-controls", "ci_low")}


def rows(*values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(NAMES, each, strict=True)) for each in values]


def shown(found: Sequence[Mapping[str, Any]], show: str = "table", **columns: ColumnFormat) -> SectionView:
    roles = {"label": ("name",), "value": ("value",), "low": ("ci_low",), "high": ("ci_high",)}
    section = Section(
        "s", "S", "select", show, roles=roles if show == "dots" else {}, columns=columns, source="page.yml"
    )
    return view(section, NAMES, found, (), lambda kind, row: None)


def texts(found: SectionView) -> list[list[str]]:
    assert found.table is not None
    return [[cell.text for cell in line] for line in found.table.rows]


FOUND = rows(
    ("a", 0.5, 0.25, 0.75, 0.00004, None),
    ("b", 1.0, None, None, None, "no_variation"),
    ("c", 0.0, None, None, None, "one_cluster"),
    ("d", 0.0, None, None, None, None),
)
INTERVAL = ColumnFormat("95 %", "percent", to="ci_high", reason="reason")


def test_an_interval_is_one_cell_and_a_missing_one_is_its_reason() -> None:
    found = shown(FOUND, name=ColumnFormat(), ci_low=INTERVAL, p_value=ColumnFormat("p", reason="reason"))
    assert texts(found) == [
        ["a", "25.0% to 75.0%", "< 0.001"],
        ["b", "– (no variation)", "– (no variation)"],
        ["c", "– (only one topic or debate)", "– (only one topic or debate)"],
        ["d", "–", "–"],
    ]
    assert found.table is not None
    assert [heading.is_number for heading in found.table.headings] == [False, True, True]
    assert found.table.rows[0][1].sort == 0.25
    assert found.notes == ()


def test_a_chart_names_the_points_without_an_interval_and_why() -> None:
    columns = {"name": ColumnFormat(), "ci_low": ColumnFormat("From", reason="reason")}
    found = shown(FOUND, "dots", **columns)
    assert found.notes == ("No interval for b: no variation.", "No interval for c: only one topic or debate.")
    many = rows(*((f"judge {n}", 1.0, None, None, None, "no_cases") for n in range(7)))
    named = ", ".join(f"judge {n}" for n in range(5))
    assert shown(many, "dots", **columns).notes == (f"No interval for {named} and 2 more: no cases.",)


def test_a_section_says_once_that_few_topics_say_nothing_about_others() -> None:
    few = rows(("a", 0.5, 0.2, 0.8, 0.4, "few_topics"), ("b", 0.5, 0.2, 0.8, 0.4, "few_topics"))
    (note,) = shown(few, name=ColumnFormat(), ci_low=INTERVAL).notes
    assert note == "With fewer than three topics, intervals and p values say nothing about other topics."
    assert texts(shown(few, name=ColumnFormat(), ci_low=INTERVAL)) == [["a", "20.0% to 80.0%"], ["b", "20.0% to 80.0%"]]
    (note,) = shown([*few, *FOUND], name=ColumnFormat(), ci_low=INTERVAL).notes
    assert note == "Where there are fewer than three topics, intervals and p values say nothing about other topics."


@pytest.mark.parametrize("missing", [{"to": "upper"}, {"reason": "why"}])
def test_a_column_that_the_query_does_not_return_is_named(missing: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=f"returns no column '{next(iter(missing.values()))}'"):
        shown(FOUND, ci_low=ColumnFormat(**missing))


def test_a_reason_of_a_workspace_is_shown_as_it_is() -> None:
    found = shown(rows(("a", 1.0, None, None, None, "too_hot")), ci_low=INTERVAL)
    assert texts(found) == [["– (too hot)"]]


def test_every_reason_of_the_sql_models_has_words() -> None:
    rule = load_project(Workspace(Path("none")).files("sql", "macros/*")).macros["macros.reason_of"].expression
    codes = set(re.findall(r"'(\w+)'", rule)) - {"debate"}
    assert codes - {"few_topics"} <= set(WORDS)
    assert "few_topics" in codes


def test_a_small_p_value_is_not_zero() -> None:
    assert guess_format("p_value_holm", [0.2]) == "p_value"
    cells = format_values([0.0, 2e-12, 0.000999, 0.001, 0.04, 1.0, None], "p_value")
    assert [cell.text for cell in cells] == ["< 0.001", "< 0.001", "< 0.001", "0.001", "0.040", "1.000", "–"]
    assert [cell.sort for cell in cells][:2] == [0.0, 2e-12]


def test_every_interval_and_p_value_of_every_page_has_its_reason() -> None:
    seen, without = 0, []
    for page in load_pages(report_files()):
        for section in page.sections:
            whiskers = set(section.roles.get("low", ())) if section.show == "dots" else set()
            about = {name for name in section.columns if re.search("ci_low|p_value|interval", name)} | whiskers
            seen += len(about)
            without += [(page.name, section.id, name) for name in about if section.columns[name].reason is None]
    assert set(without) == ALWAYS_THERE
    assert seen > 40
