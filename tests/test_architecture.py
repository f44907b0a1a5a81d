"""Imports go one way: the command line may import everything, playing and analysis only what they share."""

from __future__ import annotations

import ast

import pytest
from paths import REPOSITORY

PACKAGE = REPOSITORY / "debatebench"

SHARED = {
    "config",
    "config_files",
    "config_types",
    "errors",
    "files",
    "journal",
    "json_bytes",
    "records",
    "versions",
    "workspace",
}
PLAY = {
    "asking",
    "bans",
    "begun",
    "budget",
    "calls",
    "debate",
    "estimate",
    "judges",
    "pacing",
    "panels",
    "plan_differences",
    "prices",
    "probe",
    "progress",
    "prompts",
    "providers",
    "reparsing",
    "resume",
    "runner",
    "schedule",
    "selection",
    "thinking",
    "time_estimate",
    "transcript_layout",
}
ANALYSIS = {
    "api",
    "catalogue",
    "comparison",
    "completion",
    "doctor",
    "duckdb_errors",
    "duckdb_sql",
    "export",
    "failed_judges",
    "freshness",
    "game_reading",
    "gate",
    "importers",
    "inspection",
    "journal_landing",
    "landing",
    "parquet",
    "publish",
    "query",
    "report",
    "sql_prompt",
    "sql_session",
    "stats",
    "summaries",
    "tables",
    "transform",
    "udfs",
    "warehouse",
}

# Which parts may import which, beside themselves. A line that is not here is an import that nobody agreed to.
ALLOWED = {
    "shared": {"shared"},
    "play": {"shared", "play"},
    "analysis": {"shared", "analysis"},
    "cli": {"shared", "play", "analysis", "cli"},
}

# Within a side there is an order as well: what is lower never imports what is higher.
PLAY_ORDER = [
    {"bans", "panels", "prompts", "providers", "selection", "thinking", "transcript_layout"},
    {
        "asking",
        "begun",
        "budget",
        "estimate",
        "pacing",
        "plan_differences",
        "prices",
        "progress",
        "resume",
        "schedule",
        "time_estimate",
    },
    {"calls"},
    {"debate", "judges"},
    {"probe", "reparsing"},
    {"runner"},
]


def parts() -> list[str]:
    names = [p.stem if p.suffix == ".py" else p.name for p in PACKAGE.iterdir()]
    return sorted(n for n in names if n not in {"__init__", "__main__", "py.typed", "__pycache__", "packaged"})


def side_of(part: str) -> str:
    for side, members in (("shared", SHARED), ("play", PLAY), ("analysis", ANALYSIS), ("cli", {"cli"})):
        if part in members:
            return side
    return "unknown"


def imports_of(part: str) -> set[str]:
    """The parts that a part imports, also inside functions and for annotations."""
    files = [PACKAGE / f"{part}.py"] if (PACKAGE / f"{part}.py").exists() else list((PACKAGE / part).rglob("*.py"))
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = node.module == "debatebench"
                modules = [f"debatebench.{alias.name}" if inside else node.module for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            found |= {m.split(".")[1] for m in modules if m.startswith("debatebench.")}
    return found - {part, "__version__"}


def test_every_part_has_a_side():
    assert [part for part in parts() if side_of(part) == "unknown"] == []


@pytest.mark.parametrize("part", parts())
def test_a_part_imports_only_what_its_side_may(part: str):
    allowed = ALLOWED[side_of(part)]
    assert {name for name in imports_of(part) if side_of(name) not in allowed} == set()


def test_playing_has_no_import_that_goes_back_up():
    height = {part: n for n, level in enumerate(PLAY_ORDER) for part in level}
    assert set(height) == PLAY
    upward = {(part, name) for part in PLAY for name in imports_of(part) & PLAY if height[name] > height[part]}
    assert upward == set()
