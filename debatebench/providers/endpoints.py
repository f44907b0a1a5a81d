"""Where requests go: the addresses that are allowed, and the keys and proxies to use."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

from debatebench.config.types import MemberConfig
from debatebench.providers.key_names import is_model_key
from debatebench.providers.no_proxy import NoProxy
from debatebench.providers.profiles import PROFILES, Profile
from debatebench.shared.errors import UsageError

_SUFFIX = "/chat/completions"
ALLOWED_KEYS = "DEBATEBENCH_KEY_VARIABLES"
"""The environment variable that lists further variables which may be sent as keys, with commas or blanks between."""

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)


def completions_url(member: MemberConfig) -> str:
    """The address for requests of `member`: its `endpoint`, a base URL or a complete one, else its provider's.

    Raises `UsageError` for an invalid address, or one that is neither https nor loopback without `allow_insecure`.
    """
    address = member.endpoint or PROFILES[member.provider].base_url
    if not address:
        raise UsageError(
            f"'{member.id}' needs an `endpoint`, such as http://localhost:8000/v1, "
            f"because provider '{member.provider}' has no default address."
        )
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    is_clean = address.isascii() and address.isprintable() and " " not in address
    if not is_clean or not _HOST.fullmatch(host) or parts.scheme not in ("http", "https"):
        raise UsageError(f"The `endpoint` of '{member.id}' is not an http or https address.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"The `endpoint` of '{member.id}' must not contain a user name or password; use `api_key_env`."
        )
    if parts.scheme == "http" and not _is_loopback(host) and not member.allow_insecure:
        raise UsageError(
            f"The `endpoint` of '{member.id}' ({parts.scheme}://{host}) is neither https nor on this machine: "
            "use https, or set `allow_insecure: true` to send the key and the debates unencrypted."
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith(_SUFFIX) else path + _SUFFIX
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def key_variable(member: MemberConfig) -> str | None:
    """The environment variable that holds the key of `member`; `None` when it needs none."""
    profile = PROFILES.get(member.provider)
    return member.api_key_env or (profile.key_variable if profile else None)


def key_for(member: MemberConfig, environ: Mapping[str, str]) -> str | None:
    """The key that requests of `member` carry, or `None` when it needs none.

    Raises `UsageError` that names the variable when the key is missing or could not be sent in a header, or when its
    name is not that of a model provider's key: a workspace of someone else could ask for any secret.
    """
    variable = key_variable(member)
    if variable is None:
        return None
    if not is_model_key(variable) and variable not in environ.get(ALLOWED_KEYS, "").replace(",", " ").split():
        raise UsageError(
            f"'{member.id}' would send the environment variable {variable} to its endpoint, and the name is not that "
            f"of a model provider's key: if you trust this configuration, allow it with {ALLOWED_KEYS}={variable}."
        )
    key = environ.get(variable, "").strip()
    if not key:
        raise UsageError(
            f"'{member.id}' uses the provider '{member.provider}', which needs a key: set the environment variable "
            f"{variable}."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"The environment variable {variable} contains characters that cannot be part of a key; correct it."
        )
    return key


def key_headers(profile: Profile, key: str | None) -> dict[str, str]:
    """The header that carries `key` to a provider; empty without a key."""
    if key is None:
        return {}
    return {profile.key_header: f"Bearer {key}" if profile.key_header == "authorization" else key}


def proxy_for(member: MemberConfig, url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that requests to `url` go through, or None: only with `environment_proxies`, and never for loopback.

    `HTTPS_PROXY` or `HTTP_PROXY` applies by the scheme of `url`, then `ALL_PROXY`; `NO_PROXY` lists hosts that are
    contacted directly (`no_proxy.py`); the names may be in lower case. Raises `UsageError` that names the variable when
    it holds no http or https address.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not member.environment_proxies or _is_loopback(host) or _exceptions(environ).lists(host, port):
        return None
    for variable in (f"{parts.scheme}_proxy".upper(), "ALL_PROXY"):
        name, address = _setting(environ, variable)
        if not address:
            continue
        address = address if "://" in address else f"http://{address}"
        try:
            proxy = urlsplit(address)
            is_usable = proxy.scheme in ("http", "https") and bool(proxy.hostname) and proxy.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise UsageError(
                f"'{member.id}' uses the proxy of the environment, but {name} is not an http or https address; "
                "correct it, or remove `environment_proxies`."
            )
        return address
    return None


def uses_proxy(member: MemberConfig, environ: Mapping[str, str]) -> bool:
    """Whether the requests of `member` go through a proxy."""
    return member.provider in PROFILES and proxy_for(member, completions_url(member), environ) is not None


def unread_exceptions(member: MemberConfig, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The entries of `NO_PROXY` that name no host, if requests of `member` go through a proxy in spite of them."""
    return _exceptions(environ).not_understood() if uses_proxy(member, environ) else ()


def proxy_secrets(proxy: str | None) -> tuple[str, ...]:
    """The password in a proxy's address, as written and decoded, and what the header for it holds; all are secret."""
    address = urlsplit(proxy or "")
    if not address.password:
        return ()
    user, password = unquote(address.username or ""), unquote(address.password)
    credentials = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return (credentials, *{password, address.password})


def _setting(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """(name, value) of an environment variable, which may be written in lower case, as proxy variables usually are."""
    found = next((each for each in (name.lower(), name) if environ.get(each, "").strip()), name)
    return found, environ.get(found, "").strip()


def _exceptions(environ: Mapping[str, str]) -> NoProxy:
    return NoProxy(_setting(environ, "NO_PROXY")[1])


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
