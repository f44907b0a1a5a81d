"""Flaws of simulated speeches, and simulated judges that find them: at the stated rate, and from the words alone."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from oracles import wilson_interval

from debatebench.config.parts import load_weaknesses
from debatebench.config.transcript_layout import Section
from debatebench.config.types import MemberConfig
from debatebench.providers import make_provider
from debatebench.providers.simulated.flaws import flawed_sentence, seen_flaws
from debatebench.providers.simulated.judging import analysis_answer, judge_answer
from debatebench.providers.simulated.phrases import THEMES
from debatebench.providers.simulated.speech import Speaker, read_traits
from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import packaged

TAXONOMY = {
    name: dimension
    for file in ("weaknesses_debatebench.yaml", "weaknesses.yaml")
    for name, dimension in load_weaknesses(packaged("configs") / file).dimensions().items()
}
DIMENSIONS = [
    "clash_engagement",
    "burden_fulfillment",
    "rebuttal_quality",
    "argument_extension",
    "strategic_adaptation",
]
SCALES = {name: {"min": 1, "max": 3} for name in DIMENSIONS}


def speech(seed: int, side: str = "pro", told: str | None = None, before: tuple[tuple[str, str, str], ...] = ()) -> str:
    hints = {"task": "speech", "side": side, "stage": "rebuttal", "motion": f"Motion {seed}."}
    hints |= {} if told is None else {"weakness": told}
    return Speaker(Random(seed), {"skill": 0.7}, hints, before).speech(None)


def debate(seed: int, told: str | None = None, side: str = "pro") -> tuple[Section, ...]:
    said: list[tuple[str, str, str]] = []
    for number, speaker in enumerate(("pro", "con", "pro", "con")):
        flaw = told if speaker == side and number > 0 else None
        said.append((speaker, "rebuttal", speech(seed * 10 + number, speaker, flaw, tuple(said))))
    return tuple(Section(text, position, stage) for position, stage, text in said)


def verdict(sections: tuple[Section, ...], parameters: dict[str, Any], seed: int = 0, **hints: Any) -> dict[str, Any]:
    asked = {"task": "verdict", "dimensions": SCALES, "declares_winner": True, "ask": 1, **hints}
    traits = read_traits({"noise": 0, **parameters})
    return json.loads(judge_answer(Random(seed), traits, asked, sections, "judge"))


@pytest.mark.parametrize("weakness", TAXONOMY)
def test_a_flawed_speech_is_recognised_and_does_not_name_its_flaw(weakness: str):
    all_seeing = read_traits({"detects": 1})
    for seed in range(40):
        flawed, sound = speech(seed, told=weakness), speech(seed)
        assert not re.search(weakness.replace("_", "[ _]"), flawed, re.IGNORECASE)
        ((kind, sentence),) = seen_flaws([Section(flawed, "pro")], all_seeing, "judge")["pro"]
        assert kind == weakness
        assert sentence in flawed
        assert seen_flaws([Section(sound, "pro")], all_seeing, "judge") == {}


def test_no_sentence_passes_for_that_of_another_weakness():
    for weakness in TAXONOMY:
        for seed in range(60):
            sentence = flawed_sentence(weakness, list(THEMES)[seed % len(THEMES)], Random(seed)) or ""
            found = seen_flaws([Section(sentence, "con")], read_traits({"detects": 1}), "judge")
            assert found == {"con": ((weakness, sentence),)}


def test_without_an_order_the_speeches_are_as_before():
    for seed in range(20):
        assert speech(seed) == speech(seed, told=None) == speech(seed, told="unheard_of")


@pytest.mark.parametrize("side", ["pro", "con"])
@pytest.mark.parametrize("weakness", TAXONOMY)
def test_a_flaw_that_is_seen_costs_its_dimension_the_mean_and_the_debate(weakness: str, side: str):
    other = "con" if side == "pro" else "pro"
    for seed in range(20):
        for bias in (-1.5, 0, 1.5):
            found = verdict(debate(seed, weakness, side), {"detects": 1, "bias": bias, "noise": 0.3}, seed)
            own, theirs = found["scores"][side], found["scores"][other]
            assert own[TAXONOMY[weakness]] < theirs[TAXONOMY[weakness]]
            assert sum(own.values()) < sum(theirs.values())
            assert found["winner"] == other
            assert all(score in (1, 2, 3) for scores in (own, theirs) for score in scores.values())


def test_a_flaw_that_is_not_seen_changes_nothing_and_both_sides_are_equal():
    for seed in range(20):
        found = verdict(debate(seed, "weak_evidence"), {"detects": {"logical_gaps": 1}}, seed)
        assert found["scores"]["pro"] == found["scores"]["con"]
        assert found["winner"] == "tie"


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.5, 0.85, 1.0])
def test_the_rate_of_detection_is_the_stated_one(rate: float):
    seen = 0
    for seed in range(200):
        found = verdict(debate(seed, "burden_of_proof", "con"), {"detects": {"burden_of_proof": rate}}, seed)
        seen += found["scores"]["con"]["burden_fulfillment"] < found["scores"]["pro"]["burden_fulfillment"]
    low, high = wilson_interval(seen, 200)
    assert low <= rate <= high


def test_a_judge_sees_the_same_at_every_repetition_and_another_judge_something_else():
    half = read_traits({"detects": 0.5})
    debates = [debate(seed, "logical_gaps") for seed in range(60)]
    one, again, other = (["pro" in seen_flaws(d, half, judge) for d in debates] for judge in ("one", "one", "other"))
    assert one == again
    assert one != other


def test_what_a_judge_sees_in_a_speech_is_in_its_notes_and_counts_at_the_end():
    traits = read_traits({"detects": 1, "noise": 0})
    speeches = debate(3, "argument_dropping", "con")
    hints = {"task": "analysis", "step": "speech"}
    notes = tuple(
        Section(analysis_answer(hints, speeches[: n + 1], traits, "judge"), each.position, each.about, is_analysis=True)
        for n, each in enumerate(speeches)
    )
    assert ["Against" in note.text for note in notes] == [False, True, False, True]
    assert all(600 < len(note.text) < 950 for note in notes)
    found = verdict(notes, {"detects": 0, "noise": 0}, positions=["pro", "con"])
    assert found["scores"]["con"]["clash_engagement"] < found["scores"]["pro"]["clash_engagement"]
    whole = analysis_answer({"task": "analysis", "step": "debate"}, notes, traits, "judge")
    report = (Section(whole, None, "clash", is_analysis=True),)
    assert verdict(report, {"detects": 0}, positions=["pro", "con"])["winner"] == "pro"


def test_asked_about_one_dimension_a_judge_lowers_only_the_one_that_suffers():
    speeches = debate(5, "side_concession", "con")
    for name in DIMENSIONS:
        hints = {"positions": ["pro", "con"], "dimension": name, "dimensions": {name: SCALES[name]}}
        scores = verdict(speeches, {"detects": 1}, **hints)["scores"]
        assert (scores["con"][name] < scores["pro"][name]) == (name == "strategic_adaptation")


def test_a_rubric_without_the_dimension_is_lowered_throughout():
    scales = {"style": {"min": 1, "max": 10}, "wit": {"min": 0, "max": 2.5}}
    scores = verdict(debate(6, "weak_evidence"), {"detects": 1}, dimensions=scales)["scores"]
    assert all(scores["pro"][name] < scores["con"][name] for name in scales)


def test_a_reason_quotes_what_was_seen():
    found = verdict(debate(7, "weak_evidence"), {"detects": 1}, reasons=True)
    assert found["reasons"]["pro"].startswith("It counts against this side that it said: “")
    assert "counts against" not in found["reasons"]["con"]


@pytest.mark.parametrize(
    ("detects", "words"),
    [
        ({"sloth": 0.5}, "`detects` names the weakness 'sloth'. Known: weak_evidence"),
        (1.5, "`detects` of a simulated judge is 1.5; it must be a rate from 0 to 1"),
        ({"weak_evidence": "often"}, "`detects` of a simulated judge is 'often'"),
        (True, "`detects` of a simulated judge is True"),
    ],
)
def test_a_rate_that_is_none_is_refused(detects: Any, words: str):
    member = MemberConfig(id="s1", provider="simulated", model="sim", parameters={"detects": detects})
    with pytest.raises(UsageError) as caught:
        make_provider(member, {})
    assert words in str(caught.value)
