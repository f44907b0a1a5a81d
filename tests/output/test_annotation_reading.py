"""How a debate is read on the annotation page: long ones by keyboard only, in every script, as the judges had them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from annotating import QUESTIONS, AnnotationServer, full_form, read_workspace
from site_browser import line_edges, violations, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra `annotate` is not installed"),
]

ARABIC = "يجب أن تكون الجسور زرقاء (دائما)."
MIXED = (
    f"# Opening statement\n\n{ARABIC}\n1. السبب الأول.\n\nAnd in English again.\n\n"
    "- a point\n    - below\tit\n<b>bold</b>"
)
SENTENCE = "People like bridges that they can see from far away, and that is a reason for all of us. "
LONG = "\n\n".join(SENTENCE * 9 for _ in range(6))


@contextmanager
def opened(browser: Browser, server: AnnotationServer, **context: Any) -> Iterator[Page]:
    """The page of the only debate; nothing may go wrong on it."""
    with watched(browser, "http://127.0.0.1:", **context) as shown:
        page = shown.open(f"{server.url}debate/{server.debate_keys()[0]}")
        page.wait_for_selector("#form")
        yield page
        assert shown.problems() == []


def test_every_paragraph_has_its_own_direction_and_the_text_is_as_it_was_written(browser: Browser, tmp_path: Path):
    workspace = read_workspace(tmp_path / "w", [MIXED, f"{ARABIC}\n\nIn English.", " \n\t", "Short."])
    with AnnotationServer(workspace) as server:
        with opened(browser, server, viewport={"width": 1280, "height": 900}) as page:
            assert line_edges(page, ".text", "# Opening statement") == (True, False)
            assert line_edges(page, ".text", ARABIC) == (False, True)
            assert line_edges(page, ".text", "And in English again.") == (True, False)
            assert line_edges(page, "#speech-2 .text", ARABIC) == (False, True)
            assert line_edges(page, "#speech-2 .text", "In English.") == (True, False)
            # What judges saw as text is text: marks, blanks and line breaks stay, and nothing becomes an element.
            assert page.locator("#speech-1 .text").text_content() == MIXED
            assert page.locator("#speech-1 .text *").count() == 0
            assert page.locator("#speech-3").inner_text().split("\n")[-1] == "This speech is empty."
            assert page.locator(".hint", has_text="This speech is empty.").count() == 1
        (key,) = server.debate_keys()
        assert [each["text"] for each in server.get(f"api/debates/{key}").data["speeches"]][2] == " \n\t"
        reasons = f"Pro wins:\n{ARABIC}"
        assert server.hand_in(key, 0, full_form(justification=reasons)).status == 200
    with AnnotationServer(workspace, "eve", "--review") as server, opened(browser, server) as page:
        assert line_edges(page, ".text", "Pro wins:") == (True, False)
        box = page.locator(".text", has_text="Pro wins:")
        assert box.evaluate("e => getComputedStyle(e).unicodeBidi") == "plaintext"


def speech_read(page: Page) -> str:
    return page.locator("#reading").inner_text()


def wait_until_read(page: Page, words: str) -> None:
    page.wait_for_function("words => document.getElementById('reading').textContent.startsWith(words)", arg=words)


def focus_is_in(page: Page, selector: str) -> bool:
    return bool(page.evaluate("selector => document.activeElement.matches(`${selector} *, ${selector}`)", selector))


def test_twenty_long_speeches_are_read_and_judged_with_the_keyboard_only(browser: Browser, tmp_path: Path):
    workspace = read_workspace(tmp_path / "w", [f"{n}. {LONG}" for n in range(1, 21)])
    assert len(LONG.split()) >= 950
    with (
        AnnotationServer(workspace) as server,
        opened(browser, server, viewport={"width": 1280, "height": 900}) as page,
    ):
        press = page.keyboard.press
        scrolled = lambda: int(page.evaluate("Math.round(scrollY)"))  # noqa: E731
        wait_until_read(page, "Speech 1 of 20: Pro speech 1")
        # Going through the questions moves the form, and never the speeches.
        page.locator("#form").focus()
        for _ in range(10):
            press("Tab")
            assert scrolled() == 0
        assert focus_is_in(page, "#form")
        page.reload()
        wait_until_read(page, "Speech 1 of 20: Pro speech 1")
        # The list of speeches: open it, go to one, and read on.
        for _ in range(5):
            press("Tab")
            if focus_is_in(page, "#contents summary"):
                break
        press("Enter")
        assert page.locator("#contents a").count() == 20
        assert violations(page) == []
        press("Escape")
        assert page.locator("#contents nav").is_hidden()
        assert focus_is_in(page, "summary")
        press("Enter")
        for _ in range(7):
            press("Tab")
        press("Enter")
        wait_until_read(page, "Speech 7 of 20: Pro speech 4")
        assert focus_is_in(page, "#speech-7")
        assert page.locator("#contents nav").is_hidden()
        assert (page.locator("[aria-current]").text_content() or "").startswith("7. Pro")
        top = page.locator("#speech-7").evaluate("e => e.getBoundingClientRect().top")
        bar = page.locator("#contents").evaluate("e => e.getBoundingClientRect().bottom")
        assert bar <= top < bar + 40
        before = scrolled()
        press("Space")
        page.wait_for_function("before => scrollY > before + 400", arg=before)
        # The browser scrolls smoothly: it has to come to rest.
        page.wait_for_function(
            "() => new Promise((d) => { const y = scrollY; setTimeout(() => d(scrollY === y), 150); })"
        )
        # From there, Tab leads into the form, which stays beside the speeches.
        press("Tab")
        assert focus_is_in(page, '[data-question="is_coherent"]')
        press("y")
        for question in (*(f"{name}.{side}" for name in QUESTIONS for side in ("pro", "con")), "winner"):
            before = scrolled()
            press("Tab")
            assert focus_is_in(page, f'[data-question="{question}"]')
            assert scrolled() == before
            # A page further, and back, with the focus in the question; the question stays where it is.
            for key, sign in (("PageDown", 1), ("PageUp", -1)):
                before = scrolled()
                press(key)
                page.wait_for_function("([sign, before]) => sign * (scrollY - before) > 400", arg=[sign, before])
                assert focus_is_in(page, f'[data-question="{question}"]')
                assert page.locator(f'[data-question="{question}"]').is_visible()
            press("t" if question == "winner" else "3")
            before = scrolled()
            press("Space")
            page.wait_for_function("before => scrollY > before + 400", arg=before)
            press("Shift+Space")
            page.wait_for_function("before => Math.abs(scrollY - before) < 2", arg=before)
        for place in (8, 9, 10):
            press("Shift+PageDown")
            wait_until_read(page, f"Speech {place} of 20")
        press("Shift+PageUp")
        wait_until_read(page, "Speech 9 of 20")
        press("Tab")
        press("4")
        press("Tab")
        page.keyboard.type("The ninth speech. ")
        before = scrolled()
        press("PageDown")
        page.wait_for_function("before => scrollY > before + 400", arg=before)
        assert focus_is_in(page, "#justification")
        assert page.locator("#justification").input_value() == "The ninth speech. "
        for _ in range(200):
            if speech_read(page).startswith("Speech 20"):
                break
            press("PageDown")
        wait_until_read(page, "Speech 20 of 20: Con speech 10")
        press("Control+Enter")
        page.wait_for_selector("text=All 1 debates are done")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_long_debate_is_read_on_a_phone(browser: Browser, tmp_path: Path, scheme: Any):
    workspace = read_workspace(tmp_path / "w", [MIXED, "", *[LONG] * 4])
    look = {"color_scheme": scheme, "viewport": {"width": 390, "height": 844}, "has_touch": True}
    with AnnotationServer(workspace) as server, opened(browser, server, **look) as page:
        page.locator("#contents summary").tap()
        assert violations(page) == []
        page.locator("#contents a").nth(4).tap()
        wait_until_read(page, "Speech 5 of 6")
        assert page.locator("#contents").evaluate("e => e.getBoundingClientRect().top") == 0
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        # Where the form is below the speeches, the browser's own keys move the page.
        page.locator("#justification").focus()
        before = page.evaluate("scrollY")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("PageUp")
        page.wait_for_function("before => scrollY < before", arg=before)
        assert violations(page) == []


# --- reading aloud --------------------------------------------------------------------------------------------------

FAKE_SYNTHESIS = """
(voices => {
    // What it was told, in order. A paragraph ends when the test says so.
    const said = [];
    let now = null;
    const fire = (name, more = {}) => {
        const spoken = now;
        now = null;
        spoken?.dispatchEvent(Object.assign(new Event(name), more));
    };
    class Utterance extends EventTarget {
        constructor(text) { super(); this.text = text; }
    }
    const synthesis = Object.assign(new EventTarget(), {
        said,
        voices,
        getVoices: () => synthesis.voices,
        speak: (it) => { now = it; said.push(["speak", it.text, it.voice.name, it.lang, it.rate]); },
        cancel: () => { if (now) said.push(["cancel"]); fire("error", { error: "canceled" }); },
        pause: () => said.push(["pause"]),
        resume: () => said.push(["resume"]),
        end: () => fire("end"),
        fail: (error) => fire("error", { error }),
    });
    Object.defineProperty(window, "speechSynthesis", { value: synthesis });
    Object.defineProperty(window, "SpeechSynthesisUtterance", { value: Utterance });
})
"""
VOICES = [
    {"name": "Cloud", "lang": "en", "localService": False, "default": True},
    {"name": "Deutsch", "lang": "de-DE", "localService": True, "default": False},
    {"name": "English", "lang": "en_GB", "localService": True, "default": False},
]


@contextmanager
def with_voices(browser: Browser, server: AnnotationServer, voices: list[dict[str, Any]] | None) -> Iterator[Page]:
    """The page of the only debate, in a browser with these voices; None: without speech synthesis."""
    if voices is None:
        script = "delete window.speechSynthesis; delete Window.prototype.speechSynthesis;"
    else:
        script = f"{FAKE_SYNTHESIS}({json.dumps(voices)})"
    with watched(browser, "http://127.0.0.1:") as shown:
        shown.page.add_init_script(script)
        page = shown.open(f"{server.url}debate/{server.debate_keys()[0]}")
        page.wait_for_selector("#form")
        yield page
        assert shown.problems() == []


def last_said(page: Page) -> list[list[Any]]:
    """What the synthesis was told since the last look."""
    found: list[list[Any]] = page.evaluate("() => window.speechSynthesis.said.splice(0)")
    return found


def test_speeches_are_read_aloud_by_a_voice_of_the_device_and_only_when_a_person_asks(browser: Browser, tmp_path: Path):
    workspace = read_workspace(tmp_path / "w", ["One.\nStill one.\n \nTwo <b>.", "Drei.", " \n", "Vier."], "en", ["de"])
    with AnnotationServer(workspace) as server:
        with with_voices(browser, server, VOICES) as page:
            panel, play, stop = (page.locator(each) for each in ("#aloud", "#play", "#stop"))
            assert panel.is_visible()
            assert not play.is_visible()
            assert page.locator(".text").nth(0).get_attribute("lang") == "de"
            assert page.locator(".text").nth(1).get_attribute("lang") == "en"
            page.locator("#show-keys").click()
            assert page.locator("#keys .of-aloud").inner_text().startswith("Alt P")
            page.keyboard.press("Alt+p")
            page.keyboard.press("Escape")
            assert last_said(page) == [], "nothing is read before a person asks"
            # The whole of it works with the keyboard.
            page.locator("#aloud summary").focus()
            page.keyboard.press("Enter")
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == "play"
            page.keyboard.press("Enter")
            assert last_said(page) == [["speak", "One.\nStill one.", "Deutsch", "de-DE", 1]]
            assert page.locator("#aloud-status").inner_text() == "Speech 1 of 4, paragraph 1 of 2"
            assert page.evaluate("[...CSS.highlights.get('aloud')].join()") == "One.\nStill one."
            assert violations(page) == []
            page.keyboard.press("Enter")
            assert (last_said(page), play.inner_text()) == ([["pause"]], "Go on")
            page.keyboard.press("Alt+p")
            assert (last_said(page), play.inner_text()) == ([["resume"]], "Pause")
            page.evaluate("speechSynthesis.end()")
            assert last_said(page) == [["speak", "Two <b>.", "Deutsch", "de-DE", 1]]
            page.locator("#speed").select_option("1.5")
            assert last_said(page) == [["cancel"], ["speak", "Two <b>.", "Deutsch", "de-DE", 1.5]]
            page.evaluate("speechSynthesis.end()")
            assert last_said(page) == [["speak", "Drei.", "English", "en_GB", 1.5]]
            # An empty speech is left out.
            page.evaluate("speechSynthesis.end()")
            assert last_said(page) == [["speak", "Vier.", "English", "en_GB", 1.5]]
            page.evaluate("speechSynthesis.end()")
            assert page.locator("#aloud-status").inner_text() == "All speeches have been read."
            assert (last_said(page), play.inner_text(), stop.is_disabled()) == ([], "Play", True)
            # It begins with the speech that is before the reader, and stops at once.
            page.locator("#contents summary").click()
            page.locator("#contents a").nth(3).click()
            wait_until_read(page, "Speech 4 of 4")
            page.keyboard.press("Alt+p")
            assert last_said(page) == [["speak", "Vier.", "English", "en_GB", 1.5]]
            page.keyboard.press("Alt+Shift+P")
            assert last_said(page) == [["cancel"]]
            assert page.evaluate("CSS.highlights.has('aloud')") is False
            page.keyboard.press("Alt+p")
            page.evaluate("speechSynthesis.fail('audio-busy')")
            assert page.locator("#aloud-status").inner_text() == "The browser could not go on reading: audio-busy."
            # What is read is never a change of the form.
            assert page.locator("#form").get_attribute("data-revision") == "0"
        cloud, german = VOICES[:1], VOICES[1:2]
        with with_voices(browser, server, cloud) as page:
            page.locator("#aloud summary").click()
            assert page.locator("#play").is_disabled()
            assert page.locator("#aloud-status").inner_text().startswith("This device has no voice of its own.")
            page.keyboard.press("Alt+p")
            assert last_said(page) == []
            # Browsers know their voices a moment after the page.
            page.evaluate("voices => { speechSynthesis.voices = voices; }", german)
            page.evaluate("speechSynthesis.dispatchEvent(new Event('voiceschanged'))")
            page.locator("#play").click()
            page.evaluate("speechSynthesis.end()")
            page.evaluate("speechSynthesis.end()")
            found = page.locator("#aloud-status").inner_text()
            assert found == "This device has no voice of its own for the language en."
            assert [each[1] for each in last_said(page)] == ["One.\nStill one.", "Two <b>."]
        with with_voices(browser, server, None) as page:
            assert page.evaluate("'speechSynthesis' in window") is False
            assert not page.locator("#aloud").is_visible()
            assert page.locator(".of-aloud").evaluate_all("all => all.every(each => each.hidden)")
