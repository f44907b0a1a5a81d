"""The documentation page: everything is there, every link leads somewhere, nothing in it can run that is not ours."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from datetime import date
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_project import STAGING, write_project

from debatebench.output.docs.content import Entry
from debatebench.output.docs.page import Drawing, draw, render_docs, write_docs
from debatebench.query.sql_project import load_project
from debatebench.shared.errors import ConfigError, DebatebenchError, UsageError
from debatebench.shared.records import TABLES
from debatebench.shared.workspace import Workspace
from debatebench.transform.project import Project

pytestmark = pytest.mark.slow

TODAY = date(2026, 6, 1)
VOID = {"meta", "input", "br", "hr", "link", "img"}


class Page(HTMLParser):
    """What a browser would see: elements with attributes, text by element id, and unbalanced tags."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: dict[str, list[str]] = {}
        self.raw: dict[str, str] = {}
        self.open: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append((tag, found.get("id", "")))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for _, identifier in self.open:
            if identifier:
                self.text.setdefault(identifier, []).append(data)
        if self.open and self.open[-1][0] in ("style", "script"):
            tag = self.open[-1][0]
            self.raw[tag] = self.raw.get(tag, "") + data

    def section(self, identifier: str) -> str:
        """The text of an element on one line."""
        return " ".join("".join(self.text[identifier]).split())

    def all(self, attribute: str) -> list[str]:
        return [found[attribute] for _, found in self.elements if attribute in found]


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    return Workspace(Path("no-such-workspace")).files("reports", "**/*")


@pytest.fixture(scope="module")
def packaged() -> Project:
    return load_project(Workspace(Path("no-such-workspace")).files("sql", "**/*"))


@pytest.fixture(scope="module")
def html(packaged: Project, files: dict[str, Path]) -> str:
    return render_docs(packaged, files, TODAY)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


# --- what it says -----------------------------------------------------------------------------------------------------


def test_every_sql_model_and_landed_table_has_a_section_with_every_column(page: Page, packaged: Project):
    ids = set(page.all("id"))
    for name, model in packaged.models.items():
        assert name in ids
        assert {f"{name}.{column.name}" for column in model.properties.columns} <= ids
        assert " ".join(model.properties.description.replace("`", "").split()) in page.section(name)
    assert {f"raw.{table}" for table in TABLES} <= ids


def test_a_section_says_grain_edges_tests_and_sql(page: Page):
    text = page.section("marts.head_to_head")
    assert "Reads marts.debate_results" in text
    assert "unique_combination_of_columns: run_tag, model_id, opponent_id" in text
    assert "File sql/marts/debaters/head_to_head.sql" in text
    assert "order by run_tag, model_id, opponent_id" in text
    assert "Read by" in text
    assert "unit test" in page.section("marts.panel_winners_v4")
    assert "version 4 incremental by run_tag contract latest" in page.section("marts.panel_winners_v4")


def test_a_column_says_type_meaning_tests_and_what_it_is_made_of(page: Page):
    text = page.section("marts.panel_winners_v4.winner")
    assert text.startswith("winner varchar The panel's winner. Values: pro: the side for the motion; con: ")
    assert "accepted_values: pro, con, tie, no_decision" in text
    assert "macros.more_verdicts(status, count_pro, count_con, count_tie, 1)" in text
    assert "marts.judge_verdicts_v4.winner" in text
    assert "raw.verdicts.scores" in text


def test_the_unsuffixed_name_lists_its_versions(page: Page):
    text = page.section("marts.panel_winners")
    assert "latest version: 4" in text
    assert "marts.panel_winners_v1" in text
    assert "marts.panel_winners_v4 latest" in text


def test_singular_tests_are_listed_with_their_sql(page: Page, packaged: Project):
    for test in packaged.singular_tests:
        assert test.name.replace("_", " ") in page.section(f"tests.{test.name}")


def test_every_dependency_is_a_line_of_the_drawing(page: Page, packaged: Project):
    drawn = {
        (found["data-from"], found["data-to"])
        for tag, found in page.elements
        if tag == "path" and found.get("class") == "edge"
    }
    assert drawn == {(read, name) for name, model in packaged.models.items() for read in model.dependencies}


def test_prereleases_and_deprecations_are_shown(tmp_path: Path, files: dict[str, Path]):
    project = write_project(
        tmp_path,
        STAGING
        | {f"marts/w_v{n}.sql": "select winner from staging.stg_debates" for n in (1, 2, 3)}
        | {
            "marts/w.yml": """
                models:
                  - name: w
                    description: Who won.
                    latest_version: 2
                    config: {tags: [cost]}
                    versions: [{v: 1, deprecation_date: 2026-05-31}, {v: 2, deprecation_date: 2026-07-01}, {v: 3}]
                """
        },
    )
    page = Page(render_docs(project, files, TODAY))
    assert "deprecated since 2026-05-31" in page.section("marts.w_v1")
    assert "latest to be deprecated on 2026-07-01" in page.section("marts.w_v2")
    assert "prerelease" in page.section("marts.w_v3")
    assert "tag: cost" in page.section("marts.w_v3")
    versions = page.section("marts.w")
    assert "marts.w_v1 deprecated since 2026-05-31 marts.w_v2 latest" in versions
    assert "marts.w_v3 prerelease" in versions


def test_a_column_without_a_text_shows_that_of_the_column_it_comes_from(tmp_path: Path, files: dict[str, Path]):
    mine = {
        "columns.yml": "columns: [{name: topic_id, description: The same everywhere.}]",
        "marts/m.sql": "select winner as result from staging.stg_debates",
        "marts/m.yml": "models: [{name: m, description: M.}]",
    }
    page = Page(render_docs(write_project(tmp_path, STAGING | mine), files, TODAY))
    assert "Who won." in page.section("marts.m")
    assert "The same everywhere." in page.section("raw.debates")


# --- a page that can be trusted ---------------------------------------------------------------------------------------


def test_every_link_leads_to_a_place_of_the_page_and_no_place_comes_twice(page: Page):
    ids = Counter(page.all("id"))
    assert [each for each, count in ids.items() if count > 1] == []
    links = page.all("href")
    assert len(links) > 500
    assert {link for link in links if link.removeprefix("#") not in ids} == set()
    assert {each for each in page.all("aria-labelledby") if each not in ids} == set()


def test_the_page_is_balanced_and_needs_nothing_else(page: Page, html: str):
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert tags & {"link", "img", "iframe", "object", "embed", "base", "form"} == set()
    assert page.all("src") == []
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", html)


def test_nothing_runs_but_the_one_script_whose_hash_the_policy_names(page: Page):
    attributes = {name for _, found in page.elements for name in found}
    assert not any(name.startswith("on") for name in attributes)
    assert "style" not in attributes
    (policy,) = [found["content"] for _, found in page.elements if "http-equiv" in found]
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert [tag for tag, _ in page.elements if tag in ("script", "style")] == ["style", "script"]


HOSTILE = "</code><script>alert(1)</script>\"'&<b>\x1b[31m\u202e\u200b`x`"


def test_hostile_names_and_texts_are_only_text(tmp_path: Path, files: dict[str, Path]):
    quoted = HOSTILE.replace('"', '""').replace("\x1b", "").replace("\u202e", "")
    yaml_text = HOSTILE.replace("'", "''").replace("\x1b", "").replace("\u202e", "\u202e")
    project = write_project(
        tmp_path,
        STAGING
        | {
            "marts/h.sql": f"-- {HOSTILE}\nselect winner as \"{quoted}\", '</script>' as b from staging.stg_debates\n",
            "marts/h.yml": "models:\n"
            "  - name: h\n"
            f"    description: '{yaml_text}'\n"
            f"    config: {{tags: ['{yaml_text}']}}\n"
            "    columns:\n"
            f"      - {{name: b, description: '{yaml_text}', data_type: '{yaml_text}', data_tests: [not_null]}}\n",
        },
    )
    html = render_docs(project, files, TODAY)
    page = Page(html)
    assert page.open == []
    assert [tag for tag, _ in page.elements if tag in ("script", "b")] == ["script"]
    assert "<script>alert(1)</script>" in page.section("marts.h")
    assert not set(html) & set("\x1b\u202e\u200b")
    ids = set(page.all("id"))
    assert {link for link in page.all("href") if link.removeprefix("#") not in ids} == set()


def test_equal_projects_give_equal_bytes(packaged: Project, files: dict[str, Path], html: str):
    assert render_docs(load_project(packaged.files), files, TODAY) == html


def test_a_sql_model_that_cannot_be_traced_is_described_all_the_same(tmp_path: Path, files: dict[str, Path]):
    yaml = "models: [{name: m, description: M., columns: [{name: winner, description: W.}]}]"
    sql = "select columns('win.*') from staging.stg_debates"
    page = Page(render_docs(write_project(tmp_path, STAGING | {"marts/m.sql": sql, "marts/m.yml": yaml}), files, TODAY))
    assert "cannot be traced (line 1): COLUMNS(…) hides" in page.section("marts.m.winner")


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Project:
    return write_project(tmp_path / "sql", STAGING)


def test_the_page_is_written_whole_and_again(small: Project, files: dict[str, Path], tmp_path: Path):
    path = write_docs(small, files, tmp_path / "a" / "b", TODAY)
    first = path.read_bytes()
    assert path == tmp_path / "a" / "b" / "index.html"
    assert write_docs(small, files, tmp_path / "a" / "b", TODAY).read_bytes() == first
    assert [each.name for each in path.parent.iterdir()] == ["index.html"]


def test_a_folder_that_cannot_be_written_is_named(small: Project, files: dict[str, Path], tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DebatebenchError, match=r"file/\w+\.\w+ cannot be written: "):
        write_docs(small, files, tmp_path / "file", TODAY)


def test_a_page_of_somebody_else_is_not_written_over(small: Project, files: dict[str, Path], tmp_path: Path):
    (tmp_path / "index.html").write_bytes(b"<h1>Mine</h1>\xff")
    with pytest.raises(UsageError, match=r"index\.html is not a page of `debatebench docs`"):
        write_docs(small, files, tmp_path, TODAY)
    assert (tmp_path / "index.html").read_bytes() == b"<h1>Mine</h1>\xff"


def test_a_workspace_may_have_its_own_style_and_template(small: Project, files: dict[str, Path], tmp_path: Path):
    (tmp_path / "docs.css").write_text(".mine { color: red }\r\n")
    html = render_docs(small, files | {"templates/docs.css": tmp_path / "docs.css"}, TODAY)
    page = Page(html)
    digest = base64.b64encode(hashlib.sha256(page.raw["style"].encode()).digest()).decode()
    assert ".mine { color: red }\n" in page.raw["style"]
    assert digest in html


def test_a_style_that_would_end_its_element_is_refused(small: Project, files: dict[str, Path], tmp_path: Path):
    (tmp_path / "docs.css").write_text("a::after { content: '</style><script>alert(1)</script>' }")
    with pytest.raises(ConfigError, match="contains '</' or '<!--'"):
        render_docs(small, files | {"templates/docs.css": tmp_path / "docs.css"}, TODAY)


def test_a_missing_template_is_named(small: Project, files: dict[str, Path]):
    with pytest.raises(ConfigError, match=r"reports/templates/docs\.js is missing"):
        render_docs(small, {n: f for n, f in files.items() if n != "templates/docs.js"}, TODAY)


# --- the drawing ------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    names = [f"n{number}" for number in range(draw(st.integers(0, 14)))]
    return {name: draw(st.lists(st.sampled_from(names[:n]), unique=True)) if n else [] for n, name in enumerate(names)}


def drawing_of(above: dict[str, list[str]]) -> Drawing:
    return draw(
        [
            Entry("marts", name, name, "", edges=(("Reads", tuple((read, read) for read in reads)),))
            for name, reads in above.items()
        ]
    )


def corners(drawing: Drawing) -> dict[str, tuple[float, float]]:
    return {name: (x, y) for name, _, _, x, y in drawing.nodes}


@settings(deadline=None)
@given(graphs())
def test_edges_go_right_and_no_box_lies_on_another(above: dict[str, list[str]]):
    drawing = drawing_of(above)
    at = corners(drawing)
    assert set(at) == set(above)
    assert {edge[:2] for edge in drawing.edges} == {(source, target) for target in above for source in above[target]}
    for source, target, path in drawing.edges:
        first, *_, last_x, last_y = re.findall(r"[\d.]+", path)
        assert float(first) == at[source][0] + drawing.node_width < float(last_x) == at[target][0]
        assert float(last_y) == pytest.approx(at[target][1] + drawing.node_height / 2)
    for (ax, ay), (bx, by) in combinations(at.values(), 2):
        assert ax != bx or abs(ay - by) >= drawing.node_height
    for x, y in at.values():
        assert 0 <= x <= drawing.width - drawing.node_width
        assert 0 <= y <= drawing.height - drawing.node_height


def test_a_drawing_does_not_depend_on_the_order_of_the_graph():
    above = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["c", "d", "a"]}
    other = {name: above[name] for name in "badce"}
    assert corners(drawing_of(other)) == corners(drawing_of(above))


def test_two_crossed_edges_are_uncrossed():
    at = corners(drawing_of({"a": [], "b": [], "c": ["b"], "d": ["a"]}))
    assert (at["a"][1] < at["b"][1]) == (at["d"][1] < at["c"][1])
