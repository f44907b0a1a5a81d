"""YAML and JSON configuration → typed, frozen config.

A file that cannot be used raises `ConfigError` with one sentence: the file, the key path, what was found and what is
allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from unicodedata import normalize

from debatebench.config.dimensions import read_dimensions, read_whole
from debatebench.config.setting import Setting, read_file
from debatebench.config.types import (
    Config,
    EloConfig,
    MemberConfig,
    PriceList,
    Pricing,
    RateLimits,
    Round,
    TopicConfig,
)
from debatebench.shared.records import TEAMS
from debatebench.shared.service_tiers import STANDARD_TIERS
from debatebench.shared.visible_text import plain_name

PLACES: dict[str, tuple[str, ...]] = {
    "benchmark_name": ("benchmark.name", "benchmark_name"),
    "benchmark_version": ("benchmark.version", "benchmark_version"),
    "rubric_version": ("benchmark.rubric_version", "scoring.rubric_version", "rubric_version"),
    "language": ("debate.language", "language"),
    "rounds": ("debate.rounds", "rounds"),
    "temperature": ("debate.temperature", "debate_temperature", "temperature"),
    "on_refusal": ("debate.on_refusal", "on_refusal"),
    "system_prompt_pro": ("debate.system_prompt_pro", "system_prompt_pro"),
    "system_prompt_con": ("debate.system_prompt_con", "system_prompt_con"),
    "dimensions": ("scoring.dimensions", "dimensions"),
    "scale_min": ("scoring.scale_min", "scoring.scale.min", "scale_min", "scale.min"),
    "scale_max": ("scoring.scale_max", "scoring.scale.max", "scale_max", "scale.max"),
    "scale_step": ("scoring.scale.step", "scale.step"),
    "judges_per_debate": ("scoring.judges_per_debate", "scoring.num_judges", "judges_per_debate", "num_judges"),
    "whole": ("scoring.whole",),
    "judge_system_prompt": ("scoring.judge_system_prompt", "judge_system_prompt"),
    "initial_rating": ("elo.initial_rating", "initial_rating"),
    "k_factor": ("elo.k_factor", "k_factor"),
    "min_games_for_display": ("elo.min_games_for_display", "min_games_for_display"),
}
"""Where a setting of config.yaml may stand: in the nested form first, then in the original harness's flat form.

A file may use either form; a setting given in two places is rejected."""

_LIMIT_KEYS = tuple(RateLimits.model_fields)
_MODEL_KEYS = {"role", *_LIMIT_KEYS, *MemberConfig.model_fields} - {"limits", "provider_limits", "earlier_parameters"}
# The keys of a debater or judge that mean what their type says.
_PLAIN_KEYS = (
    *("id", "model", "allow_insecure", "environment_proxies", "trust_reported_cost"),
    *("token_limit", "thinking_tokens", "context_window", "timeout"),
)
_PRICES = tuple(PriceList.model_fields)
_SECRET_KEY = re.compile(r"(?i)(x-)?api[-_]?key|authorization|bearer|password|secret|(access|auth)[-_]?token")
_URL = re.compile(r"https?://[^\s/@?#]+[^\s@#]*")
_SECRET_IN_URL = re.compile(r"(?i)[?&][^=&]*(key|token|secret|password|sig)[^=&]*=")
_ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_STYLE = re.compile(r"(?!user\Z)[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def load_config(path: Path, *, needs_rounds: bool = True) -> Config:
    """Read `config.yaml`, in the nested form or in the original harness's flat form.

    Where no debates are played it need not have rounds.
    """
    file = _read(path)
    file.allow(place for places in PLACES.values() for place in places)

    def setting(name: str) -> Setting:
        return file.at(*PLACES[name])

    special = ("rubric_version", "rounds", "dimensions", "elo", "weaknesses", "weakness_taxonomy", "whole")
    plain = {name: setting(name).field(Config, name) for name in Config.model_fields if name not in special}
    return Config(
        **plain,
        rubric_version=setting("rubric_version").name(plain["benchmark_version"]),
        rounds=() if not (needs_rounds or setting("rounds").is_given) else read_rounds(setting("rounds")),
        dimensions=read_dimensions(
            setting("dimensions"), setting("scale_min"), setting("scale_max"), setting("scale_step")
        ),
        whole=read_whole(setting("whole")),
        elo=EloConfig(**{name: setting(name).field(EloConfig, name) for name in EloConfig.model_fields}),
    )


def load_topics(path: Path) -> tuple[TopicConfig, ...]:
    """Read `topics.json` (or YAML of the same form): a list of topics, or a mapping with the key `topics`."""
    file = _read(path)
    entries = _entries(file, "topics", allowed="a list with at least one topic")
    _refuse_twice(entries)
    return tuple(_topic(entry) for entry in entries)


def load_debaters(path: Path) -> tuple[MemberConfig, ...]:
    """Read `models.yaml`: the debaters, as a list or a mapping with the key `models` and optionally `limits`."""
    file = _read(path)
    return _members(_entries(file, "models", "limits", allowed="a list with at least one debater"), file)


def load_judges(path: Path) -> tuple[MemberConfig, ...]:
    """Read `judges.yaml`: the judges, as a list or a mapping with the key `judges` (and `limits`). It may be empty."""
    file = _read(path)
    return _members(_entries(file, "judges", "limits"), file)


def load_prices(path: Path) -> dict[tuple[str, str], Pricing]:
    """(provider, model) → its prices, in a file with entries as in `models.yaml` or `judges.yaml`."""
    file = _read(path)
    lists = [file] if isinstance(file.value, list) else [file.at("models"), file.at("judges")]
    found: dict[tuple[str, str], Pricing] = {}
    for entry in (entry for setting in lists for entry in setting.items()):
        pricing = _pricing(entry.at("pricing"))
        names = (entry.at("provider").name(), entry.at("model").name())
        if pricing is not None and found.setdefault(names, pricing) != pricing:
            entry.at("pricing").refuse("the prices that another entry gives this model", is_shown=False)
    if not found:
        file.refuse("entries with `provider`, `model` and `pricing`, as in models.yaml", is_shown=False)
    return found


def load_quick_test(path: Path) -> tuple[tuple[MemberConfig, ...], tuple[MemberConfig, ...], int | None]:
    """Read `quick-test-models.yaml`: debaters, judges, and judges per debate (None: the config decides).

    An entry without `provider` uses OpenRouter.
    """
    file = _read(path)
    file.allow(("debaters", "models", "judges", "num_judges"))
    panel = file.at("num_judges")
    lists = []
    for setting in (file.at("debaters", "models"), file.at("judges")):
        entries = list(setting.items())
        if not entries:
            setting.refuse("a list with at least one entry")
        lists.append(_members(entries, file, default_provider="openrouter"))
    return lists[0], lists[1], panel.whole(least=1) if panel.is_given else None


def _read(path: Path) -> Setting:
    # Imported here, so that importing the types alone does not load YAML.

    return read_file(path)


def _entries(file: Setting, key: str, *others: str, allowed: str | None = None) -> list[Setting]:
    """The elements of a file that is a list or holds one under `key`. With `allowed`, at least one is required."""
    setting = file
    if isinstance(file.value, dict):
        file.allow((key, *others))
        setting = file.at(key)
    entries = list(setting.items())
    if allowed and not entries:
        setting.refuse(allowed)
    return entries


def read_rounds(setting: Setting) -> tuple[Round, ...]:
    """The turns of a debate format, at least one."""
    entries = list(setting.items())
    if not entries:
        setting.refuse("a list with at least one turn")
    rounds = []
    for entry in entries:
        entry.allow(("role", "speaker", "stage", "max_tokens", "token_limit", "language", "instruction"))
        role, cap = entry.at("role", "speaker"), entry.at("max_tokens", "token_limit")
        rounds.append(
            Round(
                role=role.field(Round, "role"),
                max_tokens=cap.field(Round, "max_tokens"),
                instruction=" ".join((entry.at("instruction").optional_text() or "").split()) or None,
                **entry.fields(Round, "stage", "language"),
            )
        )
    roles = {turn.role for turn in rounds}
    if roles & set(TEAMS) and roles != set(TEAMS):
        setting.refuse(f"turns of pro and con, or at least one of each team: {', '.join(TEAMS)}", is_shown=False)
    return tuple(rounds)


def _topic(entry: Setting) -> TopicConfig:
    entry.allow(("id", "motion", "category", "info_slide"))
    return TopicConfig(
        **entry.fields(TopicConfig, "id", "info_slide"),
        # The same motion in two Unicode forms is one motion.
        motion=normalize("NFC", entry.at("motion").text()),
        category=plain_name(entry.at("category").optional_text() or "") or None,
    )


def _members(entries: list[Setting], file: Setting, *, default_provider: str | None = None) -> tuple[MemberConfig, ...]:
    """Debaters or judges; the file's `limits`, a mapping of providers, apply to all members of a provider together."""
    _refuse_twice(entries)
    providers = {entry.at("provider").value or default_provider for entry in entries}
    limits = {}
    if isinstance(file.value, dict):
        for name in file.at("limits").mapping():
            setting = file.at("limits").at_key(name)
            if name not in providers:
                setting.holding(name).refuse(f"a provider of this file ({', '.join(sorted(map(str, providers)))})")
            setting.allow(_LIMIT_KEYS)
            limits[name] = RateLimits(**setting.fields(RateLimits, *_LIMIT_KEYS))
    return tuple(_member(entry, default_provider, limits) for entry in entries)


def _member(entry: Setting, default_provider: str | None, limits: Mapping[str, RateLimits]) -> MemberConfig:
    """One debater or judge. The original's `role` adds nothing to what the file means, and is only checked."""
    entry.allow(_MODEL_KEYS)
    if entry.at("role").is_given:
        entry.at("role").choice("debater", "judge")
    _refuse_secrets(entry.at("parameters"))
    provider = entry.at("provider").name(default_provider)
    return MemberConfig(
        provider=provider,
        **entry.fields(MemberConfig, *_PLAIN_KEYS),
        endpoint=_endpoint(entry.at("endpoint")),
        api_key_env=_key_variable(entry.at("api_key_env")),
        method=_prompt_style(entry.at("method"), "direct"),
        prompt_style=_prompt_style(entry.at("prompt_style")),
        parameters=entry.at("parameters").mapping(),
        pricing=_pricing(entry.at("pricing")),
        limits=RateLimits(**entry.fields(RateLimits, *_LIMIT_KEYS)),
        provider_limits=limits.get(provider, RateLimits()),
    )


def _endpoint(setting: Setting) -> str | None:
    url = setting.optional_text()
    if url is not None and (not _URL.fullmatch(url) or _SECRET_IN_URL.search(url)):
        setting.refuse("an http or https URL without a key or password", is_shown=False)
    return url


def _key_variable(setting: Setting) -> str | None:
    """The name of the variable that holds a key; text that is not a name may be the key itself, and is not shown."""
    if setting.is_given and not (isinstance(setting.value, str) and _ENVIRONMENT_NAME.fullmatch(setting.value)):
        setting.refuse("the name of an environment variable, such as OPENROUTER_API_KEY", is_shown=False)
    return setting.optional_text()


def _prompt_style(setting: Setting, default: str = "default") -> str:
    """A name that can be part of the name of a prompt file."""
    style = setting.text(default)
    if not _STYLE.fullmatch(style):
        setting.refuse("letters, digits, '_' and '-', and not 'user'")
    return style


def _pricing(setting: Setting) -> Pricing | None:
    if not setting.is_given:
        return None
    setting.allow((*_PRICES, "tiers"))
    tiers: dict[str, PriceList] = {}
    for name in setting.at("tiers").mapping():
        tier = setting.at("tiers").at_key(name)
        if name.lower() in {*STANDARD_TIERS, *tiers}:
            tier.refuse("each tier once, and the prices of the standard tier outside of `tiers`", is_shown=False)
        tier.allow(_PRICES)
        tiers[name.lower()] = PriceList(**_prices(tier))
    return Pricing(**_prices(setting), tiers=tiers)


def _prices(setting: Setting) -> dict[str, Any]:
    """The prices that are given; those of the prompt and the completion always are."""
    return {
        name: setting.at(name).price()
        for name in _PRICES
        if name in ("prompt", "completion") or setting.at(name).is_given
    }


def _refuse_secrets(setting: Setting) -> None:
    """Parameters are stored with the run and sent unchanged: they must not contain a key."""
    if isinstance(setting.value, list):
        for item in setting.items():
            _refuse_secrets(item)
    elif isinstance(setting.value, dict):
        for key in setting.value:
            inner = setting.at_key(key)
            if _SECRET_KEY.fullmatch(key):
                inner.refuse(
                    "no API keys in files; name the environment variable of the key in api_key_env", is_shown=False
                )
            _refuse_secrets(inner)


def _refuse_twice(entries: Iterable[Setting]) -> None:
    """Reject a list of topics, debaters or judges with a duplicate id."""
    seen: set[str] = set()
    for entry in entries:
        setting = entry.at("id")
        id_ = plain_name(str(setting.value))
        if setting.value is not None and id_ in seen:
            setting.refuse("ids without duplicates")
        seen.add(id_)
