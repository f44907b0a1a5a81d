"""Reads judges' stored answers again with today's parser. No requests are sent and nothing is billed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.journal.lines import Event
from debatebench.journal.writing import Journal
from debatebench.judges import method_of
from debatebench.judges.base import Judgment, Seat, Transcript
from debatebench.judges.deliberation import TRUNCATED
from debatebench.judges.injection import planted_scores
from debatebench.judges.judgment import StoredAnswer, kept_answers, stored_answers
from debatebench.judges.rereading import Reread, reread
from debatebench.plan.plan import Plan
from debatebench.plan.plan_file import plan_of_journal
from debatebench.play.attempts import reply_of
from debatebench.play.panel import panel_reason
from debatebench.providers import make_provider
from debatebench.providers.base import ProviderFailure, Request
from debatebench.shared.records import Debate, JudgeNote, Turn, Verdict
from debatebench.shared.version import __version__

# Stands for the request to which a reply answers: it asks for a JSON object.
_FOR_OBJECT = Request("", (), json_schema={})
# The answers of a judge in a debate, by path, as the journal has them.
_Journalled = Callable[[str, "MemberConfig"], Mapping[str, Sequence[StoredAnswer]]]


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """The result of a stored answer before and now."""

    run_tag: str
    debate_id: str
    judge_id: str
    before: str
    after: str
    debate_status: str

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the fields."""
        return [field.name for field in fields(cls)]

    def row(self) -> tuple[Any, ...]:
        """The values of the fields."""
        return astuple(self)


def reparse_run(journal_path: Path) -> list[ChangedVerdict]:
    """Read every judge's last answer of a run again, journal the debates in which this changes anything, and list it.

    Of a judge without a vote, all replies in the journal are read: after the last answer the others, in their order. A
    seat keeps its judge as long as that answer still contains a vote. If it does not, or the seat is empty, the first
    other answer of that seat that contains one counts: the original judge's, then those of the replacements. So no seat
    ever has two votes. This may make a debate complete or incomplete; `debatebench run` then requests what is missing.

    Raises `BusyError` while the run is being played and `DamagedDataError` for a damaged journal.
    """
    index = _Index()
    with Journal.open(journal_path, index.see) as journal:
        if index.plan is None:
            return []
        plan = plan_of_journal(journal_path, index.plan, index.parts)
        changed: list[ChangedVerdict] = []
        for place in index.last_outcome.values():
            records = journal.read_at(*place)["records"]
            found = _reread(records, plan, lambda debate_id, judge: index.answers(journal, debate_id, judge))
            if found:
                changed += found
                debate_id = records["debates"][0]["debate_id"]
                journal.append(
                    {"type": "outcome", "of": "debate", "debate_id": debate_id, "by": "reparse", "records": records}
                )
        return changed


@dataclass(slots=True)
class _Asked:
    """A call to a judge, and the place of its last reply."""

    judge_id: str
    step: str
    reply: tuple[int, int] | None = None


class _Index:
    """The plan of a journal, the last outcome of each debate, and the calls to judges where votes are missing."""

    def __init__(self) -> None:
        self.plan: Any = None
        self.parts: list[Any] = []
        self.last_outcome: dict[str, tuple[int, int]] = {}
        self._calls: dict[str, _Asked] = {}
        self._calls_of: dict[str, list[str]] = {}

    def see(self, event: Event) -> None:
        """Process one event."""
        data = event.data
        if data["type"] == "header":
            self.plan = data["plan"]
        elif data["type"] == "part":
            self.parts.append(data["part"])
        elif data["type"] == "intent" and data["purpose"] == "verdict":
            if data["call_id"] not in self._calls:
                self._calls[data["call_id"]] = _Asked(data["member"], data["step"])
                self._calls_of.setdefault(data["debate_id"], []).append(data["call_id"])
        elif data["type"] == "response" and data["call_id"] in self._calls:
            self._calls[data["call_id"]].reply = (event.offset, event.length)
        elif data.get("of") == "debate":
            self.last_outcome[data["debate_id"]] = (event.offset, event.length)
            if all(verdict["is_valid"] for verdict in data["records"].get("verdicts", ())):
                for call_id in self._calls_of.pop(data["debate_id"], ()):
                    del self._calls[call_id]

    def answers(self, journal: Journal, debate_id: str, judge: MemberConfig) -> dict[str, list[StoredAnswer]]:
        """All answers of a judge in a debate, by the path of their step."""
        answers: dict[str, list[StoredAnswer]] = {}
        for call_id in self._calls_of.get(debate_id, ()):
            asked = self._calls[call_id]
            if asked.judge_id != judge.id or asked.reply is None:
                continue
            reply = reply_of(journal.read_at(*asked.reply))
            try:
                completion = make_provider(judge, None).read(reply, _FOR_OBJECT)
            except ProviderFailure:
                continue
            path = asked.step.removeprefix(f"verdict:{judge.id}:").rpartition(":")[0]
            answers.setdefault(path, []).append(StoredAnswer(completion, call_id))
        return answers


def _reread(records: dict[str, Any], plan: Plan, journalled: _Journalled) -> list[ChangedVerdict]:
    """The changes in the rows of one debate's outcome; the rows are updated in place.

    A debate that ended before all turns were given has nothing to judge.
    """
    debate = Debate.model_validate(records["debates"][0])
    turns = [Turn.model_validate(row) for row in records.get("turns", ())]
    before = [Verdict.model_validate(row) for row in records.get("verdicts", ())]
    if debate.status in ("void", "forfeit") or not before or len(turns) < len(plan.config.rounds):
        return []
    notes = [JudgeNote.model_validate(row) for row in records.get("judge_notes", ())]
    transcript = _transcript_of(debate, turns, plan)
    after = {seen.verdict.judge_id: seen for seen in _seated(before, notes, transcript, plan, journalled)}
    now = [after[verdict.judge_id].verdict for verdict in before]
    pairs = [(old, new) for old, new in zip(before, now, strict=True) if old != new]
    if not pairs:
        return []
    valid = sum(verdict.is_valid for verdict in now)
    seats = debate.judges_expected or len({verdict.panel_position for verdict in now})
    is_complete = valid >= seats
    debate = debate.model_copy(
        update={
            "status": "complete" if is_complete else "incomplete",
            "status_reason": None if is_complete else panel_reason(seats, now),
            "judges_actual": valid,
        }
    )
    records["debates"] = [debate.model_dump(mode="json", exclude_defaults=True)]
    records["verdicts"] = [verdict.model_dump(mode="json", exclude_defaults=True) for verdict in now]
    if kept := [note for verdict in before for note in after[verdict.judge_id].notes]:
        records["judge_notes"] = [note.model_dump(mode="json", exclude_defaults=True) for note in kept]
    return [
        ChangedVerdict(debate.run_tag, debate.debate_id, old.judge_id, _described(old), _described(new), debate.status)
        for old, new in pairs
    ]


def _transcript_of(debate: Debate, turns: Sequence[Turn], plan: Plan) -> Transcript:
    """The debate as it was judged; of a stored debate the journal has only who spoke, and no text."""
    if plan.source is not None and debate.source_debate_id is not None:
        turns = [
            Turn(
                run_tag=debate.run_tag,
                debate_id=debate.debate_id,
                turn_index=number,
                position=speech.position,
                side=speech.side,
                model_id="",
                stage=speech.stage,
                content="",
            )
            for number, speech in enumerate(plan.source.by_id[debate.source_debate_id].speeches)
        ]
    seed, topic = debate.debate_seed or 0, plan.topic(debate.topic_id)
    return Transcript(
        debate.run_tag, debate.debate_id, seed, topic.motion, topic.category, topic.info_slide, tuple(turns)
    )


def _seated(
    verdicts: Sequence[Verdict],
    notes: Sequence[JudgeNote],
    transcript: Transcript,
    plan: Plan,
    journalled: _Journalled,
) -> Iterator[Judgment]:
    """Every verdict as parsed now, seat by seat, with its notes."""
    planted = planted_scores(transcript.turns, plan.config.dimensions)
    seats: dict[int, list[Verdict]] = {}
    for verdict in verdicts:
        seats.setdefault(verdict.panel_position, []).append(verdict)
    for seat in seats.values():
        # The one that counts goes first; a stable sort leaves the others in the order of their requests.
        is_taken = False
        for verdict in sorted(seat, key=lambda verdict: not verdict.is_valid):
            own = tuple(note for note in notes if note.judge_id == verdict.judge_id)
            read = None if is_taken else _read(verdict, own, transcript, plan, journalled)
            is_taken = is_taken or verdict.is_valid if read is None else not isinstance(read, str)
            if read is None:
                yield Judgment(verdict, own)
            elif isinstance(read, str):
                yield Judgment(_refused(verdict, read), own) if verdict.is_valid else Judgment(verdict, own)
            else:
                accepted = _accepted(verdict, read, is_copied=read.scores in planted)
                yield Judgment(accepted, own if accepted is verdict else read.notes)


def _read(
    verdict: Verdict, notes: Sequence[JudgeNote], transcript: Transcript, plan: Plan, journalled: _Journalled
) -> Reread | str | None:
    """The stored answers as parsed today, or the reason why they contain no vote; None if none were needed or kept."""
    judge = plan.judge(verdict.judge_id)
    if method_of(judge).is_baseline:
        return None
    answers = {path: [answer] for path, answer in stored_answers(verdict, notes).items()}
    if not verdict.is_valid:
        for path, others in journalled(verdict.debate_id, judge).items():
            answers.setdefault(path, []).extend(others)
    if not answers:
        return verdict.invalid_reason or "no answer is stored"
    first = verdict.presented_first if plan.options.swap_order else None
    seat = Seat(verdict.panel_position, judge, verdict.replaces_judge_id, first)
    return reread(seat, plan.config, plan.prompts, transcript, answers)


def _accepted(verdict: Verdict, read: Reread, *, is_copied: bool) -> Verdict:
    """The verdict with the newly parsed result; the same object if nothing changed."""
    metadata = {name: value for name, value in (verdict.metadata or {}).items() if name not in ("flags", "reparsed_by")}
    if read.flags:
        metadata["flags"] = list(read.flags)
    parsed: dict[str, Any] = {
        "is_valid": True,
        "invalid_reason": None,
        "declared_winner": read.declared_winner,
        "scores": read.scores,
        "is_repaired": read.is_repaired,
        "is_truncated_after_verdict": TRUNCATED in read.flags,
        "is_injection_suspected": verdict.is_injection_suspected or is_copied,
    }
    is_same = all(getattr(verdict, name) == value for name, value in parsed.items())
    if is_same and (verdict.metadata or {}).get("flags", []) == list(read.flags):
        return verdict
    if not verdict.is_valid:
        # The answer that counts need not be the last one.
        shown = list(read.answers.values())[-1]
        parsed |= {"raw_response": shown.completion.text, "call_id": shown.call_id}
        metadata |= {"finish_reason": shown.completion.finish_reason, "answers": kept_answers(read.answers)}
        metadata = {name: value for name, value in metadata.items() if value}
    return verdict.model_copy(update={**parsed, "metadata": {**metadata, "reparsed_by": __version__}})


def _refused(verdict: Verdict, reason: str) -> Verdict:
    """The verdict without its vote."""
    metadata = dict(verdict.metadata or {})
    metadata["reasons"] = [*metadata.get("reasons", []), reason]
    metadata["rejected"] = [*metadata.get("rejected", []), verdict.raw_response]
    return verdict.model_copy(
        update={
            "is_valid": False,
            "invalid_reason": reason,
            "declared_winner": None,
            "scores": None,
            "is_repaired": False,
            "is_truncated_after_verdict": False,
            "metadata": {**metadata, "reparsed_by": __version__},
        }
    )


def _described(verdict: Verdict) -> str:
    """A short description of a verdict."""
    if not verdict.is_valid:
        return f"invalid: {verdict.invalid_reason}"
    scores = ", ".join(f"{score.dimension} {score.pro}:{score.con}" for score in verdict.scores or ())
    return f"{scores}; declared {verdict.declared_winner or 'nothing'}"
