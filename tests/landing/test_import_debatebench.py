"""The original's JSONL: what each line becomes, what is refused, and that nothing gets lost."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from imported import ORIGINAL, add_import, bad_records, counts, landed, only, rows, units

from debatebench.shared.records import Debate, Dimension, Participant, Topic, Turn, Verdict
from debatebench.shared.workspace import Workspace

FULL, OLD, SELF_PLAY = (json.loads(line) for line in ORIGINAL.read_text(encoding="utf-8").splitlines())


def write_lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def changed(*steps: Any, to: Any = None, drop: bool = False) -> dict[str, Any]:
    """The full record with one value changed or dropped."""
    record = deepcopy(FULL)
    inner = record
    for step in steps[:-1]:
        inner = inner[step]
    if drop:
        del inner[steps[-1]]
    else:
        inner[steps[-1]] = to
    return record


def reason(tmp_path: Path, record: Any) -> str:
    """Why a file with this one record is refused."""
    (bad,) = bad_records("debatebench", write_lines(tmp_path / "debates.jsonl", record))
    assert bad.where == "debates.jsonl:1"
    return bad.reason


def test_a_debate_keeps_everything_that_its_record_states():
    debate = rows("debatebench", ORIGINAL, Debate)[0]
    assert (debate.debate_id, debate.topic_id, debate.pro_model_id, debate.con_model_id) == (
        "d-full",
        "t1",
        "oak",
        "elm",
    )
    assert debate.created_at == datetime(2026, 1, 2, 10, 5)
    assert (debate.judges_expected, debate.judges_actual, debate.panel_latency_ms) == (3, 2, 110.25)
    assert (debate.recorded_winner, debate.dimension_order) == ("tie", ("reasoning", "clarity"))
    assert debate.debate_seed == 77
    assert debate.metadata == {
        "benchmark_version": "v0.1",
        "rubric_version": "v0.2",
        "seed": 12345,
        "elo": {"initial_rating": 400.0, "k_factor": 32.0},
        "panel_complete": False,
        "operator": "night shift",
    }


def test_a_panel_that_is_short_of_a_judge_is_a_complete_debate():
    debate = rows("debatebench", ORIGINAL, Debate)[0]
    assert debate.status == "complete"
    assert debate.judges_actual is not None
    assert debate.judges_expected is not None
    assert debate.judges_actual < debate.judges_expected


def test_turns_keep_figures_exactly_and_times_as_utc():
    first, second = rows("debatebench", ORIGINAL, Turn)[:2]
    assert first.cost == Decimal("0.000123")
    assert second.cost is None
    assert second.created_at == datetime(2026, 1, 2, 10, 0, 2)
    assert (first.stage, first.side, first.model_id, first.total_tokens) == ("opening", "pro", "oak", 120)
    assert first.content == "Shade cools streets. Öffentlich, and ✓."


def test_what_a_raw_response_tells_about_a_turn_gets_columns():
    turn = rows("debatebench", ORIGINAL, Turn)[0]
    assert turn.reasoning == "Think of shade."
    assert (turn.generation_id, turn.serving_provider) == ("gen-1", "Greenhouse")
    assert (turn.finish_reason, turn.is_truncated) == ("length", True)
    assert turn.metadata["cost_details"] == {"upstream_inference_cost": 0.0001}


def test_verdicts_hold_exact_scores_and_the_winner_that_the_judge_declared():
    first, second, third = rows("debatebench", ORIGINAL, Verdict)
    assert [(s.dimension, s.pro, s.con) for s in second.scores or ()] == [
        ("clarity", Decimal(5), Decimal(6)),
        ("reasoning", Decimal("5.5"), Decimal(6)),
    ]
    assert (first.declared_winner, second.declared_winner, third.declared_winner) == ("pro", "con", None)
    assert (first.judge_id, first.panel_position, second.panel_position) == ("ash", 0, 1)
    assert first.raw_response == '{"scores": "kept as it came"}'
    assert all(verdict.is_valid for verdict in (first, second, third))


def test_old_records_without_optional_fields_are_read():
    debate = rows("debatebench", ORIGINAL, Debate)[1]
    assert (debate.debate_id, debate.judges_expected, debate.debate_seed) == ("d-old", None, None)
    assert rows("debatebench", ORIGINAL, Topic)[1].category is None


def test_self_play_has_two_participants_and_one_debater():
    participants = [p for p in rows("debatebench", ORIGINAL, Participant) if p.debate_id == "d-self"]
    assert [(p.position, p.model_id) for p in participants] == [("pro", "oak"), ("con", "oak")]


def test_dimensions_come_in_the_order_in_which_the_source_lists_them():
    assert [d.dimension for d in rows("debatebench", ORIGINAL, Dimension)[:2]] == ["reasoning", "clarity"]


def test_a_verdict_without_scores_or_a_winner_is_kept_and_not_valid(tmp_path: Path):
    record = changed("judges", 0, "pro", "scores", to={})
    record["judges"][0]["con"]["scores"] = {}
    record["judges"][0]["winner"] = None
    verdict = rows("debatebench", write_lines(tmp_path / "d.jsonl", record), Verdict)[0]
    assert (verdict.is_valid, verdict.invalid_reason, verdict.scores) == (False, "no scores", None)


def test_a_folder_is_read_file_by_file_in_order_of_the_names(tmp_path: Path):
    write_lines(tmp_path / "b.jsonl", OLD)
    write_lines(tmp_path / "a.jsonl", FULL)
    (tmp_path / "notes.txt").write_text("not JSONL")
    (tmp_path / ".hidden.jsonl").write_text("not JSONL")
    assert [unit.where for unit in units("debatebench", tmp_path)] == ["a.jsonl:1", "b.jsonl:1"]


def test_byte_order_marks_windows_line_ends_and_blank_lines_do_not_matter(tmp_path: Path):
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(FULL).encode() + b"\r\n\r\n  \n" + json.dumps(OLD).encode())
    assert [(unit.key[1], unit.where) for unit in units("debatebench", path)] == [
        ("d-full", "d.jsonl:1"),
        ("d-old", "d.jsonl:4"),
    ]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (changed("transcript", "turns", 1, "prompt_tokens", to="130"), "transcript.turns[1].prompt_tokens"),
        (changed("transcript", "turns", 0, "prompt_tokens", to=True), "transcript.turns[0].prompt_tokens"),
        (changed("transcript", "turns", 0, "prompt_tokens", to=-1), "transcript.turns[0].prompt_tokens"),
        (changed("transcript", "turns", 0, "completion_tokens", to=10**300), "a very long number"),
        (changed("transcript", "turns", 0, "cost", to="0.1"), "transcript.turns[0].cost"),
        (changed("transcript", "turns", 0, "speaker", to="aff"), "transcript.turns[0].speaker"),
        (changed("transcript", "turns", 0, "created_at", to="yesterday"), "transcript.turns[0].created_at"),
        (changed("transcript", "turns", 0, "created_at", to="9999-12-31T23:00:00-05:00"), "turns[0].created_at"),
        (changed("transcript", "turns", 0, "content", to=None), "transcript.turns[0].content"),
        (changed("transcript", "turns", 1, "index", to=0), "turns: the index 0 occurs twice"),
        (changed("transcript", "debate_id", to=" "), "transcript.debate_id"),
        (changed("transcript", "topic", drop=True), "transcript.topic: field required"),
        (changed("transcript", "topic", "id", to=7), "transcript.topic.id"),
        (changed("judges", 0, "winner", to="draw"), "judges[0].winner"),
        (changed("judges", 0, "pro", "scores", "clarity", to="7"), "judges[0].pro.scores.clarity"),
        (changed("judges", 0, "pro", "scores", "clarity", to=True), "judges[0].pro.scores.clarity"),
        (changed("judges", 0, "pro", "scores", "clarity", to=10**400), "judges[0].pro.scores.clarity"),
        (
            changed("judges", 0, "pro", "scores", "clarity", to=1_000_000.000001),
            "judges[0].pro.scores.clarity: input should be less than or equal to 1000000, found 1000000.000001",
        ),
        (
            changed("judges", 0, "con", "scores", "clarity", to=-1_000_001),
            "judges[0].con.scores.clarity: input should be greater than or equal to -1000000, found -1000001",
        ),
        (changed("transcript", "turns", 0, "cost", to=10**400), "transcript.turns[0].cost"),
        (changed("judges", 0, "pro", "scores", "clarity", to=None), "judges[0].pro.scores.clarity"),
        (changed("judges", 0, "pro", "scores", "clarity", to=7.12345678), "not exact to six decimals"),
        (
            changed("judges", 1, "con", "scores", "clarity", drop=True),
            "judges[1]: only one side has a score of 'clarity'",
        ),
        (changed("judges", 1, "judge_id", to="ash"), "judges: the judge_id 'ash' occurs twice"),
        (changed("judges", to={}), "judges: input should be a valid list, found an object"),
        (changed("aggregate", "winner", to="oak"), "aggregate.winner"),
        (changed("created_at", to=1767348300), "created_at: a time must be ISO 8601 text"),
        (changed("debate_seed", to=1.5), "debate_seed"),
        ([FULL], "The record: input should be"),
        ("text", "The record: input should be"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_key_path(tmp_path: Path, record: Any, expected: str):
    assert expected in reason(tmp_path, record)


def test_the_other_lines_are_still_read_behind_a_bad_one(tmp_path: Path):
    path = write_lines(tmp_path / "d.jsonl", FULL, {"transcript": 1}, OLD, [])
    assert [bad.where for bad in bad_records("debatebench", path)] == ["d.jsonl:2", "d.jsonl:4"]


def test_a_torn_last_line_is_bad(tmp_path: Path):
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(OLD) + "\n" + json.dumps(FULL)[:-40], encoding="utf-8")
    (bad,) = bad_records("debatebench", path)
    assert bad.where == "d.jsonl:2"
    assert "it is torn" in bad.reason


def test_golden_debates_land_completely(shared: Path, tmp_path: Path):
    workspace = Workspace(tmp_path)
    source = shared / "debatebench-v0" / "golden" / "debates.jsonl"
    report = add_import(workspace, "golden", "debatebench", source)
    assert report.added == {"debate": 300}
    with landed(workspace, "golden") as con:
        assert counts(con) == {
            "debaters": 12,
            "debates": 300,
            "dimensions": 5,
            "judges": 8,
            "participants": 600,
            "run_settings": 269,
            "runs": 1,
            "topics": 60,
            "turns": 1800,
            "verdicts": 900,
        }
        assert con.execute("select benchmark_version, rubric_version, seed from raw.runs").fetchall() == [
            ("v0.1", "v0.1", 12345)
        ]
        records = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
        assert con.execute(
            "select debate_id, source_position, recorded_winner, dimension_order from raw.debates "
            "order by source_position"
        ).fetchall() == [
            (r["transcript"]["debate_id"], i, r["aggregate"]["winner"], list(r["aggregate"]["mean_pro"]))
            for i, r in enumerate(records)
        ]
        landed_costs = con.execute(
            "select cost from raw.turns join raw.debates using (debate_id) order by source_position, turn_index"
        ).fetchall()
        stated = [turn["cost"] for r in records for turn in r["transcript"]["turns"]]
        assert [cost for (cost,) in landed_costs] == [None if c is None else Decimal(repr(c)) for c in stated]
        assert only(con, "select sum(length(content)) from raw.turns") == sum(
            len(turn["content"]) for r in records for turn in r["transcript"]["turns"]
        )
        assert only(con, "select sum(s.pro) from (select unnest(scores) as s from raw.verdicts)") == sum(
            sum(judge["pro"]["scores"].values()) for r in records for judge in r["judges"]
        )


def test_the_hand_written_debates_land_with_positions_and_a_category_from_a_later_record(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "old", "debatebench", ORIGINAL)
    with landed(workspace, "old") as con:
        assert counts(con)["verdicts"] == 3
        assert con.execute("select topic_id, source_position, category from raw.topics order by all").fetchall() == [
            ("t1", 0, "cities"),
            ("t2", 1, "heritage"),
        ]
        assert con.execute("from raw.dimensions select dimension, source_position order by all").fetchall() == [
            ("clarity", 1),
            ("reasoning", 0),
        ]
        assert only(con, "select created_at from raw.runs") == datetime(2026, 1, 1, 9, 5)
        assert (
            only(
                con, "select metadata->>'$.raw_response.id' from raw.turns where debate_id = 'd-full' and side = 'pro'"
            )
            == "gen-1"
        )
