"""What adding one takes: the files that docs/architecture.md counts are all that it takes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from added import EXAMPLE
from command_line import debatebench_here
from paths import REPOSITORY
from site_pages import only_pages

DOCS = REPOSITORY / "docs"
TABLE = {
    what: (re.findall(r"`(\S+?)`", files), re.findall(r"`(\S+?)`", line))
    for what, files, line in re.findall(
        r"^\| an? ([\w\s]+?) \| (.+?) \| (.*?) ?\| \[example\]",
        (DOCS / "architecture.md").read_text(encoding="utf-8"),
        re.M,
    )
}
PACKAGED = {"judge method": "judge_methods", "provider": "providers", "importer": "importers"}


def documented() -> dict[str, str]:
    """The files for a workspace that docs/sql-models.md shows: in blocks with a path, or named just before."""
    page = (DOCS / "sql-models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S)
    # The first version of a file that the page changes later.
    return {**dict(reversed(blocks)), **dict(re.findall(r"`(sql/\S+)`:\n\n```\n(.*?)^```$", page, re.M | re.S))}


def test_the_table_has_all_kinds_of_additions():
    assert set(TABLE) == {*PACKAGED, "SQL model", "version of a rule", "rating", "page"}


@pytest.mark.parametrize("what", PACKAGED)
def test_a_package_adds_one_by_its_files_and_one_line(what: str):
    files, line = TABLE[what]
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"][f"debatebench.{PACKAGED[what]}"].values()
    assert line == ["pyproject.toml"]
    assert files[0] == module.partition(":")[0].replace(".", "/") + ".py"
    assert all((EXAMPLE / name).is_file() for name in files)


def test_the_files_of_the_additions_are_all_that_the_package_has():
    listed = {"pyproject.toml", "debate_extras/__init__.py", *(name for what in PACKAGED for name in TABLE[what][0])}
    there = {path.relative_to(EXAMPLE).as_posix() for path in EXAMPLE.rglob("*") if path.is_file()}
    assert {name for name in there if "__pycache__" not in name} == listed


@pytest.mark.slow
def test_a_workspace_adds_the_others_by_these_files_alone(copied: Path):
    shown, before = documented(), {path for folder in ("sql", "reports") for path in (copied / folder).rglob("*.*ml")}
    assert before == set()
    for what in TABLE.keys() - PACKAGED.keys():
        files, line = TABLE[what]
        assert len(files) + len(line) <= 2, what
        for name in (*files, *line):
            (copied / name).parent.mkdir(parents=True, exist_ok=True)
            (copied / name).write_text(shown[name], encoding="utf-8")
    assert len(shown["sql/marts/panel_winners_v5.sql"].splitlines()) <= 10
    built = debatebench_here(copied, "build")
    assert built.code == 0, built.err
    # The page describes the last column of close_debates in its next section.
    names = ("elo_slow", "panel_winners_v5")
    tested = debatebench_here(copied, "test", *(word for name in names for word in ("--select", name)))
    assert tested.code == 0, tested.out
    rows = debatebench_here(
        copied,
        "query",
        "select (select count(*) from ratings.elo_slow) as ratings, (select count(*) from ratings.elo) as debaters, "
        "(from (select count(*) from (from marts.panel_winners except from marts.panel_winners_v5))) as differing",
        "--format",
        "json",
    )
    (found,) = json.loads(rows.out)
    assert found["ratings"] == found["debaters"] > 1
    assert found["differing"] == 0
    with only_pages("index", "close_debates"):
        assert debatebench_here(copied, "report").code == 0
    (page,) = (copied / "reports" / "site").rglob("close_debates.html")
    assert "Elo that moves slowly" in page.read_text(encoding="utf-8")
