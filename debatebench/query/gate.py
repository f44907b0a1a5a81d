"""Is the candidate worse than the baseline? Limits on a comparison, for a pipeline that must stop on a regression.

A check fails if the change exceeds its limit **and** its interval excludes zero: the limit says how large a drop
matters, and the interval says whether there is a drop. The whole interval need not lie beyond the limit, because then
a true drop of exactly the limit would pass 39 times out of 40. All checks of a gate share one error rate: intervals are
widened by Bonferroni's inequality, so that a gate over any number of debaters fails in at most 2.5 % of the cases in
which nothing has changed. A change that is the same on all topics has no interval: the exact sign test over topics
decides, at the same error rate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from debatebench.query.comparison import is_settled
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.query.comparison import Comparison

__all__ = ["Check", "GateLimits", "GateResult", "Outcome", "check_gate"]

Outcome = Literal["passed", "failed", "unsettled", "missing"]

_LEVEL = 0.95
_POWER = 0.8
# Measures for which a higher value is worse.
_COSTS = {"turn_cost_usd"}
_SPOILS = {"turn_cost_usd": {"everything", "costs"}}


@dataclass(frozen=True, slots=True)
class GateLimits:
    """How much worse a candidate may be; a measure whose limit is `None` is not checked.

    Drops are in the unit of the measure: rating points, shares of debates won or of judges that agree, points of the
    scale. `cost_increase` is a share of the baseline's cost: 0.2 allows 20 % more.
    """

    rating_drop: float | None = 25.0
    win_rate_drop: float | None = None
    score_drop: float | None = None
    cost_increase: float | None = None
    agreement_drop: float | None = None

    def of_debaters(self) -> dict[str, float]:
        """Measure → limit, for the measures that are checked for each debater."""
        limits = {
            "rating": self.rating_drop,
            "win_rate": self.win_rate_drop,
            "mean_score": self.score_drop,
            "turn_cost_usd": self.cost_increase,
        }
        return {measure: limit for measure, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Check:
    """One number under one limit.

    `model_id` is `None` for the panels' agreement. `ci_low` and `ci_high` are the ends of the widened interval of
    `difference` (candidate - baseline), `allowed` is the limit as a difference, in the same unit and with its sign, and
    `detectable` is the smallest true change for the worse that such a check finds four times out of five. `outcome` is
    `failed`; `unsettled` if the change exceeds the limit and chance may explain it; `missing` if the candidate does not
    have the debater; else `passed`.
    """

    measure: str
    model_id: str | None
    outcome: Outcome
    baseline_value: float | None
    candidate_value: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    allowed: float | None
    detectable: float | None

    @property
    def is_too_small(self) -> bool:
        """Whether a change just beyond the limit would often not be detected."""
        if self.outcome == "missing" or self.allowed is None:
            return False
        return self.detectable is None or self.detectable > abs(self.allowed)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate. `failures` and `warnings` are sentences; the gate passes if there are no failures."""

    checks: tuple[Check, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def is_passed(self) -> bool:
        """Whether the candidate passes the gate."""
        return not self.failures


def check_gate(
    comparison: Comparison,
    limits: GateLimits,
    *,
    debaters: Collection[str] = (),
    allow_missing: bool = False,
    require_comparable: bool = False,
) -> GateResult:
    """Check a comparison against `limits`; with `debaters`, only those debaters are checked.

    A debater that the candidate lacks is a failure, or a warning with `allow_missing`; one that the baseline lacks is
    not checked. A comparison that is not like for like is a warning, or a failure with `require_comparable`.
    Raises `UsageError` if there is nothing to check: no limit, an unknown debater, or no rated debate in common.
    """
    checks = tuple(_checks(comparison, limits, debaters))
    failures = [_described(check) for check in checks if check.outcome == "failed"]
    warnings = [
        f"{_described(check)}: too few debates to distinguish it from chance"
        for check in checks
        if _is_unsettled(check)
    ]
    missing = list(dict.fromkeys(str(check.model_id) for check in checks if check.outcome == "missing"))
    (warnings if allow_missing else failures).extend(
        f"debater {name} is missing from the candidate" for name in missing
    )
    if incomparable := _incomparable(comparison, {check.measure for check in checks}):
        (failures if require_comparable else warnings).append(incomparable)
    warnings += _power_warnings(checks)
    for run in comparison.unfinished:
        warnings.append(
            f"run '{run['run_tag']}' is not finished: {run['count_complete']} of {run['count_planned']} debates are "
            "complete"
        )
    return GateResult(checks, tuple(failures), tuple(warnings))


def _checks(comparison: Comparison, limits: GateLimits, debaters: Collection[str]) -> Iterator[Check]:
    rows = [(row, limit) for row, limit in _limited_rows(comparison, limits, debaters)]
    # All checks together share one level.
    count = sum(row["difference"] is not None for row, _ in rows)
    for row, limit in rows:
        yield _check(row, limit, 1 - (1 - _LEVEL) / max(count, 1))


def _limited_rows(
    comparison: Comparison, limits: GateLimits, debaters: Collection[str]
) -> Iterator[tuple[Mapping[str, Any], float]]:
    """The rows to check, each with its limit. A debater that only the candidate has gets no row."""
    by_measure = limits.of_debaters()
    if not by_measure and limits.agreement_drop is None:
        raise UsageError("There is nothing to check; give at least one limit, such as --max-drop 25.")
    known = sorted({row["model_id"] for row in comparison.debaters if row["method"] != "only in the candidate"})
    for name in debaters:
        if name not in known:
            raise UsageError(
                f"The baseline, {comparison.baseline}, has no rated debater '{name}'. Known: {', '.join(known)}."
            )
    if by_measure and not known:
        raise UsageError(f"The baseline, {comparison.baseline}, has no rated debates, so there is nothing to check.")
    for row in comparison.debaters:
        is_wanted = row["measure"] in by_measure and (not debaters or row["model_id"] in debaters)
        if is_wanted and row["baseline_value"] is not None:
            yield row, by_measure[row["measure"]]
    if limits.agreement_drop is not None:
        for row in comparison.panels:
            if row["measure"] == "agreement":
                yield row, limits.agreement_drop


def _check(row: Mapping[str, Any], limit: float, level: float) -> Check:
    measure, baseline, difference = row["measure"], row["baseline_value"], row["difference"]
    sign = 1 if measure in _COSTS else -1
    allowed = sign * limit * (abs(baseline) if measure in _COSTS else 1)
    low, high, detectable = _widened(row, level)
    if difference is None:
        outcome: Outcome = "missing" if row["candidate_value"] is None else "unsettled"
    elif sign * difference <= abs(allowed):
        outcome = "passed"
    else:
        outcome = "failed" if is_settled({**row, "ci_low": low, "ci_high": high}, level) else "unsettled"
    return Check(
        measure=measure,
        model_id=row.get("model_id"),
        outcome=outcome,
        baseline_value=baseline,
        candidate_value=row["candidate_value"],
        difference=difference,
        ci_low=low,
        ci_high=high,
        allowed=allowed,
        detectable=detectable,
    )


def _widened(row: Mapping[str, Any], level: float) -> tuple[float | None, float | None, float | None]:
    """The 95 % interval scaled to another level, each end in proportion, and the smallest change that it detects."""
    from debatebench.stats.distributions import normal_quantile, t_quantile

    if row["ci_low"] is None or row["ci_high"] is None:
        return None, None, None
    df = row["degrees_of_freedom"]
    if df is None:
        wide, usual = (normal_quantile(0.5 + each / 2) for each in (level, _LEVEL))
    else:
        wide, usual = (t_quantile(each, df) for each in (level, _LEVEL))
    below = (row["difference"] - row["ci_low"]) * wide / usual
    above = (row["ci_high"] - row["difference"]) * wide / usual
    detectable = (below + above) / 2 + normal_quantile(_POWER) * row["standard_error"]
    return row["difference"] - below, row["difference"] + above, detectable


# --- in words ---------------------------------------------------------------------------------------------------------


def _is_unsettled(check: Check) -> bool:
    return check.outcome == "unsettled"


def _described(check: Check) -> str:
    """What changed by how much, and how much may: `rating of a -38.2 (allowed -25.0; interval -60.1 to -16.3)`."""
    name = {
        "rating": "rating",
        "win_rate": "win rate",
        "mean_score": "mean score",
        "turn_cost_usd": "cost per debate",
    }.get(check.measure, "agreement of the judges")
    whose = f" of {check.model_id}" if check.model_id is not None else ""
    if check.difference is None:
        return f"{name}{whose} is unknown in the candidate"
    interval = "no interval"
    if check.ci_low is not None and check.ci_high is not None:
        interval = f"interval {_shown(check.measure, check.ci_low)} to {_shown(check.measure, check.ci_high)}"
    allowed = _shown(check.measure, check.allowed or 0.0)
    return f"{name}{whose} {_shown(check.measure, check.difference)} (allowed {allowed}; {interval})"


def _shown(measure: str, value: float) -> str:
    decimals = {"rating": 1, "mean_score": 2, "turn_cost_usd": 6}.get(measure, 3)
    return f"{value:+.{decimals}f}"


def _incomparable(comparison: Comparison, measures: Collection[str]) -> str | None:
    """Why the pair is not like for like, as far as it affects the checked measures."""
    spoiled = {affected for measure in measures for affected in _SPOILS.get(measure, {"everything"})}
    spoiling = [
        f"{item['item']} {'differ' if item['state'] == 'different' else 'unknown'}"
        for item in comparison.items
        if item["state"] in ("different", "unknown") and item["affects"] in spoiled
    ]
    return f"not like for like: {', '.join(spoiling)}" if spoiling else None


def _power_warnings(checks: Collection[Check]) -> Iterator[str]:
    """For each measure, the changes that its checks would miss even if they pass."""
    for measure in dict.fromkeys(check.measure for check in checks):
        own = [check for check in checks if check.measure == measure and check.outcome != "missing"]
        small = [check for check in own if check.is_too_small]
        if not small:
            continue
        found = [check.detectable for check in small if check.detectable is not None]
        at_best = f"only changes of {_size(measure, max(found))} or more" if found else "no change"
        yield (
            f"the runs are too small: of {len(own)} checks of {measure}, {len(small)} would find {at_best} "
            "(4 times out of 5)"
        )


def _size(measure: str, value: float) -> str:
    return _shown(measure, value).lstrip("+")
