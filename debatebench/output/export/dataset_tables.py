"""The tables of a published dataset: from which SQL models their columns come, and in which order their rows stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from debatebench.shared.duckdb_sql import quoted_identifier

if TYPE_CHECKING:
    import duckdb

_DEBATE = ("run_tag", "debate_id")


@dataclass(frozen=True, slots=True)
class Joined:
    """A SQL model that adds columns to a table, at most one row for each; `by` are the columns that both have."""

    relation: str
    columns: tuple[str, ...]
    by: tuple[str, ...] = _DEBATE


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """A table of the dataset: rows of `relation` with `columns`, and columns of other SQL models beside them."""

    name: str
    about: str
    relation: str
    columns: tuple[str, ...]
    order: tuple[str, ...]
    joined: tuple[Joined, ...] = ()

    @property
    def relations(self) -> set[str]:
        """The SQL models that the table reads."""
        return {self.relation, *(joined.relation for joined in self.joined)}

    def sources(self) -> list[tuple[str, str]]:
        """(column, SQL model that it comes from), in the order of the columns."""
        return [
            *((name, self.relation) for name in self.columns),
            *((name, joined.relation) for joined in self.joined for name in joined.columns),
        ]

    def query(self, con: duckdb.DuckDBPyConnection, instead: Mapping[str, str]) -> str:
        """SQL for the rows of run `$1`. `instead` names tables to read in place of SQL models."""
        base = instead.get(self.relation, self.relation)
        listed = [_exported(con, base, "base", self.columns)]
        joins = []
        for number, joined in enumerate(self.joined):
            listed.append(_exported(con, joined.relation, f"joined_{number}", joined.columns))
            same = " and ".join(f"base.{name} = joined_{number}.{name}" for name in joined.by)
            joins.append(f"left join {joined.relation} as joined_{number} on {same}")
        order = ", ".join(f"base.{name}" for name in self.order)
        return (
            f"select {', '.join(listed)} from {base} as base {' '.join(joins)} where base.run_tag = ? order by {order}"
        )


def _exported(con: duckdb.DuckDBPyConnection, relation: str, alias: str, columns: Iterable[str]) -> str:
    """The columns as SQL, each with the type that it has in the file."""
    types = dict(row[:2] for row in con.sql(f"select column_name, column_type from (describe {relation})").fetchall())
    return ", ".join(
        f"cast({alias}.{quoted_identifier(name)} as {_plain(_parsed(types[name]))}) as {quoted_identifier(name)}"
        for name in columns
    )


def _parsed(type_: str) -> Any:
    import duckdb

    return duckdb.sqltype(type_)


def _plain(type_: Any) -> str:
    """A type that readers of Parquet show as people expect: JSON is text, and decimals are doubles.

    A double keeps the first fifteen digits, which no real scale or cost exceeds.
    """
    if type_.id == "decimal":
        return "DOUBLE"
    if str(type_) == "JSON":
        return "VARCHAR"
    if type_.id == "list":
        return f"{_plain(type_.children[0][1])}[]"
    if type_.id == "struct":
        inner = ", ".join(f"{quoted_identifier(name)} {_plain(part)}" for name, part in type_.children)
        return f"STRUCT({inner})"
    return str(type_)


_OF_A_VERDICT = (
    *_DEBATE, "judge_id", "panel_position", "presented_first", "is_valid", "invalid_reason", "declared_winner",
    "scores", "raw_response", "created_at", "count_asks",
    "replaces_judge_id", "is_repaired", "is_truncated_after_verdict", "is_injection_suspected",
)  # fmt: skip
_JUDGE = Joined(
    "staging.stg_judges",
    ("provider", "model_name", "method", "is_baseline", "prompt_style"),
    by=("run_tag", "judge_id"),
)
_COSTS = Joined(
    "intermediate.int_verdict_costs",
    ("prompt_tokens", "completion_tokens", "cost_usd", "count_unpriced"),
    by=(*_DEBATE, "judge_id"),
)

TABLES: tuple[DatasetTable, ...] = (
    DatasetTable(
        "debates",
        "One row per debate: motion, sides, the panel's winner, and whether a check found the debate fit to be judged.",
        "marts.debates",
        (
            *_DEBATE, "topic_id", "motion", "category", "format", "pro_model_id", "con_model_id", "repetition",
            "status", "status_reason", "refused_by", "winner", "count_pro", "count_con", "count_tie",
            "count_valid_verdicts", "count_invalid_verdicts", "pro_mean_score", "con_mean_score", "count_turns",
            "total_tokens", "cost_usd", "recorded_winner", "source_debate_id", "trial", "is_control", "created_at",
        ),
        ("source_position", "debate_id"),
        (
            Joined("staging.stg_topics", ("info_slide",), by=("run_tag", "topic_id")),
            Joined("staging.stg_runs", ("source_run_tag", "language", "is_simulated"), by=("run_tag",)),
            Joined("marts.debate_coherence", ("is_coherent", "reasons")),
        ),
    ),
    DatasetTable(
        "turns",
        "One row per speech. A debate that is judged again has its speeches in the run that held it "
        "(`source_run_tag`, `source_debate_id`).",
        "staging.stg_turns",
        (
            *_DEBATE, "turn_index", "position", "side", "model_id", "stage", "content", "reasoning", "created_at",
            "duration_ms", "prompt_tokens", "completion_tokens", "cost_usd", "finish_reason", "is_truncated",
            "serving_provider",
        ),
        ("debate_id", "turn_index"),
    ),
    DatasetTable(
        "verdicts",
        "One row per judge and debate: the scores of every judge, none averaged, and the judge's own words.",
        "staging.stg_verdicts",
        _OF_A_VERDICT,
        ("debate_id", "panel_position", "judge_id"),
        (Joined("marts.judge_verdicts", ("winner",), by=(*_DEBATE, "judge_id")), _JUDGE, _COSTS),
    ),
    DatasetTable(
        "judge_notes",
        "One row per statement of a judge on the way to a verdict: analyses, scores with their reasons, winners.",
        "staging.stg_judge_notes",
        (*_DEBATE, "judge_id", "note_index", "step", "dimension", "turn_index", "position", "text", "score"),
        ("debate_id", "judge_id", "note_index"),
    ),
    DatasetTable(
        "annotations",
        "One row per person and debate: the scores of every annotator, none averaged.",
        "staging.stg_annotations",
        (
            *_DEBATE, "annotator_id", "winner", "scores", "confidence", "is_coherent", "justification", "annotated_at",
            "source", "metadata",
        ),
        ("debate_id", "annotator_id"),
    ),
    DatasetTable(
        "adjudications",
        "One row per debate on which people agreed on a verdict after they had annotated it one by one.",
        "staging.stg_adjudications",
        (*_DEBATE, "adjudicator_id", "winner", "scores", "justification", "adjudicated_at"),
        ("debate_id",),
    ),
    DatasetTable(
        "gold",
        "One row per debate and judged unit: verdicts that came with the debates.",
        "staging.stg_gold",
        (*_DEBATE, "unit", "label", "winner", "winning_positions", "count_votes"),
        ("debate_id", "unit"),
    ),
    DatasetTable(
        "weaknesses",
        "One row per side into which a flaw was injected.",
        "staging.stg_weaknesses",
        (*_DEBATE, "side", "weakness_type", "dimension"),
        ("debate_id", "side"),
    ),
    DatasetTable(
        "runs",
        "One row per run: what its debates were made with.",
        "staging.stg_runs",
        (
            "run_tag", "source", "format", "source_run_tag", "benchmark_name", "benchmark_version", "rubric_version",
            "harness_version", "git_commit", "language", "seed", "created_at", "is_simulated", "config", "options",
            "prompt_hashes",
        ),
        ("run_tag",),
    ),
    DatasetTable(
        "dimensions",
        "One row per run and scored dimension: its scale, and what a score means.",
        "staging.stg_dimensions",
        (
            "run_tag", "dimension", "source_position", "min_score", "max_score", "description", "anchors", "weight",
            "allows_ties", "tie_band",
        ),
        ("source_position", "dimension"),
    ),
    DatasetTable(
        "settings",
        "One row per setting of a run that can make its numbers differ from another run's.",
        "marts.run_settings",
        ("run_tag", "item", "part", "value"),
        ("item", "part"),
    ),
)  # fmt: skip
"""The tables, in the order of the dataset's card. A table without rows is left out."""

ATTACKED: tuple[DatasetTable, ...] = (
    DatasetTable(
        "attacked_debates",
        "One row per copy of a stored debate that was altered to mislead its judges. Its clean copy is in `debates`.",
        "staging.stg_attacked_debates",
        (*_DEBATE, "topic_id", "source_debate_id", "trial", "attack", "attack_side", "status", "created_at"),
        ("debate_id",),
        (Joined("staging.stg_runs", ("source_run_tag",), by=("run_tag",)),),
    ),
    DatasetTable(
        "attacked_turns",
        "One row per speech of an altered copy, as its judges read it.",
        "staging.stg_attacked_turns",
        (*_DEBATE, "turn_index", "position", "side", "stage", "content"),
        ("debate_id", "turn_index"),
    ),
    DatasetTable(
        "attacked_verdicts",
        "One row per judge and altered copy.",
        "staging.stg_attacked_verdicts",
        _OF_A_VERDICT,
        ("debate_id", "panel_position", "judge_id"),
        (_JUDGE, _COSTS),
    ),
    DatasetTable(
        "attacked_notes",
        "One row per statement of a judge on the way to a verdict on an altered copy.",
        "staging.stg_attacked_notes",
        (*_DEBATE, "judge_id", "note_index", "step", "dimension", "turn_index", "position", "text", "score"),
        ("debate_id", "judge_id", "note_index"),
    ),
)
"""The tables that `--with-attacked` adds. Their debates are in no other table."""
