"""Files that stand beside config.yaml: debate formats, rubrics, and the weaknesses that a run can inject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from debatebench.config.dimensions import read_dimensions, read_whole
from debatebench.config.load import read_rounds
from debatebench.config.setting import read_file
from debatebench.config.types import DimensionConfig, Round, WeaknessConfig, WholeConfig
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import ConfigError, UsageError
from debatebench.shared.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Rubric:
    """What judges score: its version, the dimensions in order, and how they judge the debate as a whole.

    `judge_method` is the method by which judges are asked where no option says it; None for their own.
    """

    version: str
    dimensions: dict[str, DimensionConfig]
    whole: WholeConfig
    judge_method: str | None = None


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Weaknesses that a run can inject, and the name under which it records what their ids mean."""

    name: str
    weaknesses: tuple[WeaknessConfig, ...]

    def dimensions(self) -> dict[str, str]:
        """Weakness → dimension on which it should cost points."""
        return {weakness.id: weakness.dimension for weakness in self.weaknesses}

    def only(self, types: Sequence[str]) -> Taxonomy:
        """The same with the weaknesses of these ids, in their order here; raises `UsageError` for an unknown id."""
        known = {weakness.id: weakness for weakness in self.weaknesses}
        for name in types:
            if name not in known:
                raise UsageError(f"No weakness '{name}' in the taxonomy '{self.name}'.{known_names(name, known)}")
        return Taxonomy(self.name, tuple(weakness for weakness in self.weaknesses if weakness.id in types))


def part_names(workspace: Workspace, folder: str) -> tuple[str, ...]:
    """The names of the files in `configs/<folder>/`, in order: of all formats, or of all rubrics."""
    return tuple(Path(name).stem for name in workspace.files("configs", f"{folder}/*.yaml"))


def part_path(workspace: Workspace, folder: str, name: str) -> Path:
    """The file `configs/<folder>/<name>.yaml`. Raises `UsageError` if there is none."""
    found = workspace.files("configs", f"{folder}/*.yaml").get(f"{folder}/{name}.yaml")
    if found is None:
        known = known_names(name, part_names(workspace, folder))
        raise UsageError(f"No {folder.removesuffix('s')} '{name}' in configs/{folder}/.{known}")
    return found


def load_format(path: Path) -> tuple[Round, ...]:
    """Read a debate format: the rounds that take the place of those of config.yaml."""
    file = read_file(path)
    file.allow(("rounds",))
    return read_rounds(file.at("rounds"))


def load_rubric(path: Path) -> Rubric:
    """Read a rubric: the dimensions that take the place of those of config.yaml, and its version."""
    file = read_file(path)
    file.allow(("version", "scale.min", "scale.max", "scale.step", "dimensions", "whole", "judge_method"))
    return Rubric(
        file.at("version").name(path.stem),
        read_dimensions(file.at("dimensions"), file.at("scale.min"), file.at("scale.max"), file.at("scale.step")),
        read_whole(file.at("whole")),
        file.at("judge_method").optional_text(),
    )


def load_weaknesses(path: Path) -> Taxonomy:
    """Read the weaknesses that a run can inject, at least one. A file that names no taxonomy has one of its own."""
    file = read_file(path)
    file.allow(("taxonomy", "weaknesses"))
    found: dict[str, WeaknessConfig] = {}
    for entry in file.at("weaknesses").items():
        entry.allow(("id", "instruction", "turns", "dimension"))
        name = entry.at("id").name()
        if name in found:
            entry.at("id").refuse("ids without duplicates")
        found[name] = WeaknessConfig(
            id=name,
            instruction=entry.at("instruction").text().strip(),
            **entry.fields(WeaknessConfig, "turns", "dimension"),
        )
    if not found:
        raise ConfigError(f"{path}: weaknesses: found nothing; allowed: a list with at least one weakness.")
    return Taxonomy(file.at("taxonomy").name(path.stem), tuple(found.values()))
