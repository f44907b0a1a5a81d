"""Text from outside: a terminal runs none of it, nothing in it is hidden, and a spreadsheet evaluates none of it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.shared.visible_text import cut, is_hidden, plain_name, shortened, spreadsheet_safe, visible, width

HIDDEN = {
    "a control": "\x1b",
    "a control of ISO 6429": "\x9b",
    "a carriage return": "\r",
    "a bidi control": "\u202e",
    "an Arabic letter mark": "\u061c",
    "a zero-width space": "\u200b",
    "a zero-width non-joiner": "\u200c",
    "a zero-width joiner": "\u200d",
    "a word joiner": "\u2060",
    "an invisible plus": "\u2064",
    "a byte-order mark": "\ufeff",
    "a soft hyphen": "\u00ad",
    "a grapheme joiner": "\u034f",
    "a Hangul filler": "\u3164",
    "a halfwidth Hangul filler": "\uffa0",
    "a Mongolian vowel separator": "\u180e",
    "a Mongolian selector": "\u180b",
    "a variation selector": "\ufe00",
    "a selector for emoji": "\ufe0f",
    "an ideographic selector": "\U000e0100",
    "a tag": "\U000e0041",
    "an annotation": "\ufff9",
    "a line separator": "\u2028",
    "a paragraph separator": "\u2029",
    "half a surrogate pair": "\ud83d",
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_what_has_no_shape_is_shown(kind: str) -> None:
    shown = visible(f"gpt{HIDDEN[kind]}4")
    assert len(shown) == 5
    assert not any(map(is_hidden, shown))


@pytest.mark.parametrize(
    "text",
    [
        "naïve – “quoted” … 100 %",
        "日本語 한국어 हिन्दी עברית",
        "می\u200cخواهم",
        "र\u094d\u200dय and र\u200d\u094dय",
        "❤\ufe0f 1\ufe0f\u20e3 👩\U0001f3fd\u200d💻 🏳\ufe0f\u200d🌈 🤷\u200d♂\ufe0f 🙂\u200d↔\ufe0f ‼\ufe0f",
        "\u0601 \u06dd",
        "e\u0301 \ufffd ␛",
    ],
)
def test_the_text_of_every_script_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_joiners_where_no_script_needs_them_are_shown() -> None:
    assert visible("ab\u200dc\u200c") == "ab�c�"
    assert visible("\u200d❤\ufe0f\ufe0f\ufe0f") == "�❤\ufe0f��"
    assert visible("👩\u200d\u200d💻") == "👩��💻"
    assert visible("م\u200c\u200cم") == "م��م"


def test_tags_behind_a_flag_are_shown_because_they_can_spell_any_text() -> None:
    assert visible("🏴\U000e0067\U000e007f") == "🏴��"


def test_the_layout_of_a_speech_can_be_kept() -> None:
    assert visible("a\r\nb\tc\x00\x0b\u202e", keep_lines=True) == "a\nb\tc␀␋�"
    assert visible("a\nb\t") == "a␊b␉"


@given(st.text())
def test_each_character_has_one_sign_and_what_is_visible_stays(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert visible(shown) == shown
    assert all(sign == character for sign, character in zip(shown, text, strict=True) if not is_hidden(character))
    assert not set(shown) & set(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))


@given(st.text(alphabet=st.sampled_from("a\u200d\u200c\ufe0f\u200b\U000e0041"), min_size=1))
def test_nothing_is_hidden_between_latin_letters(text: str) -> None:
    assert not any(map(is_hidden, visible(text)))


def test_shortened_text_ends_in_an_ellipsis() -> None:
    assert shortened("abcd", 4) == "abcd"
    assert shortened("abcde", 4) == "abc…"


def test_a_terminal_has_two_columns_for_wide_characters_and_none_for_marks() -> None:
    assert [width(text) for text in ("ab", "日本", "e\u0301", "é", "👩\u200d💻", "�", "␛–…")] == [2, 4, 1, 1, 2, 1, 3]


@given(st.text(alphabet="aé日\u0301👩❤\u200d\ufe0f"), st.integers(1, 12))
def test_cut_text_fits(text: str, columns: int) -> None:
    shown = cut(visible(text), columns)
    assert width(shown) <= max(columns, 1)
    assert shown == visible(text) or shown.endswith("…")


@pytest.mark.parametrize(
    "start", [*"=+-@", *"＝＋－＠", "\t", "\n", "\r", " =", "\n=", "\u00a0@", "\ufeff=", "\u200b＝"]
)
def test_a_spreadsheet_takes_no_text_for_a_formula(start: str) -> None:
    assert spreadsheet_safe(f"{start}1+cmd") == f"'{start}1+cmd"


@pytest.mark.parametrize("text", ["", "a=1", "sim-atlas", " a", "– a dash", "1-2", "'=1", "日本"])
def test_other_text_has_no_apostrophe(text: str) -> None:
    assert spreadsheet_safe(text) == text


def test_the_characters_of_a_newer_unicode_are_not_called_hidden() -> None:
    unassigned = "\U0001faff"
    assert unicodedata.category("\U000105ff") == "Cn"
    assert visible("\U000105ff" + unassigned) == "\U000105ff" + unassigned


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_name_has_no_hidden_characters(kind: str) -> None:
    # Separators of lines and paragraphs, and a carriage return, are white space between words.
    assert plain_name(f"gpt{HIDDEN[kind]}4") in ("gpt4", "gpt 4")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Jose\u0301", "Jos\u00e9"),
        ("  gpt\u00a0 4\t", "gpt 4"),
        ("\u212b", "\u00c5"),
        ("GPT-4", "GPT-4"),
        ("\u0627\u200c\u0628", "\u0627\u200c\u0628"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        (" \u200b ", ""),
    ],
)
def test_a_name_is_what_a_reader_sees(text: str, name: str) -> None:
    assert plain_name(text) == name


@given(st.text(st.sampled_from("aé \u0301\u200b\u200d\u094d\u0915\u0627\ufe0f❤\u00a0\n") | st.characters()))
def test_a_plain_name_is_its_own(text: str) -> None:
    name = plain_name(text)
    assert plain_name(name) == name
    assert unicodedata.is_normalized("NFC", name)
    for form in ("NFC", "NFD"):
        assert plain_name(unicodedata.normalize(form, text)) == name
