"""The addresses of the pages, and what they answer. The paths are those after the token.

    GET  /                     the overview
    GET  /debate/KEY           a debate with its form
    GET  /assets/NAME          the style sheet and the script
    GET  /api/debates          what the overview shows, as JSON
    GET  /api/debates/KEY      what the page of a debate shows, as JSON
    POST /api/debates/KEY/draft     {"revision": n, "form": {…}} → {"revision": n}
    POST /api/debates/KEY/final     the same, and the form is handed in → {"revision": n, "next": KEY or null}

A refusal has a `message` in words, and after a hand-in that is not complete `fields`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from debatebench.landing.annotation_writing import StaleError
from debatebench.output.annotation.debates import ShownDebate
from debatebench.output.annotation.form import BadFormError
from debatebench.output.annotation.review import Review
from debatebench.output.annotation.session import IncompleteError, Saved, Session
from debatebench.output.annotation.views import ASSETS, Views
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.json_bytes import from_json

Endpoint = Callable[[Request], Awaitable[Response]]


class RefusedError(Exception):
    """A request that cannot be carried out: its status, and the words of the answer."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.content = {"message": message, **more}


def make_app(work: Session | Review, root: str) -> Starlette:
    """The application for one person's work; `root` is the path with the token, before every address of a page."""
    session = work.session if isinstance(work, Review) else work
    views = Views(session, work if isinstance(work, Review) else None, root)

    async def overview(_: Request) -> Response:
        return _html(await run_in_threadpool(views.overview))

    async def debate(request: Request) -> Response:
        return _html(await run_in_threadpool(views.debate, _debate(session, request)))

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
        return await _saved(session, request, session.save)

    async def final(request: Request) -> Response:
        return await _saved(session, request, session.hand_in)

    return Starlette(
        routes=[
            Route("/", overview),
            Route("/debate/{key}", debate),
            Route("/assets/{name}", asset),
            Route("/api/debates", debates),
            Route("/api/debates/{key}", one),
            Route("/api/debates/{key}/draft", draft, methods=["POST"]),
            Route("/api/debates/{key}/final", final, methods=["POST"]),
        ],
        exception_handlers={RefusedError: _refused, DebatebenchError: _failed, 404: _nothing, 405: _nothing},
    )


async def _saved(session: Session, request: Request, save: Callable[[ShownDebate, int, Any], Saved]) -> Response:
    """Carry out one save; the answer comes when it is on the disk."""
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
    if not isinstance(value, dict) or type(revision) is not int or revision < 0 or "form" not in value:
        raise RefusedError(400, "A save has a revision, which is a whole number, and a form.")
    try:
        saved = await run_in_threadpool(save, debate, revision, value["form"])
    except IncompleteError as error:
        raise RefusedError(422, error.message, fields=error.fields) from error
    except BadFormError as error:
        raise RefusedError(422, error.message) from error
    except StaleError as error:
        state = await run_in_threadpool(session.state, debate)
        raise RefusedError(409, error.message, revision=state.revision) from error
    return JSONResponse({"revision": saved.revision, "next": saved.next_key})


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
