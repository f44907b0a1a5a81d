"""The settings of a run: derived from what has landed of it, whatever it came from and whichever version landed it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import debatebench
from imported import land_records
from paths import DATA
from two_runs import two_runs

from debatebench.landing.land import create_raw_tables
from debatebench.shared.records import Call, Debater, Dimension, Judge, Record, Run, ScheduledDebate, Topic, Verdict

__all__ = ["two_runs"]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        create_raw_tables(opened)
        yield opened


def settings(con: duckdb.DuckDBPyConnection, *records: Record, source: Any = "run", **run: Any) -> dict[str, Any]:
    """`item: part` → value, of a run with these records."""
    land_records(con, "r", [Run(run_tag="r", source=source, format="f", **run), *records])
    rows = con.execute("select item || ': ' || part, value from raw.run_settings where run_tag = 'r'").fetchall()
    return dict(rows)


def test_a_member_has_its_model_parameters_temperature_cap_and_prices(con: duckdb.DuckDBPyConnection):
    found = settings(
        con,
        Debater(
            run_tag="r",
            model_id="d",
            provider="p",
            model_name="m",
            parameters={"top_p": 0.5, "stop": ["é", "\n"], "seed": None, "temperature": None},
            pricing={"prompt": "1.5E-7", "completion": "0.0000000000005"},
        ),
        Debater(run_tag="r", model_id="plain", provider="p", parameters={}, pricing={"prompt": "0"}, token_limit=9),
        Debater(run_tag="r", model_id="thinker", provider="p", token_limit=9, thinking_tokens=50),
        Judge(run_tag="r", judge_id="j", prompt_style="strict", parameters={"seed": None}),
        config={"temperature": 0.7},
        prompt_hashes={"judge_strict": "0123456789abcdef"},
    )
    assert {name: value for name, value in found.items() if name.startswith(("debater", "judge", "prices"))} == {
        "debaters: d": "takes part",
        "debater_models: d": "p m",
        "debater_models: d parameters": 'stop: ["é","\\n"], top_p: 0.5',
        "debater_temperatures: d": "none",
        "debater_token_caps: d": "none",
        "prices: debater d": "0.150000 and 0.000001",
        "debaters: plain": "takes part",
        "debater_models: plain": None,
        "debater_models: plain parameters": "",
        "debater_temperatures: plain": "0.7",
        "debater_token_caps: plain": "9",
        "prices: debater plain": "0.000000 and unknown",
        "debaters: thinker": "takes part",
        "debater_models: thinker": None,
        "debater_models: thinker parameters": None,
        "debater_temperatures: thinker": "0.7",
        "debater_token_caps: thinker": "9 and 50 for thinking",
        "prices: debater thinker": "unknown and unknown",
        "judges: j": "takes part",
        "judge_models: j": None,
        "judge_models: j parameters": None,
        "judge_temperatures: j": "0",
        "judge_token_caps: j": "none",
        "prices: judge j": "unknown and unknown",
        "judge_methods: j": "direct",
        "judge_prompts: j": "strict 0123456789ab",
        "judge_prompts: rubric and transcript": None,
        "debater_prompts: pro": None,
        "debater_prompts: con": None,
        "debater_prompts: turn": None,
        "judge_overlap: debaters may judge": "false",
    }


def test_replaced_parameters_and_fields_that_a_model_refused_are_part_of_its_settings(con: duckdb.DuckDBPyConnection):
    names = {"run_tag": "r", "provider": "p", "model_name": "m"}
    call = {**names, "attempt": 1, "debate_id": "x", "step": "turn:0", "purpose": "turn", "model_id": "d"}
    found = settings(
        con,
        Debater(**names, model_id="d", parameters={"effort": "low"}, earlier_parameters=[{}, {"effort": "max"}]),
        Debater(**names, model_id="other", parameters={}),
        Call(**call, call_id="c1", status="answered", sent_at=datetime(2026, 1, 1), adjusted=("seed", "temperature")),
        Call(**call, call_id="c2", status="answered", sent_at=datetime(2026, 1, 1), adjusted=("max_tokens",)),
        config={"temperature": 0.7},
    )
    assert found["debater_models: d parameters"] == 'effort: "low", without seed; before: {"effort":"max"}; before: {}'
    assert (found["debater_temperatures: d"], found["debater_temperatures: other"]) == ("none", "0.7")
    assert found["debater_models: other parameters"] == ""


def test_without_a_word_about_tiers_they_are_the_standard_one_where_it_was_asked_for(con: duckdb.DuckDBPyConnection):
    call = {"run_tag": "r", "attempt": 1, "debate_id": "x", "step": "s", "provider": "p", "model_name": "m"}
    turn, verdict = {**call, "purpose": "turn", "model_id": "served"}, {**call, "purpose": "verdict", "judge_id": "j"}
    flex = {"service_tier": "flex"}
    records: list[Record] = [
        Debater(run_tag="r", model_id="served", parameters=flex),
        Debater(run_tag="r", model_id="silent", parameters=flex),
        Debater(run_tag="r", model_id="auto", parameters={"service_tier": "auto"}),
        Debater(run_tag="r", model_id="plain"),
        Judge(run_tag="r", judge_id="j"),
        Call(**turn, call_id="c1", status="answered", service_tier="flex"),
        Call(**turn, call_id="c2", status="answered", service_tier="on_demand"),
        Call(**turn, call_id="c3", status="answered", service_tier="default"),
        Call(**turn, call_id="c4", status="failed"),
        Call(**verdict, call_id="c5", status="answered", service_tier="Priority"),
    ]

    def tiers(source: str) -> dict[str, str | None]:
        found = settings(con, *records, source=source)
        return {name: value for name, value in found.items() if name.startswith("service_tiers")}

    served = {"service_tiers: debater served": "flex and standard", "service_tiers: judge j": "priority"}
    silent = [f"service_tiers: debater {name}" for name in ("silent", "auto", "plain")]
    assert tiers("run") == served | dict(zip(silent, (None, "standard", "standard"), strict=True))
    assert tiers("import") == served | dict.fromkeys(silent)


def test_methods_windows_weights_and_ties_are_settings_and_a_baseline_is_a_method_only(con: duckdb.DuckDBPyConnection):
    found = settings(
        con,
        Judge(run_tag="r", judge_id="j", method="dimensional_v1", token_limit=9, context_window=4096),
        Judge(run_tag="r", judge_id="always_tie", method="always_tie", is_baseline=True),
        Dimension(run_tag="r", dimension="logic", source_position=0, weight="2.50", tie_band="0.5"),
        Dimension(run_tag="r", dimension="style", source_position=1, allows_ties=False),
    )
    assert (found["judge_methods: j"], found["judge_token_caps: j"]) == ("dimensional_v1", "9 in a window of 4096")
    assert [name for name in found if "always_tie" in name] == ["judge_methods: always_tie"]
    assert found["weights_and_ties: logic"] == "weight 2.5, ties within 0.5"
    assert found["weights_and_ties: style"] == "weight 1, no ties"


def test_trials_of_a_stored_debate_are_one_debate_of_the_plan(con: duckdb.DuckDBPyConnection):
    def planned(*trials: int) -> dict[str, str | None]:
        return settings(
            con,
            *(
                ScheduledDebate(
                    run_tag="r",
                    debate_id=f"d{trial}",
                    schedule_position=trial,
                    topic_id="t",
                    pro_model_id="a",
                    con_model_id="b",
                    repetition=0,
                    debate_seed=trial,
                    panel=("j",),
                    source_debate_id="s",
                    trial=trial,
                )
                for trial in trials
            ),
        )

    once, thrice = planned(1), planned(1, 2, 3)
    assert once["schedule: debates"] == thrice["schedule: debates"]
    assert (once["schedule: debates"] or "").startswith("1 ")
    assert once["schedule: panels"] == thrice["schedule: panels"]


def test_a_run_from_before_the_setting_left_refusals_void(con: duckdb.DuckDBPyConnection):
    assert settings(con, config={"temperature": 0.7})["refusal_rule: on refusal"] == "void"
    assert settings(con, config={"on_refusal": "forfeit"})["refusal_rule: on refusal"] == "forfeit"


def test_an_import_is_silent_about_what_its_records_cannot_say(con: duckdb.DuckDBPyConnection):
    found = settings(
        con,
        Debater(run_tag="r", model_id="d", provider="p", model_name="m", token_limit=9, parameters={"top_p": 1}),
        Dimension(run_tag="r", dimension="logic", source_position=0),
        source="import",
    )
    assert found["debater_models: d"] == "p m"
    unknown = ("debater_models: d parameters", "debater_temperatures: d", "debater_token_caps: d", "prices: debater d")
    others = (
        "panel_rule: con first for half",
        "judge_overlap: debaters may judge",
        "refusal_rule: on refusal",
        "dimensions: logic",
        "weights_and_ties: logic",
    )
    assert [found[name] for name in (*unknown, *others, "scales: logic", "scales: logic numbers")] == [None] * 11


def test_turns_topics_and_dimensions_are_settings_each(con: duckdb.DuckDBPyConnection):
    found = settings(
        con,
        Topic(run_tag="r", topic_id="t", source_position=0, motion="Motion", category="Law", info_slide="Slide."),
        Dimension(run_tag="r", dimension="style", source_position=1, min_score=1, max_score=10, description=""),
        Dimension(run_tag="r", dimension="logic", source_position=0, min_score="0.5", max_score=7),
        Dimension(
            run_tag="r",
            dimension="wit",
            source_position=2,
            min_score=1,
            max_score=2,
            by_category={"law": {"pro": "Laugh.", "con": "Do not."}},
        ),
        language="en",
        config={
            "rounds": [{"role": "pro", "stage": "opening"}, {"role": "con", "stage": "reply", "language": "de"}],
            "dimensions": [{"dimension": "style", "integer": False}, {"dimension": "logic"}, {"dimension": "wit"}],
            "whole": {"ties": False, "preferences": {"debate": "Who proves it?", "summary": None}},
        },
    )
    expected = {
        "topics: t": "Motion [Law] Slide.",
        "rounds: turn 2": "con reply",
        "languages: turn 1": "en",
        "languages: turn 2": "de",
        "turn_token_caps: turn 1": "none",
        "dimensions: logic": "no description",
        "dimensions: style": "",
        "dimensions: order": "logic, style, wit",
        "dimensions: wit (law, pro)": "Laugh.",
        "dimensions: wit (law, con)": "Do not.",
        "dimensions: the whole debate (ties)": "no ties",
        "dimensions: the whole debate (debate)": "Who proves it?",
        "scales: logic": "0.5 to 7.0",
        "scales: logic numbers": "any",
        "scales: style numbers": "any",
        "scales: wit numbers": "whole",
    }
    assert {name: found[name] for name in expected} == expected
    assert "dimensions: the whole debate (summary)" not in found


def test_a_configuration_of_another_shape_leaves_settings_unknown(con: duckdb.DuckDBPyConnection):
    found = settings(
        con,
        Debater(run_tag="r", model_id="d", parameters=["top_p"], pricing={"prompt": "cheap", "completion": []}),
        config={"rounds": 2, "dimensions": ["logic"], "elo": None},
        options=[],
        prompt_hashes="abc",
    )
    assert found["prices: debater d"] == "unknown and unknown"
    assert found["panel_rule: judges per debate"] is None
    assert "rounds: turn 1" not in found


def test_a_dimension_called_order_does_not_keep_its_run_from_landing(con: duckdb.DuckDBPyConnection):
    found = settings(con, Dimension(run_tag="r", dimension="order", source_position=0, description="Is it in order?"))
    assert found["dimensions: order"] == "order"


def test_the_fingerprint_of_the_schedule_is_that_of_its_debates_in_any_order(con: duckdb.DuckDBPyConnection):
    def planned(*debates: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
        schedule = [
            ScheduledDebate(
                run_tag="r",
                debate_id=str(number),
                schedule_position=number,
                topic_id=topic,
                pro_model_id="a",
                con_model_id="b",
                repetition=0,
                debate_seed=number,
                panel=panel,
            )
            for number, (topic, panel) in enumerate(debates)
        ]
        found = settings(con, *schedule)
        return {name: value for name, value in found.items() if name.startswith("schedule:")}

    first = planned(("t1", ("x", "y")), ("t2", ("x",)))
    debates, panels = (
        hashlib.md5(text).hexdigest()[:12] for text in (b"t1 a b 0 t2 a b 0", b"t1 a b 0 x y t2 a b 0 x")
    )
    assert first == {"schedule: debates": f"2 ({debates})", "schedule: panels": panels}
    assert planned(("t2", ("x",)), ("t1", ("x", "y"))) == first
    other_panel = planned(("t1", ("y", "x")), ("t2", ("x",)))
    assert other_panel["schedule: debates"] == first["schedule: debates"]
    assert other_panel["schedule: panels"] != first["schedule: panels"]
    assert planned() == {}


def test_only_valid_answers_say_whether_a_judge_names_winners(con: duckdb.DuckDBPyConnection):
    def verdict(debate: str, judge: str, winner: Any, is_valid: bool = True) -> Verdict:
        return Verdict(
            run_tag="r", debate_id=debate, judge_id=judge, panel_position=0, is_valid=is_valid, declared_winner=winner
        )

    found = settings(
        con,
        *(verdict("d1", "names", "tie"), verdict("d2", "names", None), verdict("d1", "silent", None)),
        *(verdict("d2", "silent", "pro", is_valid=False), verdict("d1", "failed", "pro", is_valid=False)),
    )
    names = {name: value for name, value in found.items() if name.endswith("names winners")}
    assert names == {"judge_prompts: names names winners": "yes", "judge_prompts: silent names winners": "no"}


def test_landing_again_leaves_no_setting_of_before(con: duckdb.DuckDBPyConnection):
    assert "topics: t" in settings(con, Topic(run_tag="r", topic_id="t", source_position=0, motion="Motion"))
    assert "topics: t" not in settings(con)


@pytest.mark.slow
def test_a_journal_of_the_first_format_has_settings(tmp_path: Path):
    folder = tmp_path / "warehouse" / "journal"
    folder.mkdir(parents=True)
    shutil.copy(DATA / "journals" / "format-1.jsonl", folder)
    assert debatebench(tmp_path, "land").code == 0
    query = "select part, value from marts.run_settings where item in ('rounds', 'panel_rule') order by all"
    shown = debatebench(tmp_path, "query", query, "--format", "csv").out
    assert shown.splitlines()[1:] == [
        "balanced,true",
        "con first for half,false",
        "drawn from the debaters,false",
        "judges per debate,2",
        "turn 1,pro opening",
        "turn 2,con opening",
    ]


@pytest.mark.slow
def test_a_warehouse_from_before_this_table_gets_it_without_landing_again(two_runs: Path, tmp_path: Path):
    """Even where the journals are gone, because the settings follow from what is there."""
    database = tmp_path / "warehouse" / "debatebench.duckdb"
    database.parent.mkdir()
    shutil.copy(two_runs / "warehouse" / "debatebench.duckdb", database)
    with duckdb.connect(str(database)) as con:
        expected = con.execute("from marts.run_settings order by all").fetchall()
        con.execute("drop table raw.run_settings")
        con.execute("update meta.build_state set state = 'of another version'")
    done = debatebench(tmp_path, "build")
    assert done.code == 0, done.err
    with duckdb.connect(str(database), read_only=True) as con:
        assert con.execute("from marts.run_settings order by all").fetchall() == expected
        assert {tag for tag, *_ in expected} == {"demo", "second"}
