"""Prompt files: read templates and check them before anything is sent.

A template from `configs/prompts/` may open with a front matter

    ---
    declares_winner: true
    reasons: true
    ---

which is not sent: whether the answer names a winner, and whether it gives reasons. A prompt in config.yaml takes
precedence over the file, and has no front matter. The prompts of a judge method's stages lie in
`judge/<method>/<stage>.md`: a system message, the line `<!-- user -->`, a user message. Those of a judging style are
`judge/<method>/<stage>_<style>.md`, or `judge/<method>/<style>/<stage>.md` where a whole set has a folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from debatebench.config.answer_form import TWO_SIDES
from debatebench.config.prompts import (
    DEBATER_PLACEHOLDERS,
    INSTRUCTION_PLACEHOLDERS,
    INSTRUCTION_TEMPLATE,
    JUDGE_PLACEHOLDERS,
    PLACEHOLDER,
    STAGE_PLACEHOLDERS,
    TEAM_PLACEHOLDERS,
    TEAM_TEMPLATE,
    TEAM_TURN_TEMPLATE,
    USER_LINE,
    WEAKNESS_TEMPLATE,
    PromptSet,
    repair_stage,
)
from debatebench.config.setting import Setting, parse_yaml, read_text
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import ConfigError
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from debatebench.config.types import Config, MemberConfig

_PLACEHOLDER_OR_CONDITION = re.compile(r"\{\{\??\s*(\w+)\s*\}\}")
_IN_STYLE_FOLDER = re.compile(r"prompts/judge/([^/]+)/([^/]+)/([^/]+)\.md")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A stored prompt that a run can choose: for both debaters (`pro` and `con` files), or for judges."""

    role: Literal["debater", "judge"]
    style: str
    paths: tuple[Path, ...]
    opening: str
    """The first line of its text."""


def prompt_library(workspace: Workspace) -> tuple[LibraryPrompt, ...]:
    """The prompts in `configs/prompts/` that a run can choose, debaters' first, in order of their names.

    `debater_pro_<style>.md` and `debater_con_<style>.md` form a pair; without a style they are `default`. A judging
    prompt is `judge_<style>.md`. Raises `ConfigError` where one of a pair is missing.
    """
    files = workspace.files("configs", "prompts/*.md")
    names = [Path(name).stem for name in files]
    debating = {name.removeprefix(f"debater_{side}") for side in TWO_SIDES for name in names if _is_of_side(name, side)}
    judging = {name.removeprefix("judge_") for name in names if name.startswith("judge_") and name != "judge_user"}
    wanted: list[tuple[Literal["debater", "judge"], str, list[str]]] = [
        ("debater", suffix.removeprefix("_") or "default", [f"debater_{side}{suffix}" for side in TWO_SIDES])
        for suffix in sorted(debating)
    ]
    wanted += [("judge", style, [f"judge_{style}"]) for style in sorted(judging)]
    found = []
    for role, style, stems in wanted:
        texts = [_read_template(files, stem).text for stem in stems]
        paths = tuple(files[f"prompts/{stem}.md"] for stem in stems)
        found.append(LibraryPrompt(role, style, paths, texts[0].strip().splitlines()[0]))
    return tuple(found)


def flat_templates(judge: MemberConfig) -> tuple[str, ...]:
    """The templates of a judge that gets the whole transcript at once."""
    return "judge_user", f"judge_{judge.prompt_style}"


def style_folders(workspace: Workspace) -> list[tuple[str, Path]]:
    """(style, folder) of every style that has a folder with the prompts of judge methods, in order."""
    files = workspace.files("configs", "prompts/judge/*/*/*.md")
    return sorted({(path.parent.name, path.parent) for path in files.values()})


def check_template(name: str, path: Path) -> None:
    """Check a file as the template `name`. Raises `ConfigError` if a run could not use it."""
    _check(name, _read_template({f"prompts/{name}.md": path}, name).text, str(path))


def _is_of_side(name: str, side: str) -> bool:
    return name == f"debater_{side}" or name.startswith(f"debater_{side}_")


def load_prompts(
    workspace: Workspace,
    config: Config,
    judges: Iterable[MemberConfig],
    debater_style: str | None = None,
    templates_of: Callable[[MemberConfig], Sequence[str]] = flat_templates,
    folders: Iterable[Path] = (),
    begun: PromptSet | None = None,
) -> PromptSet:
    """Read every template that debaters and `judges` need, and the style `default`; also that of weaknesses, if any.

    A prompt in `config` replaces the file: `judge_system_prompt` replaces `judge_default.md`. With a `debater_style`
    the debaters' prompts are `debater_pro_<style>.md` and `debater_con_<style>.md` instead, of four teams
    `debater_team_<style>.md` (`default`: the plain files), regardless of `config`. `templates_of` names the templates
    of a judge; those of stages may have variants for a judging style. `folders` have the prompts of installed
    packages' methods; a file of the workspace goes before them. A judges' template whose file is gone is that of
    `begun`, the prompts of a run that has begun. Raises `ConfigError` for a missing or empty file and for an unknown
    placeholder.
    """
    files = _by_style(_of_packages(folders) | workspace.files("configs", "prompts/**/*.md"))
    given = {"judge_default": config.judge_system_prompt}
    if debater_style is None:
        given |= {"debater_pro": config.system_prompt_pro, "debater_con": config.system_prompt_con}
    variant = f"_{debater_style}" if debater_style not in (None, "default") else ""
    found: dict[str, _Template] = {}
    kept = {} if begun is None else {name: text for name, text in begun.templates.items() if name.startswith("judge")}
    kept = {name: text for name, text in kept.items() if f"prompts/{name}.md" not in files}
    judging = _judging_names({*files, *(f"prompts/{each}.md" for each in kept)}, judges, templates_of)
    for name in (*_speaking_names(config), *judging):
        text = given.get(name)
        if text is None and begun is not None and name in kept:
            style = name.removeprefix("judge_")
            found[name] = _Template(kept[name], begun.declares_winner(style), begun.gives_reasons(name))
            source = f"{name}.md of the run that has begun"
        elif text is None:
            stem = name + variant if name in ("debater_pro", "debater_con", TEAM_TEMPLATE) else name
            found[name] = _read_template(files, stem)
            source = f"configs/prompts/{stem}.md"
        else:
            found[name] = _Template(text)
            source = f"config.yaml, the prompt in place of {name}.md"
        _check(name, found[name].text, source)
    return PromptSet(
        templates={name: template.text for name, template in found.items()},
        winner_styles=tuple(n.removeprefix("judge_") for n, template in found.items() if template.declares_winner),
        reasoned=tuple(name for name, template in found.items() if template.gives_reasons),
    )


def _of_packages(folders: Iterable[Path]) -> dict[str, Path]:
    """The prompts of methods in these folders, by the names that they would have in `configs/`."""
    return {
        f"prompts/judge/{path.relative_to(folder).as_posix()}": path
        for folder in folders
        for path in sorted(folder.glob("**/*.md"))
    }


def _by_style(files: Mapping[str, Path]) -> dict[str, Path]:
    """The files, and those in a style's folder under the names that they would have beside the others of the method."""
    in_folders = {
        f"prompts/judge/{found[1]}/{found[3]}_{found[2]}.md": path
        for name, path in files.items()
        if (found := _IN_STYLE_FOLDER.fullmatch(name))
    }
    return {**in_folders, **files}


def _speaking_names(config: Config) -> Iterator[str]:
    """The names of all templates of the debaters, in order."""
    if config.is_of_teams:
        yield from (TEAM_TEMPLATE, TEAM_TURN_TEMPLATE)
    else:
        yield from ("debater_pro", "debater_con", "debater_turn")
    if any(turn.instruction is not None for turn in config.rounds):
        yield INSTRUCTION_TEMPLATE
    if config.weaknesses:
        yield WEAKNESS_TEMPLATE


def _judging_names(
    files: Collection[str],
    judges: Iterable[MemberConfig],
    templates_of: Callable[[MemberConfig], Sequence[str]],
) -> list[str]:
    """The names of all templates of the judges, in order."""
    names = {"judge_user", "judge_default"}
    for judge in judges:
        wanted = templates_of(judge)
        variants = {name: f"{name}_{judge.prompt_style}" for name in wanted if name.startswith("judge/")}
        existing = {name: variant for name, variant in variants.items() if f"prompts/{variant}.md" in files}
        is_known = bool(existing) or f"prompts/judge_{judge.prompt_style}.md" in files
        if variants and not is_known:
            raise ConfigError(
                f"Judge '{judge.id}' has prompt_style '{judge.prompt_style}', and its method '{judge.method}' has no "
                f"prompt of that style: write one, such as configs/prompts/{next(iter(variants.values()))}.md, or "
                "leave prompt_style out."
            )
        names |= {existing.get(name, name) for name in wanted}
        for repair in dict.fromkeys(repair_stage(name) for name in variants):
            of_judge = (f"{repair}_{judge.prompt_style}", repair)
            names |= set([name for name in of_judge if f"prompts/{name}.md" in files][:1])
    return sorted(names)


@dataclass(frozen=True, slots=True)
class _Template:
    """The text of a template without its front matter, and what its answer holds."""

    text: str
    declares_winner: bool = False
    gives_reasons: bool = False


def _read_template(files: Mapping[str, Path], name: str) -> _Template:
    """Read a template file. Prompts of stages ask for reasons unless their front matter says otherwise."""
    path = files.get(f"prompts/{name}.md")
    if path is None:
        raise ConfigError(_missing(files, name))
    is_stage = name.startswith("judge/")
    template = _Template(read_text(path), gives_reasons=is_stage)
    if front := _FRONT_MATTER.match(template.text):
        settings = Setting(str(path), "", parse_yaml(front[1], str(path)))
        settings.allow(("reasons",) if is_stage else ("declares_winner", "reasons"))
        template = _Template(
            template.text[front.end() :],
            settings.at("declares_winner").flag(default=False),
            settings.at("reasons").flag(default=is_stage),
        )
    if not template.text.strip():
        raise ConfigError(f"{path}: found no text; allowed: a prompt.")
    return template


def _missing(files: Mapping[str, Path], name: str) -> str:
    """The message about a missing template."""
    if name.startswith("judge/"):
        return f"There is no prompt configs/prompts/{name}.md, and no installed package has it: write one."
    if not name.startswith("judge_") or name in ("judge_user", "judge_default"):
        return f"There is no prompt configs/prompts/{name}.md; `debatebench init` writes one."
    styles = re.findall(r"^prompts/judge_(?!user\.)(\w[\w-]*)\.md$", "\n".join(sorted(files)), re.MULTILINE)
    style = name.removeprefix("judge_")
    return f"No judging prompt configs/prompts/{name}.md for prompt_style '{style}'.{known_names(style, styles)}"


def _check(name: str, text: str, source: str) -> None:
    """Check the placeholders of a template, and that one of a stage consists of two messages."""
    is_stage = name.startswith("judge/")
    known: tuple[str, ...] = DEBATER_PLACEHOLDERS
    if name.startswith("judge"):
        known = STAGE_PLACEHOLDERS if is_stage else JUDGE_PLACEHOLDERS
    elif name in (TEAM_TEMPLATE, TEAM_TURN_TEMPLATE):
        known = TEAM_PLACEHOLDERS
    elif name in (WEAKNESS_TEMPLATE, INSTRUCTION_TEMPLATE):
        known = INSTRUCTION_PLACEHOLDERS
    _check_placeholders(text, known, source)
    if known == INSTRUCTION_PLACEHOLDERS and all(match[1] != "instruction" for match in PLACEHOLDER.finditer(text)):
        raise ConfigError(f"{source}: found no placeholder '{{{{ instruction }}}}'; allowed: a prompt that shows it.")
    if not is_stage:
        return
    if f"{USER_LINE}\n" not in text:
        raise ConfigError(
            f"{source}: found no line '{USER_LINE}'; allowed: a system message, that line, a user message."
        )
    if all(match[1] != "material" for match in PLACEHOLDER.finditer(text)):
        raise ConfigError(f"{source}: found no placeholder '{{{{ material }}}}'; allowed: a prompt that shows it.")


def _check_placeholders(text: str, known: Iterable[str], source: str) -> None:
    """Reject unknown placeholders before anything is sent."""
    names = tuple(known)
    for match in _PLACEHOLDER_OR_CONDITION.finditer(text):
        if match[1] not in names:
            raise ConfigError(f"{source}: found the placeholder '{match[0]}'; allowed: {', '.join(sorted(names))}.")
