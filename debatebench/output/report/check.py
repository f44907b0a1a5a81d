"""Whether a site still is what the warehouse gives: every file is made again, and compared place by place."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from debatebench.output.report.choice import Choice
from debatebench.output.report.console import is_of_console
from debatebench.output.report.folder import FORMAT, MANIFEST
from debatebench.output.report.manifest import described
from debatebench.output.report.page_differences import differences, json_differences, most_bytes
from debatebench.output.report.site import open_site, rendered_files
from debatebench.shared.activity import doing
from debatebench.shared.errors import UsageError
from debatebench.shared.version import __version__

_MOST_MANIFEST_BYTES = 100_000_000
_MOST_FOUND_FILES = 1_000_000
_OF_HOSTS = (".git", ".nojekyll", "CNAME")
"""Files and folders at the top that hosts of sites need; they are no part of a site."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found: `reasons` why much may differ, every difference, and the number of files compared."""

    reasons: Sequence[str]
    differences: Sequence[str]
    count_files: int


def check_site(
    database: Path,
    files: Mapping[str, Path],
    folder: Path,
    *,
    journals: Path | None = None,
    now: datetime | None = None,
) -> Check:
    """Make the site in `folder` again from the warehouse, and compare.

    Of its manifest only the choice of runs, comparisons, front, title, calls, downloads and console is used, so that it
    makes no difference whether it was changed to fit. A SQL console is not compared, because its database has other
    bytes each time. `files`, `journals` and `now` are as for `build_site`; journals are read only for a site with
    calls. Nothing is written, and no link is followed. Raises `UsageError` for a folder that is not a site, and for a
    choice that this warehouse cannot give.
    """
    manifest = _read_manifest(folder)
    choice = _choice(folder, manifest)
    has_console = manifest["choice"].get("sql_console") is True
    has_downloads = manifest["choice"].get("downloads") is True
    journals = journals if manifest["choice"].get("calls") is True else None
    with open_site(
        database, files, choice, now, journals=journals, has_console=has_console, has_downloads=has_downloads
    ) as site:
        found = {path for path in _found_files(folder) if not (has_console and is_of_console(path))}
        expected: dict[str, str] = {}
        differing: dict[str, list[str]] = {}
        for count, (path, content) in enumerate(rendered_files(site, files)):
            doing("Comparing pages", count)
            expected[path] = hashlib.sha256(content).hexdigest()
            if texts := _compared(folder, path, content, path in found):
                differing[path] = texts
        about = described(site, files)
    added = sorted(found - expected.keys() - {MANIFEST})
    listed = dict(manifest["files"]) if isinstance(manifest.get("files"), dict) else {}
    if has_console:
        listed = {name: sha256 for name, sha256 in listed.items() if not is_of_console(name)}
    # A file that differs is said once, not again by its hash.
    hashes = {name: None if name in differing else sha256 for name, sha256 in sorted(expected.items())}
    shown = {**manifest, "files": {name: None if name in differing else each for name, each in listed.items()}}
    of_manifest = json_differences(MANIFEST, "", shown, {"format": FORMAT, **about, "files": hashes})
    texts = [text for path in differing for text in differing[path]]
    texts += [f"{path}: is not a file of this site" for path in added]
    return Check(_reasons(manifest, about), [*texts, *map(str, of_manifest)], len(expected))


def _reasons(manifest: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """What was different when the site was made, in sentences."""
    reasons = []
    made_by = manifest.get("debatebench")
    if made_by != __version__:
        reasons.append(f"The site was made by debatebench {made_by}, and this is {__version__}.")
    names = {"pages": "page or other file of reports/", "sql_models": "SQL model"}
    for key, what in names.items():
        if changed := _changed(manifest.get(key), about[key]):
            more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
            reasons.append(f"A {what} is another one: {changed[0]}{more}.")
    if changed := _changed(manifest.get("data"), about["data"]):
        more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
        reasons.append(f"Stored rows of these runs are others: {changed[0]}{more}.")
    return reasons


def _changed(old: Any, new: Mapping[str, Any]) -> list[str]:
    old = old if isinstance(old, dict) else {}
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


# --- the folder -------------------------------------------------------------------------------------------------------


def _read_manifest(folder: Path) -> dict[str, Any]:
    refusal = UsageError(f"{folder} is not a site: it has no {MANIFEST} that `debatebench report` wrote.")
    content = _read(folder / MANIFEST, _MOST_MANIFEST_BYTES)
    try:
        manifest = json.loads(content) if isinstance(content, bytes) else None
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise refusal
    return manifest


def _choice(folder: Path, manifest: Mapping[str, Any]) -> Choice:
    """The choice in a manifest, which anybody may have written."""
    match manifest.get("choice"):
        case {"run_tags": list(tags), "compare": list(pairs), "front": front, "title": title} if (
            all(isinstance(tag, str) for tag in tags)
            and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
            and all(isinstance(name, str) for pair in pairs for name in pair)
            and all(isinstance(text, str | None) for text in (front, title))
        ):
            return Choice(tags, [(one, other) for one, other in pairs], title, front)
    raise UsageError(f"{folder / MANIFEST} does not say what the site is about; run `debatebench report` again.")


def _found_files(folder: Path) -> set[str]:
    """Every file and link in the folder, without following links."""
    found: set[str] = set()
    for place, folders, names in os.walk(folder):
        top = Path(place) == folder
        if top:
            folders[:] = [name for name in folders if name not in _OF_HOSTS]
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *links):
            if not (top and name in _OF_HOSTS):
                found.add((Path(place) / name).relative_to(folder).as_posix())
        if len(found) > _MOST_FOUND_FILES:
            raise UsageError(f"{folder} has more than {_MOST_FOUND_FILES:,} files; it is not a site.")
    return found


def _compared(folder: Path, path: str, content: bytes, is_found: bool) -> list[str]:
    parents = [folder / parent for parent in Path(path).parents if parent != Path()]
    if any(parent.is_symlink() for parent in parents):
        return [f"{path}: is behind a link"]
    if not is_found:
        return [f"{path}: is missing"]
    shown = _read(folder / path, most_bytes(content))
    if isinstance(shown, str):
        return [f"{path}: {shown}"]
    return list(map(str, differences(path, shown, content)))


def _read(path: Path, most: int) -> bytes | str:
    """The content of a file, or why it is not read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return "is a link" if path.is_symlink() else f"cannot be read ({error.strerror})"
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "is not a file"
        if status.st_size > most:
            return f"has {status.st_size:,} bytes, far more than it should"
        return file.read(most + 1)
