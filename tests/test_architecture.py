"""The house: rooms on floors, data falling from top to bottom, and playing and analysis in rooms that never meet."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from paths import REPOSITORY

PACKAGE = REPOSITORY / "debatebench"

# Every room and the rooms that it may import, the lowest floor first. A name that is not here was not agreed on.
ROOMS: dict[str, set[str]] = {
    "shared": set(),
    "stats": {"shared"},
    "config": {"shared"},
    "journal": {"shared"},
    "transform": {"shared"},
    "query": {"shared", "stats", "transform"},
    "landing": {"shared", "config", "journal", "query"},
    "warehouse": {"shared", "config", "journal", "transform", "query", "landing"},
    "output": {"shared", "stats", "config", "transform", "query", "landing", "warehouse"},
    "providers": {"shared", "config"},
    "judges": {"shared", "config", "providers"},
    "plan": {"shared", "config", "journal", "providers", "judges"},
    "play": {"shared", "config", "journal", "providers", "judges", "plan"},
}
ROOMS["cli"] = {*ROOMS, "api"}

# The modules that lie in no room, and what they may import.
LOOSE: dict[str, set[str]] = {
    "__init__": {"shared", "api"},
    "__main__": {"cli"},
    "api": {"shared", "stats", "transform", "query", "warehouse"},
}


@cache
def modules() -> dict[str, Path]:
    """Dotted name below the package → file; a folder goes by its own name."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, also inside functions and for annotations."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    names = {name.removeprefix("debatebench.") for name in found if name.startswith("debatebench.")}
    return frozenset({name if name in modules() else name.rpartition(".")[0] for name in names} - {module})


def packages() -> list[Path]:
    return sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def test_every_module_lies_in_a_room():
    assert {name.partition(".")[0] for name in modules()} == {*ROOMS, *LOOSE}
    assert len(ROOMS) <= 14
    assert len(LOOSE) <= 6


@pytest.mark.parametrize("room", [*ROOMS, *LOOSE])
def test_a_room_imports_only_rooms_below_it(room: str):
    allowed = {room, *(ROOMS.get(room) or LOOSE.get(room) or set())}
    upward = {
        (module, name)
        for module in modules()
        if module.partition(".")[0] == room
        for name in imports_of(module)
        if name.partition(".")[0] not in allowed
    }
    assert upward == set()


def test_playing_and_analysis_never_meet():
    analysis = {"stats", "transform", "query", "landing", "warehouse", "output"}
    play = {"providers", "judges", "plan", "play"}
    assert [room for room in play if ROOMS[room] & analysis] == []
    assert [room for room in analysis if ROOMS[room] & play] == []


def test_the_engine_for_sql_models_does_not_know_what_they_are_about():
    """Landed tables, Python functions and the rule for names are handed in, so it could be a package of its own."""
    words = r"debat|judg|verdict|topic|panel|transcript|motion|weakness|annotation(?!s$)|rating|run_tag|raw\.[a-z]"
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((PACKAGE / "transform").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(words, re.sub("debatebench", "", line, flags=re.IGNORECASE), re.IGNORECASE)
    ]
    assert found == []


def test_no_modules_import_each_other_in_a_circle():
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join((*above[above.index(module) :], module))
        if module not in done:
            for name in sorted(imports_of(module) - {""}):
                visit(name, (*above, module))
            done.add(module)

    for module in sorted(modules()):
        visit(module, ())


def test_only_three_modules_print():
    """What is printed is made visible there: all that commands print, rows of tables, and the line of progress."""
    printing = re.compile(r"\b(?:print|echo|secho|pprint)\(|\bstd(?:out|err)\.write")
    found = {name for name, path in modules().items() if printing.search(path.read_text(encoding="utf-8"))}
    assert found == {"cli.activity_display", "cli.common", "shared.result_formats"}


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_room_says_what_each_of_its_files_is_for(package: Path):
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    listed = re.findall(r"^([a-z_]+(?:\.py|/)) +\S", docstring, re.MULTILINE)
    files = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert sorted(listed) == sorted(files | folders)


def test_the_tree_in_the_readme_has_a_line_for_each_room():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    tree = readme[readme.index("\ndebatebench/ ") :].partition("```")[0]
    listed = re.findall(r"^  ([a-z_]+)(?:/|\.py) +\S", tree, re.MULTILINE)
    assert listed == [*ROOMS, "api"]


def test_the_tests_mirror_the_rooms():
    folders = {path.parent.name for path in (REPOSITORY / "tests").glob("*/test_*.py")}
    assert folders - {"sql"} == set(ROOMS)
