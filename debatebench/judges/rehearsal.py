"""The calls of a judge method, by running it with made-up answers: how many there are, and how long their prompts.

A speech is one character that no template holds, and so are the topic's texts and each text that the judge writes.
Their number in a prompt says how often it repeats each of them. The figures of a debate then follow from its lengths,
and only the method itself knows which calls it makes. All else in the prompts is real, because the deliberation
renders it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from debatebench.config.answer_form import AnswerForm
from debatebench.config.prompts import PromptSet, topic_values
from debatebench.config.transcript_layout import BP_POSITIONS
from debatebench.config.types import Config, DimensionConfig, MemberConfig
from debatebench.judges import method_of
from debatebench.judges.base import Seat, Transcript
from debatebench.judges.deliberation import Deliberation, NoVerdictError, Question
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Completion, Request
from debatebench.providers.sent_schema import length_sent
from debatebench.shared.records import Side, Turn

_PRIVATE = re.compile("[\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_TOPIC = ("motion", "category", "info_slide")
_PRIVATE_RANGES = (range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Place(NamedTuple):
    """Where a speech stands in a debate: whose it is and at which stage."""

    position: str
    side: Side
    stage: str | None
    instruction: str | None = None

    @property
    def speaker(self) -> str:
        """The speaker as the line above the speech names it."""
        return self.position if self.position in BP_POSITIONS else self.side


class Texts(NamedTuple):
    """Numbers of texts that a judge has written, or their lengths: about speeches, about debates, reasons."""

    speech: int = 0
    debate: int = 0
    reason: int = 0

    def times(self, lengths: Texts) -> int:
        """The characters of so many texts of these lengths."""
        return self.speech * lengths.speech + self.debate * lengths.debate + self.reason * lengths.reason


@dataclass(frozen=True, slots=True)
class RehearsedCall:
    """One request: its prompt without all that differs between debates, and how often each of those parts is in it."""

    path: str
    depth: int
    """The number of calls in the longest chain of calls that ends with this one."""
    calls_after: int
    """The number of calls that must follow this one, one after another."""
    characters: int
    """Of its own, without the parts that are counted below."""
    most_bytes: int
    """The same in UTF-8, and the JSON schema of the answer if it is sent."""
    speeches: tuple[int, ...]
    """How often each speech is in it, in the order in which they were given."""
    topic: Mapping[str, int]
    """How often each text of the topic is in it: `motion`, `category` and `info_slide`."""
    shown: Texts
    """The judge's earlier texts in it."""
    shown_answers: int
    """How many whole answers those may be at most: the texts of one answer count as often as the most frequent."""
    said: Texts
    """The texts in its answer."""
    said_characters: int
    """The characters of its answer besides those texts."""


@dataclass(frozen=True, eq=False)
class RehearsedDeliberation:
    """The calls of one judge about one debate, in the order of one possible course, and sums over them."""

    calls: tuple[RehearsedCall, ...]
    is_of_teams: bool = False
    """Whether the debate is one of four teams, on which texts may be longer."""

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of the steps, one for each call."""
        return frozenset(call.path for call in self.calls)

    @cached_property
    def depth(self) -> int:
        """The number of calls in the longest chain of calls that wait for each other."""
        return max((call.depth for call in self.calls), default=0)

    @cached_property
    def calls_after(self) -> Mapping[str, int]:
        """Path → the number of calls that must follow, one after another."""
        return {call.path: call.calls_after for call in self.calls}

    @cached_property
    def shows_material(self) -> bool:
        """Whether it shows material, in which more lines of the topic's texts are escaped than in a transcript."""
        return any(call.path for call in self.calls)

    @cached_property
    def total(self) -> RehearsedCall:
        """The sums over all calls, as if they were one."""
        calls = self.calls
        return RehearsedCall(
            path="",
            depth=self.depth,
            calls_after=0,
            characters=sum(call.characters for call in calls),
            most_bytes=sum(call.most_bytes for call in calls),
            speeches=tuple(map(sum, zip(*(call.speeches for call in calls), strict=True))),
            topic={name: sum(call.topic[name] for call in calls) for name in _TOPIC},
            shown=_sum(call.shown for call in calls),
            shown_answers=sum(call.shown_answers for call in calls),
            said=_sum(call.said for call in calls),
            said_characters=sum(call.said_characters for call in calls),
        )

    def without(self, paths: Collection[str]) -> RehearsedDeliberation:
        """The calls that are left when those of some paths are answered."""
        return replace(self, calls=tuple(call for call in self.calls if call.path not in paths))


def rehearse(
    judge: MemberConfig,
    config: Config,
    prompts: PromptSet,
    places: Sequence[Place],
    first: Side | None,
    category: str | None = None,
) -> RehearsedDeliberation:
    """Rehearse a judge's method on a debate whose speeches have these places, and whose topic has every text.

    `first` is the side that the judge is shown first, and `category` the one of which the rubric may say more.
    A deliberation ends early where the method gives up. Nothing is sent.
    """
    method = method_of(judge)
    if method.is_baseline:
        return RehearsedDeliberation(())
    # A prompt that does not fit is found when its real length is known.
    judge = judge.model_copy(update={"context_window": None, "earlier_parameters": ()})
    deliberation = _Rehearsal(judge, config, prompts, places, first)
    deliberation.guided = category
    with suppress(NoVerdictError):
        method.judge_at_once(deliberation)
    return RehearsedDeliberation(tuple(deliberation.calls()), deliberation.transcript.is_of_teams)


@dataclass(slots=True)
class _Rehearsed:
    """A call during a deliberation. `slack` is how much longer the longest of its branches is than its own."""

    path: str
    depth: int
    prompt: str
    schema: int
    said: Texts
    said_characters: int
    slack: int = field(default=0)


class _Rehearsal(Deliberation):
    """A deliberation whose steps are answered at once by made-up answers, one after another.

    A clock counts calls, and all branches of `for_each` begin at the same time: its largest value is the length of the
    longest chain of calls that wait for each other.
    """

    def __init__(
        self, judge: MemberConfig, config: Config, prompts: PromptSet, places: Sequence[Place], first: Side | None
    ) -> None:
        used = "".join([*prompts.templates.values(), config.model_dump_json(), *map(str, places)])
        self._marks = _unused_characters(used)
        motion, category, slide = (next(self._marks) for _ in _TOPIC)
        self._topic_marks = dict(zip(_TOPIC, (motion, category, slide), strict=True))
        self._speeches = [next(self._marks) for _ in places]
        turns = (_turn(n, place, self._speeches[n]) for n, place in enumerate(places))
        transcript = Transcript("", "", 0, motion, category, slide, tuple(turns))
        super().__init__(Seat(0, judge, first=first), config, prompts, transcript, _send_nothing)
        self._texts: dict[str, tuple[int, str]] = {}
        self._asked: list[_Rehearsed] = []
        self._clock = 0

    async def for_each(
        self, items: Iterable[_Item], coroutine: Callable[[_Item], Coroutine[Any, Any, _Result]]
    ) -> list[_Result]:
        """One after another, on a clock on which all begin at the same time."""
        start, results = self._clock, []
        branches: list[tuple[list[_Rehearsed], int]] = []
        for item in items:
            self._clock, begun = start, len(self._asked)
            results.append(await coroutine(item))
            branches.append((self._asked[begun:], self._clock))
        self._clock = max((end for _, end in branches), default=start)
        for asked, end in branches:
            for call in asked:
                call.slack += self._clock - end
        return results

    async def _put(self, question: Question, read: Callable[[Completion], _Result]) -> _Result:
        self._begin(question)
        self._clock += 1
        prompt = "".join(message.content for message in question.shown.messages)
        call = _Rehearsed(question.path, self._clock, prompt, 0, Texts(), 0)
        self._asked.append(call)
        if (form := question.form) is None:
            kind = "speech" if question.stage == "speech" else "debate"
            call.said = Texts(**{kind: 1})
            return read(Completion(self._text(kind)))
        if not self.seat.judge.removes("response_format"):
            call.schema = length_sent(form.schema())
        call.said = Texts(reason=len(form.reasoned))
        call.said_characters = len(json.dumps(_answer(form, lambda: "")))
        return read(Completion(json.dumps(_answer(form, lambda: self._text("reason")))))

    def _text(self, kind: str) -> str:
        """A made-up text of the call that was asked last."""
        text = next(self._marks)
        self._texts[text] = (len(self._asked), kind)
        return text

    def calls(self) -> Iterator[RehearsedCall]:
        """What was asked."""
        slide_mark = self._topic_marks["info_slide"]
        slide = topic_values("", None, slide_mark)["info_slide"].replace(slide_mark, "")
        known = {*self._topic_marks.values(), *self._speeches, *self._texts}
        last = max((call.depth for call in self._asked), default=0)
        for call in self._asked:
            found = Counter(mark for mark in _PRIVATE.findall(call.prompt) if mark in known)
            slides, answers = found[slide_mark], Counter[int]()
            shown: Counter[str] = Counter()
            for text in found.keys() & self._texts.keys():
                number, kind = self._texts[text]
                shown[kind] += found[text]
                answers[number] = max(answers[number], found[text])
            size = len(call.prompt.encode("utf-8", "surrogatepass")) + call.schema
            yield RehearsedCall(
                path=call.path,
                depth=call.depth,
                calls_after=last - call.depth - call.slack,
                characters=len(call.prompt) - found.total() - slides * len(slide),
                most_bytes=size - sum(len(m.encode()) * n for m, n in found.items()) - slides * len(slide.encode()),
                speeches=tuple(found[speech] for speech in self._speeches),
                topic={name: found[mark] for name, mark in self._topic_marks.items()},
                shown=Texts(**shown),
                shown_answers=answers.total(),
                said=call.said,
                said_characters=call.said_characters,
            )


def _unused_characters(used: str) -> Iterator[str]:
    """Characters for private use that are not in `used`."""
    taken = set(_PRIVATE.findall(used))
    return (mark for mark in map(chr, chain(*_PRIVATE_RANGES)) if mark not in taken)


def _turn(number: int, place: Place, text: str) -> Turn:
    return Turn(
        run_tag="",
        debate_id="",
        turn_index=number,
        position=place.position,
        side=place.side,
        model_id="",
        stage=place.stage,
        instruction=place.instruction,
        content=text,
    )


def _answer(form: AnswerForm, text: Callable[[], str]) -> dict[str, Any]:
    """An answer of the form, with the highest scores and the first position as the winner."""
    answer: dict[str, Any] = {}
    if form.dimensions:
        scores = {name: _highest(dimension) for name, dimension in form.dimensions.items()}
        answer["scores"] = dict.fromkeys(form.positions, scores)
    if form.declares_winner:
        answer["winner"] = [form.positions[0]] if form.is_of_teams else form.positions[0]
    if form.reasoned:
        answer["reasons"] = {name: text() for name in form.reasoned}
    return answer


def _highest(dimension: DimensionConfig) -> int | float:
    highest = dimension.ends[1]
    return math.floor(highest) if dimension.is_integer else highest


def _sum(texts: Iterable[Texts]) -> Texts:
    return Texts(*map(sum, zip(Texts(), *texts, strict=True)))


async def _send_nothing(step: Step, member: MemberConfig, request: Request) -> Answer:
    raise AssertionError(f"A rehearsal sends nothing: {step.name}, {member.id}, {request.model}.")
