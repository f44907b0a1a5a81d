"""The pages of a static site, as a reader and a browser see them."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

from debatebench.shared.workspace import Workspace, packaged


def report_files(*pages: str) -> dict[str, Path]:
    """The packaged files of a site: with all its pages, or with `pages` only, for tests that read no other."""
    files = Workspace(packaged("reports").parent).files("reports", "**/*")
    chosen = {f"pages/{name}.yml" for name in pages}
    assert chosen <= files.keys()
    return {name: path for name, path in files.items() if not (chosen and name.startswith("pages/")) or name in chosen}


def keep_pages(root: Path, *names: str) -> Path:
    """Lay pages for sites of a thousand runs over all others, so that the sites of this workspace have only these."""
    folder = root / "reports" / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    for path, page in report_files().items():
        if path.startswith("pages/") and page.stem not in names:
            text = re.sub(r"^least_runs:.*\n", "", page.read_text(encoding="utf-8"), flags=re.M)
            (folder / page.name).write_text(f"{text}\nleast_runs: 1000\n", encoding="utf-8")
    return root


@contextmanager
def only_pages(*names: str) -> Iterator[None]:
    """Within the block, sites that this process writes have only these of their pages.

    For tests of something else than the pages: all pages of a small site take six seconds.
    """
    from debatebench.output.report import page, site

    def chosen(files: Mapping[str, Path]) -> tuple[page.Page, ...]:
        assert {f"pages/{name}.yml" for name in names} <= files.keys()
        return tuple(each for each in page.load_pages(files) if each.name in names)

    with patch.object(site, "load_pages", chosen):
        yield


@dataclass
class Parsed(HTMLParser):
    """What a page consists of, as a browser would see it."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.text.append(data)


def parse(path: Path) -> Parsed:
    parsed = Parsed()
    parsed.feed(path.read_text(encoding="utf-8"))
    return parsed


def words(path: Path) -> str:
    """The text of a page, with one space between words."""
    return " ".join(" ".join(parse(path).text).split())


def section(page: Path, identifier: str) -> str:
    """The HTML of a page's section."""
    (found,) = re.findall(rf'<section id="{identifier}".*?</section>', page.read_text(encoding="utf-8"), re.S)
    return str(found)


def figures(page: Path) -> dict[str, Any]:
    """What scripts show of a page: its charts, the rows of its sections as CSV, long notes, what its queries need."""
    found = re.search(r'<script type="application/gzip" id="figures">(.*?)</script>', page.read_text(encoding="utf-8"))
    return dict(json.loads(unpacked(found[1]))) if found else {}


def chart_specs(page: Path, identifier: str | None = None) -> list[dict[str, Any]]:
    """The specifications of the charts in a page, or in one of its sections."""
    specs = figures(page).get("charts", [])
    if identifier is None:
        return list(specs)
    own = section(page, identifier)
    start = page.read_text(encoding="utf-8").partition(own)[0].count("<figure")
    return list(specs[start : start + own.count("<figure")])


def unpacked(text: str) -> str:
    """What a packed part of a page holds."""
    return gzip.decompress(base64.b64decode(text)).decode("utf-8")


def text_of(html: str) -> str:
    """The text of a part of a page, with one space between words."""
    parsed = Parsed()
    parsed.feed(html)
    return " ".join(" ".join(parsed.text).split())


def site_data(site: Path, name: str) -> Any:
    """The data that `debatebench.load(name)` returns in a page of the site."""
    script = (site / "data" / f"{name}.js").read_text(encoding="ascii")
    found = re.fullmatch(r'debatebench\.received\("([^"]+)","([A-Za-z0-9+/=]+)"\);\n', script)
    assert found is not None
    assert found[1] == name
    return json.loads(gzip.decompress(base64.b64decode(found[2])))


def opened_debates(site: Path, fragment: str) -> list[str]:
    """The ids of the debates to which a link with this fragment leads, as far as it names a run, debate or debater."""
    wanted = dict(parse_qsl(fragment, keep_blank_values=True, strict_parsing=True, errors="strict"))
    (run,) = (each for each in site_data(site, "debates")["runs"] if each["tag"] == wanted["run"])
    found = site_data(site, f"{run['folder']}/list")
    names = [*found["debaters"], None]
    return [
        debate_id
        for debate_id, pro, con in zip(found["ids"], found["pro"], found["con"], strict=True)
        if wanted.get("debate", debate_id) == debate_id
        and ("debater" not in wanted or wanted["debater"] in (names[pro], names[con]))
    ]


def find_chromium() -> str | None:
    """The browser that is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
