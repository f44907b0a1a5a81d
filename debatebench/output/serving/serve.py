"""Serve the pages of a command to this computer, until the command is stopped."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

from debatebench.output.serving.guard import Guard, Served
from debatebench.shared.errors import BusyError, UsageError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOPBACK = "127.0.0.1"
_GREATEST_PORT = 65_535


def serve(served: Served, *, port: int, announce: Callable[[str], None], open_browser: bool) -> None:
    """Serve until SIGINT or SIGTERM.

    `announce` gets the address once the server takes requests. Port 0 is any free one. Raises `BusyError` for a port
    that another program has.
    """
    with closing(_bound(port)) as listener:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        server = _server(Guard(served, token, port))
        address = f"http://{_LOOPBACK}:{port}/{token}/"
        announce(address)
        if open_browser:
            # A browser in a terminal would only return when it is closed.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        asyncio.run(server.serve(sockets=[listener]))


def _bound(port: int) -> socket.socket:
    if not 0 <= port <= _GREATEST_PORT:
        raise UsageError(f"--port is a number from 0 to {_GREATEST_PORT:,}; found {port:,}.")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise BusyError(
            f"Port {port} of {_LOOPBACK} cannot be used ({error.strerror}); choose another --port, or none."
        ) from error
    return listener


def _server(app: Guard) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        """A server that a signal ends after the answers under way."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # An exception out of a signal handler could surface in the code of any request, and be taken for its fault.
            before = {n: handler for n in _SIGNALS if (handler := signal.getsignal(n)) is not signal.SIG_IGN}
            for number in before:
                signal.signal(number, self.handle_exit)
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    return Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )
