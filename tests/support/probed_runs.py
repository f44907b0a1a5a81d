"""Runs that judge stored debates and attacked copies of them, as records: for tests of what is right of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from judged_runs import judged_run

from debatebench.shared.records import (
    AttackedTurn,
    Debate,
    JudgeNote,
    Participant,
    Record,
    Run,
    ScheduledDebate,
    Side,
    Turn,
    Verdict,
)

__all__ = ["probed_run"]


def probed_run(tag: str, source: Iterable[Record], attacks: dict[str, Side], **judging: object) -> Iterator[Record]:
    """A run as `judged_run` makes it, and for each attack a copy of every debate, with the same verdicts.

    The speeches of the attacked side of a copy end with the name of the attack.
    """
    source = list(source)
    turns = [record for record in source if isinstance(record, Turn)]
    clean = list(judged_run(tag, source, **judging))  # type: ignore[arg-type]
    for record in clean:
        yield record.model_copy(update={"format": "probing"}) if isinstance(record, Run) else record
    position = sum(isinstance(record, ScheduledDebate) for record in clean)
    for attack, side in attacks.items():
        planned: dict[str, ScheduledDebate] = {}
        for record in clean:
            if not isinstance(record, ScheduledDebate | Debate | Participant | Verdict | JudgeNote):
                continue
            copy = {"debate_id": f"{record.debate_id}~{attack}"}
            if isinstance(record, ScheduledDebate):
                planned[record.debate_id] = record
                yield record.model_copy(
                    update={**copy, "attack": attack, "attack_side": side, "schedule_position": position}
                )
                position += 1
            elif isinstance(record, Debate):
                yield record.model_copy(update={**copy, "attack": attack, "attack_side": side})
                for turn in turns:
                    if turn.debate_id == record.source_debate_id:
                        yield AttackedTurn(
                            run_tag=tag,
                            debate_id=copy["debate_id"],
                            turn_index=turn.turn_index,
                            position=turn.position,
                            side=turn.side,
                            stage=turn.stage,
                            content=f"{turn.content} {attack}" if turn.side == side else turn.content,
                        )
            else:
                yield record.model_copy(update=copy)
