"""`debatebench judge`: what it judges, by whom, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench_here
from fake_provider import FakeProvider
from imported import DEBATEFLOW
from judging import KEY, calls_of, method_answer, stored_workspace, write_debates
from paths import REPOSITORY

from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.judges import METHODS, direct

pytestmark = pytest.mark.slow

BASELINES = (
    "always_pro",
    "always_con",
    "always_tie",
    "majority_class",
    "longest",
    "longest_words",
    "random",
    "last_speaker",
    "lexical_clash",
)
TEAM_BASELINES = ("always_og", "always_oo", "always_cg", "always_co")


def of_baselines(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--baseline", name)]


ALL = of_baselines(BASELINES)


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def judge(root: Path, tag: str, *arguments: str, source: str = "stored") -> Done:
    return debatebench_here(root, "judge", source, "--as", tag, *arguments)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A workspace with three debates of two sides and one of four teams, and two judges at a server."""
    monkeypatch.setenv("TINY_API_KEY", KEY)
    with FakeProvider(method_answer) as server:
        root = stored_workspace(tmp_path, server.url, judges=2, two_sided=3, is_built=True)
        yield root, server


def test_a_judged_run_points_to_its_source_and_holds_no_copy_of_it(stored: Any):
    root, _ = stored
    done = judge(root, "judged")
    assert done.code == 0, done.err
    assert rows(root, "select source_run_tag, format from marts.runs where run_tag = 'judged'") == [
        ("stored", "judging")
    ]
    assert rows(root, "select count(*) from raw.turns where run_tag = 'judged'") == [(0,)]
    assert rows(
        root,
        "select count(*), count(distinct source_debate_id), max(trial) from raw.debates where run_tag = 'judged'",
    ) == [(4, 4, 1)]
    assert rows(root, "select count(*) from raw.verdicts where run_tag = 'judged' and is_valid") == [(8,)]
    speakers = "select debate_id, position, model_id, side from raw.participants where run_tag = '{}' order by all"
    assert rows(root, speakers.format("judged")) == rows(root, speakers.format("stored"))
    shown = debatebench_here(root, "inspect-debate", "debateart_0001", "--run-tag", "judged")
    assert "speech 0 makes point 0" in shown.out


def test_a_finished_run_is_not_judged_twice_and_keeps_its_debates(stored: Any):
    root, server = stored
    assert judge(root, "judged", "--where", "format = 'two_sided'", "--no-build").code == 0
    asked = len(server.requests)
    assert asked == 6
    assert judge(root, "judged", "--no-build").code == 0
    assert len(server.requests) == asked
    other = judge(root, "judged", "--where", "true")
    assert other.code == 2
    assert "where (true, was format = 'two_sided')" in other.err


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("options", "debates"),
    [
        (("--where", "format = 'two_sided'"), ["debateart_0000", "debateart_0001", "debateart_0002"]),
        (("--where", "debate_id like '%1' -- the second"), ["debateart_0001"]),
        (("--debates", "FILE"), ["bp_000", "debateart_0002"]),
        (("--debates", "FILE", "--where", "format <> 'two_sided'"), ["bp_000"]),
    ],
)
def test_debates_are_selected_by_a_condition_and_by_a_file(stored: Any, options: tuple[str, ...], debates: list[str]):
    root, server = stored
    (root / "ids.txt").write_text("debateart_0002\n\n  bp_000 \n")
    options = tuple(str(root / "ids.txt") if option == "FILE" else option for option in options)
    assert judge(root, "judged", *options, "--baseline", "longest", "--no-build").code == 0
    assert rows(root, "select debate_id from raw.debates where run_tag = 'judged' order by all") == [
        (debate,) for debate in debates
    ]
    assert server.requests == []


def test_trials_are_debates_of_their_own_with_other_seeds(stored: Any):
    root, server = stored
    assert judge(root, "judged", "--repeat", "3", "--where", "debate_id = 'debateart_0000'").code == 0
    found = rows(root, "select debate_id, source_debate_id, trial from raw.debates where run_tag = 'judged' order by 3")
    assert found == [
        ("debateart_0000", "debateart_0000", 1),
        ("debateart_0000~2", "debateart_0000", 2),
        ("debateart_0000~3", "debateart_0000", 3),
    ]
    assert len(server.requests) == 6
    assert len({json.dumps(r.json["messages"]) for r in server.requests}) == 6
    consistent = "select count_debates, count_trials from marts.judge_consistency where run_tag = 'judged'"
    assert set(rows(root, consistent)) == {(1, 3)}


def test_a_swapped_order_shows_con_first_in_half_of_the_debates(stored: Any):
    root, _ = stored
    assert judge(root, "judged", "--swap-order", "--no-build").code == 0
    first = "select judge_id, presented_first, count(*) from raw.verdicts group by all order by all"
    assert rows(root, first) == [(f"judge-{n}", side, 2) for n in range(2) for side in ("con", "pro")]


@pytest.mark.parametrize("repeat", [2, 3])
def test_repeated_debates_are_shown_in_both_orders_and_the_odd_trial_in_half_of_the_debates_each(
    stored: Any, repeat: int
):
    root, _ = stored
    assert judge(root, "judged", "--repeat", str(repeat), "--swap-order", "--no-build").code == 0
    shown = rows(
        root,
        "select judge_id, source_debate_id, list(presented_first order by trial) "
        "from raw.verdicts join raw.debates using (run_tag, debate_id) where run_tag = 'judged' group by all",
    )
    assert len(shown) == 2 * 4
    assert all(sorted(orders[:2]) == ["con", "pro"] for _, _, orders in shown)
    for name in ("judge-0", "judge-1"):
        con_first = [orders.count("con") for who, _, orders in shown if who == name]
        assert sum(con_first) == 4 * repeat / 2


def test_a_run_that_has_begun_keeps_the_orders_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINY_API_KEY", KEY)
    with FakeProvider(method_answer) as server:
        root = stored_workspace(tmp_path, server.url, judges=2, judge=", token_limit: 100", two_sided=0, is_built=True)
        assert judge(root, "judged", "--repeat", "2", "--swap-order", "--max-cost", "0", "--no-build").code == 5
        _show_con_first(root / "warehouse" / "journal" / "judged.jsonl")
        begin_built(root)
        assert debatebench_here(root, "land", "--no-build").code == 0
        done = judge(root, "judged", "--no-build")
    assert done.code == 0, done.err
    assert rows(root, "select distinct presented_first from raw.verdicts where run_tag = 'judged'") == [("con",)]


def _show_con_first(path: Path) -> None:
    """Rewrite the plan in a journal, as if it had been drawn by another version."""
    events = [event.data for event in read_journal(path)]
    for debate in events[0]["plan"]["debates"]:
        debate["con_first"] = debate["panel"]
    path.unlink()
    with Journal.open(path) as journal:
        for event in events:
            journal.append(event)


def test_panels_are_drawn_where_a_size_is_given(stored: Any):
    root, server = stored
    assert judge(root, "judged", "--panel-size", "1", "--no-build").code == 0
    assert len(server.requests) == 4
    counts = "select judge_id, count(*) from raw.verdicts where run_tag = 'judged' group by all order by all"
    assert rows(root, counts) == [("judge-0", 2), ("judge-1", 2)]


def test_baselines_ask_nobody_cost_nothing_and_are_in_no_panel(stored: Any):
    root, server = stored
    done = judge(root, "judged", *ALL)
    assert done.code == 0, done.err
    assert server.requests == []
    assert rows(
        root, "select distinct is_valid, asks, cost, prompt_tokens from raw.verdicts where run_tag = 'judged'"
    ) == [(True, 0, 0, 0)]
    winners = dict(
        rows(
            root,
            "select judge_id, declared_winner from raw.verdicts "
            "where run_tag = 'judged' and debate_id = 'debateart_0000'",
        )
    )
    assert winners == winners | {
        "always_pro": "pro",
        "always_con": "con",
        "always_tie": "tie",
        # Pro has three of the five speeches, and the last one.
        "longest": "pro",
        "longest_words": "pro",
        "last_speaker": "pro",
        # The other two debates have one verdict for pro and one for con, and pro comes first.
        "majority_class": "pro",
    }
    assert rows(root, "select count(*) from marts.panel_winners where winner <> 'no_decision'") == [(0,)]
    again = judge(root, "again", *ALL, "--no-build")
    assert again.code == 0
    same = "select judge_id, debate_id, declared_winner from raw.verdicts where run_tag = '{}' order by all"
    assert rows(root, same.format("again")) == rows(root, same.format("judged"))


def test_baselines_judge_beside_judges_where_an_option_chooses_them(stored: Any):
    root, server = stored
    assert judge(root, "judged", "--baseline", "longest", "--judge", "judge-1", "--no-build").code == 0
    assert len(server.requests) == 4
    judged = "select distinct judge_id from raw.verdicts where run_tag = 'judged' order by all"
    assert rows(root, judged) == [("judge-1",), ("longest",)]


def test_a_run_that_played_its_debates_can_be_judged_and_rates_nobody_twice(copied: Path):
    done = judge(copied, "judged", "--baseline", "longest", source="t")
    assert done.code == 0, done.err
    counts = "select count(*) from raw.debates where run_tag = '{}'"
    assert rows(copied, counts.format("judged")) == rows(copied, counts.format("t"))
    assert rows(copied, "select distinct pooled_run_tag from ratings.pooled_runs") == [("t",)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "--as", "judged"), "No run 'nothing' in the warehouse. Known: stored."),
        (("stored", "--as", "stored"), "'stored' is already the tag of an import; choose another --as."),
        (("stored", "--as", "j", "--baseline", "coin"), "No baseline 'coin'. Known: always_pro, always_con,"),
        (("stored", "--as", "j", "--baseline", "longest", "--swap-order"), "--swap-order is about judges, and"),
        (("stored", "--as", "j", "--baseline", "longest", "--random-judges"), "--random-judges is about judges, and"),
        (("stored", "--as", "j", "--judge", "judge-7"), "No judge 'judge-7'. Known: judge-0, judge-1."),
        (("stored", "--as", "j", "--judge-method", "vibes"), "no judge method 'vibes'. Known: direct, whole_debate,"),
        (("stored", "--as", "j", "--judge-method", "longest"), "'longest' is a baseline"),
        (("stored", "--as", "j", "--panel-size", "3"), "--panel-size asks for 3 judges, and there are 2."),
        (("stored", "--as", "j", "--where", "speeches > 2"), "--where takes a condition on marts.debates. SQL:"),
        (("stored", "--as", "j", "--where", "true) or (true"), "--where takes a condition on marts.debates. SQL:"),
        (
            ("stored", "--as", "j", "--where", "false"),
            "'stored' has no debate to judge: the condition and the ids select none of its 4.",
        ),
        (("stored", "--as", "j", "--repeat", "1000000"), "1000000 is not in the range 1<=x<=1000"),
        (("stored", "--as", "j", "--where", "true; drop table raw.runs"), "--where takes a condition"),
        (("stored", "--as", "j", "--debates", "missing.txt"), "File 'missing.txt' does not exist."),
        (("stored", "--as", "j", "--judge-prompt", "shouting"), "shouting"),
        (("stored", "--as", "a/b"), "a/b"),
        (("stored", "--as", "j", "--retry-failed"), "No run 'j' has begun"),
    ],
    ids=lambda value: " ".join(value[1:])[:40] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_judged_is_one_clear_line_and_nothing_is_sent(
    stored: Any, arguments: tuple[str, ...], message: str
):
    root, server = stored
    done = debatebench_here(root, "judge", *arguments)
    assert done.code == 2, done.err
    assert message in done.error_line
    assert "Traceback" not in done.err
    assert server.requests == []
    assert not (root / "warehouse" / "journal" / "j.jsonl").exists()


def test_a_baseline_that_needs_people_says_so_where_the_sql_models_have_no_verdicts_of_theirs(tmp_path: Path):
    folder = write_debates(tmp_path / "debates", teams=0, two_sided=2)
    done = debatebench_here(tmp_path, "import", "panelbench", str(folder), "--run-tag", "stored", "--no-build")
    assert done.code == 0, done.err
    refused = judge(tmp_path, "judged", "--baseline", "majority_class")
    assert refused.code == 2
    assert "needs verdicts of people on the debates of 'stored', and the SQL models have none" in refused.error_line
    assert "`debatebench build`" in refused.error_line
    assert debatebench_here(tmp_path, "build").code == 0
    assert judge(tmp_path, "judged", "--baseline", "majority_class", "--no-build").code == 0


def test_a_format_that_a_method_does_not_know_is_one_clear_line_before_the_first_request(
    stored: Any, monkeypatch: pytest.MonkeyPatch
):
    root, server = stored
    monkeypatch.setattr(direct, "METHOD", replace(direct.METHOD, formats=("two_sided",)))
    for more in ((), ("--dry-run",)):
        done = judge(root, "judged", "--where", "true", *more)
        assert done.code == 2
        assert done.error_line == (
            "Error: Judge 'judge-0': the method 'direct' cannot judge 'bp_000', whose format is british_parliamentary; "
            "it knows two_sided."
        )
    assert server.requests == []
    assert not (root / "warehouse" / "journal" / "judged.jsonl").exists()
    assert judge(root, "judged", "--where", "format = 'two_sided'", "--no-build").code == 0


def test_karl_popper_debates_of_four_turns_are_judged_by_every_method(stored: Any):
    root, server = stored
    imported = debatebench_here(root, "import", "debateflow", str(DEBATEFLOW), "--run-tag", "flow", "--no-build")
    assert imported.code == 0, imported.err
    lengths = rows(root, "select count(*) from raw.turns where run_tag = 'flow' group by debate_id")
    whole = [turns for (turns,) in lengths if turns == 4]
    assert whole
    for method in METHODS:
        asked = len(server.requests)
        done = judge(root, method, "--judge-method", method, "--judge", "judge-0", "--no-build", source="flow")
        assert done.code == 0, done.err
        assert len(server.requests) - asked == sum(calls_of(method, 4, 2) for _ in whole)
    judged = "select run_tag, is_valid, declared_winner is not null from raw.verdicts where run_tag <> 'stored'"
    assert set(rows(root, judged)) == {(method, True, True) for method in METHODS}
    assert debatebench_here(root, "build").code == 0
    beside = (
        "select run_tag, truth, method from marts.judge_quality where dimension = 'overall' and source_run_tag = 'flow'"
    )
    assert sorted(rows(root, beside)) == sorted((method, "annotations", method) for method in METHODS)


def test_a_run_that_has_begun_keeps_its_source_and_its_judges(stored: Any, tmp_path: Path):
    root, _ = stored
    assert judge(root, "judged", "--baseline", "longest", "--no-build").code == 0
    others = write_debates(tmp_path / "others", hostile="Another speech.", two_sided=1, teams=0)
    assert debatebench_here(root, "import", "panelbench", str(others), "--run-tag", "other", "--no-build").code == 0
    elsewhere = judge(root, "judged", source="other")
    assert elsewhere.code == 2
    assert "Run 'judged' judges debates of 'stored', not of 'other': go on with those" in elsewhere.error_line
    otherwise = judge(root, "judged", "--baseline", "random")
    assert otherwise.code == 2
    assert "or choose another --as" in otherwise.error_line


def test_doctor_says_how_an_unfinished_judged_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINY_API_KEY", KEY)
    with FakeProvider(method_answer) as server:
        root = stored_workspace(tmp_path, server.url, judge=", token_limit: 100", two_sided=0, is_built=True)
        assert judge(root, "judged", "--max-cost", "0").code == 5
    (found,) = json.loads(debatebench_here(root, "doctor", "--format", "json").out)
    assert "`debatebench retry judged` goes on with it." in str(found)
    assert "None against None" not in str(found)


def test_judging_a_judged_run_judges_what_it_judged(stored: Any):
    root, _ = stored
    teams = ("--baseline", "longest", "--where", "format = 'british_parliamentary'", "--no-build")
    assert judge(root, "teams", *teams).code == 0
    assert judge(root, "again", "--baseline", "random", "--no-build", source="teams").code == 0
    judged = "select source_run_tag, source_debate_id from raw.debates join raw.runs using (run_tag) where run_tag = "
    assert rows(root, f"{judged} 'again'") == rows(root, f"{judged} 'teams'") == [("stored", "bp_000")]


def test_a_run_of_another_kind_says_how_to_go_on_with_it(stored: Any):
    root, _ = stored
    assert judge(root, "judged", "--baseline", "longest", "--no-build").code == 0
    played = debatebench_here(root, "run", "--run-tag", "judged")
    assert played.code == 2
    assert "`debatebench judge stored --as judged`" in played.err
    retried = debatebench_here(root, "retry", "judged", "--no-build")
    assert retried.code == 0, retried.err


def test_stored_debates_that_have_changed_are_not_judged_under_the_same_tag(stored: Any, tmp_path: Path):
    root, server = stored
    assert judge(root, "judged", "--where", "format = 'two_sided'", "--judge", "judge-0", "--no-build").code == 0
    asked = len(server.requests)
    changed = write_debates(tmp_path / "changed", hostile="Quite another speech.", two_sided=3, teams=0)
    done = debatebench_here(
        root, "import", "panelbench", str(changed), "--run-tag", "stored", "--replace", "--no-build"
    )
    assert done.code == 0, done.err
    again = judge(root, "judged")
    assert again.code == 2
    assert "has other speeches now, and run 'judged' began with it" in again.err
    assert len(server.requests) == asked


def test_a_dry_run_names_calls_and_cost_by_judge_and_writes_nothing(stored: Any):
    root, server = stored
    done = judge(root, "judged", "--judge-method", "debatrix_v1", "--dry-run", "--format", "json")
    assert done.code == 0, done.err
    found = {row["id"]: row["calls"] for row in json.loads(done.out)}
    # Three debates of five speeches on two sides, one of eight speeches of four teams, two dimensions.
    assert found == {f"judge-{n}": 3 * 19 + 29 for n in range(2)}
    assert server.requests == []
    assert not (root / "warehouse" / "journal" / "judged.jsonl").exists()


def test_baselines_on_panelbench_have_the_published_figures(tmp_path: Path, shared: Path):
    begin_built(tmp_path)
    for folder, tag, *more in (("DebateArt", "da", "--no-build"), ("BP-Competition", "bp")):
        source = str(shared / "panelbench" / folder)
        done = debatebench_here(tmp_path, "import", "panelbench", source, "--run-tag", tag, *more)
        assert done.code == 0, done.err
    for tag, config in (("da", "panelbench.yaml"), ("bp", "panelbench_bp.yaml")):
        options = (*ALL, "--config-path", str(REPOSITORY / "configs" / config), "--no-build")
        judged = judge(tmp_path, f"{tag}-baselines", *options, source=tag)
        assert judged.code == 0, judged.err
    assert judge(tmp_path, "bp-teams", *of_baselines(TEAM_BASELINES), source="bp").code == 0
    found = {
        judge_id: (round(100 * accuracy, 2), round(rmse, 2))
        for judge_id, accuracy, rmse in rows(
            tmp_path,
            "select judge_id, accuracy, rmse_direct_prediction from marts.judge_quality "
            "where run_tag = 'da-baselines' and dimension = 'overall'",
        )
    }
    assert found["longest"] == (58.33, 58.45)
    assert found["always_con"] == (55.0, 61.24)
    assert found["always_tie"][1] == 47.43
    assert len(found) == len(BASELINES)
    for table in ("main", "positions", "sizes"):
        of_runs = f"select count(distinct run_tag) from marts.panelbench_{table} where run_tag like '%-baselines'"
        assert rows(tmp_path, of_runs) == [(2,)], table
    by_dimension = (
        "select * from marts.panelbench_dimensions where run_tag = 'da-baselines' and judge_id = 'always_tie'"
    )
    assert len(rows(tmp_path, by_dimension)) == 3
    (majority,) = rows(
        tmp_path,
        "select rmse_direct_prediction, rmse_direct_prediction_ci_low, rmse_direct_prediction_ci_high "
        "from marts.panelbench_dimensions "
        "where run_tag = 'da-baselines' and judge_id = 'majority_class' and dimension = 'language'",
    )
    assert majority[1] < majority[0] < majority[2]
    to_overall = "select distinct dimension, round(rmse_to_overall, 2) from marts.panelbench_dimensions order by all"
    assert rows(tmp_path, to_overall) == [("argument", 21.41), ("language", 41.33), ("source", 40.82)]
    of_teams = dict(
        rows(
            tmp_path,
            "select judge_id, round(100 * accuracy, 2) from marts.judge_quality where dimension = 'overall' "
            "and run_tag in ('bp-baselines', 'bp-teams') and judge_id in ('majority_class', 'always_oo', 'always_og')",
        )
    )
    # OO won 8 of the 11 debates, and 7 of the other 10 are still the most.
    assert of_teams == {"majority_class": 72.73, "always_oo": 72.73, "always_og": 36.36}
    pairs = "select count(*) from marts.panelbench_significance where run_a = 'da-baselines' and measure = 'accuracy'"
    assert rows(tmp_path, pairs)[0][0] >= len(BASELINES) * (len(BASELINES) - 1) / 2
