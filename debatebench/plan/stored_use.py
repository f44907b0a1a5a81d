"""What stored answers of models used: tokens and lengths, by provider and model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from debatebench.providers import is_simulated

__all__ = ["StoredUse", "Sums"]


@dataclass(slots=True)
class Sums:
    """Sums over stored answers. A verdict's tokens are those of all requests to its judge."""

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    characters: int = 0
    """Of the speeches themselves."""
    history: int = 0
    """Characters of the speeches in the prompts."""

    def add(self, other: Sums) -> None:
        """Add the sums over other answers."""
        self.answers += other.answers
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.characters += other.characters
        self.history += other.history

    def mean(self, total: int) -> float:
        """The mean of one of the sums."""
        return total / self.answers


@dataclass(slots=True)
class StoredUse:
    """The use of every model whose answers are stored. The stage of a verdict is empty.

    A model without stored answers is assumed to be like the others in the same role; simulated models are compared
    only with simulated ones.
    """

    speeches: dict[tuple[str, str, str], Sums] = field(default_factory=dict)
    """By provider, model and stage."""
    verdicts: dict[tuple[str, str, str], Sums] = field(default_factory=dict)

    def add_debate(
        self,
        turns: Iterable[Mapping[str, Any]],
        verdicts: Iterable[Mapping[str, Any]],
        model_of: Mapping[tuple[str, str], tuple[str, str]],
    ) -> None:
        """Count the records of a debate; `model_of` gives provider and model by role and id."""
        said = 0
        for turn in sorted(turns, key=lambda row: row["turn_index"]):
            model = model_of.get(("debater", turn["model_id"]))
            length = len(turn["content"])
            if model is not None and None not in (turn.get("prompt_tokens"), turn.get("completion_tokens")):
                one = Sums(1, turn["prompt_tokens"], turn["completion_tokens"], length, said)
                self.speeches.setdefault((*model, turn.get("stage") or ""), Sums()).add(one)
            said += length
        for verdict in verdicts:
            model = model_of.get(("judge", verdict["judge_id"]))
            if model is not None and None not in (verdict.get("prompt_tokens"), verdict.get("completion_tokens")):
                one = Sums(1, verdict["prompt_tokens"], verdict["completion_tokens"], 0, said)
                self.verdicts.setdefault((*model, ""), Sums()).add(one)

    def by_model(self) -> ByModel:
        """The same sums, ready to be looked up."""
        return ByModel(self)


class ByModel:
    """Stored sums of a model, or of the models that it is assumed to be like; None where nothing is stored."""

    def __init__(self, stored: StoredUse) -> None:
        self._sums = {"debater": _groups(stored.speeches), "judge": _groups(stored.verdicts)}

    def sums(self, role: str, provider: str, model: str, stage: str = "") -> Sums | None:
        """Of the model at that stage, else at all stages, else of the other models."""
        groups = self._sums[role]
        for key in ((provider, model, stage), (provider, model), (is_simulated(provider),)):
            if key in groups:
                return groups[key]
        return None


def _groups(stored: Mapping[tuple[str, str, str], Sums]) -> dict[tuple[object, ...], Sums]:
    found: defaultdict[tuple[object, ...], Sums] = defaultdict(Sums)
    for (provider, model, stage), sums in stored.items():
        for key in ((provider, model, stage), (provider, model), (is_simulated(provider),)):
            found[key].add(sums)
    return dict(found)
