"""The prices of a plan: as configured, else as listed in the provider's catalogue when the run begins.

They are frozen with the plan, so that a run that continues next month uses the prices with which it began.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.config.load import load_prices
from debatebench.config.types import MemberConfig, Pricing
from debatebench.plan.plan import Plan
from debatebench.providers import is_simulated, provider_key
from debatebench.providers.unreachable import ProxyLoginError
from debatebench.shared.errors import DebatebenchError, UsageError

if TYPE_CHECKING:
    from debatebench.providers.served_models import ListedModel


def with_listed_prices(plan: Plan, environ: Mapping[str, str], warn: Callable[[str], None]) -> Plan:
    """`plan` with the catalogue's prices for hosted members that have none; each catalogue is read once.

    A catalogue that cannot be read, or does not list a model, causes a warning: the price then stays unknown. Raises
    `ProxyLoginError` when a proxy wants a password.
    """
    from debatebench.providers.served_models import has_catalogue, read_catalogue

    catalogues: dict[Hashable, dict[str, ListedModel]] = {}

    def listed(member: MemberConfig) -> Pricing | None:
        if is_simulated(member.provider) or not has_catalogue(member):
            return None
        key = provider_key(member)
        if key not in catalogues:
            try:
                catalogues[key] = read_catalogue(member, environ)
            except ProxyLoginError:
                raise
            except DebatebenchError as problem:
                catalogues[key] = {}
                warn(f"{problem} Prices stay unknown unless answers report costs; set `pricing` in the configuration.")
        model = catalogues[key].get(member.model)
        return model.pricing if model is not None else None

    return _priced(plan, listed)


def prices_in(path: Path) -> Callable[[MemberConfig], Pricing | None]:
    """The prices in a file: entries as in `models.yaml`, or a provider's catalogue as its address `/models` gives it.

    Raises `ConfigError` or `UsageError` for a file that holds none.
    """
    from debatebench.providers.served_models import parse_catalogue

    if path.suffix != ".json":
        given = load_prices(path)
        return lambda member: given.get((member.provider, member.model))
    try:
        listed = parse_catalogue(path.read_bytes())
    except (OSError, DebatebenchError) as error:
        raise UsageError(f"{path} is not a provider's catalogue of models: {error}") from error
    return lambda member: model.pricing if (model := listed.get(member.model)) is not None else None


def with_prices_of(plan: Plan, frozen: Plan) -> Plan:
    """`plan` with the prices frozen in `frozen`, for members that have none of their own."""
    known = {(m.provider, m.endpoint, m.model): m.pricing for m in (*frozen.debaters, *frozen.judges)}
    return _priced(plan, lambda member: known.get((member.provider, member.endpoint, member.model)))


def _priced(plan: Plan, price_of: Callable[[MemberConfig], Pricing | None]) -> Plan:
    """The plan with prices added where there were none; the same plan if there is nothing to add."""

    def priced(members: Iterable[MemberConfig]) -> tuple[MemberConfig, ...]:
        found = []
        for member in members:
            price = price_of(member) if member.pricing is None else None
            found.append(member if price is None else member.model_copy(update={"pricing": price}))
        return tuple(found)

    debaters, judges = priced(plan.debaters), priced(plan.judges)
    if (debaters, judges) == (plan.debaters, plan.judges):
        return plan
    return plan.with_members(debaters, judges)
