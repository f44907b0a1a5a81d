"""A judge's answer is read strictly, whatever it is made of."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debatebench.config.types import DimensionConfig
from debatebench.judges.answer_json import InvalidVerdictError, json_objects
from debatebench.judges.parsing import ParsedVerdict, parse_verdict
from debatebench.providers.thinking import split_thinking, strip_thinking

DIMENSIONS = {
    "clarity": DimensionConfig(min=1, max=10),
    "reasoning": DimensionConfig(min=1, max=10),
}
UNEVEN = {
    "clarity": DimensionConfig(min=0, max=100),
    "reasoning": DimensionConfig(min="0.5", max=5),
    "tone": DimensionConfig(min=-3, max=3),
}
GOOD = {
    "scores": {"pro": {"clarity": 7, "reasoning": 8}, "con": {"clarity": 6, "reasoning": 5}},
    "winner": "pro",
}
GOOD_TEXT = json.dumps(GOOD)


def parse(text: str, declares_winner: bool = True) -> ParsedVerdict:
    return parse_verdict(text, DIMENSIONS, declares_winner)


def with_score(literal: str) -> str:
    """A verdict whose first score is this piece of JSON."""
    return GOOD_TEXT.replace('"clarity": 7', f'"clarity": {literal}')


def scores_of(parsed: ParsedVerdict) -> dict[str, tuple[Decimal, Decimal]]:
    return {score.dimension: (score.pro, score.con) for score in parsed.scores}


def refusal(text: str, declares_winner: bool = True) -> str:
    with pytest.raises(InvalidVerdictError) as caught:
        parse(text, declares_winner)
    return caught.value.reason


def reason_against(text: str) -> str | None:
    """Why the text gives no vote; None when it gives one."""
    try:
        parse(text)
    except InvalidVerdictError as invalid:
        return invalid.reason
    return None


def test_clean_verdict_is_read_as_it_is() -> None:
    parsed = parse(GOOD_TEXT)
    assert scores_of(parsed) == {"clarity": (7, 6), "reasoning": (8, 5)}
    assert parsed.declared_winner == "pro"
    assert not parsed.is_repaired
    assert parsed.flags == ()


@pytest.mark.parametrize(
    "answer",
    [
        {"pro": {"scores": GOOD["scores"]["pro"]}, "con": {"scores": GOOD["scores"]["con"]}, "winner": "pro"},
        {"pro": GOOD["scores"]["pro"], "con": GOOD["scores"]["con"], "winner": "pro"},
        {"scores": {side: {"scores": GOOD["scores"][side]} for side in ("pro", "con")}, "winner": "pro"},
    ],
    ids=["scores within each side", "sides at the top", "scores at both levels"],
)
def test_other_shapes_that_can_mean_one_thing_only_are_read(answer: dict[str, Any]) -> None:
    assert parse(json.dumps(answer)) == parse(GOOD_TEXT)


def test_scores_given_in_two_places_are_refused() -> None:
    assert "both within and beside" in refusal(json.dumps({**GOOD, "pro": {"clarity": 1, "reasoning": 1}}))
    side = {**GOOD["scores"]["pro"], "scores": {"clarity": 1, "reasoning": 1}}
    assert "both within and beside" in refusal(json.dumps({"pro": side, "con": GOOD["scores"]["con"]}))


def test_a_dimension_may_be_called_scores() -> None:
    dimensions = {"scores": DimensionConfig(), "winner": DimensionConfig()}
    text = '{"pro": {"scores": 3, "winner": 4}, "con": {"scores": 5, "winner": 6}}'
    assert scores_of(parse_verdict(text, dimensions, False)) == {"scores": (3, 5), "winner": (4, 6)}


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD_TEXT}\n```",
        f"```\n{json.dumps(GOOD, indent=2)}\n```",
        f"Here is my verdict:\n{GOOD_TEXT}",
        f"{GOOD_TEXT}\n\nI hope this helps!",
        f'I weighed {{clarity}} and "reasoning" first.\n{GOOD_TEXT}\nThe scale was [1, 10].',
    ],
    ids=["json fence", "plain fence", "prose before", "prose after", "prose with braces and quotes"],
)
def test_one_object_in_a_fence_or_prose_is_repaired(text: str) -> None:
    parsed = parse(text)
    assert parsed.is_repaired
    assert parsed.scores == parse(GOOD_TEXT).scores
    assert parsed.declared_winner == "pro"


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD_TEXT}\n{GOOD_TEXT.replace('7', '8')}",
        f'First thoughts: {{"scores": null}}. Now the verdict: {GOOD_TEXT}',
        f'A draft with a slip: {{"scores": {{,}}}} and the verdict: {GOOD_TEXT}',
        f"{GOOD_TEXT} {{}}",
    ],
    ids=["two scores", "draft and final", "broken draft and final", "empty one after"],
)
def test_two_objects_are_refused(text: str) -> None:
    assert "2 JSON objects" in refusal(text)


@pytest.mark.parametrize("text", ["", "   ", "PRO wins, 8 to 7.", "null", "{clarity: 7}", "{'scores': {}}"])
def test_an_answer_without_an_object_is_refused(text: str) -> None:
    assert "no JSON object" in refusal(text)


@pytest.mark.parametrize("text", ["[1, 2]", f"[{GOOD_TEXT}, 1]", '"pro"', "7", "true"])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert "not an object" in refusal(text)


def test_no_part_of_a_broken_object_passes_for_the_whole() -> None:
    cut = GOOD_TEXT[: GOOD_TEXT.index(', "winner"')]
    assert "not well-formed" in refusal(cut)
    assert "not well-formed" in refusal(f"{{'a': {GOOD_TEXT}, \"b\"".replace("'", '"'))
    assert "no JSON object" in refusal(f"{{verdict: {GOOD_TEXT}}}")


def test_braces_and_quotes_within_strings_are_text() -> None:
    answer = json.dumps({**GOOD, "note": 'they said "}" and {"scores": {}} and \\'})
    assert parse(f"Verdict: {answer} Thanks.").scores == parse(GOOD_TEXT).scores


def test_thinking_before_the_verdict_is_not_part_of_it() -> None:
    parsed = parse(f'<think>maybe {{"scores": 1}}?</think>\n{GOOD_TEXT}')
    assert parsed.scores == parse(GOOD_TEXT).scores
    assert not parsed.is_repaired


def test_a_thinking_tag_within_a_json_string_is_text() -> None:
    assert parse(json.dumps({**GOOD, "note": "<think> is not closed here"})).scores == parse(GOOD_TEXT).scores


def test_byte_order_mark_and_blanks_around_the_object_are_no_repair() -> None:
    assert parse(f"\ufeff\n  {GOOD_TEXT}\r\n") == parse(GOOD_TEXT)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e400"])
def test_a_number_that_is_not_finite_is_refused(literal: str) -> None:
    assert "number" in refusal(with_score(literal))
    # Also where nobody would look: other readers of the same text would still stumble over it.
    assert "number" in refusal(GOOD_TEXT[:-1] + f', "confidence": {literal}}}')


@pytest.mark.parametrize("literal", ["1e99999999999999999999", "1e-99999999999999999999", "1e-400000000", "7" * 5000])
def test_a_number_beyond_all_measure_is_refused(literal: str) -> None:
    refusal(with_score(literal))


@pytest.mark.parametrize(
    ("literal", "told"),
    [
        ('"7"', '"7" instead of a number'),
        ("true", "true instead of a number"),
        ("false", "false instead of a number"),
        ("null", "null instead of a number"),
        ("[7]", "a list instead of a number"),
        ('{"value": 7}', "an object instead of a number"),
        ("7.5", "7.5 instead of a whole number"),
        ("0", "is 0; the scale is 1 to 10"),
        ("11", "is 11; the scale is 1 to 10"),
        ("-7", "is -7; the scale is 1 to 10"),
        ("10.000001", "is 10.000001; the scale is 1 to 10"),
        ("1e2", "the scale is 1 to 10"),
    ],
)
def test_a_score_that_is_not_on_the_scale_is_refused_and_named(literal: str, told: str) -> None:
    reason = refusal(with_score(literal))
    assert told in reason
    assert "pro on 'clarity'" in reason


@pytest.mark.parametrize("literal", ["7", "7.0", "70e-1", "0.7e1", "7.00000000000000000000000000000000000000000000"])
def test_every_way_to_write_seven_is_seven(literal: str) -> None:
    parsed = parse(with_score(literal))
    assert parsed.scores[0].pro == 7
    assert str(parsed.scores[0].pro) == "7"


def test_each_dimension_has_its_own_scale() -> None:
    text = (
        '{"pro": {"clarity": 100, "reasoning": 0.5, "tone": -3}, "con": {"clarity": 0, "reasoning": 4.25, "tone": -0}}'
    )
    parsed = parse_verdict(text, UNEVEN, False)
    assert scores_of(parsed) == {
        "clarity": (100, 0),
        "reasoning": (Decimal("0.5"), Decimal("4.25")),
        "tone": (-3, 0),
    }
    assert str(parsed.scores[2].con) == "0"
    with pytest.raises(InvalidVerdictError, match="six decimals"):
        parse_verdict(text.replace("4.25", "4.2500001"), UNEVEN, False)
    with pytest.raises(InvalidVerdictError, match="whole number"):
        parse_verdict(text.replace("100", "99.5"), UNEVEN, False)


def test_scores_are_exact_where_floats_are_not() -> None:
    dimensions = {"d": DimensionConfig(min="0.1", max="0.9")}
    parsed = parse_verdict('{"pro": {"d": 0.1}, "con": {"d": 0.3}}', dimensions, False)
    assert parsed.scores[0].pro + parsed.scores[0].pro + parsed.scores[0].pro == Decimal("0.3") == parsed.scores[0].con


@pytest.mark.parametrize("side", ["pro", "con"])
def test_a_missing_dimension_or_side_is_refused(side: str) -> None:
    without_side = {"scores": {s: v for s, v in GOOD["scores"].items() if s != side}}
    assert f"'{side}' is missing" in refusal(json.dumps(without_side))
    without_dimension = json.loads(GOOD_TEXT)
    del without_dimension["scores"][side]["reasoning"]
    assert f"the score of {side} on 'reasoning' is missing" in refusal(json.dumps(without_dimension))


def test_names_match_exactly() -> None:
    assert "'clarity' is missing" in refusal(GOOD_TEXT.replace("clarity", "Clarity"))
    assert "'pro' is missing" in refusal(GOOD_TEXT.replace('"pro": {', '"PRO": {'))


@pytest.mark.parametrize("literal", ['"high"', "7", "[]", "null"])
def test_a_side_that_is_no_object_is_refused(literal: str) -> None:
    assert "instead of an object" in refusal(f'{{"scores": {{"pro": {literal}, "con": {{}}}}}}')
    assert "instead of an object" in refusal(f'{{"scores": {literal}}}')


def test_extra_dimensions_and_sides_are_ignored_and_flagged() -> None:
    answer = json.loads(GOOD_TEXT)
    answer["scores"]["con"]["charm"] = "very"
    answer["scores"]["chair"] = {"clarity": 10}
    answer["rationale"] = "PRO answered more."
    parsed = parse(json.dumps(answer))
    assert parsed.scores == parse(GOOD_TEXT).scores
    assert parsed.flags == ("extra_side", "extra_dimension")


@pytest.mark.parametrize(
    "text",
    [
        GOOD_TEXT.replace('"clarity": 7', '"clarity": 7, "clarity": 7'),
        GOOD_TEXT[:-1] + ', "winner": "con"}',
        GOOD_TEXT[:-1] + ', "notes": {"a": 1, "a": 2}}',
        f"Verdict: {GOOD_TEXT[:-1]}, {GOOD_TEXT[1:]}",
    ],
    ids=["score", "winner", "within an extra", "in prose"],
)
def test_a_key_that_comes_twice_is_refused(text: str) -> None:
    assert "more than once" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"scores":' + "[" * 100_000 + "]" * 100_000 + "}",
        "Verdict: " + '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
    ids=["brackets", "open objects", "closed list", "closed objects in prose"],
)
def test_deep_nesting_is_refused(text: str) -> None:
    refusal(text)


def test_hostile_text_is_read_in_linear_time() -> None:
    # Each of these takes minutes where a quote or a brace makes the reader start over.
    for text in (
        '{"' + '\\"' * 1_000_000,
        '"\\' * 1_000_000,
        "{ " * 1_000_000,
        "<think>" * 500_000,
        '{"a"} ' * 200_000,
    ):
        refusal(text)
    keys = ",".join(f'"{number}":1' for number in range(200_000))
    assert "'pro' is missing" in refusal(f"{{{keys}}}")


def test_odd_characters_do_not_matter() -> None:
    parsed = parse(GOOD_TEXT[:-1] + ', "note": "\\ud800 \\u0000 \u202e \U0001f600"}')
    assert parsed.scores == parse(GOOD_TEXT).scores
    reason = refusal(with_score('"\\ud800"'))
    assert reason.encode("utf-8")


def test_a_reason_stays_short() -> None:
    assert len(refusal(with_score('"' + "x" * 1_000_000 + '"'))) < 200
    assert len(refusal(with_score("9" * 1_000_000))) < 200


@pytest.mark.parametrize(
    ("label", "winner", "flags"),
    [
        ('"pro"', "pro", ()),
        ('"CON"', "con", ()),
        ('" Tie "', "tie", ()),
        ('"Draw"', "tie", ()),
        ('"pro side"', None, ("winner_unknown",)),
        ('""', None, ("winner_unknown",)),
        ("1", None, ("winner_unknown",)),
        ('["pro"]', None, ("winner_unknown",)),
        ("null", None, ("winner_missing",)),
    ],
)
def test_the_winner_label_is_read_apart_from_the_scores(label: str, winner: str | None, flags: tuple[str, ...]) -> None:
    parsed = parse(GOOD_TEXT.replace('"winner": "pro"', f'"winner": {label}'))
    assert parsed.declared_winner == winner
    assert parsed.flags == flags
    assert parsed.scores == parse(GOOD_TEXT).scores


def test_a_missing_winner_label_leaves_the_scores_valid() -> None:
    parsed = parse(json.dumps({"scores": GOOD["scores"]}))
    assert parsed.declared_winner is None
    assert parsed.flags == ("winner_missing",)


def test_a_winner_that_was_not_asked_for_does_not_count() -> None:
    parsed = parse(GOOD_TEXT, declares_winner=False)
    assert parsed.declared_winner is None
    assert parsed.flags == ("winner_not_asked",)
    assert parse(json.dumps({"scores": GOOD["scores"]}), declares_winner=False).flags == ()


def test_a_declared_winner_may_contradict_the_scores() -> None:
    assert parse(GOOD_TEXT.replace('"winner": "pro"', '"winner": "con"')).declared_winner == "con"


def test_objects_in_a_text_are_found_one_by_one() -> None:
    assert list(json_objects('a {"x": {"y": 1}} b {} {z} c {"u": "}"} d {"open": 1')) == [
        '{"x": {"y": 1}}',
        "{}",
        '{"u": "}"}',
        '{"open": 1',
    ]


TAGS = [
    "<think>", "</think>", "<reasoning>", "</reasoning>", "[THINK]", "[/THINK]", "<seed:think>", "</seed:think>",
    "<|channel|>", "<|message|>", "<|end|>", "<|start|>assistant", "analysis", "final", "a speech", " ", "\n",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>plan</think>speech", "speech"),
        ("<THINKING>plan</Thinking>speech", "speech"),
        ("a<think>1</think>b<thinking>2</thinking>c", "abc"),
        ("speech<think>never closed", "speech"),
        ("plan that the template opened</think>speech", "speech"),
        ("<think>I should avoid the <think> tag</think>speech", "speech"),
        ("<think>one\ntwo</thinking>\nspeech", "\nspeech"),
        ("<think></think>", ""),
        ("if a <thinker> thinks", "if a <thinker> thinks"),
        ("<reasoning>plan</reasoning>speech", "speech"),
        ("\n<thought>plan</thought>\nspeech", "\nspeech"),
        ("<seed:think>plan</seed:think>speech", "speech"),
        ("[THINK]plan[/THINK]speech", "speech"),
        ("[THINK]plan[/THINK] <think>more</think>speech", " speech"),
        ("<reasoning>never closed", ""),
        ("They call it <reasoning>a plan</reasoning>.", "They call it <reasoning>a plan</reasoning>."),
        ("A <thought> and [THINK]a[/THINK] in the middle", "A <thought> and [THINK]a[/THINK] in the middle"),
        ("a [1] is no tag", "a [1] is no tag"),
        (
            "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>speech<|return|>",
            "speech",
        ),
        ("<|start|>assistant<|channel|>final <|constrain|>json<|message|>{}<|end|>", "{}"),
        ("<|channel|>analysis<|message|>cut in mid", ""),
        ("<|channel|>final<|message|>", ""),
        ("A speech on <|channel|>final<|message|> tokens", "A speech on <|channel|>final<|message|> tokens"),
    ],
)
def test_thinking_is_taken_out(text: str, left: str) -> None:
    assert strip_thinking(text) == left


@pytest.mark.parametrize(
    ("text", "thinking"),
    [
        ("plain", ""),
        ("a<think> 1 </think>b<thinking>2</thinking>c", "1\n\n2"),
        ("the template opened it</think>speech", "the template opened it"),
        ("<think></think>speech", ""),
        ("<reasoning>plan</reasoning>speech", "plan"),
        ("[THINK]never closed", "never closed"),
        ("<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>speech", "plan"),
    ],
)
def test_thinking_is_kept_apart(text: str, thinking: str) -> None:
    assert split_thinking(text)[1] == thinking


@given(st.text() | st.text(alphabet="<>/[]|think THINKchanelmsgfi:.\n") | st.lists(st.sampled_from(TAGS)).map("".join))
def test_nothing_is_added_to_what_a_model_wrote(text: str) -> None:
    answer, thinking = split_thinking(text)
    assert strip_thinking(text) == answer
    assert len(answer) + len(thinking) <= len(text) + 2 * text.count("<") + 2 * text.count("[")
    if not any(mark in text for mark in "<["):
        assert (answer, thinking) == (text, "")


@settings(max_examples=300)
@given(st.text() | st.text(alphabet='{}[]":,\\ \n0123456789eE.-+truefalsnINy<>/thik'))
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    for candidate in (text, GOOD_TEXT + text, text + GOOD_TEXT, GOOD_TEXT.replace("7", text), f"```json\n{text}\n```"):
        assert 0 < len(reason_against(candidate) or "valid") < 300


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
WHOLE = st.integers(min_value=1, max_value=10)


@settings(max_examples=200)
@given(
    st.tuples(WHOLE, WHOLE, WHOLE, WHOLE),
    st.sampled_from(["pro", "con", "tie"]),
    st.dictionaries(
        st.text().filter(lambda key: key not in ("scores", "pro", "con", "winner")), JSON_VALUES, max_size=3
    ),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_valid_json_is_read_exactly_as_it_was_said(
    numbers: tuple[int, int, int, int], winner: str, extras: dict[str, Any], indent: int | None, is_fenced: bool
) -> None:
    pro_clarity, pro_reasoning, con_clarity, con_reasoning = numbers
    answer = {
        **extras,
        "scores": {
            "pro": {"clarity": pro_clarity, "reasoning": pro_reasoning},
            "con": {"clarity": con_clarity, "reasoning": con_reasoning},
        },
        "winner": winner,
    }
    text = json.dumps(answer, indent=indent, ensure_ascii=bool(indent))
    parsed = parse(f"```json\n{text}\n```" if is_fenced else text)
    assert scores_of(parsed) == {"clarity": (pro_clarity, con_clarity), "reasoning": (pro_reasoning, con_reasoning)}
    assert parsed.declared_winner == winner
    assert parsed.flags == ()


@settings(max_examples=200)
@given(JSON_VALUES)
def test_only_a_whole_number_on_the_scale_is_a_score(value: Any) -> None:
    text = with_score(json.dumps(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 1 <= value <= 10 and value == int(value):
        assert parse(text).scores[0].pro == Decimal(repr(value))
    else:
        refusal(text)


@given(st.decimals(min_value="0.5", max_value=5, places=6))
def test_a_fraction_is_kept_to_its_last_digit(value: Decimal) -> None:
    text = f'{{"pro": {{"d": {value}}}, "con": {{"d": {value}}}}}'
    parsed = parse_verdict(text, {"d": DimensionConfig(min="0.5", max=5)}, False)
    assert parsed.scores[0].pro == parsed.scores[0].con == value
