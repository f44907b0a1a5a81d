"""JSONL in the original's schema: what was imported goes out as it came, and what was played comes back whole."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from exported import NOON, land_runs, make_workspace, played_records
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported import ORIGINAL, add_import, records_of
from judged_runs import judged_run

from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import Imported
from debatebench.output.export import export
from debatebench.output.export.original_record import original_record
from debatebench.output.summaries import write_summaries
from debatebench.shared.errors import UsageError
from debatebench.shared.records import TABLES, Debate, Turn, Verdict
from debatebench.shared.visible_text import plain_name
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Runs of every kind. Tests only read it."""
    return make_workspace(tmp_path_factory.mktemp("workspace"))


def exported(workspace: Workspace, out: Path, run_tag: str) -> list[dict[str, Any]]:
    export(workspace, "jsonl", out, run_tags=[run_tag])
    return [json.loads(line) for line in (out / f"debates_{run_tag}.jsonl").read_text(encoding="utf-8").splitlines()]


def imported_again(tmp_path: Path, file: Path, run_tag: str) -> Workspace:
    """Another workspace with the exported file as its only import."""
    other = Workspace(tmp_path / "other")
    add_import(other, run_tag, "debatebench", file)
    update_warehouse(other, None, now=lambda: NOON, build=False)
    return other


@contextmanager
def both(ours: Path, theirs: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(f"attach '{ours}' as ours (read_only); attach '{theirs}' as theirs (read_only)")
        yield con


def differences(con: duckdb.DuckDBPyConnection, table: str, run_tag: str, columns: str = "*") -> list[Any]:
    sides = [f"select {columns} from {side}.raw.{table} where run_tag = '{run_tag}'" for side in ("ours", "theirs")]
    return [row for left, right in (sides, sides[::-1]) for row in con.execute(f"{left} except all {right}").fetchall()]


# --- what was imported ----------------------------------------------------------------------------------------------


def test_an_import_comes_back_as_equal_rows(workspace: Workspace, tmp_path: Path):
    exported(workspace, tmp_path / "out", "original")
    other = imported_again(tmp_path, tmp_path / "out" / "debates_original.jsonl", "original")
    with both(workspace.database, other.database) as con:
        assert {table: differences(con, table, "original") for table in TABLES} == {table: [] for table in TABLES}
        assert con.execute("select count(*) from theirs.raw.debates").fetchall() == [(3,)]


def missing_from(record: Any, source: Any, path: str = "") -> list[str]:
    """Paths of what `source` says and `record` does not. Times are moments; an object of nulls says nothing."""
    if source is None and isinstance(record, dict):
        return [f"{path}.{key}" for key, value in record.items() if value is not None]
    if isinstance(source, dict):
        return [
            found
            for key, value in source.items()
            for found in missing_from(record.get(key) if isinstance(record, dict) else None, value, f"{path}.{key}")
        ]
    if isinstance(source, list):
        pairs = zip(record, source, strict=True)
        return [found for n, pair in enumerate(pairs) for found in missing_from(*pair, f"{path}[{n}]")]
    if path.endswith("created_at"):
        return [] if datetime.fromisoformat(record) == datetime.fromisoformat(source) else [path]
    return [] if record == source else [path]


def test_an_imported_record_goes_out_as_it_came(workspace: Workspace, tmp_path: Path):
    sources = [json.loads(line) for line in ORIGINAL.read_text(encoding="utf-8").splitlines()]
    records = exported(workspace, tmp_path / "out", "original")
    assert [missing_from(record, source) for record, source in zip(records, sources, strict=True)] == [[], [], []]
    assert list(records[0]["aggregate"]["mean_pro"]) == list(sources[0]["aggregate"]["mean_pro"])
    changed = json.loads(json.dumps(sources[0]).replace("night shift", "day shift").replace("18:", "19:"))
    assert missing_from(records[0], changed) == [".operator"]


def test_the_golden_run_goes_out_field_by_field(shared: Path, tmp_path: Path):
    golden = shared / "debatebench-v0" / "golden" / "debates.jsonl"
    workspace = make_workspace(tmp_path / "ws", imports={"golden": ("debatebench", golden)})
    records = exported(workspace, tmp_path / "out", "golden")
    lines = golden.read_text(encoding="utf-8").splitlines()
    written = (tmp_path / "out" / "debates_golden.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(written) == len(lines) == 300
    # The only thing that the tables do not hold: details of a cost that are all null.
    unsaid = '"cost_details":{"upstream_inference_cost":null}'
    assert sum(line.count(unsaid) for line in lines) == 2541
    assert written == [line.replace(unsaid, '"cost_details":null') for line in lines]
    # The order of the dimensions changes half-way in the file.
    orders = {tuple(record["aggregate"]["mean_con"]) for record in records}
    assert len(orders) == 2
    other = imported_again(tmp_path, tmp_path / "out" / "debates_golden.jsonl", "golden")
    with both(workspace.database, other.database) as con:
        assert {table: differences(con, table, "golden") for table in TABLES} == {table: [] for table in TABLES}


# --- what was played ------------------------------------------------------------------------------------------------


def test_a_played_debate_has_the_originals_shape(workspace: Workspace, tmp_path: Path):
    first, second = exported(workspace, tmp_path / "out", "played")
    source = json.loads(ORIGINAL.read_text(encoding="utf-8").splitlines()[0])
    del source["operator"]
    assert list(first) == list(source)
    assert list(first["transcript"]) == list(source["transcript"])
    assert first["transcript"]["topic"] == {"id": "t1", "motion": "Öffentlich?", "category": None}
    assert first["created_at"] == "2026-01-01T12:00:00.000001Z"
    assert first["elo"] == {"initial_rating": 1000.0, "k_factor": 16.0}
    assert (first["transcript"]["benchmark_version"], first["transcript"]["seed"]) == ("v9", 7)
    assert (first["judges_expected"], first["judges_actual"], first["panel_complete"]) == (2, 2, True)
    assert first["transcript"]["turns"][1]["metadata"] == {"raw_response": None, "reasoning": "Hm.", "attempt": 2}
    assert first["transcript"]["turns"][0]["cost"] == 1.2345e-06
    assert first["judges"][0]["pro"] == {"scores": {"logic": 7.5, "clarity": 7}}
    # The replaced judge's answer has no scores, and so no place in the record.
    assert [judge["judge_id"] for judge in second["judges"]] == ["ash", "yew"]


def test_winners_that_nobody_stated_are_those_of_the_marts(workspace: Workspace, tmp_path: Path):
    records = exported(workspace, tmp_path / "out", "played")
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        panels = dict(
            con.execute("select debate_id, winner from marts.panel_winners where run_tag = 'played'").fetchall()
        )
        judges = {
            (debate_id, judge_id): winner
            for debate_id, judge_id, winner in con.execute(
                "select debate_id, judge_id, winner from marts.judge_verdicts where run_tag = 'played'"
            ).fetchall()
        }
        means = con.execute(
            "select debate_id, dimension, pro_mean_score, con_mean_score from marts.debate_dimension_means "
            "where run_tag = 'played'"
        ).fetchall()
    for record in records:
        debate_id = record["transcript"]["debate_id"]
        assert record["aggregate"]["winner"] == panels[debate_id]
        assert list(record["aggregate"]["mean_pro"]) == ["logic", "clarity"]
        assert [(judge["judge_id"], judge["winner"]) for judge in record["judges"]] == [
            (judge["judge_id"], "pro" if judge["judge_id"] == "ash" else judges[debate_id, judge["judge_id"]])
            for judge in record["judges"]
        ]
    written = {
        (record["transcript"]["debate_id"], dimension, mean, record["aggregate"]["mean_con"][dimension])
        for record in records
        for dimension, mean in record["aggregate"]["mean_pro"].items()
    }
    assert written == {row for row in means if row[0] in {"d0", "d1"}}


def test_a_played_run_comes_back_but_for_what_the_schema_cannot_say(workspace: Workspace, tmp_path: Path):
    exported(workspace, tmp_path / "out", "played")
    other = imported_again(tmp_path, tmp_path / "out" / "debates_played.jsonl", "played")
    complete = {
        "debates": "debate_id, topic_id, format, pro_model_id, con_model_id, debate_seed, created_at, judges_expected, "
        "judges_actual, panel_latency_ms",
        "turns": "run_tag, debate_id, turn_index, position, side, model_id, stage, content, reasoning, created_at, "
        "duration_ms, prompt_tokens, completion_tokens, total_tokens, cost, currency, metadata",
        "verdicts": "debate_id, judge_id, panel_position, is_valid, scores, raw_response, latency_ms, cost, currency",
        "participants": "*",
    }
    with both(workspace.database, other.database) as con:
        con.execute("create view kept as select debate_id from theirs.raw.debates")
        for table, columns in complete.items():
            missing = differences(con, table, "played", columns)
            left = "debate_id in (from kept)" + (" and is_valid" if table == "verdicts" else "")
            rows = [
                f"select {columns} from {side}.raw.{table} where run_tag = 'played' and {left}"
                for side in ("ours", "theirs")
            ]
            assert missing, table  # the debates that are left out
            for one, another in (rows, rows[::-1]):
                assert con.execute(f"{one} except all {another}").fetchall() == [], table


def test_what_has_another_shape_is_counted_and_named(workspace: Workspace, tmp_path: Path):
    done = export(workspace, "jsonl", tmp_path / "out")
    told = {(part.run_tag, part.what, part.why): (part.count, part.names) for part in done.manifest.left_out}
    assert told["played", "debates", "they are incomplete"] == (1, ("d2",))
    assert told["played", "debates", "they are void"] == (1, ("d3",))
    assert told["played", "verdicts", "they are not valid"] == (1, ())
    assert {key[1:] for key in told if key[0] == "flow"} == {("debates", "no judge gave a valid verdict")}
    assert ("bp", "debates", "they have more than two sides") in told
    assert {file.path: file.rows for file in done.manifest.files} == {
        "debates_original.jsonl": 3,
        "debates_played.jsonl": 2,
    }


def test_runs_without_any_such_debate_are_refused(workspace: Workspace, tmp_path: Path):
    with pytest.raises(UsageError, match="No debate of bp, flow fits"):
        export(workspace, "jsonl", tmp_path / "out", run_tags=["flow", "bp"])
    assert not (tmp_path / "out").exists()


# --- any record -----------------------------------------------------------------------------------------------------

# An import refuses names that look blank, and two judges or dimensions with names that look the same.
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(plain_name)
LEAVES = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5) | st.just({}) | st.just([None])
# Names that mean something somewhere, so that they come up in the wrong place too.
KEYS = st.sampled_from(
    ["elo", "topic", "seed", "cost_details", "reasoning", "raw_response", "panel_complete", "created_at", "turns", "x",
     "benchmark_version", "stated_judges_actual", "judges", "id", "motion", "debate_id", "metadata", "scores"]
)  # fmt: skip
VALUES = LEAVES | st.dictionaries(KEYS | NAMES, LEAVES, max_size=3)
EXTRAS = st.dictionaries(KEYS, VALUES, max_size=4)
AMOUNTS = st.none() | st.decimals(0, 10**6, places=10, allow_nan=False).map(float)
SCORES = st.decimals(-(10**6), 10**6, places=6).map(float)
TIMES = st.none() | st.datetimes(NOON.replace(year=1990), NOON.replace(year=2090)).map(lambda time: time.isoformat())
USAGE = {
    "prompt_tokens": st.none() | st.integers(0, 10**9),
    "completion_tokens": st.none() | st.integers(0, 10**9),
    "total_tokens": st.none() | st.integers(0, 10**9),
    "cost": AMOUNTS,
    "currency": st.none() | st.sampled_from(["USD", "EUR"]),
    "cost_details": st.none() | st.dictionaries(KEYS, VALUES, max_size=2),
    "metadata": st.none() | EXTRAS,
}


def with_extras(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these fields, any of the optional ones left out, and fields that the schema does not know."""
    return st.builds(lambda extras, own: {**extras, **own}, EXTRAS, st.fixed_dictionaries(fields))


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    dimensions = draw(st.lists(NAMES, unique_by=plain_name, max_size=3))
    judges = [
        draw(
            with_extras(
                {
                    "judge_id": st.just(judge_id),
                    "pro": st.just({"scores": {d: draw(SCORES) for d in dimensions}}),
                    "con": st.just({"scores": {d: draw(SCORES) for d in dimensions}}),
                    "winner": st.sampled_from(["pro", "con", "tie", None]),
                    "raw_response": st.none() | st.text(max_size=5),
                    "latency_ms": AMOUNTS,
                    **USAGE,
                }
            )
        )
        for judge_id in draw(st.lists(NAMES, unique_by=plain_name, min_size=1, max_size=3))
    ]
    turns = [
        draw(
            with_extras(
                {
                    "index": st.just(index),
                    "speaker": st.sampled_from(["pro", "con"]),
                    "stage": st.none() | NAMES,
                    "content": st.text(max_size=5),
                    "created_at": TIMES,
                    "duration_ms": AMOUNTS,
                    **USAGE,
                }
            )
        )
        for index in range(draw(st.integers(0, 2)))
    ]
    transcript = with_extras(
        {
            "debate_id": NAMES,
            "benchmark_version": st.none() | NAMES,
            "rubric_version": st.none() | NAMES,
            "topic": with_extras({"id": NAMES, "motion": NAMES, "category": st.none() | NAMES}),
            "pro_model_id": NAMES,
            "con_model_id": NAMES,
            "turns": st.just(turns),
            "seed": st.none() | st.integers(-(2**62), 2**62),
        }
    )
    means = dict.fromkeys(draw(st.permutations(dimensions)), 1.0)
    aggregate = {"winner": draw(st.sampled_from(["pro", "con", "tie", None])), "mean_pro": means, "mean_con": means}
    return draw(
        with_extras(
            {
                "transcript": transcript,
                "judges": st.just(judges),
                "aggregate": st.just(aggregate) | st.none(),
                "created_at": TIMES,
                "judges_expected": st.none() | st.integers(0, 9),
                "judges_actual": st.none() | st.integers(0, 9),
                "panel_complete": st.none() | st.booleans(),
                "panel_latency_ms": AMOUNTS,
                "debate_seed": st.none() | st.integers(0, 2**31),
                "elo": st.none()
                | st.fixed_dictionaries(
                    {"initial_rating": st.none() | SCORES, "k_factor": st.none() | SCORES, "x": VALUES}
                ),
            }
        )
    )


def read_record(record: dict[str, Any]) -> Imported:
    """The record as the importer reads it from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "debates.jsonl")
        file.write_text(json.dumps(record) + "\n", encoding="utf-8")
        (unit,) = importer_of("debatebench").read(file, "t", "rows")
    assert isinstance(unit, Imported), unit
    return unit


def as_rows(unit: Imported) -> tuple[dict[str, Any], ...]:
    """What the export's queries give for an imported debate: rows of the tables, with JSON as text."""

    def row(record: Any) -> dict[str, Any]:
        values = record.model_dump()
        values["metadata"] = None if record.metadata is None else json.dumps(record.metadata)
        return values

    kinds = {kind: [row(r) for r in records_of(unit) if isinstance(r, kind)] for kind in (Debate, Turn, Verdict)}
    topic = next(record for record in records_of(unit) if record.table == "topics")
    (debate,) = kinds[Debate]
    debate |= {"motion": topic.motion, "category": topic.category, "winner": "tie"}  # type: ignore[attr-defined]
    scored = {score["dimension"] for verdict in kinds[Verdict] for score in verdict["scores"] or ()}
    means = [
        {"dimension": d, "pro_mean_score": 1.0, "con_mean_score": 1.0}
        for d in debate["dimension_order"] or ()
        if d in scored
    ]
    return debate, kinds[Turn], kinds[Verdict], means  # type: ignore[return-value]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_any_record_that_can_be_imported_comes_back_as_the_same_rows(source: dict[str, Any]):
    unit = read_record(source)
    debate, turns, verdicts, means = as_rows(unit)
    run = {"format": "debatebench"}
    again = original_record(run, debate, turns, verdicts, means)  # type: ignore[arg-type]
    assert records_of(read_record(again)) == records_of(unit)


# --- debates that are judged again ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """`played`, `again`, which judges its debates twice, and `orphan`, whose source is not there."""
    workspace = make_workspace(tmp_path_factory.mktemp("judged"), {})
    played = list(played_records("played"))
    gone = [record.model_copy(update={"run_tag": "gone"}) for record in played]
    land_runs(workspace, {"again": judged_run("again", played, trials=2), "orphan": judged_run("orphan", gone)})
    return workspace


def test_a_debate_that_is_judged_again_has_the_speeches_without_what_they_cost(judged: Workspace, tmp_path: Path):
    result = export(judged, "jsonl", tmp_path / "out", run_tags=["again"])
    (file,) = tmp_path.glob("out/*.jsonl")
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [record["transcript"]["debate_id"] for record in records] == [
        f"j{trial}-d{n}" for trial in (1, 2) for n in range(4)
    ]
    for record in records:
        turns = record["transcript"]["turns"]
        assert [turn["content"][:8] for turn in turns] == ["Speech 0", "Speech 1"]
        assert {turn[name] for turn in turns for name in ("cost", "total_tokens", "duration_ms")} == {None}
        assert [verdict["judge_id"] for verdict in record["judges"]] == ["judge-x"]
    left_out = [(part.what, part.why, part.count) for part in result.manifest.left_out]
    assert left_out == [("verdicts", "they are those of baselines", 8)]
    other = imported_again(tmp_path, file, "again")
    with duckdb.connect(str(other.database), read_only=True) as con:
        assert con.execute("select count(*), count(cost) from raw.turns").fetchall() == [(16, 0)]


def test_a_debate_whose_speeches_are_not_in_the_warehouse_is_left_out(judged: Workspace, tmp_path: Path):
    result = export(judged, "jsonl", tmp_path / "out", run_tags=["again", "orphan"])
    (part,) = [part for part in result.manifest.left_out if part.run_tag == "orphan"]
    assert (part.what, part.count) == ("debates", 4)
    assert part.why == "their speeches are those of run gone, which is not in the warehouse"


@pytest.mark.parametrize("format_name", ["duckdb", "dbt"])
def test_a_warehouse_of_a_judged_run_has_its_source(judged: Workspace, tmp_path: Path, format_name: str):
    result = export(judged, format_name, tmp_path / "out", run_tags=["again"])
    assert result.manifest.run_tags == ("again", "played")
    with duckdb.connect(str(tmp_path / "out" / "debatebench.duckdb"), read_only=True) as con:
        assert con.execute("select run_tag, count(*) from raw.turns group by all").fetchall() == [("played", 8)]
    if format_name == "duckdb":
        with duckdb.connect(str(tmp_path / "out" / "debatebench.duckdb"), read_only=True) as con:
            lengths = "select count(distinct debate_id) from intermediate.int_debate_turns where run_tag = 'again'"
            assert con.execute(lengths).fetchall() == [(8,)]


def test_parquet_and_summaries_of_a_judged_run_are_written(judged: Workspace, tmp_path: Path):
    result = export(judged, "parquet", tmp_path / "out", run_tags=["again"])
    rows = {file.path: file.rows for file in result.manifest.files}
    assert rows["marts/debates/run_tag=again/data.parquet"] == 8
    assert rows["marts/judge_notes/run_tag=again/data.parquet"] > 8
    with duckdb.connect(str(judged.database), read_only=True) as con:
        paths = write_summaries(con, "again", tmp_path / "csv")
    counts = next(path for path in paths if path.stem == "winner_counts").read_text().split()
    assert counts == ["winner,count", "pro,3", "con,5", "tie,0"]
