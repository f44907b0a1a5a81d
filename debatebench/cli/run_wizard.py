"""Asking a person at a terminal which topics, debaters, judges and prompts a run is to have.

Questions and output go through two functions, so that tests can run a session without a terminal. Names and prices
from a provider's catalogue are untrusted text: the terminal receives them only as visible characters.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from debatebench.cli.common import note, say
from debatebench.cli.playing_plan import Inputs
from debatebench.config.prompt_files import LibraryPrompt, prompt_library
from debatebench.config.types import MemberConfig, Pricing
from debatebench.journal.reading import has_begun
from debatebench.plan.plan import PlanOptions
from debatebench.plan.selection import fits_filter, parse_numbers
from debatebench.providers.profiles import PROFILES
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError, InterruptedRunError, UsageError
from debatebench.shared.visible_text import shortened, visible
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from debatebench.providers.served_models import ListedModel

_MOST_ROWS = 30
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SINCE = re.compile(r"> ?\d{4}(-\d{2}){0,2}", re.ASCII)
_WIDEST = 72
_HOW = "numbers and ranges such as 1,3-5; other text filters the list, * shows all of it"

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Terminal:
    """Functions to ask for a line and to show one. `ask` raises `EOFError` at the end of the input."""

    ask: Callable[[str], str]
    show: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection: the inputs, including models from catalogues, and the options that select from them."""

    inputs: Inputs
    options: Mapping[str, Any]

    def command_line(self) -> str:
        """The options that select the same without asking; empty when everything plays as configured."""
        flags = {"selected_topics": "--topic", "selected_debaters": "--debater", "selected_judges": "--judge"}
        words = [word for name, flag in flags.items() for id_ in self.options.get(name) or () for word in (flag, id_)]
        for name, flag in (("debater_prompt", "--debater-prompt"), ("judge_prompt", "--judge-prompt")):
            if self.options.get(name):
                words += [flag, self.options[name]]
        return shlex.join(words)


def is_at_terminal() -> bool:
    """Whether a person can be asked: both standard input and standard output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def at_terminal() -> Terminal:
    """The terminal that this process runs in."""
    return Terminal(lambda question: input(visible(question)), say)


def asked_for(workspace: Workspace, run_tag: str, inputs: Inputs, options: PlanOptions) -> tuple[Inputs, PlanOptions]:
    """The inputs and options that a person at the terminal selects for a new run; unchanged without questions.

    There are no questions in a script, for a run that has begun, for a preset, or if an option selects already.
    """
    journal = workspace.journal / f"{run_tag}.jsonl"
    selecting = (
        options.selected_topics,
        options.categories,
        options.resolution,
        options.selected_debaters,
        options.selected_judges,
    )
    is_selected = any(selecting) or options.sample_topics is not None or options.preset is not None
    if is_selected or not is_at_terminal() or (journal.is_file() and has_begun(journal)):
        return inputs, options

    library = prompt_library(workspace)
    talk = at_terminal()
    talk.show("What should be played? Enter keeps the configuration; --no-input skips these questions.")
    selection = select(inputs, library, talk, os.environ, judges_from_selection=options.judges_from_selection)
    if words := selection.command_line():
        note(f"To select the same without questions: {words}")
    given = {"debater_prompt": options.debater_prompt, "judge_prompt": options.judge_prompt}
    chosen = {**selection.options, **{name: style for name, style in given.items() if style is not None}}
    return selection.inputs, options.model_copy(update=chosen)


def select(
    inputs: Inputs,
    library: Sequence[LibraryPrompt],
    terminal: Terminal,
    environ: Mapping[str, str],
    *,
    judges_from_selection: bool = False,
) -> Selection:
    """Ask for topics, debaters, judges and prompts in turn. Enter takes everything as it is configured.

    Raises `InterruptedRunError` when the answers end.
    """
    try:
        topics = _pick_topics(inputs, terminal)
        debaters, inputs = _pick_members("debaters", inputs, terminal, environ)
        judges = None
        if not judges_from_selection:
            judges, inputs = _pick_members("judges", inputs, terminal, environ)
        debater_prompt = _pick_prompt("debater", library, terminal)
        judge_prompt = _pick_prompt("judge", library, terminal)
    except EOFError:
        raise InterruptedRunError("The input ended before the selection was complete, so no run was started.") from None
    chosen = {*(debaters or ()), *(judges or ())}
    options = {
        "selected_topics": topics,
        "selected_debaters": debaters,
        "selected_judges": judges,
        "debater_prompt": debater_prompt,
        "judge_prompt": judge_prompt,
        "catalogue_members": tuple(id_ for id_ in _catalogue_ids(inputs) if id_ in chosen),
    }
    return Selection(inputs, options)


def pick(
    title: str,
    rows: Sequence[Row],
    terminal: Terminal,
    *,
    empty: str = "all",
    more: Callable[[], Sequence[Row]] | None = None,
) -> list[int] | None:
    """Ask for rows by number; returns their indices in order, or None for Enter on the whole list.

    Enter on a filtered list picks the rows shown, and with `empty="none"` no rows. `more` supplies further rows for the
    answer `+`. An invalid answer is explained, and the question is asked again.
    """
    rows, shown = list(rows), list(range(len(rows)))
    while True:
        is_whole = len(shown) == len(rows)
        _show_rows(title, rows, shown, terminal)
        wanted = "nothing" if empty == "none" else "all" if is_whole else "these"
        plus = "; + adds models from a provider's catalogue" if more is not None else ""
        answer = terminal.ask(f"{title} ({_HOW}{plus}) [Enter = {wanted}]: ").strip()
        if not answer:
            return None if empty == "none" or is_whole else shown
        if answer == "*":
            shown = list(range(len(rows)))
        elif answer == "+" and more is not None:
            rows += more()
            shown = list(range(len(rows)))
        elif set(answer) <= set("0123456789,- \t"):
            try:
                return [number - 1 for number in parse_numbers(answer, len(rows))]
            except UsageError as problem:
                terminal.show(str(problem))
        else:
            fits = _is_since if _SINCE.fullmatch(answer) else fits_filter
            found = [index for index, row in enumerate(rows) if fits(answer, row)]
            if not found:
                terminal.show(f"Nothing in the list matches '{answer}'.")
            shown = found or shown


def _is_since(answer: str, row: Row) -> bool:
    """Whether a cell of the row is a day from the one on that is asked for."""
    return any(_DAY.fullmatch(cell) and cell >= answer[1:].strip() for cell in row)


def _show_rows(title: str, rows: Sequence[Row], shown: Sequence[int], terminal: Terminal) -> None:
    terminal.show("")
    terminal.show(f"{title}: {len(rows)}" if len(shown) == len(rows) else f"{title}: {len(shown)} of {len(rows)}")
    for index in shown[:_MOST_ROWS]:
        cells = "  ".join(_cell(cell) for cell in rows[index] if cell)
        terminal.show(f"{index + 1:5}  {cells}")
    if len(shown) > _MOST_ROWS:
        terminal.show(f"       … and {len(shown) - _MOST_ROWS} more; type text to filter the list")


def _cell(text: str) -> str:
    return shortened(visible(text), _WIDEST)


def _pick_topics(inputs: Inputs, terminal: Terminal) -> tuple[str, ...] | None:
    rows = [(topic.id, topic.category or "", topic.motion) for topic in inputs.topics]
    found = pick("Topics", rows, terminal)
    return None if found is None else tuple(inputs.topics[index].id for index in found)


def _pick_members(
    kind: Literal["debaters", "judges"], inputs: Inputs, terminal: Terminal, environ: Mapping[str, str]
) -> tuple[tuple[str, ...] | None, Inputs]:
    """The ids that were picked (None for all of the configuration), and the inputs with what a catalogue added."""
    known = inputs.debaters if kind == "debaters" else inputs.judges
    members = list(known)
    configured = len(members)

    def more() -> list[Row]:
        added = _from_catalogue([*inputs.debaters, *inputs.judges], members, terminal, environ)
        members.extend(added)
        return [_member_row(member) for member in added]

    found = pick(kind.capitalize(), [_member_row(member) for member in members], terminal, more=more)
    if len(members) == configured and found is None:
        return None, inputs
    chosen = members if found is None else [members[index] for index in found]
    added = [member for member in members[configured:] if member in chosen]
    kept = (*known, *added)
    catalogue = (*inputs.from_catalogue, *(member.id for member in added))
    inputs = replace(inputs, from_catalogue=catalogue)
    inputs = replace(inputs, debaters=kept) if kind == "debaters" else replace(inputs, judges=kept)
    return tuple(member.id for member in chosen), inputs


def _member_row(member: MemberConfig) -> Row:
    return member.id, member.provider, member.model if member.model != member.id else "", _price(member.pricing)


def _price(pricing: Pricing | None) -> str:
    """Prices in USD per million tokens."""
    if pricing is None:
        return ""
    return f"${_million(pricing.prompt)} in, ${_million(pricing.completion)} out per million tokens"


def _million(price: Decimal) -> str:
    return f"{(price * 1_000_000).normalize():f}"


def _from_catalogue(
    configured: Sequence[MemberConfig], known: Sequence[MemberConfig], terminal: Terminal, environ: Mapping[str, str]
) -> list[MemberConfig]:
    """Models of a provider's live catalogue that were picked, as debaters or judges; none when it cannot be read."""
    from debatebench.providers.served_models import read_catalogue

    sources = _catalogues(configured)
    rows = [(source.provider, source.endpoint or "") for source in sources]
    found = pick("Catalogues", rows, terminal, empty="none")
    picked: list[MemberConfig] = []
    for index in found or ():
        source = sources[index]
        try:
            listed = list(read_catalogue(source, environ).values())
        except DebatebenchError as problem:
            terminal.show(str(problem))
            continue
        usable = [model for model in listed if _can_be_an_id(model.id) and model.writes_text]
        if mute := sum(not model.writes_text for model in listed):
            terminal.show(f"Not listed: {counted(mute, 'model')} without text in what it writes.")
        model_rows = [(m.id, m.name or "", _price(m.pricing), m.listed_on, m.modality) for m in usable]
        if any(model.listed_on for model in usable):
            terminal.show("A day or month after >, such as >2026-01, shows only models that are listed since then.")
        for number in pick(f"Models of {source.provider}", model_rows, terminal, empty="none") or ():
            member = _as_member(usable[number], source, {m.id for m in (*known, *picked)})
            if any(
                (m.provider, m.endpoint, m.model) == (member.provider, member.endpoint, member.model) for m in known
            ):
                terminal.show(f"{member.model} is already in the list.")
            else:
                picked.append(member)
    return picked


def _catalogues(configured: Sequence[MemberConfig]) -> list[MemberConfig]:
    """Where models can be listed: every address that the configuration names, and the known hosts."""
    hosts = [MemberConfig(id=name, provider=name, model="") for name, profile in PROFILES.items() if profile.base_url]
    own: dict[tuple[str, str], MemberConfig] = {}
    for member in configured:
        if member.provider in PROFILES and member.endpoint is not None:
            own.setdefault((member.provider, member.endpoint), member)
    return [*own.values(), *hosts]


def _can_be_an_id(text: str) -> bool:
    return text == text.strip() and text.isprintable() and 0 < len(text) <= 150 and visible(text) == text


def _as_member(listed: ListedModel, source: MemberConfig, taken: set[str]) -> MemberConfig:
    """A listed model as a debater or judge, under an unused id."""
    id_ = listed.id.replace("/", "-")
    if id_ in taken:
        id_ = f"{id_}-{source.provider}"
    number = 2
    while id_ in taken:
        id_, number = f"{id_}-{number}", number + 1
    address = {"endpoint": source.endpoint, "api_key_env": source.api_key_env, "allow_insecure": source.allow_insecure}
    return type(source)(id=id_, provider=source.provider, model=listed.id, pricing=listed.pricing, **address)


def _catalogue_ids(inputs: Inputs) -> tuple[str, ...]:
    return tuple(dict.fromkeys(inputs.from_catalogue))


def _pick_prompt(role: str, library: Sequence[LibraryPrompt], terminal: Terminal) -> str | None:
    """The style of a library prompt; None for the configured one. Without a choice there is no question."""
    kept = [prompt for prompt in library if prompt.role == role]
    if len(kept) < 2:
        return None
    title = "Debaters' prompt" if role == "debater" else "Judges' prompt"
    while True:
        found = pick(f"{title}, one", [(p.style, p.opening) for p in kept], terminal, empty="none")
        if found is None:
            return None
        if len(found) == 1:
            return kept[found[0]].style
        terminal.show("Pick one number, or press Enter to keep the configured prompt.")
