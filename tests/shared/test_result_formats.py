"""Results as text: aligned tables for people, exact JSON and CSV for programs, nothing that runs anywhere."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.shared.errors import UsageError
from debatebench.shared.formats import FORMATS, SHORT_NAMES
from debatebench.shared.latex import latex_text
from debatebench.shared.result_formats import json_text, render, unique_names
from debatebench.shared.visible_text import visible, width

COLUMNS = ["model_id", "rating", "games", "win_rate", "cost_usd"]
ROWS = [
    ("alpha", 1523.45678, 12, 2 / 3, Decimal("0.0123400000")),
    ("beta", 400.0, 8, 0.5, None),
]


def test_table_aligns_numbers_to_the_right_on_one_number_of_decimals() -> None:
    assert render(COLUMNS, ROWS, "table") == (
        "model_id     rating  games  win_rate  cost_usd\n"
        "────────  ─────────  ─────  ────────  ────────\n"
        "alpha     1523.4568     12    0.6667    0.0123\n"
        "beta       400.0000      8    0.5000         –\n"
    )


def test_table_of_no_rows_still_names_its_columns() -> None:
    assert render(["a", "b"], [], "table") == "a  b\n─  ─\n"


def test_table_shows_whole_floats_without_decimals_and_tiny_ones_with_an_exponent() -> None:
    assert render(["x"], [(400.0,), (12.0,)], "table").splitlines()[2:] == ["400", " 12"]
    assert render(["x"], [(1.23456e-12,)], "table").splitlines()[2] == "1.235e-12"
    assert render(["x"], [(0.00012346,)], "table").splitlines()[2] == "0.0001235"
    assert render(["x"], [(0.0,)], "table").splitlines()[2] == "0"


def test_table_shows_what_is_no_number_as_such() -> None:
    assert render(["x"], [(float("nan"),), (float("inf"),), (1.5,)], "table").splitlines()[2:] == ["nan", "inf", "1.5"]


def test_table_cuts_long_text_only_for_a_terminal_and_never_numbers() -> None:
    rows = [("x" * 200, 123456789)]
    assert "x" * 200 in render(["text", "n"], rows, "table")
    for line in render(["text", "n"], rows, "table", terminal_width=40).splitlines():
        assert len(line) <= 40
    assert render(["text", "n"], rows, "table", terminal_width=40).splitlines()[2].endswith("x…  123456789")


def test_table_takes_from_the_widest_column_first() -> None:
    lines = render(["short", "long"], [("a" * 20, "b" * 100)], "table", terminal_width=60).splitlines()
    assert lines[2] == "a" * 20 + "  " + "b" * 37 + "…"


@given(
    st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60)), min_size=1, max_size=4),
    st.integers(min_value=30, max_value=80),
)
def test_text_that_wraps_fits_its_terminal_and_loses_nothing(rows: list[tuple[str, str]], columns: int) -> None:
    text = render(["a", "b"], rows, "table", terminal_width=columns, wraps=True)
    assert all(width(line) <= columns for line in text.split("\n"))
    kept, shown = (Counter(visible(each).replace(" ", "")) for each in ("".join(a + b for a, b in rows), text))
    assert kept <= shown


def test_text_wraps_at_spaces_and_in_its_own_column() -> None:
    rows = [("name", "one two three four five six", 7), ("x", "y", 8)]
    assert render(["a", "b", "n"], rows, "table", terminal_width=24, wraps=True).splitlines() == [
        "a     b                n",
        "────  ───────────────  ─",
        "name  one two three    7",
        "      four five six",
        "x     y                8",
    ]


def test_table_counts_the_columns_of_wide_characters() -> None:
    lines = render(["名前", "x"], [("日本語", "é"), ("ab", "b")], "table").splitlines()
    assert lines[2:] == ["日本語  é", "ab      b"]


def test_terminal_never_gets_a_control_character_of_model_output() -> None:
    hostile = "a\x00\x1b[31mred\x9b2J\u202eevil\u2066\r\nb\x7f\u200b\U000e0041"
    for name in FORMATS:
        text = render([hostile], [(hostile,)], name, terminal_width=80)
        assert not set(text) & set("\x00\x1b\x9b\u202e\u2066\r\x7f\u200b\U000e0041"), name
    assert "a␀␛[31mred" in render(["x"], [(hostile,)], "table")


def test_json_escapes_lose_nothing() -> None:
    hostile = 'a\x00\x1b[31m\x9b\u202e\ufeff\u2028é日\u200b\U000e0041\u200d"\\\n'
    assert json.loads(render([hostile], [(hostile,)], "json")) == [{hostile: hostile}]


def test_json_keeps_decimals_exact_and_says_what_is_not_a_number() -> None:
    columns = ["d", "huge", "nan", "inf", "none", "flag", "float"]
    text = render(columns, [(Decimal("0.1000000001"), 10**38, float("nan"), float("-inf"), None, True, 0.1)], "json")
    assert json.loads(text, parse_float=Decimal) == [
        {
            "d": Decimal("0.1000000001"),
            "huge": 10**38,
            "nan": "NaN",
            "inf": "-Infinity",
            "none": None,
            "flag": True,
            "float": Decimal("0.1"),
        }
    ]


def test_json_writes_times_as_iso_and_nested_values_as_they_are() -> None:
    row = (
        datetime(2025, 1, 2, 3, 4, 5),
        date(2025, 1, 2),
        time(3, 4),
        timedelta(days=1),
        b"\x00\xff",
        UUID(int=7),
        {"a": [1, Decimal("2.50")], "b": {"c": None}},
    )
    assert json.loads(render(list("abcdefg"), [row], "json")) == [
        {
            "a": "2025-01-02T03:04:05",
            "b": "2025-01-02",
            "c": "03:04:00",
            "d": "1 day, 0:00:00",
            "e": "00ff",
            "f": "00000000-0000-0000-0000-000000000007",
            "g": {"a": [1, 2.5], "b": {"c": None}},
        }
    ]


def test_json_text_can_be_indented_like_the_standard_one() -> None:
    value = {"a": [1, {"b": []}], "c": {}, "d": "x"}
    assert json_text(value, indent=2) == json.dumps(value, indent=2)
    assert json_text(value) == json.dumps(value)


def test_json_of_no_rows_is_an_empty_array() -> None:
    assert json.loads(render(["a"], [], "json")) == []


def test_columns_of_the_same_name_are_kept_apart() -> None:
    assert unique_names(["a", "a", "a_1", "a"]) == ["a", "a_1", "a_1_1", "a_2"]
    assert json.loads(render(["a", "a"], [(1, 2)], "json")) == [{"a": 1, "a_1": 2}]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", " ="])
def test_csv_disarms_formulas_in_text(start: str) -> None:
    text = render(["x"], [(f"{start}1+cmd",)], "csv")
    assert list(csv.reader(io.StringIO(text, newline="")))[1] == [f"'{start}1+cmd"]


def test_csv_leaves_numbers_alone_and_ends_lines_with_lf() -> None:
    rows = [(-1, -0.5, Decimal("-0.10"), None, True, "plain, text")]
    assert render(list("abcdef"), rows, "csv") == 'a,b,c,d,e,f\n-1,-0.5,-0.10,,true,"plain, text"\n'


def test_tsv_is_csv_with_tabs() -> None:
    rows = [(1, "a,b", "c\td"), (None, "", "=x")]
    text = render(["n", "a", "b"], rows, "tsv")
    assert text == 'n\ta\tb\n1\ta,b\t"c\td"\n\t""\t\'=x\n'
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))[1] == ["1", "a,b", "c\td"]


def test_jsonl_is_the_objects_of_json_one_on_each_line() -> None:
    rows = [(1, "a\nb"), (Decimal("0.10"), None)]
    lines = render(["n", "x"], rows, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render(["n", "x"], rows, "json"))
    assert lines[1] == '{"n": 0.10, "x": null}'
    assert render(["n"], [], "jsonl") == ""


def test_line_has_a_line_for_each_value_and_an_empty_one_between_rows() -> None:
    assert render(["model_id", "rating"], [("alpha", 2 / 3), ("b\nc", None)], "line") == (
        "model_id = alpha\n  rating = 0.6667\n\nmodel_id = b␊c\n  rating = –\n"
    )


@given(
    st.lists(st.tuples(st.text(max_size=40), st.integers(-(10**12), 10**12)), min_size=1, max_size=30),
    st.integers(40, 200),
)
def test_no_line_of_a_table_is_wider_than_the_terminal(values: list[tuple[str, int]], columns: int) -> None:
    """Each pair makes two columns."""
    names = [f"{kind}{number}" for number in range(len(values)) for kind in ("text", "n")]
    row = [cell for pair in values for cell in pair]
    text = render(names, [row], "table", terminal_width=columns)
    assert max(map(width, text.splitlines())) <= max(columns, 50)
    numbers = [str(cell) for cell in row if isinstance(cell, int)]
    shown = text.splitlines()[2].split()
    assert "…" in shown or all(number in shown for number in numbers)


def test_a_table_that_does_not_fit_shows_its_first_columns_and_says_so() -> None:
    text = render([f"n{i}" for i in range(50)], [[10**6 + i for i in range(50)]], "table", terminal_width=40)
    assert text.splitlines()[2:] == [
        "1000000  1000001  1000002  1000003  …",
        "4 of 50 columns fit; the format `line` shows all.",
    ]


def test_csv_tells_null_from_empty_text_and_never_writes_a_blank_line() -> None:
    assert render(["a", "b"], [(None, "")], "csv") == 'a,b\n,""\n'
    assert render(["a"], [(None,), ("x",)], "csv") == 'a\n""\nx\n'


def test_csv_for_a_file_keeps_text_exact() -> None:
    hostile = 'a\x1b[31m\nb\u202e"q"'
    assert list(csv.reader(io.StringIO(render(["x"], [(hostile,)], "csv"), newline="")))[1] == [hostile]


def test_markdown_escapes_what_would_break_its_table() -> None:
    assert render(["a|b", "n"], [("x|y\nz\\|<b>", 1.5), (None, 2.25)], "markdown") == (
        "| a\\|b | n |\n| --- | ---: |\n| x\\|y<br>z\\\\\\|&lt;b> | 1.50 |\n| – | 2.25 |\n"
    )


def test_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match=r"No format 'xml'\. Known: table, line, json, jsonl, csv, tsv, markdown, latex\."
    ):
        render(["a"], [], "xml")


@given(st.lists(st.tuples(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)), max_size=5))
def test_json_and_csv_give_back_what_they_got(rows: list[tuple[str, int, float]]) -> None:
    names = ["t", "i", "f"]
    rows = [(text.encode("utf-8", "replace").decode(), number, value) for text, number, value in rows]
    assert [tuple(item.values()) for item in json.loads(render(names, rows, "json"))] == rows
    read = list(csv.reader(io.StringIO(render(names, rows, "csv"), newline="")))[1:]
    for (text, number, value), cells in zip(rows, read, strict=True):
        assert cells[0].removeprefix("'") == text.removeprefix("'")
        assert (int(cells[1]), float(cells[2])) == (number, value)


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60)), min_size=1, max_size=4), st.integers(30, 200))
def test_table_has_one_line_per_row_and_fits_its_terminal(rows: list[tuple[str, str]], width: int) -> None:
    lines = render(["a", "b"], rows, "table", terminal_width=width).split("\n")
    assert len(lines) == len(rows) + 3
    assert all(len(line) <= width for line in lines if line.isascii())


# --- LaTeX ------------------------------------------------------------------------------------------------------------


def test_latex_is_a_table_of_booktabs_with_numbers_to_the_right() -> None:
    assert render(["model_id", "rating", "interval"], [("a_b", -1.25, "1–2"), ("c", None, None)], "latex") == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrl}\n"
        "\\toprule\n"
        "model\\_id & rating & interval \\\\\n"
        "\\midrule\n"
        "a\\_b & $-$1.25 & 1--2 \\\\\n"
        "c & -- & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


@given(st.text())
def test_no_text_is_a_command_of_latex(text: str) -> None:
    shown = latex_text(text)
    for known in LATEX_COMMANDS:
        shown = shown.replace(known, "")
    assert not set(shown) & set('\\{}$&%#_^~<>|"`[*')
    assert "--" not in shown.replace("–", "--") or "–" in visible(text)
    assert not [character for character in shown if ord(character) < 32]


LATEX_COMMANDS = (
    r"\textbackslash{}",
    r"\textasciicircum{}",
    r"\textasciitilde{}",
    r"\textless{}",
    r"\textgreater{}",
    r"\textbar{}",
    r"\textasciigrave{}",
    r"\textquotedbl{}",
    r"\{",
    r"\}",
    r"\$",
    r"\&",
    r"\%",
    r"\#",
    r"\_",
    "{[}",
    "{*}",
    "$-$",
    "{}",
)


def test_latex_of_hostile_names_stays_in_its_cell() -> None:
    assert latex_text(r"\input{/etc/passwd} & x \\ %") == (
        r"\textbackslash{}input\{/etc/passwd\} \& x \textbackslash{}\textbackslash{} \%"
    )
    assert latex_text("[1pt] *a --- ''b''") == "{[}1pt] {*}a -{}-{}- '{}'b'{}'"


def test_a_short_name_of_a_format_is_no_second_format() -> None:
    assert "md" not in FORMATS
    assert SHORT_NAMES["md"] in FORMATS
