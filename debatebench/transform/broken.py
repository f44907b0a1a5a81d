"""What of a project is broken: the rest is read, built and tested without it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase

from debatebench.shared.amounts import listed
from debatebench.shared.errors import SqlModelError

_MOST_SHOWN = 3


class Broken(dict[str, SqlModelError]):
    """Name → the error that keeps it from being read or built.

    The name is that of a SQL model, a macro or a test, or the path of a YAML file. What depends on something broken has
    the same error, the very same object. Unless broken things are to be skipped, the first error is raised.
    """

    def __init__(self, *, skip: bool) -> None:
        super().__init__()
        self._skip = skip

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Within the block, an error is what is wrong with `name`."""
        try:
            yield
        except SqlModelError as error:
            if not self._skip:
                raise
            self.setdefault(name, error)

    def explain(self, name: str, words: str) -> None:
        """Add `words` to the error of `name`, which is that of what depends on it too."""
        error = self[name]
        explained = SqlModelError(f"{error.message}{words}")
        self.update({each: explained for each in self if self[each] is error})

    def spread(self, reads: Mapping[str, Collection[str]]) -> None:
        """Add everything that depends on something broken; `reads` are in dependency order: name → what it needs."""
        for name, needed in reads.items():
            cause = next((self[each] for each in needed if each in self), None)
            if cause is not None:
                self.setdefault(name, cause)


def why_broken(broken: Mapping[str, SqlModelError]) -> str:
    """Every error, each with the names of what is not built because of it."""
    names: dict[int, list[str]] = {}
    for name, error in broken.items():
        names.setdefault(id(error), []).append(name)
    texts = []
    for first, *others in names.values():
        because = f" Not built because of it: {listed(sorted(others), _MOST_SHOWN)}." if others else ""
        texts.append(f"{broken[first].message}{because}")
    more = len(texts) - _MOST_SHOWN
    return " ".join(texts[:_MOST_SHOWN]) + (f" {more} more errors are like these." if more > 0 else "")


def broken_among(broken: Mapping[str, SqlModelError], selectors: Collection[str]) -> dict[str, SqlModelError]:
    """What a selection (see `graph.select_models`) would contain if it were not broken; a tag matches nothing."""
    cores = [part.removeprefix("+").removesuffix("+") for text in selectors for part in text.split()]
    return {name: error for name, error in broken.items() if any(_matches(name, core) for core in cores)}


def _matches(name: str, core: str) -> bool:
    kind, separator, value = core.partition(":")
    if separator and kind == "path":
        return name.replace(".", "/").startswith(value.removeprefix("./").removeprefix("sql/").rstrip("/") + "/")
    return fnmatchcase(name, core) or fnmatchcase(name.partition(".")[2], core)
