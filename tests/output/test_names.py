"""Names of people in texts: replaced however they are written, and listed where only a reader can decide."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.output.export.names import Names
from debatebench.output.export.pseudonyms import PSEUDONYM

PEOPLE = {
    "Ann": "annotator-00000001",
    "Ann Lee": "annotator-00000002",
    "Jessica": "annotator-00000003",
    "José Núñez": "annotator-00000004",
    "a.b+c": "annotator-00000005",
    "I": "annotator-00000006",
    "李明": "annotator-00000007",
    "Vincent van Gogh": "annotator-00000008",
    "Will Stone": "annotator-00000009",
    "Søren Stone": "annotator-0000000a",
    "Işıl": "annotator-0000000b",
}
NAMES = Names(PEOPLE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ANN LEE and Ann met Annie; I saw A.B+C.", "2 and 1 met Annie; I saw 5."),
        ("axb+c a.b+cd", "axb+c a.b+cd"),
        ("Je\u017f\u017fica, JESSICA, jes\u00adsi\u200bca, \uff2a\uff45\uff53\uff53\uff49\uff43\uff41", "3, 3, 3, 3"),
        (normalize("NFD", "José, josé núñez. NÚÑEZ"), "4, 4. 4"),
        (normalize("NFC", "José, josé núñez. NÚÑEZ") + " Jose Nunez", "4, 4. 4 4"),
        ("Lee agrees; Lee, Ann; annlee; ann-lee; Ann_Lee", "2 agrees; 2, 1; 2; 2; 2"),
        ("我李明认为", "我7认为"),
        ("van Gogh; Vincent; a van", "van 8; 8; a van"),
        ("It will turn to stone, says Will", "It will turn to stone, says 9"),
        ("Stone or SØREN, Soren", "someone or a, a"),
        ("IŞIL, ışıl, isil", "b, b, b"),
        ("ann stays", "ann stays"),
    ],
)
def test_a_name_is_found_however_it_is_written(text: str, expected: str) -> None:
    found = NAMES.without(text).replace("annotator ", "someone ").replace("annotator-", "").replace("0000000", "")
    assert found == expected


def reasons(text: str) -> dict[str, str]:
    return dict(NAMES.left_in(NAMES.without(text)))


def test_what_stays_is_listed_with_a_reason() -> None:
    assert reasons("ann and Annie, with Jessicas, annlee99 and will") == {
        "ann": "a short word of a name",
        "will": "a short word of a name",
        "Annie": "it contains a word of a name",
        "Jessicas": "it contains a word of a name",
        "annlee99": "it contains a word of a name",
    }
    assert reasons("me@x.org @me https://x.org/me") == dict.fromkeys(
        ("me@x.org", "@me", "https://x.org/me"), "an address"
    )
    assert reasons("J\u0435ssica") == {"J\u0435ssica": "its letters are of different scripts"}
    assert reasons("Jessica and José Núñez agree; nothing else is here.") == {}


def test_names_of_people_in_texts_of_others_are_listed() -> None:
    assert [words for words, _ in NAMES.named_in("Jessica will say: Stone or Lee. Éric, ann.")] == ["Jessica", "Lee"]


def test_without_people_nothing_changes() -> None:
    assert Names({}).without("Ann Lee") == "Ann Lee"
    assert list(Names({"I": "annotator-1", "!": "annotator-2"}).left_in("I!")) == []


@given(
    st.text(), st.text(), st.sampled_from(["Jessica", "José Núñez", "Vincent"]), st.sampled_from(["NFC", "NFD", "NFKD"])
)
def test_no_text_around_a_name_hides_it_or_breaks_the_export(before: str, after: str, name: str, form: str) -> None:
    text = f"{before} {normalize(form, name)} {after}"
    assert normalize(form, name) not in NAMES.without(text)


@given(st.text())
def test_a_text_without_letters_of_names_stays_as_it_was(text: str) -> None:
    only = Names({"Jessica": "annotator-00000003"})
    if not list(only.named_in(text)):
        assert only.without(text) == text


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text())
def test_of_any_names_none_is_left_and_what_is_told_stands_in_the_text(names: list[str], text: str) -> None:
    of_all = Names({name: f"annotator-{number:08x}" for number, name in enumerate(names)})
    whole = f"{text} {' '.join(names)}"
    without = of_all.without(whole)
    rest = PSEUDONYM.sub(" ", without)
    assert list(of_all.named_in(rest)) == []
    assert all(words in whole for words, _ in of_all.named_in(whole))
    assert all(words in rest for words, _ in of_all.left_in(without))
