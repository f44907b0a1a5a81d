"""What helps a debate that is not complete, looked up in the reasons that its verdicts state.

The reasons are `raw.verdicts.invalid_reason` and `raw.debates.status_reason`, so a run, its dry run and `doctor` look
at the same ones. A refusal is final: no request with that prompt is sent to that judge again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from debatebench.shared.records import Verdict

NOT_FIT = "not fit the context window"
"""What a reason states of a prompt that is too large for a model."""

_REFUSED = "refused"
_TOO_LONG = "too long"


class Vote(NamedTuple):
    """A judge's vote for a seat of a panel; `invalid_reason` is None for a valid one."""

    seat: int
    judge_id: str
    invalid_reason: str | None

    @classmethod
    def of(cls, verdict: Verdict) -> Vote:
        """The vote of a verdict."""
        return cls(verdict.panel_position, verdict.judge_id, None if verdict.is_valid else verdict.invalid_reason or "")


def unanswered(kind: str, said: str, *, is_too_long: bool = False) -> str:
    """The reason of a verdict whose call ended without an answer."""
    return f"{_unanswered(_TOO_LONG if is_too_long else kind)}: {said}"


def _unanswered(kind: str) -> str:
    return f"the call ended without an answer ({kind})"


@dataclass(frozen=True, slots=True)
class EmptySeats:
    """How many seats of a panel are empty, and which judges `retry` asks: first `failed`, and in the end `unusable`."""

    count: int
    failed: tuple[str, ...]
    """Judges without an answer, and those that were not asked yet."""
    unusable: tuple[str, ...]
    """First judges of these seats, whose answers were all unusable; they get new requests."""
    outgrown: frozenset[str]
    """Those of `failed` that get the same request, although it is too long for the model."""
    obstacles: tuple[str, ...]
    """Why other judges are not asked."""


def empty_seats(
    panel: Sequence[str], votes: Iterable[Vote], windows: Mapping[str, int | None] | None = None
) -> EmptySeats:
    """The empty seats of a panel with these votes. `windows` are the context windows in judges.yaml today."""
    votes = list(votes)
    taken = {vote.seat for vote in votes if vote.invalid_reason is None}
    asked = {vote.judge_id for vote in votes}
    failed = [judge for seat, judge in enumerate(panel) if seat not in taken and judge not in asked]
    unusable, outgrown, obstacles = [], set(), set()
    for seat, judge, reason in votes:
        if reason is None:
            continue
        if reason.startswith(_unanswered(_REFUSED)):
            obstacles.add("a refusal is final")
        elif reason.startswith(_unanswered(_TOO_LONG)):
            failed.append(judge)
            outgrown.add(judge)
            obstacles.add("the debate is too long for the model of a judge")
        elif reason.startswith(_unanswered("")[:-1]):
            failed.append(judge)
        elif NOT_FIT in reason:
            if windows is not None and f"{NOT_FIT} of {windows.get(judge)} tokens" not in reason:
                failed.append(judge)
            else:
                obstacles.add(
                    "the debate is too long for a `context_window` in judges.yaml (raise it if the model takes more)"
                )
        elif seat not in taken and panel[seat] == judge:
            unusable.append(judge)
    return EmptySeats(
        len(panel) - len(taken), tuple(failed), tuple(unusable), frozenset(outgrown), tuple(sorted(obstacles))
    )


def advice(
    run_tag: str, panel: Sequence[str], votes: Iterable[Vote], reason: str | None, *, may_add_judges: bool | None = True
) -> str:
    """What to do about a debate that ended incomplete for `reason`, as a clause without a full stop.

    `may_add_judges` is whether the run takes other judges, which one whose debaters judge each other does not. It is
    None for a shard, whose plan is frozen.
    """
    votes = list(votes)
    retry = f"`debatebench retry {run_tag}`"
    if not votes and NOT_FIT in (reason or ""):
        return f"{retry} sends the same prompt again; play another run with shorter speeches or without this debater"
    seats = empty_seats(panel, votes)
    if len(seats.failed) - len(seats.outgrown) + len(seats.unusable) >= seats.count:
        return f"{retry} asks again"
    why = f"{retry} cannot fill the panel, because {' and '.join(seats.obstacles)}"
    if may_add_judges is None:
        return why
    if not may_add_judges:
        return f"{why}, and its debaters are its judges"
    return f"{why}; `debatebench retry {run_tag} --new-judge ID` asks another judge of judges.yaml"


def advice_on_call(run_tag: str, status: str, reason: str | None) -> str:
    """The same for a call without an answer, by its last status and the reason that its verdict or debate states."""
    if status == _REFUSED:
        return "a refusal is final, so no retry asks again"
    if NOT_FIT in (reason or "") or (reason or "").startswith(_unanswered(_TOO_LONG)):
        return f"`debatebench retry {run_tag}` sends the same prompt again, which is too long"
    return f"`debatebench retry {run_tag}` asks again"
