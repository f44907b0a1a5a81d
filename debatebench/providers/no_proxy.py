"""The hosts that are contacted without a proxy: `NO_PROXY`, read as curl reads it, and with a port or a wildcard.

Documented by curl (https://curl.se/libcurl/c/CURLOPT_NOPROXY.html): `*`, a name with its subdomains (a dot before or
after it makes no difference), an address, and a network such as `10.0.0.0/8` or `fd00::/8`. Other programs also read
`name:port`, `[address]`, `[address]:port` and `*.name`. A name is never looked up, so networks are for addresses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_NAME = re.compile(r"(?:\*?\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?")
_WITH_PORT = re.compile(r"(\[[^\[\]]*\]|[^:]*):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class NoProxy:
    """A list of hosts with commas or blanks between, such as `10.0.0.0/8, .intern.example, [fd00::1]:8000`."""

    text: str

    def lists(self, host: str, port: int | None) -> bool:
        """Whether requests to this name or address (without brackets) and port need no proxy."""
        host = host.lower().rstrip(".")
        return any(_fits(entry, host, port) for entry in self._entries())

    def not_understood(self) -> tuple[str, ...]:
        """The entries that list no host in any of these forms."""
        return tuple(entry for entry in self._entries() if _fits(entry, "", None) is None)

    def _entries(self) -> list[str]:
        return [entry for entry in re.split(r"[\s,]+", self.text.lower()) if entry]


def _fits(entry: str, host: str, port: int | None) -> bool | None:
    """Whether an entry lists a host and port; None for an entry in no known form."""
    if entry == "*":
        return True
    if with_port := _WITH_PORT.fullmatch(entry):
        entry = with_port[1]
    is_port = with_port is None or int(with_port[2]) == port
    try:
        network = ip_network(re.sub(r"^\[(.*)\]", r"\1", entry), strict=False)
    except ValueError:
        name = _NAME.fullmatch(entry)
        # A name such as 10.0.0.256 is a slip in an address.
        if name is None or name[1].rpartition(".")[2].isdigit():
            return None
        return is_port and f".{host}".endswith(f".{name[1]}")
    return is_port and any(address in network for address in _addresses(host))


def _addresses(host: str) -> list[IPv4Address | IPv6Address]:
    """The address that a host is: none for a name, and two for an IPv4 address that is written as an IPv6 one."""
    try:
        address = ip_address(host)
    except ValueError:
        return []
    inner = getattr(address, "ipv4_mapped", None)
    return [address] if inner is None else [address, inner]
