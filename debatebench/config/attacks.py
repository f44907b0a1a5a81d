"""`attacks.yaml` → attacks: the ways in which the speeches of one side are altered to mislead a judge.

    attacks:
      - id: orders
        kind: orders
        template: attacks/orders.md
        place: append          # append, prepend or replace
        turns: last            # all, first or last of the side's speeches
        times: 1               # how often the text stands there

A template is text with the placeholders of `ATTACK_PLACEHOLDERS`. The attack `swapped_order` has none: it exchanges the
speeches of every exchange, and `favours` says whether it should help the side that then stands `first` or `last`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from debatebench.config.prompts import PLACEHOLDER
from debatebench.config.setting import Setting, read_file, read_text
from debatebench.shared.errors import ConfigError
from debatebench.shared.hashing import hash_of
from debatebench.shared.workspace import Workspace, inside

SWAPPED_ORDER = "swapped_order"
ATTACK_KINDS = (
    "orders",
    "forged_verdict",
    "system_message",
    "end_of_transcript",
    "authority",
    "flattery",
    "padding",
    "confidence",
    "citations",
    "null_debater",
    SWAPPED_ORDER,
    "other",
)
"""What an attack tries; `other` is for one that none of these words fits."""

ATTACK_PLACEHOLDERS = ("side", "opponent", "motion", "forged_verdict")
"""The placeholders of a template: the side that attacks and the other one in capitals, the motion, and a verdict for
the attacker as JSON."""

_ID = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_KEYS = ("id", "kind", "template", "place", "turns", "times", "favours")
_MOST_TIMES = 200


class Attack(BaseModel):
    """One attack, with the text of its template; `swapped_order` has no text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """The name of the attack."""
    kind: str
    """What is tried."""
    place: Literal["append", "prepend", "replace"] = "append"
    """Where the text stands in a speech."""
    turns: Literal["all", "first", "last"] = "all"
    """Which speeches of the side are altered."""
    times: int = Field(1, ge=1)
    """How often the text stands there."""
    favours: Literal["first", "last"] | None = None
    """For `swapped_order` only: which side it should help, the one that is then read first or last."""
    text: str = ""

    @property
    def sha256(self) -> str:
        """The hash of the template's text."""
        return hash_of(self.text)


def load_attacks(workspace: Workspace, path: Path) -> tuple[Attack, ...]:
    """Read a file of attacks with its templates, which lie beside it or in the configuration folder.

    Raises `ConfigError` for anything that is unknown, missing or given twice.
    """
    file = read_file(path)
    file.allow(("attacks",))
    entries = list(file.at("attacks").items())
    if not entries:
        file.at("attacks").refuse("a list with at least one attack")
    attacks: dict[str, Attack] = {}
    for entry in entries:
        attack = _attack(entry, workspace, path.parent)
        if attack.id in attacks:
            entry.at("id").refuse("ids without duplicates")
        attacks[attack.id] = attack
    return tuple(attacks.values())


def _attack(entry: Setting, workspace: Workspace, folder: Path) -> Attack:
    entry.allow(_KEYS)
    name = entry.at("id").text()
    if not _ID.fullmatch(name):
        entry.at("id").refuse("at most 40 small letters, digits, _ and -, beginning with a letter")
    kind = entry.at("kind").choice(*ATTACK_KINDS)
    if kind == SWAPPED_ORDER:
        for key in ("template", "place", "turns", "times"):
            if entry.at(key).is_given:
                entry.at(key).refuse(f"no {key} for the kind {SWAPPED_ORDER}")
        return Attack(id=name, kind=kind, favours=entry.at("favours").field(Attack, "favours") or "first")
    if entry.at("favours").is_given:
        entry.at("favours").refuse(f"no favours except for the kind {SWAPPED_ORDER}")
    plain = entry.fields(Attack, "times", "place", "turns")
    if plain["times"] > _MOST_TIMES:
        entry.at("times").refuse(f"at most {_MOST_TIMES}")
    return Attack(id=name, kind=kind, **plain, text=_template(entry.at("template"), workspace, folder))


def _template(setting: Setting, workspace: Workspace, folder: Path) -> str:
    """The text of a template; its file is named relative to the folder of the attacks."""
    name = setting.text()
    if name.startswith("/") or ".." in name.split("/"):
        setting.refuse("a path below the folder of the attacks")
    path = folder / name
    path = inside(folder, path) if os.path.lexists(path) else workspace.config_file(name)
    text = read_text(path).strip()
    if not text:
        raise ConfigError(f"{path}: found no text; allowed: what an attacker writes.")
    for match in PLACEHOLDER.finditer(text):
        if match[1] not in ATTACK_PLACEHOLDERS:
            allowed = ", ".join(ATTACK_PLACEHOLDERS)
            raise ConfigError(f"{path}: found the placeholder '{match[0]}'; allowed: {allowed}.")
    return text
