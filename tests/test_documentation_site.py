"""The documentation site: what is generated, and the site in a browser. `make test-docs` installs MkDocs for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pages
import pytest
from paths import REPOSITORY
from reference_commands import command_pages
from reference_configuration import attribute_texts, configuration_page
from reference_errors import error_classes, error_messages, error_page
from site_browser import site_address, watched
from site_pages import parse

from debatebench.cli.app import COMMANDS
from debatebench.config import attacks, load, parts, types
from debatebench.config.setting import Setting
from debatebench.output.report.choice import read_choice
from debatebench.query.sql_project import load_project
from debatebench.shared.records import TABLES
from debatebench.shared.workspace import Workspace, packaged

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MKDOCS = os.environ.get("DEBATEBENCH_MKDOCS")
needs_mkdocs = pytest.mark.skipif(not MKDOCS, reason="DEBATEBENCH_MKDOCS names no mkdocs; `make test-docs` does it all")


def marts() -> set[str]:
    files = Workspace(packaged("sql").parent).files("sql", "**/*")
    return {name for name in load_project(files).models if name.startswith("marts.")}


def test_every_command_has_a_page_with_its_options():
    found = command_pages()
    assert {f"{name}.md" for name in COMMANDS} | {"index.md"} == found.keys()
    assert "`--max-cost <float range>`" in found["run.md"]
    assert "| `SOURCE` |" in found["judge.md"]
    assert "## runs archive" in found["runs.md"]
    assert all(f"[`{name}`]({name}.md)" in found["index.md"] for name in COMMANDS)


@pytest.mark.slow
def test_every_error_is_listed_with_its_exit_code_and_its_messages():
    page = error_page()
    for name, each in error_classes().items():
        assert f"## {name}\n\nExit code {each.exit_code}.\n" in page
    assert "NewerDataError" in error_classes()
    messages = [text for found in error_messages().values() for text, _ in found]
    assert len(messages) > 500
    assert "There is no file PATH; `debatebench init` writes the packaged ones to configs/." in messages


def test_every_configuration_key_that_a_file_may_have_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    allowed: set[str] = set()
    allow = Setting.allow

    def noted(setting: Setting, paths: Any) -> None:
        paths = list(paths)
        allowed.update(paths)
        allow(setting, paths)

    monkeypatch.setattr(Setting, "allow", noted)
    workspace = Workspace(packaged("configs").parent)
    configs = packaged("configs")
    load.load_config(configs / "config.yaml")
    for file in ("models", "judges"):
        (load.load_debaters if file == "models" else load.load_judges)(configs / f"{file}.yaml")
    load.load_topics(configs / "topics.json")
    for path in (configs / "rubrics").glob("*.yaml"):
        parts.load_rubric(path)
    parts.load_format(configs / "formats" / "karl_popper.yaml")
    parts.load_weaknesses(configs / "weaknesses.yaml")
    attacks.load_attacks(workspace, configs / "attacks.yaml")
    for name, text in {
        "quick.yaml": "{models: [{id: a, model: a}], judges: [{id: b, model: b}]}",
        "prices.yaml": "models: [{id: a, provider: http, model: a, pricing: "
        "{prompt: 0, completion: 0, tiers: {flex: {prompt: 0, completion: 0}}}}]\nlimits: {http: {max_concurrency: 1}}",
        "site.yml": "{title: Spring}",
    }.items():
        (tmp_path / name).write_text(text)
    load.load_quick_test(tmp_path / "quick.yaml")
    load.load_debaters(tmp_path / "prices.yaml")
    read_choice(tmp_path / "site.yml")
    assert {"tiers", "by_category", "taxonomy", "favours", "num_judges", "front", "max_concurrency"} <= allowed
    page = configuration_page()
    assert {key for key in allowed if f"`{key}`" not in page and f"`{key.partition('.')[0]}`" not in page} == set()


@pytest.mark.parametrize("kind", [types.Config, types.MemberConfig, types.DimensionConfig, types.Round, attacks.Attack])
def test_every_configuration_key_says_what_it_means(kind: Any):
    without_text = kind.model_fields.keys() - attribute_texts(kind).keys()
    # Not keys of the file, or keys that a table of their own explains.
    assert without_text <= {"weaknesses", "limits", "provider_limits", "text"}


def test_every_page_is_in_the_navigation_once():
    written = [path.name for path in (REPOSITORY / "docs").glob("*.md")]
    names = [*written, *pages.PROJECT.values(), "reference/records.md", "reference/sql/ratings.md"]
    placed = list(_names(pages.navigation(names)))
    assert len(placed) == len(set(placed))
    assert set(names) <= set(placed), "pages.SECTIONS says where a page stands"


def _names(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for each in part.values() if isinstance(part, dict) else part:
            yield from _names(each)


def test_a_page_is_fitted_to_the_site_and_its_links_lead_to_the_pages_there():
    text = (
        "<!-- not run: needs a key -->\n```yaml configs/models.yaml\na: 1\n```\n"
        "[a](docs/running.md#prices) [b](CHANGELOG.md) [c](README.md#commands) [d](https://example.org/x.md)\n"
    )
    assert pages.fitted(text, REPOSITORY / "README.md") == (
        '```yaml title="configs/models.yaml"\na: 1\n```\n'
        "[a](running.md#prices) [b](changelog.md) [c](index.md#commands) [d](https://example.org/x.md)\n"
    )


def test_the_entries_of_the_tutorial_can_be_read(tmp_path: Path):
    text = (REPOSITORY / "docs" / "tutorial-hosted.md").read_text(encoding="utf-8")
    models, judges = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    (tmp_path / "models.yaml").write_text(models)
    (tmp_path / "judges.yaml").write_text(judges)
    debaters = load.load_debaters(tmp_path / "models.yaml")
    assert {each.provider for each in (*debaters, *load.load_judges(tmp_path / "judges.yaml"))} == {"openrouter"}
    assert len(debaters) == 2


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a network: every request would go to a proxy that is not there."""
    folder = tmp_path_factory.mktemp("documentation")
    pages.main(folder)
    nowhere = dict.fromkeys(
        ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"
    )
    build = [str(MKDOCS), "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    environ = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder / "site"


@needs_mkdocs
@pytest.mark.slow
def test_the_built_site_names_no_other_host_to_load_from(site: Path):
    loads = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "form": "action"}
    found = {
        (tag, attributes[loads[tag]])
        for path in site.rglob("*.html")
        for tag, attributes in parse(path).tags
        if attributes.get(loads.get(tag, ""))
    }
    assert len(found) > 20
    assert {each for each in found if re.match(r"(?:[a-z]+:)?//", str(each[1]))} == set()
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text(encoding="utf-8")), path


@needs_mkdocs
@pytest.mark.slow
def test_the_search_index_has_every_command_mart_and_landed_table(site: Path):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {each["title"] for each in index["docs"]}
    assert len(marts()) > 80
    assert set(COMMANDS) | marts() | {f"raw.{name}" for name in TABLES} <= titles


_FOUND = """async (words) => {
    const box = document.querySelector(".md-search__input"), found = {};
    const result = document.querySelector(".md-search-result__list");
    box.focus();
    for (const [word, place] of words) {
        const links = () => [...result.querySelectorAll(".md-search-result__link")].map((each) => each.href);
        const has = () => links().some((link) => link.replace(/[?]h=[^#]*/, "").endsWith(place));
        box.value = word;
        box.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
        for (let tries = 0; tries < 250 && !has(); tries++) await new Promise((done) => setTimeout(done, 20));
        if (!has()) found[word] = links();
    }
    return found;
}"""


@needs_mkdocs
@pytest.mark.slow
def test_the_search_finds_every_command_mart_and_option_in_a_browser_without_a_request_to_another_host(
    site: Path, browser: Browser
):
    where = {name: f"/commands/{name}.html" for name in COMMANDS}
    for page in (site / "reference" / "sql").glob("marts-*.html"):
        for mart in re.findall(r'<h2 id="(marts-\w+)">', page.read_text(encoding="utf-8")):
            where[mart.replace("-", ".")] = f"/sql/{page.name}#{mart}"
    assert set(where) == set(COMMANDS) | marts()
    where |= {"--sql-console": "/commands/report.html", "--no-browser": "/commands/view.html"}
    with watched(browser, site_address(site)) as opened:
        page = opened.open(f"{site_address(site)}index.html")
        page.locator(".md-search__input").click()
        page.locator(".md-search-result__meta", has_text="Type to start").wait_for()
        assert page.evaluate(_FOUND, list(where.items())) == {}
        for name in ("index.html", "tutorial.html", "reference/configuration.html", "reference/errors.html"):
            opened.open(site_address(site) + name)
        assert opened.problems() == []


@needs_mkdocs
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone(site: Path, browser: Browser, scheme: Any):
    phone = {"width": 390, "height": 844}
    with watched(browser, site_address(site), viewport=phone, color_scheme=scheme) as opened:
        for name in ("index", "running", "reference/commands/run", "reference/sql/ratings", "reference/configuration"):
            page = opened.open(f"{site_address(site)}{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.evaluate("document.body.dataset.mdColorScheme") == ("slate" if scheme == "dark" else "default")
        assert opened.problems() == []
