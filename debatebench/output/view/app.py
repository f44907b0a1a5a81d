"""The addresses, and what they answer. The paths are those after the token.

GET  /                  leads to the run that plays, else to the site
GET  /now               the runs that play, or the usual one: progress, cost, leaderboard
GET  /now.json          what that page shows, as JSON
GET  /assets/NAME       the style sheets and scripts of these pages
GET  /site/PATH         a file of the site
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from debatebench.output.report.html import environment, render

if TYPE_CHECKING:
    from debatebench.output.view.following import Following

_FOLDER = Path(__file__).with_name("assets")
_ASSETS = {"now.css": "text/css", "now.js": "text/javascript", "bar.js": "text/javascript"}
_SITE_STYLE = "assets/site.css"
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv",
    ".sql": "text/plain",
    ".txt": "text/plain",
    ".md": "text/plain",
}
_OTHER_TYPE = "application/octet-stream"
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"<>]*)">')


def make_app(following: Following, files: Mapping[str, Path], root: str) -> Starlette:
    """The application for one view; `root` is the path with the token, and `files` are those of `reports/`."""
    templates = environment({f"templates/{file.name}": file for file in _FOLDER.glob("*.html")})

    async def first(_: Request) -> Response:
        playing = await run_in_threadpool(following.playing)
        return RedirectResponse(f"{root}/now" if playing else f"{root}/site/index.html", 303)

    async def now(_: Request) -> Response:
        return Response(render(templates, "now.html", {"root": root}), media_type="text/html")

    async def state(_: Request) -> Response:
        return JSONResponse(await run_in_threadpool(following.state))

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name != "site.css" and name not in _ASSETS:
            raise HTTPException(404)
        path = files[_SITE_STYLE] if name == "site.css" else _FOLDER / name
        return Response(path.read_bytes(), media_type=_ASSETS.get(name, "text/css"))

    async def page(request: Request) -> Response:
        return await run_in_threadpool(_file_of_site, following, request.path_params["path"], root)

    return Starlette(
        routes=[
            Route("/", first),
            Route("/now", now),
            Route("/now.json", state),
            Route("/assets/{name}", asset),
            Route("/site/{path:path}", page),
        ],
        exception_handlers={404: _nothing, 405: _nothing},
    )


async def _nothing(_: Request, error: Exception) -> Response:
    return Response("There is nothing at this address.\n", getattr(error, "status_code", 404), media_type="text/plain")


def _file_of_site(following: Following, path: str, root: str) -> Response:
    """A file of the site, read as a whole: a renewal may replace it while it is sent."""
    parts = PurePosixPath(path).parts
    file = following.site.joinpath(*parts)
    if any(part.startswith((".", "/")) or "\0" in part for part in parts) or not file.is_file():
        raise HTTPException(404)
    kind = _TYPES.get(file.suffix, _OTHER_TYPE)
    version = following.version
    content = file.read_bytes()
    if kind == "text/html":
        return _page_of_site(content.decode("utf-8"), version, root)
    return Response(content, media_type=kind)


def _page_of_site(text: str, version: int, root: str) -> Response:
    """A page with a bar that says when there are newer numbers, under the policy that it states itself.

    The bar asks this server, which the policy of a page that is read without a server does not allow. So the policy
    moves from the page to the header. A page with workers, a SQL console, keeps its policy and gets no bar.
    """
    found = _POLICY.search(text)
    if found is None or "worker-src" in found[1]:
        policy = (
            {} if found is None else {"content-security-policy": f"{html.unescape(found[1])}; frame-ancestors 'none'"}
        )
        return Response(text, media_type="text/html", headers=policy)
    bar = f'<script defer src="{root}/assets/bar.js" data-version="{version}"></script>'
    policy = {"content-security-policy": f"{html.unescape(found[1])}; connect-src 'self'; frame-ancestors 'none'"}
    return Response(text[: found.start()] + bar + text[found.end() :], media_type="text/html", headers=policy)
