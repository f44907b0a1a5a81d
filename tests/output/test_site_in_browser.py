"""Every page of a site of all kinds of runs in a browser: nothing fails or runs, everybody can use it, it is light."""

from __future__ import annotations

import csv
import io
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from every_kind_of_run import every_kind_of_run, runs
from report_warehouse import HOSTILE, NOON
from site_browser import draw_charts, site_address, violations, watched
from site_pages import chart_specs, report_files

from debatebench.output.report.chart_parts import framed
from debatebench.output.report.site import build_site
from debatebench.query.safe_query import run_query

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

WIDTHS = (390, 768, 1280)
MOST_BYTES_OF_A_PAGE = 250_000
MOST_BYTES_OF_A_SITE = 3_000_000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_kind_of_run(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, report_files(), tmp_path_factory.mktemp("out") / "site", now=NOON).parent


@pytest.fixture(scope="module")
def nine(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of nine of the runs."""
    tags = [tag for tag, _ in runs()][-9:]
    return build_site(
        database, report_files(), tmp_path_factory.mktemp("nine") / "site", run_tags=tags, now=NOON
    ).parent


def pages_of(site: Path) -> list[str]:
    """The pages of a site but those about one debate."""
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.parent.name != "debates")


def kinds_of(site: Path) -> list[str]:
    """One page of each kind, with hostile text where there can be any."""
    found = [path for path in pages_of(site) if "/" not in path]
    return found + [path for path in pages_of(site) if re.match(r"runs/evil/[a-z_]+\.html", path)]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a web server for the files of a folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# --- every page -------------------------------------------------------------------------------------------------------


def overflows(page: Page) -> list[str]:
    """Where a page is wider than the window, at each of the widths."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found.append(f"wider than {width} px")
    return found


def misread(page: Page) -> list[str]:
    """The answer, which is English, if a name of another script in it turns its direction."""
    answer = page.locator("#answer")
    turned = answer.count() and answer.evaluate("(shown) => getComputedStyle(shown).direction") != "ltr"
    return ["the answer is set from right to left"] if turned else []


# Titles of axes whose letters are over the numbers at the ticks of their axis.
COVERED = """() => ["x", "y"].flatMap((axis) =>
    [...document.querySelectorAll(`svg.main-svg .${axis}title`)].filter((title) => {
        const own = title.getBoundingClientRect();
        const ticks = title.closest("svg").parentElement.querySelectorAll(`.${axis}tick text`);
        return [...ticks].some((tick) => {
            const other = tick.getBoundingClientRect();
            return own.top < other.bottom - 2 && own.bottom > other.top + 2
                && own.left < other.right - 2 && own.right > other.left + 2;
        });
    }).map((title) => title.textContent))"""


def covered(page: Page) -> list[str]:
    """Charts in which the title of an axis covers the numbers at its ticks."""
    return [f"'{title}' covers numbers" for title in page.evaluate(COVERED)]


def test_every_page_is_drawn_without_a_complaint_and_fits_every_window(browser: Browser, site: Path) -> None:
    problems: dict[str, list[str]] = {}
    charts = 0
    address = site_address(site)
    with watched(browser, address) as shown:
        for path in pages_of(site):
            page = shown.open(address + path)
            charts += draw_charts(page)
            found = [*covered(page), *overflows(page), *misread(page), *shown.problems()]
            if not page.title().endswith("· debatebench"):
                found.append(page.title())
            if found:
                problems[path] = found
    assert problems == {}
    assert charts > 100
    assert {path.split("/")[1] for path in pages_of(site) if path.startswith("runs/")} == {tag for tag, _ in runs()}


def test_what_is_watched_for_is_found(browser: Browser, site: Path, tmp_path: Path) -> None:
    shutil.copytree(site / "assets", tmp_path / "assets")
    html = (site / "index.html").read_text(encoding="utf-8")
    bad = '<script>document.title = "pwned"</script><img src="https://example.org/x.png">'
    bad += '<div style="width: 5000px">x</div>'
    (tmp_path / "index.html").write_text(html.replace("<main", f"{bad}<main", 1), encoding="utf-8")
    with watched(browser, site_address(tmp_path)) as shown:
        page = shown.open((tmp_path / "index.html").as_uri())
        assert page.title() != "pwned"
        assert overflows(page) == [f"wider than {width} px" for width in WIDTHS]
        problems = shown.problems()
        assert any("script-src" in each or "inline script" in each for each in problems)
        assert any("img-src" in each or "example.org" in each for each in problems)


# --- for everybody ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_kind_of_page(browser: Browser, site: Path, scheme: Any) -> None:
    problems = {}
    address = site_address(site)
    with watched(browser, address, color_scheme=scheme, bypass_csp=True) as shown:
        for path in kinds_of(site):
            page = shown.open(address + path)
            draw_charts(page)
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            # The width of a window changes no colour.
            for width in WIDTHS if scheme == "light" else WIDTHS[-1:]:
                page.set_viewport_size({"width": width, "height": 800})
                if found := violations(page):
                    problems[path, width] = found
                    break
    assert problems == {}


def test_axe_finds_a_button_without_a_name(browser: Browser, site: Path) -> None:
    with watched(browser, site_address(site), bypass_csp=True) as shown:
        page = shown.open(site_address(site) + "index.html")
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert [name for name, _ in violations(page)] == ["button-name"]


_FOCUSED = """() => {
    const at = document.activeElement;
    const style = getComputedStyle(at);
    const all = document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0']");
    return [Array.from(all).indexOf(at), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1];
}"""
_REACHABLE = """() => {
    const all = Array.from(document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0']"));
    // Of the rows of a list the tabulator key reaches one, and the arrow keys the others.
    const isSeen = (each) => each.checkVisibility({ visibilityProperty: true }) && each.type !== "radio"
        && !each.disabled && each.tabIndex >= 0;
    return all.map((each, at) => [at, each.outerHTML.slice(0, 120)]).filter(([at]) => isSeen(all[at]));
}"""


def test_pages_of_a_web_server_ask_nobody_else_and_everything_is_reached_by_the_keyboard_and_seen_to_be(
    browser: Browser, site: Path
) -> None:
    problems: dict[str, list[str]] = {}
    with served(site) as address, watched(browser, address) as shown:
        for path in kinds_of(site):
            page = shown.open(address + path)
            draw_charts(page)
            if found := shown.problems():
                problems[path] = found
            wanted: dict[int, str] = dict(page.evaluate(_REACHABLE))
            reached = set()
            for _ in range(len(wanted) + 5):
                page.keyboard.press("Tab")
                number, is_marked = page.evaluate(_FOCUSED)
                if number in reached and number >= 0:
                    break
                reached.add(number)
                if not is_marked and number in wanted:
                    problems.setdefault(path, []).append(f"not marked: {wanted[number]}")
            if missed := [html for number, html in wanted.items() if number not in reached]:
                problems.setdefault(path, []).extend(missed)
    assert problems == {}


def test_a_table_is_sorted_and_a_long_one_unfolded_by_keys(browser: Browser, site: Path) -> None:
    with watched(browser, site_address(site)) as shown:
        page = shown.open(site_address(site) + "runs/first/index.html")
        heading = page.locator("#leaderboard thead th", has_text="Debater")
        column = page.locator("#leaderboard tbody td:nth-child(3)")
        before = column.all_inner_texts()
        heading.locator("button").focus()
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "descending"
        assert column.all_inner_texts() == sorted(before, reverse=True)
        assert shown.problems() == []


# --- what a figure gives ----------------------------------------------------------------------------------------------


def downloaded(page: Page, section: str, kind: str) -> str:
    """The text of a file that a figure gives."""
    button = page.locator(f"#{section} .tools button", has_text=kind)
    button.focus()
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    return waiting.value.path().read_text(encoding="utf-8")


def test_csv_of_a_figure_has_the_rows_of_its_query_with_all_digits(
    browser: Browser, site: Path, database: Path
) -> None:
    with watched(browser, site_address(site), accept_downloads=True) as shown:
        page = shown.open(site_address(site) + "runs/first/index.html")
        for section in ("leaderboard", "rating-intervals"):
            page.locator(f"#{section} details.sql summary").click()
            sql = page.locator(f"#{section} details.sql pre").text_content()
            expected = run_query(database, sql or "", {"run_tag": "first"})
            found = list(csv.reader(io.StringIO(downloaded(page, section, "CSV"))))
            assert found[0] == list(expected.columns)
            at = found[0].index("rating")
            assert [float(row[at]) for row in found[1:]] == [row[at] for row in expected.rows]
        assert shown.problems() == []


def test_formulas_are_harmless_in_csv(browser: Browser, site: Path) -> None:
    with watched(browser, site_address(site), accept_downloads=True) as shown:
        page = shown.open(site_address(site) + "runs/evil/index.html")
        cells = [cell for row in csv.reader(io.StringIO(downloaded(page, "leaderboard", "CSV"))) for cell in row]
        assert any(cell.startswith("'=HYPERLINK(") for cell in cells)
        assert not [cell for cell in cells if cell[:1] in "=@+" and cell]
        assert shown.problems() == []


def test_svg_of_a_figure_has_its_title_and_names_and_runs_nothing(browser: Browser, site: Path) -> None:
    with watched(browser, site_address(site), accept_downloads=True, color_scheme="dark") as shown:
        page = shown.open(site_address(site) + "runs/evil/index.html")
        text = downloaded(page, "rating-intervals", "SVG")
        assert shown.problems() == []
    root = ElementTree.fromstring(text)
    elements = list(root.iter())
    assert not {each.tag.rpartition("}")[2] for each in elements} & {"script", "foreignObject", "image"}
    assert not [name for each in elements for name in each.attrib if name.lower().startswith("on")]
    assert not [each for each in elements if "javascript" in str(each.attrib.get("href", ""))]
    said = " ".join("".join(each.itertext()) for each in elements if each.tag.endswith("}text"))
    assert said.startswith("Ratings ")
    assert "HYPERLINK" in said


def test_every_figure_links_to_itself(browser: Browser, site: Path) -> None:
    with watched(browser, site_address(site)) as shown:
        page = shown.open(site_address(site) + "runs/first/index.html")
        sections = page.locator("section[id]")
        assert sections.count() == page.locator("section[id] > .tools > a.self").count() > 5
        page.locator("#head-to-head .self").click()
        assert page.url.endswith("#head-to-head")


# --- loading ----------------------------------------------------------------------------------------------------------


def test_the_library_of_charts_is_loaded_when_one_comes_into_view_and_nothing_jumps(
    browser: Browser, site: Path
) -> None:
    asked: list[str] = []
    # Low enough that with any font the first chart is more than half a window below it.
    with watched(browser, site_address(site), viewport={"width": 1280, "height": 200}) as shown:
        shown.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        page = shown.open(site_address(site) + "runs/first/index.html")
        page.wait_for_timeout(300)
        assert "charts.js" in asked
        assert "plotly-cartesian.min.js" not in asked
        before = page.evaluate("Array.from(document.querySelectorAll('section'), (each) => each.offsetTop)")
        draw_charts(page)
        assert asked.count("plotly-cartesian.min.js") == 1
        assert page.evaluate("Array.from(document.querySelectorAll('section'), (each) => each.offsetTop)") == before


def resolved(value: Any) -> Any:
    """A specification with a colour in place of each variable of the style sheet."""
    if isinstance(value, dict):
        return {key: resolved(item) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item) for item in value]
    return re.sub(r"^var\(--[a-z0-9-]+\)$", "#123456", value) if isinstance(value, str) else value


def test_plotly_accepts_every_chart_of_every_page(site: Path) -> None:
    import plotly.graph_objects as go

    kinds: set[str] = set()
    for path in pages_of(site):
        for spec in chart_specs(site / path):
            figure = go.Figure(resolved(framed(spec)))
            kinds |= {trace.type for trace in figure.data}
    assert kinds >= {"bar", "heatmap", "scatter"}
    with pytest.raises(ValueError, match="no_such_thing"):
        go.Figure({"data": [{"type": "bar", "no_such_thing": 1}]})


def test_pages_and_the_site_are_light(site: Path, nine: Path) -> None:
    heavy = {path: size for path in pages_of(site) if (size := (site / path).stat().st_size) > MOST_BYTES_OF_A_PAGE}
    assert heavy == {}
    files = [path for path in nine.rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert sum(path.stat().st_size for path in files if "debates" not in path.parts) <= MOST_BYTES_OF_A_SITE


# --- paper ------------------------------------------------------------------------------------------------------------


def sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_the_page_of_the_leaderboard_is_printed_on_one_sheet(browser: Browser, database: Path, tmp_path: Path) -> None:
    site = build_site(database, report_files(), tmp_path / "site", run_tags=["first"], now=NOON).parent
    with watched(browser, site_address(site), color_scheme="dark") as shown:
        page = shown.open(site_address(site) + "index.html")
        draw_charts(page)
        pdf = page.pdf(format="A4")
    assert sheets(pdf) == 1


# --- hostile text -----------------------------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_even_without_the_policy(browser: Browser, site: Path) -> None:
    address = site_address(site)
    problems = {}
    with watched(browser, address, bypass_csp=True) as shown:
        for path in [each for each in pages_of(site) if "evil" in each or "flow" in each or "/" not in each]:
            page = shown.open(address + path)
            draw_charts(page)
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            found = shown.problems()
            found += page.evaluate(
                """() => Array.from(document.querySelectorAll("*")).filter((each) =>
                    ["IMG", "IFRAME", "OBJECT", "EMBED"].includes(each.tagName)
                    || Array.from(each.attributes).some(({ name }) => name.startsWith("on"))
                    || (each.getAttribute("href") ?? "").includes("javascript:")).map((each) => each.outerHTML)"""
            )
            if not page.title().endswith("· debatebench"):
                found.append(page.title())
            # The value of an option is compared and never shown.
            page.evaluate("document.querySelectorAll('option').forEach((each) => each.removeAttribute('value'))")
            if set(page.content()) & set("\x00\x1b\u202e\u2066\u200b\U000e0041"):
                found.append("a hidden character")
            if found:
                problems[path] = found
    assert problems == {}


def test_the_same_text_unescaped_runs_without_the_policy_and_is_refused_with_it(
    browser: Browser, site: Path, tmp_path: Path
) -> None:
    shutil.copytree(site / "assets", tmp_path / "assets")
    html = (site / "index.html").read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(
        html.replace("<main", f"<p>{HOSTILE}</p><main", 1), encoding="utf-8", errors="replace"
    )
    for bypass_csp in (True, False):
        with watched(browser, site_address(tmp_path), bypass_csp=bypass_csp) as shown:
            page = shown.open((tmp_path / "index.html").as_uri())
            assert (page.title() == "pwned") == bypass_csp
            assert any("script-src" in each for each in shown.problems()) != bypass_csp
