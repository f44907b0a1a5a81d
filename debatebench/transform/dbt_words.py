"""What a dbt user writes in a SQL file, and what is written here instead: Jinja, files in FROM, bare names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.visible_text import shortened

# Text and comments come first in the pattern, because Jinja inside them is ordinary text.
_JINJA = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$"
    r"|(?P<jinja>\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)|\{\#.*?(?:\#\}|$))",
    re.DOTALL,
)
_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\s*\((?P<arguments>.*)", re.DOTALL)
_TEXT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_MATERIALIZED = re.compile(r"\bmaterialized\s*=\s*['\"](\w+)['\"]")
# dbt's kinds that are called otherwise here.
_KINDS = {"incremental": "table, incremental_by: …", "ephemeral": "view"}
_VERSION = re.compile(r"\bv(?:ersion)?\s*=\s*(\d+)")
_FILE_NAME = re.compile(r".*[/*].*|.*\.(?:csv|tsv|txt|parquet|json|jsonl|ndjson|xlsx|gz|db|duckdb)", re.IGNORECASE)
_READS_FILES = re.compile(r"(?:read|scan|sniff)_\w+|parquet_\w+|glob|\w+_scan")
_LONGEST_SHOWN = 60


def check_no_jinja(sql: str, file: Path, known: Collection[str]) -> None:
    """Refuse a Jinja block by file and line, with what to write in its place.

    `known` are the dotted names of what can be read.
    """
    if "{{" not in sql and "{%" not in sql and "{#" not in sql:
        return
    for match in _JINJA.finditer(sql):
        if (block := match["jinja"]) is not None:
            shown = shortened(" ".join(block.split()), _LONGEST_SHOWN)
            at = 1 + sql.count("\n", 0, match.start())
            instead = _instead(block, file, known)
            raise SqlModelError(f"{shown_path(file)}:{at}: `{shown}` is dbt's way; here {instead}.")


def _instead(block: str, file: Path, known: Collection[str]) -> str:
    """What stands here for a block of Jinja."""
    if block.startswith("{#"):
        return "a comment begins with `--`, or is between `/*` and `*/`"
    call = _CALL.search(block)
    name, arguments = (call["name"], call["arguments"]) if call else ("", "")
    texts = [one or other for one, other in _TEXT.findall(arguments)]
    if name == "ref" and texts:
        version = _VERSION.search(arguments)
        return f"write {_resolved(texts[-1] + (f'_v{version[1]}' if version else ''), known)}"
    if name == "source" and texts:
        return f"write {_resolved('.'.join(texts[-2:]), known)}"
    if name == "config":
        kind = found[1] if (found := _MATERIALIZED.search(arguments)) else "table"
        settings = f"`config: {{materialized: {_KINDS.get(kind, kind)}}}`"
        return f"settings are in the YAML: write {settings} in {shown_path(file.with_suffix('.yml'))}"
    if "is_incremental" in block:
        return f"write `config: {{incremental_by: …}}` in {shown_path(file.with_suffix('.yml'))}, and the query alone"
    if re.match(r"\{%-?\s*macro\b", block):
        return "a macro is an entry of `macros` in YAML, whose `sql` is an expression"
    return "there are no templates: write the SQL itself; a formula that several need is an entry of `macros` in YAML"


def _resolved(name: str, known: Collection[str]) -> str:
    """The dotted name that a name of dbt means, else the nearest."""
    found = with_schema(name, known) or (name if name in known else None)
    if found is not None and found.startswith("raw."):
        return f"{found} (in staging; everything else reads its staging model)"
    return found or f"a dotted name; nothing is called '{name}'{nearest(name, known)}"


def nearest(name: str, known: Collection[str]) -> str:
    """`, the nearest is x` if a known name is similar, also one without its schema, else an empty string."""
    tables = {each.partition(".")[2]: each for each in sorted(known, key=_by_use, reverse=True)}
    close = difflib.get_close_matches(name.lower(), [*known, *tables], n=1)
    return f", the nearest is {tables.get(close[0], close[0])}" if close else ""


def with_schema(name: str, known: Collection[str]) -> str | None:
    """The dotted name for a name without its schema, the first if several schemas have it; None for an unknown name."""
    return min((each for each in known if each.partition(".")[2] == name.lower()), key=_by_use, default=None)


def _by_use(name: str) -> tuple[bool, str]:
    """What people ask comes before its steps."""
    return name.partition(".")[0] != "marts", name


def is_file_name(name: str) -> bool:
    """Whether a quoted name in FROM is that of a file, which DuckDB would read."""
    return _FILE_NAME.fullmatch(name) is not None


def reads_files(function: str) -> bool:
    """Whether a table function of this name reads files."""
    return _READS_FILES.fullmatch(function) is not None


def as_seed(file_name: str) -> str:
    """The way to read a file in a SQL model."""
    stem = re.sub(r"\W+", "_", PurePosixPath(file_name).stem.lower()).strip("_") or "name"
    return f"a SQL model reads no files; put the rows in sql/seeds/{stem}.csv, and write seeds.{stem}"
