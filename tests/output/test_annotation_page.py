"""The annotation page in a browser: keys, saving, kills, two windows, two people, hostile text, accessibility."""

from __future__ import annotations

import re
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from annotating import (
    QUESTIONS,
    TAG,
    AnnotationServer,
    full_form,
    hostile_workspace,
    made_workspace,
)
from patience import LONGEST_WAIT_S
from report_warehouse import HOSTILE, NOON
from site_browser import violations

from debatebench.landing.annotation_journals import annotation_records, annotations_folder
from debatebench.output.annotation.session import open_session
from debatebench.shared.records import Annotation
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra `annotate` is not installed"),
]

REASONS = "Con never answered the second speech."


@contextmanager
def opened(browser: Browser, address: str = "", **context: Any) -> Iterator[Page]:
    """A page in a context of its own. Any error in the console fails the test, and so does a request to elsewhere."""
    with browser.new_context(**context) as own:
        page = own.new_page()
        page.set_default_timeout(1000 * LONGEST_WAIT_S)
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if "//127.0.0.1:" not in request.url else None)
        if address:
            page.goto(address)
        yield page
        assert problems == []


def at(server: AnnotationServer, place: int = 0) -> str:
    """The address of a debate's page."""
    return f"{server.url}debate/{server.debate_keys()[place]}"


def wait_for_status(page: Page, words: str) -> None:
    page.wait_for_function("words => document.getElementById('status').textContent.startsWith(words)", arg=words)


def choose(page: Page, question: str, value: str) -> None:
    page.locator(f'[data-question="{question}"] input[value="{value}"]').check()


def records_of(workspace: Workspace) -> list[Annotation]:
    found = annotation_records(annotations_folder(workspace.journal, TAG), TAG)
    return [record for record in found if isinstance(record, Annotation)]


# --- keys -----------------------------------------------------------------------------------------------------------


def focused(page: Page) -> dict[str, Any]:
    """What has the focus, and whether a person can see that."""
    found: dict[str, Any] = page.evaluate(
        """() => {
            const at = document.activeElement;
            const shown = at.type === "radio" ? at.closest("label") : at;
            const style = getComputedStyle(shown);
            return {
                id: at.id, name: at.name ?? "", type: at.type ?? "", text: at.textContent.trim().slice(0, 40),
                isVisible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                question: at.closest("[data-question]")?.dataset.question ?? "",
            };
        }"""
    )
    return found


def tab_to(page: Page, wanted: str, key: str = "Tab") -> dict[str, Any]:
    """Press a key until an element of this id or question has the focus; the focus is visible all the way."""
    for _ in range(40):
        page.keyboard.press(key)
        found = focused(page)
        assert found["isVisible"], found
        if wanted in (found["id"], found["question"]):
            return found
    raise AssertionError(f"{wanted} was not reached")


def test_a_whole_annotation_needs_only_the_keyboard(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    with AnnotationServer(workspace) as server, opened(browser, server.url) as page:
        tab_to(page, "next")
        page.keyboard.press("Enter")
        page.wait_for_selector("#form")
        # Until the page is loaded, the browser may follow a link within it only after later keys.
        page.wait_for_load_state()
        page.keyboard.press("Tab")
        assert focused(page)["text"] == "To the questions"
        page.keyboard.press("Enter")
        page.wait_for_selector("#form:focus")
        tab_to(page, "is_coherent")
        page.keyboard.press("y")
        tab_to(page, "clash.pro")
        page.keyboard.press("3")
        tab_to(page, "clash.con")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        tab_to(page, "burden_of_proof_met.pro")
        page.keyboard.press("1")
        tab_to(page, "burden_of_proof_met.con")
        page.keyboard.press("2")
        tab_to(page, "winner")
        page.keyboard.press("c")
        tab_to(page, "confidence")
        page.keyboard.press("4")
        tab_to(page, "justification")
        page.keyboard.type(f"{REASONS} 1 2 3 y n p c t")
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => document.title.startsWith('Debate 2')")
        (record,) = records_of(workspace)
        assert record.model_dump(exclude={"annotated_at", "debate_id"}) == {
            "run_tag": TAG,
            "annotator_id": "ann",
            "winner": "con",
            "justification": f"{REASONS} 1 2 3 y n p c t",
            "scores": (
                {"dimension": "clash", "pro": 3, "con": 2},
                {"dimension": "burden_of_proof_met", "pro": 1, "con": 2},
            ),
            "confidence": 4,
            "is_coherent": True,
            "skip_reason": None,
            "ranks": None,
            "team_scores": None,
            "source": "debatebench annotate",
            "metadata": None,
        }
        # And back: nothing keeps the focus.
        tab_to(page, "hand-in")
        tab_to(page, "winner", "Shift+Tab")


def test_what_is_missing_is_said_and_gets_the_focus(browser: Browser, tmp_path: Path):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, opened(browser, at(server)) as page:
        choose(page, "is_coherent", "true")
        choose(page, "clash.pro", "2")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#alert:not([hidden])")
        assert page.locator("#alert").inner_text().startswith("Still missing: clash: Con, burden of proof met: Pro")
        assert focused(page)["question"] == "clash.con"
        assert page.locator(".is-missing").count() == 6
        choose(page, "clash.con", "2")
        wait_for_status(page, "Saved.")
        assert page.locator("#alert").is_hidden()


# --- nothing lost, nothing doubled ----------------------------------------------------------------------------------


def shown(page: Page) -> dict[str, Any]:
    """What the form on the page holds."""
    found: dict[str, Any] = page.evaluate(
        """() => Object.fromEntries([
            ...[...document.querySelectorAll("input:checked")].map((input) =>
                [input.closest("[data-question]").dataset.question, input.value]),
            ["justification", document.getElementById("justification").value],
        ])"""
    )
    return found


def test_a_reload_shows_what_was_saved(browser: Browser, tmp_path: Path):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, opened(browser, at(server)) as page:
        choose(page, "is_coherent", "true")
        choose(page, "clash.pro", "2")
        page.locator("#justification").fill("\nA blank line before,\nand\u200e a\u00adn </textarea> <b>end</b>.")
        wait_for_status(page, "Saving")
        wait_for_status(page, "Saved.")
        before = shown(page)
        page.reload()
        assert shown(page) == before
        assert before["justification"].startswith("\nA blank")
        assert server.get(f"api/debates/{server.debate_keys()[0]}").data["form"]["scores"] == {"clash": {"pro": 2}}


def test_reasons_of_any_length_are_saved_or_refused_with_words(browser: Browser, tmp_path: Path):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, opened(browser, at(server)) as page:
        long = "\N{PERSON RAISING BOTH HANDS IN CELEBRATION}" * 20_000
        page.locator("#justification").fill(long)
        wait_for_status(page, "Saved.")
        page.reload()
        assert page.locator("#justification").input_value() == long
        page.locator("#justification").fill("x" * 20_001)
        page.wait_for_selector("#alert:not([hidden])")
        assert page.locator("#alert").inner_text() == "The reasons have 20,001 characters; at most 20,000 can be kept."
        page.locator("#justification").fill("Short.")
        wait_for_status(page, "Saved.")


def test_a_second_window_does_not_overwrite_the_first(browser: Browser, tmp_path: Path):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        for page in (first, second):
            page.goto(at(server))
        choose(first, "winner", "pro")
        wait_for_status(first, "Saved.")
        choose(second, "winner", "con")
        second.wait_for_selector("#versions:not([hidden])")
        assert "nothing was overwritten" in second.locator("#alert").inner_text()
        assert second.locator("#hand-in").is_disabled()
        # What is typed now is kept as well, and the other window says that there are two versions.
        second.locator("#justification").fill(REASONS)
        wait_for_status(second, "Saving")
        wait_for_status(second, "Kept beside what another window has saved.")
        state = server.get(f"api/debates/{server.debate_keys()[0]}").data
        assert (state["form"]["winner"], state["form"]["justification"]) == ("pro", None)
        assert [each["form"]["justification"] for each in state["asides"]] == [REASONS]
        choose(first, "clash.pro", "2")
        wait_for_status(first, "Two versions: choose one above. Not handed in.")
        # Both versions are there after the page is loaded again, and nothing but a click changes what is saved.
        second.reload()
        second.wait_for_selector("#versions:not([hidden])")
        panel = second.locator("#versions")
        assert {"Who won the debate?", "Clash, Pro"} < set(panel.locator("dt").all_inner_texts())
        assert REASONS in panel.inner_text()
        assert shown(second) == {"winner": "pro", "clash.pro": "2", "justification": ""}
        assert second.locator("#hand-in").is_disabled()
        if find_spec("axe_playwright_python") is not None:
            assert violations(second) == []
        panel.get_by_role("button", name="Use this answer: What decided the debate?").last.click()
        wait_for_status(second, "Two versions")
        assert shown(second) == {"winner": "pro", "clash.pro": "2", "justification": REASONS}
        panel.get_by_role("button", name="Take the other version").click()
        wait_for_status(second, "Saved. Not handed in.")
        assert panel.is_hidden()
        assert shown(second) == {"winner": "con", "justification": REASONS}
        # An undo brings the answers back that were saved before, and the hand-in can be taken back, too.
        second.locator("#undo").click()
        second.wait_for_selector('input[value="pro"]:checked')
        assert server.get(f"api/debates/{server.debate_keys()[0]}").data["form"]["scores"] == {"clash": {"pro": 2}}
        second.locator("#redo").click()
        second.wait_for_selector('input[value="con"]:checked')
        # The first window chooses for itself: its own answers against what was saved since.
        choose(first, "winner", "tie")
        first.wait_for_selector("#versions:not([hidden])")
        first.get_by_role("button", name="Save what this window shows").click()
        wait_for_status(first, "Saved. Not handed in.")
        state = server.get(f"api/debates/{server.debate_keys()[0]}").data
        assert (state["form"]["winner"], state["form"]["scores"], state["asides"]) == ("tie", {"clash": {"pro": 2}}, [])


def test_a_choice_between_versions_needs_one_click_and_overwrites_nothing_when_it_fails(
    browser: Browser, tmp_path: Path
):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        for page in (first, second):
            page.goto(at(server))
        api = f"api/debates/{server.debate_keys()[0]}"
        choose(first, "winner", "pro")
        wait_for_status(first, "Saved.")
        choose(second, "winner", "con")
        keep = second.get_by_role("button", name="Keep what the other window saved")
        keep.wait_for()
        # A choice that did not reach the server chose nothing, and the next answer overwrites nothing.
        context.set_offline(True)
        keep.click()
        wait_for_status(second, "Not chosen: the server does not answer.")
        context.set_offline(False)
        choose(second, "clash.pro", "2")
        wait_for_status(second, "Kept beside")
        state = server.get(api).data
        assert (state["form"]["winner"], state["form"]["scores"]) == ("pro", {})
        assert [each["form"]["winner"] for each in state["asides"]] == ["con"]
        # A page that comes while the server does not answer asks for the versions until it does.
        second.route(f"**/{api}", lambda route: route.abort())
        second.reload()
        second.wait_for_timeout(1200)
        assert second.locator("#versions").is_hidden()
        second.unroute(f"**/{api}")
        second.wait_for_selector("#versions:not([hidden])")
        # Leaving a text by a click on a choice is that click, at a person's speed.
        choose(first, "clash.con", "1")
        wait_for_status(first, "Two versions")
        choose(second, "clash.pro", "3")
        keep.wait_for()
        second.locator("#justification").press_sequentially("Typed.")
        # The form has scrolled to the text.
        keep.scroll_into_view_if_needed()
        box = keep.bounding_box()
        assert box is not None
        second.mouse.move(box["x"] + 5, box["y"] + 5)
        second.mouse.down()
        second.wait_for_timeout(700)
        second.mouse.up()
        keep.wait_for(state="detached")
        assert shown(second) == {"winner": "pro", "clash.con": "1", "justification": ""}
        # What is handed in while the server does not answer is the form as it was then, or nothing.
        state = server.get(api).data
        for aside in state["asides"]:
            server.post(f"{api}/drop", {"revision": state["revision"], "window": aside["window"]})
        server.save(server.debate_keys()[0], state["revision"], full_form())
        second.reload()
        context.set_offline(True)
        choose(second, "winner", "con")
        second.locator("#hand-in").click()
        choose(second, "winner", "tie")
        context.set_offline(False)
        wait_for_status(second, "Saved, but not handed in.")
        assert second.locator("#alert").inner_text() == "The answers were changed meanwhile; hand them in again."
        state = server.get(api).data
        assert (state["form"]["winner"], state["status"]) == ("tie", "draft")


def test_a_debate_is_skipped_taken_back_cleared_and_found_again_by_keys(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    with AnnotationServer(workspace) as server, opened(browser, at(server)) as page:
        # An answer that was chosen by mistake is cleared.
        choose(page, "winner", "pro")
        page.keyboard.press("Delete")
        wait_for_status(page, "Saved. Not handed in.")
        assert shown(page) == {"justification": ""}
        assert not page.locator('[data-question="winner"] .clear').is_visible()
        page.keyboard.press("Control+z")
        page.wait_for_selector('input[value="pro"]:checked')
        # A list of keys.
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        if find_spec("axe_playwright_python") is not None:
            assert violations(page) == []
        page.keyboard.press("Escape")
        # Skipping needs a reason only, and hides what is not needed.
        page.locator('[data-question="confidence"] input').first.focus()
        page.keyboard.press("s")
        page.keyboard.press("ArrowDown")
        wait_for_status(page, "Saved.")
        assert not page.locator('[data-question="winner"]').is_visible()
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => document.title.startsWith('Debate 2')")
        page.wait_for_load_state()
        (record,) = records_of(workspace)
        assert (record.skip_reason, record.winner, record.scores) == ("not_a_debate", None, None)
        # Back to it, and the hand-in is taken back.
        page.keyboard.press("Alt+PageUp")
        page.wait_for_function("() => document.title.startsWith('Debate 1')")
        page.wait_for_load_state()
        assert page.locator("#status").inner_text() == "Handed in as skipped."
        page.keyboard.press("Control+z")
        wait_for_status(page, "Saved. Changed since the hand-in, and not handed in.")
        assert records_of(workspace) == []
        page.goto(server.url)
        assert "1 changed and not handed in" in page.locator("main").inner_text()
        page.locator("#next").click()
        page.wait_for_function("() => document.title.startsWith('Debate 1')")
        assert "1 changed and not handed in" in server.stop(signal.SIGINT)[1]


def test_a_server_killed_25_times_loses_nothing_that_the_page_called_saved(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    path = annotations_folder(workspace.journal, TAG) / "ann.jsonl"
    values, expected = ("pro", "con", "tie"), {}
    with opened(browser) as page:
        for kill in range(25):
            with AnnotationServer(workspace) as server:
                page.goto(at(server))
                assert {name: shown(page).get(name) for name in expected} == expected
                expected = {"winner": values[kill % 3], "clash.pro": str(kill % 3 + 1)}
                for question, value in expected.items():
                    choose(page, question, value)
                page.wait_for_function("() => document.getElementById('status').textContent.startsWith('Saved.')")
                lines = path.read_bytes().count(b"\n")
                server.stop(signal.SIGKILL)
                if kill % 5 == 0:
                    choose(page, "winner", values[(kill + 1) % 3])
                    wait_for_status(page, "Not saved: the server does not answer")
            assert path.read_bytes().count(b"\n") == lines
        assert lines <= 1 + 2 * 25


def test_a_page_whose_server_was_started_again_says_so(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with AnnotationServer(workspace) as server, opened(browser, at(server)) as page:
        choose(page, "winner", "pro")
        wait_for_status(page, "Saved.")
        server.stop()
        choose(page, "winner", "con")
        wait_for_status(page, "Not saved: the server does not answer")
        with AnnotationServer(workspace, "ann", "--port", str(server.port)) as again:
            page.wait_for_selector("#alert:not([hidden])")
            assert "This address is no longer valid" in page.locator("#alert").inner_text()
            page.goto(at(again))
            assert shown(page)["winner"] == "pro"


def test_a_full_disk_offline_seconds_and_lost_answers_lose_nothing(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    path = annotations_folder(workspace.journal, TAG) / "ann.jsonl"
    with AnnotationServer(workspace) as server, opened(browser) as page:
        key = server.debate_keys()[0]
        server.save(key, 0, full_form())
        page.goto(at(server))
        # No byte more, then half a line, and then space again.
        limits = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        before = path.read_bytes()
        for more, winner in ((0, "con"), (30, "tie")):
            limit = len(path.read_bytes()) + more, limits[1]
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, limit)
            choose(page, "winner", winner)
            wait_for_status(page, "Not saved: the server cannot save. The page tries again every second; keep it open.")
            assert "File too large" in page.locator("#alert").inner_text()
            assert server.get(f"api/debates/{key}").data["form"]["winner"] != winner
            page.keyboard.press("Control+Enter")
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, limits)
            # What was asked for meanwhile is done as well.
            page.wait_for_function("() => document.title.startsWith('Debate 2')")
            assert [record.winner for record in records_of(workspace)] == [winner]
            assert path.read_bytes().startswith(before)
            page.goto(at(server))
        choose(page, "winner", "pro")
        wait_for_status(page, "Saved. Changed")
        # A hand-in that nobody answers is tried again, and given up when an answer changes.
        unanswered = "Not handed in: the server does not answer. The page tries again every second; keep it open."
        page.context.set_offline(True)
        page.locator("#hand-in").click()
        wait_for_status(page, unanswered)
        choose(page, "confidence", "5")
        wait_for_status(page, "Not saved: the server does not answer. The page tries again every second; keep it open.")
        page.context.set_offline(False)
        wait_for_status(page, "Saved. Changed since the hand-in, and not handed in.")
        assert records_of(workspace) == []

        def lose(route: Route) -> None:
            route.fetch()
            route.abort()

        # Half an answer, of a server that ends while it answers, is none.
        page.route("**/draft", lambda route: route.fulfill(status=200, body='{"revision": 9, "as'), times=1)
        choose(page, "confidence", "4")
        not_answered = "Not saved: the server does not answer. The page tries again every second; keep it open."
        wait_for_status(page, not_answered)
        # What is changed back meanwhile is saved as well: the server may have the answer between.
        choose(page, "confidence", "5")
        wait_for_status(page, "Saved. Changed since the hand-in, and not handed in.")
        page.route("**/draft", lose, times=1)
        choose(page, "confidence", "4")
        wait_for_status(page, not_answered)
        choose(page, "confidence", "5")
        wait_for_status(page, "Saved. Changed since the hand-in, and not handed in.")
        assert server.get(f"api/debates/{key}").data["form"]["confidence"] == 5
        # The server may have handed it in: the page finds out, also after a change, which is no other window's.
        for is_changed in (True, False):
            page.route("**/final", lose, times=1)
            page.locator("#hand-in").click()
            wait_for_status(page, unanswered)
            assert len(records_of(workspace)) == 1
            if is_changed:
                choose(page, "winner", "con")
                wait_for_status(page, "Saved. Changed since the hand-in, and not handed in.")
                assert records_of(workspace) == []
        page.wait_for_function("() => document.title.startsWith('Debate 2')")
        assert [(each.winner, each.confidence) for each in records_of(workspace)] == [("con", 5)]
        # A window with no answers of its own shows what another has saved, rather than two versions.
        page.goto(at(server))
        state = server.get(f"api/debates/{key}").data
        server.hand_in(key, state["revision"], full_form(winner="tie"))
        page.locator("#undo").click()
        page.wait_for_selector('input[value="tie"]:checked')
        assert page.locator("#status").inner_text() == "Handed in."
        assert "nothing was overwritten" in page.locator("#alert").inner_text()
        assert page.locator("#versions").is_hidden()


def test_two_people_annotate_at_once(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    names = ("ann", "ben")
    with (
        AnnotationServer(workspace, names[0]) as one,
        AnnotationServer(workspace, names[1]) as other,
        opened(browser, one.url) as first,
        opened(browser, other.url) as second,
    ):
        for page in (first, second):
            page.locator("#next").click()
        for place in range(2):
            for page, winner in ((first, "pro"), (second, "con")):
                page.wait_for_selector("#form")
                choose(page, "is_coherent", "true")
                for question in QUESTIONS:
                    choose(page, f"{question}.pro", "2")
                    choose(page, f"{question}.con", "1")
                choose(page, "winner", winner)
                choose(page, "confidence", "3")
                page.locator("#justification").fill(f"{winner} {place}")
            for page in (first, second):
                address = page.url
                page.locator("#hand-in").click()
                page.wait_for_function("before => location.href !== before", arg=address)
        for page in (first, second):
            assert "All 2 debates are done" in page.locator("main").inner_text()
    found = records_of(workspace)
    assert sorted((each.annotator_id, each.winner) for each in found) == [("ann", "pro")] * 2 + [("ben", "con")] * 2
    assert len({(each.annotator_id, each.debate_id) for each in found}) == 4


def test_a_reviewer_sees_people_beside_the_speeches_and_records_only_the_winner(browser: Browser, tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2, speech="We argue that this is right. " * 400)
    for name, winner in (("ann", "pro"), ("ben", "con")):
        session = open_session(workspace, TAG, name, now=lambda: NOON)
        for place, debate in enumerate(sorted(session.debates, key=lambda debate: debate.debate_id)):
            session.hand_in(debate, 0, full_form(winner="pro" if place else winner))
    with (
        AnnotationServer(workspace, "eve", "--review") as server,
        opened(browser, server.url) as page,
    ):
        words = page.locator(".debates li").all_inner_texts()
        assert ["they differ on the winner" in each for each in words] == [True, False]
        page.locator(".debates a").first.click()
        page.wait_for_selector("#form")
        assert page.locator("thead th").all_inner_texts() == ["Question", "ann", "ben"]
        assert page.locator("tr.differs th").all_inner_texts() == ["Winner differ"]
        # The answers stay in sight however far the speeches are read.
        page.mouse.wheel(0, 4000)
        page.wait_for_function("() => scrollY > 3000")
        assert page.locator("table").is_visible()
        assert 0 <= page.locator("table").bounding_box()["y"] < 700
        # On what all agree is filled in and marked, and no one has recorded it yet.
        assert page.locator(".side input:checked").count() == 4
        assert page.locator(".side .mark").all_inner_texts() == ["all agree"] * 4
        assert page.locator("[name=winner]:checked").count() == 0
        records = annotation_records(annotations_folder(workspace.journal, TAG), TAG)
        assert {record.table for record in records} == {"annotations"}
        choose(page, "winner", "tie")
        # An undo leaves what was filled in, also when the page is loaded again.
        wait_for_status(page, "Saved.")
        assert page.locator("#undo").inner_text() == "Undo: the winner"
        assert page.get_by_role("button", name="Clear: Who won the debate?", exact=True).count() == 1
        page.locator("#undo").click()
        page.wait_for_selector("#undo", state="hidden")
        for _ in range(2):
            assert page.locator(".side input:checked").count() == 4
            assert page.locator("[name=winner]:checked").count() == 0
            assert page.locator(".side .mark").all_inner_texts() == ["all agree"] * 4
            page.reload()
        # The mark leaves with the agreed answer, and comes back with it.
        marks = page.locator(".side .mark:visible")
        choose(page, "clash.pro", "1")
        assert (marks.count(), page.locator('[data-question="clash.pro"] .mark').is_hidden()) == (3, True)
        wait_for_status(page, "Saved.")
        page.reload()
        assert marks.count() == 3
        choose(page, "clash.pro", "3")
        assert marks.count() == 4
        # What is cleared stays cleared when the page is loaded again.
        scored = {f"{name}.{side}": score for name in QUESTIONS for side, score in (("pro", "3"), ("con", "2"))}
        for question in ("is_coherent", *scored):
            page.locator(f'[data-question="{question}"] input').first.focus()
            page.keyboard.press("Delete")
        wait_for_status(page, "Saved.")
        page.reload()
        assert (page.locator("#form :checked").count(), page.locator(".agreed:visible").count()) == (0, 0)
        for question, score in scored.items():
            choose(page, question, score)
        assert marks.count() == 4
        choose(page, "winner", "tie")
        address = page.url
        page.locator("#hand-in").click()
        page.wait_for_function("before => location.href !== before", arg=address)
    reviews = [
        record.model_dump()
        for record in annotation_records(annotations_folder(workspace.journal, TAG), TAG)
        if record.table == "adjudications"
    ]
    assert [(each["adjudicator_id"], each["winner"], len(each["scores"])) for each in reviews] == [("eve", "tie", 2)]


# --- attacks --------------------------------------------------------------------------------------------------------

PWNED = "() => document.title === 'pwned'"


def test_hostile_speeches_do_nothing_and_the_controls_do(browser: Browser, tmp_path: Path):
    with AnnotationServer(hostile_workspace(tmp_path / "w")) as server:
        with opened(browser, at(server)) as page:
            page.wait_for_selector("#form")
            assert "<script>document.title='pwned'</script>" in page.locator(".text").first.inner_text()
            assert page.locator(".text img, .text b, .text a, .text script").count() == 0
            assert page.title().startswith("Debate 1")
            policy = server.get().headers["content-security-policy"]
        # Without escaping, the policy still keeps the page from running it; without either, it runs.
        for headers, is_run in (({"content-security-policy": policy}, False), ({}, True)):
            with browser.new_context() as context:
                page = context.new_page()
                body = f"<!doctype html><title>safe</title><body>{HOSTILE}"
                page.route("**/*", _answering(body, headers))
                page.goto(server.url)
                if is_run:
                    page.wait_for_function(PWNED)
                else:
                    page.wait_for_load_state("networkidle")
                    assert page.title() == "safe"


def _answering(body: str, headers: dict[str, str]) -> Any:
    def answer(route: Any) -> None:
        if route.request.resource_type == "document":
            route.fulfill(body=body, content_type="text/html", headers={"content-type": "text/html", **headers})
        else:
            route.abort()

    return answer


@contextmanager
def foreign_site() -> Iterator[str]:
    """A site on another port of this computer: another origin."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>foreign</title>")

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{site.server_address[1]}/"
        finally:
            site.shutdown()
            thread.join()


SEND = """async ([address, form, kind]) => {
    const options = { method: "POST", headers: { "content-type": kind }, body: JSON.stringify({ revision: 0, form }) };
    try {
        return (await fetch(address, options)).status;
    } catch {
        return "blocked";
    }
}"""
FRAMED = """async (address) => {
    const frame = document.createElement("iframe");
    frame.src = address;
    const loaded = new Promise((done) => frame.addEventListener("load", done));
    document.body.append(frame);
    await loaded;
    try {
        return frame.contentDocument.getElementById("main") !== null;
    } catch {
        return false;
    }
}"""


def test_a_page_of_another_origin_can_neither_read_nor_save_nor_frame(browser: Browser, tmp_path: Path):
    with AnnotationServer(made_workspace(tmp_path / "w")) as server, foreign_site() as site:
        key = server.debate_keys()[0]
        address = f"{server.url}api/debates/{key}/draft"
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(site)
            for kind in ("application/json", "text/plain"):
                assert page.evaluate(SEND, [address, full_form(), kind]) == "blocked"
            assert page.evaluate(FRAMED, server.url) is False
            assert server.get(f"api/debates/{key}").data["revision"] == 0
            # From a page of this server, the same request saves.
            page.goto(server.url)
            assert page.evaluate(SEND, [address, full_form(), "application/json"]) == 200
            assert server.get(f"api/debates/{key}").data["revision"] == 1


# --- accessibility --------------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe-playwright-python is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_the_page_fits(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, scheme: Any, width: int
):
    workspace = made_workspace(tmp_path_factory.mktemp("pages") / "w")
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    with (
        AnnotationServer(workspace) as server,
        AnnotationServer(workspace, "eve", "--review") as review,
        opened(browser, **look) as page,
    ):
        for address in (server.url, at(server), review.url, at(review)):
            page.goto(address)
            assert violations(page) == [], address
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), address
        background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (min(map(int, re.findall(r"\d+", background))) < 60) == (scheme == "dark")
        page.goto(at(server))
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#alert:not([hidden])")
        assert violations(page) == []
        # The check finds what is wrong.
        page.evaluate("() => document.querySelector('label[for=justification]').remove()")
        assert [name for name, _ in violations(page)] == ["label"]
