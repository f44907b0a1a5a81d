"""A configuration of the released Debatrix → a prompt set, a rubric and a judge of a workspace.

A configuration is a folder with `panel.yml` (templates), the dimensions with weights and preferences in `manager.yml`
or `dimension.yml`, and perhaps `model.yml`. In a checkout of https://github.com/ljcleo/debatrix these folders are
`preset/<name>/config` and `PanelBench/debatrix_config/<name>`. What has no counterpart here is listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from debatebench.config.jinja_templates import Words, translated
from debatebench.config.prompts import USER_LINE
from debatebench.config.setting import Setting, read_file
from debatebench.shared.amounts import listed
from debatebench.shared.errors import ConfigError, UsageError

SEED = 19260817
"""The seed that Debatrix sends with every request."""
REPAIRS = 3
"""How often it asks again for an answer that is no JSON object of the form."""

STAGES = ("speech", "debate", "summary", "position", "winner", "repair")
"""The prompts of a set."""

_WHOLE = "general"
_FILES = ("panel.yml", "manager.yml", "dimension.yml", "model.yml")
# Where a checkout has configurations, from its root and from a preset.
_PLACES = (".", "config", "preset/*/config", "PanelBench/debatrix_config/*")
_BEFORE, _NEW, _MATERIAL = "{{ earlier speeches }}", "{{ new speech }}", "{{ material }}"
_SHOWN_SPEECHES = re.compile(rf"{re.escape(_BEFORE)}(.*?){re.escape(_NEW)}", re.DOTALL)
_SLIDE = re.compile(r"^((?:\{\{\?[^}]*\}\})*)(#+ [^\n]*\n\s*(?:\{\{\?[^}]*\}\})*\{\{ info_slide \}\})", re.MULTILINE)
_POINTS = re.compile(r"\bfrom (\d{1,3}) to (\d{1,3})\b")
_TIE = re.compile(r"\"It's a tie!\"|'It is a tie!'", re.IGNORECASE)
_NAMES = "{}|map(attribute='name')|join('{}')"
_OF_DEBATE = {
    "info.motion": "{{ motion }}",
    "info.info_slide": "{{ info_slide }}",
    "info.speech_order|length": "{{ speech_count }}",
    "info.all_debaters_info|length": "{{ debater_count }}",
    _NAMES.format("info.pro_side", ", "): "{{ pro_debaters }}",
    _NAMES.format("info.con_side", ", "): "{{ con_debaters }}",
    _NAMES.format("info.all_debaters_info", "/"): "{{ debaters }}",
}
_UPDATE = Words(
    {
        **_OF_DEBATE,
        "new_speech.debater_name": "{{ position }}",
        "new_speech.index": "{{ speech_number }}",
        "prev_content|length+1": "{{ speech_number }}",
        "new_speech.content": _NEW,
        "dimension.name": "{{ dimension }}",
        "dimension.prompt.analyze_speech": "{{ preference }}",
        "dimension.prompt.use_previous": "{{ earlier_preference }}",
    },
    dict.fromkeys(("prev_content|length>0", "prev_content|length", "prev_content"), "earlier")
    | {"is_prev_analyses": "analyses"},
    {"prev_content": _BEFORE},
)
_JUDGE = Words(
    {
        **_OF_DEBATE,
        "dimension.name": "{{ dimension }}",
        "dimension.prompt.judge_by_analysis": "{{ preference }}",
        "dimension.prompt.judge_debate": "{{ preference }}",
    },
    {"is_content_analyses": "analyses", "dimension.allow_tie": "tie"},
    {"debate_content": _MATERIAL},
    {
        "dimension.prompt.judge_by_analysis": ("analyses", True),
        "dimension.prompt.judge_debate": ("analyses", False),
    },
)
_SUMMARIZE = Words(_OF_DEBATE, loops={"verdicts": f"{{{{ dimensions }}}}\n\n{_MATERIAL}"})
_OF_WINNER = Words({**_OF_DEBATE, "judgment": _MATERIAL})
_OF_DEBATER = Words({**_OF_WINNER.values, "debater_name": "{{ position }}"})
_SCHEMA = Words({"schema": "{{ answer_schema }}"})
# What has a counterpart, besides `judge_config.analyze_speech` and `iterate_analysis`, which choose the method.
_READ = {
    "panel.yml": ("parser_config", "verdict_extractor_config", "judge_config", "panel_config"),
    "parser_config": ("schema_prompt_template", "fix_prompt_template"),
    "verdict_extractor_config": ("debater_prompt_template", "winner_prompt_template"),
    "judge_config": ("analyze_speech", "iterate_analysis", "common_system_prompt", "templates"),
    "panel_config": ("common_system_prompt", "templates"),
}
_WHY = {
    "speech_prompt_template": "no score of a single speech is asked for; its analysis is in marts.judge_notes",
    "skip_speech_judgement": "no score of a single speech is asked for; its analysis is in marts.judge_notes",
    "allow_concurrency": "what does not depend on each other is always asked at once; see --concurrency",
    "embed_config": "no method here looks speeches up by similarity",
    "backend": "the judge is asked through its provider",
    "test_config": "the provider `simulated` answers without a model",
    "allow_ai_callback": "answers are not shown while they are written",
}


@dataclass(frozen=True, slots=True)
class PromptFolder:
    """What a workspace gets: the prompts by stage, the rubric and the judge as YAML data, and what is left out."""

    source: Path
    prompts: Mapping[str, str]
    rubric: Mapping[str, Any]
    judge: Mapping[str, Any]
    left_out: tuple[str, ...]
    """Each as a sentence without its full stop: what it is, and why."""


def find_configuration(folder: Path) -> Path:
    """The configuration in a folder, a preset or a whole checkout. Raises `UsageError` unless there is exactly one."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; name a checkout of Debatrix, or a configuration in one.")
    found = sorted({path.parent for place in _PLACES for path in folder.glob(f"{place}/panel.yml")})
    if (folder / "panel.yml").exists():
        return folder
    if not found:
        raise UsageError(
            f"{folder} holds no configuration of Debatrix: there is no panel.yml in it, in config/, preset/*/config/ "
            "or PanelBench/debatrix_config/*/."
        )
    if len(found) > 1:
        raise UsageError(f"{folder} holds {len(found)} configurations; name one: {listed([str(f) for f in found], 6)}.")
    return found[0]


def read_configuration(folder: Path, name: str) -> PromptFolder:
    """Translate the configuration in `folder` for the style `name`. Raises `ConfigError` for what is not understood."""
    panel = read_file(folder / "panel.yml")
    left_out = _LeftOut(folder)
    left_out.keys(panel, _READ["panel.yml"])
    for section in _READ["panel.yml"]:
        left_out.keys(panel.at(section), _READ[section])
    prompts = _prompts(panel, left_out)
    dimensions = _dimensions(folder, left_out)
    return PromptFolder(
        folder,
        prompts,
        _rubric(dimensions, panel.at("verdict_extractor_config.debater_prompt_template"), name, left_out),
        _judge(folder, name, _method(panel), left_out),
        tuple(left_out.found),
    )


@dataclass(slots=True)
class _LeftOut:
    """What is not carried over."""

    folder: Path
    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        others = sorted(path.name for path in self.folder.iterdir() if path.name not in _FILES)
        if others:
            self.found.append(f"{listed(others, 10)} (how that program plays, streams and records)")

    def add(self, setting: Setting, why: str) -> None:
        self.found.append(f"{Path(setting.file).name}: {setting.path} ({why})")

    def keys(self, setting: Setting, read: Sequence[str]) -> None:
        """Every key of a mapping that is not read."""
        for key in setting.mapping():
            if key not in read:
                self.add(setting.at_key(key), _WHY.get(key, "unknown here"))


# --- prompts ----------------------------------------------------------------------------------------------------------


def _prompts(panel: Setting, left_out: _LeftOut) -> dict[str, str]:
    """The texts of the prompt files by stage."""
    extractor, parser = panel.at("verdict_extractor_config"), panel.at("parser_config")
    schema = translated(parser.at("schema_prompt_template"), _SCHEMA)
    debater = translated(extractor.at("debater_prompt_template"), _OF_DEBATER)
    winner = translated(extractor.at("winner_prompt_template"), _OF_WINNER)
    if found := _TIE.search(winner):
        winner = _TIE.sub('"tie"', winner)
        why = f'{found[0]} is "tie" in answers, or two of four teams, and only where the dimension allows it'
        left_out.add(extractor.at("winner_prompt_template"), why)
    repairing = Words({"instructions": schema, "completion": _MATERIAL, "error": "{{ error }}"})
    judge, panel_config = panel.at("judge_config"), panel.at("panel_config")
    speech = _messages(judge, "update", _UPDATE)
    texts = {
        "speech": (speech[0], _speeches_shown(speech[1], judge)),
        "debate": _messages(judge, "judge", _JUDGE),
        "summary": _messages(panel_config, "summarize", _SUMMARIZE),
        "position": ("", f"{debater}\n\n{schema}"),
        "winner": ("", f"{winner}\n\n{schema}"),
        "repair": ("", translated(parser.at("fix_prompt_template"), repairing)),
    }
    return {stage: _file(stage, *texts[stage], panel) for stage in STAGES}


def _file(stage: str, system: str, user: str, panel: Setting) -> str:
    if USER_LINE in system + user:
        raise ConfigError(f"{panel.file}: found '{USER_LINE}' in a template; allowed: templates without that line.")
    if _MATERIAL not in system + user:
        raise ConfigError(
            f"{panel.file}: the template of the stage '{stage}' does not show what it is about: a loop over the "
            "speeches or verdicts, or the judgment or completion, is missing."
        )
    # A debater's score comes with what the judge says of it, as there.
    reasons = "true" if stage == "position" else "false"
    slide = _SLIDE.sub(r"\1{{? info_slide }}\2", user)
    return "\n".join([f"---\nreasons: {reasons}\n---", *([system] if system else []), USER_LINE, slide, ""])


def _messages(section: Setting, name: str, words: Words) -> tuple[str, str]:
    """The system and the user message of a template, with the system prompt that all templates of a section share."""
    templates = {template.at("name").text(): template for template in section.at("templates").items()}
    if name not in templates:
        section.at("templates").refuse(f"a template with the name '{name}'", is_shown=False)
    parts: dict[str, list[str]] = {"system": [], "human": []}
    for message in templates[name].at("messages").items():
        role = message.at("role").choice("system", "human")
        if role == "system" and parts["human"]:
            message.at("role").refuse("system messages before human ones")
        parts[role].append(translated(message.at("content"), words))
    common = section.at("common_system_prompt")
    if common.is_given:
        parts["system" if parts["system"] else "human"].insert(0, translated(common, Words(_OF_DEBATE)))
    return "\n\n".join(parts["system"]), "\n\n".join(parts["human"])


def _speeches_shown(user: str, judge: Setting) -> str:
    """The message about a speech, with the material in the place of the earlier speeches and the new one.

    Only headings may stand between them: the material has headings of its own, which a speech cannot imitate.
    """
    between = _SHOWN_SPEECHES.search(user)
    is_plain = between and all(not line.strip() or line.startswith("#") for line in between[1].split("\n"))
    if not is_plain or user.count(_NEW) > 1 or user.count(_BEFORE) > 1:
        judge.at("templates").refuse(
            "an `update` template that shows the loop over prev_content and then new_speech.content, each once, with "
            "nothing but headings between them",
            is_shown=False,
        )
    return _SHOWN_SPEECHES.sub(lambda _: _MATERIAL, user)


# --- rubric -----------------------------------------------------------------------------------------------------------


def _dimensions(folder: Path, left_out: _LeftOut) -> list[Setting]:
    """The dimensions of manager.yml, else those of dimension.yml."""
    manager, alone = folder / "manager.yml", folder / "dimension.yml"
    if manager.exists():
        file = read_file(manager)
        left_out.keys(file, ("should_summarize", "dimensions"))
        if not file.at("should_summarize").flag(default=True):
            left_out.add(file.at("should_summarize"), "methods by dimension always end with a summary")
        if file.at("dimensions").is_given:
            if alone.exists() and read_file(alone).value != file.at("dimensions").value:
                left_out.found.append("dimension.yml (manager.yml has other dimensions, which count)")
            return list(file.at("dimensions").items())
    if not alone.exists():
        raise ConfigError(f"{folder} has no dimensions: there is neither manager.yml with them nor dimension.yml.")
    return list(read_file(alone).items())


def _rubric(dimensions: Sequence[Setting], scale: Setting, name: str, left_out: _LeftOut) -> dict[str, Any]:
    points = _POINTS.search(scale.text())
    if points is None:
        scale.refuse("a template that says the scale, such as 'from 1 to 10'", is_shown=False)
    scored: dict[str, Any] = {}
    whole: dict[str, Any] = {"ties": False}
    for each in dimensions:
        left_out.keys(each, ("name", "weight", "allow_tie", "prompt"))
        left_out.keys(each.at("prompt"), tuple(_PREFERENCES.values()))
        weight, called = each.at("weight").decimal(), each.at("name").name()
        settings = {"ties": each.at("allow_tie").flag(default=False), "preferences": _preferences(each.at("prompt"))}
        if called == _WHOLE:
            whole = settings
        elif weight > 0:
            scored[called] = {"weight": each.at("weight").value, **settings}
        else:
            left_out.add(each.at("weight"), f"the dimension '{called}' counts nothing, so it is left out")
    if not scored:
        raise ConfigError(f"{scale.file}: found no dimension with a weight above 0; allowed: at least one.")
    return {
        "version": f"{name}-1",
        "scale": {"min": int(points[1]), "max": int(points[2])},
        "whole": whole,
        "dimensions": scored,
    }


_PREFERENCES = {
    "speech": "analyze_speech",
    "earlier": "use_previous",
    "debate": "judge_debate",
    "debate_by_analyses": "judge_by_analysis",
}
"""Our names of the texts of a dimension, and theirs."""


def _preferences(prompt: Setting) -> dict[str, str]:
    found = {ours: prompt.at(theirs).optional_text() for ours, theirs in _PREFERENCES.items()}
    return {ours: text.strip() for ours, text in found.items() if text}


# --- judge ------------------------------------------------------------------------------------------------------------


def _method(panel: Setting) -> str:
    """The method that the settings of the configuration mean."""
    judge = panel.at("judge_config")
    if not judge.at("analyze_speech").flag(default=True):
        return "dimensional"
    return "debatrix" if judge.at("iterate_analysis").flag(default=True) else "non_iterative"


def _judge(folder: Path, name: str, method: str, left_out: _LeftOut) -> dict[str, Any]:
    """A judge for judges.yaml with the model of the configuration, and what its code sends with every request."""
    model, endpoint = "gpt-3.5-turbo-0125", None
    if (folder / "model.yml").exists():
        file = read_file(folder / "model.yml")
        openai = file.at("chat_config.openai_config")
        left_out.keys(file, ("chat_config",))
        left_out.keys(file.at("chat_config"), ("openai_config",))
        left_out.keys(openai, ("model", "base_url", "api_key", "proxy"))
        model = openai.at("model").name(model)
        url = openai.at("base_url").optional_text()
        endpoint = None if url is None or url.rstrip("/") == "https://api.openai.com/v1" else url
        for key, why in (
            ("api_key", "keys come from the environment: OPENAI_API_KEY"),
            ("proxy", "`environment_proxies: true` uses the proxy of the environment"),
        ):
            if openai.at(key).is_given and openai.at(key).value != "":
                left_out.add(openai.at(key), why)
    else:
        left_out.found.append(f"there is no model.yml, so the judge has the model {model}")
    return {
        "id": name,
        "provider": "openai",
        "model": model,
        **({} if endpoint is None else {"endpoint": endpoint}),
        "method": method,
        "prompt_style": name,
        "parameters": {"temperature": 0.0, "seed": SEED, "repairs": REPAIRS},
    }
