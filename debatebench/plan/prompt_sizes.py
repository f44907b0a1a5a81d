"""How long the prompts of a plan are: rendered without speeches, and what each speech adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.config.prompts import debater_values, topic_values
from debatebench.config.transcript_layout import END_LINE, escape_material, escape_speech

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, Round
    from debatebench.judges.rehearsal import RehearsedHearing
    from debatebench.plan.plan import Plan
    from debatebench.shared.records import ScheduledDebate

# What the format adds around each message and around all messages: roles, marks, names. Known ones add 3 to 8.
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_REQUEST = 64
_MESSAGES = 2
_PROBE = "x" * 1000


def format_tokens(messages: int) -> int:
    """The most tokens that the format of a request adds to its messages."""
    return messages * _TOKENS_PER_MESSAGE + _TOKENS_PER_REQUEST


def marker_length(speaker: str, stage: str | None) -> int:
    """The characters that a speech adds to a transcript besides its own: its marker line and line ends."""
    return len(f"[{speaker} | {' '.join((stage or '').split())}]\n\n\n")


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
        self._hearings: dict[tuple[RehearsedHearing, str], PromptSize] = {}

    def turn(self, number: int, debater: MemberConfig, debate: ScheduledDebate) -> PromptSize:
        """The prompt of a debater in round `number` of a debate."""
        turn, weakness = self._plan.config.rounds[number], self._plan.weakness_in(debate, number)
        told = None if weakness is None else weakness.instruction
        key = ("turn", number, turn.token_cap(debater), debate.topic_id, told)
        if key not in self._known:
            sizes = (self._turn(turn, debater, debate.topic_id, text, told) for text in ("", _PROBE))
            self._known[key] = _size(*sizes)
        return self._known[key]

    def hearing(self, hearing: RehearsedHearing, topic_id: str) -> PromptSize:
        """All prompts to a judge of a debate, without the speeches and the judge's own earlier texts in them."""
        if (hearing, topic_id) not in self._hearings:
            total, topic = hearing.total, self._plan.topic(topic_id)
            escape = escape_material if hearing.shows_material else escape_speech
            texts = topic_values(topic.motion, topic.category, topic.info_slide, escape)
            counts = {"motion": total.motions, "category": total.categories, "info_slide": total.slides}
            characters = sum(count * len(texts[name]) for name, count in counts.items())
            most = sum(count * _bytes_in(texts[name]) for name, count in counts.items())
            most += total.most_bytes + len(hearing.calls) * format_tokens(_MESSAGES)
            self._hearings[hearing, topic_id] = PromptSize(total.characters + characters, most, 0)
        return self._hearings[hearing, topic_id]

    def _turn(self, turn: Round, debater: MemberConfig, topic_id: str, said: str, told: str | None) -> str:
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
        return "".join(plan.prompts.speaking(values, turn.role, told))


def _size(empty: str, probed: str) -> PromptSize:
    most = _bytes_in(empty) + format_tokens(_MESSAGES)
    return PromptSize(len(empty), most, (len(probed) - len(empty)) // len(_PROBE))


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
