"""Two runs, or two benchmark versions, side by side: everything that `marts.*_comparison` says about the pair.

Every number comes from those SQL models, so that any query can return the same ones. This module only selects the two
subjects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, cast

import duckdb

from debatebench.query.differences import html_text, plain_text
from debatebench.query.one_debate import check_marts
from debatebench.query.relations import has_relation
from debatebench.query.run_tags import check_not_archived
from debatebench.query.safe_query import run_query
from debatebench.shared.amounts import counted, did_you_mean
from debatebench.shared.errors import UsageError

Kind = Literal["run", "version"]
Row = dict[str, Any]

_SUBJECTS = """
select kind, subject, list_sort(list(run_tag)) as run_tags, coalesce(bool_and(is_excluded), false) as is_excluded
from intermediate.int_comparison_members
left join staging.stg_run_marks using (run_tag)
group by kind, subject
order by kind, subject
"""
_THIS_PAIR = """
    baseline_kind = $baseline_kind and baseline = $baseline
    and candidate_kind = $candidate_kind and candidate = $candidate
"""
_PAIR_COLUMNS = "baseline_kind, baseline, candidate_kind, candidate"
_VERDICT = f"select * exclude ({_PAIR_COLUMNS}) from marts.comparability_verdicts where {_THIS_PAIR}"
_OUTCOME = f"select outcome from marts.comparison_outcomes where {_THIS_PAIR}"
_ITEMS = (
    f"select * exclude ({_PAIR_COLUMNS}, position) from marts.run_comparability where {_THIS_PAIR} order by position"
)
_DEBATERS = f"""
select * exclude ({_PAIR_COLUMNS})
from marts.debater_comparison
where {_THIS_PAIR}
order by
    model_id,
    list_position(['rating', 'rank', 'win_rate', 'mean_score', 'dimension_score', 'turn_cost_usd'], measure),
    dimension
"""
_JUDGES = f"""
select * exclude ({_PAIR_COLUMNS})
from marts.judge_comparison
where {_THIS_PAIR}
order by judge_id, list_position(['agreement', 'pro_lean', 'leniency'], measure)
"""
_PANELS = f"select * exclude ({_PAIR_COLUMNS}) from marts.panel_comparison where {_THIS_PAIR} order by measure"
_DEBATES = f"""
select
    count(*) as matched,
    count(is_flipped) as decided,
    count(case when is_flipped then 1 end) as flipped,
    cast(count(case when is_flipped then 1 end) as double) / nullif(count(is_flipped), 0) as flip_rate
from marts.debate_comparison
where {_THIS_PAIR}
"""
_FLIPPED = f"""
select * exclude ({_PAIR_COLUMNS}, motion, is_flipped)
from marts.debate_comparison
where {_THIS_PAIR} and is_flipped
order by topic_id, pro_model_id, con_model_id, repetition, baseline_run_tag, candidate_run_tag
"""
# One build derives the numbers of all runs: these are the versions that its unsuffixed names stand for.
_SQL_MODELS = """
select schema_name || '.' || view_name as name, regexp_extract(sql, '(\\w+\\.\\w+_v[0-9]+);?$', 1) as version
from duckdb_views()
where schema_name = 'marts' and view_name in ('judge_verdicts', 'panel_winners')
order by name
"""
_UNFINISHED = """
select run_tag, count_complete, count_planned
from marts.runs
where list_contains($run_tags, run_tag) and count_complete < count_planned
order by run_tag
"""
_POOLS = """
select benchmark_version, kind, explanation
from marts.version_warnings
where list_contains($versions, benchmark_version)
order by list_position($versions, benchmark_version), kind
"""
_VALUES = """
select model_id, measure, dimension, value, ci_low, ci_high, reason, count_debates, count_topics
from intermediate.int_subject_values
where kind = $kind and subject = $subject
"""
_MEASURES = ("rating", "win_rate", "mean_score", "dimension_score", "turn_cost_usd")
_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is compared: a run, or all runs of a benchmark version together."""

    kind: Kind
    name: str
    run_tags: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'run' if self.kind == 'run' else 'benchmark version'} '{self.name}'"


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """A pair of subjects: the SQL models' rows about it, unchanged, without the columns that name the pair.

    `verdict` is the row of `marts.comparability_verdicts`, `outcome` the sentence of `marts.comparison_outcomes`,
    `items` are the rows of `marts.run_comparability`, `debaters`, `judges` and `panels` those of the models of these
    names, `flipped` those of `marts.debate_comparison`, whose counts are `debates`. `sql_models` names the versions of
    the rules for winners behind all numbers. `unfinished` are runs with planned debates that are not complete, and
    `pools` are the rows of `marts.version_warnings` about the versions.

    As text, and in a notebook, it is its sentences and the debaters' differences, as `debatebench compare` prints them.
    """

    baseline: Subject
    candidate: Subject
    verdict: Row
    outcome: str
    items: Sequence[Row]
    debaters: Sequence[Row]
    judges: Sequence[Row]
    panels: Sequence[Row]
    debates: Row
    flipped: Sequence[Row]
    sql_models: Mapping[str, str]
    unfinished: Sequence[Row]
    pools: Sequence[Row]

    def __repr__(self) -> str:
        return f"<{self.baseline} and {self.candidate}: {counted(len(self.debaters), 'row')} about debaters>"

    def __str__(self) -> str:
        return plain_text(self._told(), self.debaters)

    def _repr_html_(self) -> str:
        return html_text(self._told(), self.debaters)

    def _told(self) -> list[str]:
        return [*self.sentences(), *(f"Warning: {doubt}" for doubt in doubts(self))]

    def sentences(self) -> list[str]:
        """What is compared, the outcome, whether that is fair, and what the differences rest on."""
        subjects = f"Baseline: {self.baseline}. Candidate: {self.candidate}."
        return [subjects, self.outcome, self.verdict["explanation"], self.basis()]

    def basis(self) -> str:
        """What the differences between debaters rest on, in sentences: that can be said, like for like or not."""
        won = [row for row in self.debaters if row["measure"] == "win_rate"]
        paired = [row for row in won if row["method"] == "paired"]
        texts = []
        if paired:
            topics = max(row["count_topics"] for row in paired)
            texts.append(
                f"Win rates and scores of {counted(len(paired), 'debater')} compare the same debates on both sides, on "
                f"{counted(topics, 'topic')}."
            )
        if len(paired) < len(won):
            whose = "the others" if paired else counted(len(won), "debater")
            texts.append(
                f"Win rates and scores of {whose} compare all debates of both: differences of topics and opponents are "
                "part of them."
            )
        return " ".join(texts) or "The two have no debater in common, so no debater is compared."


@dataclass(frozen=True, slots=True)
class Trend:
    """Three subjects or more, one after another, each compared with the one before.

    `rows` has a row for each debater, measure and subject: the subject's value with its interval, and the difference to
    the subject before, as `marts.version_trend` has them for all versions. `verdicts` are rows of
    `marts.comparability_verdicts`; `pools` and `unfinished` are as in `Comparison`.
    """

    subjects: Sequence[Subject]
    rows: Sequence[Row]
    verdicts: Sequence[Row]
    unfinished: Sequence[Row]
    pools: Sequence[Row]


def doubts(found: Comparison | Trend) -> list[str]:
    """Why the numbers may mislead: versions that pool what does not belong together, and unfinished runs."""
    return [pool["explanation"] for pool in found.pools] + [
        f"run '{run['run_tag']}' is not finished: {run['count_complete']} of {run['count_planned']} debates are "
        "complete."
        for run in found.unfinished
    ]


def find_subject(con: duckdb.DuckDBPyConnection, name: str) -> Subject:
    """The run or benchmark version that `name` means; `run:NAME` and `version:NAME` say which.

    Raises `UsageError` if neither exists, or if both a run and a version have that name.
    """
    check_marts(con)
    if not has_relation(con, "marts.comparability_verdicts"):
        raise UsageError("The warehouse was built without comparisons; run `debatebench build` to add them.")
    rows = _rows(con, _SUBJECTS)
    known = [Subject(cast(Kind, kind), subject, tuple(run_tags)) for kind, subject, run_tags, _ in rows]
    found = [subject for subject in known if subject.name == name]
    kind, colon, rest = name.partition(":")
    if not found and colon:
        found = [subject for subject in known if subject.kind == kind and subject.name == rest]
    if len(found) > 1:
        raise UsageError(f"'{name}' is both a run and a benchmark version; write run:{name} or version:{name}.")
    if not found:
        check_not_archived(con, name.removeprefix("run:"))
        # An excluded run can be compared, but is not proposed.
        shown = {kind: [row[1] for row in rows if row[0] == kind and not row[3]] for kind in ("run", "version")}
        hint = did_you_mean(name, [each for names in shown.values() for each in names], 3)
        runs, versions = (", ".join(names) or "none" for names in shown.values())
        raise UsageError(f"No run or benchmark version '{name}'.{hint} Runs: {runs}. Benchmark versions: {versions}.")
    return found[0]


def compare(con: duckdb.DuckDBPyConnection, baseline: Subject, candidate: Subject) -> Comparison:
    """Everything that the warehouse says about the pair. Raises `UsageError` if they share a run."""
    pair = _pair(baseline, candidate)
    (verdict,) = _records(con, _VERDICT, pair)
    (debates,) = _records(con, _DEBATES, pair)
    (outcome,) = _records(con, _OUTCOME, pair)
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        verdict=verdict,
        outcome=outcome["outcome"],
        items=_records(con, _ITEMS, pair),
        debaters=_records(con, _DEBATERS, pair),
        judges=_records(con, _JUDGES, pair),
        panels=_records(con, _PANELS, pair),
        debates=debates,
        flipped=_records(con, _FLIPPED, pair),
        sql_models=dict(_rows(con, _SQL_MODELS)),
        unfinished=_unfinished(con, [baseline, candidate]),
        pools=_pools(con, [baseline, candidate]),
    )


def trend(con: duckdb.DuckDBPyConnection, subjects: Sequence[Subject]) -> Trend:
    """How each debater does from subject to subject, in the given order.

    Raises `UsageError` if a subject shares a run with the one before it.
    """
    pairs = [_pair(*both) for both in pairwise(subjects)]
    verdicts = [_records(con, _VERDICT, pair)[0] for pair in pairs]
    changes = [{_key(row): row for row in _records(con, _DEBATERS, pair)} for pair in pairs]
    rows: list[Row] = []
    for place, subject in enumerate(subjects):
        for value in _records(con, _VALUES, {"kind": subject.kind, "subject": subject.name}):
            change = changes[place - 1].get(_key(value), {}) if place else {"reason": "first_subject"}
            rows.append(
                {
                    "position": place + 1,
                    "kind": subject.kind,
                    "subject": subject.name,
                    **value,
                    "difference": change.get("difference"),
                    "difference_ci_low": change.get("ci_low"),
                    "difference_ci_high": change.get("ci_high"),
                    "difference_reason": change.get("reason"),
                    "method": change.get("method"),
                }
            )
    rows.sort(
        key=lambda row: (_MEASURES.index(row["measure"]), row["model_id"], row["dimension"] or "", row["position"])
    )
    return Trend(subjects, rows, verdicts, _unfinished(con, subjects), _pools(con, subjects))


def _key(row: Row) -> tuple[str, str, str | None]:
    return row["model_id"], row["measure"], row["dimension"]


def _pair(baseline: Subject, candidate: Subject) -> dict[str, str]:
    """The columns that name a pair. Raises `UsageError` if the two share a run."""
    check_apart(baseline, candidate)
    return {
        "baseline_kind": baseline.kind,
        "baseline": baseline.name,
        "candidate_kind": candidate.kind,
        "candidate": candidate.name,
    }


def check_apart(baseline: Subject, candidate: Subject) -> None:
    """Raises `UsageError` if the two share a run."""
    if shared := sorted(set(baseline.run_tags) & set(candidate.run_tags)):
        raise UsageError(
            f"Run '{shared[0]}' is on both sides; compare two runs, or two versions, without a common run."
        )


def _unfinished(con: duckdb.DuckDBPyConnection, subjects: Sequence[Subject]) -> list[Row]:
    return _records(con, _UNFINISHED, {"run_tags": [tag for subject in subjects for tag in subject.run_tags]})


def _pools(con: duckdb.DuckDBPyConnection, subjects: Sequence[Subject]) -> list[Row]:
    versions = [subject.name for subject in subjects if subject.kind == "version"]
    return _records(con, _POOLS, {"versions": versions}) if versions else []


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return run_query(con, sql, limit=None, timeout_s=_TIMEOUT_S).rows


def _records(con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any]) -> list[Row]:
    return run_query(con, sql, params, limit=None, timeout_s=_TIMEOUT_S).dicts()
