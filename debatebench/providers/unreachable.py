"""Why a server cannot be reached, where waiting does not help, and what the user can do about it."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass

from debatebench.shared.errors import DebatebenchError, causes

PROXY_LOGIN = 407
"""The status by which a proxy wants a name and a password, which is never asked for twice: some lock the account."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A cause that waiting does not remove. `remedy` is a sentence."""

    remedy: str
    is_login: bool = False
    """A proxy wants a name and a password."""


class ProxyLoginError(DebatebenchError):
    """A proxy wants a name and a password, and nothing may be asked through it before they are corrected."""


_OTHER_AUTHORITY = Obstacle(
    "If the certificate is of your own authority or of a proxy that inspects the traffic, name the file with the "
    "authority's certificate in SSL_CERT_FILE (REQUESTS_CA_BUNDLE is not read)."
)
_OTHER_NAME = Obstacle("The certificate is that of another host: check the host in `endpoint`.")
_OUT_OF_DATE = Obstacle(
    "The certificate is not valid now: check the clock of this machine, then ask the server's owner."
)
_NO_TLS = Obstacle("The server does not use TLS at this port: check the port in `endpoint`, or begin it with http://.")
_NO_HOST = Obstacle(
    "There is no such host: check `endpoint`, and the address of the proxy if there is one. Where only a proxy leads "
    "out of the network, set `environment_proxies: true` in the entry."
)
_NO_LOGIN = Obstacle(
    "The proxy needs a name and a password: write them into its address, as in "
    "HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT.",
    is_login=True,
)
_NO_PASSAGE = Obstacle(
    "The proxy does not let requests to this host pass: ask who runs it, or list the host in NO_PROXY, or remove "
    "`environment_proxies` from the entry."
)

# OpenSSL's numbers of what is wrong with a certificate (`openssl verify`, X509_V_ERR_*).
_BY_VERIFY_CODE = {9: _OUT_OF_DATE, 10: _OUT_OF_DATE, 62: _OTHER_NAME, 64: _OTHER_NAME}
# OpenSSL's words for an answer that is not TLS; the last since OpenSSL 3.2.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL", "record layer failure")
# EAI_AGAIN is temporary; the others are not. EAI_NODATA is obsolete, but what glibc says of a name without an address.
_UNKNOWN_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
_BY_PROXY_STATUS = {PROXY_LOGIN: _NO_LOGIN, 403: _NO_PASSAGE}


def obstacle_of(error: BaseException) -> Obstacle | None:
    """The lasting cause of an error that was raised while connecting; `None` where waiting may help."""
    # Its import takes long, and no error of a connection is there before it.
    import httpx

    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _BY_VERIFY_CODE.get(getattr(cause, "verify_code", 0), _OTHER_AUTHORITY)
        if isinstance(cause, ssl.SSLError) and any(words in str(cause) for words in _NOT_TLS):
            return _NO_TLS
        if isinstance(cause, socket.gaierror) and cause.errno in _UNKNOWN_HOST:
            return _NO_HOST
        if isinstance(cause, httpx.ProxyError) and (status := re.match(r"\d{3}\b", str(cause))):
            return _BY_PROXY_STATUS.get(int(status[0]))
    return None
