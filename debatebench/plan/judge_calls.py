"""The calls of the judges of each debate of a plan: each method is played once with made-up answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from operator import mul

from debatebench.config.types import MemberConfig
from debatebench.judges.deliberation import tokens_of
from debatebench.judges.rehearsal import Place, RehearsedDeliberation, rehearse
from debatebench.plan.plan import Plan
from debatebench.shared.categories import of_category
from debatebench.shared.records import ScheduledDebate, Side


@dataclass(frozen=True, slots=True)
class RestOfDebate:
    """What is left of a debate: its turns after the first `turns_done`, and of `judges` the steps without an answer.

    `answered` are the names of their answered steps (`verdict:j3:0`, `verdict:j3:clarity:winner:0`).
    """

    turns_done: int
    judges: tuple[str, ...]
    answered: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """Where the speeches of a debate stand, in the order in which they are given. Equal ones are the same object."""

    places: tuple[Place, ...]


class JudgeCalls:
    """The rehearsed deliberations of a plan. Equal ones are rehearsed once, and are the same object."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[tuple[str, Side | None, Layout, str | None], RehearsedDeliberation] = {}
        self._rehearsed: dict[tuple[object, ...], RehearsedDeliberation] = {}
        self._rest: dict[tuple[RehearsedDeliberation, frozenset[str]], RehearsedDeliberation] = {}
        played = Layout(tuple(Place(turn.role, turn.side, turn.stage, turn.instruction) for turn in plan.config.rounds))
        self._layouts: dict[str | None, Layout] = {None: played}
        self._by_places = {played.places: played}
        self._guiding: dict[str | None, str | None] = {}

    def layout(self, debate: ScheduledDebate) -> Layout:
        """Where the speeches of a debate stand."""
        key = debate.debate_id if debate.attack is not None else debate.source_debate_id
        if key not in self._layouts:
            speeches = self._plan.speeches_of(debate)
            places = tuple(Place(each.position, each.side, each.stage, each.instruction) for each in speeches)
            self._layouts[key] = self._by_places.setdefault(places, Layout(places))
        return self._layouts[key]

    def of(self, debate: ScheduledDebate, judge_id: str) -> RehearsedDeliberation:
        """The deliberation of a judge on the panel of a debate, from its beginning."""
        key = (judge_id, shown_first(self._plan, debate, judge_id), self.layout(debate), self._guided(debate))
        if key not in self._known:
            self._known[key] = self.of_judge(self._plan.judge(judge_id), debate)
        return self._known[key]

    def of_judge(self, judge: MemberConfig, debate: ScheduledDebate) -> RehearsedDeliberation:
        """The deliberation of any judge that takes the seat of the judge with its id."""
        first, layout = shown_first(self._plan, debate, judge.id), self.layout(debate)
        guided = self._guided(debate)
        key = (judge.method, judge.prompt_style, judge.removes("response_format"), first, layout, guided)
        if key not in self._rehearsed:
            plan = self._plan
            self._rehearsed[key] = rehearse(judge, plan.config, plan.prompts, layout.places, first, guided)
        return self._rehearsed[key]

    def _guided(self, debate: ScheduledDebate) -> str | None:
        """The debate's category, if the rubric says what it asks of each side in it."""
        category = self._plan.topic(debate.topic_id).category
        if category not in self._guiding:
            dimensions = self._plan.config.dimensions.values()
            is_guiding = any(of_category(each.by_category, category) for each in dimensions)
            self._guiding[category] = category if is_guiding else None
        return self._guiding[category]

    def left(self, debate: ScheduledDebate, judge_id: str, answered: frozenset[str]) -> RehearsedDeliberation | None:
        """What is left of a deliberation when these steps of the debate are answered; None if all of its calls are."""
        whole = self.of(debate, judge_id)
        start = f"verdict:{judge_id}:"
        paths = {_path(name, start) for name in answered if name.startswith(start)}
        done = frozenset(paths & whole.paths)
        if not done:
            return whole
        if len(done) == len(whole.paths):
            return None
        if (whole, done) not in self._rest:
            self._rest[whole, done] = whole.without(done)
        return self._rest[whole, done]

    def is_left(self, debate: ScheduledDebate, left: RestOfDebate) -> bool:
        """Whether anything is left of a debate."""
        if left.turns_done < len(self._plan.config.rounds):
            return True
        return any(self.left(debate, judge_id, left.answered) is not None for judge_id in left.judges)

    def calls_after(self, debate: ScheduledDebate, judge_id: str, step: str) -> int:
        """The number of calls that must follow a step of a judge, one after another."""
        return self.of(debate, judge_id).calls_after.get(_path(step, f"verdict:{judge_id}:"), 0)

    def depth(self, debate: ScheduledDebate) -> int:
        """The number of calls that the panel of a debate waits for, one after another."""
        return max((self.of(debate, judge_id).depth for judge_id in debate.panel), default=0)

    def calls(self, debate: ScheduledDebate) -> int:
        """The requests of a debate without failures: its turns, and all that its judges are asked."""
        return len(self._plan.config.rounds) + sum(len(self.of(debate, judge_id).calls) for judge_id in debate.panel)

    def too_long(self) -> Counter[str]:
        """Judge → the debates with a prompt that cannot fit its context window, even if the judge itself wrote nothing.

        Only of stored debates the lengths are known.
        """
        found: Counter[str] = Counter()
        for debate in self._plan.debates if self._plan.source is not None else ():
            speeches = [speech.characters for speech in self._plan.speeches_of(debate)]
            for judge in map(self._plan.judge, debate.panel):
                if judge.context_window is None:
                    continue
                room = judge.context_window - (judge.sent_cap(judge.token_limit) or 0)
                calls = self.of(debate, judge.id).calls
                found[judge.id] += any(
                    tokens_of(call.characters + sum(map(mul, call.speeches, speeches))) > room for call in calls
                )
        return +found

    def calls_by_debate(self) -> Mapping[str, int]:
        """Debate → its requests."""
        return {debate.debate_id: self.calls(debate) for debate in self._plan.debates}


def _path(step: str, start: str) -> str:
    """The path in the name of a judge's step. The last part of the name counts its requests; a path may be empty."""
    return step.removeprefix(start).rpartition(":")[0]


def shown_first(plan: Plan, debate: ScheduledDebate, judge_id: str) -> Side | None:
    """The side that the seat of a panel judge is shown first; a replacement inherits it. None without a drawn order."""
    if not plan.options.swap_order:
        return None
    return "con" if judge_id in debate.con_first else "pro"
