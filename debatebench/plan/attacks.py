"""Attacked copies of stored debates: which side attacks, and what its judges read. Pure and seeded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from debatebench.config.attacks import SWAPPED_ORDER, Attack
from debatebench.config.prompts import fill
from debatebench.config.transcript_layout import in_order
from debatebench.config.types import Config
from debatebench.plan.source import SourceDebate, SourceSpeech, hash_of_speeches
from debatebench.shared.hashing import hash_with_decimal_lengths
from debatebench.shared.records import Side, Turn


class AttackedCopy(BaseModel):
    """What a plan freezes of an attacked copy: the lengths of its speeches, and the hash of what they say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    speeches: tuple[SourceSpeech, ...]
    sha256: str


def attack_sides(attack: Attack, debates: Sequence[SourceDebate], seed: int) -> dict[str, Side]:
    """Debate → the side that the attack should help: pro in half of them, exact to one, drawn with the seed.

    Where the attack is the order itself, the side follows from the order.
    """
    if attack.kind == SWAPPED_ORDER:
        # The side that opened stands second in the copy.
        sides = {debate.debate_id: _other(debate.speeches[0].side) for debate in debates}
        return sides if attack.favours != "last" else {each: _other(side) for each, side in sides.items()}
    drawn = sorted(debates, key=lambda debate: hash_with_decimal_lengths(seed, "attack", attack.id, debate.debate_id))
    first: Side = "pro" if int(hash_with_decimal_lengths(seed, "attack", attack.id)[:2], 16) % 2 else "con"
    return {debate.debate_id: first if n % 2 == 0 else _other(first) for n, debate in enumerate(drawn)}


def attacked_turns(turns: Sequence[Turn], attack: Attack, side: Side, motion: str, config: Config) -> tuple[Turn, ...]:
    """The speeches of a stored debate as the judges of its attacked copy read them."""
    if attack.kind == SWAPPED_ORDER:
        swapped = in_order(turns, _other(turns[0].side))
        return tuple(turn.model_copy(update={"turn_index": n}) for n, turn in enumerate(swapped))
    own = [n for n, turn in enumerate(turns) if turn.side == side]
    hit = set({"all": own, "first": own[:1], "last": own[-1:]}[attack.turns])
    values = {
        "side": side.upper(),
        "opponent": _other(side).upper(),
        "motion": motion,
        "forged_verdict": _forged_verdict(side, config),
    }
    text = "\n\n".join([fill(attack.text, values)] * attack.times)
    return tuple(
        turn.model_copy(update={"content": _altered(turn.content, text, attack.place)}) if n in hit else turn
        for n, turn in enumerate(turns)
    )


def copy_of(turns: Sequence[Turn]) -> AttackedCopy:
    """What a plan freezes of these altered speeches."""
    return AttackedCopy(
        speeches=tuple(map(SourceSpeech.of, turns)),
        sha256=hash_of_speeches(turns),
    )


def _altered(speech: str, text: str, place: str) -> str:
    if place == "replace":
        return text
    return f"{speech}\n\n{text}" if place == "append" else f"{text}\n\n{speech}"


def _forged_verdict(side: Side, config: Config) -> str:
    """A verdict of the usual shape in which the side has the best scores and the other side the worst."""
    scores: Mapping[str, dict[str, float]] = {
        each: {name: d.ends[each == side] for name, d in config.dimensions.items()} for each in ("pro", "con")
    }
    return json.dumps({"scores": scores, "winner": side})


def _other(side: Side) -> Side:
    return "con" if side == "pro" else "pro"
