"""A deliberation: one judge is asked about one debate, step by step, and everything that it says is kept.

A judge method is a coroutine that gets a `Deliberation` and returns a `Decision`. Its memory is in its local variables:
a run that goes on later plays it again from the beginning, with the answers that are in the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar, cast

from debatebench.config.answer_form import AnswerForm
from debatebench.config.prompts import (
    DebateAtAGlance,
    PromptSet,
    fill,
    guidance_lines,
    judge_values,
    repair_stage,
    stage_values,
)
from debatebench.config.transcript_layout import Section, escape_material, fenced, render_material, render_transcript
from debatebench.config.types import Config, DimensionConfig, MemberConfig, Preferences
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.base import Seat, Transcript
from debatebench.judges.parsing import ParsedAnswer, parse_answer
from debatebench.judges.step_requests import JudgeAsks
from debatebench.providers.asking import Ask, Step
from debatebench.providers.base import Completion, Message, Request
from debatebench.providers.requests import is_cut_off, request_to, seed_of, short_hash
from debatebench.providers.thinking import strip_thinking
from debatebench.shared.advice import NOT_FIT
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.records import clean_text

OVERALL = "overall"
"""The name of the dimension on which a judge scores the whole debate."""

TRUNCATED = "truncated_after_verdict"
"""The flag of a verdict whose answer reached the token limit after the end of the object."""

MOST_REPAIRS = 10
"""How often a judge may be asked again for a JSON object."""

_ASKS = 2
_CUT_OFF = "the answer was cut off at the limit of tokens"
_CAP_GROWTH = 4
_LEAST_GROWN_CAP = 4096
_CHARACTERS_PER_TOKEN = 4
# Stages in their order within a dimension, and which of its preference texts each of them gets.
_PREFERENCES = {"speech": "speech", "debate": "debate", "verdict": "debate", "position": "debate", "winner": "debate"}
_STAGES = ["speech", "debate", "verdict", "summary", "position", "winner", "sides"]
_STANCE = DimensionConfig(
    min=Decimal(-1),
    max=Decimal(1),
    description="For which side does the speech argue?",
    anchors={"-1": "against the motion", "0": "for neither side, or it cannot be told", "1": "for the motion"},
)

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class NoVerdictError(DebatebenchError):
    """A step ended without a usable answer, so that there is no verdict. The message is the reason."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason)
        self.path = path


@dataclass(frozen=True, slots=True)
class Decision:
    """What a judge has decided at the end: a score of each position on each dimension, and who has won.

    Either may be missing. Of two sides both are `winners` of a tie.
    """

    scores: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    winners: tuple[str, ...] = ()
    is_repaired: bool = False
    flags: tuple[str, ...] = ()


Truths = Sequence[Mapping[str, Sequence[str]]]
"""For each debate, what is correct on a dimension (or `overall`) according to people: a side, `tie`, or these teams."""


@dataclass(frozen=True, slots=True)
class Method:
    """A judge method: the coroutine that judges, and the templates of its stages."""

    judge: Callable[[Deliberation], Awaitable[Decision]]
    stages: tuple[str, ...] = ()
    """Such as `debatrix/speech`. Empty for a method that uses the judge's plain prompt, and for a baseline."""
    formats: tuple[str, ...] = ("two_sided", "british_parliamentary")
    prompts: Path | None = None
    """The folder with the prompts of an installed package's method, laid out as `configs/prompts/judge/`."""
    is_baseline: bool = False
    """Whether it is a rule that asks nobody."""
    has_free_texts: bool = False
    """Whether its prompts set no length for the texts that they ask for."""
    is_guided: bool = True
    """Whether a judge is told what the rubric asks of each side in debates of the topic's category."""
    parameters: Callable[[Truths], Mapping[str, Any] | None] = lambda _: {}
    """What a baseline must know, from people's verdicts on all debates; None if it cannot do without them."""

    def begin(self, deliberation: Deliberation) -> Awaitable[Decision]:
        """Begin the deliberation."""
        if not self.is_guided:
            deliberation.guided = None
        return self.judge(deliberation)

    def judge_at_once(self, deliberation: Deliberation) -> Decision:
        """The decision in a deliberation that answers at once. Raises `DebatebenchError` if the method itself waits."""
        coroutine = cast("Coroutine[Any, Any, Decision]", self.begin(deliberation))
        try:
            coroutine.send(None)
        except StopIteration as ended:
            decision: Decision = ended.value
            return decision
        coroutine.close()
        raise DebatebenchError(
            f"The judge method '{deliberation.seat.judge.method}' waits for something besides its deliberation, so it "
            "cannot be planned or read again: correct its code."
        )


@dataclass(frozen=True, slots=True)
class Note:
    """A statement of the judge: the fields of `JudgeNote` that say what it is about, and what it says."""

    step: str
    dimension: str | None = None
    speech: int | None = None
    position: str | None = None
    text: str | None = None
    score: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Speech:
    """A speech as a section of material: the number of its turn, its own number as it is shown, its speaker's role."""

    turn: int
    section: Section
    number: int = 1
    role: str | None = None

    @property
    def numbered(self) -> Section:
        """The same under its number, and under its speaker's role or its stage if it has one."""
        about = ", ".join(part for part in (f"speech {self.number}", self.role or self.section.about) if part)
        return replace(self.section, about=about)


@dataclass(frozen=True, slots=True)
class Shown:
    """The messages of a step, the nonce of the delimiters around its material, and how to ask for a repair.

    `repair` is the template that asks for a better JSON answer, with these `values`; without one, the messages are
    sent again.
    """

    messages: tuple[Message, ...]
    nonce: str
    repair: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked in one step: for a JSON answer of a form, or without one for a text."""

    path: str
    stage: str
    dimension: str | None
    shown: Shown
    hints: Mapping[str, Any]
    form: AnswerForm | None = None


@dataclass(slots=True)
class AskedStep:
    """What was asked in one step, and what the judge stated in it."""

    place: tuple[int, ...]
    """Its place among the steps of the deliberation, whichever was answered first."""
    nonce: str
    asks: JudgeAsks
    is_analysis: bool = False
    notes: list[Note] = field(default_factory=list)


class Deliberation:
    """One judge, one debate, and the steps so far, by path: `argument:speech:0`, `argument:winner`, `summary`."""

    def __init__(
        self, seat: Seat, config: Config, prompts: PromptSet, transcript: Transcript, ask: Ask, *, again: int = 0
    ) -> None:
        self.seat = seat
        self.config = config
        self.prompts = prompts
        self.transcript = transcript.as_shown_to(seat)
        self.guided = transcript.category
        """The category of which the judge is told what the rubric asks of each side; None if the judge is not told."""
        self.positions = transcript.positions(seat.first)
        self.steps: dict[str, AskedStep] = {}
        self._ask = ask
        self._most_asks = _ASKS * (1 + again)
        self._most_asks_for_object = (1 + rounds_of_repair(seat.judge)) * (1 + again)

    @property
    def speeches(self) -> list[Speech]:
        """All speeches in the order in which the judge sees them."""
        transcript = self.transcript
        return [
            Speech(
                turn.turn_index,
                Section(turn.content, transcript.position_of(turn), turn.stage),
                number,
                transcript.role_of(turn),
            )
            for number, turn in enumerate(transcript.turns, start=1)
        ]

    async def for_each(
        self, items: Iterable[_Item], coroutine: Callable[[_Item], Coroutine[Any, Any, _Result]]
    ) -> list[_Result]:
        """The results of `coroutine` for each item, all at the same time. A method waits for nothing else at once.

        Where one fails, the others still finish: their calls are being billed. Then the first error is raised, and one
        that stops the run before one that leaves this judge without a verdict.
        """
        results = await asyncio.gather(*map(coroutine, items), return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in sorted(errors, key=lambda error: isinstance(error, NoVerdictError)):
            raise error
        return [result for result in results if not isinstance(result, BaseException)]

    async def analyse(
        self, template: str, sections: Sequence[Section], *, dimension: str | None = None, speech: Speech | None = None
    ) -> Section:
        """Ask for a text about a speech, or about the whole debate, and return it as a section for later steps.

        The section of the text about a speech is headed as that of the speech, the last one in the material.
        """
        stage, about = ("debate", dimension) if speech is None else ("speech", speech.section.about)
        if speech is not None and sections and not sections[-1].is_analysis:
            about = sections[-1].about
        hints = {"task": "analysis", "step": stage, "dimension": dimension, "positions": list(self.positions)}
        shown = self._stage(template, sections, None, dimension, speech=speech)
        return await self._written(Question("", stage, dimension, shown, hints), about, speech)

    async def weigh(
        self, template: str, sections: Sequence[Section], form: AnswerForm, *, dimension: str | None = None
    ) -> Section:
        """Ask for a text that judges the whole debate and names the winner, and return it as a section.

        `form` is that of the answer for which the text is to hold everything; `decide` then asks for it. The template
        `…/summary` weighs the judgments on all dimensions. The info slide is shown only beside speeches.
        """
        stage = template.rpartition("/")[2]
        hints = {**self._hints(form, stage, dimension), "task": "judgment", "step": stage}
        rubric = self._weights() if stage == "summary" else None
        slide = any(not section.is_analysis for section in sections)
        shown = self._stage(template, sections, None, dimension, rubric=rubric, slide=slide, allows_tie=form.allows_tie)
        return await self._written(Question("", stage, dimension, shown, hints), dimension, None)

    async def _written(self, question: Question, about: str | None, speech: Speech | None) -> Section:
        """The text that answers a question about a speech, or about the whole debate."""
        turn = None if speech is None else speech.turn
        position = None if speech is None else speech.section.position
        path = path_of(question.stage, question.dimension, turn)
        text = await self._put(replace(question, path=path), _analysis)
        step = self.steps[path]
        step.is_analysis = True
        step.notes.append(Note(question.stage, question.dimension, turn, position, text))
        return Section(text, position, about, is_analysis=True)

    async def decide(
        self,
        template: str,
        sections: Sequence[Section],
        form: AnswerForm,
        *,
        dimension: str | None = None,
        position: str | None = None,
        is_extracted: bool = False,
    ) -> ParsedAnswer:
        """Ask for a JSON answer of that form; if it `is_extracted`, for what the text in the material says already."""
        form = self._with_reasons(form, self._template(template))
        stage = template.rpartition("/")[2]
        rubric = self._weights() if stage == "summary" else None
        shown = self._stage(
            template,
            sections,
            form,
            dimension,
            position,
            rubric=rubric,
            allows_tie=form.allows_tie,
            guided=None if is_extracted else self.guided,
        )
        hints = self._hints(form, stage, dimension)
        if is_extracted:
            hints["task"] = "extraction"
        path = path_of(stage, dimension, position)
        return await self._decide(Question(path, stage, dimension, shown, hints, form), form)

    def _hints(self, form: AnswerForm, stage: str, dimension: str | None) -> dict[str, Any]:
        hints = {**_verdict_hints(form), "positions": list(form.positions), "dimension": dimension}
        if form.declares_winner and not form.allows_tie:
            hints["allows_tie"] = False
        if stage == "summary":
            hints["weights"] = {name: float(each.weight) for name, each in self.config.dimensions.items()}
        return hints

    async def tell_sides(self, template: str) -> ParsedAnswer:
        """Ask for which side each speech argues, without saying for which side its speaker was to speak."""
        speeches = self.speeches
        speakers = list(dict.fromkeys(speech.section.position for speech in speeches))
        sections = [
            Section(
                speech.section.text, f"speaker {speakers.index(speech.section.position) + 1}", f"speech {speech.number}"
            )
            for speech in speeches
        ]
        names = {f"speech_{speech.number}": speech for speech in speeches}
        form = AnswerForm({"stance": _STANCE}, tuple(names))
        shown = self._stage(template, sections, form, None)
        hints = {**_verdict_hints(form), "task": "sides", "positions": list(names)}
        question = Question("sides", "sides", None, shown, hints, form)
        answer = await self._put(question, lambda said: _decision_in(said, form))
        self.steps["sides"].notes += [
            Note("stance", None, speech.turn, speech.section.position, score=answer.scores[name]["stance"])
            for name, speech in names.items()
        ]
        return answer

    async def decide_at_once(self, form: AnswerForm) -> ParsedAnswer:
        """Ask for the verdict on the whole transcript, with the judge's plain prompt (`judge_<style>.md`)."""
        name = f"judge_{self.seat.judge.prompt_style}"
        form = self._with_reasons(form, name)
        is_of_teams = self.transcript.is_of_teams
        if is_of_teams:
            shown = render_material([speech.section for speech in self.speeches])
        else:
            shown = render_transcript(self.transcript.turns)
        nonce = self._nonce(shown)
        values = judge_values(
            self.config,
            form,
            **self._topic(),
            transcript=fenced(shown, nonce, is_order_drawn=self._is_order_drawn),
            tasks=self.transcript.tasks,
            guided=self.guided,
        )
        messages = (
            Message("system", fill(self.prompts.templates[name], values)),
            Message("user", fill(self.prompts.judge_user, values)),
        )
        hints = {**_verdict_hints(form), **({"positions": list(form.positions)} if is_of_teams else {})}
        return await self._decide(Question("", "verdict", None, Shown(messages, nonce), hints, form), form)

    def state(self, winners: Sequence[str], by_dimension: Mapping[str, Sequence[str]]) -> Decision:
        """The decision of a rule that asks nobody: who has won, and who was better on each dimension."""
        step = AskedStep(self._place("winner", "winner", None), "", JudgeAsks(self.seat.judge))
        step.notes = [Note("winner", name, position=each) for name, best in by_dimension.items() for each in best]
        if self.transcript.is_of_teams:
            step.notes += [Note("winner", position=position) for position in winners]
        self.steps["winner"] = step
        return Decision({}, tuple(winners))

    async def _decide(self, question: Question, form: AnswerForm) -> ParsedAnswer:
        answer = await self._put(question, lambda said: _decision_in(said, form))
        is_summary = question.stage == "summary"
        self.steps[question.path].notes += self._notes(answer, question.dimension, is_summary=is_summary)
        return answer

    def _notes(self, answer: ParsedAnswer, dimension: str | None, *, is_summary: bool) -> list[Note]:
        """What a decision states beyond the scores and the winner in a verdict on two sides."""
        is_one_answer = len(answer.scores) > 1 and not is_summary
        is_whole = dimension is None and is_one_answer and not self.transcript.is_of_teams
        notes = []
        for position, scores in answer.scores.items():
            reason = answer.reasons.get(position)
            if is_whole or len(scores) > 1:
                notes += [Note("reason", dimension, position=position, text=reason)] if reason else []
                reason = None
            for name, score in scores.items() if not is_whole else ():
                about = None if name == OVERALL else name
                notes.append(Note("score", about, position=position, text=reason, score=score))
        notes += [Note("winner", dimension, position=position) for position in answer.winners if not is_whole]
        if reason := answer.reasons.get("winner"):
            notes.append(Note("summary" if is_summary else "reason", dimension, text=reason))
        return notes

    def _stage(
        self,
        template: str,
        sections: Sequence[Section],
        form: AnswerForm | None,
        dimension: str | None,
        position: str | None = None,
        *,
        speech: Speech | None = None,
        rubric: str | None = None,
        slide: bool = True,
        allows_tie: bool | None = None,
        guided: str | None = None,
    ) -> Shown:
        """The messages of a step.

        `rubric` replaces the description of the dimensions, and without a `slide` the info slide is left out. `guided`
        is the category of which a rubric with scales says what it asks of each side.
        """
        transcript = self.transcript
        if speech is not None:
            position, about = speech.section.position, speech.section.about
        else:
            about = dimension if form is None else None
        stage = template.rpartition("/")[2]
        if rubric is None and form is None and dimension is None:
            rubric = self._rubric("speech")
        shown = render_material(sections)
        nonce = self._nonce(shown)
        kinds = {section.is_analysis for section in sections}
        what = "speeches and analyses" if len(kinds) > 1 else "analyses" if True in kinds else "speeches"
        earlier = sections if speech is None else sections[:-1]
        has_analyses = any(section.is_analysis for section in earlier)
        values = stage_values(
            self.config,
            form,
            **(self._topic() if slide else {**self._topic(), "info_slide": None}),
            is_of_teams=transcript.is_of_teams,
            material=fenced(shown, nonce, is_order_drawn=self._is_order_drawn, what=what),
            dimension=dimension,
            preference=self._preference(dimension, stage, has_analyses=has_analyses),
            rubric=rubric,
            position=position,
            stage=about,
            debate=DebateAtAGlance(self.positions, len(transcript.turns), transcript.names(self.seat.first)),
            speech_number=None if speech is None else speech.number,
            role=None if speech is None else speech.role,
            allows_tie=allows_tie,
            earlier=0 if speech is None else len(earlier),
            earlier_preference="" if speech is None else self._earlier_preference(dimension),
            has_analyses=has_analyses,
            tasks=transcript.tasks,
            guided=guided,
        )
        messages = self._messages(self._template(template), values)
        repair = self._template(repair_stage(template))
        return Shown(messages, nonce, repair if form and repair in self.prompts.templates else None, values)

    def _messages(self, template: str, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The system and the user message of a template; a template may have no system message."""
        system, user = self.prompts.messages(template)
        asked = Message("user", fill(user, values))
        return (Message("system", fill(system, values)), asked) if system else (asked,)

    def _template(self, stage: str) -> str:
        """The name of the template of a stage, in the judge's style if there is such a variant."""
        return self.prompts.stage(f"judge/{stage}", self.seat.judge.prompt_style)

    def _preference(self, dimension: str | None, stage: str, *, has_analyses: bool = False) -> str:
        """What the judge is told to look for at a stage, on a dimension or on all of them together.

        A judge that has analyses of the speeches before it may be told something else about the debate.
        """
        if dimension is None:
            whole = _preference_in(self.config.whole.preferences, stage, has_analyses=has_analyses)
            return whole or self._rubric(stage, has_analyses=has_analyses)
        return "\n".join([self._wanted(dimension, stage, has_analyses=has_analyses), *self._guidance(dimension)])

    def _wanted(self, dimension: str, stage: str, *, has_analyses: bool = False) -> str:
        settings = self.config.dimensions[dimension]
        preference = _preference_in(settings.preferences, stage, has_analyses=has_analyses)
        return preference or settings.description or f"How good was each side's {dimension}?"

    def _guidance(self, dimension: str) -> list[str]:
        """What the dimension asks of each side in this debate's category."""
        settings = self.config.dimensions[dimension]
        return guidance_lines(settings, self.guided, is_of_teams=self.transcript.is_of_teams)

    def _earlier_preference(self, dimension: str | None) -> str:
        """What else to look for in a speech that follows others."""
        if dimension is not None:
            return self.config.dimensions[dimension].preferences.earlier or ""
        whole = self.config.whole.preferences
        if whole.speech or whole.earlier:
            return whole.earlier or ""
        texts = {name: each.preferences.earlier for name, each in self.config.dimensions.items()}
        return "\n".join(f"- {name}: {text}" for name, text in texts.items() if text)

    def _rubric(self, stage: str, *, has_analyses: bool = False) -> str:
        """The dimensions without their scales, for a text about all of them."""
        lines = []
        for name in self.config.dimensions:
            lines.append(f"- {name}: {self._wanted(name, stage, has_analyses=has_analyses)}")
            lines += [f"  {each}" for each in self._guidance(name)]
        return "\n".join(lines)

    def _weights(self) -> str:
        """The dimensions with their weights, and what to look for."""
        lines = []
        for name, each in self.config.dimensions.items():
            text = each.preferences.summary or each.description
            lines.append(f"- {name}, weight {each.weight.normalize():f}" + (f": {text}" if text else ""))
        return "\n".join(lines)

    def _topic(self) -> dict[str, Any]:
        transcript = self.transcript
        return {"motion": transcript.motion, "category": transcript.category, "info_slide": transcript.info_slide}

    @property
    def _is_order_drawn(self) -> bool:
        return self.seat.first is not None

    def _with_reasons(self, form: AnswerForm, template: str) -> AnswerForm:
        has_reasons = self.prompts.gives_reasons(template)
        if has_reasons == form.has_reasons:
            return form
        return AnswerForm(form.dimensions, form.positions, form.declares_winner, form.allows_tie, has_reasons)

    def _nonce(self, shown: str) -> str:
        """The nonce of the delimiters: the same in every session, and different as soon as the material differs.

        A debater cannot write it into a speech, even if it knows the seed: the speech is part of the hash input.
        """
        transcript = self.transcript
        return short_hash(transcript.run_tag, str(transcript.debate_seed), self.seat.judge.id, "nonce", shown)

    async def _put(self, question: Question, read: Callable[[Completion], _Result]) -> _Result:
        """Ask, and once more, with the reason, when the answer is of no use.

        After an answer that was cut off at the token limit, the second request has a higher limit.
        """
        judge, path = self.seat.judge, question.path
        asked = self._begin(question)
        most = self._most_asks if question.form is None else self._most_asks_for_object
        while asked.asks < most:
            name = ":".join(part for part in ("verdict", judge.id, path, str(asked.asks)) if part)
            step = Step(self.transcript.debate_id, name, "verdict")
            request = self._request(step, question, asked)
            _check_size(request, judge.context_window, path)
            answer = await asked.ask(self._ask, step, request)
            if answer is None:
                break
            try:
                return read(answer.completion)
            except InvalidVerdictError as invalid:
                asked.reject(invalid.reason)
        raise NoVerdictError(asked.reasons[-1], path)

    def _begin(self, question: Question, last_call_id: str | None = None) -> JudgeAsks:
        """The record of the requests of a step, which begins now."""
        asked = JudgeAsks(self.seat.judge, last_call_id=last_call_id)
        place = self._place(question.path, question.stage, question.dimension)
        self.steps[question.path] = AskedStep(place, question.shown.nonce, asked)
        return asked

    def _place(self, path: str, stage: str, dimension: str | None) -> tuple[int, ...]:
        names = list(self.config.dimensions)
        last = path.rpartition(":")[2]
        number = int(last) if last.isdigit() else self.positions.index(last) if last in self.positions else 0
        return (len(names) if dimension is None else names.index(dimension), _STAGES.index(stage), number)

    def _request(self, step: Step, question: Question, asked: JudgeAsks) -> Request:
        """The next request of a step, given the result of the previous one."""
        messages, form = question.shown.messages, question.form
        if asked.reasons and question.shown.repair is not None:
            messages = self._repairing(question, asked)
        elif asked.reasons:
            again = "Answer again, with the object only." if form else "Answer again."
            task = f"{messages[-1].content}\n\nYour last answer could not be used: {asked.reasons[-1]}. {again}"
            messages = (*messages[:-1], Message("user", task))
        transcript = self.transcript
        return request_to(
            self.seat.judge,
            messages,
            temperature=0.0,
            max_tokens=_cap(self.seat.judge.token_limit, asked),
            seed=seed_of(transcript.debate_seed, step.name),
            json_schema=form.schema() if form else None,
            hints={"motion": transcript.motion, "category": transcript.category, **question.hints, "ask": asked.asks},
        )

    def _repairing(self, question: Question, asked: JudgeAsks) -> tuple[Message, ...]:
        """The messages that show the last answer with what is wrong in it, and nothing else of the step."""
        rejected = Section(asked.rejected[-1] or "", None, question.dimension, is_analysis=True)
        shown = render_material([rejected])
        material = fenced(shown, self._nonce(shown), is_order_drawn=False, what="answer")
        error = escape_material(asked.reasons[-1])
        return self._messages(
            str(question.shown.repair), {**question.shown.values, "material": material, "error": error}
        )


def _preference_in(preferences: Preferences, stage: str, *, has_analyses: bool) -> str | None:
    """The text of these for a stage; None if they have none."""
    preference: str | None = getattr(preferences, _PREFERENCES.get(stage, "debate"))
    return (preferences.debate_by_analyses or preference) if stage == "debate" and has_analyses else preference


def rounds_of_repair(judge: MemberConfig) -> int:
    """How often a judge is asked again for an answer that must be a JSON object: its parameter `repairs`, usually 1."""
    rounds = judge.parameters.get("repairs", _ASKS - 1)
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 0 <= rounds <= MOST_REPAIRS:
        raise UsageError(
            f"Judge '{judge.id}': parameter repairs: found {rounds!r}; allowed: a whole number from 0 to "
            f"{MOST_REPAIRS}."
        )
    return rounds


def path_of(stage: str, dimension: str | None, part: int | str | None) -> str:
    """The path of a step: its dimension, its stage, and the speech or position that it is about."""
    return ":".join(str(each) for each in (dimension, stage, part) if each is not None)


def _analysis(said: Completion) -> str:
    """The text of an analysis, without the thinking before it."""
    if is_cut_off(said):
        raise InvalidVerdictError(_CUT_OFF)
    text = clean_text(strip_thinking(said.text)).strip()
    if not text:
        raise InvalidVerdictError("the answer holds no text")
    return text


def _decision_in(said: Completion, form: AnswerForm) -> ParsedAnswer:
    """The answer of that form in a completion; one that was cut off must have ended its object before."""
    is_cut = is_cut_off(said)
    try:
        answer = parse_answer(said.text, form)
    except InvalidVerdictError as invalid:
        if is_cut and invalid.lacks_object:
            raise InvalidVerdictError(_CUT_OFF) from invalid
        raise
    if is_cut and "brace_missing" in answer.flags:
        raise InvalidVerdictError(_CUT_OFF)
    flags = (*answer.flags, TRUNCATED) if is_cut else answer.flags
    return replace(answer, is_repaired=answer.is_repaired or said.is_moved, flags=flags)


def _verdict_hints(form: AnswerForm) -> dict[str, Any]:
    """What a simulated judge would understand from the words of the prompt."""
    return {
        "task": "verdict",
        "dimensions": {
            name: {"min": d.ends[0], "max": d.ends[1], **({} if d.step is None else {"step": float(d.step)})}
            for name, d in form.dimensions.items()
        },
        "declares_winner": form.declares_winner,
        **({"reasons": True} if form.has_reasons else {}),
    }


def tokens_of(characters: int) -> int:
    """About how many tokens a prompt has."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def _check_size(request: Request, window: int | None, path: str) -> None:
    """Refuse a request that does not fit into the context window with its answer: nothing is ever cut silently."""
    if window is None:
        return
    prompt = tokens_of(sum(len(message.content) for message in request.messages))
    answer = request.max_tokens or 0
    if prompt + answer > window:
        with_answer = f" and an answer of at most {answer} do" if answer else " does"
        raise NoVerdictError(
            f"a prompt of about {prompt} tokens{with_answer} {NOT_FIT} of {window} tokens in judges.yaml",
            path,
        )


def _cap(token_limit: int | None, asked: JudgeAsks) -> int | None:
    """The token limit of the answer: the judge's own limit, or a higher one after an answer that was cut off."""
    if not asked.reasons or asked.reasons[-1] != _CUT_OFF:
        return token_limit
    reached = token_limit or asked.answers[-1].completion.completion_tokens or 0
    return max(_CAP_GROWTH * reached, _LEAST_GROWN_CAP)
