"""Debates played and judged through real providers: the simulated one, and one over HTTP."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fake_provider import FakeProvider, Received, answer
from scripted_ask import tiny_plan

from debatebench.config.load import load_config, load_debaters, load_judges, load_topics
from debatebench.config.prompt_files import load_prompts
from debatebench.config.types import MemberConfig
from debatebench.journal.writing import Journal
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.play.calls import DurableCalls
from debatebench.play.debate import play_debate
from debatebench.play.pacing import Pacing
from debatebench.play.panel import judge_debate
from debatebench.play.progress import Progress
from debatebench.play.resume import Resume
from debatebench.play.retries import RetryPolicy
from debatebench.providers import make_provider
from debatebench.shared.records import Turn, Verdict
from debatebench.shared.workspace import Workspace

NOW = datetime(2026, 1, 1)
Played = dict[str, tuple[list[Turn], list[Verdict]]]


def packaged_plan(root: Path, topics: int, **judge_parameters: Any) -> Plan:
    """The packaged tournament with fewer topics and two debaters; `judge_parameters` change all judges."""
    workspace = Workspace(root)
    config = load_config(workspace.config_file("config.yaml"))
    judges = [
        judge.model_copy(update={"parameters": {**judge.parameters, **judge_parameters}})
        for judge in load_judges(workspace.config_file("judges.yaml"))
    ]
    return make_plan(
        "packaged",
        config,
        load_topics(workspace.config_file("topics.json"))[:topics],
        load_debaters(workspace.config_file("models.yaml"))[:2],
        judges,
        load_prompts(workspace, config, judges),
        PlanOptions(),
        None,
    )


def play(plan: Plan, journal_path: Path) -> tuple[Played, int]:
    """Play every debate of the plan through durable calls; also say how many answers were new."""
    resume, progress = Resume(), Progress()

    async def main(journal: Journal) -> Played:
        providers = {member.id: make_provider(member, {}) for member in (*plan.debaters, *plan.judges)}
        calls = DurableCalls(
            plan.run_tag,
            journal,
            resume,
            lambda member: providers[member.id],
            pacing=Pacing(8),
            now=lambda: NOW,
            progress=progress,
            policy=RetryPolicy(first_wait_s=0.0),
        )
        played: Played = {}
        for debate in plan.debates:
            turns = [turn async for turn in play_debate(debate, plan, calls)]
            played[debate.debate_id] = (
                turns,
                [each.verdict for each in await judge_debate(debate, turns, plan, calls)],
            )
        for provider in providers.values():
            await provider.aclose()
        return played

    with Journal.open(journal_path, resume.see) as journal:
        before = journal.count
        played = asyncio.run(main(journal))
        assert (progress.calls_answered == 0) == (journal.count == before)
    return played, progress.calls_answered


def test_simulated_debaters_and_judges_play_whole_debates(tmp_path: Path) -> None:
    plan = packaged_plan(tmp_path, topics=2, malformed=0.0)
    played, answers = play(plan, tmp_path / "run.jsonl")
    assert len(played) == len(plan.debates) == 4
    assert answers == 4 * (len(plan.config.rounds) + plan.config.judges_per_debate)
    for turns, verdicts in played.values():
        assert [turn.side for turn in turns] == [round_.role for round_ in plan.config.rounds]
        assert all(
            turn.content and "<think" not in turn.content and "END_OF_TURN" not in turn.content for turn in turns
        )
        assert all(turn.cost is not None and turn.total_tokens for turn in turns)
        assert [(v.panel_position, v.is_valid, v.asks) for v in verdicts] == [(0, True, 1), (1, True, 1), (2, True, 1)]
        for verdict in verdicts:
            assert [score.dimension for score in verdict.scores or ()] == list(plan.config.dimensions)
            assert not verdict.is_injection_suspected
            assert (verdict.declared_winner is not None) == plan.prompts.declares_winner(
                plan.judge(verdict.judge_id).prompt_style
            )


def test_simulated_judges_with_bad_first_answers_still_fill_every_panel(tmp_path: Path) -> None:
    plan = packaged_plan(tmp_path, topics=2, malformed=1.0)
    played, _ = play(plan, tmp_path / "run.jsonl")
    verdicts = [verdict for _, heard in played.values() for verdict in heard]
    assert len(verdicts) == len(plan.debates) * plan.config.judges_per_debate
    assert all(v.is_valid for v in verdicts)
    # A first answer within a fence or prose is repaired; every other kind is asked for again.
    assert all((v.asks == 1) == v.is_repaired for v in verdicts)
    assert max(v.asks for v in verdicts) == 2


def test_playing_again_from_the_journal_asks_nobody_and_gives_the_same_records(tmp_path: Path) -> None:
    plan = packaged_plan(tmp_path, topics=1, malformed=0.7)
    first, answers = play(plan, tmp_path / "run.jsonl")
    second, more_answers = play(plan, tmp_path / "run.jsonl")
    assert answers > 0
    assert more_answers == 0
    assert first == second


@pytest.mark.parametrize("bad", ["PRO wins.", '{"scores": {"pro": {"clarity": "7"}}}', '{"scores": NaN}'])
def test_a_debate_over_http_replaces_a_judge_that_answers_badly(tmp_path: Path, bad: str) -> None:
    good = json.dumps({"scores": {side: {"clarity": 7, "clash": 3} for side in ("pro", "con")}})
    plan = tiny_plan()
    bad_judge = plan.judge(plan.debates[0].panel[1])

    def script(received: Received) -> Any:
        model = received.json["model"]
        if model == bad_judge.model:
            return answer(bad)
        return answer(good if model.startswith("m-j") else f"<think>hm</think>I am {model}.<END_OF_TURN>")

    def over_http(member: MemberConfig, url: str) -> MemberConfig:
        return member.model_copy(update={"provider": "http", "endpoint": url})

    with FakeProvider(script) as server:
        plan = plan.model_copy(
            update={
                "debaters": tuple(over_http(member, server.url) for member in plan.debaters),
                "judges": tuple(over_http(member, server.url) for member in plan.judges),
            }
        )
        # model_copy keeps what was looked up before; the plan is read anew, as after a restart.
        plan = Plan.from_json(plan.to_json())
        only = plan.model_copy(update={"debates": plan.debates[:1]})
        ((turns, verdicts),) = play(only, tmp_path / "run.jsonl")[0].values()
        asked = [received.json["model"] for received in server.requests]
    assert [turn.content for turn in turns] == ["I am m-a.", "I am m-b."] * 2
    assert [v.is_valid for v in verdicts] == [True, False, True, True]
    assert (verdicts[1].judge_id, verdicts[2].replaces_judge_id) == (bad_judge.id, bad_judge.id)
    assert asked.count(bad_judge.model) == 2
    assert len(asked) == 4 + 5
    assert not any("debatebench" in received.json for received in server.requests)
