"""Which requests are answered, and the headers of every answer.

A page of another site can make a browser send requests to this computer, by address or under a name of its own that
resolves to it. So the name in `Host` must be a loopback one, what the browser says of the request's origin must be this
server, and the address must contain a token that only the printed address has.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS = {
    # Scripts and styles only as files of this server: a transcript that becomes markup by mistake still does nothing.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_LARGEST_BODY = 512 * 1024
# A browser that is cut off while it sends shows no answer, so the rest of a long body is read and dropped, up to here.
_MOST_DISCARDED = 16 * 1024 * 1024


class Guard:
    """An ASGI application that answers for `app` only what may be answered; the app sees the path after the token."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await _discard(receive)
            await _answer(send_with_headers, *refusal)
            return
        inner = {**scope, "path": scope["path"].removeprefix(f"/{self._token}") or "/"}
        await self._app(inner, _limited(receive), send_with_headers)

    def _refusal(self, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """The status and the words for a request that is not answered."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This server answers only to 127.0.0.1 and localhost."
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, "This request comes from a page of another origin."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "This request comes from a page of another site."
        if not secrets.compare_digest(path.partition("/")[2].partition("/")[0].encode(), self._token.encode()):
            return 403, "This address is not valid. Open the one that `debatebench annotate` has printed."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            return 413, f"A form has at most {_LARGEST_BODY:,} bytes."
        return None


def _limited(receive: Receive) -> Receive:
    """The same stream of a body, which ends where it becomes too long."""
    count = 0

    async def receive_limited() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        return {"type": "http.disconnect"} if count > _LARGEST_BODY else message

    return receive_limited


async def _discard(receive: Receive) -> None:
    """Read the body of a request that is refused."""
    count = 0
    while count < _MOST_DISCARDED:
        message = await receive()
        count += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


async def _answer(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
