"""The pages of a static site in a real browser: one Chromium for each module of tests, and nothing but the files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import LONGEST_WAIT_S
from site_pages import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# Reports what the policy of a page refuses, also where it is not written into the console.
_WATCH = """
window.refusals = [];
document.addEventListener("securitypolicyviolation", (event) => {
    window.refusals.push(`${event.violatedDirective} refused ${event.blockedURI}`);
});
"""


def lacking() -> str | None:
    """Why pages cannot be tried in a browser, or `None`."""
    if find_chromium() is None:
        return "no Chromium is installed, so pages are not tried in a browser"
    if find_spec("playwright") is None or find_spec("axe_playwright_python") is None:
        return "the Python packages playwright and axe-playwright-python are not installed"
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. Without one the test is skipped, and in continuous integration (`CI`) it fails."""
    if reason := lacking():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Debian's package of Chromium without windows begins a page with a fifth of the work.
        found = shutil.which("chromium-headless-shell") or find_chromium()
        browser = playwright.chromium.launch(executable_path=found, args=_OPTIONS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page and everything that went wrong on it: messages in the console, errors, refusals and foreign requests."""

    page: Page
    origin: str
    _said: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """Load a page of the site, and wait until its scripts have run."""
        self.page.goto(address)
        self.page.wait_for_load_state("load")
        return self.page

    def problems(self) -> list[str]:
        """What went wrong since this was last asked. A new page is another process, so many addresses share one."""
        found = [*self._said, *self.page.evaluate("(window.refusals ?? []).splice(0)")]
        self._said.clear()
        return found

    def listen(self) -> None:
        self.page.set_default_timeout(1000 * LONGEST_WAIT_S)
        self.page.add_init_script(_WATCH)
        self.page.on("console", lambda message: self._said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self._said.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self._said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self._hear(request.url))

    def _hear(self, address: str) -> None:
        if not address.startswith((self.origin, "data:", "blob:")):
            self._said.append(f"request: {address}")


@contextmanager
def watched(browser: Browser, origin: str, **context: Any) -> Iterator[Watched]:
    """An empty page in a context of its own. `origin` begins the address of everything that it may load."""
    with browser.new_context(**context) as own:
        found = Watched(own.new_page(), origin)
        found.listen()
        yield found


def site_address(site: Path) -> str:
    """The address of a site's folder."""
    return f"{site.resolve().as_uri()}/"


def draw_charts(page: Page) -> int:
    """Bring each chart of a page into view, wait until it is drawn, and return how many there are."""
    figures = page.locator("figure.chart")
    count = figures.count()
    page.evaluate(
        """async () => {
            for (const figure of document.querySelectorAll("figure.chart")) {
                figure.scrollIntoView({ block: "center" });
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            }
            scrollTo(0, 0);
        }"""
    )
    for undrawn in figures.all():
        undrawn.locator(".main-svg").first.wait_for(state="attached")
    return count


def violations(page: Page) -> list[Any]:
    """What axe-core finds. It is run past the page's policy, which would refuse it as it refuses every script."""
    import axe_playwright_python

    source = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": source})
    found: list[Any] = page.evaluate(
        "async () => (await axe.run({ preload: false, resultTypes: ['violations'] })).violations.map("
        "  (each) => [each.id, each.nodes.map((node) => node.html)])"
    )
    return found


def line_edges(page: Page, box: str, words: str) -> tuple[bool, bool]:
    """Whether the line with these words touches the left edge of its box, and the right one."""
    found: list[bool] = page.evaluate(
        """([selector, words]) => {
            const box = [...document.querySelectorAll(selector)].find((each) => each.textContent.includes(words));
            const text = [...box.childNodes].find((node) => node.textContent.includes(words));
            const range = document.createRange();
            const start = text.textContent.indexOf(words);
            range.setStart(text, start);
            range.setEnd(text, start + words.length);
            const [line, own] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
            return [Math.abs(line.left - own.left) < 3, Math.abs(line.right - own.right) < 3];
        }""",
        [box, words],
    )
    return found[0], found[1]
