"""Page definitions: YAML files of `reports/pages` → typed pages of sections, each one query and how to show it.

A page is data: its numbers come from SQL, which the page can also show, so a workspace can change or add a page
without changing code. Files are read strictly; errors give the file, the key path, and the value found and allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, cast, get_args

from debatebench.config.setting import Setting, read_file
from debatebench.output.report.links import FACETS
from debatebench.shared.errors import ConfigError

ForEach = Literal["site", "run", "comparison", "debater"]
Format = Literal[
    "text",
    "count",
    "rank",
    "number",
    "whole",
    "percent",
    "p_value",
    "usd",
    "milliseconds",
    "time",
    "flag",
    "winner",
    "run",
    "comparison",
    "debater",
    "debate",
    "file",
]
FORMATS: tuple[str, ...] = get_args(Format)
Scale = Literal["sequential", "diverging"]

CHARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bars": (("label", "values"), ("detail", "panel")),
    "heatmap": (("x", "y", "value"), ("shade", "count")),
    "line": (("x", "y", "series"), ()),
    "scatter": (("x", "y", "label"), ("detail", "series", "frontier", "baseline", "panel")),
    "dots": (("label", "value"), ("detail", "low", "high", "baseline", "panel", "strong")),
    "slope": (("label", "before", "after"), ("before_low", "before_high", "after_low", "after_high", "strong")),
    "trend": (("x", "y", "series"), ("low", "high")),
    "boxes": (("label", "low", "q1", "median", "q3", "high"), ()),
}
"""What each chart needs to know of its query: the roles that columns must take, and those that they may take."""

FILTERS = ("category", "side", "judge", "debater")
"""What the debates can be filtered by of which a page in a browser computes sections again."""

RECOMPUTED = ("leaderboard", "sides", "head_to_head", "judge_agreement", "judge_sides", "judge_alignment")
"""What a section can show again under a filter; `assets/filters.js` has a table for each."""

_PAGES_FOLDER = "pages/"
_NOT_CHARTS = ("table", "crosstab", "facts", "notes", "cases", "text")
_ROLES = {**CHARTS, "crosstab": (("x", "y", "value"), ())}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of page: the placeholders that its path must contain, and its titles and texts may.

    The queries of a page with `split_by` run once for all pages of a run, or for all comparisons, and return this
    column, whose value says to which page a row belongs.
    """

    path: frozenset[str] = frozenset()
    split_by: str | None = None


KINDS: dict[ForEach, Kind] = {
    "site": Kind(),
    "run": Kind(frozenset({"run_tag"})),
    "comparison": Kind(frozenset({"baseline", "candidate"}), split_by="compared"),
    "debater": Kind(frozenset({"run_tag", "model_id"}), split_by="model_id"),
}
"""What `for_each` of a page may be; `subjects.py` finds what there is of each kind."""


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """How a column of a query is shown: its heading and its format; `None` means that its name determines it.

    `to` is the column with the upper ends of the intervals whose lower ends are in this one: a cell shows both.
    `reason` is the column that says why a cell is missing, or what it does not say, as `macros.reason_of` does.
    `cases` is the column with the group of cases, on the same page, to which a cell of this column leads. `opens` makes
    it lead to the debates that it counts: facet → the column with its value, or after `=` the value itself.
    """

    label: str | None = None
    format: Format | None = None
    to: str | None = None
    reason: str | None = None
    cases: str | None = None
    opens: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """How a chart is drawn. `range` is the range of its values, `reference` a line to compare with.

    `log` makes the x axis of a scatter logarithmic where all its values are positive.
    """

    stacked: bool = False
    vertical: bool = False
    range: tuple[float, float] | None = None
    scale: Scale = "sequential"
    format: Format = "number"
    reference: float | None = None
    log: bool = False
    x_title: str | None = None
    y_title: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One query and how its rows are shown.

    `show` is a chart of `CHARTS`, `table`, `crosstab` (a table of `y` by `x`), `facts` (one row as figures),
    `notes` (texts that unfold), `cases` (groups of debates that unfold), or `text` (without a query).
    `roles` say which columns a chart uses for what. `columns` are those of the table, in order; empty means all. `note`
    is SQL that returns remarks, one per row. `recompute` is what the section shows, of `RECOMPUTED`, under a filter. A
    table that is `folded` is shown on demand.
    """

    id: str
    title: str
    query: str
    show: str
    text: str = ""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: Mapping[str, ColumnFormat] = field(default_factory=dict)
    options: Options = Options()
    note: str | None = None
    recompute: str | None = None
    empty: str = "Nothing to show yet."
    hide_when_empty: bool = False
    folded: bool = False
    limit: int = 1000
    source: str = ""

    def role(self, name: str) -> str:
        """The column of a role that has only one column."""
        return self.roles[name][0]


_SECTION_KEYS = {each.name for each in fields(Section)} - {"options", "source"}
_SECTION_KEYS |= {f"options.{each.name}" for each in fields(Options)}


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or one for each subject of its kind; `path` and `title` contain the placeholders of the kind.

    `answer` is SQL that returns sentences in a column `answer`, one per row; the page begins with them.

    Pages with a `nav` link to each other under that name, in the order of their `position`. A site with fewer than
    `least_runs` runs does not get the page, nor one where the query `needs` returns no row. The parameters that a query
    can use are those of the page's `Subject`; `needs` can use `$run_tags`. `template` is the file that shows it.
    With `filters`, of `FILTERS`, readers can filter the debates of a run.
    """

    name: str
    path: str
    title: str
    nav: str | None
    for_each: ForEach
    intro: str
    sections: tuple[Section, ...]
    position: int
    least_runs: int = 0
    needs: Section | None = None
    answer: Section | None = None
    template: str = "page.html"
    filters: tuple[str, ...] = ()


def load_pages(files: Mapping[str, Path]) -> tuple[Page, ...]:
    """The pages among the files of `reports/`, by position. Raises `ConfigError` for a file that cannot be used."""
    names = sorted(name for name in files if name.startswith(_PAGES_FOLDER) and name.endswith((".yml", ".yaml")))
    pages = tuple(_page(name.removeprefix(_PAGES_FOLDER).rpartition(".")[0], read_file(files[name])) for name in names)
    by_path: dict[str, Page] = {}
    for page in pages:
        if page.path in by_path:
            raise ConfigError(f"Pages '{by_path[page.path].name}' and '{page.name}' both have the path {page.path}.")
        by_path[page.path] = page
    return tuple(sorted(pages, key=lambda page: (page.position, page.name)))


def _page(name: str, file: Setting) -> Page:
    file.allow(each.name for each in fields(Page) if each.name != "name")
    for_each = cast(ForEach, file.at_key("for_each").choice(*get_args(ForEach), default="site"))
    sections = tuple(read_section(item) for item in file.at_key("sections").items())
    ids = ["answer", *(section.id for section in sections)]
    is_split = KINDS[for_each].split_by is not None
    if is_split and (noted := next((section for section in sections if section.note), None)):
        raise ConfigError(f"{noted.source}: found a note; allowed: no notes in a page for each {for_each}.")
    if twice := {each for each in ids if ids.count(each) > 1}:
        file.at_key("sections").refuse(f"ids without duplicates ('{min(twice)}' occurs twice)", is_shown=False)
    return Page(
        name=name,
        path=_path(file.at_key("path"), for_each),
        title=_template(file.at_key("title"), for_each, KINDS[for_each].path),
        nav=file.at_key("nav").optional_text(),
        for_each=for_each,
        intro=file.at_key("intro").text(""),
        sections=sections,
        position=file.at_key("position").whole(100, least=0),
        least_runs=file.at_key("least_runs").whole(0, least=0),
        needs=_query(file.at_key("needs")),
        answer=_query(file.at_key("answer")),
        template=file.at_key("template").text("page.html"),
        filters=_filters(file.at_key("filters"), for_each, sections),
    )


def _filters(setting: Setting, for_each: ForEach, sections: Sequence[Section]) -> tuple[str, ...]:
    """What readers can filter by, in the order in which the page offers it."""
    if setting.is_given and for_each != "run":
        setting.refuse("filters only in a page for each run", is_shown=False)
    chosen = {item.choice(*FILTERS) for item in setting.items()}
    if not chosen and (lost := next((section for section in sections if section.recompute), None)):
        raise ConfigError(f"{lost.source}: found recompute; allowed: recompute in a page with filters.")
    return tuple(name for name in FILTERS if name in chosen)


def _query(setting: Setting) -> Section | None:
    """A query of the page itself, as a section, whose errors name it by its key."""
    return Section(setting.path, "", setting.text(), "table", source=setting.place) if setting.is_given else None


def _template(setting: Setting, for_each: ForEach, allowed: frozenset[str]) -> str:
    text = setting.text()
    if not set(_PLACEHOLDER.findall(text)) <= allowed:
        names = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "no placeholders"
        setting.refuse(f"text with {names} in a page for each {for_each}")
    return text


def _path(setting: Setting, for_each: ForEach) -> str:
    """A relative path that stays inside the site and differs for each page."""
    needed = KINDS[for_each].path
    path = _template(setting, for_each, needed)
    parts = path.split("/")
    plain = re.fullmatch(r"[A-Za-z0-9._/{}-]+", path) and path.endswith(".html")
    if not plain or any(not part or part.startswith(".") for part in parts) or parts[0] == "assets":
        setting.refuse("a relative path like runs/{run_tag}/index.html")
    if set(_PLACEHOLDER.findall(path)) != needed:
        setting.refuse("a path with " + " and ".join(f"{{{name}}}" for name in sorted(needed)))
    return path


def read_section(item: Setting) -> Section:
    """A section as a file declares it. Raises `ConfigError` for what it cannot be."""
    item.allow(_SECTION_KEYS)
    show = item.at_key("show").choice(*CHARTS, *_NOT_CHARTS, default="table")
    identifier = item.at_key("id").text()
    if not re.fullmatch(r"[a-z][a-z0-9-]*", identifier):
        item.at_key("id").refuse("lower-case letters, digits and '-'")
    note, recompute = item.at_key("note"), item.at_key("recompute")
    return Section(
        id=identifier,
        title=item.at_key("title").text(),
        query=item.at_key("query").text("" if show == "text" else None),
        show=show,
        text=item.at_key("text").text(""),
        roles=_roles(item.at_key("roles"), show),
        columns=_columns(item.at_key("columns")),
        options=_options(item.at_key("options")),
        note=note.text() if note.is_given else None,
        recompute=recompute.choice(*RECOMPUTED) if recompute.is_given else None,
        empty=item.at_key("empty").text("Nothing to show yet."),
        hide_when_empty=item.at_key("hide_when_empty").flag(False),
        folded=item.at_key("folded").flag(False),
        limit=item.at_key("limit").whole(1000, least=1),
        source=item.place,
    )


def _columns(setting: Setting) -> dict[str, ColumnFormat]:
    """The columns with their formats. An interval is written as the value before it, unless it says otherwise."""
    columns: dict[str, ColumnFormat] = {}
    before = ColumnFormat()
    for name in setting.mapping():
        column = _column(setting.at_key(name))
        if column.to is not None and column.format is None:
            column = replace(column, format=before.format)
        columns[name] = before = column
    return columns


def _column(setting: Setting) -> ColumnFormat:
    """A heading, or a heading and a format, or nothing, which derives both from the column's name."""
    if not isinstance(setting.value, dict):
        return ColumnFormat(label=setting.optional_text())
    setting.allow(("label", "format", "to", "reason", "cases", "opens"))
    opens = setting.at_key("opens")
    opens.allow(FACETS)
    return ColumnFormat(
        **setting.fields(ColumnFormat, "label", "format", "to", "reason", "cases"),
        opens={facet: opens.at_key(facet).text() for facet in opens.mapping()},
    )


def _roles(setting: Setting, show: str) -> dict[str, tuple[str, ...]]:
    """Role → columns; only the values of bars may have several columns."""
    needed, possible = _ROLES.get(show, ((), ()))
    setting.allow((*needed, *possible))
    for role in needed:
        if not setting.at_key(role).is_given:
            setting.at_key(role).refuse("the name of a column of the query")
    roles = {}
    for role in setting.mapping():
        columns = setting.at_key(role)
        if isinstance(columns.value, list) and role == "values":
            roles[role] = tuple(column.text() for column in columns.items())
        else:
            roles[role] = (columns.text(),)
    return roles


def _options(setting: Setting) -> Options:
    ends = [end.number() for end in setting.at_key("range").items()]
    if ends and (len(ends) != 2 or ends[0] >= ends[1]):
        setting.at_key("range").refuse("two numbers, the lower first")
    plain = [each.name for each in fields(Options) if each.name != "range"]
    return Options(range=(ends[0], ends[1]) if ends else None, **setting.fields(Options, *plain))
