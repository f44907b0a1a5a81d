"""The report on a session of a run: what is complete, what is missing and why, and the cost compared with the plan."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from debatebench.cli.common import note, print_rows
from debatebench.plan.estimate import CostEstimate
from debatebench.plan.plan import Plan
from debatebench.play.budget import Spending
from debatebench.providers import is_simulated
from debatebench.query.safe_query import open_for_reading, run_query
from debatebench.shared.amounts import amount_text, counted
from debatebench.shared.formats import Format
from debatebench.shared.problem_texts import clause, cut_speeches, without_ids
from debatebench.shared.service_tiers import asked_tier, served_otherwise
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from debatebench.play.progress import Progress
    from debatebench.play.runner import RunReport

_MOST_REASONS = 10
_NOT_FINISHED = "The debate was not finished."
_SPEECHES = """
select model_id, count(case when is_truncated then 1 end) as cut, count(*) as speeches
from raw.turns
where run_tag = $run_tag
group by all
having cut > 0
order by all
"""

_BROKEN_OFF = """
with

attempts as (

    select
        *,
        attempt < max(attempt) over (partition by call_id) as is_asked_again

    from raw.calls
    where run_tag = $run_tag

)

select
    coalesce(model_id, judge_id) as id,
    lower(finish_reason) as reason,
    count(*) as answers,
    count(case when is_asked_again then 1 end) as asked_again

from attempts
-- Only an attempt with an answer has a finish reason, and these two say that the answer did not count.
where status in ('retried', 'ambiguous') and finish_reason is not null
group by all
order by all
"""


def print_report(report: RunReport, plan: Plan, output: Format) -> None:
    """Print how the run ended, and what is missing. Debates and money are of the whole run, with earlier sessions."""
    progress = report.progress
    spent = progress.ledger.total
    row: dict[str, Any] = {
        "run_tag": report.run_tag,
        "planned": report.planned,
        "complete": report.complete,
        "void": len(report.void),
        "forfeits": len(report.forfeits),
        "missing": len(report.missing),
        "session_answers": progress.calls_answered,
        "session_failed_attempts": progress.calls_failed,
        "billed_usd": spent.billed,
        "estimated_usd": spent.estimated,
        "simulated_usd": spent.simulated,
        "unknown_attempts": spent.unknown,
        "possible_usd": _possible(spent),
        "planned_usd": report.estimate.cost_usd,
    }
    print_rows(list(row), [list(row.values())], output)
    note_costs(progress, report.estimate)
    asked = {member.id: asked_tier(member.parameters) for member in (*plan.debaters, *plan.judges)}
    for _, told in served_otherwise(asked, progress.ledger.served):
        note(told)
    if report.ambiguous_calls:
        billed = "" if progress.is_simulated else "; they may have been billed twice"
        note(f"{report.ambiguous_calls:,} calls were in flight when a session ended{billed}.")
    if report.adjusted:
        models = (f"{model} of {provider} ({', '.join(fields)})" for provider, model, fields in report.adjusted)
        note(f"Sent without optional fields that the server refuses, or under another name: {'; '.join(models)}.")
    note_missing(progress, plan)


def _possible(spent: Spending) -> Any:
    """The most that the attempts of unknown cost can have cost; unknown if one of them has no upper bound."""
    return None if spent.unbounded else spent.possible


def note_costs(progress: Progress, expected: CostEstimate | None) -> None:
    """Print what the whole run has cost so far, and how that compares with the estimate."""
    spent = progress.ledger.total
    note(f"Cost so far: {spent.summary(is_simulated=progress.is_simulated)}")
    if expected is None or expected.cost_usd is None:
        return
    share = f", of which {spent.known / expected.cost_usd:.0%} is spent" if expected.cost_usd else ""
    part = f"; not included: {', '.join(expected.unpriced)}" if expected.unpriced else ""
    note(f"The estimate for the whole plan was about {amount_text(expected.cost_usd)} USD{share}{part}.")


def is_all_simulated(plan: Plan) -> bool:
    """Whether nobody is billed for a run, because all its members are simulated."""
    return all(is_simulated(member.provider) for member in (*plan.debaters, *plan.asked_judges))


def note_missing(progress: Progress, plan: Plan) -> None:
    """Print which debates are void, lost by forfeit or missing, why, and what to do: a line for each reason."""
    for what, debates in (("void", progress.void), ("forfeit", progress.forfeits), ("missing", progress.missing)):
        groups: dict[str, list[tuple[str, str]]] = {}
        for debate_id, reason in debates:
            told = clause(_told(debate_id, reason, progress, plan))
            if what == "missing" and debate_id in progress.advice:
                told += f"; {progress.advice[debate_id]}"
            groups.setdefault(without_ids(told), []).append((debate_id, told))
        reasons = list(groups.values())
        for group in reasons[:_MOST_REASONS]:
            note(_line(what, group, plan))
        if rest := reasons[_MOST_REASONS:]:
            count = sum(map(len, rest))
            note(f"… and {count:,} more for {len(rest):,} other reasons; `debatebench doctor --all` lists them all.")


def advice_on_missing(report: RunReport) -> str:
    """What helps the missing debates; where that differs, of how many debates."""
    counts = Counter(report.progress.advice[debate_id] for debate_id, _ in report.missing)
    return "; ".join(each if len(counts) == 1 else f"of {count:,}, {each}" for each, count in counts.most_common())


def _told(debate_id: str, reason: str, progress: Progress, plan: Plan) -> str:
    """A reason with the debater and the speech that it is about, unless it names the debater itself."""
    if debate_id not in progress.given_up or reason.startswith("Debater "):
        return reason
    step, debater = progress.given_up[debate_id]
    round_ = plan.config.rounds[int(step.split(":")[1])]
    return f"{debater} gave no {round_.stage} speech as {round_.role}: {reason}"


def _line(what: str, group: list[tuple[str, str]], plan: Plan) -> str:
    """What the debates of a group have in common, and the first of them."""
    debate_id, reason = group[0]
    count = counted(len(group), "debate")
    if reason == clause(_NOT_FINISHED):
        # The error that stopped the run says how to go on.
        return f"{what} {count}: not finished."
    if what == "void":
        reason += "; a void debate enters no rating"
    elif what == "forfeit":
        reason += "; its opponent wins"
    scheduled = next(debate for debate in plan.debates if debate.debate_id == debate_id)
    stored, pairing = plan.stored(scheduled), " against ".join(scheduled.speakers.values())
    if stored is not None:
        pairing = ", ".join(dict.fromkeys(speaker.model_id for speaker in stored.speakers))
    place = f"{debate_id} ({scheduled.topic_id}: {pairing})"
    return f"{what} {place}: {reason}." if len(group) == 1 else f"{what} {count}: {reason}. First: {place}."


def note_cut_speeches(workspace: Workspace, run_tag: str) -> None:
    """Print how many speeches of each debater were cut off at the token limit, of those that have landed.

    So are answers that broke off, and how many of them were asked for again.
    """
    params = {"run_tag": run_tag}
    with open_for_reading(workspace.database) as con:
        cut_off, broken_off = (run_query(con, sql, params, limit=None).rows for sql in (_SPEECHES, _BROKEN_OFF))
    for model_id, cut, speeches in cut_off:
        note(cut_speeches(model_id, cut, speeches))
    for id_, reason, answers, again in broken_off:
        were = "was" if again == 1 else "were"
        rest = f" and {were} asked for again" if again == answers else f"; {again:,} of them {were} asked for again"
        note(f"{counted(answers, 'answer')} of '{id_}' broke off at the provider ({reason}){rest}.")
