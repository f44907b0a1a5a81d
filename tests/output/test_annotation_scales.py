"""Scores on every kind of scale in a browser: what is pressed or clicked is what lands."""

from __future__ import annotations

from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from annotating import TAG, AnnotationServer, full_form, made_records, made_workspace
from imported import land_records
from test_annotation_page import at, opened, records_of, wait_for_status

from debatebench.landing.land import create_raw_tables
from debatebench.shared.records import Dimension

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra `annotate` is not installed"),
]

SCALES: dict[str, tuple[str, str, str | None]] = {
    "from_0_to_5": ("0", "5", None),
    "from_0_to_10": ("0", "10", "1"),
    "from_1_to_3": ("1", "3", "1"),
    "from_1_to_15": ("1", "15", "1"),
    "from_0_to_100": ("0", "100", "1"),
    "from_50_to_100": ("50", "100", "1"),
    "from_0_to_1000": ("0", "1000", "1"),
    "from_minus_5_to_5": ("-5", "5", "1"),
    "halves": ("0", "5", "0.5"),
    "halves_of_50_to_100": ("50", "100", "0.5"),
    "any_number": ("0", "1", "0.000001"),
}
"""Dimension → the ends and the step of its scale; a scale that says no step is one of an older version."""
BUTTONS = ("from_0_to_5", "from_0_to_10", "from_1_to_3", "from_minus_5_to_5", "halves")
PRESSED = {
    "from_1_to_15": [("12", 12), ("1", 1), ("15", 15)],
    "from_0_to_100": [("0", 0), ("7", 7), ("100", 100)],
    "from_50_to_100": [("75", 75), ("50", 50), ("100", 100)],
    "from_0_to_1000": [("100.0", 100), ("1000", 1000)],
    "halves_of_50_to_100": [("77.5", 77.5), ("77,5", 77.5), ("80", 80)],
    "any_number": [("0.1", 0.1), (".123456", 0.123456), ("1", 1)],
}
"""On scales without buttons: the keys that are pressed, and the score."""
REFUSED = {
    "from_1_to_15": ["0", "16", "1.5", "-1", "x"],
    "from_50_to_100": ["5", "101"],
    "from_0_to_1000": ["1,000", "1.000", "1001"],
    "halves_of_50_to_100": ["77.2", "77,500"],
    "any_number": ["0.1234567", "1.1", "1e-1"],
}


def dimensions(names: dict[str, tuple[str, str, str | None]]) -> list[Dimension]:
    return [
        Dimension.model_validate(
            {
                "run_tag": TAG,
                "dimension": name,
                "source_position": position,
                "min_score": low,
                "max_score": high,
                "step": step,
            }
        )
        for position, (name, (low, high, step)) in enumerate(names.items())
    ]


def ask(page: Page, question: str) -> None:
    """Give the question the focus, as a person does who comes from elsewhere."""
    page.evaluate("() => document.activeElement.blur()")
    page.locator(f'[data-question="{question}"] input').first.focus()


def hint_of_keys(page: Page, question: str) -> Locator:
    return page.locator("fieldset", has=page.locator(f'[data-question="{question}"]')).locator(".keys-here")


def score(page: Page, question: str) -> float | None:
    found: float | None = page.evaluate(
        """async (question) => {
            const address = document.querySelector("script[type=module]").src.replace("annotation.js", "answers.js");
            const [dimension, side] = question.split(".");
            return (await import(address)).read().scores[dimension]?.[side] ?? null;
        }""",
        question,
    )
    return found


def test_what_is_pressed_or_clicked_is_what_lands_on_every_scale(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=1, dimensions=dimensions(SCALES))
    expected: dict[str, dict[str, Decimal]] = {name: {} for name in SCALES}
    with AnnotationServer(workspace) as server, opened(browser, at(server)) as page:
        for name in BUTTONS:
            low, high, step = (Decimal(each or "1") for each in SCALES[name])
            scores = [low + step * place for place in range(int((high - low) / step) + 1)]
            shown = page.locator(f'[data-question="{name}.pro"] input[type=radio]')
            assert [Decimal(each.get_attribute("value") or "") for each in shown.all()] == scores
            for each in (*scores, low):
                ask(page, f"{name}.pro")
                page.keyboard.type(f"{each.normalize() + 0:f}")
                assert score(page, f"{name}.pro") == float(each), (name, each)
            expected[name]["pro"] = low
            page.locator(f'[data-question="{name}.con"] label').last.click()
            expected[name]["con"] = high
        for name, pressed in PRESSED.items():
            assert page.locator(f'[data-question="{name}.pro"] input[type=radio]').count() == 0
            assert score(page, f"{name}.pro") is None
            for keys, value in pressed:
                ask(page, f"{name}.pro")
                page.keyboard.type(keys)
                assert score(page, f"{name}.pro") == value, (name, keys)
                expected[name]["pro"] = Decimal(str(value))
            # A click on the slider chooses where it is clicked, also where it stands without a score: in the middle.
            slider = page.locator(f'[data-question="{name}.con"] .slider')
            box = slider.bounding_box()
            assert box is not None
            slider.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
            low, high, _ = SCALES[name]
            assert score(page, f"{name}.con") is not None
            assert abs(float(score(page, f"{name}.con") or 0) - (float(low) + float(high)) / 2) <= 0.51
            slider.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
            assert score(page, f"{name}.con") == float(high)
            page.keyboard.press("ArrowLeft")
            field = page.locator(f'[data-question="{name}.con"] .number')
            field.press("ArrowUp")
            field.press("Shift+ArrowDown")
            notch = Decimal(field.get_attribute("data-notch") or "")
            expected[name]["con"] = Decimal(high) - 10 * notch
            assert field.input_value() == f"{expected[name]['con'].normalize() + 0:f}"
        page.locator('[data-question="is_coherent"] input').first.check()
        page.locator('[data-question="winner"] input').first.check()
        page.locator('[data-question="confidence"] input').first.check()
        page.locator("#justification").fill("Every scale.")
        wait_for_status(page, "Saved.")
        page.reload()
        for name, sides in expected.items():
            for side, value in sides.items():
                assert score(page, f"{name}.{side}") == float(value), (name, side)
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => !document.getElementById('form')")
        overview = page.locator("main").inner_text()
        assert "1 0, one key after the other, for 10" in overview
    with duckdb.connect() as con:
        create_raw_tables(con)
        land_records(con, TAG, [*made_records(debates=1), *records_of(workspace)])
        ((landed,),) = con.execute("select scores from raw.annotations where annotator_id = 'ann'").fetchall()
    assert {each["dimension"]: {"pro": each["pro"], "con": each["con"]} for each in landed} == expected


def test_a_key_that_is_no_score_chooses_nothing_and_a_number_off_the_scale_is_not_saved(
    browser: Browser, tmp_path: Path
):
    workspace = made_workspace(tmp_path / "w", debates=1, dimensions=dimensions(SCALES))
    with AnnotationServer(workspace) as server, opened(browser, at(server)) as page:
        for name, keys, value in (
            ("from_1_to_3", "7", None),
            ("from_1_to_3", "2.5", None),
            ("from_minus_5_to_5", "-9", None),
            ("from_minus_5_to_5", "-", None),
            ("halves", "2.7", None),
            # Typed in one go, these are one number and not two.
            ("from_0_to_10", "100", None),
            ("from_0_to_10", "15", None),
            ("from_0_to_10", "50", None),
            ("from_0_to_10", "99.50", None),
            ("from_1_to_3", "10", None),
            ("from_1_to_3", "100", None),
            ("halves", "15", None),
            ("from_minus_5_to_5", "-34", None),
            ("from_0_to_10", "x+e", None),
            # Where each score is one key, each key is a choice.
            ("from_0_to_5", "34", 4),
        ):
            ask(page, f"{name}.pro")
            page.keyboard.type(keys)
            assert score(page, f"{name}.pro") == value, (name, keys)
        # A minus waits for its digit; a score does not.
        ask(page, "from_minus_5_to_5.con")
        page.keyboard.press("-")
        page.wait_for_timeout(1100)
        page.keyboard.press("3")
        assert score(page, "from_minus_5_to_5.con") == -3
        # It does not wait for ever, and another choice or a cleared answer ends it.
        keys_here = hint_of_keys(page, "from_minus_5_to_5.con")
        for between in ("ArrowRight", "Delete", None):
            ask(page, "from_minus_5_to_5.con")
            page.keyboard.press("-")
            assert keys_here.inner_text() == "− …"
            page.keyboard.press(between) if between else page.wait_for_timeout(4200)
            assert keys_here.inner_text() != "− …"
            page.keyboard.press("3")
            assert score(page, "from_minus_5_to_5.con") == 3, between
        ask(page, "from_0_to_10.con")
        page.keyboard.press("1")
        page.wait_for_timeout(1100)
        page.keyboard.press("0")
        assert score(page, "from_0_to_10.con") == 0
        # What is no score changes nothing, also where its first keys were one, and a key that is held is pressed once.
        ask(page, "from_0_to_10.con")
        page.keyboard.type("7")
        ask(page, "from_0_to_10.con")
        page.keyboard.type("100")
        assert score(page, "from_0_to_10.con") == 7
        keys_here = hint_of_keys(page, "from_0_to_10.con")
        assert keys_here.inner_text() == "100 is not on this scale, and nothing was chosen."
        page.wait_for_timeout(1100)
        page.keyboard.press("1")
        for _ in range(3):
            page.keyboard.down("0")
        page.keyboard.up("0")
        assert score(page, "from_0_to_10.con") == 10
        told: dict[str, str] = {}
        for name, texts in REFUSED.items():
            for text in texts:
                ask(page, f"{name}.pro")
                page.keyboard.type(text)
                page.keyboard.press("Enter")
                place = page.locator(f'[data-question="{name}.pro"]')
                assert score(page, f"{name}.pro") is None, (name, text)
                assert place.locator(".told").inner_text().startswith(f"“{text}” is not saved"), (name, text)
                assert place.locator(".number").get_attribute("aria-invalid") == "true"
                told[text] = place.locator(".told").inner_text().partition(" is not saved: ")[2]
        # Why a text is no score, and what is one.
        assert told["1,000"] == (
            "it can be read as 1000 or as 1; write 1000 or 1, and the scale has whole numbers from 0 to 1000."
        )
        assert told["1001"] == "the scale has whole numbers from 0 to 1000."
        wait_for_status(page, "Saved")
        kept = server.get(f"api/debates/{server.debate_keys()[0]}").data["form"]["scores"]
        assert not kept.keys() & REFUSED.keys()
        ask(page, "from_1_to_15.pro")
        page.keyboard.type("15")
        assert page.locator('[data-question="from_1_to_15.pro"] .told').inner_text() == ""
        page.locator('[data-question="from_1_to_15.pro"] .number').fill("")
        assert score(page, "from_1_to_15.pro") is None
        assert page.locator('[data-question="from_1_to_15.pro"] .slider.is-unset').count() == 1


@pytest.mark.parametrize("value", [True, "3", [3], 16, 0, 1.5, -1, 10**400, 1e300])
def test_a_score_off_the_scale_is_refused_with_words(tmp_path: Path, value: object):
    from debatebench.output.annotation.debates import read_material
    from debatebench.output.annotation.form import BadFormError, checked

    workspace = made_workspace(tmp_path / "w", debates=1, dimensions=dimensions(SCALES))
    (debate,) = read_material(workspace.database, TAG).debates
    form = full_form(scores={"from_1_to_15": {"pro": value}})
    with pytest.raises(BadFormError, match=r"scores\.from_1_to_15\.pro (is a number|takes whole numbers from 1 to 15)"):
        checked(form, debate)
    good = checked(full_form(scores={"from_1_to_15": {"pro": 15.0}, "halves": {"con": 2.5}}), debate)
    assert good["scores"] == {"from_1_to_15": {"pro": 15}, "halves": {"con": 2.5}}
    assert type(good["scores"]["from_1_to_15"]["pro"]) is int
