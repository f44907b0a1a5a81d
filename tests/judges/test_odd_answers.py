"""An answer that has one reading is read, whatever slips surround its values; no slip changes a score or the winner."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debatebench.config.answer_form import AnswerForm
from debatebench.config.types import DimensionConfig
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.mending import as_seen, mend
from debatebench.judges.parsing import ParsedAnswer, parse_answer

SCALE = DimensionConfig(min=1, max=10)
FORM = AnswerForm({"logic": SCALE, "clash": SCALE}, declares_winner=True, has_reasons=True)
ONE_SIDE = AnswerForm({"logic": SCALE}, ("pro",))
WINNER = AnswerForm({}, declares_winner=True)
TEAMS = AnswerForm({}, ("OG", "OO", "CG", "CO"), declares_winner=True)

SCORES = {"pro": {"logic": 8, "clash": 7}, "con": {"logic": 6, "clash": 5}}
VERDICT: dict[str, Any] = {
    "scores": SCORES,
    "winner": "pro",
    "reasons": {"pro": "Figures.", "con": "None.", "winner": "Pro had figures."},
}
OTHER = {**VERDICT, "winner": "con"}
X, Y = json.dumps(VERDICT), json.dumps(OTHER)
LINES = json.dumps(VERDICT, indent=2)
X_ALONE = json.dumps({"scores": SCORES, "winner": "pro"})
NO_WINNER = json.dumps({"scores": SCORES})
MOTTO = '"Pro had figures."'


def with_reason(text: str) -> str:
    """The verdict whose last reason is this piece of JSON."""
    return X.replace(MOTTO, f'"{text}"')


def in_string(text: str) -> str:
    return json.dumps(text)


def deep(text: str, wrappers: int) -> str:
    """The text within so many wrappers."""
    for _ in range(wrappers):
        text = f'{{"answer": {text}}}'
    return text


# What the answer is called, its text, and whether it is repaired; the scores and the winner are those of VERDICT.
READ: list[tuple[str, str, bool]] = [
    ("as it was asked for", X, False),
    ("over lines", LINES, False),
    ("blanks around", f" \r\n\t{X}\n\n", False),
    ("byte order mark", f"\ufeff{X}", False),
    ("seven hundred line feeds after it", X + "\n" * 700, False),
    ("after thinking", f"<think>maybe {Y}</think>{X}", False),
    ("other order of keys", json.dumps(dict(reversed(VERDICT.items()))), False),
    ("a whole number as a decimal", X.replace(": 8", ": 8.0"), False),
    ("a note as well", X[:-1] + ', "confidence": 0.9}', False),
    # Around the object.
    ("fence", f"```json\n{X}\n```", True),
    ("fence that is never closed", f"```json\n{X}", True),
    ("prose before", f"Here is my verdict: {X}", True),
    ("prose after", f"{X}\n\nI hope this helps!", True),
    ("one brace too many", f"{X}}}", True),
    ("zero-width space before", f"\u200b{X}", True),
    ("no-break space before", f"\xa0{X}", True),
    ("its name before it", f'"verdict": {X}', True),
    ("a tool call as text", f"<tool_call>{json.dumps({'name': 'verdict', 'arguments': VERDICT})}</tool_call>", True),
    ("twice on two lines", f"{X}\n{X}", True),
    ("twice without a blank", X + X, True),
    ("twice, once over lines", f"{X}\n{LINES}", True),
    ("twice, a number written otherwise", f"{X} {X.replace(': 8', ': 8.0')}", True),
    ("twice, keys in another order", f"{X} {json.dumps(dict(reversed(VERDICT.items())))}", True),
    ("in prose and in a fence", f"{X}\nAs JSON:\n```json\n{LINES}\n```", True),
    ("three times", f"{X}, {X}, {X}", True),
    # Within something else.
    ("list of one", f"[{X}]", True),
    ("list of one with a comma", f"[{X},]", True),
    ("list of the same", f"[{X}, {X}]", True),
    ("JSON in a JSON string", in_string(X), True),
    ("lines in a JSON string", in_string(LINES), True),
    ("a fence in a JSON string", in_string(f"```json\n{X}\n```"), True),
    ("a string in a string", in_string(in_string(X)), True),
    ("a JSON string over lines", f'"{LINES}"'.replace('"', '\\"')[1:-2] + '"', True),
    ("list of one string", json.dumps([X]), True),
    ("wrapper", f'{{"verdict": {X}}}', True),
    ("wrapper around a string", json.dumps({"arguments": X}), True),
    ("wrapper around a list of one", f'{{"verdicts": [{X}]}}', True),
    ("two wrappers", deep(X, 2), True),
    ("four wrappers", deep(X, 4), True),
    ("wrapper with a note", f'{{"confidence": 0.9, "verdict": {X}}}', True),
    ("wrapper with thoughts", f'{{"thoughts": "Pro or con?", "verdict": {X}}}', True),
    ("wrapper over lines in a fence", f"```\n{json.dumps({'verdict': VERDICT}, indent=1)}\n```", True),
    ("wrapper with slips", f'{{"verdict": {X},}}', True),
    # Slips in strings.
    ("line feed in a reason", with_reason("Pro had figures.\nCon had none."), True),
    ("carriage return in a reason", with_reason("Pro had figures.\r\nCon had none."), True),
    ("tab in a reason", with_reason("Pro:\tfigures"), True),
    ("NUL in a reason", with_reason("Pro\x00"), True),
    ("escape character in a reason", with_reason("\x1b[1mPro\x1b[0m"), True),
    ("dollar with a backslash", with_reason(r"It costs \$5."), True),
    ("apostrophe with a backslash", with_reason(r"Pro\'s figures"), True),
    ("star and underscore with a backslash", with_reason(r"\*very\* good\_job"), True),
    ("formula", with_reason(r"\alpha \% \(x\)"), True),
    ("bad Unicode escape", with_reason(r"\u12G4 and \x41"), True),
    ("backslash before a line feed", with_reason("one\\\ntwo"), True),
    ("braces and commas in a reason with slips", with_reason('{\\"scores\\": {,}}\n// no, /* not */ this'), True),
    # Blanks that are not JSON's.
    ("no-break spaces as indentation", LINES.replace("  ", "\xa0\xa0"), True),
    ("zero-width spaces between tokens", X.replace(": ", ":\u200b").replace(", ", ",\u200b"), True),
    ("byte order mark within", X.replace('"winner"', '\ufeff"winner"', 1), True),
    ("word joiner before a score", X.replace(": 8", ":\u20608"), True),
    ("ideographic space", X.replace(": ", ":\u3000"), True),
    ("line separator", X.replace(", ", ",\u2028"), True),
    ("vertical tab and form feed", X.replace(", ", ",\v\f"), True),
    ("a NUL between tokens", X.replace(", ", ",\x00"), True),
    ("zero-width space after the first brace", "{\u200b" + X[1:], True),
    ("zero-width space in a key", X.replace('"logic"', '"lo\u200bgic"'), True),
    ("byte order mark in a key", X.replace('"scores"', '"\ufeffscores"'), True),
    ("blank in a key", X.replace('"clash"', '"clash "'), True),
    ("soft hyphen in a key", X.replace('"winner": "pro"', '"win\xadner": "pro"'), True),
    ("zero-width space in the label", X.replace('"winner": "pro"', '"winner": "pro\u200b"'), True),
    ("no-break space in the label", X.replace('"winner": "pro"', '"winner": "\xa0pro"'), False),
    # Commas, comments, the last brace.
    ("trailing comma", X[:-1] + ",}", True),
    ("trailing comma and a line feed", X[:-1] + ",\n}", True),
    ("trailing commas everywhere", X.replace("}", ",}"), True),
    ("trailing comma in a list", X[:-1] + ', "notes": [1, 2,],}', True),
    ("comment to the end of a line", LINES.replace('"pro": {', '"pro": { // the first side'), True),
    ("comment after a score", LINES.replace("8,", "8, // was 9"), True),
    ("comment with a score", LINES.replace("8,", '8, // "logic": 9,'), True),
    ("comment with a brace and a quote", LINES.replace("8,", "8, // it's } \""), True),
    ("comment with a number sign", LINES.replace("8,", "8, # strong"), True),
    ("comment in a block", X.replace(": 8", ": /* of 10 */ 8"), True),
    ("comment in a block over lines", X.replace(": 8", ": /* of\n * 10 **/ 8"), True),
    ("comment first", "{ // my verdict\n" + X[1:], True),
    ("comment in a block first", "{/* my verdict */" + X[1:], True),
    ("comment last", X[:-1] + "\n// done\n}", True),
    ("last brace missing", X[:-1], True),
    ("last brace missing, over lines", LINES[:-1], True),
    ("last brace missing in a fence", f"```json\n{LINES[:-2]}\n```", True),
    ("last brace missing after prose", f"Here: {X[:-1]}", True),
    ("last brace missing after a number and a blank", X[:-1] + ', "confidence": 0.9\n', True),
    ("all at once", "\u200b```\n" + LINES.replace("8,", "8,// x").replace("}\n}", "},\n,}").replace(",\n,", ","), True),
]

# What the answer is called, its text, and a part of the reason why it is not read.
REFUSED: list[tuple[str, str, str]] = [
    ("empty", "", "no JSON object"),
    ("prose", "Pro wins, 8 to 6.", "no JSON object"),
    ("two that differ", f"{X}\n{Y}", "2 JSON objects"),
    ("draft and final", f'{{"scores": null}} {X}', "2 JSON objects"),
    ("the same and an empty one", f"{X} {{}}", "2 JSON objects"),
    ("the same, the second cut", f"{X} {X[:-1]}", "2 JSON objects"),
    ("the same, then one that is broken", f"{X} {X[:40]}", "2 JSON objects"),
    ("true for 1", f"{X.replace('8', '1')} {X.replace('8', 'true')}", "2 JSON objects"),
    ("list of two that differ", f"[{X}, {Y}]", "2 JSON objects"),
    ("list of two with slips", f"[{X}, {Y},]", "2 JSON objects"),
    ("list of an object and a number", f"[{X}, 7]", "not an object"),
    ("empty list", "[]", "not an object"),
    ("string", '"pro"', "not an object"),
    ("wrapper around two", f'{{"draft": {X}, "final": {Y}}}', "'pro' is missing"),
    ("wrapper that names another winner", f'{{"verdict": {X}, "winner": "con"}}', "'pro' is missing"),
    ("wrapper that gives other scores", f'{{"scores": {{"pro": {{}}}}, "verdict": {X}}}', "missing"),
    ("wrapper around a list of two", f'{{"verdicts": [{X}, {Y}]}}', "2 JSON objects"),
    ("five wrappers", deep(X, 5), "'pro' is missing"),
    ("two strings that differ in a wrapper", json.dumps({"a": X, "b": Y}), "'pro' is missing"),
    ("key twice", X.replace('"logic": 8', '"logic": 8, "logic": 9'), "more than once"),
    ("key twice, with slips", X.replace('"logic": 8', '"logic": 8, "logic": 9')[:-1] + ",}", "more than once"),
    ("key twice, once invisibly different", X.replace('"logic": 8', '"logic": 8, "lo\u200bgic": 9'), "more than once"),
    ("key twice in a string", in_string(X.replace('"logic": 8', '"logic": 8, "logic": 9')), "more than once"),
    ("NaN", X.replace("8", "NaN"), "not a number"),
    ("Infinity, with slips", X.replace("8", "-Infinity")[:-1] + ",}", "not a number"),
    ("beyond all numbers", X.replace("8", "1e999")[:-1] + ",}", "not a finite number"),
    ("score as a string", X.replace("8", '"8"'), "instead of a number"),
    ("score as a string, with slips", X.replace("8", '"8"')[:-1] + ",}", "instead of a number"),
    ("score as a boolean", X.replace("8", "true"), "instead of a number"),
    ("fraction", X.replace("8", "7.5"), "whole number"),
    ("out of range, with slips", X.replace("8", "11")[:-1] + ",}", "the scale is"),
    ("digits apart", X.replace("8", "1\u200b0"), "not well-formed"),
    ("digits apart by a comment", X.replace("8", "1/**/0"), "not well-formed"),
    ("decimal comma", X.replace("8", "7,5"), "not well-formed"),
    ("share of ten", X.replace("8", "8/10"), "not well-formed"),
    ("leading zero", X.replace("8", "08"), "not well-formed"),
    ("plus sign", X.replace("8", "+8"), "not well-formed"),
    ("full-width digit", X.replace("8", "\uff18"), "not well-formed"),
    ("hexadecimal", X.replace("8", "0x8"), "not well-formed"),
    ("two commas", X.replace(", ", ",, ", 1), "not well-formed"),
    ("comma first", "{," + X[1:], "no JSON object"),
    ("comma missing", X.replace(', "winner"', ' "winner"'), "not well-formed"),
    ("unquoted key", X.replace('"winner": "pro"', 'winner: "pro"'), "not well-formed"),
    ("single quotes", X.replace('"', "'"), "no JSON object"),
    ("quote in a reason", with_reason('the "best" side'), "not well-formed"),
    ("comment without an end", X.replace("8", "8 /* of 10"), "not well-formed"),
    ("comment that hides the rest", X.replace("8,", "8, //"), "not well-formed"),
    ("comment that hides the winner", LINES.replace('"winner": "pro"', '// "winner": "pro"'), "not well-formed"),
    ("two braces missing", X[:-2], "not well-formed"),
    ("last brace missing after a comma", X[:-1] + ",", "not well-formed"),
    ("last brace missing after a number", X[:-1] + ', "confidence": 0.9', "not well-formed"),
    ("last brace missing after a key", X[:-1] + ', "confidence"', "not well-formed"),
    ("last brace missing before the winner", NO_WINNER[:-1], "not well-formed"),
    ("last brace missing, prose after", X[:-1] + " I hope this helps!", "not well-formed"),
    ("last bracket missing", X[:-1] + ', "notes": [1, 2', "not well-formed"),
    ("brackets crossed", X[:-1] + ', "notes": [1, 2}]', "not well-formed"),
    ("first brace missing", X[1:], "2 JSON objects"),
    ("first brace missing, no reasons", X_ALONE[1:], "not well-formed"),
    ("a brace too many before the winner", X_ALONE.replace(', "winner"', '}, "winner"'), "not well-formed"),
    ("letter with a backslash in the label", X_ALONE.replace('"pro"}', r'"\pro"'), "names no winner"),
    ("label in a comment only", NO_WINNER[:-1] + ' /* "winner": "pro" */}', "names no winner"),
]  # fmt: skip


def read(text: str, form: AnswerForm = FORM) -> ParsedAnswer:
    return parse_answer(text, form)


def refusal(text: str, form: AnswerForm = FORM) -> str:
    with pytest.raises(InvalidVerdictError) as caught:
        parse_answer(text, form)
    return caught.value.reason


def read_or_none(text: str, form: AnswerForm = FORM) -> ParsedAnswer | None:
    try:
        return parse_answer(text, form)
    except InvalidVerdictError:
        return None


def test_the_table_has_every_answer_once() -> None:
    texts = [text for _, text, _ in READ] + [text for _, text, _ in REFUSED]
    assert len(set(texts)) == len(texts) >= 77


@pytest.mark.parametrize(("text", "is_repaired"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_an_answer_with_one_reading_is_read(text: str, is_repaired: bool) -> None:
    answer = read(text)
    assert answer.scores == SCORES
    assert answer.winners == ("pro",)
    assert answer.reasons.keys() == {"pro", "con", "winner"}
    assert answer.is_repaired == is_repaired


@pytest.mark.parametrize(("text", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_an_answer_with_several_readings_or_none_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (with_reason("one\ntwo"), "one\ntwo"),
        (with_reason(r"It costs \$5."), "It costs $5."),
        (with_reason(r"Pro\'s \*figures\*"), "Pro's *figures*"),
        (with_reason(r"\alpha is \"a\" \\ \u00e9"), r'\alpha is "a" \ é'),
        (with_reason(r"\u12G4 \x41"), r"\u12G4 \x41"),
        (with_reason("no\xa0break and zero\u200bwidth,}"), "no\xa0break and zero\u200bwidth,}"),
    ],
)
def test_a_text_stays_as_it_was_written(text: str, reason: str) -> None:
    assert read(text[:-1] + ",}").reasons["winner"] == reason


def test_an_answer_whose_last_brace_was_added_is_flagged() -> None:
    assert "brace_missing" in read(X[:-1]).flags
    assert "brace_missing" not in read(X[:-1] + ",}").flags


@pytest.mark.parametrize(
    ("form", "text", "scores", "winners"),
    [
        (ONE_SIDE, '{"scores": {"pro": {"logic": 8}},}', {"pro": {"logic": 8}}, ()),
        (ONE_SIDE, '{"result": {"pro": {"logic": 8}}}', {"pro": {"logic": 8}}, ()),
        (WINNER, '{"winner": "con" // clear\n}', {}, ("con",)),
        (WINNER, '[{"winner": "con"}]', {}, ("con",)),
        (WINNER, '{"winner": "con"', {}, ("con",)),
        (TEAMS, '{"winner": ["CO", "OG",],}', {}, ("OG", "CO")),
        (TEAMS, '{"winner": ["OG\u200b"]}', {}, ("OG",)),
    ],
)
def test_every_form_of_answer_is_read_so(form: AnswerForm, text: str, scores: Any, winners: Any) -> None:
    answer = read(text, form)
    assert (answer.scores, answer.winners, answer.is_repaired) == (scores, winners, True)


@pytest.mark.parametrize("text", ['{"reasons": {"winner": "pro"}}', '{"winner": "co', '{"winner": "c\\on"}', "{"])
def test_a_winner_is_never_guessed(text: str) -> None:
    refusal(text, WINNER)


def test_names_that_look_alike_are_matched_exactly() -> None:
    form = AnswerForm({"logic": SCALE, "lo\u200bgic": SCALE}, ("pro",))
    assert read('{"pro": {"logic": 8, "lo\u200bgic": 3}}', form).scores == {"pro": {"logic": 8, "lo\u200bgic": 3}}
    assert "missing" in refusal('{"pro": {"logic": 8, "log\u200bic": 3}}', form)


def test_a_name_is_found_however_its_accents_are_composed() -> None:
    form = AnswerForm({"clarte\u0301": SCALE, "می\u200cشود": SCALE}, ("pro",))
    answer = read('{"pro": {"clart\xe9": 8, "میشود": 3}}', form)
    assert answer.scores == {"pro": {"clarte\u0301": 8, "می\u200cشود": 3}}
    assert answer.is_repaired


@given(st.text())
def test_a_name_looks_like_itself(name: str) -> None:
    assert as_seen(as_seen(name)) == as_seen(name)


# --- mutations of a valid answer

WHOLE = st.integers(min_value=1, max_value=10)
NOTES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FRAGMENTS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
    "\r",
    " ",
    "\t",
    "\xa0",
    "\u200b",
    "\ufeff",
    "\x00",
    "```",
    "```json\n",
    "\\$",
    "\\n",
    "\\u",
    "null",
    "true",
    "NaN",
    "-",
    ".",
    "e",
    "<think>",
    "</think>",
    "a",
    "'",
    "{}",
    "[]",
    '""',
    '{"',
    '"}',
    "},",
    "}{",
    '": ',
    "// x\n",
    "/* x */",
    ",}",
    "\u202e",
    "\ud800",
]


@st.composite
def verdicts(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A valid verdict, with notes and reasons, and its text."""
    numbers = [draw(WHOLE) for _ in range(4)]
    winner = draw(st.sampled_from(["pro", "con", "tie"]))
    parts = {
        "scores": {
            "pro": {"logic": numbers[0], "clash": numbers[1]},
            "con": {"logic": numbers[2], "clash": numbers[3]},
        },
        "winner": winner,
        "reasons": {"pro": draw(NOTES), "con": "Weak.", "winner": draw(NOTES)},
        "remark": draw(NOTES),
    }
    names = draw(st.permutations(list(parts)))
    verdict = {name: parts[name] for name in names}
    return verdict, json.dumps(verdict, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans()))


def assert_same_if_read(verdict: dict[str, Any], text: str) -> None:
    """A text that came of a verdict is read as this verdict or not at all; a winner that was lost is flagged."""
    answer = read_or_none(text)
    if answer is None:
        return
    assert answer.scores == verdict["scores"]
    expected = ("pro", "con") if verdict["winner"] == "tie" else (verdict["winner"],)
    if answer.winners != expected:
        assert answer.winners == ()
        assert {"winner_missing", "winner_unknown"} & set(answer.flags)


def mutated(text: str, draw: random.Random, *, is_cut: bool) -> str:
    """The text with marks put in, lost or exchanged, and perhaps cut; no letter and no digit of it is changed."""
    for _ in range(draw.randint(0 if is_cut else 1, 3)):
        at = draw.randrange(len(text))
        if draw.random() < 0.5 and not text[at - 1 : at + 1].isdigit():
            text = text[:at] + draw.choice(FRAGMENTS) + text[at:]
        elif not text[at].isalnum():
            text = text[:at] + draw.choice(["", " ", ",", "\\", '"', "}"]) + text[at + 1 :]
    if not is_cut:
        return text
    first, last = draw.choice([0, draw.randrange(len(text) // 2)]), draw.randrange(len(text) // 2, len(text))
    return text[first : draw.choice([last, len(text)])] + draw.choice(["", "\n```"])


@pytest.mark.slow
@pytest.mark.parametrize("is_cut", [False, True])
@settings(max_examples=200, deadline=None)
@given(verdicts(), st.integers(0, 2**32))
def test_whatever_happens_to_the_marks_of_an_answer_changes_no_score_and_no_winner(
    is_cut: bool, stated: tuple[dict[str, Any], str], seed: int
) -> None:
    verdict, text = stated
    draw = random.Random(seed)
    for _ in range(50):
        assert_same_if_read(verdict, mutated(text, draw, is_cut=is_cut))


SPELLINGS: list[Callable[[int], str]] = [
    lambda n: f'"{n}"',
    lambda n: f"{n}.5",
    lambda n: f"{n}.0",
    lambda n: f"{n}e0",
    lambda n: f"0{n}",
    lambda n: f"+{n}",
    lambda n: f"-{n}",
    lambda n: f"{n}\u200b0",
    lambda n: f"{n}/* */0",
    lambda n: f"{n} 0",
    lambda n: f"{n},0",
    lambda n: f"{n}/10",
    lambda n: f"[{n}]",
    lambda n: f'{{"score": {n}}}',
    lambda n: f"{n}%",
    lambda n: f"{n} // {n + 1}\n",
    lambda n: f"/* {n + 1} */ {n}",
    lambda n: chr(0xFF10 + n % 10),
    lambda n: "true",
    lambda n: "null",
    lambda n: f"'{n}'",
    lambda n: f"{n}.",
    lambda n: f".{n}",
    lambda n: f"{n}_0",
    lambda n: f"0x{n}",
    lambda n: f"~{n}",
    lambda n: f"{n}-{n}",
    lambda n: f"{n} | {n}",
    lambda n: f"{n}\x00",
    lambda n: f"\\u003{n % 10}",
    lambda n: f"{n}: {n}",
    lambda n: f"<{n}>",
]


@pytest.mark.parametrize("first", SPELLINGS)
@settings(max_examples=40, deadline=None)
@given(verdicts(), st.sampled_from(SPELLINGS), st.booleans())
def test_a_score_that_is_written_otherwise_is_the_same_score_or_refused(
    first: Callable[[int], str], stated: tuple[dict[str, Any], str], second: Callable[[int], str], has_comma: bool
) -> None:
    verdict, _ = stated
    pro, con = verdict["scores"]["pro"], verdict["scores"]["con"]
    marked = {**verdict, "scores": {"pro": {**pro, "logic": "@A@"}, "con": {**con, "clash": "@B@"}}}
    text = json.dumps(marked).replace('"@A@"', first(pro["logic"])).replace('"@B@"', second(con["clash"]))
    if has_comma:
        text = text[:-1] + ",}"
    assert_same_if_read(verdict, text)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(verdicts(), verdicts(), st.sampled_from(["{} {}", "[{}, {}]", "[{}, {},]", '{{"a": {}, "b": {}}}', "{}, {}"]))
def test_two_objects_that_differ_are_never_read(
    first: tuple[dict[str, Any], str], second: tuple[dict[str, Any], str], layout: str
) -> None:
    answer = read_or_none(layout.format(first[1], second[1]))
    if first[0] != second[0]:
        assert answer is None
    elif not layout.startswith("{{"):
        assert answer is not None
        assert answer.scores == first[0]["scores"]


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(verdicts(), st.integers(0, 2**32))
def test_slips_that_change_no_value_are_mended_all_together(stated: tuple[dict[str, Any], str], seed: int) -> None:
    """Blanks, comments and trailing commas between any two tokens, a wrapper, a fence."""
    verdict, _ = stated
    draw = random.Random(seed)

    def slip() -> str:
        return draw.choice(["", "", " ", "\n", "\xa0", "\u200b", '// 1, "}\n', "/* { */", "# no\n"])

    def written(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        items = [f"{slip()}{json.dumps(key)}{slip()}:{slip()}{written(each)}{slip()}" for key, each in value.items()]
        return "{\n" + ",".join(items) + draw.choice(["", ","]) + slip() + "}"

    text = '{"note": "' + draw.choice(["", "\n", "\\$"]) + '",' + written(verdict)[2:]
    text = draw.choice([text, f"[{text}]", f'{{"verdict": {text}}}', f"```json\n{text}\n```", f"{text}\n{text}"])
    answer = read(text)
    assert answer.scores == verdict["scores"]
    assert answer.winners == (("pro", "con") if verdict["winner"] == "tie" else (verdict["winner"],))


# --- any text, in bounded time


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.sampled_from([X, Y, LINES, '"scores"', '"pro"', "7"]), max_size=30))
def test_no_text_raises_anything_but_a_refusal(pieces: list[str]) -> None:
    text = "".join(pieces)
    for form in (FORM, ONE_SIDE, WINNER, TEAMS):
        read_or_none(text, form)
    read_or_none(json.dumps(text))


@given(st.lists(st.sampled_from(FRAGMENTS)).map("".join))
def test_what_is_mended_is_not_mended_again(text: str) -> None:
    mended = mend(text)
    if mended is not None:
        again = mend(mended.text)
        assert again is not None
        assert again.is_closed
        assert again.text.split() == mended.text.split()


HOSTILE = [
    '{"' + '\\"' * 50_000,
    '{"a": "' + "\\$" * 50_000,
    '{"a": "' + "\\$" * 50_000 + '"',
    '{"a": ' + "/*" * 50_000,
    "{/*x}" * 20_000,
    "{//x}" * 20_000,
    "{//x\n" * 20_000,
    "{/*" * 33_000 + "*/",
    '{"a": ' + "/**/" * 25_000 + "}",
    '{"a": ' + "//\n" * 33_000 + "1,}",
    '{"a": ' + "#" * 100_000,
    "{" + "\u200b" * 100_000,
    "{\u200b" * 50_000,
    '{"a":1,}' * 12_500,
    '{"a":1,}{"b":2,}' * 6_000,
    '{"a":' * 20_000 + ",}" * 20_000,
    '{"a": [' + "[" * 50_000 + "]" * 50_000 + ",]}",
    '{"a": [' + "1," * 50_000 + "]}",
    '{"a": [' + "," * 100_000 + "]}",
    "{" * 100_000,
    "}" * 100_000,
    '"' * 100_000,
    '"{' * 50_000,
    '":' * 50_000 + X,
    X + '", ' * 33_000,
    json.dumps(json.dumps(json.dumps(json.dumps(json.dumps("{" * 5_000 + '"'))))),
    '[{"a":1},' * 11_000,
    "[" + ",".join(['{"a":1}'] * 12_500) + "]",
    "```" * 33_000,
    '{"a":1' + "```" * 33_000,
    '{"a": ' + "9" * 100_000 + ",}",
    '{"a": ' + "-" * 100_000 + ",}",
    "[" + ",".join(f'{{"a": {n}e{n}}}' for n in range(5_000)) + "]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_of_100_kb_takes_less_than_a_second_of_the_processor(text: str) -> None:
    start = process_time()
    read_or_none(text)
    assert process_time() - start < 1


def test_exact_decimals_survive_a_repair() -> None:
    form = AnswerForm({"logic": DimensionConfig(min="0.1", max=5)}, ("pro",))
    assert read('{"pro": {"logic": 0.1,},}', form).scores == {"pro": {"logic": Decimal("0.1")}}


def test_a_schema_has_the_dimensions_in_the_order_of_its_form() -> None:
    for names in (["logic", "clash"], ["clash", "logic"]):
        schema = AnswerForm(dict.fromkeys(names, SCALE), ("pro",)).schema()
        assert list(schema["properties"]["scores"]["properties"]["pro"]["properties"]) == names
