"""Does a change of the code change a number? Build the same journals and imports with two commits, and compare.

    git worktree add /tmp/before COMMIT
    python benchmarks/same_numbers.py prepare /tmp/numbers --checkout /tmp/before
    python benchmarks/same_numbers.py build /tmp/numbers /tmp/numbers/before --checkout /tmp/before
    python benchmarks/same_numbers.py build /tmp/numbers /tmp/numbers/after
    python benchmarks/same_numbers.py compare /tmp/numbers/before /tmp/numbers/after [--renamed FILE.yml]

`prepare` plays and imports, once, the runs and imports in `varied_runs.py`, and makes FOLDER/workspace. `build` copies
the journals and imports of that workspace, builds a warehouse from them with the code of a checkout, and writes every
relation of `marts`, `ratings`, `staging` and `intermediate` to OUT/all as Parquet, with the summaries and ratings of
every run. OUT/one-run is the same for a warehouse that holds a single run. `build` lists relations without rows and
columns without values: the comparison proves nothing about them. `compare` matches the rows of `marts`, `original` and
`ratings`, and of relations that FILE renames, column by column, and the summaries and ratings cell by cell. Floats may
differ by 1e-9 of their size (below 1: by 1e-9), and it prints how many do. Everything else must be equal. The exit code
is 1 when anything differs; a type that only became wider is printed, but is not a difference.

FILE lists the intended differences. It is an error if FILE names a relation or column that does not exist.

    relations: {marts.old_name: marts.new_name}
    columns: {marts.new_name: {old_column: new_column}}
    removed: [marts.old_relation, marts.new_name.old_column]
    added: [marts.new_relation, marts.new_name.new_column]
    redefined: [marts.new_name.column_with_another_meaning]
    values: {marts.new_name: {new_column: {old text: new text}}}

Columns that are redefined are not compared.

Nothing in the compared schemas depends on when a warehouse was built or by which version: the harness version and all
times come from the journals.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb
import yaml
from varied_runs import FIRST, KEY_VARIABLE, provider, runs, sources, written

CHECKOUT = Path(__file__).resolve().parent.parent
COMPARED = ("marts", "original", "ratings")
WRITTEN = (*COMPARED, "staging", "intermediate")
TOLERANCE = 1e-9
GENERATOR_SEED = 7

# --- Commands of a checkout ---

# Does what `python -m debatebench` does, for several command lines.
RUN_LINES = """
import json, runpy, sys
lines, codes = map(json.loads, sys.argv[1:])
for line in lines:
    sys.argv = line
    try:
        runpy.run_module("debatebench", run_name="__main__")
    except SystemExit as left:
        if (left.code or 0) not in codes:
            print(" ".join(line), file=sys.stderr)
            raise
"""


def commands(checkout: Path, root: Path, *lines: Sequence[str | Path], codes: Sequence[int] = (0,)) -> None:
    """Run command lines of debatebench with the code of a checkout, one after the other in one process.

    If a command ends with an exit code that is not in `codes`, stop with its output.
    """
    words = [["debatebench", "--root", str(root), *map(str, line)] for line in lines]
    done = subprocess.run(
        [sys.executable, "-c", RUN_LINES, json.dumps(words), json.dumps(codes)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(checkout), KEY_VARIABLE: "sk-local"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"A command ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def check_checkout(checkout: Path) -> Path:
    """The folder of a checkout, if Python imports `debatebench` from it."""
    checkout = checkout.resolve()
    code = "import debatebench; print(debatebench.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tempfile.gettempdir(),
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
    )
    if done.returncode or checkout not in Path(done.stdout.strip()).resolve().parents:
        sys.exit(f"{checkout} is not a checkout of debatebench. {done.stderr.strip()}")
    return checkout


# --- prepare ---


def generated(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Format, run tag and path of the debates that the generator writes, if there is one."""
    if options.generator:
        debates = folder / "generated.jsonl"
        words = ["--n", str(options.size), "--seed", str(GENERATOR_SEED), "--out", str(debates)]
        subprocess.run([sys.executable, options.generator, *words], check=True)
        yield "debatebench", "generated", debates


def prepare(options: argparse.Namespace) -> int:
    """Make FOLDER/workspace."""
    checkout = check_checkout(options.checkout)
    root = (options.folder / "workspace").resolve()
    if root.exists():
        sys.exit(f"{root} is there already. Delete it to prepare again; both builds must use the same one.")
    part = root.with_name("workspace.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    commands(checkout, part, ["init"])
    for source_format, tag, path in [*sources(options.data.resolve(), part), *generated(options, part)]:
        if not path.exists():
            print(f"Skipped {tag}: there is no {path}.")
            continue
        commands(checkout, part, ["import", source_format, path, "--run-tag", tag, "--no-build"])
        print(f"imported {tag}: {path}", flush=True)
    with provider() as url:
        for run in runs(url, part / "configs"):
            started = time.monotonic()
            commands(checkout, part, written(part, run), codes=run.codes)
            print(f"played {run.tag}: {time.monotonic() - started:.1f} s", flush=True)
    part.rename(root)
    return 0


# --- build ---


def relation_columns(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """The types of the columns of every written relation, by qualified name."""
    found: dict[str, dict[str, str]] = {}
    for schema, relation, column, sql_type in con.execute(
        "select schema_name, table_name, column_name, data_type from duckdb_columns() "
        "where database_name = current_database() and list_contains($1, schema_name) "
        "order by schema_name, table_name, column_index",
        [list(WRITTEN)],
    ).fetchall():
        found.setdefault(f"{schema}.{relation}", {})[column] = sql_type
    return found


def compared_types(out: Path, also: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """The types of the columns of every compared relation that `build` wrote, and of those named in `also`."""
    columns = json.loads((out / "types.json").read_text())
    return {name: types for name, types in columns.items() if name in also or name.partition(".")[0] in COMPARED}


def quoted(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))


def in_order(con: duckdb.DuckDBPyConnection, relations: Iterable[str]) -> list[str]:
    """The relations, each after those that its view reads."""
    views = con.execute("select schema_name || '.' || view_name, sql from duckdb_views() where not internal").fetchall()
    read = {name: set(re.findall(r"\b(?:\w+)\.(?:\w+)\b", sql)) for name, sql in views}
    known = set(relations)
    return list(TopologicalSorter({name: read.get(name, set()) & known - {name} for name in known}).static_order())


def write_relations(database: Path, out: Path) -> dict[str, dict[str, str]]:
    """Every relation as a Parquet file. Parquet has no 128-bit integers, so they are written as decimals.

    A view becomes a table once it is written; otherwise every view that reads it would compute it again.
    """
    with duckdb.connect(str(database)) as con:
        columns = relation_columns(con)
        views = {
            name for (name,) in con.execute("select schema_name || '.' || view_name from duckdb_views()").fetchall()
        }
        for relation in in_order(con, columns):
            if relation in views:
                con.execute(f"create temp table stored as from {quoted(relation)}")
                con.execute(f"drop view {quoted(relation)}")
                con.execute(f"create table {quoted(relation)} as from stored")
                con.execute("drop table stored")
            exact = ", ".join(
                f'"{name}"::{re.sub("U?HUGEINT", "DECIMAL(38, 0)", sql_type)} as "{name}"'
                if "HUGEINT" in sql_type
                else f'"{name}"'
                for name, sql_type in columns[relation].items()
            )
            con.execute(f"copy (select {exact} from {quoted(relation)}) to '{out / relation}.parquet' (format parquet)")
    (out / "types.json").write_text(json.dumps(columns, indent=1))
    return columns


def coverage(out: Path) -> Iterator[str]:
    """A line for each compared relation without rows and each column without values: nothing is proven about them."""
    with duckdb.connect() as con:
        for relation, types in compared_types(out).items():
            counts = ", ".join(["count(*)", *(f'count("{name}")' for name in types)])
            row = con.execute(f"select {counts} from '{out / relation}.parquet'").fetchone()
            assert row is not None
            empty = [name for name, count in zip(types, row[1:], strict=True) if not count]
            if not row[0]:
                yield f"empty: {relation}"
            elif empty:
                yield f"only nulls: {relation}: {', '.join(empty)}"


def build_part(checkout: Path, journals: list[Path], imports: list[Path], out: Path) -> None:
    """Build a warehouse from these journals and imports, and write its relations, summaries and ratings to a folder."""
    out.mkdir()
    with tempfile.TemporaryDirectory(prefix="same-numbers-") as folder:
        root = Path(folder)
        for path in (*journals, *imports):
            target = root / "warehouse" / path.parent.name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
        started = time.monotonic()
        commands(checkout, root, ["build", "--from-journals"])
        built = time.monotonic()
        database = root / "warehouse" / "debatebench.duckdb"
        with duckdb.connect(str(database), read_only=True) as con:
            tags = [tag for (tag,) in con.execute("select run_tag from staging.stg_runs order by run_tag").fetchall()]
        summaries = [["summarize", "--run-tag", tag, "--out-dir", out / "summaries" / tag] for tag in tags]
        ratings = [["rate", "--run-tag", tag, "--ratings-path", out / "ratings" / f"{tag}.json"] for tag in tags]
        commands(checkout, root, *summaries, *ratings)
        summarized = time.monotonic()
        columns = write_relations(database, out)
        written = time.monotonic()
    print(
        f"{out.name}: {len(columns)} relations, {len(tags)} runs: built in {built - started:.0f} s, "
        f"summaries and ratings in {summarized - built:.0f} s, relations written in {written - summarized:.0f} s"
    )


def build(options: argparse.Namespace) -> int:
    """Build the workspace's journals and imports with the code of a checkout, and write the results to OUT."""
    checkout = check_checkout(options.checkout)
    prepared = options.folder.resolve() / "workspace" / "warehouse"
    if not prepared.is_dir():
        sys.exit(f"There is no {prepared}: run `same_numbers.py prepare {options.folder}` first.")
    out = options.out.resolve()
    if out.exists() and {path.name for path in out.iterdir()} - {"all", "one-run"}:
        sys.exit(f"{out} holds other files than those of an earlier build: give another folder.")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    journals = sorted((prepared / "journal").glob("*.jsonl"))
    build_part(checkout, [path for path in journals if path.stem == FIRST], [], out / "one-run")
    build_part(checkout, journals, sorted((prepared / "imports").glob("*")), out / "all")
    for line in coverage(out / "all"):
        print(line)
    return 0


# --- compare: values ---


def is_near(one: Any, other: Any) -> bool:
    """Whether two values are equal; floats within the tolerance, also inside lists and structs."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(is_near(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_near, one, other))
    return type(one) is type(other) and one == other


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal to the last bit; NaN equals NaN."""
    return repr(one) == repr(other) or (type(one) is type(other) and one == other)


def without_floats(value: Any) -> Hashable:
    """The part that must be equal to the last bit: the value with a mark in place of every finite float."""
    if isinstance(value, float):
        return "float" if math.isfinite(value) else f"float {value}"
    if isinstance(value, dict):
        return tuple((key, without_floats(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(without_floats, value))
    return (type(value).__name__, value)


Row = tuple[Any, ...]


def take_near(before: list[Row], after: list[Row]) -> tuple[list[Row], list[Row], int]:
    """Rows of both sides that have no match within the tolerance, and how many cells are near."""
    waiting: dict[Hashable, list[Row]] = defaultdict(list)
    for row in after:
        waiting[without_floats(row)].append(row)
    unmatched, near = [], 0
    for row in before:
        candidates = waiting[without_floats(row)]
        place = next((n for n, candidate in enumerate(candidates) if is_near(row, candidate)), None)
        if place is None:
            unmatched.append(row)
        else:
            near += sum(not is_equal(*pair) for pair in zip(row, candidates.pop(place), strict=True))
    return unmatched, [row for rows in waiting.values() for row in rows], near


# --- compare: relations ---


def type_leaves(sql_type: str) -> tuple[str, list[str]]:
    """The shape of a type with a mark for each number type, and these number types."""
    number = r"\b(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\s*\d+\))"
    return re.sub(number, "#", sql_type), re.findall(number, sql_type)


WIDER = [["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"], ["FLOAT", "DOUBLE"]]


def is_wider(old: str, new: str) -> bool:
    """Whether every value of one number type is also one of the other, and both are of one kind."""
    if old.startswith("DECIMAL") and new.startswith("DECIMAL"):
        (width, scale), (new_width, new_scale) = (map(int, re.findall(r"\d+", each)) for each in (old, new))
        return new_scale >= scale and new_width - new_scale >= width - scale
    return old == new or any(old in kind and new in kind and kind.index(old) < kind.index(new) for kind in WIDER)


def is_widened(old: str, new: str) -> bool:
    """Whether a type differs from another only in number types that became wider."""
    (shape, leaves), (new_shape, new_leaves) = type_leaves(old), type_leaves(new)
    return shape == new_shape and all(map(is_wider, leaves, new_leaves))


@dataclass(frozen=True)
class Renamed:
    """The intended differences: new names by old ones, with columns under the new name of their relation."""

    relations: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    redefined: frozenset[str] = frozenset()
    values: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None) -> Renamed:
        if path is None:
            return cls()
        content = yaml.safe_load(path.read_text()) or {}
        mappings, lists = ("relations", "columns", "values"), ("removed", "added", "redefined")
        unknown = sorted(set(content) - {*mappings, *lists})
        if unknown:
            sys.exit(f"{path}: unknown key '{unknown[0]}'. Known: {', '.join((*mappings, *lists))}.")
        return cls(
            **{key: content.get(key) or {} for key in mappings},
            **{key: frozenset(content.get(key) or ()) for key in lists},
        )

    def relation(self, old: str) -> str:
        """The new name of a relation."""
        return self.relations.get(old, old)

    def named(self, old: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """The old relations by their new names, each with the old names of its columns by the new ones."""
        result = {}
        for relation, columns in old.items():
            names = self.columns.get(self.relation(relation), {})
            result[self.relation(relation)] = {names.get(column, column): column for column in columns}
        return result

    def stale(self, old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> list[str]:
        """The entries of the file that are not true of the outputs."""
        named = self.named(old)
        wrong = [name for name in self.relations if name not in old]
        wrong += [name for name in self.relations.values() if name not in new]
        for relation, columns in self.columns.items():
            was, became = named.get(relation, {}), new.get(relation, {})
            wrong += [f"{relation}.{one}" for one, other in columns.items() if was.get(other) != one]
            wrong += [f"{relation}.{other}" for other in columns.values() if other not in became]
        for listed, here, elsewhere in ((self.removed, named, new), (self.added, new, named)):
            wrong += [name for name in listed if not is_in(name, here) or is_in(name, elsewhere)]
        changed = [f"{relation}.{column}" for relation, columns in self.values.items() for column in columns]
        wrong += [name for name in (*self.redefined, *changed) if not is_in(name, named) or not is_in(name, new)]
        return wrong


def is_in(name: str, relations: dict[str, dict[str, str]]) -> bool:
    """Whether `schema.relation` or `schema.relation.column` exists."""
    schema, relation, *column = name.split(".")
    columns = relations.get(f"{schema}.{relation}")
    return columns is not None and all(each in columns for each in column)


@dataclass
class Report:
    """What the comparison has found so far; differences and remarks are printed as they are found."""

    differences: int = 0
    widened: int = 0
    near: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    cells: int = 0

    def differs(self, place: str, what: str) -> None:
        self.differences += 1
        print(f"DIFFERS {place}: {what}", flush=True)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def key_columns(con: duckdb.DuckDBPyConnection, types: dict[str, str]) -> list[str]:
    """A few columns without floats, the first ones if possible, that have as many distinct values as all columns do."""

    def distinct(columns: Sequence[str]) -> list[tuple[int, int]]:
        count = f"""select count(distinct ({", ".join(f'"{name}"' for name in columns)}, 0)) from"""
        return con.execute(f"select ({count} before_rows), ({count} after_rows)").fetchall()

    exact = [name for name, sql_type in types.items() if not re.search("FLOAT|DOUBLE", sql_type)]
    if not exact:
        return []
    most = distinct(exact)
    key = next(exact[:length] for length in range(1, len(exact) + 1) if distinct(exact[:length]) == most)
    for name in reversed(key):
        rest = [each for each in key if each != name]
        if rest and distinct(rest) == most:
            key = rest
    return key


def explain(
    relation: str, columns: Sequence[str], key: Sequence[str], before: list[Row], after: list[Row], report: Report
) -> None:
    """A line for each column that differs, and for the rows that only one side has."""
    places = [columns.index(name) for name in key]

    def key_of(row: Row) -> str:
        return ", ".join(f"{columns[place]}={shown(row[place])}" for place in places)

    old: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(before, key=repr):
        old[key_of(row)].append(row)
    found: dict[str, list[str]] = defaultdict(list)
    extra = []
    for row in sorted(after, key=repr):
        name = key_of(row)
        if not old[name]:
            extra.append(name)
            continue
        for column, one, other in zip(columns, old[name].pop(0), row, strict=True):
            if not is_near(one, other):
                found[column].append(f"{shown(one)} became {shown(other)} where {name}")
    missing = [name for name, rows in old.items() for _ in rows]
    for column, examples in found.items():
        report.differs(f"{relation}.{column}", f"{counted(examples)}, the first: {examples[0]}")
    for names, what in ((missing, "gone"), (extra, "new")):
        if names:
            report.differs(relation, f"{counted(names)} {what}, the first: {names[0]}")


def counted(rows: Sequence[str]) -> str:
    return f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"


def compare_types(relation: str, old: dict[str, str], new: dict[str, str], report: Report) -> None:
    """A line for each column whose type differs."""
    for column, sql_type in old.items():
        if sql_type != new[column] and is_widened(sql_type, new[column]):
            report.widened += 1
            print(f"wider   {relation}.{column}: {sql_type} became {new[column]}")
        elif sql_type != new[column]:
            report.differs(f"{relation}.{column}", f"type {sql_type} became {new[column]}")


def replaced(column: str, values: dict[str, str]) -> str:
    """A column as SQL, with some of its texts replaced."""
    texts = [tuple("'" + text.replace("'", "''") + "'" for text in pair) for pair in values.items()]
    cases = " ".join(f"when {before} then {after}" for before, after in texts)
    return f'case "{column}" {cases} else "{column}" end' if cases else f'"{column}"'


def compare_rows(
    con: duckdb.DuckDBPyConnection,
    relation: str,
    files: tuple[Path, Path],
    columns: dict[str, str],
    values: dict[str, dict[str, str]],
    report: Report,
) -> None:
    """Match the rows of a relation; `columns` gives the old name by the new one, `values` new texts by column."""
    old = ", ".join(f'{replaced(before, values.get(after, {}))} as "{after}"' for after, before in columns.items())
    new = ", ".join(f'"{after}"' for after in columns)
    sides = [f"select {names} from '{path}'" for names, path in zip((old, new), files, strict=True)]
    # Cast both sides to a type that holds the values of both, so that an integer is not compared with a text.
    common = {name: sql_type for name, sql_type, *_ in con.execute(f"describe {' union all '.join(sides)}").fetchall()}
    casts = ", ".join(f'"{name}"::{sql_type} as "{name}"' for name, sql_type in common.items())
    for name, side in zip(("before", "after"), sides, strict=True):
        con.execute(f"create or replace temp table {name}_rows as select {casts} from ({side})")
    ((count,),) = con.execute("select count(*) from before_rows").fetchall()
    report.rows += count
    report.cells += count * len(columns)
    before = con.execute("from before_rows except all from after_rows").fetchall()
    after = con.execute("from after_rows except all from before_rows").fetchall()
    before, after, near = take_near(before, after)
    if near:
        report.near[relation] += near
    if before or after:
        explain(relation, list(columns), key_columns(con, common), before, after, report)


def compare_relations(folders: tuple[Path, Path], renamed: Renamed, report: Report) -> int:
    """Compare all relations; returns how many are on both sides."""
    old = compared_types(folders[0], renamed.relations)
    new = compared_types(folders[1], renamed.relations.values())
    for name in renamed.stale(old, new):
        report.differs(name, "the file of renames names it, but it is not as the file says")
    expected = renamed.removed | renamed.added
    named = renamed.named(old)
    origins = {renamed.relation(name): name for name in old}
    for relation in sorted((named.keys() ^ new.keys()) - expected):
        report.differs(relation, "is gone" if relation in named else "is new")
    both = [relation for relation in named if relation in new]
    with duckdb.connect() as con:
        for relation in both:
            columns, types, origin = named[relation], new[relation], origins[relation]
            for column in [*columns, *(name for name in types if name not in columns)]:
                if (column in columns) != (column in types) and f"{relation}.{column}" not in expected:
                    report.differs(f"{relation}.{column}", "is gone" if column in columns else "is new")
            shared = {
                column: was
                for column, was in columns.items()
                if column in types and f"{relation}.{column}" not in renamed.redefined
            }
            compare_types(relation, {column: old[origin][was] for column, was in shared.items()}, types, report)
            files = (folders[0] / f"{origin}.parquet", folders[1] / f"{relation}.parquet")
            try:
                compare_rows(con, relation, files, shared, renamed.values.get(relation, {}), report)
            except duckdb.Error as error:
                report.differs(relation, f"rows of these types cannot be compared: {str(error).splitlines()[0]}")
    return len(both)


# --- compare: summaries and ratings ---


NOTHING = ("nothing",)


def read_cells(path: Path) -> dict[str, Any]:
    """Every value of a CSV or JSON file by its place in it."""
    if path.suffix == ".csv":
        with path.open(newline="") as lines:
            return {
                f"row {n} column {place}": number_of(cell)
                for n, row in enumerate(csv.reader(lines))
                for place, cell in enumerate(row)
            }
    return dict(leaves(json.loads(path.read_text()), ""))


def number_of(cell: str) -> Any:
    """A cell with a decimal point as a float, any other cell unchanged."""
    return float(cell) if re.fullmatch(r"-?\d+\.\d*(e-?\d+)?|-?\d+e-?\d+", cell) else cell


def leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every value of a JSON document with its place."""
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from leaves(each, f"{place}.{key}")
    else:
        yield place, value


def compare_files(folders: tuple[Path, Path], report: Report) -> int:
    """Compare the summaries and ratings of every run; returns the number of files."""
    names = [
        {path.relative_to(folder) for kind in ("summaries", "ratings") for path in (folder / kind).rglob("*.*")}
        for folder in folders
    ]
    for name in sorted(names[0] ^ names[1]):
        report.differs(str(name), "is gone" if name in names[0] else "is new")
    for name in sorted(names[0] & names[1]):
        old, new = (read_cells(folder / name) for folder in folders)
        pairs = {place: (old.get(place, NOTHING), new.get(place, NOTHING)) for place in {**old, **new}}
        wrong = [place for place, pair in pairs.items() if not is_near(*pair)]
        near = sum(not is_equal(*pair) for pair in pairs.values()) - len(wrong)
        if wrong:
            was, became = map(shown, pairs[wrong[0]])
            report.differs(str(name), f"{len(wrong)} values, the first: {was} became {became} at {wrong[0]}")
        elif near:
            report.near[str(name)] += near
    return len(names[0] & names[1])


def compare(options: argparse.Namespace) -> int:
    """Compare two outputs of `build`."""
    report, renamed = Report(), Renamed.read(options.renamed)
    for part in ("one-run", "all"):
        folders = (options.out_a / part, options.out_b / part)
        for folder in folders:
            if not (folder / "types.json").exists():
                sys.exit(f"{folder.parent} is not a finished output of `same_numbers.py build`.")
        print(f"--- {part}")
        relations = compare_relations(folders, renamed, report)
        files = compare_files(folders, report)
        print(f"{relations} relations and {files} files are on both sides.")
    for place, count in report.near.items():
        print(f"near    {place}: {count} floats differ, but by no more than {TOLERANCE}")
    print(
        f"{report.rows:,} rows, {report.cells:,} cells of relations. Differences: {report.differences}. "
        f"Floats equal only within {TOLERANCE}: {report.near.total():,}. Types wider: {report.widened}."
    )
    return 1 if report.differences else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True, metavar="prepare|build|compare")

    def step(name: str, function: Callable[[argparse.Namespace], int], help_text: str) -> argparse.ArgumentParser:
        added = steps.add_parser(name, help=help_text, description=help_text)
        added.set_defaults(step=function)
        return added

    first = step("prepare", prepare, "Play and import, once, into FOLDER/workspace.")
    first.add_argument("folder", type=Path)
    first.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data", help="sets to import")
    first.add_argument("--generator", type=Path, help="a program that writes debates of the original's format")
    first.add_argument("--size", type=int, default=3000, help="how many debates to generate")
    second = step("build", build, "Build FOLDER/workspace with the code of a checkout, and write all relations to OUT.")
    second.add_argument("folder", type=Path)
    second.add_argument("out", type=Path)
    for each in (first, second):
        each.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose code runs; default: this script's")
    third = step("compare", compare, "Compare two outputs of `build`; exit code 1 when they differ.")
    third.add_argument("out_a", type=Path)
    third.add_argument("out_b", type=Path)
    third.add_argument("--renamed", type=Path, metavar="FILE", help="YAML: what is meant to differ")
    options = parser.parse_args()
    return options.step(options)


if __name__ == "__main__":
    sys.exit(main())
