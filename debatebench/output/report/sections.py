"""A section's query and rows → what its template shows: a table, a chart, figures, notes or cases."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from debatebench.output.report.chart_parts import LegendEntry, Spec, axes, legend_of
from debatebench.output.report.charts import chart, least_width
from debatebench.output.report.data_files import packed
from debatebench.output.report.html import DEBATERS, MISSING, Cell, format_values, guess_format, heading
from debatebench.output.report.page import CHARTS, ColumnFormat, ForEach, Section
from debatebench.output.report.reasons import missing_because, remarks
from debatebench.shared.errors import ConfigError
from debatebench.shared.result_formats import render
from debatebench.shared.visible_text import visible

Row = Mapping[str, Any]
Link = Callable[[ForEach | Literal["debate", "debates", "file"], Row], str | None]
"""Where a cell leads that names a run, debater or debate, given its row; `None` when there is no such page.

Given `debates` and facets, where the debates are that have them; given `file`, the file of the site at `path`.
"""

_MOST_ROWS, _FIRST_ROWS = 40, 30
# As many columns as the style sheet has rules for.
_MARKED_COLUMNS = 16
_LONGEST_NOTES = 20_000
_LARGE_GRID = 200
_TEXT_COLUMNS = {
    "notes": ("heading", "title", "content"),
    "cases": ("group_id", "heading", "title", "remark", "passage", "reasons"),
}


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column of a table."""

    text: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and cells; with `has_row_headings`, the first cell of each row is its heading.

    A page shows the `first` rows of a long table, and a script the others.
    """

    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    has_row_headings: bool = False

    @property
    def first(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows that are in the page as HTML."""
        return self.rows if len(self.rows) <= _MOST_ROWS else self.rows[:_FIRST_ROWS]

    @property
    def rest(self) -> str:
        """The other rows, packed: for each cell its text, class, sort key, link and mark."""
        cells = [[self._parts(cell, n) for n, cell in enumerate(row)] for row in self.rows[len(self.first) :]]
        return packed(cells) if cells else ""

    def look(self, cell: Cell, column: int) -> str:
        """The class of a cell: a number, or a text that may be broken, because it is not short.

        In the first columns, the class of the heading says that a cell is a number.
        """
        if self.headings[column].is_number:
            return "n" if column >= _MARKED_COLUMNS else ""
        return "long" if len(cell.text) > 60 else "w" if len(cell.text) > 24 else ""

    def _parts(self, cell: Cell, column: int) -> list[str | None]:
        parts = [visible(cell.text, keep_lines=True), self.look(cell, column), cell.sort_key, cell.href, cell.mark]
        while not parts[-1] and len(parts) > 1:
            parts.pop()
        return parts


@dataclass(frozen=True, slots=True)
class Note:
    """One statement of a judge as text to read."""

    title: str
    content: str


@dataclass(frozen=True, slots=True)
class Notes:
    """Statements that unfold under one heading."""

    heading: str
    notes: tuple[Note, ...]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The title and content of each for a script, made visible."""
        return [(visible(each.title), visible(each.content, keep_lines=True)) for each in self.notes]


@dataclass(frozen=True, slots=True)
class Case:
    """A debate: its title, which leads to its page, and a passage beside what a judge wrote; these may be empty."""

    title: Cell
    remark: str
    passage: str
    reasons: str


@dataclass(frozen=True, slots=True)
class Cases:
    """Debates that unfold under one heading, and the anchor by which cells of tables lead there."""

    anchor: str
    heading: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a section: its title if there are several, its specification, height and least width in pixels."""

    title: str
    height: int
    least_width: int
    spec: Spec


@dataclass(frozen=True, slots=True)
class SectionView:
    """Everything that the template of a section needs."""

    id: str
    title: str
    paragraphs: tuple[str, ...]
    show: str
    empty: str
    is_empty: bool
    notes: tuple[str, ...]
    is_folded: bool = False
    recompute: str | None = None
    """What the section shows under a filter of the debates."""
    is_wide: bool = False
    """Whether each of several charts needs the whole width."""
    table: Table | None = None
    charts: tuple[Panel, ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    csv: str = ""
    """The rows of a chart, a table or figures with all their columns and digits, for a spreadsheet."""
    facts: tuple[tuple[str, Cell], ...] = ()
    folds: tuple[Notes, ...] = ()
    are_notes_packed: bool = False
    """Whether the notes are too long to be in the page as HTML, and a script shows them."""
    groups: tuple[Cases, ...] = ()
    case_headings: tuple[str, str] = ("", "")
    """What stands above the passage and above the reasons of a case."""


def paragraphs(text: str) -> tuple[str, ...]:
    """Split text into paragraphs at blank lines."""
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def view(
    section: Section, columns: Sequence[str], rows: Sequence[Row], notes: Sequence[str], link: Link
) -> SectionView:
    """Arrange the rows as the section defines. Raises `ConfigError` for a column that its query does not return."""
    check_columns(section, columns)
    base = SectionView(
        id=section.id,
        title=section.title,
        paragraphs=paragraphs(section.text),
        show="chart" if section.show in CHARTS else section.show,
        empty=section.empty,
        is_empty=not rows and section.show != "text",
        notes=(*notes, *remarks(section, rows)),
        is_folded=section.folded,
        recompute=section.recompute,
        is_wide=section.show == "scatter",
    )
    if not rows:
        return base
    changes: dict[str, Any] = {}
    if section.show not in _TEXT_COLUMNS:
        changes["csv"] = render(columns, ([row[name] for name in columns] for row in rows), "csv")
    match section.show:
        case "facts":
            changes["facts"] = _facts(section, rows[0], link)
        case "notes":
            changes["folds"] = folds = _folds(rows)
            changes["are_notes_packed"] = (
                sum(len(note.content) for each in folds for note in each.notes) > _LONGEST_NOTES
            )
        case "cases":
            changes["groups"] = _groups(rows, link)
            changes["case_headings"] = tuple(
                heading(name, section.columns.get(name)) for name in ("passage", "reasons")
            )
        case "heatmap" if _is_sparse(section, rows):
            changes["table"] = _table(section, columns, rows, link)
        case "crosstab" | "heatmap":
            changes["table"] = _crosstab(section, rows, link)
        case _:
            changes["table"] = _table(section, columns, rows, link)
    if section.show in CHARTS:
        changes["charts"], changes["legend"] = _panels(section, rows)
    return SectionView(**{**_fields(base), **changes})


def _panels(section: Section, rows: Sequence[Row]) -> tuple[tuple[Panel, ...], tuple[LegendEntry, ...]]:
    """One chart, or one for each value of `panel` in the order in which these first occur, and their legend."""
    by_panel: dict[Any, list[Row]] = {}
    for row in rows:
        by_panel.setdefault(row[section.role("panel")] if "panel" in section.roles else "", []).append(row)
    specs = [chart(section, own, rows) for own in by_panel.values()]
    return tuple(_panel(_text(title), spec) for title, spec in zip(by_panel, specs, strict=True)), legend_of(specs)


def _panel(title: str, spec: Spec) -> Panel:
    return Panel(title, spec["layout"]["height"], least_width(spec), spec)


def _fields(base: SectionView) -> dict[str, Any]:
    return {name: getattr(base, name) for name in SectionView.__slots__}


def check_columns(section: Section, columns: Sequence[str]) -> None:
    """Raise `ConfigError` for a column that the section names and its query does not return."""
    wanted = [*section.columns, *(column for role in section.roles.values() for column in role)]
    wanted += _TEXT_COLUMNS.get(section.show, ())
    named = [
        (chosen.to, chosen.reason, chosen.cases, *(text for text in chosen.opens.values() if not text.startswith("=")))
        for chosen in section.columns.values()
    ]
    wanted += [column for columns_of_one in named for column in columns_of_one if column is not None]
    for column in wanted:
        if column not in columns:
            raise ConfigError(
                f"{section.source}: the query of section '{section.id}' returns no column '{column}'; it returns: "
                f"{', '.join(columns)}."
            )


def _cells(section: Section, name: str, rows: Sequence[Row]) -> list[Cell]:
    """The cells of a column: values or intervals, and where there is none, the reason if one is given."""
    column = section.columns.get(name, ColumnFormat())
    values = [row[name] for row in rows]
    chosen = column.format or guess_format(name, values)
    if column.to is None:
        cells = format_values(values, chosen)
    else:
        ends = format_values([*values, *(row[column.to] for row in rows)], chosen)
        cells = [_interval(low, high) for low, high in zip(ends[: len(rows)], ends[len(rows) :], strict=True)]
    if column.reason is None:
        return cells
    reasons = [row[column.reason] for row in rows]
    return [
        Cell(missing_because(reason)) if reason and cell.text == MISSING else cell
        for cell, reason in zip(cells, reasons, strict=True)
    ]


def _interval(low: Cell, high: Cell) -> Cell:
    return Cell(MISSING) if MISSING in (low.text, high.text) else replace(low, text=f"{low.text} to {high.text}")


def _linked(section: Section, name: str, cell: Cell, row: Row, link: Link) -> Cell:
    """The cell, with a link if the format of its column has one."""
    column = section.columns.get(name, ColumnFormat())
    chosen = column.format or guess_format(name, [row[name]])
    href = link(chosen, _target(name, row)) if chosen in ("run", "comparison", "debater", "debate") else None
    if chosen == "file" and row[name] is not None:
        href = link("file", {"path": row[name]})
    if column.cases is not None and row[column.cases] is not None:
        href = f"#{_anchor(row[column.cases])}"
    counts_none = row[name] is None or (isinstance(row[name], int) and row[name] == 0)
    if column.opens and not counts_none:
        href = _opened(column.opens, row, link)
    return cell if href is None else replace(cell, href=href)


def _opened(opens: Mapping[str, str], row: Row, link: Link) -> str | None:
    """The link to the debates that a cell counts; `None` where a column of its facets is null."""
    facets = {name: text[1:] if text.startswith("=") else row[text] for name, text in opens.items()}
    if any(value is None for value in facets.values()):
        return None
    run = {"run": row["run_tag"]} if "run_tag" in row else {}
    return link("debates", {**run, **{name: int(v) if isinstance(v, bool) else v for name, v in facets.items()}})


def _target(name: str, row: Row) -> Row:
    """What a cell names, by the columns of a link: `source_debate_id` is a debate of the run in `source_run_tag`."""
    if name in DEBATERS:
        return {**row, "model_id": row[name]}
    prefix = name.removesuffix("debate_id").removesuffix("run_tag")
    if prefix == name or f"{prefix}run_tag" not in row:
        return row
    return {"run_tag": row[f"{prefix}run_tag"], "debate_id": row.get(f"{prefix}debate_id")}


def _table(section: Section, columns: Sequence[str], rows: Sequence[Row], link: Link) -> Table:
    names = list(section.columns) or list(columns)
    by_column = [_cells(section, name, rows) for name in names]
    headings = tuple(
        Heading(heading(name, section.columns.get(name)), any(cell.is_number for cell in cells))
        for name, cells in zip(names, by_column, strict=True)
    )
    lines = tuple(
        tuple(_linked(section, name, cells[n], row, link) for name, cells in zip(names, by_column, strict=True))
        for n, row in enumerate(rows)
    )
    return Table(headings, lines)


def _crosstab(section: Section, rows: Sequence[Row], link: Link) -> Table:
    """One line per `y` and one column per `x`, in the order in which they first occur."""
    x, y, value = (section.role(name) for name in ("x", "y", "value"))
    xs, ys = axes(section, rows)
    if section.show == "heatmap":
        cells = format_values([row[value] for row in rows], section.options.format)
    else:
        cells = _cells(section, value, rows)
    at = {(row[y], row[x]): _linked(section, value, cell, row, link) for row, cell in zip(rows, cells, strict=True)}
    headings = [Heading(heading(y, section.columns.get(y)), False)]
    headings += [Heading(_text(each), any(at[r, c].is_number for r, c in at if c == each)) for each in xs]
    lines = tuple((Cell(_text(one)), *(at.get((one, each), Cell(MISSING)) for each in xs)) for one in ys)
    return Table(tuple(headings), lines, has_row_headings=True)


def _is_sparse(section: Section, rows: Sequence[Row]) -> bool:
    """Whether most cells of a large grid are missing: a table of the others is shorter."""
    xs, ys = axes(section, rows)
    return len(xs) * len(ys) > _LARGE_GRID and 2 * len(rows) < len(xs) * len(ys)


def _text(value: Any) -> str:
    return MISSING if value is None else str(value)


def _facts(section: Section, row: Row, link: Link) -> tuple[tuple[str, Cell], ...]:
    """The figures that are not null, each with its name."""
    names = list(section.columns) or list(row)
    cells = ((name, _cells(section, name, [row])[0]) for name in names if row[name] is not None)
    return tuple(
        (heading(name, section.columns.get(name)), _linked(section, name, cell, row, link)) for name, cell in cells
    )


def _folds(rows: Sequence[Row]) -> tuple[Notes, ...]:
    """The notes under each heading, both in the order in which they first occur."""
    under: dict[str, list[Note]] = {}
    for row in rows:
        under.setdefault(_text(row["heading"]), []).append(Note(_text(row["title"]), row["content"] or ""))
    return tuple(Notes(heading, tuple(notes)) for heading, notes in under.items())


def _groups(rows: Sequence[Row], link: Link) -> tuple[Cases, ...]:
    """The cases of each group, both in the order in which they first occur."""
    headings: dict[Any, str] = {}
    under: dict[Any, list[Case]] = {}
    for row in rows:
        headings.setdefault(row["group_id"], _text(row["heading"]))
        title = Cell(_text(row["title"]), href=link("debate", row))
        case = Case(title, row["remark"] or "", row["passage"] or "", row["reasons"] or "")
        under.setdefault(row["group_id"], []).append(case)
    return tuple(Cases(_anchor(group), headings[group], tuple(cases)) for group, cases in under.items())


def _anchor(group: Any) -> str:
    """The id of a group of cases in its page, whatever its name contains."""
    return f"cases-{hashlib.sha256(str(group).encode('utf-8', 'replace')).hexdigest()[:12]}"
