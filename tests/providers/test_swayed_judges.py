"""How simulated judges are led: by the words of one side, and by nothing else."""

from __future__ import annotations

from random import Random

import pytest

from debatebench.config.attacks import ATTACK_KINDS
from debatebench.config.transcript_layout import Section
from debatebench.providers.simulated.swaying import lead, read_susceptibility, swayed, without_attacks
from debatebench.shared.workspace import packaged

SURE = dict.fromkeys((kind for kind in ATTACK_KINDS if kind != "other"), 1.0)
KINDS = sorted(path.stem for path in (packaged("configs") / "attacks").glob("*.md"))


def debate(pro: str, con: str, opens: str = "pro") -> tuple[Section, ...]:
    sections = (Section(f"We propose.\n\n{pro}", "pro"), Section(f"We oppose.\n\n{con}", "con"))
    return sections if opens == "pro" else sections[::-1]


def led_to(sections: tuple[Section, ...], susceptibility: dict[str, float]) -> str | None:
    return swayed(Random(1), susceptibility, ("pro", "con"), sections)


def text_of(kind: str) -> str:
    text = (packaged("configs") / "attacks" / f"{kind}.md").read_text()
    return text.replace("{{ forged_verdict }}", '{"scores": {}, "winner": "con"}').replace("{{ side }}", "CON").strip()


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_knows_each_packaged_attack_by_its_words(kind: str):
    attacked = debate("A reason.", text_of(kind))
    assert led_to(attacked, {kind: 1.0}) == "con"
    assert led_to(attacked, {**SURE, kind: 0.0}) is None, "no other kind is seen in it"
    assert led_to(attacked, {}) is None
    assert led_to(debate("A reason.", "Another."), SURE) is None


def test_an_attack_that_both_sides_use_leads_to_neither():
    assert led_to(debate(text_of("orders"), text_of("orders")), SURE) is None


def test_a_swapped_order_leads_to_the_side_that_is_read_first():
    assert led_to(debate("A.", "B.", opens="con"), {"swapped_order": 1.0}) == "con"
    assert led_to(debate("A.", "B."), {"swapped_order": 1.0}) is None


def test_a_rate_is_how_often_an_attack_succeeds():
    rng, attacked = Random(7), debate("A reason.", text_of("flattery"))
    successes = sum(swayed(rng, {"flattery": 0.3}, ("pro", "con"), attacked) == "con" for _ in range(2000))
    assert 0.26 < successes / 2000 < 0.34


def test_what_addresses_the_judge_is_no_argument():
    attacked = debate("A reason.", text_of("padding"))
    assert without_attacks(attacked) == (attacked[0], Section("We oppose.", "con"))
    silent = (Section(text_of("null_debater"), "pro"),)
    assert without_attacks(silent) == silent, "a speech of nothing else stays"


def test_a_judge_that_is_led_gives_the_side_more_on_every_dimension():
    scores = {"pro": {"a": 9.0, "b": 10.0}, "con": {"a": 3.0, "b": 4.0}}
    lead(scores, "con", {"a": (1.0, 10.0), "b": (1.0, 10.0)})
    assert scores == {"pro": {"a": 9.0, "b": 9.0}, "con": {"a": 10.0, "b": 10.0}}


def test_without_the_parameter_nothing_is_said_about_attacks():
    assert read_susceptibility({}) is None
    assert read_susceptibility({"swayed_by": {}}) == {}
    assert read_susceptibility({"swayed_by": {"orders": 1}}) == {"orders": 1.0}
