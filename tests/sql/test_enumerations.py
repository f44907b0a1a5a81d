"""The closed sets of values of text columns: each is listed in YAML, and is what the SQL can give."""

from __future__ import annotations

import re
import typing

import pytest
from built_warehouse import packaged_project
from possible_values import Possible, PossibleValues, possible_of_macro

from debatebench.shared.records import TABLES
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.project import Project

# Values that the SQL names, and that a condition on the rows leaves out.
LEFT_OUT = {
    "staging.stg_attacked_debates.status": {"void", "forfeit"},
    "marts.attacked_debates.status": {"void", "forfeit"},
    "marts.decided_debates.winner": {"no_decision"},
    "marts.games.winner": {"no_decision"},
    "intermediate.int_comparison_debates.winner": {"no_decision"},
    "marts.run_comparability.state": {"silent"},
    "marts.truncated_speeches.run_win_rate_gap_reason": {"always_truncated", "never_truncated"},
    "marts.panelbench_significance.trial_reason": {"few_topics"},
    "marts.judge_comparison.measure": {"dimension_score", "mean_score", "turn_cost_usd", "win_rate"},
    "marts.panel_comparison.measure": {"dimension_score", "leniency", "mean_score", "turn_cost_usd", "win_rate"},
    "marts.debater_comparison.measure": {"agreement", "leniency", "pro_lean"},
}
# A sentence for people, a number, or the text that stands for a missing value in a key.
NOT_A_WORD = re.compile(r".*[.?!]|[-0-9.]*", re.DOTALL)


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


@pytest.fixture(scope="module")
def descriptions(project: Project) -> Descriptions:
    return Descriptions(project)


def literals(annotation: object) -> frozenset[str]:
    """The values of the `Literal` in a type."""
    if typing.get_origin(annotation) is typing.Literal:
        return frozenset(typing.get_args(annotation))
    return frozenset().union(*map(literals, typing.get_args(annotation)))


LANDED = {
    (f"raw.{table}", name): values
    for table, record in TABLES.items()
    for name, field in record.model_fields.items()
    if (values := literals(field.annotation))
}


@pytest.fixture(scope="module")
def possible(project: Project) -> dict[str, Possible]:
    """Column of a SQL model → what the SQL can give."""
    values = PossibleValues(project, LANDED)
    return {f"{name}.{column}": said for name in project.models for column, said in values.of(name).items()}


def listed(descriptions: Descriptions, name: str) -> set[str]:
    relation, _, column = name.rpartition(".")
    return set(descriptions.values(relation, column))


def test_every_closed_set_of_words_is_listed(possible: dict[str, Possible], descriptions: Descriptions):
    closed = {name: said for name, said in possible.items() if said.literals and not said.is_open}
    words = {name for name, said in closed.items() if not all(map(NOT_A_WORD.fullmatch, said.literals))}
    assert len(words) > 200
    assert {name: sorted(closed[name].literals) for name in words if not listed(descriptions, name)} == {}


def test_an_enumeration_is_what_the_sql_can_give(possible: dict[str, Possible], descriptions: Descriptions):
    wrong: dict[str, tuple[set[str], set[str]]] = {}
    for name, said in possible.items():
        values = listed(descriptions, name)
        more = values - said.literals if not said.is_open else set()
        fewer = said.literals - values - LEFT_OUT.get(name, set())
        if values and (more or fewer):
            wrong[name] = more, fewer
    assert wrong == {}


def test_what_is_left_out_of_an_enumeration_is_a_value_that_the_sql_names(possible: dict[str, Possible]):
    unknown = {name: values - possible[name].literals for name, values in LEFT_OUT.items()}
    assert {name: values for name, values in unknown.items() if values} == {}


def test_a_landed_enumeration_is_that_of_its_record(descriptions: Descriptions):
    assert len(LANDED) > 20
    assert {key: set(descriptions.values(*key)) for key in LANDED} == {
        key: set(values) for key, values in LANDED.items()
    }


def test_a_macro_lists_what_it_can_return(project: Project):
    for name, macro in project.macros.items():
        said = possible_of_macro(project, name)
        words = not all(map(NOT_A_WORD.fullmatch, said.literals))
        if macro.properties.values or (words and not said.is_open):
            assert (name, set(macro.properties.values)) == (name, said.literals)


def test_a_value_means_something_in_a_few_words(project: Project, descriptions: Descriptions):
    explained = {
        f"{relation}.{column}: {value}": text
        for relation in [*project.models, *project.domain.tables]
        for column in descriptions.columns(relation)
        for value, text in descriptions.values(relation, column).items()
        if text
    }
    assert len(explained) > 500
    assert [
        name for name, text in explained.items() if text.endswith((".", ";")) or "; `" in text or "\n" in text
    ] == []
    assert [
        name for name, text in explained.items() if text.lower() == name.rpartition(": ")[2].replace("_", " ")
    ] == []


def test_no_text_spells_out_the_values_that_are_listed_behind_it(project: Project, descriptions: Descriptions):
    said_twice = [
        f"{relation}.{column}"
        for relation in project.models
        for column in descriptions.columns(relation)
        if len(values := descriptions.values(relation, column)) > 1
        and all(f"`{value}`" in descriptions.description(relation, column) for value in values)
    ]
    assert said_twice == []
