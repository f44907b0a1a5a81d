"""Amounts of money as people read them."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["amount_decimals", "amount_text"]


def amount_decimals(amount: Decimal | float, least: int) -> int:
    """The decimals with which an amount is shown: `least`, or enough for two digits if it would look like 0."""
    size = abs(float(amount))
    return least if size == 0 or size >= 10**-least else 1 - math.floor(math.log10(size))


def amount_text(amount: Decimal | float) -> str:
    """An amount with four decimals, or with more if four would show it as 0: 0.3238, 0.000000000040."""
    return f"{amount:,.{amount_decimals(amount, 4)}f}"
