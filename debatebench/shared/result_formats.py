"""Results as text: a table or lines for people, JSON and CSV for programs, Markdown and LaTeX for documents.

Model output is hostile text. In output for people, characters without a shape are made visible; JSON escapes them, and
CSV in a file keeps them, because there they are data.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from html import escape
from itertools import accumulate, zip_longest
from typing import Any

from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.formats import FORMATS
from debatebench.shared.latex import latex_text
from debatebench.shared.markdown import markdown_text
from debatebench.shared.visible_text import cut, is_hidden, spreadsheet_safe, visible, width, wrapped

_MISSING = "–"
_DECIMALS = 4
_NARROWEST = 12
_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


class _JsonEscapes(dict[int, int | str]):
    """Character → its escape in JSON if it is hidden, for `str.translate`; found when a character first occurs."""

    def __missing__(self, code: int) -> int | str:
        character = chr(code)
        self[code] = json.dumps(character)[1:-1] if is_hidden(character) else code
        return self[code]


_JSON_ESCAPES = _JsonEscapes({0x7F: r"\u007f"})


def unique_names(names: Iterable[str]) -> list[str]:
    """Column names, where repeated ones get `_1`, `_2`, … as in DuckDB."""
    taken: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 0
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        result.append(unique)
    return result


def render(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    format: str = "table",
    *,
    terminal_width: int | None = None,
    wraps: bool = False,
) -> str:
    """The rows as text in one of `FORMATS`, ending in a line feed.

    `table` aligns columns, rounds to four decimals and shows missing values as `–`; `markdown` does the same between
    pipes, `latex` in a `tabular` of the package booktabs, and `line` has a line for each value. `json` is an array of
    objects with exact numbers, ISO times and NaN and infinity as text; `jsonl` has an object on each line, and no line
    where there are no rows. `csv` ends lines with LF and puts `'` before text that a spreadsheet would take for a
    formula; `tsv` is the same with tabs. `terminal_width` is the number of columns if the text goes to a terminal: then
    a table is cut to fit, and control characters in CSV are made visible. With `wraps`, text that does not fit is not
    cut, but goes on in the lines below. Raises `UsageError` for any other format.
    """
    names = unique_names(columns)
    if format == "table":
        return _plain_table(names, list(rows), terminal_width, wraps=wraps)
    if format == "line":
        return _lines(names, list(rows))
    if format == "json":
        return _json_table(names, rows)
    if format == "jsonl":
        return "".join(f"{json_text(dict(zip(names, row, strict=True)))}\n" for row in rows)
    if format in ("csv", "tsv"):
        separator = "," if format == "csv" else "\t"
        return _separated(names, rows, separator, for_terminal=terminal_width is not None)
    if format == "markdown":
        return _markdown_table(names, list(rows))
    if format == "latex":
        return _latex_table(names, list(rows))
    raise UsageError(f"No format '{format}'.{known_names(format, FORMATS)}")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], format: str = "table", *, wraps: bool = False
) -> None:
    """Print the rows to stdout, fitted to its width if it is a terminal: long text is cut, or wraps."""
    width = None
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    sys.stdout.write(render(columns, rows, format, terminal_width=width, wraps=wraps))


# --- cells for people ------------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _decimals(value: Any) -> int | None:
    """The decimals to show: up to four, or enough for four digits below 0.001; `None` for a value without decimals."""
    if not isinstance(value, float | Decimal) or not math.isfinite(value):
        return None
    size = abs(float(value))
    places = _DECIMALS if size >= 0.001 or size == 0 else _DECIMALS - 1 - math.floor(math.log10(size))
    shown = f"{size:.{min(places, 10)}f}"
    return len(shown.rstrip("0").partition(".")[2])


def _cells(values: Sequence[Any]) -> tuple[list[str], bool]:
    """A column's cells as text, and whether it is a column of numbers: those all have the same number of decimals."""
    decimals = max((d for value in values if (d := _decimals(value)) is not None), default=0)
    known = [value for value in values if value is not None]
    return [_cell(value, decimals) for value in values], bool(known) and all(map(_is_number, known))


def _cell(value: Any, decimals: int) -> str:
    if value is None:
        return _MISSING
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return str(value)
        is_tiny = 0 < abs(float(value)) < 1e-7
        return f"{value:.3e}" if is_tiny else f"{value:.{decimals}f}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return visible(_as_text(value))


def _as_text(value: Any) -> str:
    """Any value as text: ISO times, nested values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping | list | tuple):
        return json_text(value)
    return str(value)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> str:
    """The rows as an HTML table with cells for people; nothing in it is markup, whatever the values hold."""
    cells = [_cells([row[n] for row in rows]) for n in range(len(columns))]
    head = "".join(f"<th>{escape(visible(name))}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {"right" if is_number else "left"}">{escape(texts[n])}</td>'
            for texts, is_number in cells
        )
        + "</tr>"
        for n in range(len(rows))
    )
    head = f"<thead><tr>{head}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table><p>{escape(visible(caption))}</p>"


def _plain_table(names: list[str], rows: list[Sequence[Any]], terminal_width: int | None, *, wraps: bool) -> str:
    columns = [_cells([row[n] for row in rows]) for n in range(len(names))]
    headers = [visible(name) for name in names]
    widths = [max(map(width, [header, *cells])) for header, (cells, _) in zip(headers, columns, strict=True)]
    is_number = [is_number for _, is_number in columns]
    shown = len(names)
    if terminal_width is not None:
        shown = _shown(widths, terminal_width, is_number)
        room = terminal_width - (0 if shown == len(names) else 3)
        widths = _fitted(widths[:shown], room, is_number[:shown])
    rest = ["…"] if shown < len(names) else []
    widths, is_number = [*widths, *map(len, rest)], [*is_number[:shown], *(False for _ in rest)]
    lines = [_line([*headers[:shown], *rest], widths, is_number)]
    lines.append("  ".join("─" * columns for columns in widths))
    for n in range(len(rows)):
        row = [*(cells[n] for cells, _ in columns[:shown]), *rest]
        lines += (_line(part, widths, is_number) for part in (_wrapped_row(row, widths) if wraps else [row]))
    if rest:
        lines.append(f"{shown} of {len(names)} columns fit; the format `line` shows all.")
    return "\n".join(lines) + "\n"


def _shown(widths: list[int], terminal_width: int, is_number: list[bool]) -> int:
    """How many columns fit when text is cut as far as it may be: all, or the first ones and room for an ellipsis."""
    least = [each if number else min(each, _NARROWEST) for each, number in zip(widths, is_number, strict=True)]
    ends = list(accumulate(each + 2 for each in least))
    if ends and ends[-1] - 2 > terminal_width:
        return max(1, sum(end + 1 <= terminal_width for end in ends))
    return len(widths)


def _lines(names: list[str], rows: list[Sequence[Any]]) -> str:
    """`name = value`, one value a line, with an empty line between two rows."""
    columns = [_cells([row[n] for row in rows])[0] for n in range(len(names))]
    headers = [visible(name) for name in names]
    longest = max(map(width, headers), default=0)
    blocks = [
        "".join(
            f"{' ' * (longest - width(header))}{header} = {cells[n]}\n"
            for header, cells in zip(headers, columns, strict=True)
        )
        for n in range(len(rows))
    ]
    return "\n".join(blocks)


def _fitted(widths: list[int], terminal_width: int, is_number: list[bool]) -> list[int]:
    """Narrow the widest text columns until the line fits; numbers are never cut."""
    widths = list(widths)
    over = sum(widths) + 2 * (len(widths) - 1) - terminal_width
    while over > 0:
        text = [n for n, columns in enumerate(widths) if not is_number[n] and columns > _NARROWEST]
        if not text:
            break
        widest = max(text, key=lambda n: widths[n])
        second = max((widths[n] for n in text if n != widest), default=_NARROWEST)
        step = max(1, min(over, widths[widest] - max(second, _NARROWEST)))
        widths[widest] -= step
        over -= step
    return widths


def _wrapped_row(cells: Sequence[str], widths: Sequence[int]) -> Iterable[Sequence[str]]:
    """The cells of every line that a row takes when its long texts wrap."""
    return zip_longest(*map(wrapped, cells, widths), fillvalue="")


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for text, columns, is_right in zip(cells, widths, right, strict=True):
        shown = cut(text, columns)
        space = " " * (columns - width(shown))
        parts.append(space + shown if is_right else shown + space)
    return "  ".join(parts).rstrip()


def _markdown_table(names: list[str], rows: list[Sequence[Any]]) -> str:
    columns = [_cells([row[n] for row in rows]) for n in range(len(names))]
    lines = [_markdown_row(names)]
    lines.append("|" + "|".join(" ---: " if is_number else " --- " for _, is_number in columns) + "|")
    lines += [_markdown_row([cells[n] for cells, _ in columns]) for n in range(len(rows))]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"


def _latex_table(names: list[str], rows: list[Sequence[Any]]) -> str:
    columns = [_cells([row[n] for row in rows]) for n in range(len(names))]
    align = "".join("r" if is_number else "l" for _, is_number in columns)
    shown = [[_latex_number(text) if is_number else latex_text(text) for text in cells] for cells, is_number in columns]
    lines = ["% \\usepackage{booktabs}", f"\\begin{{tabular}}{{{align}}}", "\\toprule"]
    lines += [_latex_row([latex_text(name) for name in names]), "\\midrule"]
    lines += [_latex_row([cells[n] for cells in shown]) for n in range(len(rows))]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _latex_number(text: str) -> str:
    """A number with a true minus."""
    return f"$-${text[1:]}" if text.startswith("-") else latex_text(text)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


# --- for programs ----------------------------------------------------------------------------------------------------


def _json_table(names: list[str], rows: Iterable[Sequence[Any]]) -> str:
    objects = [json_text(dict(zip(names, row, strict=True))) for row in rows]
    return "[" + ",".join(f"\n  {text}" for text in objects) + ("\n]\n" if objects else "]\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The JSON text of any value from DuckDB: exact numbers, ISO times.

    JSON has no NaN and no infinity, and null means that there is no value: they are the texts "NaN", "Infinity" and
    "-Infinity", as in the JSON form of Protocol Buffers.

    Characters without a shape are escaped, so that the text is safe on a terminal and nothing is lost or hidden.
    Each level is indented by `indent` spaces; for None everything is on one line.
    """
    return _json(value, indent, 0)


def _json(value: Any, indent: int | None, level: int) -> str:
    """JSON text with exact decimals: the standard encoder would write them as floats, or not at all."""
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else _NOT_FINITE[str(value)]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        pairs = (f"{_json_string(_as_text(key))}: {_json(item, indent, level + 1)}" for key, item in value.items())
        return _json_nested("{", list(pairs), "}", indent, level)
    if isinstance(value, list | tuple):
        return _json_nested("[", [_json(item, indent, level + 1) for item in value], "]", indent, level)
    return _json_string(value.isoformat() if isinstance(value, datetime) else _as_text(value))


def _json_nested(opening: str, items: list[str], closing: str, indent: int | None, level: int) -> str:
    if indent is None or not items:
        return opening + ", ".join(items) + closing
    margin = "\n" + " " * indent * level
    return opening + ",".join(f"{margin}{' ' * indent}{item}" for item in items) + margin + closing


def _json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_JSON_ESCAPES)


def _separated(names: list[str], rows: Iterable[Sequence[Any]], separator: str, *, for_terminal: bool) -> str:
    # Most readers skip an empty line instead of reading it as a row.
    lines = [
        separator.join(_separated_cell(value, separator, for_terminal) for value in row) or '""'
        for row in [names, *rows]
    ]
    return "\n".join(lines) + "\n"


def _separated_cell(value: Any, separator: str, for_terminal: bool) -> str:
    """A cell: numbers are unchanged, text that a spreadsheet would run gets an apostrophe, and only null is empty."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    text = spreadsheet_safe(value) if isinstance(value, str) else _as_text(value)
    if for_terminal:
        text = visible(text, keep_lines=True)
    # Python's writer leaves a lone carriage return unquoted.
    return '"' + text.replace('"', '""') + '"' if not text or set(text) & {separator, *'"\r\n'} else text
