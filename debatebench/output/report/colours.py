"""Colour scales of heat maps, and the text colours that are readable on them."""

from __future__ import annotations

SCALES = {
    "sequential": ("#f1f5fb", "#c7dbf0", "#8bb8de", "#4a90c4", "#1f659f", "#0b3c6d"),
    "diverging": ("#7b3294", "#b98cc6", "#e6d6ea", "#f6f6f4", "#d5ecd1", "#84c48a", "#1b7837"),
}
"""Stops at equal distances; readers who do not tell red from green can tell both scales' ends apart."""

# On any background, one of the two has a contrast of at least 4.5, which small text needs.
_INKS = ("#000000", "#ffffff")


def shade_colour(shade: float, scale: str) -> str:
    """The colour at `shade` (0 to 1) of a scale, interpolated as plotly does."""
    stops = SCALES[scale]
    position = min(max(shade, 0.0), 1.0) * (len(stops) - 1)
    n = min(int(position), len(stops) - 2)
    low, high = _rgb(stops[n]), _rgb(stops[n + 1])
    mixed = [round(a + (b - a) * (position - n)) for a, b in zip(low, high, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two `#rrggbb` colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(background: str) -> str:
    """The text colour with the higher contrast on `background`."""
    return max(_INKS, key=lambda ink: contrast(ink, background))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in _rgb(colour)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
