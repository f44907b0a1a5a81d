"""Plots for papers and READMEs: sections of `reports/plots`, drawn by the charts of the site in its light colours."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Any

import duckdb

from debatebench.config.setting import Setting, read_file
from debatebench.output.report.chart_parts import Row, Spec, framed, legend_of, plotly_text, short_text
from debatebench.output.report.charts import chart
from debatebench.output.report.html import read_template
from debatebench.output.report.page import CHARTS, Section, read_section
from debatebench.output.report.pictures import PICTURE_FORMATS, PictureFormat, draw_pictures
from debatebench.output.report.sections import check_columns, paragraphs
from debatebench.query.safe_query import run_query
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import ConfigError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.visible_text import visible

WIDTH = 700
"""Pixels."""

_FOLDER = "plots/"
_SQL = "sql"
_STYLE_SHEET = "assets/site.css"
PLOTLY = "vendor/plotly-cartesian.min.js"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ROOT = re.compile(r":root\s*\{([^}]*)\}")
_VARIABLE = re.compile(r"(--[a-z0-9-]+)\s*:\s*([^;]+);")
_USE = re.compile(r"var\((--[a-z0-9-]+)\)")
_VALUES = ("value", "values", "y", "median")
_TITLE_SIZE, _LINE_SIZE = 16, 12
_ABOVE_TITLE, _TITLE_HEIGHT, _LINE_HEIGHT, _BELOW_TITLE = 12, 26, 17, 14
# plotly puts the base of the first of several lines where it puts the top of a single one.
_TITLE_ASCENT = 13
_LEGEND_LINE, _LEGEND_CHARACTERS = 22, 80
_TIMEOUT_S = 600.0
_ABOUT = "select is_simulated, created_at from marts.runs where run_tag = $run_tag"
_PREFERENCE = "What judges prefer, not what is true."
_SIMULATED = "Simulated debaters or judges: it says nothing about real models."


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a run: its specification for plotly with all colours, or None and why there is nothing to draw.

    `sql` is its query as a file to run. `made_at` is when the run was made, if that is known.
    """

    name: str
    spec: Spec | None
    empty: str
    sql: str
    made_at: datetime | None


def load_plots(files: Mapping[str, Path], names: Collection[str] | None = None) -> dict[str, Section]:
    """The plots among the files of `reports/`, or those of these names, by name.

    Raises `UsageError` for an unknown name, `ConfigError` for a file that is no plot.
    """
    found = {
        name.removeprefix(_FOLDER).rpartition(".")[0]: path
        for name, path in sorted(files.items())
        if name.startswith(_FOLDER) and name.endswith((".yml", ".yaml"))
    }
    for name in names or ():
        if name not in found:
            raise UsageError(f"No plot '{name}'.{known_names(name, found)}")
    return {name: _section(name, read_file(path)) for name, path in found.items() if not names or name in names}


def _section(name: str, file: Setting) -> Section:
    """One file as a section: its name stands for the id."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{file.file}: found the name {name!r}; allowed: lower-case letters, digits, '_' and '-'.")
    section = read_section(Setting(file.file, "", {**file.mapping(), "id": name.replace("_", "-")}))
    if section.show not in CHARTS:
        file.at_key("show").refuse(f"one of {', '.join(CHARTS)}")
    if "panel" in section.roles:
        file.at_key("roles").at_key("panel").refuse("a plot without panels, which is one picture")
    return section


def light_theme(files: Mapping[str, Path]) -> dict[str, str]:
    """The variables of the site's style sheet before any media query: name → value."""
    path = files[_STYLE_SHEET]
    found = _ROOT.search(read_template(path))
    if found is None:
        raise ConfigError(f"{path} has no block :root {{…}} with the colours of charts.")
    return {name: " ".join(value.split()) for name, value in _VARIABLE.findall(found[1])}


def plots_of_run(
    con: duckdb.DuckDBPyConnection, sections: Mapping[str, Section], theme: Mapping[str, str], run_tag: str
) -> list[Plot]:
    """Every plot of a run, from `con` of `open_for_query`. Raises `ConfigError` for a query that cannot be used."""
    ((is_simulated, made_at),) = run_query(con, _ABOUT, {"run_tag": run_tag}, limit=None).rows
    return [_plot(con, name, each, theme, run_tag, is_simulated, made_at) for name, each in sections.items()]


def _plot(
    con: duckdb.DuckDBPyConnection,
    name: str,
    section: Section,
    theme: Mapping[str, str],
    run_tag: str,
    is_simulated: bool,
    made_at: datetime | None,
) -> Plot:
    section = replace(section, title=section.title.replace("{run_tag}", run_tag))
    params = {"run_tag": run_tag} if re.search(r"\$run_tag\b", section.query) else {}
    try:
        result = run_query(con, section.query, params, limit=section.limit, timeout_s=_TIMEOUT_S)
    except DamagedDataError:
        raise
    except DebatebenchError as error:
        raise ConfigError(f"{section.source}: {error}") from error
    check_columns(section, result.columns)
    rows = result.dicts()
    sql = _sql_file(name, section, run_tag)
    if not _has_values(section, rows):
        return Plot(name, None, section.empty, sql, made_at)
    lines = [f"Run {short_text(run_tag)}. {_PREFERENCE}"]
    lines += [f"Only the first {section.limit:,} are shown."] if result.truncated else []
    lines += [_SIMULATED] if is_simulated else []
    return Plot(
        name, _resolved(_titled(framed(chart(section, rows)), section.title, lines), theme, section), "", sql, made_at
    )


def plot_files(names: Iterable[str]) -> set[str]:
    """The names of all files that plots of these names may have."""
    return {f"{name}.{ending}" for name in names for ending in (*PICTURE_FORMATS, _SQL)}


def write_plots(folder: Path, plots: Sequence[Plot], formats: Sequence[PictureFormat], script: Path) -> list[Path]:
    """Write each plot in each format, and its SQL, into `folder`; return the pictures. `script` is plotly.js.

    A plot without anything to draw has only its SQL, and its former pictures are deleted. Raises `DebatebenchError`
    where a picture cannot be drawn, before anything is written, or `folder` cannot be written to.
    """
    made_at = next((plot.made_at for plot in plots if plot.made_at is not None), None)
    specs = {plot.name: plot.spec for plot in plots if plot.spec is not None}
    pictures = draw_pictures(specs, formats, script, made_at) if specs else {}
    paths = {folder / f"{name}.{form}": picture for (name, form), picture in pictures.items()}
    try:
        for path, picture in paths.items():
            write_atomically(path, picture)
        for plot in plots:
            write_atomically(folder / f"{plot.name}.{_SQL}", plot.sql)
        for plot in plots:
            for form in PICTURE_FORMATS if plot.spec is None else ():
                (folder / f"{plot.name}.{form}").unlink(missing_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    return list(paths)


def _has_values(section: Section, rows: Sequence[Row]) -> bool:
    """Whether there is anything to draw."""
    columns = [column for role in _VALUES for column in section.roles.get(role, ())]
    return any(row[column] is not None for row in rows for column in columns or row)


def _sql_file(name: str, section: Section, run_tag: str) -> str:
    """The query as a file that `debatebench query --file` runs, with what it is and how to run it."""
    about = [section.title, *paragraphs(section.text)]
    command = f"debatebench query --file {name}.sql --param run_tag={quote(run_tag)}"
    return "".join(f"-- {visible(line)}\n" for line in [*about, command]) + section.query.strip() + "\n"


def _titled(spec: Spec, title: str, lines: Sequence[str]) -> Spec:
    """The chart as a picture of its own: with a background, and above it a title and lines below the title."""
    layout = dict(spec["layout"])
    head = _ABOVE_TITLE + _TITLE_HEIGHT + _LINE_HEIGHT * len(lines) + _BELOW_TITLE
    room = head + _LEGEND_LINE * _legend_lines(spec)
    margin = {**layout["margin"], "l": 16, "t": room}
    # Names above the columns would lie below the title.
    xaxis = {**layout["xaxis"], "side": "bottom"}
    below = "".join(f'<br><span style="font-size:{_LINE_SIZE}px">{line}</span>' for line in lines)
    layout |= {
        **_legend(spec),
        "width": WIDTH,
        "height": layout["height"] - spec["layout"]["margin"]["t"] + room,
        "margin": margin,
        "xaxis": xaxis,
        "paper_bgcolor": "var(--surface)",
        "plot_bgcolor": "var(--surface)",
        "title": {
            "text": f"<b>{plotly_text(title)}</b>{below}",
            "font": {"size": _TITLE_SIZE, "color": "var(--ink)"},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 16, "t": _ABOVE_TITLE + _TITLE_ASCENT},
        },
    }
    # Without ids, plotly draws random ones, which are in SVG.
    return {"data": [{**trace, "uid": f"{number:06}"} for number, trace in enumerate(spec["data"])], "layout": layout}


def _legend(spec: Spec) -> Spec:
    """The legend above a chart of several series, which a page shows outside of its charts."""
    is_needed = bool(legend_of([spec]))
    place = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "traceorder": "normal"}
    return {"showlegend": is_needed, "legend": place}


def _legend_lines(spec: Spec) -> int:
    """How many lines the legend needs."""
    return -(-sum(len(entry.name) + 6 for entry in legend_of([spec])) // _LEGEND_CHARACTERS)


def _resolved(value: Any, theme: Mapping[str, str], section: Section) -> Any:
    """The specification with every `var(--name)` replaced by its value."""
    if isinstance(value, str):
        used = _USE.fullmatch(value)
        if used is None:
            return value
        if used[1] not in theme:
            raise ConfigError(f"{section.source}: the style sheet {_STYLE_SHEET} has no {used[1]} in its :root {{…}}.")
        return theme[used[1]]
    if isinstance(value, list | tuple):
        return [_resolved(each, theme, section) for each in value]
    if isinstance(value, dict):
        return {key: _resolved(each, theme, section) for key, each in value.items()}
    return value
