"""What stored answers of models used: tokens and lengths, by provider and model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from debatebench.providers import is_simulated


@dataclass(slots=True)
class Sums:
    """Sums over stored answers. A verdict's tokens are those of all requests to its judge."""

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    characters: int = 0
    """Of the speeches themselves."""
    history: int = 0
    """Characters of the speeches before; for verdicts, of all speeches."""
    requests: int = 0
    """To judges: those for all of the verdicts."""

    def add(self, other: Sums) -> None:
        """Add the sums over other answers."""
        self.answers += other.answers
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.characters += other.characters
        self.history += other.history
        self.requests += other.requests

    def mean(self, total: int) -> float:
        """The mean of one of the sums."""
        return total / self.answers

    def per_request(self, total: int) -> float:
        """The mean of one of the sums over verdicts by request."""
        return total / self.requests


@dataclass(slots=True)
class StoredUse:
    """The use of every model whose answers are stored.

    A model without stored answers is assumed to be like the others in the same role, and a judge like those with the
    same method; simulated models are compared only with simulated ones.
    """

    speeches: dict[tuple[str, str, str], Sums] = field(default_factory=dict)
    """By provider, model and stage."""
    verdicts: dict[tuple[str, str, str], Sums] = field(default_factory=dict)
    """By provider, model and judge method."""

    def add_debate(
        self,
        turns: Iterable[Mapping[str, Any]],
        verdicts: Iterable[Mapping[str, Any]],
        model_of: Mapping[tuple[str, str], tuple[str, str, str]],
        said: int = 0,
    ) -> None:
        """Count the records of a debate; `model_of` gives provider, model and judge method by role and id.

        `said` is the length of its speeches where the turns are those of another run.
        """
        for turn in sorted(turns, key=lambda row: row["turn_index"]):
            model = model_of.get(("debater", turn["model_id"]))
            length = len(turn["content"])
            if model is not None and None not in (turn.get("prompt_tokens"), turn.get("completion_tokens")):
                one = Sums(1, turn["prompt_tokens"], turn["completion_tokens"], length, said)
                self.speeches.setdefault((*model[:2], turn.get("stage") or ""), Sums()).add(one)
            said += length
        for verdict in verdicts:
            model = model_of.get(("judge", verdict["judge_id"]))
            if model is not None and None not in (verdict.get("prompt_tokens"), verdict.get("completion_tokens")):
                asks = verdict.get("asks", 1)
                if asks:
                    one = Sums(1, verdict["prompt_tokens"], verdict["completion_tokens"], 0, said, asks)
                    self.verdicts.setdefault(model, Sums()).add(one)

    def by_model(self) -> ByModel:
        """The same sums, ready to be looked up."""
        return ByModel(self)


class ByModel:
    """Stored sums of a model, or of the models that it is assumed to be like; None where nothing is stored."""

    def __init__(self, stored: StoredUse) -> None:
        self._speeches = _groups(stored.speeches)
        self._verdicts = _groups(stored.verdicts)
        self._methods: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for provider, model, method in sorted(stored.verdicts):
            self._methods[provider, model].append(method)

    def speeches(self, provider: str, model: str, stage: str = "") -> Sums | None:
        """Of the debater at that stage, else at all stages, else of the other debaters."""
        keys = ((provider, model, stage), (provider, model), (is_simulated(provider),))
        return next((self._speeches[key] for key in keys if key in self._speeches), None)

    def verdicts(self, provider: str, model: str, method: str) -> Sums | None:
        """Of the judge with that method, else of the other judges with it."""
        return self.own_verdicts(provider, model, method) or self._verdicts.get((is_simulated(provider), method))

    def own_verdicts(self, provider: str, model: str, method: str) -> Sums | None:
        """Of the judge itself with that method."""
        return self._verdicts.get((provider, model, method))

    def methods(self, provider: str, model: str) -> Sequence[str]:
        """The methods with which the judge has stored verdicts, in order."""
        return self._methods.get((provider, model), ())


def _groups(stored: Mapping[tuple[str, str, str], Sums]) -> dict[tuple[object, ...], Sums]:
    """Sums by provider, model and the third part of the key, and by fewer of them."""
    found: defaultdict[tuple[object, ...], Sums] = defaultdict(Sums)
    for (provider, model, part), sums in stored.items():
        is_free = is_simulated(provider)
        for key in ((provider, model, part), (provider, model), (is_free,), (is_free, part)):
            found[key].add(sums)
    return dict(found)
