"""Specifications for plotly → pictures as SVG, PDF and PNG, drawn by a browser that is installed.

The browser draws what plotly's script, which is that of the site, makes of a specification. It loads nothing from other
sites. Equal specifications give equal bytes on the same machine: ids in SVG follow from the name of the picture, and a
PDF has the time that is given. Another browser, or other fonts, give other bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from debatebench.shared.activity import doing
from debatebench.shared.errors import DebatebenchError

PictureFormat = Literal["svg", "pdf", "png"]
PICTURE_FORMATS: tuple[PictureFormat, ...] = get_args(PictureFormat)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")

_PNG_SCALE = 2
_TIMEOUT_S = 90.0
# Nothing listens there: whatever the browser would ask of another host fails.
_NO_PROXY_AT_ALL = "127.0.0.1:9"
_UID = re.compile(r'<defs id="defs-([0-9a-f]{6})"')
_PDF_TIME = re.compile(rb"/(CreationDate|ModDate) \(D:\d{14}\+00'00'\)")


def find_browser() -> str:
    """The browser that `BROWSER_PATH` names, else the first of `BROWSERS` on the PATH.

    Raises `DebatebenchError` where there is none. None is ever downloaded.
    """
    named = os.environ.get("BROWSER_PATH")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return found
    where = f"BROWSER_PATH names {named}, which is not a program" if named else "none is on the PATH"
    raise DebatebenchError(
        f"Plots are drawn by Chromium or Chrome, and {where}; install one (Debian: apt-get install chromium), or name "
        "one in BROWSER_PATH."
    )


def draw_pictures(
    specs: Mapping[str, Mapping[str, Any]], formats: Sequence[PictureFormat], script: Path, made_at: datetime | None
) -> dict[tuple[str, PictureFormat], bytes]:
    """Each specification, by name, in each format.

    `script` is plotly.js. `made_at` (naive UTC) is the time in a PDF; None: 1970. Raises `DebatebenchError` where the
    package kaleido or a browser is missing, or the browser fails.
    """
    try:
        from kaleido import Kaleido, PageGenerator
    except ImportError as error:
        raise DebatebenchError(
            "Plots need the package kaleido; pip install 'debatebench-warehouse[plot]' installs it."
        ) from error
    browser = find_browser()
    at = ["its start"]
    try:
        page = PageGenerator(plotly=(script.resolve().as_uri(), "utf-8"), mathjax=False)
        kaleido = Kaleido(path=browser, page_generator=page, timeout=_TIMEOUT_S, proxy_server=_NO_PROXY_AT_ALL)
        return asyncio.run(_drawn(kaleido, specs, formats, made_at, at))
    except (Exception, asyncio.CancelledError) as error:  # kaleido and choreographer share no class of errors
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DebatebenchError(f"The browser {browser} failed at {at[-1]}: {reason}.") from error


async def _drawn(
    kaleido: Any,
    specs: Mapping[str, Mapping[str, Any]],
    formats: Sequence[PictureFormat],
    made_at: datetime | None,
    at: list[str],
) -> dict[tuple[str, PictureFormat], bytes]:
    """Every picture; the last of `at` is what is being drawn."""
    drawn: dict[tuple[str, PictureFormat], bytes] = {}
    async with asyncio.timeout(_TIMEOUT_S):
        await kaleido.open()
    try:
        for number, (name, spec) in enumerate(specs.items()):
            doing("Drawing plots", number, len(specs))
            at.append(f"the plot '{name}'")
            layout = spec["layout"]
            size = {"width": layout["width"], "height": layout["height"]}
            for form in formats:
                scale = _PNG_SCALE if form == "png" else 1
                picture = await kaleido.calc_fig(dict(spec), opts={"format": form, "scale": scale, **size})
                drawn[name, form] = _steady(picture, name, form, made_at)
    finally:
        await kaleido.close()
    return drawn


def _steady(picture: bytes, name: str, form: PictureFormat, made_at: datetime | None) -> bytes:
    """The picture without what differs from one drawing to the next."""
    if form == "svg":
        text = picture.decode("utf-8")
        steady = hashlib.sha256(name.encode()).hexdigest()[:6]
        for uid in set(_UID.findall(text)):
            text = re.sub(rf"""(id="|url\(['"]?#|&quot;#)([a-z-]*){uid}""", rf"\g<1>\g<2>{steady}", text)
        return f"{text}\n".encode()
    if form == "pdf":
        time = (made_at or datetime(1970, 1, 1)).strftime("%Y%m%d%H%M%S").encode()
        # Of the same length, because a PDF holds the positions of its parts.
        return _PDF_TIME.sub(rb"/\1 (D:" + time + rb"+00'00')", picture)
    return picture
