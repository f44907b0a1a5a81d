"""The leaderboard for other documents: no script, nothing from elsewhere, and names that stay text."""

from __future__ import annotations

import re
from base64 import b64decode
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from command_line import debatebench_here
from markdown_it import MarkdownIt
from report_warehouse import HOSTILE, make_warehouse, tournament
from site_browser import chromium, site_address, watched
from site_pages import Parsed

from debatebench.cli.app import make_app
from debatebench.output.report.fragments import FRAGMENT_FILES, leaderboard_fragments
from debatebench.query.safe_query import open_for_query
from debatebench.shared.errors import DebatebenchError

SVG = "{http://www.w3.org/2000/svg}"
EVIL = (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>x</a> | `b` @all", "]]></svg>-->", "m" * 60)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    silent = (record for record in tournament("silent", ("a", "b")) if type(record).__name__ == "Run")
    return make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("tiny", tournament("tiny", ("alpha", "beta", "gamma"), is_simulated=True)),
        ("evil", tournament("evil", EVIL)),
        ("silent", silent),
    )


def fragments(database: Path, run_tag: str) -> dict[str, str]:
    with closing(open_for_query(database)) as con:
        return leaderboard_fragments(con, run_tag)


def test_every_form_has_the_debaters_in_order_and_says_what_they_are(database: Path):
    found = fragments(database, "tiny")
    assert tuple(found) == FRAGMENT_FILES
    for name in ("leaderboard.html", "leaderboard.md", "leaderboard.svg"):
        text = found[name]
        assert text.index("alpha") < text.index("beta") < text.index("gamma"), name
        assert "what judges prefer, not what is true." in text, name
        assert "it says nothing about real models." in text, name
    badge = "".join(ElementTree.fromstring(found["leaderboard-badge.svg"]).itertext())
    assert re.search(r"debates\n?.*alpha \d+", badge, re.S)


def test_the_numbers_are_those_of_the_warehouse(database: Path):
    with closing(open_for_query(database)) as con:
        rows = con.execute(
            "select model_id, round(rating), round(ci_low), round(ci_high) from marts.leaderboard "
            "where run_tag = 'tiny' and is_displayed order by rank"
        ).fetchall()
    lines = [
        line.split(" | ")
        for line in fragments(database, "tiny")["leaderboard.md"].splitlines()
        if "alpha" in line or "beta" in line or "gamma" in line or "newcomer" in line
    ]
    shown = [
        (name, float(rating), *map(float, interval.replace("−", "-").split(" to ")))
        for _, name, rating, interval, *_ in lines
    ]
    assert shown == [tuple(row) for row in rows]


def test_hostile_names_are_text_in_html(database: Path):
    parsed = Parsed()
    html = fragments(database, "evil")["leaderboard.html"]
    parsed.feed(html)
    assert {tag for tag, _ in parsed.tags} == {"div", "img", "table", "thead", "tbody", "tr", "th", "td", "p"}
    for _, attributes in parsed.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "href"]
    (source,) = [str(attributes["src"]) for tag, attributes in parsed.tags if tag == "img"]
    assert source.startswith("data:image/svg+xml;base64,")
    assert b64decode(source.partition(",")[2]).decode() == fragments(database, "evil")["leaderboard.svg"]
    assert "<img src=x onerror=" in "".join(parsed.text)
    assert not set(html) & set("\x00\x1b\u202e\u2066\u200b")


@pytest.mark.parametrize("name", ["leaderboard.svg", "leaderboard-badge.svg"])
def test_hostile_names_are_text_in_svg(database: Path, name: str):
    tree = ElementTree.fromstring(fragments(database, "evil")[name])
    assert {element.tag.removeprefix(SVG) for element in tree.iter()} <= {
        "svg",
        "style",
        "line",
        "circle",
        "rect",
        "text",
    }
    for element in tree.iter():
        assert not [key for key in element.attrib if key.startswith("on") or key.endswith("href")]
    assert "</script><script>" in "".join(tree.itertext())
    wide = float(tree.get("viewBox", "").split()[2])
    assert all(0 <= float(element.get("x", 0)) <= wide for element in tree.iter(f"{SVG}text"))


def test_hostile_names_are_text_in_markdown(database: Path):
    text = fragments(database, "evil")["leaderboard.md"]
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    inline = [child.type for token in tokens for child in token.children or ()]
    assert set(inline) <= {"text", "image", "code_inline", "text_special", "softbreak", "html_inline"}
    assert inline.count("image") == 1
    assert {child.content for token in tokens for child in token.children or () if child.type == "html_inline"} <= {
        "<br>"
    }
    assert sum(token.type == "tr_open" for token in tokens) == 1 + len(EVIL)


@pytest.mark.slow
def test_a_snippet_runs_nothing_in_a_browser(database: Path, tmp_path: Path):
    found = fragments(database, "evil")
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><meta charset=utf-8><title>host</title>" + found["leaderboard.html"] + found["leaderboard.svg"]
    )
    with chromium() as browser, watched(browser, site_address(tmp_path)) as seen:
        shown = seen.open(page.as_uri())
        assert shown.title() == "host"
        assert shown.locator("table tr").count() == 1 + len(EVIL)
        assert shown.evaluate("document.querySelector('img').naturalWidth") > 600
        assert seen.problems() == []


def test_a_run_without_ratings_has_no_leaderboard(database: Path):
    with pytest.raises(DebatebenchError, match="Run 'silent' has no debater with a rating"):
        fragments(database, "silent")


def options_of_report() -> dict[str, list[str]]:
    """Every option of `report` and how it is written with a value that it takes."""
    options = typer.main.get_command(make_app(["report"])).commands["report"].params  # type: ignore[attr-defined]
    return {
        option.opts[0]: [option.opts[0], *(["leaderboard" if option.name == "fragment" else "x"] * _values(option))]
        for option in options
    }


def _values(option: Any) -> int:
    return 0 if option.is_flag else option.nargs


@pytest.mark.parametrize("option", sorted(set(options_of_report()) - {"--fragment", "--run-tag", "--out-dir"}))
def test_a_fragment_refuses_every_option_that_it_does_not_use(tmp_path: Path, option: str):
    done = debatebench_here(tmp_path, "report", "--fragment", "leaderboard", *options_of_report()[option])
    assert done.code == 2
    what = "leave out --fragment" if option == "--check" else f"--fragment cannot be combined with {option}"
    assert what in done.error_line


@pytest.mark.parametrize("option", sorted(set(options_of_report()) - {"--check"}))
def test_a_check_refuses_every_other_option(tmp_path: Path, option: str):
    done = debatebench_here(tmp_path, "report", "--check", "site", *options_of_report()[option])
    assert done.code == 2
    assert f"leave out {option}" in done.error_line


@pytest.mark.slow
def test_the_command_writes_the_leaderboard_of_one_run(played: Path, tmp_path: Path):
    done = debatebench_here(played, "report", "--fragment", "leaderboard", "--out-dir", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert done.out.split() == [str(tmp_path / "out" / name) for name in FRAGMENT_FILES]
    again = debatebench_here(played, "report", "--fragment", "leaderboard", "--out-dir", str(tmp_path / "out"))
    assert again.code == 0, "its own files are replaced"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.md").touch()
    refused = debatebench_here(played, "report", "--fragment", "leaderboard", "--out-dir", str(tmp_path / "other"))
    assert refused.code == 2
    assert "contains files of other origin" in refused.error_line
