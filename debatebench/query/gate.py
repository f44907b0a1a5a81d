"""Is the candidate worse than the baseline? Limits on a comparison, for a pipeline that must stop on a regression.

A check fails if the change exceeds its limit **and** chance does not explain it: the limit says how large a drop
matters, and the test says whether there is a drop. The whole interval need not lie beyond the limit, because then a
true drop of exactly the limit would pass 19 times out of 20. The tests are one-sided, because only a change for the
worse fails. They share one error rate by Bonferroni's inequality, so that a gate over any number of debaters fails in
at most 5 % of the cases in which nothing has changed.

**Few topics.** The spread of one difference over three topics is a guess, and Student's t with two degrees of freedom
finds next to nothing. All debaters were on the same topics, so a standard error is at least the *pooled* one, the root
of the mean of the squared errors of all debaters, which G topics and n debaters show with (G - 1) (n - 1) degrees of
freedom (as in `stats/rank_sets.py`). `benchmarks/gate_power.py` has false alarms and power. A change that is the same
on all topics for all debaters has no error: the exact sign test over topics decides, at the same error rate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from debatebench.query.comparison import Comparison
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.stats.distributions import normal_quantile, t_quantile
from debatebench.stats.power import detectable_effect

Outcome = Literal["passed", "failed", "unsettled", "missing"]

_FALSE_ALARMS = 0.05
_POWER = 0.8
# More topics than this are no help to anybody who plans a run.
_MOST_TOPICS = 100_000
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

    `model_id` is `None` for the panels' agreement. `ci_low` and `ci_high` are the ends of the interval of `difference`
    (candidate - baseline) that such a test excludes 0 from, `allowed` is the limit as a difference, in the same unit
    and with its sign, and `detectable` is the smallest true change for the worse with which the check fails four times
    out of five. It comes from `count_topics`; with `count_topics_needed` and the same spread, a true change of the
    limit would be told from chance four times out of five (`None` where that is not known). `outcome` is `failed`;
    `unsettled` if the change exceeds the limit and chance may explain it; `missing` if the candidate does not have the
    debater; else `passed`.
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
    count_topics: int | None
    count_topics_needed: int | None
    is_too_small: bool
    """Whether chance would often hide a change of the limit."""


@dataclass(frozen=True, slots=True)
class Power:
    """What the checks of one measure can find: the least of them, because each debater is to be checked.

    `detectable`, `count_topics` and `count_topics_needed` as in `Check`. `limit` is the largest of its checks.
    """

    measure: str
    limit: float
    detectable: float | None
    count_topics: int | None
    count_topics_needed: int | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate. `failures` and `warnings` are sentences; the gate passes if there are no failures.

    `power` says what the gate could find, whatever it found.
    """

    checks: tuple[Check, ...]
    power: tuple[Power, ...]
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
    failures = [described(check) for check in checks if check.outcome == "failed"]
    warnings = [
        f"{described(check)}: too few debates to distinguish it from chance" for check in checks if _is_unsettled(check)
    ]
    missing = list(dict.fromkeys(str(check.model_id) for check in checks if check.outcome == "missing"))
    (warnings if allow_missing else failures).extend(map(missing_sentence, missing))
    if incomparable := _incomparable(comparison, {check.measure for check in checks}):
        (failures if require_comparable else warnings).append(incomparable)
    warnings += _power_warnings(checks)
    warnings += [str(pool["explanation"]).removesuffix(".") for pool in comparison.pools]
    for run in comparison.unfinished:
        warnings.append(
            f"run '{run['run_tag']}' is not finished: {run['count_complete']} of {run['count_planned']} debates are "
            "complete"
        )
    return GateResult(checks, tuple(_powers(checks)), tuple(failures), tuple(warnings))


def _checks(comparison: Comparison, limits: GateLimits, debaters: Collection[str]) -> Iterator[Check]:
    rows = list(_limited_rows(comparison, limits, debaters))
    # All checks together share one error rate.
    count = sum(row["difference"] is not None for row, _ in rows)
    alpha = _FALSE_ALARMS / max(count, 1)
    for row, limit in rows:
        alike = [each for each in comparison.debaters if "model_id" in row and each["measure"] == row["measure"]]
        yield _check(row, limit, _Error.of(row, alike), alpha)


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
                f"The baseline, {comparison.baseline}, has no rated debater '{name}'.{known_names(name, known)}"
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


@dataclass(frozen=True, slots=True)
class _Error:
    """A standard error and its degrees of freedom, `None` where it is as good as known."""

    size: float
    df: int | None

    @classmethod
    def of(cls, row: Mapping[str, Any], alike: Collection[Mapping[str, Any]]) -> _Error | None:
        """The error of a row's difference: at least the pooled one of the rows of all debaters; `None` if unknown.

        Errors of costs are pooled as shares of what the debater cost, because prices differ by orders of magnitude.
        """
        own, df = row["standard_error"], row["degrees_of_freedom"]
        if row["difference"] is None or own is None:
            return None
        known = [each for each in alike if each["standard_error"] is not None and _unit(each)]
        if len(known) < 2:
            return cls(own, df)
        squares = sum((each["standard_error"] / _unit(each)) ** 2 for each in known)
        least = min(
            (each["degrees_of_freedom"] for each in known if each["degrees_of_freedom"] is not None), default=df
        )
        pooled = _unit(row) * math.sqrt(squares / len(known))
        return cls(max(own, pooled), None if least is None else least * (len(known) - 1))

    def critical(self, alpha: float) -> float:
        """The change for the worse that chance exceeds in a share `alpha` of the cases, one-sided."""
        return self.size * (normal_quantile(1 - alpha) if self.df is None else t_quantile(1 - 2 * alpha, self.df))

    def detectable(self, alpha: float) -> float:
        """The smallest true change that the gate finds with its stated power."""
        if self.df is None:
            return self.critical(alpha) + normal_quantile(_POWER) * self.size
        effect = detectable_effect(self.df + 1, _POWER, 2 * alpha)
        return self.size * math.sqrt(self.df + 1) * cast(float, effect)

    def with_topics(self, count: int, topics: int) -> _Error:
        """The error if a comparison of `count` topics had `topics` of them."""
        df = None if self.df is None else max(round(self.df * (topics - 1) / (count - 1)), 1)
        return _Error(self.size * math.sqrt(count / topics), df)


def _unit(row: Mapping[str, Any]) -> float:
    """What one unit of a limit is for this row."""
    return abs(row["baseline_value"] or 0.0) if row["measure"] in _COSTS else 1.0


def _check(row: Mapping[str, Any], limit: float, error: _Error | None, alpha: float) -> Check:
    measure, difference = row["measure"], row["difference"]
    sign = 1 if measure in _COSTS else -1
    allowed = limit * _unit(row)
    is_known = error is not None and error.size > 0
    margin = error.critical(alpha) if error is not None and is_known else None
    if difference is None:
        outcome: Outcome = "missing" if row["candidate_value"] is None else "unsettled"
    elif sign * difference <= allowed:
        outcome = "passed"
    else:
        is_real = sign * difference > margin if margin is not None else _is_one_sided(row, alpha)
        outcome = "failed" if is_real else "unsettled"
    topics, needed, smallest = row["count_topics"], None, None
    if error is not None and is_known:
        smallest = error.detectable(alpha)
        needed = _topics_needed(error, alpha, allowed, topics)
    return Check(
        measure=measure,
        model_id=row.get("model_id"),
        outcome=outcome,
        baseline_value=row["baseline_value"],
        candidate_value=row["candidate_value"],
        difference=difference,
        ci_low=None if margin is None else difference - margin,
        ci_high=None if margin is None else difference + margin,
        allowed=sign * allowed,
        detectable=None if smallest is None or error is None else max(smallest, allowed + _beyond(error)),
        count_topics=topics,
        count_topics_needed=needed,
        is_too_small=outcome != "missing" and (smallest is None or smallest > allowed),
    )


def _beyond(error: _Error) -> float:
    """By how much a true change must exceed a limit so that the observed one does so with the power of a gate."""
    return normal_quantile(_POWER) * error.size


def _is_one_sided(row: Mapping[str, Any], alpha: float) -> bool:
    """Whether a change without any spread has one sign on more topics than chance explains."""
    return row["p_value"] is not None and row["p_value"] < 2 * alpha


def _topics_needed(error: _Error, alpha: float, allowed: float, count: int | None) -> int | None:
    """The fewest topics, from two up, with which the gate finds a change of `allowed`; `None` if not known."""
    if count is None or count < 2 or allowed <= 0:
        return None

    def is_enough(topics: int) -> bool:
        return error.with_topics(count, topics).detectable(alpha) <= allowed

    most = 2
    while not is_enough(most):
        if most >= _MOST_TOPICS:
            return None
        most *= 2
    low = most // 2
    while most - low > 1:
        middle = (low + most) // 2
        low, most = (low, middle) if is_enough(middle) else (middle, most)
    return most


# --- in words ---------------------------------------------------------------------------------------------------------


def _is_unsettled(check: Check) -> bool:
    return check.outcome == "unsettled"


def missing_sentence(model_id: str) -> str:
    """That the candidate lacks a debater."""
    return f"debater {model_id} is missing from the candidate"


def described(check: Check) -> str:
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
        f"{item['setting']} {'differ' if item['state'] == 'different' else 'unknown'}"
        for item in comparison.items
        if item["state"] in ("different", "unknown") and item["affects"] in spoiled
    ]
    return f"not like for like: {', '.join(spoiling)}" if spoiling else None


def _powers(checks: Collection[Check]) -> Iterator[Power]:
    for measure in dict.fromkeys(check.measure for check in checks):
        own = [check for check in checks if check.measure == measure and check.outcome != "missing"]
        if not own:
            continue
        found, needed, topics = (
            [getattr(check, name) for check in own] for name in ("detectable", "count_topics_needed", "count_topics")
        )
        yield Power(
            measure=measure,
            limit=max(abs(check.allowed or 0.0) for check in own),
            detectable=None if None in found else max(found),
            count_topics=None if None in topics else min(topics),
            count_topics_needed=None if None in needed else max(needed),
        )


def power_sentence(power: Power) -> str:
    """What a gate can find, in one sentence: `rating: a drop of 142.3 fails four times out of five (6 topics); …`."""
    change = "rise" if power.measure in _COSTS else "drop"
    topics = "" if power.count_topics is None else f" with {power.count_topics} topics"
    if power.detectable is None:
        found = f"what these runs can find is not known{topics}"
    else:
        found = f"a {change} of {_size(power.measure, power.detectable)} fails four times out of five{topics}"
    if power.count_topics_needed is None:
        return f"{power.measure}: {found}."
    needed = f"to tell one of {_size(power.measure, power.limit)} from chance, {power.count_topics_needed:,} are needed"
    return f"{power.measure}: {found}; {needed}."


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
