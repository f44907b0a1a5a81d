"""What installed packages add: judge methods, providers and importers, each an entry point `debatebench.<group>`.

Packages are searched only for a name that is not one of our own. So a command that uses none of theirs loads none and
does not look for any, and no package can replace what comes with debatebench.
"""

from __future__ import annotations

from collections.abc import Iterable
from traceback import walk_tb
from typing import Any, Literal, TypeVar

from debatebench.shared.amounts import known_names
from debatebench.shared.errors import DebatebenchError, causes

Group = Literal["judge_methods", "providers", "importers"]

_Value = TypeVar("_Value")

_loaded: dict[tuple[str, str], Any] = {}
_packages: dict[str, str] = {}
"""Top-level modules of packages that were loaded → the package with its version."""


def extension(group: Group, name: str, kind: type[_Value]) -> _Value | None:
    """What an installed package adds to a group under a name; None if none does.

    Raises `DebatebenchError`, which names the package, if it cannot be loaded or is not of that kind, and if several
    packages add the name.
    """
    if (group, name) not in _loaded:
        _loaded[group, name] = _load(group, name, kind)
    value: _Value | None = _loaded[group, name]
    return value


def known_extensions(group: Group, name: str, own: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known ones, and the way to others."""
    from importlib.metadata import entry_points

    names = [*own, *sorted({each.name for each in entry_points(group=f"debatebench.{group}")} - {*own})]
    return f"{known_names(name, names)} If a package adds it, install that package."


def fault_of_package(error: BaseException) -> str | None:
    """The sentence about an unexpected error that came out of the code of a loaded package; None for any other."""
    for cause in causes(error):
        for frame, line in reversed([*walk_tb(cause.__traceback__)]):
            module = str(frame.f_globals.get("__name__"))
            if package := _packages.get(module.partition(".")[0]):
                return (
                    f"{package[0].upper()}{package[1:]} failed in {frame.f_code.co_filename}, line {line} "
                    f"({type(cause).__name__}: {cause}): repair that package, or use nothing of it."
                )
    return None


def _load(group: Group, name: str, kind: type[_Value]) -> _Value | None:
    # It takes longer to import than most commands take to start.
    from importlib.metadata import entry_points

    found = list(entry_points(group=f"debatebench.{group}", name=name))
    if not found:
        return None
    packages = sorted({f"{each.dist.name} {each.dist.version}" for each in found if each.dist})
    what = f"The {group.removesuffix('s').replace('_', ' ')} '{name}'"
    if len(found) > 1:
        raise DebatebenchError(f"{what} is in several installed packages ({', '.join(packages)}): keep only one.")
    package = f"the installed package {packages[0]}" if packages else "an installed package"
    _packages[found[0].module.partition(".")[0]] = package
    try:
        value = found[0].load()
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise DebatebenchError(
            f"{what} of {package} cannot be loaded ({why}): repair that package, or uninstall it."
        ) from error
    if not isinstance(value, kind):
        raise DebatebenchError(
            f"{what} of {package} is {found[0].value}, which is a {type(value).__name__} and not a {kind.__name__}: "
            "repair that package, or uninstall it."
        )
    return value
