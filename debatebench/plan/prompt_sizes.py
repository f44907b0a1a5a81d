"""How long the prompts of a plan are: rendered without speeches, and what each speech adds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.config.answer_form import AnswerForm
from debatebench.config.prompts import debater_values, fill, judge_values
from debatebench.config.transcript_layout import END_LINE, fenced
from debatebench.providers.sent_schema import sent_schema

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, Round
    from debatebench.plan.plan import Plan

__all__ = ["PromptSize", "PromptSizes", "format_tokens", "marker_length"]

# What the format adds around each message and around all messages: roles, marks, names. Known ones add 3 to 8.
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_REQUEST = 64
_MESSAGES = 2
_NONCE = "0" * 32
_PROBE = "x" * 1000


def format_tokens(messages: int) -> int:
    """The most tokens that the format of a request adds to its messages."""
    return messages * _TOKENS_PER_MESSAGE + _TOKENS_PER_REQUEST


def marker_length(turn: Round) -> int:
    """The characters that a speech adds to a transcript besides its own: its marker line and line ends."""
    return len(f"[{turn.role} | {turn.stage}]\n\n\n")


@dataclass(frozen=True, slots=True)
class PromptSize:
    """A prompt without speeches. `most_tokens` bounds its tokens; `repeats` is how often it holds the transcript."""

    characters: int
    most_tokens: int
    repeats: int


class PromptSizes:
    """The sizes of a plan's prompts. Equal prompts are rendered once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[tuple[object, ...], PromptSize] = {}
        self._schemas: dict[bool, int] = {}

    def turn(self, number: int, debater: MemberConfig, topic_id: str) -> PromptSize:
        """The prompt of a debater in round `number`."""
        turn = self._plan.config.rounds[number]
        key = ("turn", number, turn.token_cap(debater), topic_id)
        if key not in self._known:
            self._known[key] = _size(*(self._turn(turn, debater, topic_id, text) for text in ("", _PROBE)), schema=0)
        return self._known[key]

    def verdict(self, judge: MemberConfig, topic_id: str) -> PromptSize:
        """The prompt of a judge, with the schema of the answer if it is sent."""
        declares_winner = self._plan.prompts.declares_winner(judge.prompt_style)
        key = ("verdict", judge.prompt_style, judge.removes("response_format"), topic_id)
        if key not in self._known:
            schema = 0 if judge.removes("response_format") else self._schema(declares_winner)
            self._known[key] = _size(*(self._verdict(judge, topic_id, text) for text in ("", _PROBE)), schema=schema)
        return self._known[key]

    def _turn(self, turn: Round, debater: MemberConfig, topic_id: str, said: str) -> str:
        plan, topic = self._plan, self._plan.topic(topic_id)
        values = debater_values(
            plan.config,
            turn,
            motion=topic.motion,
            category=topic.category,
            info_slide=topic.info_slide,
            transcript=said + END_LINE,
            token_cap=turn.token_cap(debater),
        )
        return fill(plan.prompts.debater_system(turn.role), values) + fill(plan.prompts.debater_turn, values)

    def _verdict(self, judge: MemberConfig, topic_id: str, said: str) -> str:
        plan, topic = self._plan, self._plan.topic(topic_id)
        values = judge_values(
            plan.config,
            AnswerForm(plan.config.dimensions, declares_winner=plan.prompts.declares_winner(judge.prompt_style)),
            motion=topic.motion,
            category=topic.category,
            info_slide=topic.info_slide,
            transcript=fenced(said + END_LINE, _NONCE, is_order_drawn=plan.options.swap_order),
        )
        return fill(plan.prompts.judge_system(judge.prompt_style), values) + fill(plan.prompts.judge_user, values)

    def _schema(self, declares_winner: bool) -> int:
        if declares_winner not in self._schemas:
            schema = AnswerForm(self._plan.config.dimensions, declares_winner=declares_winner).schema()
            self._schemas[declares_winner] = len(json.dumps(sent_schema(schema)))
        return self._schemas[declares_winner]


def _size(empty: str, probed: str, *, schema: int) -> PromptSize:
    most = len(empty.encode("utf-8", "surrogatepass")) + schema + format_tokens(_MESSAGES)
    return PromptSize(len(empty), most, (len(probed) - len(empty)) // len(_PROBE))
