"""The dimensions of a rubric, with scales and anchors, as config.yaml and the files in configs/rubrics/ hold them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from debatebench.config.setting import Setting
from debatebench.config.types import DimensionConfig, Preferences, SideGuidance, WholeConfig
from debatebench.shared.categories import category_key
from debatebench.shared.records import MOST_SCORE


def read_dimensions(
    setting: Setting, scale_min: Setting, scale_max: Setting, scale_step: Setting | None = None
) -> dict[str, DimensionConfig]:
    """Dimensions as a mapping of names, or a list of names or mappings with an `id`; the shared scale is a default.

    The shared step is that of dimensions on the shared scale.
    """
    low, high = _score(scale_min, Decimal(1)), _score(scale_max, Decimal(10))
    if scale_max.is_given and low >= high:
        scale_max.refuse(f"a number above the lower end, which is {low}")
    dimensions: dict[str, DimensionConfig] = {}
    for name, entry in _named_dimensions(setting):
        if name in dimensions:
            entry.holding(name).refuse("dimensions without duplicates")
        least, most = _score(entry.at("min"), low), _score(entry.at("max"), high)
        if least >= most:
            end = entry.at("min") if entry.at("min").is_given else entry.at("max")
            end.refuse(f"min below max (found {least} and {most})")
        description = entry.at("description").optional_text() or entry.at("name").optional_text()
        integer = entry.at("integer").flag(default=False) if entry.at("integer").is_given else None
        is_shared = not any(entry.at(name).is_given for name in ("min", "max", "integer"))
        own_step = entry.at("step")
        step = _step(own_step if own_step.is_given or not is_shared else scale_step, least, most, integer)
        dimensions[name] = DimensionConfig(
            min=least,
            max=most,
            description=description,
            integer=integer,
            weight=_not_negative(entry.at("weight"), Decimal(1)),
            tie_band=_not_negative(entry.at("tie_band"), Decimal(0)),
            ties=entry.at("ties").flag(default=True),
            preferences=_preferences(entry.at("preferences")),
            anchors=_anchors(entry.at("anchors"), least, most),
            by_category=_by_category(entry.at("by_category")),
            step=step,
        )
    if not dimensions:
        setting.refuse("at least one dimension, as a mapping of names to {min, max, description}")
    if not any(dimension.weight for dimension in dimensions.values()):
        setting.refuse("at least one dimension with a weight above 0", is_shown=False)
    return dimensions


def read_whole(setting: Setting) -> WholeConfig:
    """How the debate as a whole is judged: `ties`, and `preferences` for all dimensions together."""
    if setting.is_given:
        setting.allow(("ties", "preferences"))
    return WholeConfig(
        ties=setting.at("ties").flag(default=True),
        preferences=_preferences(
            setting.at("preferences"), tuple(stage for stage in Preferences.model_fields if stage != "summary")
        ),
    )


def _named_dimensions(setting: Setting) -> Iterable[tuple[str, Setting]]:
    """(name, its mapping or nothing) of every dimension, in order."""
    keys = (
        *("min", "max", "step", "integer", "description", "name", "weight", "tie_band", "ties", "preferences"),
        *("anchors", "by_category"),
    )
    if not isinstance(setting.value, list):
        for name in setting.mapping():
            entry = setting.at_key(name)
            entry.allow(keys)
            yield entry.holding(name).name(), entry
        return
    for entry in setting.items():
        if isinstance(entry.value, str):
            yield entry.name(), entry.holding(None)
        else:
            entry.allow(("id", *keys))
            yield entry.at("id").name(), entry


def _step(setting: Setting | None, least: Decimal, most: Decimal, integer: bool | None) -> Decimal | None:
    """The difference of neighbouring scores; both ends are multiples of it."""
    if setting is None or not setting.is_given:
        return None
    step = _score(setting, Decimal(1))
    if step <= 0 or least % step or most % step:
        setting.refuse(f"a number above 0 of which {least} and {most} are multiples")
    if integer is not None and integer != (step % 1 == 0):
        setting.refuse("a step that fits `integer`; a scale with a step does not need `integer`")
    return step


def _preferences(setting: Setting, stages: tuple[str, ...] = tuple(Preferences.model_fields)) -> Preferences:
    """What a judge method tells a judge to look for, by stage."""
    if setting.is_given:
        setting.allow(stages)
    return Preferences(**setting.fields(Preferences, *stages))


def _not_negative(setting: Setting, default: Decimal) -> Decimal:
    """A weight or a difference of scores."""
    value = _score(setting, default)
    if value < 0:
        setting.refuse("a number that is not negative")
    return value


def _score(setting: Setting, default: Decimal) -> Decimal:
    """An end of a scale, in the range and precision with which SQL models can calculate exactly."""
    value = setting.decimal(default)
    if abs(value) > MOST_SCORE or value != round(value, 6):
        setting.refuse(f"a number from -{MOST_SCORE:,} to {MOST_SCORE:,} with at most six decimals")
    return value


def _anchors(setting: Setting, least: Decimal, most: Decimal) -> dict[str, str]:
    """What a score means, by score in rising order."""
    found: dict[Decimal, str] = {}
    for key in setting.mapping():
        place = setting.at_key(key)
        try:
            score = Decimal(key)
        except InvalidOperation:
            score = Decimal("NaN")
        if not (score.is_finite() and least <= score <= most) or score in found:
            place.holding(key).refuse(f'scores from {least} to {most}, each once, such as "{least}"')
        found[score] = place.text()
    return {f"{score.normalize():f}": text for score, text in sorted(found.items())}


def _by_category(setting: Setting) -> dict[str, SideGuidance]:
    """What a dimension asks of each side, by category; each text in one line."""
    found: dict[str, SideGuidance] = {}
    for name in setting.mapping():
        place = setting.at_key(name)
        if not category_key(name) or category_key(name) in map(category_key, found):
            place.holding(name).refuse("names of categories, each once")
        place.allow(("pro", "con"))
        found[" ".join(name.split())] = SideGuidance(
            pro=" ".join(place.at("pro").text().split()), con=" ".join(place.at("con").text().split())
        )
    return found
