"""What simulated debaters say and simulated judges recognise, as `phrases.yml` holds it; a block there is a list."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from debatebench.shared.strict_yaml import read_yaml

DATA: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yml").read_bytes(), deepest=4).data
THEMES: dict[str, dict[str, str]] = DATA["themes"]
SENTENCES: dict[str, list[str]] = {kind: block.splitlines() for kind, block in DATA["sentences"].items()}
SIGNS = {sign: re.compile(rf"\b(?:{words})\b") for sign, words in DATA["signs"].items()}
"""Patterns for sentences in lower case."""
STANCES = {side: re.compile(rf"\b(?:{words})\b") for side, words in DATA["stances"].items()}
"""Patterns for speeches in lower case and in one line."""

WEAKNESSES: tuple[str, ...] = tuple(name for name, flaw in DATA["weaknesses"].items() if "like" not in flaw)
"""The weaknesses that a member may have; a speech may be told to have others that are like one of them."""


@cache
def case(name: str, side: str) -> dict[str, Any]:
    """One side's case on a theme: claim, stake, reasons, and a finding that supports it."""
    theme = THEMES[name]
    finding = theme["finding"]
    if side == "con":
        finding = finding[:-4] + {"fell": "rose", "rose": "fell"}[finding[-4:]]
    claim, stake = theme[side].split(" | ")
    return {"claim": claim, "stake": stake, "finding": finding, "reasons": theme[f"{side}_reasons"].split(" | ")}
