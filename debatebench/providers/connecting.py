"""Opening a connection to a host that may have several addresses, of which some may not answer."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from itertools import chain, zip_longest

from debatebench.providers.http_connection import Connection

# How long an address may take before the next is tried beside it (RFC 8305), and how long a lookup is good for.
_HEAD_START_S = 0.25
_LOOKUP_S = 10.0


class Host:
    """A host and port to connect to, with TLS if `tls` is given.

    Addresses are tried a quarter of a second apart, IPv6 and IPv4 in turn, and the first that answers is taken. asyncio
    can do that by itself, uvloop cannot. Connections that are opened together share one lookup.
    """

    def __init__(self, name: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._name = name
        self._port = port
        self._tls = tls
        self._lookup: asyncio.Task[list[str]] | None = None
        self._good_until = 0.0

    async def connect(self) -> Connection:
        """A new connection, after any TLS handshake. Raises `OSError` when no address answers. Sets no time limit."""
        # The lookup is not cancelled with one of those that wait for it.
        untried = deque(await asyncio.shield(self._addresses()))
        trying: set[asyncio.Task[Connection]] = set()
        failure: BaseException = OSError(f"no address was found for {self._name}")
        try:
            while untried or trying:
                if untried:
                    trying.add(asyncio.create_task(self._open(untried.popleft())))
                wait_s = _HEAD_START_S if untried else None
                done, _ = await asyncio.wait(trying, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    trying.remove(task)
                    error = task.exception()
                    if error is None:
                        return task.result()
                    failure = error
        finally:
            for task in trying:
                task.cancel()
                task.add_done_callback(_abandon)
        raise failure

    async def _open(self, address: str) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, address, self._port, ssl=self._tls, server_hostname=self._name if self._tls else None
        )
        return connection

    def _addresses(self) -> asyncio.Task[list[str]]:
        known, now = self._lookup, asyncio.get_running_loop().time()
        if known is None or (known.done() and (now > self._good_until or known.cancelled() or known.exception())):
            known = self._lookup = asyncio.create_task(self._look_up())
            self._good_until = now + _LOOKUP_S
        return known

    async def _look_up(self) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(self._name, self._port, type=socket.SOCK_STREAM)
        first = found[0][0] if found else None
        preferred = [str(address[0]) for family, _, _, _, address in found if family == first]
        others = [str(address[0]) for family, _, _, _, address in found if family != first]
        return [each for each in chain.from_iterable(zip_longest(preferred, others)) if each is not None]


def _abandon(task: asyncio.Task[Connection]) -> None:
    """Close a connection that was opened too late to be used."""
    if not task.cancelled() and task.exception() is None:
        task.result().abort()
