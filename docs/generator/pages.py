"""Gather the pages of the documentation site: those of docs/, those that the code tells, and the order of all.

`python docs/generator/pages.py FOLDER` writes FOLDER/pages/ and FOLDER/mkdocs.yml, from which `mkdocs build` makes
FOLDER/site/. What is written in docs/ stays readable where it is; here its Markdown is fitted to MkDocs.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from reference_commands import command_pages
from reference_configuration import configuration_page
from reference_errors import error_page
from reference_models import model_pages

from debatebench.cli.app import GROUPS

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
REPOSITORY = DOCS.parent

SECTIONS: dict[str, tuple[str, ...]] = {
    "Tutorial": ("tutorial.md", "tutorial-hosted.md"),
    "How to": (
        *("running.md", "shards.md", "runs.md", "importing.md", "verdicts.md", "judging.md", "debateflow.md"),
        *("querying.md", "comparing.md", "publishing.md", "exporting.md", "spark.md", "python-api.md", "mcp.md"),
        *("ci.md", "sql-models.md", "extending.md"),
    ),
    "Methods": ("philosophy.md", "statistics.md", "faults.md", "benchmarks.md", "architecture.md"),
}
"""The pages of docs/ in their order. One that is in no section is a how-to, after all others."""
_OF_REFERENCE = ("marts.md",)
_FIRST = "index.md"
PROJECT = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "reports/README.md": "report-files.md",
}
"""Pages that lie elsewhere in the checkout → their names on the site."""

_TABLES = re.compile(r"reference/(records\.md|sql/)")
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)]*)?\))")
_FENCE = re.compile(r"^(```[a-z]+) ([^\n\"=]+)$", re.M)
_COMMENT = re.compile(r"^<!-- .*? -->\n", re.M)


def main(folder: Path) -> None:
    """Write the pages and the configuration of MkDocs."""
    source = folder / "pages"
    shutil.rmtree(source, ignore_errors=True)
    pages = all_pages()
    for name, text in pages.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    for name in ("leaderboard.svg", "notebook.ipynb"):
        shutil.copyfile(DOCS / name, source / name)
    shutil.copytree(DOCS / "shards", source / "shards")
    config = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    config["theme"]["custom_dir"] = str(HERE / "theme")
    places = {"docs_dir": str(source), "site_dir": str(folder / "site")}
    text = yaml.safe_dump({**config, **places, "nav": navigation(pages)}, sort_keys=False)
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


def all_pages() -> dict[str, str]:
    """Name on the site → Markdown, of every page."""
    written = {path.name: path for path in sorted(DOCS.glob("*.md"))}
    written |= {name: REPOSITORY / source for source, name in PROJECT.items()}
    pages = {name: fitted(path.read_text(encoding="utf-8"), path) for name, path in written.items()}
    made = {f"commands/{name}": text for name, text in command_pages().items()}
    made |= model_pages(DOCS)
    made |= {"configuration.md": configuration_page(), "errors.md": error_page()}
    return pages | {f"reference/{name}": text for name, text in made.items()}


def fitted(text: str, path: Path) -> str:
    """A page of the checkout as MkDocs needs it: its links, its named blocks, and no comments about its tests."""
    text = _COMMENT.sub("", text)
    text = _FENCE.sub(r'\1 title="\2"', text)
    return _LINK.sub(lambda found: found[1] + _target(found[2], path) + found[3], text)


def _target(link: str, path: Path) -> str:
    """Where a link of a page leads on the site. Other files of the checkout are not there, and README is the start."""
    if "://" in link:
        return link
    to = (path.parent / link).resolve()
    inside = to.relative_to(REPOSITORY).as_posix() if to.is_relative_to(REPOSITORY) else link
    if to.parent == DOCS:
        return to.name
    return _FIRST if inside == "README.md" else PROJECT.get(inside, link)


def navigation(pages: Iterable[str]) -> list[Any]:
    """The pages in their sections."""
    placed = {_FIRST, *_OF_REFERENCE, *(name for names in SECTIONS.values() for name in names)}
    others = [name for name in pages if "/" not in name and name not in placed and name not in PROJECT.values()]
    sections = {title: [*names, *(others if title == "How to" else ())] for title, names in SECTIONS.items()}
    reference = [
        {"Marts by question": "marts.md"},
        {"Commands": ["reference/commands/index.md", *_command_groups()]},
        {"Tables": [{_title_of_table(name): name} for name in pages if _TABLES.match(name)]},
        {"Configuration keys": "reference/configuration.md"},
        {"Errors": "reference/errors.md"},
    ]
    return [
        {"Start": _FIRST},
        {"Tutorial": sections["Tutorial"]},
        {"How to": sections["How to"]},
        {"Reference": reference},
        {"Methods": sections["Methods"]},
        {"Project": list(PROJECT.values())},
    ]


def _command_groups() -> list[Mapping[str, Any]]:
    return [{group: [{name: f"reference/commands/{name}.md"} for name in names]} for group, names in GROUPS.items()]


def _title_of_table(name: str) -> str:
    stem = Path(name).stem
    return "raw: landed tables" if stem == "records" else stem.replace("marts-", "marts: ")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
