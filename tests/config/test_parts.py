"""Debate formats, rubrics and weaknesses in files of their own: read strictly, and shown in prompts as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from debatebench.config.answer_form import AnswerForm
from debatebench.config.load import load_config
from debatebench.config.parts import load_format, load_rubric, load_weaknesses, part_names, part_path
from debatebench.config.prompt_files import load_prompts
from debatebench.config.prompts import debater_values, fill, judge_values
from debatebench.config.transcript_layout import BP_ROLES
from debatebench.config.types import Config, DimensionConfig, Round, WeaknessConfig
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.parsing import parse_verdict
from debatebench.providers.sent_schema import sent_schema
from debatebench.shared.errors import ConfigError, UsageError
from debatebench.shared.workspace import Workspace, packaged

ANCHORED = DimensionConfig(
    min=Decimal(1), max=Decimal(10), description="Depth?", anchors={"1": "Shallow.", "10": "Deep.", "2": "Less so."}
)
WEAKNESS = WeaknessConfig(id="fog", instruction="Be {{ side }} about it.", turns="all", dimension="depth")
CONFIG = Config(rounds=(Round(role="pro", stage="opening"),), dimensions={"depth": ANCHORED})

GOOD = "weaknesses:\n  - {id: fog, turns: all, dimension: clarity, instruction: Be vague.}\n"
READERS: dict[str, Callable[[Path], Any]] = {
    "format": load_format,
    "rubric": load_rubric,
    "weaknesses": load_weaknesses,
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def write(root: Path, name: str, text: str) -> Path:
    path = root / "configs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("weaknesses", "", "weaknesses: found nothing; allowed: a list with at least one weakness"),
        ("weaknesses", "weaknesses: []", "weaknesses: found nothing; allowed: a list with at least one weakness"),
        ("weaknesses", "weakness: []", "found an unknown key (did you mean 'weaknesses'?)"),
        (
            "weaknesses",
            GOOD + GOOD.partition("\n")[2],
            "weaknesses[1].id: found 'fog'; allowed: ids without duplicates",
        ),
        ("weaknesses", GOOD.replace("all", "late"), "weaknesses[0].turns: found 'late'; allowed: all, after_opponent"),
        ("weaknesses", GOOD.replace("turns: all, ", ""), "weaknesses[0].turns: found nothing; allowed: all"),
        ("weaknesses", GOOD.replace("Be vague.", "' '"), "weaknesses[0].instruction: found ' '; allowed: text"),
        (
            "weaknesses",
            GOOD.replace("dimension: clarity, ", ""),
            "weaknesses[0].dimension: found nothing; allowed: text",
        ),
        ("weaknesses", GOOD.replace("id: fog", "name: fog"), "weaknesses[0].name: found an unknown key"),
        ("format", "rounds: []", "rounds: found an empty list; allowed: a list with at least one turn"),
        ("format", "rounds: [{role: aff, stage: opening}]", "rounds[0].role: found 'aff'; allowed: pro, con"),
        ("format", "debate: {rounds: []}", "debate: found an unknown key; allowed: rounds"),
        ("rubric", "dimensions: {}", "dimensions: found an empty mapping; allowed: at least one dimension"),
        ("rubric", "dimension: {}", "found an unknown key (did you mean 'dimensions'?)"),
        (
            "rubric",
            "scale: {min: 1, max: 3}\ndimensions: {clash: {anchors: {'4': Good.}}}",
            "dimensions.clash.anchors.4: found '4'; allowed: scores from 1 to 3, each once, such as \"1\"",
        ),
        (
            "rubric",
            "dimensions: {clash: {anchors: {'1': Bad., '1.0': Bad.}}}",
            "dimensions.clash.anchors.'1.0': found '1.0'; allowed: scores from 1 to 10, each once",
        ),
        ("rubric", "dimensions: {clash: {anchors: {high: Good.}}}", "anchors.high: found 'high'; allowed: scores from"),
        ("rubric", "dimensions: {clash: {anchors: {'1': ''}}}", "anchors.1: found ''; allowed: text"),
        (
            "rubric",
            "dimensions: {clash: {min: 0, max: 5, step: 0.4}}",
            "dimensions.clash.step: found 0.4; allowed: a number above 0 of which 0 and 5 are multiples",
        ),
        ("rubric", "dimensions: {clash: {step: 0.5, integer: true}}", "step: found 0.5; allowed: a step that fits"),
        ("rubric", "scale: {step: 0}\ndimensions: [clash]", "scale.step: found 0; allowed: a number above 0"),
        ("rubric", "dimensions: {clash: {anchors: [Good.]}}", "anchors: found a list; allowed: a mapping"),
        ("rubric", "dimensions: {clash: {by_category: [law]}}", "by_category: found a list; allowed: a mapping"),
        (
            "rubric",
            "dimensions: {clash: {by_category: {law: {pro: Much.}}}}",
            "dimensions.clash.by_category.law.con: found nothing; allowed: text",
        ),
        (
            "rubric",
            "dimensions: {clash: {by_category: {law: {aff: Much., con: Less.}}}}",
            "dimensions.clash.by_category.law.aff: found an unknown key",
        ),
        (
            "rubric",
            "dimensions: {clash: {by_category: {law: {pro: A., con: B.}, ' LAW': {pro: A., con: B.}}}}",
            "by_category. LAW: found ' LAW'; allowed: names of categories, each once",
        ),
    ],
)
def test_a_fault_is_named_with_its_place_and_what_is_allowed(tmp_path: Path, kind: str, text: str, message: str):
    path = write(tmp_path, f"{kind}.yaml", text)
    with pytest.raises(ConfigError) as caught:
        READERS[kind](path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_rubric_is_named_by_its_file_unless_it_states_a_version(tmp_path: Path):
    path = write(tmp_path, "rubrics/mine.yaml", "dimensions: [clash]")
    assert load_rubric(path).version == "mine"
    path.write_text("version: two\ndimensions: [clash]")
    assert load_rubric(path).version == "two"


def test_a_file_of_the_workspace_stands_before_the_packaged_one_and_beside_it(workspace: Workspace):
    own = write(workspace.root, "formats/karl_popper.yaml", "rounds: [{role: pro, stage: only}]")
    write(workspace.root, "formats/duel.yaml", "rounds: [{role: con, stage: only}]")
    names = part_names(workspace, "formats")
    assert names == tuple(sorted(names))
    assert {"duel", "karl_popper"} < set(names)
    assert part_path(workspace, "formats", "karl_popper") == own
    with pytest.raises(UsageError, match=r"No format 'jury' in configs/formats/\. Known: .*duel, karl_popper"):
        part_path(workspace, "formats", "jury")
    with pytest.raises(UsageError, match=r"No rubric '\.\./config' in configs/rubrics/\. Known: .*debateflow"):
        part_path(workspace, "rubrics", "../config")


def test_anchors_stand_below_their_dimension_in_the_order_of_the_scores():
    for config in (CONFIG, Config.model_validate(CONFIG.model_dump(mode="json"))):
        form = AnswerForm(config.dimensions)
        values = judge_values(config, form, motion="M.", category=None, info_slide=None, transcript="")
        assert values["dimensions"].splitlines() == [
            "- depth: whole number from 1 to 10. Depth?",
            "  1 = Shallow.",
            "  2 = Less so.",
            "  10 = Deep.",
        ]


def test_a_category_adds_what_it_asks_of_each_side_and_only_where_the_rubric_says_it(tmp_path: Path):
    path = write(
        tmp_path,
        "rubrics/mine.yaml",
        "dimensions: {depth: {description: Depth?, anchors: {'1': Flat.}, by_category: {Town Law: "
        "{pro: 'All\n of it.', con: Some.}}}, breadth: }",
    )
    plain, guided = CONFIG, CONFIG.model_copy(update={"dimensions": load_rubric(path).dimensions})
    stored = Config.model_validate(guided.model_dump(mode="json"))
    assert "by_category" not in plain.model_dump_json()
    assert stored == guided

    def lines(config: Config, category: str | None, positions: tuple[str, ...] = ("pro", "con")) -> list[str]:
        form = AnswerForm(config.dimensions, positions)
        topic = {"motion": "M.", "category": category, "info_slide": None}
        values = judge_values(config, form, **topic, transcript="", guided=category)
        return values["dimensions"].splitlines()

    before = ["- depth: whole number from 1 to 10. Depth?", "  1 = Flat.", "- breadth: whole number from 1 to 10."]
    for category in (None, "", "general", "law", "town"):
        assert lines(stored, category) == before
    asked = ["  PRO in the category Town Law: All of it.", "  CON in the category Town Law: Some."]
    for category in ("Town Law", " town\n  LAW"):
        assert lines(stored, category) == [before[0], *asked, *before[1:]]
    assert lines(stored, "town law", ("OG", "OO", "CG", "CO"))[1:3] == [
        "  OG and CG in the category Town Law: All of it.",
        "  OO and CO in the category Town Law: Some.",
    ]


def test_the_packaged_rubric_says_what_each_category_of_debateflow_asks_of_each_side():
    dimensions = load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml").dimensions
    assert {name: list(each.by_category) for name, each in dimensions.items() if each.by_category} == {
        "burden_fulfillment": ["policy", "values", "empirical"]
    }
    asked = dimensions["burden_fulfillment"].by_category.values()
    assert len({text for each in asked for text in (each.pro, each.con)}) == 6


def test_a_step_is_in_the_prompt_the_schema_and_the_check_of_answers_and_of_the_shared_scale(tmp_path: Path):
    path = write(
        tmp_path,
        "rubrics/halves.yaml",
        "scale: {min: 0, max: 2, step: 0.5}\n"
        "dimensions: {clash: {}, points: {min: 50, max: 100, step: 5}, depth: {min: 1, max: 3}}",
    )
    dimensions = load_rubric(path).dimensions
    assert [each.scale for each in dimensions.values()] == [
        "number from 0 to 2 in steps of 0.5",
        "whole number from 50 to 100 in steps of 5",
        "whole number from 1 to 3",
    ]
    assert [each.columns()["step"] for each in dimensions.values()] == [Decimal("0.5"), 5, 1]
    sent = sent_schema(AnswerForm(dimensions).schema())["properties"]["scores"]["properties"]["pro"]["properties"]
    assert sent == {
        "clash": {"type": "number", "enum": [0, 0.5, 1, 1.5, 2]},
        "points": {"type": "integer", "enum": [*range(50, 101, 5)]},
        "depth": {"type": "integer", "enum": [1, 2, 3]},
    }
    scores = {"clash": 1.5, "points": 75, "depth": 2}
    text = json.dumps({"scores": {"pro": scores, "con": scores}, "winner": "tie"})
    assert parse_verdict(text, dimensions, declares_winner=True).scores[0].pro == Decimal("1.5")
    for wrong, other, scale in (("1.5", "1.2", "0 to 2 in steps of 0.5"), ("75", "76", "50 to 100 in steps of 5")):
        with pytest.raises(InvalidVerdictError, match=scale):
            parse_verdict(text.replace(wrong, other), dimensions, declares_winner=True)


def test_without_anchors_a_configuration_and_its_prompts_are_as_before():
    config = load_config(packaged("configs") / "config.yaml")
    assert all("anchors" not in dimension for dimension in config.model_dump(mode="json")["dimensions"])
    form = AnswerForm(config.dimensions)
    lines = judge_values(config, form, motion="M.", category=None, info_slide=None, transcript="")["dimensions"]
    assert len(lines.splitlines()) == len(config.dimensions)


def test_a_weakness_is_told_after_everything_else_and_only_where_there_is_one(workspace: Workspace):
    told = CONFIG.model_copy(update={"weaknesses": (WEAKNESS,)})
    assert "debater_weakness" not in load_prompts(workspace, CONFIG, ()).templates
    prompts = load_prompts(workspace, told, ())
    values = debater_values(
        told, told.rounds[0], motion="M.", category=None, info_slide=None, transcript="", token_cap=None
    )
    system, user = prompts.speaking(values, told.rounds[0])
    assert (system, user) == (fill(prompts.debater_system("pro"), values), fill(prompts.debater_turn, values))
    flawed, same_user = prompts.speaking(values, told.rounds[0], WEAKNESS.instruction)
    assert flawed.startswith(system.rstrip())
    assert "Be {{ side }} about it." in flawed, "an instruction is text, and no template"
    assert same_user == user


def test_the_task_of_a_round_stands_below_the_prompt_of_its_speech_and_of_no_other(workspace: Workspace):
    plain, asked = CONFIG.rounds[0], CONFIG.rounds[0].model_copy(update={"instruction": "Ask {{ side }} questions."})
    assert "instruction" not in plain.model_dump(), "configurations without one are as before"
    told = CONFIG.model_copy(update={"rounds": (asked, *CONFIG.rounds[1:])})
    assert "debater_instruction" not in load_prompts(workspace, CONFIG, ()).templates
    prompts = load_prompts(workspace, told, ())
    values = debater_values(told, asked, motion="M.", category=None, info_slide=None, transcript="", token_cap=None)
    system, user = prompts.speaking(values, plain)
    assert user == fill(prompts.debater_turn, values)
    same_system, longer = prompts.speaking(values, asked)
    assert same_system == system
    assert longer.startswith(user.rstrip())
    assert longer.endswith("\n\nAsk {{ side }} questions.\n"), "an instruction is text, and no template"


def test_rounds_of_a_file_have_instructions_in_one_line(tmp_path: Path):
    path = write(tmp_path, "asks.yaml", "rounds: [{role: con, stage: questions, instruction: ' Ask\n  thrice. '}]")
    assert load_format(path)[0].instruction == "Ask thrice."
    path.write_text("rounds: [{role: con, instruction: [Ask]}]")
    with pytest.raises(ConfigError, match=r"rounds\[0\]\.instruction"):
        load_format(path)


def test_a_format_has_two_sides_or_all_four_teams(tmp_path: Path):
    rounds = load_format(packaged("configs") / "formats" / "british_parliamentary.yaml")
    assert [turn.role for turn in rounds] == ["OG", "OO", "OG", "OO", "CG", "CO", "CG", "CO"]
    assert [turn.side for turn in rounds] == ["pro", "con"] * 4
    assert [turn.stage.title() for turn in rounds] == [
        BP_ROLES[turn.role][sum(each.role == turn.role for each in rounds[:n])].title() for n, turn in enumerate(rounds)
    ]
    for roles in ("OG, OO, CG", "OG, OO, CG, CO, pro"):
        path = write(tmp_path, "some.yaml", f"rounds: [{', '.join(f'{{role: {r}}}' for r in roles.split(', '))}]")
        with pytest.raises(ConfigError, match="turns of pro and con, or at least one of each team: OG, OO, CG, CO"):
            load_format(path)


@pytest.mark.parametrize("name", ["policy_cx", "pressure_questions"])
def test_packaged_formats_with_tasks_give_each_side_as_many_speeches(name: str):
    rounds = load_format(packaged("configs") / "formats" / f"{name}.yaml")
    assert len(rounds) == 10
    assert sum(turn.role == "pro" for turn in rounds) == 5
    questions = [n for n, turn in enumerate(rounds) if turn.stage in ("cross-examination", "pressure question")]
    assert questions
    for n in questions:
        assert rounds[n].instruction is not None
        assert rounds[n + 1].role != rounds[n].role, "a question is answered by the other side at once"
        assert rounds[n + 1].stage.startswith("answer")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Err in some way.", "found no placeholder '{{ instruction }}'; allowed: a prompt that shows it"),
        ("{{ instruction }} {{ weakness }}", "found the placeholder '{{ weakness }}'; allowed: category, info_slide"),
        (" ", "found no text; allowed: a prompt"),
    ],
)
def test_a_prompt_that_cannot_tell_of_a_weakness_is_refused(workspace: Workspace, text: str, message: str):
    write(workspace.root, "prompts/debater_weakness.md", text)
    config = CONFIG.model_copy(update={"weaknesses": (WEAKNESS,)})
    with pytest.raises(ConfigError) as caught:
        load_prompts(workspace, config, ())
    assert message in str(caught.value)
    load_prompts(workspace, CONFIG, ())


def test_the_rubric_of_the_released_code_has_four_dimensions_that_count_alike() -> None:
    rubric = load_rubric(packaged("configs") / "rubrics" / "debatrix_bp.yaml")
    assert list(rubric.dimensions) == ["argument", "support", "clash", "language"]
    assert {(each.weight, each.ties, each.scale) for each in rubric.dimensions.values()} == {
        (1, True, "whole number from 1 to 10")
    }
    assert [name for name, each in rubric.dimensions.items() if each.preferences.earlier] == ["argument", "clash"]
    assert (rubric.whole.ties, bool(rubric.whole.preferences.earlier)) == (False, True)
