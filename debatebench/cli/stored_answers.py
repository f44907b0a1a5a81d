"""What the stored answers of models used and how long they took, for the estimates before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.cli.common import note, why_unread
from debatebench.shared.errors import DebatebenchError

if TYPE_CHECKING:
    from debatebench.plan.estimate import Latencies
    from debatebench.plan.stored_use import StoredUse
    from debatebench.shared.workspace import Workspace

_SPEECHES = """
with speeches as (
    select t.*, d.provider, d.model_name, coalesce(t.stage, '') as stage_name, length(t.content) as characters,
        coalesce(sum(length(t.content)) over (
            partition by t.run_tag, t.debate_id order by t.turn_index rows between unbounded preceding and 1 preceding
        ), 0) as history
    from staging.stg_turns as t
    left join staging.stg_debaters as d on d.run_tag = t.run_tag and d.model_id = t.model_id
    where t.run_tag <> $run_tag
)

select provider, model_name, stage_name, count(*), sum(prompt_tokens)::bigint, sum(completion_tokens)::bigint,
    sum(characters)::bigint, sum(history)::bigint, count(*)
from speeches
where provider is not null and model_name is not null and prompt_tokens > 0 and completion_tokens > 0
group by all
"""
_VERDICTS = """
with lengths as (
    select run_tag, debate_id, sum(length(content)) as history
    from staging.stg_turns
    group by all
),

-- The answers that led to a verdict, where the tokens of each are known.
verdicts as (
    select run_tag, debate_id, judge_id, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, count(*) as count_asks
    from intermediate.int_expenses
    where purpose = 'verdict' and judge_id is not null
    group by all
    having count(prompt_tokens) = count(*) and count(completion_tokens) = count(*)
)

select j.provider, j.model_name, j.method, count(*), sum(v.prompt_tokens)::bigint, sum(v.completion_tokens)::bigint,
    0, sum(l.history)::bigint, sum(v.count_asks)::bigint
from verdicts as v
join staging.stg_debates as d on d.run_tag = v.run_tag and d.debate_id = v.debate_id
join staging.stg_runs as r on r.run_tag = v.run_tag
-- A stored debate that was judged again has its speeches where it was played.
join lengths as l
    on l.run_tag = case when d.source_debate_id is null then v.run_tag else r.source_run_tag end
    and l.debate_id = coalesce(d.source_debate_id, v.debate_id)
join staging.stg_judges as j on j.run_tag = v.run_tag and j.judge_id = v.judge_id
where v.run_tag <> $run_tag and j.provider is not null and j.model_name is not null and v.prompt_tokens > 0
    and v.completion_tokens > 0
group by all
"""
_TURN_LATENCIES = """
select d.provider, d.model_name, quantile_cont(t.duration_ms, $share)
from staging.stg_turns as t
join staging.stg_debaters as d on d.run_tag = t.run_tag and d.model_id = t.model_id
where t.duration_ms is not null and d.provider is not null and d.model_name is not null
group by all
"""
_VERDICT_LATENCIES = """
select j.provider, j.model_name, quantile_cont(v.duration_ms / v.count_asks, $share)
from staging.stg_verdicts as v
join staging.stg_judges as j on j.run_tag = v.run_tag and j.judge_id = v.judge_id
where v.duration_ms is not null and v.count_asks > 0 and j.provider is not null and j.model_name is not null
group by all
"""


def with_stored_use(workspace: Workspace, run_tag: str, stored: StoredUse) -> StoredUse:
    """`stored` with the use of models in all runs of the warehouse except this one, whose own journal says more."""
    from debatebench.plan.stored_use import Sums
    from debatebench.query.relations import has_relation
    from debatebench.query.safe_query import open_for_reading, run_query

    if not workspace.database.is_file():
        return stored
    try:
        with open_for_reading(workspace.database) as con:
            if not has_relation(con, "staging.stg_turns"):
                return stored
            for found, sql in ((stored.speeches, _SPEECHES), (stored.verdicts, _VERDICTS)):
                for provider, model, part, *sums in run_query(con, sql, {"run_tag": run_tag}, limit=None).rows:
                    found.setdefault((provider, model, part), Sums()).add(Sums(*sums))
    except DebatebenchError as problem:
        note(f"Stored tokens cannot be read, so the cost is estimated without them: {why_unread(workspace, problem)}")
    return stored


def stored_latencies(workspace: Workspace, share: float = 0.5) -> Latencies:
    """The latency that this share of calls do not exceed, by provider and model; none if there is no warehouse yet."""
    from debatebench.plan.estimate import Latencies
    from debatebench.query.safe_query import run_query

    if not workspace.database.is_file():
        return Latencies({}, {})
    try:
        turns, verdicts = (
            run_query(workspace.database, sql, {"share": share}, limit=None).rows
            for sql in (_TURN_LATENCIES, _VERDICT_LATENCIES)
        )
    except DebatebenchError as problem:
        note(f"Stored timings cannot be read: {why_unread(workspace, problem)}")
        return Latencies({}, {})
    return Latencies({(p, m): ms for p, m, ms in turns}, {(p, m): ms for p, m, ms in verdicts})
