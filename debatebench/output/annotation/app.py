"""The addresses of the pages, and what they answer. The paths are those after the token.

    GET  /                     the overview
    GET  /debate/KEY           a debate with its form
    GET  /assets/NAME          the style sheet and the script
    GET  /api/debates          what the overview shows, as JSON
    GET  /api/debates/KEY      what the page of a debate shows, as JSON
    POST /api/debates/KEY/draft     {"revision": n, "form": {…}} → {"revision": n, …}
    POST /api/debates/KEY/final     the same, and the form is handed in → the same with "next": KEY or null
    POST /api/debates/KEY/undo      {"revision": n}: undo the last change or hand-in → the same with "form"
    POST /api/debates/KEY/redo      {"revision": n}: redo what was undone → the same
    POST /api/debates/KEY/drop      {"revision": n, "window": "…"}: drop the version of a window → the same; with
                                    "seen": {…} only if that is still the version

Every answer to a save has `status`, `words` for it, and in words what `undo` and `redo` would change. A refusal has a
`message` in words, and after a hand-in that is not complete `fields`. A stale save (409) has what is saved: `revision`,
`form` and `asides`. If it names its `window`, its form is one of `asides` until a save has this window in `resolves`,
or it is dropped; the debate is not handed in before. What takes the version of another window
has it as its form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from debatebench.landing.annotation_journals import FormState
from debatebench.landing.annotation_writing import StaleError
from debatebench.output.annotation.debates import ShownDebate
from debatebench.output.annotation.form import BadFormError
from debatebench.output.annotation.review import Review
from debatebench.output.annotation.session import IncompleteError, Saved, Session
from debatebench.output.annotation.views import ASSETS, Views
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.json_bytes import from_json

Change = Callable[[ShownDebate, dict[str, Any]], Saved]
"""What a request does to the form of a debate; it has a revision."""
_WINDOW = re.compile(r"[A-Za-z0-9-]{1,40}")


class RefusedError(Exception):
    """A request that cannot be carried out: its status, and the words of the answer."""

    def __init__(self, status: int, message: str, /, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.content = {"message": message, **more}


def make_app(work: Session | Review, root: str) -> Starlette:
    """The application for one person's work; `root` is the path with the token, before every address of a page."""
    session = work.session if isinstance(work, Review) else work
    views = Views(session, work if isinstance(work, Review) else None, root)

    async def overview(request: Request) -> Response:
        return _html(await run_in_threadpool(views.overview, request.query_params.get("after")))

    async def debate(request: Request) -> Response:
        return _html(
            await run_in_threadpool(views.debate, _debate(session, request), request.query_params.get("after"))
        )

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            raise RefusedError(404, "There is nothing at this address.")
        return Response(*views.asset(name))

    async def debates(_: Request) -> Response:
        return JSONResponse(await run_in_threadpool(views.overview_data))

    async def one(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(views.debate_data, _debate(session, request)))

    async def draft(request: Request) -> Response:
        return await changed(request, _form_save(session.save))

    async def final(request: Request) -> Response:
        return await changed(request, _form_save(session.hand_in))

    async def undo(request: Request) -> Response:
        return await changed(request, _going_back(session, "undo"))

    async def redo(request: Request) -> Response:
        return await changed(request, _going_back(session, "redo"))

    async def drop(request: Request) -> Response:
        return await changed(
            request, lambda debate, value: session.drop(debate, value["revision"], _window(value), _seen(value))
        )

    async def changed(request: Request, change: Change) -> Response:
        return await _changed(session, views, request, change)

    return Starlette(
        routes=[
            Route("/", overview),
            Route("/debate/{key}", debate),
            Route("/assets/{name}", asset),
            Route("/api/debates", debates),
            Route("/api/debates/{key}", one),
            Route("/api/debates/{key}/draft", draft, methods=["POST"]),
            Route("/api/debates/{key}/final", final, methods=["POST"]),
            Route("/api/debates/{key}/undo", undo, methods=["POST"]),
            Route("/api/debates/{key}/redo", redo, methods=["POST"]),
            Route("/api/debates/{key}/drop", drop, methods=["POST"]),
        ],
        exception_handlers={RefusedError: _refused, DebatebenchError: _failed, 404: _nothing, 405: _nothing},
    )


def _going_back(session: Session, way: Literal["undo", "redo"]) -> Change:
    """An undo or a redo."""

    def change(debate: ShownDebate, value: dict[str, Any]) -> Saved:
        window = _window(value) if "window" in value else None
        return session.go_back(debate, value["revision"], way, window=window)

    return change


def _form_save(save: Callable[..., Saved]) -> Change:
    """A save of the form in a request."""

    def change(debate: ShownDebate, value: dict[str, Any]) -> Saved:
        if "form" not in value:
            raise RefusedError(400, "A save has a revision, which is a whole number, and a form.")
        resolves = value.get("resolves", [])
        if not isinstance(resolves, list) or not all(isinstance(each, str) for each in resolves):
            raise RefusedError(400, "What a save resolves is a list of windows.")
        window = _window(value) if "window" in value else None
        return save(debate, value["revision"], value["form"], window=window, resolves=resolves)

    return change


def _window(value: dict[str, Any]) -> str:
    window = value.get("window")
    if not isinstance(window, str) or not _WINDOW.fullmatch(window):
        raise RefusedError(400, "A window is named by 1 to 40 letters, digits and '-'.")
    return window


def _seen(value: dict[str, Any]) -> dict[str, Any] | None:
    seen = value.get("seen")
    if seen is not None and not isinstance(seen, dict):
        raise RefusedError(400, "A version that was seen is a form.")
    return seen


async def _changed(session: Session, views: Views, request: Request, change: Change) -> Response:
    """Carry out one change of a form; the answer comes when it is on the disk."""
    debate = _debate(session, request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "A form is sent as application/json.")
    try:
        value = from_json(await request.body())
    except (ValueError, RecursionError):
        raise RefusedError(400, "This is not JSON.") from None
    except ClientDisconnect:
        raise RefusedError(413, "The form is too long.") from None
    revision = value.get("revision") if isinstance(value, dict) else None
    if not isinstance(value, dict) or type(revision) is not int or revision < 0:
        raise RefusedError(400, "A save has a revision, which is a whole number, and a form.")
    try:
        saved = await run_in_threadpool(change, debate, value)
    except IncompleteError as error:
        raise RefusedError(422, error.message, fields=error.fields) from error
    except BadFormError as error:
        raise RefusedError(422, error.message) from error
    except StaleError as error:
        state = await run_in_threadpool(session.state, debate)
        raise RefusedError(409, error.message, **await _shown(views, debate, state)) from error
    if "form" in value:
        # The page that has sent it shows it already.
        return JSONResponse({**views.state_data(debate, saved.state), "next": saved.next_key})
    return JSONResponse({**await _shown(views, debate, saved.state), "next": saved.next_key})


async def _shown(views: Views, debate: ShownDebate, state: FormState) -> dict[str, Any]:
    """What an answer says of a form that the page is to show."""
    return views.state_data(debate, await run_in_threadpool(views.filled_in, debate, state))


def _debate(session: Session, request: Request) -> ShownDebate:
    debate = session.debate(request.path_params["key"])
    if debate is None:
        raise RefusedError(404, f"'{session.author}' has no debate at this address.")
    return debate


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101
    return JSONResponse(error.content, error.status)


async def _failed(_: Request, error: Exception) -> Response:
    message = error.message if isinstance(error, DebatebenchError) else str(error)
    return JSONResponse({"message": f"Not saved: {message}"}, 500)


async def _nothing(_: Request, error: Exception) -> Response:
    return JSONResponse({"message": "There is nothing at this address."}, getattr(error, "status_code", 404))


def _html(text: str) -> Response:
    return Response(text, media_type="text/html")
