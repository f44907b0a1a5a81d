"""Values and pages → HTML. Everything from the warehouse is treated as text, whatever it contains.

The templates escape every value after `visible` has made control characters harmless; data for scripts is packed in
letters that mean nothing in HTML.
"""

from __future__ import annotations

import math
import re
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from debatebench.output.report.page import ColumnFormat, Format
from debatebench.shared.amounts import amount_decimals
from debatebench.shared.errors import ConfigError
from debatebench.shared.files import shown_path
from debatebench.shared.result_formats import json_text
from debatebench.shared.visible_text import visible

MISSING = "–"
MINUS = "−"

_HEADINGS = {
    "agree": "Agreed",
    "category": "Category",
    "con_model_id": "Con",
    "cost_usd": "Cost",
    "debate_id": "Debate",
    "judge_id": "Judge",
    "mean_turn_duration_ms": "Time per turn",
    "model_id": "Debater",
    "motion": "Motion",
    "opponent_id": "Opponent",
    "pro_model_id": "Pro",
    "run_tag": "Run",
    "topic_id": "Topic",
    "total": "Debates",
    "total_tokens": "Tokens",
}
_SUFFIXES: dict[str, Format] = {"_rate": "percent", "_usd": "usd", "_ms": "milliseconds"}
DEBATERS = ("model_id", "opponent_id", "pro_model_id", "con_model_id")
"""The columns that name a debater of the run in `run_tag`, or else of the page's run."""
_NAMES: dict[str, Format] = {
    "rating": "whole",
    "winner": "winner",
    "run_tag": "run",
    "debate_id": "debate",
    **dict.fromkeys(DEBATERS, "debater"),
}
# A number that begins a cell, without a unit that differs from cell to cell; tables.js has the same pattern. Times and
# flags sort as text.
_SORTS_ITSELF = re.compile(r"−?\$?[0-9,]+(\.[0-9]+)?(%|=|$| to )|[0-9]{4}-[0-9]{2}-[0-9]{2} |yes$|no$")
# A signed number that a query has written, or an interval of such numbers.
_SIGNED = re.compile(r"[+-][0-9][0-9.,]*(\s?%)?(\sto\s[+-]?[0-9][0-9.,]*(\s?%)?)?")
_BEFORE_DIGIT = re.compile(r"-(?=[0-9])")
_LONGEST_UNBROKEN = 40
_LONGEST_TEXT = 400
_BEGINNING = 200
_WINNERS = {"pro": "pro", "con": "con", "tie": "tie", "no_decision": "no decision"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is shown. `sort` is the sort key in its column, `mark` the winner that the style sheet colours."""

    text: str
    sort: float | None = None
    is_number: bool = False
    href: str | None = None
    mark: str | None = None

    @property
    def is_long(self) -> bool:
        """Whether a table shows only its beginning at first."""
        return len(self.text) > _LONGEST_TEXT and self.href is None

    @property
    def beginning(self) -> str:
        """What a table shows of a long text at first, to the end of a word; tables.js cuts in the same place."""
        cut = max(self.text.rfind(" ", 0, _BEGINNING), self.text.rfind("\n", 0, _BEGINNING))
        return self.text[: cut if cut > _BEGINNING / 2 else _BEGINNING]

    @property
    def sort_key(self) -> str | None:
        """The sort key, if a script cannot read it from the text as `tables.js` does."""
        return None if self.sort is None or _SORTS_ITSELF.match(self.text) else f"{self.sort:.9g}"


def heading(name: str, column: ColumnFormat | None = None) -> str:
    """The heading of a column: its label, or one derived from its name."""
    if column is not None and column.label is not None:
        return column.label
    plain = name
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix) if suffix != "_rate" else plain
    return _HEADINGS.get(name, plain.replace("_", " ").strip().capitalize())


def guess_format(name: str, values: Sequence[Any]) -> Format:
    """The format that a column's name suggests, or else its values."""
    known = next((value for value in values if value is not None), None)
    if isinstance(known, bool):
        return "flag"
    if isinstance(known, datetime):
        return "time"
    if name in _NAMES:
        return _NAMES[name]
    if "p_value" in name:
        return "p_value"
    if isinstance(known, int | float | Decimal):
        by_name = next((found for suffix, found in _SUFFIXES.items() if name.endswith(suffix)), None)
        return by_name or ("count" if isinstance(known, int) else "number")
    return "text"


def format_values(values: Sequence[Any], chosen: Format) -> list[Cell]:
    """A column's values as cells, with the same number of decimals for all numbers. A shared `rank` is marked: `1=`."""
    decimals = _decimals(values, chosen)
    cells = [_cell(value, chosen, decimals) for value in values]
    if chosen != "rank":
        return cells
    counts = Counter(values)
    return [
        replace(cell, text=f"{cell.text}=") if cell.is_number and counts[value] > 1 else cell
        for value, cell in zip(values, cells, strict=True)
    ]


def _decimals(values: Sequence[Any], chosen: Format) -> int:
    if chosen != "usd":
        return {"number": 2, "percent": 1, "p_value": 3}.get(chosen, 0)
    smallest = min((abs(value) for value in values if value and math.isfinite(value)), default=1)
    return 2 if smallest >= 1 else 4 if smallest >= Decimal("0.001") else amount_decimals(smallest, 6)


def _cell(value: Any, chosen: Format, decimals: int) -> Cell:
    if value is None:
        return Cell(MISSING)
    if isinstance(value, bool):
        return Cell("yes" if value else "no", sort=float(value))
    if isinstance(value, datetime):
        return Cell(f"{value:%Y-%m-%d %H:%M}", sort=_epoch(value))
    if isinstance(value, int | float | Decimal):
        return Cell(_number(value, chosen, decimals), sort=float(value), is_number=True)
    text = value if isinstance(value, str) else json_text(value)
    if chosen == "file":
        return Cell(Path(text).suffix.removeprefix(".").upper().replace("PARQUET", "Parquet"))
    if chosen == "winner":
        return Cell(_WINNERS.get(text, text), mark=text if text in _WINNERS else None)
    if _SIGNED.fullmatch(text):
        number = float(re.split(r"[\s%]", text, maxsplit=1)[0].replace(",", "").rstrip("."))
        return Cell(_BEFORE_DIGIT.sub(MINUS, text), sort=number, is_number=True)
    return Cell(text)


def _number(value: float | Decimal, chosen: Format, decimals: int) -> str:
    """A number with a true minus; what is rounded to zero has no sign."""
    match chosen:
        case "p_value" if 0 <= value < 0.001:
            return "< 0.001"
        case "percent":
            text = f"{100 * value:.{decimals}f}%"
        case "usd":
            text = f"{'-' if value < 0 else ''}${abs(value):,.{decimals}f}"
        case "milliseconds":
            text = f"{value / 1000:,.1f} s" if not -1000 < value < 1000 else f"{value:,.0f} ms"
        case _:
            text = f"{value:,.{decimals}f}"
    is_zero = not re.search(r"[1-9a-z]", text.removesuffix(" s").removesuffix(" ms"))
    return text.removeprefix("-") if is_zero else text.replace("-", MINUS, 1)


def _epoch(value: datetime) -> float:
    return (value - datetime(1970, 1, 1)).total_seconds()


def unbroken(text: str) -> Any:
    """Text as HTML in which no line ends within a word with a hyphen, such as the name of a model."""
    from markupsafe import Markup, escape

    parts = re.split(r"(\s+)", visible(text, keep_lines=True))
    kept = (
        Markup('<span class="nb">{}</span>').format(part)
        if "-" in part[1:-1] and len(part) <= _LONGEST_UNBROKEN
        else escape(part)
        for part in parts
    )
    return Markup("").join(kept)


def prose(text: str) -> Any:
    """Text as HTML, with what stands between backticks as code."""
    from markupsafe import Markup

    parts = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(visible(part)) if n % 2 else unbroken(part) for n, part in enumerate(parts)
    )


def environment(files: Mapping[str, Path]) -> Environment:
    """A Jinja environment with the templates of `reports/templates`; every value is made visible, then escaped."""

    def source(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        path = files.get(f"templates/{name}")
        return None if path is None else (read_template(path), str(path), lambda: True)

    made = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"prose": prose, "unbroken": unbroken}
    return made


def _harmless(value: Any) -> Any:
    """Make text visible; markup of our own templates is unchanged."""
    return visible(value, keep_lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


def read_template(path: Path) -> str:
    """The text of a template or of what is put into one. Raises `ConfigError` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown_path(path)} is not UTF-8 text (byte {error.start}).") from error


def render(environment: Environment, template: str, values: Mapping[str, Any]) -> str:
    """Render a template. Raises `ConfigError` when the template cannot be used, whatever its code does."""
    try:
        return environment.get_template(template).render(values)
    except (
        TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = (str(error) or type(error).__name__).rstrip(".")
        raise ConfigError(f"{_place_of(error) or f'reports/templates/{template}'}: {reason}.") from error


def _place_of(error: Exception) -> str | None:
    """The file and line of a template in which an error occurred."""
    if (name := getattr(error, "name", None)) and (line := getattr(error, "lineno", None)):
        return f"reports/templates/{name}:{line}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(".html"):
            return f"{shown_path(Path(frame.filename))}:{frame.lineno}"
    return None
