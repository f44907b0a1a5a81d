"""What `debatebench run` can be told: to add debaters, swap orders, ban, probe, estimate, and ask at a terminal."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections import Counter
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from statistics import mean
from typing import Any

import duckdb
import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from hypothesis import given, settings
from hypothesis import strategies as st
from pseudo_terminal import PseudoTerminal
from scripted_ask import ScriptedAsk, tiny_config, tiny_plan
from tournament import KEY, good_answers, is_judge, play, verdict_text, write_workspace
from two_runs import two_runs

from debatebench.cli.playing_plan import Inputs, load_inputs, planned, with_begun_options
from debatebench.cli.run import refuse_contradictions
from debatebench.cli.run_wizard import Terminal, pick, select
from debatebench.cli.stored_answers import stored_latencies
from debatebench.config.prompt_files import LibraryPrompt, load_prompts, prompt_library
from debatebench.config.transcript_layout import in_order
from debatebench.config.types import MemberConfig, Pricing, TopicConfig
from debatebench.journal.reading import events_of, read_journal
from debatebench.journal.writing import Journal
from debatebench.landing.journal_records import journal_records
from debatebench.plan.estimate import Latencies, estimate_time
from debatebench.plan.frozen_plan import plan_of_today, read_begun_plan
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan, plan_part
from debatebench.plan.selection import parse_numbers
from debatebench.play.bans import Bans
from debatebench.play.before_run import RunSettings
from debatebench.play.panel import judge_debate
from debatebench.play.probe import check_judges, probe_members
from debatebench.play.retries import RetryPolicy
from debatebench.play.runner import play_run
from debatebench.providers.base import FailureKind
from debatebench.shared.errors import InterruptedRunError, UsageError
from debatebench.shared.records import Debater, ScheduledDebate, Turn, Verdict
from debatebench.shared.workspace import Workspace, packaged

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]

NOW = datetime(2026, 1, 1)
AT_ONCE = RetryPolicy(first_wait_s=0.0)


def members(prefix: str, count: int, **settings: Any) -> tuple[MemberConfig, ...]:
    fields = {"provider": "simulated", **settings}
    return tuple(MemberConfig(id=f"{prefix}{i}", model=f"{prefix}-model-{i}", **fields) for i in range(count))


def plan_of(debaters: int = 3, judges: int = 5, topics: int = 2, tag: str = "run", **options: Any) -> Plan:
    config = tiny_config()
    pool = members("j", judges)
    return make_plan(
        tag,
        config,
        [TopicConfig(id=f"t{i}", motion=f"Motion {i}.", category="c") for i in range(topics)],
        members("d", debaters),
        pool,
        load_prompts(Workspace(Path("/nonexistent")), config, pool),
        PlanOptions.model_validate(options),
        None,
    )


def raw(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def play_here(root: Path, plan: Plan, **settings: Any) -> Any:
    """Play in this process, without landing."""
    part = settings.pop("part", None)
    journal = root / "warehouse" / "journal" / f"{plan.run_tag}.jsonl"
    environ = {"TINY_API_KEY": KEY}
    return play_run(plan, journal, RunSettings(**settings), environ=environ, now=lambda: NOW, part=part)


def plan_here(root: Path, new_models: tuple[str, ...] = (), tag: str = "tiny", **options: Any) -> Any:
    """The plan, and the part to add, of a workspace's configuration."""
    workspace = Workspace(root)
    begun = read_begun_plan(workspace.journal / f"{tag}.jsonl")
    wanted = with_begun_options(begun, PlanOptions(**options), options.keys())
    return planned(workspace, tag, begun, load_inputs(workspace, wanted), wanted, new_models)


def add_debater(root: Path, name: str) -> None:
    """One more debater in models.yaml, before the others."""
    path = root / "configs" / "models.yaml"
    line = next(line for line in path.read_text().splitlines() if "debater-0" in line)
    path.write_text(path.read_text().replace("models:\n", "models:\n" + line.replace("debater-0", name) + "\n", 1))


def journal_of(root: Path, tag: str = "tiny") -> Path:
    return root / "warehouse" / "journal" / f"{tag}.jsonl"


def recorded(root: Path, kind: type[Any], tag: str = "tiny") -> list[Any]:
    """What a landing would take of one kind of record."""
    return [record for record in journal_records(journal_of(root, tag)) if isinstance(record, kind)]


# --- --new-model ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"debates_per_pair": 2, "swap_sides": True}, {"balanced_sides": False}, {"swap_order": True}],
    ids=["ordered pairs", "flipped twice", "one order", "orders drawn"],
)
def test_a_new_debater_meets_everybody_behind_the_debates_that_were_planned(options: dict[str, Any]):
    plan = plan_of(4, **options)
    whole = plan_of(5, **options)
    part = plan_part(plan, [whole.debater("d4")], None)
    grown = plan.with_part(part)
    assert grown.debates[: len(plan.debates)] == plan.debates
    assert [d.schedule_position for d in grown.debates] == list(range(len(whole.debates)))
    # The same debates, with the same seeds, as if the debater had been there from the beginning.
    assert {(d.debate_id, d.debate_seed) for d in grown.debates} == {
        (d.debate_id, d.debate_seed) for d in whole.debates
    }
    assert all("d4" in (d.pro_model_id, d.con_model_id) for d in part.debates)
    use = Counter(judge for debate in grown.debates for judge in debate.panel)
    assert max(use.values()) - min(use.values()) <= 1


def test_debaters_that_are_added_one_after_the_other_meet_each_other_once_per_order():
    plan = plan_of(3, topics=1)
    everybody = members("d", 5)
    one_by_one = plan.with_part(plan_part(plan, everybody[3:4], None))
    one_by_one = one_by_one.with_part(plan_part(one_by_one, everybody[4:], None))
    at_once = plan.with_part(plan_part(plan, everybody[3:], None))
    for grown in (one_by_one, at_once):
        assert Counter((d.pro_model_id, d.con_model_id) for d in grown.debates) == Counter(
            (a.id, b.id) for a in everybody for b in everybody if a != b
        )
    assert (one_by_one.parts, at_once.parts) == ((("d3",), ("d4",)), (("d3", "d4"),))


def test_the_pool_stays_the_debaters_of_the_beginning_when_they_judge_each_other():
    plan = plan_of(5, judges=0, judges_from_selection=True)
    grown = plan.with_part(plan_part(plan, members("d", 6)[5:], None))
    assert {judge for debate in grown.debates for judge in debate.panel} == {f"d{i}" for i in range(5)}
    for debate in grown.debates:
        assert not {debate.pro_model_id, debate.con_model_id} & set(debate.panel)


def test_a_new_debater_that_is_a_judge_is_refused_unless_that_is_allowed():
    newcomer = MemberConfig(id="x", provider="simulated", model="j-model-0")
    with pytest.raises(UsageError, match="Judge 'j0' and debater 'x' are the same model"):
        plan_part(plan_of(), [newcomer], None)
    assert plan_part(plan_of(allow_judge_overlap=True), [newcomer], None).debates


def test_a_finished_run_gets_a_new_debater_and_its_earlier_debates_stay(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        play_here(root, plan_here(root)[0])
        before, turns = journal_of(root).read_bytes(), recorded(root, Turn)
        add_debater(root, "newcomer")
        with pytest.raises(UsageError, match=r"debaters \(newcomer added\).*`--new-model newcomer` adds a debater"):
            play_here(root, plan_here(root)[0])
        dry = play(root, "--new-model", "newcomer", "--dry-run")
        assert "12 debates: 48 calls" in dry.out
        assert journal_of(root).read_bytes() == before
        assert len(server.requests) == 48
        done = play(root, "--no-build", "--new-model", "newcomer")
        assert done.code == 0, done.err
        assert len(server.requests) == 96
        assert journal_of(root).read_bytes().startswith(before)
        grown = journal_of(root).read_bytes()
        for new_models in ((), ("newcomer",)):
            plan, part = plan_here(root, new_models)
            assert part is None
            assert play_here(root, plan, retry_failed=True).complete == 24
        assert len(server.requests) == 96
        assert journal_of(root).read_bytes() == grown
    assert recorded(root, Turn)[: len(turns)] == turns
    assert raw(root, "select count(*), max(schedule_position) from raw.schedule") == [(24, 23)]
    assert raw(root, "select model_id from raw.debaters order by all")[-1] == ("newcomer",)
    assert raw(root, "select count(*) from raw.debates where status = 'complete'") == [(24,)]


def test_a_run_that_stops_in_the_middle_of_what_was_added_goes_on_without_the_option(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return status(401) if 55 <= received.number < 60 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        play_here(root, plan_here(root)[0])
        add_debater(root, "newcomer")
        plan, part = plan_here(root, ("newcomer",))
        with pytest.raises(Exception, match="TINY_API_KEY"):
            play_here(root, plan, part=part, concurrency=5)
        plan, part = plan_here(root)
        assert part is None
        report = play_here(root, plan)
        assert (report.planned, report.complete) == (24, 24)
        assert len(server.requests) <= 96 + 5
        add_debater(root, "third")
        report = play_here(root, *plan_here(root, ("newcomer", "third"))[:1], part=plan_here(root, ("third",))[1])
        assert (report.planned, report.complete) == (40, 40)
        (root / "configs" / "models.yaml").write_text(
            re.sub(
                r"(.*id: newcomer.*), api_key_env",
                r"\1, token_limit: 9, api_key_env",
                (root / "configs" / "models.yaml").read_text(),
            )
        )
        with pytest.raises(UsageError, match="newcomer changed: token_limit"):
            play_here(root, plan_here(root)[0])


@pytest.mark.parametrize(
    ("new", "begun", "complaint"),
    [
        ("nobody", True, "No debater 'nobody' to add. Known: d0, d1, d2, d3."),
        ("d0", True, "'d0' has been a debater of run 'run' from the beginning"),
        ("d3", False, "adds a debater to a run that has begun, and 'run' has not"),
    ],
)
def test_what_cannot_be_added_is_refused_with_the_reason(new: str, begun: bool, complaint: str):
    begun_plan = plan_of(3) if begun else None
    with pytest.raises(UsageError, match=re.escape(complaint)):
        plan_of_today("run", begun_plan, members("d", 4), [], [new], [], lambda *_: plan_of(3), None)


def test_a_refused_addition_leaves_no_journal(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--new-model", "debater-0").code == 2
        assert not (root / "warehouse" / "journal").exists()
        assert not server.requests


def test_a_journal_from_before_these_options_goes_on_and_lands(tmp_path: Path):
    plan = plan_of(3, topics=1, tag="old")
    play_here(tmp_path, plan)
    path = tmp_path / "warehouse" / "journal" / "old.jsonl"
    events = [event.data for event in read_journal(path)]
    older = {"seed", "debates_per_pair", "balanced_sides", "swap_sides", "sample_topics", "balanced_judges"}
    header = events[0]
    header["plan"]["options"] = {name: value for name, value in header["plan"]["options"].items() if name in older}
    del header["plan"]["parts"]
    for debate in header["plan"]["debates"]:
        del debate["con_first"]
    path.unlink()
    with Journal.open(path) as journal:
        for event in events[: len(events) // 2]:
            journal.append(event)
    report = play_here(tmp_path, plan)
    assert report.complete == report.planned == 6
    assert sum(isinstance(record, ScheduledDebate) for record in journal_records(path)) == 6


def test_a_part_is_found_without_reading_the_rest_of_the_journal(tmp_path: Path):
    play_here(tmp_path, plan_of(3, topics=1))
    part = plan_part(plan_of(3, topics=1), members("d", 4)[3:], None)
    play_here(tmp_path, plan_of(3, topics=1), part=part)
    path = tmp_path / "warehouse" / "journal" / "run.jsonl"
    assert [event["type"] for event in events_of(path, ("part", "header"))] == ["header", "part"]
    begun = read_begun_plan(path)
    assert begun is not None
    assert begun.parts == (("d3",),)
    assert begun == plan_of(3, topics=1).with_part(part)
    assert read_begun_plan(tmp_path / "nothing.jsonl") is None
    with path.open("ab") as file:
        file.write(b'999 00000000 {"type":"part","torn')
    assert read_begun_plan(path) == begun
    debaters = [record.model_id for record in journal_records(path) if isinstance(record, Debater)]
    assert debaters == ["d0", "d1", "d2", "d3"]


# --- --swap-order -----------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(3, 7), st.integers(1, 4), st.integers(0, 99), st.booleans())
def test_each_judge_hears_con_first_in_half_of_its_debates(
    debaters: int, judges: int, topics: int, seed: int, balanced: bool
):
    plan = plan_of(debaters, judges, topics, swap_order=True, seed=seed, balanced_judges=balanced)
    seen = Counter(judge for debate in plan.debates for judge in debate.panel)
    con_first = Counter(judge for debate in plan.debates for judge in debate.con_first)
    assert all(set(debate.con_first) <= set(debate.panel) for debate in plan.debates)
    assert all(abs(2 * con_first[judge] - seen[judge]) <= 1 for judge in seen)


def test_orders_are_drawn_by_the_seed_and_only_when_told():
    first, same, other = (plan_of(4, topics=6, swap_order=True, seed=seed) for seed in (1, 1, 2))
    assert first == same
    assert [d.con_first for d in first.debates] != [d.con_first for d in other.debates]
    plain = plan_of(4, topics=6, seed=1)
    assert {d.con_first for d in plain.debates} == {()}
    # The option draws orders and nothing else.
    assert [(d.debate_id, d.debate_seed, d.panel) for d in plain.debates] == [
        (d.debate_id, d.debate_seed, d.panel) for d in first.debates
    ]


def turn(index: int, side: str) -> Turn:
    return Turn(
        run_tag="tiny",
        debate_id="x",
        turn_index=index,
        position=side,
        side=side,  # type: ignore[arg-type]
        model_id=side,
        stage="s",
        content=f"{side} {index}",
    )


@pytest.mark.parametrize(
    ("spoken", "con_first", "pro_first"),
    [
        ("pcpcpc", [1, 0, 3, 2, 5, 4], [0, 1, 2, 3, 4, 5]),
        ("cpcp", [0, 1, 2, 3], [1, 0, 3, 2]),
        ("ppcc", [2, 3, 0, 1], [0, 1, 2, 3]),
        ("pcc", [1, 2, 0], [0, 1, 2]),
        ("pcp", [1, 0, 2], [0, 1, 2]),
        ("p", [0], [0]),
        ("", [], []),
    ],
)
def test_a_side_comes_first_within_each_exchange(spoken: str, con_first: list[int], pro_first: list[int]):
    turns = [turn(i, {"p": "pro", "c": "con"}[side]) for i, side in enumerate(spoken)]
    assert [t.turn_index for t in in_order(turns, "con")] == con_first
    assert [t.turn_index for t in in_order(turns, "pro")] == pro_first


SCORES = {"clarity": 5, "clash": 3}
VOTE = json.dumps({"scores": {"pro": SCORES, "con": SCORES}})


def judged(plan: Plan, con_first: tuple[str, ...], script: Any = lambda step: VOTE) -> tuple[Any, ScriptedAsk]:
    debate = plan.debates[0].model_copy(update={"panel": ("j0", "j1", "j2"), "con_first": con_first})
    ask = ScriptedAsk(script)
    turns = [turn(i, side) for i, side in enumerate(("pro", "con", "pro", "con"))]
    return [each.verdict for each in asyncio.run(judge_debate(debate, turns, plan, ask))], ask


def swapped_plan() -> Plan:
    plan = tiny_plan()
    return plan.model_copy(update={"options": plan.options.model_copy(update={"swap_order": True})})


def test_a_judge_is_shown_the_sides_and_asked_for_their_scores_in_its_order():
    verdicts, ask = judged(swapped_plan(), ("j1",))
    assert [(v.judge_id, v.presented_first, v.is_valid) for v in verdicts] == [
        ("j0", "pro", True),
        ("j1", "con", True),
        ("j2", "pro", True),
    ]
    prompts = {name: ask.request(f"verdict:{name}:0").messages[-1].content for name in ("j0", "j1")}
    markers = {name: re.findall(r"^\[(PRO|CON) \|", text, re.M) for name, text in prompts.items()}
    assert markers == {"j0": ["PRO", "CON", "PRO", "CON"], "j1": ["CON", "PRO", "CON", "PRO"]}
    shapes = {name: re.findall(r'"(pro|con)": \{', text) for name, text in prompts.items()}
    assert shapes == {"j0": ["pro", "con"], "j1": ["con", "pro"]}
    schemas = {n: ask.request(f"verdict:{n}:0").json_schema["properties"]["scores"] for n in ("j0", "j1")}  # type: ignore[index]
    assert [list(schemas[name]["properties"]) for name in ("j0", "j1")] == [["pro", "con"], ["con", "pro"]]
    # Both are told the same about the order, so that the order is all that differs.
    assert all(text.count("was drawn by lot") == 1 for text in prompts.values())


def test_without_the_option_judges_read_the_debate_as_it_was_spoken():
    verdicts, ask = judged(tiny_plan(), ())
    assert {v.presented_first for v in verdicts} == {"pro"}
    assert "drawn by lot" not in ask.request("verdict:j0:0").messages[-1].content


def test_a_replacement_is_shown_the_order_of_the_seat_that_it_takes():
    verdicts, _ = judged(
        swapped_plan(),
        ("j0",),
        lambda step: FailureKind.FAILED if step.name in ("verdict:j0:0", "verdict:j2:0") else VOTE,
    )
    replaced = {v.replaces_judge_id: v.presented_first for v in verdicts if v.replaces_judge_id}
    assert replaced == {"j0": "con", "j2": "pro"}


def test_verdicts_record_the_order_that_was_planned(configured: Path, tmp_path: Path):
    plan, _ = plan_here(configured, sample_topics=1, swap_order=True)
    play_here(tmp_path, plan)
    con_first = {debate.debate_id: debate.con_first for debate in plan.debates}
    verdicts = recorded(tmp_path, Verdict)
    assert len(verdicts) >= 90
    assert all(
        (v.presented_first == "con") == ((v.replaces_judge_id or v.judge_id) in con_first[v.debate_id])
        for v in verdicts
    )
    with pytest.raises(UsageError, match=r"swap_order \(off, was on\)"):
        play_here(tmp_path, plan_here(configured, sample_topics=1)[0])


def test_a_leaning_towards_the_first_side_shows_in_what_is_recorded(tmp_path: Path):
    plan = plan_of(4, judges=3, topics=3, swap_order=True)
    leaning = {"j0": 2.0, "j1": 0.0, "j2": -2.0}
    judges = [
        judge.model_copy(update={"parameters": {"order_bias": leaning[judge.id], "noise": 0.0}})
        for judge in plan.judges
    ]
    play_here(tmp_path, plan.with_members(plan.debaters, judges), concurrency=8)
    leads: dict[tuple[str, str], list[Decimal]] = {}
    for verdict in recorded(tmp_path, Verdict, "run"):
        lead = sum((score.pro - score.con for score in verdict.scores), Decimal(0))
        leads.setdefault((verdict.judge_id, verdict.presented_first), []).append(lead)
    advantage = {j: mean(leads[j, "pro"]) - mean(leads[j, "con"]) for j in leaning}
    assert advantage["j0"] > 2 > advantage["j1"] > -2 > advantage["j2"]


# --- --skip-on-empty --------------------------------------------------------------------------------------------------


def test_debates_in_a_row_count_and_one_that_is_whole_ends_the_row():
    bans = Bans()
    for silent in ("a", "a", None, "a", "a"):
        bans.debate_ended(("a", "b"), is_complete=silent is None, silent=silent)
    assert bans.due(3) == []
    bans.debate_ended(("a", "c"), is_complete=False, silent=None)
    assert bans.due(3) == []
    bans.debate_ended(("a", "c"), is_complete=False, silent="a")
    assert bans.due(3) == ["a"]
    bans.ban("a", "why")
    assert bans.due(3) == []
    bans.lift("a")
    assert (bans.due(1), bans.reasons) == ([], {})


def test_a_debater_that_keeps_answering_empty_is_banned_for_this_and_later_sessions(tmp_path: Path):
    broken = [True]

    def script(received: Received) -> Behaviour:
        return answer("") if broken and received.json["model"] == "debater-0" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        plan, _ = plan_here(root)
        report = play_here(root, plan, concurrency=1, empty_debates=2, policy=AT_ONCE)
        assert (report.planned, report.complete, len(report.missing)) == (12, 4, 8)
        ((model_id, reason),) = report.banned
        assert model_id == "debater-0"
        assert re.match(
            r"Debater 'debater-0' is banned: \d of its debates in a row ended because it gave no speech", reason
        )
        silent = [event for event in events_of(journal_of(root), ("outcome",)) if event.get("silent") == "debater-0"]
        # Debates that were under way when the second one ended may have got as far as their turn.
        assert 2 <= len(silent) <= 4
        asked = Counter(received.json["model"] for received in server.requests)
        assert 3 * len(silent) <= asked["debater-0"] <= 3 * len(silent) + 2
        assert sum(why == reason for _, why in report.missing) == 8 - len(silent)
        count, journal = len(server.requests), journal_of(root).read_bytes()
        done = play(root, "--no-build")
        assert done.code == 5
        assert "8 of 12 debates" in done.error_line
        assert reason.removesuffix(".") in done.err
        assert raw(root, "select count(*) from raw.debates where status = 'incomplete'") == [(8,)]
        assert len(server.requests) == count
        assert journal_of(root).read_bytes() == journal
        broken.clear()
        assert play_here(root, plan, retry_failed=True).complete == 12
        assert play_here(root, plan, empty_debates=1).banned == ()


def test_the_row_goes_on_over_sessions_and_a_replay_does_not_count(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-0":
            return answer("")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        plan, _ = plan_here(root)
        # Without the option nobody is banned, however empty the answers are.
        first = play_here(root, plan, concurrency=4, policy=AT_ONCE)
        assert first.banned == ()
        assert (first.planned, first.complete) == (12, 4)
        count = len(server.requests)
        assert play_here(root, plan, empty_debates=9).banned == ()
        assert len(server.requests) == count
        banned = play_here(root, plan, empty_debates=8).banned
        assert [model_id for model_id, _ in banned] == ["debater-0"]
        assert len(server.requests) == count


# --- presets ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the packaged configuration, and nothing played. Tests only read it."""
    root = tmp_path_factory.mktemp("configured")
    shutil.copytree(packaged("configs"), root / "configs")
    return root


def quick(root: Path, seed: int = 12345) -> Plan:
    workspace = Workspace(root)
    options = PlanOptions(preset="quick-test", seed=seed)
    return planned(workspace, "q", None, load_inputs(workspace, options), options, ())[0]


def test_a_quick_test_is_one_topic_two_debaters_and_a_small_panel(configured: Path):
    plan = quick(configured)
    assert (len(plan.topics), len(plan.debaters), len(plan.debates)) == (1, 2, 2)
    assert all(len(debate.panel) == 3 for debate in plan.debates)
    assert plan.options.allow_judge_overlap
    assert plan == quick(configured)
    drawn = {(q.topics[0].id, *(d.id for d in q.debaters)) for q in (quick(configured, seed) for seed in range(8))}
    assert len(drawn) > 4


def test_a_quick_test_takes_debaters_and_judges_from_its_own_file(configured: Path, tmp_path: Path):
    shutil.copytree(configured / "configs", tmp_path / "configs")
    entries = "".join(f"  - {{id: q{i}, provider: simulated, model: q{i}}}\n" for i in range(2))
    (tmp_path / "configs" / "quick-test-models.yaml").write_text(
        f"num_judges: 2\ndebaters:\n{entries}judges:\n{entries}"
    )
    plan = quick(tmp_path)
    assert [debater.id for debater in plan.debaters] == ["q0", "q1"]
    assert plan.has_judge_overlap
    assert {len(debate.panel) for debate in plan.debates} == {2}


def test_a_production_run_plays_everything_with_nobody_simulated(configured: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="'sim-atlas' is simulated"):
        plan_here(configured, preset="prod-run")
    with FakeProvider(good_answers) as server:
        plan, _ = plan_here(write_workspace(tmp_path, server, is_built=False), preset="prod-run")
    assert (len(plan.topics), len(plan.debates)) == (2, 12)
    assert plan.options.preset == "prod-run"


OPTIONS = [
    "--prod-run",
    "--quick-test",
    "--sample-topics",
    "--topic",
    "--debater",
    "--judge",
    "--no-balanced-sides",
    "--swap-sides",
    "--judges-from-selection",
    "--judges-test",
    "--probe",
    "--list-prompts",
    "--new-model",
    "--new-judge",
    "--retry-failed",
    "--dry-run",
    "--estimate-time",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--prod-run", "--quick-test"),
        ("--prod-run", "--sample-topics"),
        ("--quick-test", "--judges-from-selection"),
        ("--judge", "--judges-from-selection"),
        ("--judges-test", "--probe"),
        ("--judges-test", "--dry-run"),
        ("--probe", "--new-model"),
    ],
)
def test_options_that_contradict_each_other_are_refused_by_name(one: str, other: str):
    with pytest.raises(UsageError, match=f"{one}.*{other}.*Leave one out"):
        refuse_contradictions((one, other))
    for alone in OPTIONS:
        refuse_contradictions([alone])


def test_contradictions_end_a_command_line_with_a_usage_error(tmp_path: Path):
    done = debatebench(tmp_path, "run", "--prod-run", "--quick-test")
    assert done.code == 2
    assert "--prod-run and --quick-test cannot be combined" in done.error_line
    assert "give both" in debatebench(tmp_path, "run", "--empty-debates", "2").error_line


@pytest.mark.parametrize("option", [["--resume"], ["--retry-failed"], ["--new-model", "debater-0"]])
def test_what_goes_on_with_a_run_never_begins_one(configured: Path, tmp_path: Path, option: list[str]):
    shutil.copytree(configured, tmp_path / "copied")
    done = debatebench(tmp_path / "copied", "run", "--run-tag", "quikc", *option, "--no-build")
    assert done.code == 2
    assert re.search(r"No run 'quikc' has begun in .*\. Known: ", done.error_line)
    assert not (tmp_path / "copied" / "warehouse" / "journal" / "quikc.jsonl").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--seed", "5", "--sample-topics", "1", "--swap-sides", "--no-balanced-sides", "--random-judges"],
        ["--topic", "t2", "--debater", "debater-0", "--debater", "debater-1", "--swap-order"],
        ["--quick-test"],
        ["--models-path", "others.yaml", "--debates-per-pair", "2"],
    ],
    ids=lambda options: options[0],
)
def test_a_tag_alone_goes_on_with_the_options_that_began_the_run(tmp_path: Path, options: list[str]):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        others = root / "others.yaml"
        others.write_text((root / "configs" / "models.yaml").read_text().replace("id: debater-", "id: other-"))
        options = [str(others) if option == "others.yaml" else option for option in options]
        begun = play(root, *options, "--no-build")
        assert begun.code == 0, begun.err
        asked = len(server.requests)
        before = journal_of(root).read_bytes()
        for extra in ([], ["--retry-failed", "--concurrency", "3"]):
            done = play(root, *extra, "--no-build")
            assert done.code == 0, (extra, done.err)
        assert len(server.requests) == asked
        assert journal_of(root).read_bytes() == before
        done = play(root, "--seed", "77", "--no-build")
        assert done.code == 2
        assert "seed (77, was" in done.error_line
        assert str(others) not in (debatebench(root, "query", "select options from raw.runs").out)


# --- probes -----------------------------------------------------------------------------------------------------------


def hosted(name: str, url: str, **settings: Any) -> MemberConfig:
    fields = {"provider": "http", "model": name, "endpoint": url, "api_key_env": "TINY_API_KEY", **settings}
    return MemberConfig(id=name, **fields)


def test_every_hosted_model_is_asked_once_and_told_apart_by_what_it_answers(tmp_path: Path):
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    replies = {
        "good": answer("ready", usage={"cost": 0.0001}),
        "gone": status(404, "No such model."),
        "thinker": answer("", choice={"finish_reason": "length"}, usage={"cost": 0.0002, "completion_tokens": 64}),
        "muser": answer("<think>Am I?", choice={"finish_reason": "length"}, usage=dict.fromkeys(counts)),
        "mute": answer(" "),
        "locked": status(401, f"Incorrect API key provided: {KEY}."),
    }
    with FakeProvider(lambda received: replies[received.json["model"]]) as server:
        everybody = [hosted(name, server.url) for name in replies]
        everybody += [hosted("good", server.url).model_copy(update={"id": "good-again"})]
        everybody += [hosted("keyless", server.url, api_key_env="UNSET_API_KEY")]
        probes = {p.id: p for p in asyncio.run(probe_members(everybody, {"TINY_API_KEY": KEY}))}
        assert len(server.requests) == 6
        assert all(received.json["max_tokens"] <= 64 for received in server.requests)
    assert {name: probe.answers for name, probe in probes.items()} == {
        "good": True,
        "gone": False,
        "thinker": False,
        "muser": False,
        "mute": False,
        "locked": False,
        "keyless": False,
    }
    assert "No such model." in str(probes["gone"].problem)
    assert "UNSET_API_KEY" in str(probes["keyless"].problem)
    spent = "Answered without text: its {}tokens were spent on thinking; add `thinking_tokens`."
    assert probes["thinker"].problem == spent.format("64 ")
    assert probes["muser"].problem == spent.format("")
    assert "holds no text" in str(probes["mute"].problem)
    assert KEY not in str(probes)
    assert [probes[name].was_asked for name in ("gone", "keyless")] == [True, False]


def test_a_probe_lands_nothing_and_says_what_it_cost(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return status(404, "Gone.") if received.json["model"] == "judge-1" else answer("ready", usage={"cost": 0.001})

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--probe", "--format", "json")
        assert len(server.requests) == 7
    assert done.code == 1
    assert "1 of 7 models did not answer: judge-1." in done.error_line
    assert "Sent requests to 7 models for 0.0060 USD. " in done.err
    rows = json.loads(done.out)
    assert {row["id"]: row["answers"] for row in rows}["judge-1"] is False
    assert not (root / "warehouse").exists()


def test_models_that_do_not_answer_are_left_out_of_a_run_that_begins(tmp_path: Path):
    silent = {"judge-1", "debater-2"}

    def script(received: Received) -> Behaviour:
        return status(404, "Gone.") if received.json["model"] in silent else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--drop-silent", "--sample-topics", "1", "--no-build")
        assert done.code == 0, done.err
        assert "debater 'debater-2' is left out: " in done.err
        assert "judge 'judge-1' is left out: " in done.err
        # Those that are left play all debates, and the run goes on with them without the option.
        asked = Counter(received.json["model"] for received in server.requests)
        assert (asked["debater-2"], asked["judge-1"]) == (1, 1)
        again = play(root, "--resume", "--no-build")
        assert again.code == 0, again.err
        assert Counter(received.json["model"] for received in server.requests) == asked
        begun = play(root, "--drop-silent")
        assert (begun.code, "is for a run that begins" in begun.error_line) == (2, True)
        # Too few are an error, and nothing has begun.
        silent.update({"debater-1"})
        few = play(root, "--drop-silent", tag="few")
        assert few.code == 2
        assert "Only 1 debater would be left, and the run needs 2." in few.error_line
        assert not (root / "warehouse" / "journal" / "few.jsonl").exists()


def test_options_for_one_run_stand_in_place_of_the_configuration_and_are_frozen(tmp_path: Path):
    limits = ("--temperature", "0.25", "--max-tokens", "50", "--judge-max-tokens", "70")
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        config = root / "configs" / "config.yaml"
        text = config.read_text().replace("role: con, stage: opening", "role: con, stage: opening, max_tokens: 40")
        config.write_text(text)
        models = root / "configs" / "models.yaml"
        models.write_text(models.read_text().replace("prompt_style: declared", "parameters: {temperature: 0.9}"))
        some = ("--topic", "t1", "--debater", "debater-0", "--debater", "debater-1")
        for tag, more in (("tiny", ()), ("stages", ("--apply-stage-token-limits",))):
            server.requests.clear()
            done = play(root, *limits, *some, *more, "--no-build", tag=tag)
            assert done.code == 0, done.err
            sent = {(is_judge(each), each.json["max_tokens"], each.json["temperature"]) for each in server.requests}
            stages = {(False, 50, 0.25), (False, 40, 0.25)} if more else {(False, 50, 0.25)}
            assert sent == {*stages, (True, 70, 0.0)}
        # It goes on with them without the options, and not with others.
        assert play(root, "--resume", "--no-build").code == 0
        other = play(root, "--temperature", "0.5", "--no-build")
        assert other.code == 2, other.err
        for words, told in (
            (("--apply-stage-token-limits",), "has no effect without --max-tokens"),
            (("--judge-max-tokens", "9", "--judges-from-selection"), "cannot be combined"),
            (("--temperature", "-1"), "-1"),
        ):
            wrong = play(root, *words, tag="new")
            assert (wrong.code, told in wrong.err) == (2, True), wrong.err
    assert debatebench(root, "build", "--select", "+run_settings").code == 0
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        settings = con.execute(
            "select item, string_agg(distinct value) from marts.run_settings where run_tag = 'tiny' and item in "
            "('debater_temperatures', 'turn_token_caps', 'judge_token_caps') group by item order by item"
        ).fetchall()
    assert settings == [("debater_temperatures", "0.25"), ("judge_token_caps", "70"), ("turn_token_caps", "50")]


def test_a_provider_that_is_busy_for_a_moment_does_not_fail_a_probe():
    refused: Counter[str] = Counter()

    def script(received: Received) -> Behaviour:
        model = received.json["model"]
        refused[model] += 1
        if model == "busy" and refused[model] == 1:
            return status(429, "Slow down.", headers={"retry-after": "0"})
        if model == "closed":
            return status(429, "Come back tomorrow.", headers={"retry-after": "250"})
        return answer("ready", usage={"cost": 0.001})

    with FakeProvider(script) as server:
        members = [hosted(name, server.url) for name in ("busy", "closed", "free")]
        probes = {p.id: p for p in asyncio.run(probe_members(members, {"TINY_API_KEY": KEY}))}
    assert {name: probe.answers for name, probe in probes.items()} == {"busy": True, "closed": False, "free": True}
    assert refused == {"busy": 2, "closed": 1, "free": 1}
    assert probes["busy"].cost_usd == probes["free"].cost_usd
    assert "Come back tomorrow." in str(probes["closed"].problem)


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (["--debater", "debater-1", "--judge", "judge-0", "--judge", "judge-3"], {"debater-1", "judge-0", "judge-3"}),
        (["--debater", "debater-1", "--debater", "debater-2", "--judges-from-selection"], {"debater-1", "debater-2"}),
        (["--judge", "judge-2"], {"debater-0", "debater-1", "debater-2", "judge-2"}),
    ],
    ids=["both", "judges-from-selection", "judges"],
)
def test_a_probe_asks_only_who_is_chosen(tmp_path: Path, options: list[str], asked: set[str]):
    with FakeProvider(lambda _: answer("ready")) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--probe", *options).code == 0
        assert sorted(received.json["model"] for received in server.requests) == sorted(asked)
        done = play(root, "--openrouter-probe", "--judge", "judge-9")
        assert done.code == 2
        assert "No judge 'judge-9'. Known: judge-0" in done.error_line


def test_judges_are_tried_on_a_tiny_debate(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        model = received.json["model"]
        if model == "judge-1":
            return answer(f"Gladly:\n```json\n{verdict_text(received)}\n```", usage={"cost": 0.001})
        if model == "judge-2":
            return answer("I would rather not say.", usage={"cost": 0.001})
        return status(500) if model == "judge-3" else answer(verdict_text(received), usage={"cost": 0.001})

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--judges-test", "--format", "json")
    assert done.code == 1
    assert "2 of 4 judges returned no valid verdict: judge-2, judge-3." in done.error_line
    found = [(r["judge_id"], r["is_valid"], r["is_repaired"], r["asks"], r["cost_usd"]) for r in json.loads(done.out)]
    assert [row[:4] for row in found] == [
        ("judge-0", True, False, 1),
        ("judge-1", True, True, 1),
        ("judge-2", False, False, 2),
        ("judge-3", False, False, 1),
    ]
    assert [Decimal(str(row[4])) for row in found[:3]] == [Decimal("0.001"), Decimal("0.001"), Decimal("0.002")]
    assert not (root / "warehouse").exists()


def test_a_judge_that_answers_with_slips_or_in_a_tool_call_is_tried_with_one_request(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        text = verdict_text(received)
        if received.json["model"] == "judge-0":
            return answer(None, message={"tool_calls": [{"function": {"name": "verdict", "arguments": text}}]})
        return answer(text[:-1] + ",}") if received.json["model"] == "judge-1" else answer(text)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=3, is_built=False)
        done = play(root, "--judges-test", "--format", "json")
        assert len(server.requests) == 3
    assert done.code == 0, done.err
    assert [(row["is_valid"], row["is_repaired"]) for row in json.loads(done.out)] == [
        (True, True),
        (True, True),
        (True, False),
    ]


def test_a_judges_test_needs_no_network_for_simulated_judges():
    config = tiny_config()
    judges = members("j", 2)
    prompts = load_prompts(Workspace(Path("/nonexistent")), config, judges)
    checks = asyncio.run(check_judges(judges, config, prompts, {}))
    assert [(check.judge_id, check.is_valid) for check in checks] == [("j0", True), ("j1", True)]


# --- --estimate-time --------------------------------------------------------------------------------------------------


def timed_plan(debaters: int = 3, topics: int = 2) -> Plan:
    return plan_of(debaters, topics=topics).with_members(
        members("d", debaters, provider="http"), members("j", 5, provider="http")
    )


def latencies(turn_ms: dict[int, float], verdict_ms: dict[int, float]) -> Latencies:
    return Latencies(
        {("http", f"d-model-{i}"): ms for i, ms in turn_ms.items()},
        {("http", f"j-model-{i}"): ms for i, ms in verdict_ms.items()},
    )


def test_time_lies_between_the_slots_share_and_the_longest_debate_on_top():
    plan = timed_plan()
    stored = latencies(dict.fromkeys(range(3), 1000.0), dict.fromkeys(range(5), 2000.0))
    found = estimate_time(plan, stored, 4)
    # 12 debates of four turns of 1 s and three verdicts of 2 s; a debate takes its turns and one verdict.
    assert (found.calls, found.call_s, found.longest_debate_s) == (84, 120.0, 6.0)
    assert (found.least_s, found.most_s) == (30.0, 36.0)
    crowded = estimate_time(plan, stored, 1000)
    assert (crowded.least_s, crowded.assumed) == (6.0, ())
    assert "30 s to 36 s" in found.summary()


def test_who_has_no_timing_is_named_and_taken_for_the_median_of_the_others():
    plan = timed_plan()
    found = estimate_time(plan, latencies({0: 1000.0, 1: 3000.0}, dict.fromkeys(range(5), 0.0)), 1)
    assert found.assumed == ("d2",)
    assert found.call_s == 12 * 4 * 2.0
    assert "estimated by the median of the others: d2" in found.summary()
    nothing = estimate_time(plan, Latencies({}, {}), 1)
    assert (nothing.least_s, nothing.most_s) == (None, None)
    assert "the duration is unknown" in nothing.summary()


def test_simulated_debaters_and_judges_take_no_time():
    found = estimate_time(plan_of(), Latencies({("simulated", "d-model-0"): 9e9}, {}), 2)
    assert (found.least_s, found.assumed) == (0.0, ())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1e5), min_size=8, max_size=8), st.integers(1, 200))
def test_more_slots_never_take_longer(ms: list[float], slots: int):
    stored = latencies(dict(enumerate(ms[:3])), dict(enumerate(ms[3:])))
    plan = timed_plan()
    few, many = estimate_time(plan, stored, slots), estimate_time(plan, stored, slots + 1)
    assert few.least_s is not None
    assert few.most_s is not None
    assert few.least_s <= few.most_s
    assert (many.least_s or 0.0) <= few.least_s
    assert few.least_s >= (few.longest_debate_s or 0.0)


def test_stored_timings_are_medians_by_model(two_runs: Path):
    stored = stored_latencies(Workspace(two_runs))
    expected = raw(two_runs, "select model_id, median(duration_ms) from raw.turns group by all")
    assert {("simulated", model_id): ms for model_id, ms in expected} == stored.turn_ms
    assert {model for _, model in stored.request_ms} == {
        judge for (judge,) in raw(two_runs, "select judge_id from raw.judges")
    }
    slow = stored_latencies(Workspace(two_runs), 0.9)
    expected = raw(two_runs, "select model_id, quantile_cont(duration_ms, 0.9) from raw.turns group by all")
    assert {("simulated", model_id): ms for model_id, ms in expected} == slow.turn_ms
    assert all(slow.request_ms[model] >= ms for model, ms in stored.request_ms.items())
    assert stored_latencies(Workspace(two_runs / "nothing")) == Latencies({}, {})


def test_estimating_the_time_asks_nobody(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        done = play(write_workspace(tmp_path, server, is_built=False), "--estimate-time")
        assert not server.requests
    assert done.code == 0
    assert "12 debates: 48 calls" in done.out
    assert "the duration is unknown" in done.err


# --- selections and kept prompts --------------------------------------------------------------------------------------


def test_what_is_selected_by_id_stays_selected_when_the_run_goes_on(configured: Path, tmp_path: Path):
    shutil.copytree(configured / "configs", tmp_path / "configs")
    chosen = {"selected_topics": ("t003",), "selected_debaters": ("sim-delta", "sim-atlas")}
    plan, _ = plan_here(tmp_path, **chosen)
    assert ([t.id for t in plan.topics], [d.id for d in plan.debaters]) == (["t003"], ["sim-atlas", "sim-delta"])
    play_here(tmp_path, plan)
    assert plan_here(tmp_path)[0] == plan
    assert plan_here(tmp_path, ("sim-cedar",))[1].debaters[0].id == "sim-cedar"
    with pytest.raises(UsageError, match=r"topics \(t004 added; t003 removed\)"):
        play_here(
            tmp_path, plan_here(tmp_path, selected_topics=("t004",), selected_debaters=("sim-delta", "sim-atlas"))[0]
        )


def test_an_unknown_selection_is_refused_with_what_there_is(configured: Path):
    with pytest.raises(UsageError, match=r"No judge 'x'\. Known: sim-judge-amber, "):
        plan_here(configured, selected_judges=("x",))


def test_the_prompt_library_holds_pairs_for_debaters_and_styles_for_judges(configured: Path, tmp_path: Path):
    shutil.copytree(configured / "configs", tmp_path / "configs")
    for side in ("pro", "con"):
        (tmp_path / "configs" / "prompts" / f"debater_{side}_terse.md").write_text(f"Speak briefly for {side}.\n")
    found = prompt_library(Workspace(tmp_path))
    assert [(p.role, p.style, len(p.paths)) for p in found] == [
        ("debater", "default", 2),
        ("debater", "terse", 2),
        ("judge", "declared", 1),
        ("judge", "default", 1),
        ("judge", "reasoned", 1),
    ]
    assert found[1].opening == "Speak briefly for pro."
    plan, _ = plan_here(tmp_path, debater_prompt="terse", judge_prompt="default", sample_topics=1)
    assert plan.prompts.debater_system("con") == "Speak briefly for con.\n"
    assert plan.prompts.styles == ("default",)
    assert {judge.prompt_style for judge in plan.judges} == {"default"}
    with pytest.raises(UsageError, match=r"debater_pro_shouting\.md"):
        plan_here(tmp_path, debater_prompt="shouting")


@given(st.sets(st.integers(1, 60), min_size=1))
def test_numbers_and_ranges_name_what_they_say(numbers: set[int]):
    text = ", ".join(f"{n}-{n}" if n % 3 == 0 else str(n) for n in sorted(numbers, reverse=True))
    assert parse_numbers(text, 60) == sorted(numbers)


@pytest.mark.parametrize(
    ("text", "found"), [("1,3-5", [1, 3, 4, 5]), (" 2 4 - 6 ", [2, 4, 5, 6]), ("3,3,1-3", [1, 2, 3]), (",", [])]
)
def test_lists_of_numbers_are_read_generously(text: str, found: list[int]):
    assert parse_numbers(text, 9) == found


@pytest.mark.parametrize("text", ["0", "10", "5-3", "1-", "-3", "x", "1;2", "1-2-3", "٣", "9999999999"])
def test_numbers_that_are_not_there_are_refused(text: str):
    with pytest.raises(UsageError):
        parse_numbers(text, 9)


class Person:
    """Somebody who types what was written down beforehand, and a terminal that remembers what it showed."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown = ""

    def ask(self, prompt: str) -> str:
        self.shown += prompt
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    @property
    def terminal(self) -> Terminal:
        return Terminal(self.ask, lambda text: setattr(self, "shown", f"{self.shown}{text}\n"))


ROWS = [("t1", "cities", "Close the centre."), ("t2", "schools", "Start at ten."), ("t3", "cities", "Build up.")]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([""], None),
        (["1,3"], [0, 2]),
        (["2-3"], [1, 2]),
        (["cities", ""], [0, 2]),
        (["CITIES up", ""], [2]),
        (["nothing like it", "2"], [1]),
        (["cities", "*", ""], None),
        (["cities", "2"], [1]),
        (["7", "1"], [0]),
    ],
)
def test_rows_are_picked_by_number_or_by_filter(answers: list[str], found: list[int] | None):
    person = Person(*answers)
    assert pick("Topics", ROWS, person.terminal) == found
    assert not person.answers


def test_what_is_shown_of_a_long_list_says_that_there_is_more():
    person = Person("row 77", "")
    rows = [(f"row {i}",) for i in range(100)]
    assert pick("Models", rows, person.terminal) == [77]
    assert "… and 70 more" in person.shown
    assert "Models: 1 of 100" in person.shown


def offered(configured: Path) -> Inputs:
    return load_inputs(Workspace(configured), PlanOptions())


def library(*styles: str) -> list[LibraryPrompt]:
    return [LibraryPrompt("judge", style, (), f"You are {style}.") for style in styles]


def test_enter_everywhere_selects_nothing(configured: Path):
    person = Person("", "", "", "")
    found = select(offered(configured), library("declared", "default"), person.terminal, {})
    assert set(found.options.values()) == {None, ()}
    assert found.command_line() == ""
    assert found.inputs == offered(configured)


def test_a_selection_is_told_as_options(configured: Path):
    person = Person("transport", "", "1-2", "amber", "", "2")
    found = select(offered(configured), library("declared", "default"), person.terminal, {})
    assert found.command_line() == (
        "--topic t001 --topic t002 --topic t003 --debater sim-atlas --debater sim-breeze "
        "--judge sim-judge-amber --judge-prompt default"
    )


def test_answers_that_end_start_nothing(configured: Path):
    with pytest.raises(InterruptedRunError, match="no run was started"):
        select(offered(configured), [], Person("1").terminal, {})


CATALOGUE = {
    "data": [
        {"id": "vendor/plain", "name": "Plain", "pricing": {"prompt": "0.000001", "completion": "0.000002"}},
        {"id": "vendor/evil\u001b[31m", "name": "x"},
        {
            "id": "vendor/named",
            "name": "\u001b]0;owned\u0007\u202eevil",
            "pricing": {"prompt": "-1", "completion": "-1"},
        },
        {"id": 7},
        "no entry",
    ]
}


def test_models_of_a_live_catalogue_play_and_go_on_although_no_file_has_them(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        server.catalogue = json.dumps(CATALOGUE).encode()
        root = write_workspace(tmp_path, server, is_built=False)
        workspace = Workspace(root)
        inputs = load_inputs(workspace, PlanOptions())
        # Topic 1; from the first catalogue (before the known hosts) its first model; that and debater-0; all judges.
        person = Person("1", "+", "1", "1", "1,4", "")
        found = select(inputs, [], person.terminal, {"TINY_API_KEY": KEY})
        assert found.options["selected_debaters"] == ("debater-0", "vendor-plain")
        assert found.options["catalogue_members"] == ("vendor-plain",)
        assert "$1 in, $2 out per million tokens" in person.shown
        assert "\u001b" not in person.shown
        assert "\u202e" not in person.shown
        assert KEY not in person.shown
        plan, _ = planned(workspace, "tiny", None, found.inputs, PlanOptions(**found.options), ())
        report = play_here(root, plan)
        assert (report.planned, report.complete) == (2, 2)
        assert plan.debater("vendor-plain").pricing == Pricing(
            prompt=Decimal("0.000001"), completion=Decimal("0.000002")
        )
        assert {r.json["model"] for r in server.requests if not is_judge(r)} == {"debater-0", "vendor/plain"}
        begun = read_begun_plan(root / "warehouse" / "journal" / "tiny.jsonl")
        again, _ = planned(workspace, "tiny", begun, inputs, with_begun_options(begun, PlanOptions(), ()), ())
        assert again == plan


def test_a_catalogue_is_filtered_by_age_and_modality(tmp_path: Path):
    reads_images = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}
    listed = [
        {"id": "v/old", "created": 1_700_000_000, "architecture": {"modality": "text->text"}},
        {"id": "v/new", "created": 1_780_000_000, "architecture": {"modality": "text->text"}},
        {"id": "v/eyes", "created": 1_780_000_000, "architecture": reads_images},
        {"id": "v/painter", "created": 1_780_000_000, "architecture": {"modality": "text->image"}},
        {"id": "v/silent", "created": -1, "architecture": {"modality": 7}},
    ]
    with FakeProvider(good_answers) as server:
        server.catalogue = json.dumps({"data": listed}).encode()
        root = write_workspace(tmp_path, server, is_built=False)
        person = Person("1", "+", "1", ">2026-01", "image", "3", "1,4", "")
        found = select(load_inputs(Workspace(root), PlanOptions()), [], person.terminal, {"TINY_API_KEY": KEY})
    assert found.options["selected_debaters"] == ("debater-0", "v-eyes")
    shown = person.shown[person.shown.index("Models of http") :]
    whole, since, seeing = (shown.split("Models of http: ")[n] for n in (1, 2, 3))
    assert [name in whole for name in ("v/old", "v/new", "v/eyes", "v/painter", "v/silent")] == [1, 1, 1, 0, 1]
    assert [name in since for name in ("v/old", "v/new", "v/eyes", "v/silent")] == [0, 1, 1, 0]
    assert [name in seeing for name in ("v/old", "v/new", "v/eyes")] == [0, 0, 1]
    assert "2026-05-28  text+image->text" in seeing
    assert "Not listed: 1 model without text" in person.shown


def test_a_catalogue_that_cannot_be_read_is_said_and_the_list_stays(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        inputs = load_inputs(Workspace(root), PlanOptions())
        person = Person("", "+", "1", "1-2", "")
        found = select(inputs, [], person.terminal, {"TINY_API_KEY": KEY})
        assert found.options["selected_debaters"] == ("debater-0", "debater-1")
        assert "could not be read" in person.shown


# --- at a terminal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def workspace(configured: Path, tmp_path: Path) -> Path:
    shutil.copytree(configured / "configs", tmp_path / "configs")
    return tmp_path


def test_a_new_run_at_a_terminal_asks_and_the_run_that_goes_on_does_not(workspace: Path):
    with closing(PseudoTerminal(workspace, "--run-tag", "asked", "--no-build")) as terminal:
        for title, typed in (("Topics (", "2"), ("Debaters (", "1,6"), ("Judges (", ""), ("Judges' prompt, one (", "")):
            terminal.until(title)
            terminal.type(typed + "\n")
        code, shown = terminal.end()
        assert code == 0, shown
        assert "--topic t002 --debater sim-atlas --debater sim-fjord" in shown
    begun = read_begun_plan(workspace / "warehouse" / "journal" / "asked.jsonl")
    assert begun is not None
    assert ([t.id for t in begun.topics], [d.id for d in begun.debaters]) == (["t002"], ["sim-atlas", "sim-fjord"])
    with closing(PseudoTerminal(workspace, "--run-tag", "asked", "--no-build")) as terminal:
        code, shown = terminal.end()
    assert code == 0, shown
    assert "What should be played?" not in shown


@pytest.mark.parametrize(
    ("arguments", "to_terminal"),
    [(["--no-input"], True), (["--sample-topics", "1"], True), (["--quick-test"], True), ([], False)],
    ids=["told not to", "told what", "a preset", "output to a file"],
)
def test_nobody_is_asked_when_nothing_is_to_be_asked(workspace: Path, arguments: list[str], to_terminal: bool):
    with closing(
        PseudoTerminal(workspace, "--run-tag", "x", "--dry-run", *arguments, output_to_terminal=to_terminal)
    ) as terminal:
        code, shown = terminal.end()
    assert code == 0, shown
    assert "What should be played?" not in shown


def test_ending_the_input_at_a_terminal_starts_nothing(workspace: Path):
    with closing(PseudoTerminal(workspace, "--run-tag", "x")) as terminal:
        terminal.until("Topics (")
        terminal.type("\x04")
        code, shown = terminal.end()
    assert code == 130
    assert "no run was started" in shown
    assert not (workspace / "warehouse").exists()
