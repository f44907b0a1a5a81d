"""The JSON of a configuration in sections: plans are compared by them, and landing derives settings from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from debatebench.shared.json_bytes import mapping, objects

Fields = dict[str, Any]


class ConfigSections(NamedTuple):
    """Plain settings by name, also those of Elo; the fields of each turn by `turn 1`, of each dimension by its name."""

    settings: Fields
    rounds: dict[str, Fields]
    dimensions: dict[str, Fields]


def config_sections(config: Mapping[str, Any]) -> ConfigSections:
    """Sort the settings of a configuration into sections. Missing settings and those of another shape are left out."""
    plain = {name: value for name, value in config.items() if name not in ("rounds", "dimensions", "elo")}
    elo = config.get("elo")
    return ConfigSections(
        {**plain, **mapping(elo)},
        {f"turn {number}": turn for number, turn in enumerate(objects(config.get("rounds")), 1)},
        {
            entry["dimension"]: {name: value for name, value in entry.items() if name != "dimension"}
            for entry in objects(config.get("dimensions"))
            if "dimension" in entry
        },
    )
