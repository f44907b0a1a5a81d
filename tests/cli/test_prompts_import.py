"""`debatebench prompts import`: what a workspace gets, what is said of the rest, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import Done, debatebench_here
from debatrix_checkout import DIMENSIONS, PANEL, checkout

from debatebench.config.load import load_judges
from debatebench.config.parts import load_rubric

PRESET = ("preset", "example", "config")
WRITTEN = ("configs/rubrics/mine.yaml", "configs/mine_judges.yaml", "configs/prompts/judge/debatrix_v2/mine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The configuration for debates of two sides in a checkout."""
    return checkout(tmp_path / "checkout").joinpath(*PRESET)


def imported(root: Path, folder: Path, *arguments: str, name: str = "mine", kind: str = "debatrix") -> Done:
    return debatebench_here(root / "w", "prompts", "import", kind, str(folder), "--as", name, *arguments)


def files_in(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_configuration_becomes_prompts_a_rubric_and_a_judge(tmp_path: Path, folder: Path):
    done = imported(tmp_path, folder)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ["wrote"] * 3
    assert all(path in done.out for path in WRITTEN)
    rubric = load_rubric(tmp_path / "w" / WRITTEN[0])
    found = {name: (int(each.weight), each.ties) for name, each in rubric.dimensions.items()}
    assert found == {name: of for name, of in DIMENSIONS.items() if name != "general"}
    assert rubric.dimensions["source"].preferences.debate_by_analyses == "judge_by_analysis of source"
    assert (rubric.whole.ties, rubric.whole.preferences.earlier) == (False, "use_previous of general")
    (judge,) = load_judges(tmp_path / "w" / WRITTEN[1])
    assert (judge.method, judge.prompt_style, judge.model) == ("debatrix", "mine", "gpt-3.5-turbo-0125")
    assert judge.parameters == {"temperature": 0.0, "seed": 19260817, "repairs": 3}
    listed = debatebench_here(tmp_path / "w", "prompts")
    assert "a set for the methods with prompts in debatrix_v2/" in listed.out


def test_everything_that_is_not_carried_over_is_named_and_no_key_is_shown(tmp_path: Path, folder: Path):
    (folder / "panel.yml").write_text(PANEL.replace("judge_config:\n", "judge_config:\n  mood: good\n"))
    done = imported(tmp_path, folder)
    left_out = [line for line in done.err.splitlines() if line.startswith("Not carried over: ")]
    for name in (
        *("arena.yml, recorder.yml", "verdict_extractor_config.speech_prompt_template", "judge_config.mood"),
        *("judge_config.allow_concurrency", "judge_config.allow_ai_callback", "judge_config.skip_speech_judgement"),
        *("panel_config.allow_concurrency", "openai_config.api_key", "embed_config", "winner_prompt_template"),
    ):
        assert sum(name in line for line in left_out) == 1, name
    assert "sk-secret" not in done.err + done.out
    assert not any("sk-secret" in text for text in files_in(tmp_path / "w").values())


def test_the_same_import_again_changes_nothing_and_another_one_needs_force(tmp_path: Path, folder: Path):
    assert imported(tmp_path, folder).code == 0
    before = files_in(tmp_path / "w")
    again = imported(tmp_path, folder)
    assert [line.split()[0] for line in again.out.splitlines()] == ["kept"] * 3
    (folder / "panel.yml").write_text(PANEL.replace("SUM UP", "SUMMARISE"))
    refused = imported(tmp_path, folder)
    assert refused.code == 2
    assert "debatrix_v2/mine is there and says something else; choose another --as, or" in refused.err
    assert files_in(tmp_path / "w") == before
    assert imported(tmp_path, folder, "--force").code == 0
    after = files_in(tmp_path / "w")
    assert [name for name, text in after.items() if before[name] != text] == [f"{WRITTEN[2]}/summary.md"]


def test_a_checkout_with_several_configurations_is_asked_which(tmp_path: Path, folder: Path):
    root = tmp_path / "checkout"
    done = imported(tmp_path, root)
    assert done.code == 2
    assert "holds 2 configurations; name one: " in done.err
    assert "PanelBench/debatrix_config/BP-Competition" in done.err
    shutil.rmtree(root / "PanelBench")
    for place in (root, root / "preset" / "example", folder):
        assert imported(tmp_path, place).code == 0


CHANGES = {
    "no panel": (("panel.yml", None), "holds no configuration of Debatrix: there is no panel.yml in it"),
    "no dimensions": (("manager.yml", None), "there is neither manager.yml with them nor dimension.yml"),
    "unknown value": (
        ("panel.yml", PANEL.replace("{{ judgment }}\n    --", "{{ judgement }}\n    --")),
        "panel.yml: verdict_extractor_config.debater_prompt_template: nothing stands for {{ judgement }} here. Known: ",
    ),
    "unknown condition": (
        ("panel.yml", PANEL.replace("if is_prev_analyses", "if is_prev_analysis")),
        "nothing stands for {% if is_prev_analysis %} here.",
    ),
    "unknown loop": (("panel.yml", PANEL.replace("in prev_content %}", "in content %}")), "nothing stands for {% for"),
    "unclosed": (("panel.yml", PANEL.replace("{% endif %} the others", "the others")), "an `endif` for every `if`"),
    "other tag": (("panel.yml", PANEL.replace("SUM UP", "{% set x = 1 %}SUM UP")), "found {% set x=1 %}; allowed: "),
    "wrong place": (
        ("panel.yml", PANEL.replace("{% if is_content_analyses %}{{", "{% if dimension.allow_tie %}{{")),
        "allowed: that only where the template asks whether speeches were analysed",
    ),
    "no update": (("panel.yml", PANEL.replace("name: update", "name: renew")), "a template with the name 'update'"),
    "speech first": (
        ("panel.yml", PANEL.replace("# Now by {{ new_speech.debater_name }}", "And now, without a heading:")),
        "with nothing but headings between them",
    ),
    "no judgment": (
        ("panel.yml", PANEL.replace("{{ judgment }}\n    One of", "One of")),
        "the template of the stage 'winner' does not show what it is about",
    ),
    "no scale": (("panel.yml", PANEL.replace("from 1 to 10", "as you like")), "says the scale, such as 'from 1 to 10'"),
    "no weight": (
        ("manager.yml", "should_summarize: true\ndimensions: [{name: a, weight: 0, allow_tie: true, prompt: {}}]"),
        "found no dimension with a weight above 0",
    ),
    "not YAML": (("panel.yml", "a: [b"), "panel.yml: line 1: "),
    "binary": (("panel.yml", "\0"), "panel.yml"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_understood_is_named_and_nothing_is_written(tmp_path: Path, folder: Path, change: str):
    (name, text), message = CHANGES[change]
    if text is None:
        (folder / name).unlink()
        (folder / "dimension.yml").unlink()
    else:
        (folder / name).write_text(text)
    done = imported(tmp_path, folder)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("Error: ")
    assert files_in(tmp_path / "w") == {}


@pytest.mark.parametrize("name", ["default", "user", "../mine", "", "a b", "debateflow"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, folder: Path, name: str):
    done = imported(tmp_path, folder, name=name)
    assert done.code == 2
    assert "--as" in done.err
    assert files_in(tmp_path / "w") == {}


def test_an_unknown_kind_and_a_folder_that_is_none_are_refused(tmp_path: Path, folder: Path):
    assert "Did you mean 'debatrix'?" in imported(tmp_path, folder, kind="debatrx").err
    assert "is not a folder" in imported(tmp_path, folder / "panel.yml").err
    assert "is not a folder" in imported(tmp_path, folder / "nowhere").err


def test_a_disk_that_refuses_the_last_file_leaves_no_set(tmp_path: Path, folder: Path):
    target = tmp_path / "w" / WRITTEN[2]
    target.parent.mkdir(parents=True)
    target.write_text("in the way")
    done = imported(tmp_path, folder, "--force")
    assert done.code == 1
    assert "is in the way and not a folder" in done.err
    assert [path.name for path in target.parent.iterdir()] == ["mine"]
