"""Plots for papers and READMEs: one for each summary and more, drawn by the installed browser, steady and harmless."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import debatebench_here
from report_warehouse import HOSTILE, make_warehouse, tournament
from site_pages import find_chromium, report_files

from debatebench.output.report.pictures import PICTURE_FORMATS, draw_pictures, find_browser
from debatebench.output.report.plots import PLOTLY, Plot, light_theme, load_plots, plots_of_run, write_plots
from debatebench.output.summaries import SUMMARIES
from debatebench.query.safe_query import open_for_query
from debatebench.shared.errors import ConfigError, DebatebenchError, UsageError

SCRIPT = report_files()[PLOTLY]
SVG = "{http://www.w3.org/2000/svg}"
MORE = {"dimension_gap_correlations", "dimension_volatility", "persuasiveness_and_factuality", "leaderboard"}
EVIL = (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>click</a>", "2024")


@pytest.fixture(scope="module")
def chromium() -> str:
    found = find_chromium()
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium is installed, so no plot is drawn")
    return found


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `tiny` (simulated), `evil` (hostile text everywhere), `silent` (nothing but a header)."""
    evil = tournament("evil", EVIL, motion=HOSTILE, judges=("judge-a", f"judge {HOSTILE}"))
    silent = (record for record in tournament("silent", ("a", "b")) if type(record).__name__ == "Run")
    return make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("tiny", tournament("tiny", ("alpha", "beta", "gamma"), is_simulated=True)),
        ("evil", evil),
        ("silent", silent),
    )


def plots(database: Path, run_tag: str, *names: str) -> list[Plot]:
    files = report_files()
    with closing(open_for_query(database)) as con:
        return plots_of_run(con, load_plots(files, names), light_theme(files), run_tag)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


# --- what is drawn ------------------------------------------------------------------------------------------------


def test_every_summary_has_a_plot_and_so_have_the_statistics_of_papers():
    found = load_plots(report_files())
    assert set(found) == set(SUMMARIES) | MORE
    assert all(f"original.{name}" in found[name].query for name in SUMMARIES)
    assert all(len(section.empty) > 20 and section.empty.endswith(".") for section in found.values())


def test_a_plot_has_all_its_colours_and_says_what_it_is(database: Path):
    drawn = [plot for plot in plots(database, "tiny") if plot.spec is not None]
    assert len(drawn) >= 13
    for plot in drawn:
        found = list(texts(plot.spec))
        assert not [text for text in found if "var(" in text], plot.name
        title = plot.spec["layout"]["title"]["text"]
        assert "Run tiny. What judges prefer, not what is true." in title
        assert "it says nothing about real models" in title


def test_a_picture_of_several_series_has_a_legend(database: Path):
    found = {plot.name: plot.spec for plot in plots(database, "tiny") if plot.spec is not None}
    with_legend = {name for name, spec in found.items() if spec["layout"]["showlegend"]}
    assert with_legend == {
        "cost_usage",
        "judge_side_preference",
        "model_winrate_by_side",
        "token_usage",
        "topic_winrate",
        "turn_timings",
    }


def test_a_run_of_real_models_is_not_called_simulated(database: Path):
    (plot,) = plots(database, "evil", "leaderboard")
    assert plot.spec is not None
    assert "Simulated" not in plot.spec["layout"]["title"]["text"]


def test_the_numbers_of_a_plot_are_those_of_the_warehouse(database: Path):
    (plot,) = plots(database, "tiny", "leaderboard")
    assert plot.spec is not None
    with closing(open_for_query(database)) as con:
        rows = con.execute(
            "select rating, ci_low from marts.leaderboard where run_tag = 'tiny' and is_displayed order by rank"
        ).fetchall()
    (trace,) = plot.spec["data"]
    assert trace["x"] == [rating for rating, _ in rows]
    assert trace["error_x"]["arrayminus"] == [rating - low for rating, low in rows]


def test_correlations_of_gaps_are_symmetric_and_one_with_themselves(database: Path):
    (plot,) = plots(database, "tiny", "dimension_gap_correlations")
    assert plot.spec is not None
    (trace,) = plot.spec["data"]
    shades = trace["z"]
    assert len(shades) == 2
    assert all(shades[n][n] == pytest.approx(1) for n in range(2))
    assert shades[0][1] == shades[1][0]


def test_what_is_cut_is_said(database: Path, tmp_path: Path):
    mine = tmp_path / "short.yml"
    mine.write_text(
        "title: Short\nshow: bars\nlimit: 1\nquery: select model_id, games from marts.leaderboard\n"
        "roles: {label: model_id, values: games}\n"
    )
    files = report_files()
    with closing(open_for_query(database)) as con:
        sections = load_plots({**files, "plots/short.yml": mine}, ["short"])
        (plot,) = plots_of_run(con, sections, light_theme(files), "tiny")
    assert plot.spec is not None
    assert "Only the first 1 are shown." in plot.spec["layout"]["title"]["text"]


def test_a_run_without_data_has_sentences_instead_of_pictures(database: Path, tmp_path: Path):
    found = plots(database, "silent")
    assert [plot.spec for plot in found] == [None] * len(found)
    stale = tmp_path / "winner_counts.svg"
    stale.write_text("of another run")
    assert write_plots(tmp_path, found, PICTURE_FORMATS, SCRIPT) == [], "no browser is needed"
    assert not stale.exists()
    assert {path.name for path in tmp_path.iterdir()} == {f"{plot.name}.sql" for plot in found}


# --- definitions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("t", "title: T\nquery: select 1 as a\n", "show: .*one of bars, heatmap"),
        (
            "p",
            "title: T\nshow: bars\nquery: select 1\nroles: {label: a, values: b, panel: c}\n",
            "found 'c'.*one picture",
        ),
        ("Big", "title: T\nshow: bars\nquery: select 1\nroles: {label: a, values: b}\n", "found the name 'Big'"),
    ],
)
def test_a_file_that_is_no_plot_is_refused(tmp_path: Path, name: str, text: str, error: str):
    (tmp_path / f"{name}.yml").write_text(text)
    with pytest.raises(ConfigError, match=error):
        load_plots({**report_files(), f"plots/{name}.yml": tmp_path / f"{name}.yml"})


def test_an_unknown_plot_is_named_with_the_known_ones():
    with pytest.raises(UsageError, match=r"No plot 'leaderbord'.*leaderboard"):
        load_plots(report_files(), ["leaderbord"])


def test_a_style_sheet_without_a_colour_is_named(database: Path, tmp_path: Path):
    (tmp_path / "site.css").write_text(":root { --ink: #000; }")
    files = {**report_files(), "assets/site.css": tmp_path / "site.css"}
    with closing(open_for_query(database)) as con, pytest.raises(ConfigError, match=r"assets/site\.css has no --"):
        plots_of_run(con, load_plots(files), light_theme(files), "tiny")


# --- the browser --------------------------------------------------------------------------------------------------


def test_without_a_browser_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DebatebenchError, match=r"none is on the PATH; install one .*chromium"):
        find_browser()
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "nothing"))
    with pytest.raises(DebatebenchError, match=r"BROWSER_PATH names .*nothing, which is not a program"):
        find_browser()


@pytest.mark.slow
def test_a_browser_that_does_not_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch, database: Path, tmp_path: Path):
    monkeypatch.setenv("BROWSER_PATH", shutil.which("false") or "")
    with pytest.raises(DebatebenchError, match=r"The browser .*false failed at its start: .*\.$"):
        write_plots(tmp_path / "out", plots(database, "tiny", "leaderboard"), ["svg"], SCRIPT)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_equal_warehouses_give_equal_pictures(chromium: str, database: Path, tmp_path: Path):
    found = plots(database, "tiny", "leaderboard", "judge_agreement")
    for folder in ("one", "two"):
        assert len(write_plots(tmp_path / folder, found, PICTURE_FORMATS, SCRIPT)) == 6
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name
    svg, pdf, png = ((tmp_path / "one" / f"leaderboard.{each}").read_bytes() for each in PICTURE_FORMATS)
    assert ElementTree.fromstring(svg).get("width") == "700"
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert b"/CreationDate (D:20260101120000+00'00')" in pdf
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 1400


@pytest.mark.slow
def test_hostile_names_are_text_in_pictures(chromium: str, database: Path, tmp_path: Path):
    drawn = [plot for plot in plots(database, "evil") if plot.spec is not None]
    assert len(drawn) >= 13
    shown = ""
    for path in write_plots(tmp_path, drawn, ["svg"], SCRIPT):
        tree = ElementTree.parse(path)
        tags = {element.tag.removeprefix(SVG) for element in tree.iter()}
        assert not tags & {"script", "a", "foreignObject", "style", "iframe"}, path
        for element in tree.iter():
            assert not [name for name in element.attrib if name.startswith("on")], path
            links = [value for name, value in element.attrib.items() if name.endswith("href")]
            # The cells of a heat map.
            assert all(link.startswith("data:image/png;base64,") for link in links), path
        shown += "".join(text for element in tree.iter(f"{SVG}text") for text in element.itertext())
    assert "</script><script>docu" in shown
    assert "<a href='javascript:alert(1)'>cli" in shown


@pytest.mark.slow
def test_the_browser_asks_nobody_else(chromium: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    wrapper = tmp_path / "browser"
    wrapper.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nexec {chromium} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(wrapper))
    spec = {"data": [{"type": "bar", "x": [1], "y": [2]}], "layout": {"width": 300, "height": 200}}
    drawn = draw_pictures({"bar": spec}, ["svg"], SCRIPT, datetime(2026, 1, 1))
    assert re.search(r"<svg .*class=.bars", drawn["bar", "svg"].decode(), re.S) or b"barlayer" in drawn["bar", "svg"]
    assert "--proxy-server=127.0.0.1:9" in (tmp_path / "arguments").read_text()


# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_sql_beside_a_picture_gives_its_rows(chromium: str, played: Path, tmp_path: Path):
    out = tmp_path / "out"
    done = debatebench_here(
        played, "plot", "--run-tag", "t", "--out-dir", str(out), "--select", "winner_counts", "--format", "svg"
    )
    assert (done.code, done.out) == (0, f"{out / 'winner_counts.svg'}\n"), done.err
    assert {path.name for path in out.iterdir()} == {"winner_counts.svg", "winner_counts.sql"}
    text = (out / "winner_counts.sql").read_text()
    assert "-- debatebench query --file winner_counts.sql --param run_tag=t\n" in text
    asked = debatebench_here(
        played, "query", "--file", str(out / "winner_counts.sql"), "--param", "run_tag=t", "--format", "csv"
    )
    assert asked.out.splitlines()[0] == "winner,count"
    empty = debatebench_here(played, "plot", "--out-dir", str(out), "--select", "persuasiveness_and_factuality")
    assert empty.code == 0
    assert empty.out == ""
    assert "Run 't' has no plot 'persuasiveness_and_factuality': The judges of this run do not score" in empty.err


@pytest.mark.slow
def test_a_folder_of_other_files_gets_no_plots(chromium: str, played: Path, tmp_path: Path):
    (tmp_path / "thesis.tex").touch()
    done = debatebench_here(played, "plot", "--out-dir", str(tmp_path), "--format", "svg")
    assert done.code == 2
    assert "contains files of other origin" in done.error_line
