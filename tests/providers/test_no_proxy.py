"""`NO_PROXY`: every form in which a host can be excepted, and what names none."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import debatebench
from fake_provider import FakeProvider
from hypothesis import given
from hypothesis import strategies as st
from tournament import KEY, good_answers, write_workspace

from debatebench.config.load import MemberConfig
from debatebench.providers.endpoints import proxy_for
from debatebench.providers.no_proxy import NoProxy

# (NO_PROXY, hosts that need no proxy, hosts that do); a host is a name or an address, and a port.
LISTS = [
    ("*", ["gpu.example", "10.0.0.1", "fd00::1"], []),
    ("x, *", ["gpu.example"], []),
    ("example", ["example", "gpu.example", "GPU.Example", "gpu.example."], ["anexample", "example.org"]),
    (".example", ["example", "gpu.example"], ["anexample"]),
    ("*.example", ["example", "gpu.example", "a.gpu.example"], ["anexample"]),
    ("example.", ["example", "gpu.example"], ["example.org"]),
    ("EXAMPLE", ["gpu.example"], []),
    ("a\tb,,c ", ["a", "b", "c"], ["abc"]),
    ("gpu:8000", ["gpu:8000", "a.gpu:8000"], ["gpu:443", "gpu:80"]),
    ("*.example:8000", ["gpu.example:8000"], ["gpu.example:443"]),
    ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.0.0.1"], ["11.0.0.0", "9.255.255.255", "10.example"]),
    ("10.1.2.3/8", ["10.9.9.9"], ["11.0.0.0"]),
    ("192.168.7.0/255.255.255.0", ["192.168.7.9"], ["192.168.8.9"]),
    ("0.0.0.0/0", ["8.8.8.8"], ["fd00::1", "gpu.example"]),
    ("10.0.0.1", ["10.0.0.1", "10.0.0.1:8000"], ["10.0.0.10", "1.10.0.0.1"]),
    ("10.0.0.1:8000", ["10.0.0.1:8000"], ["10.0.0.1:443"]),
    ("10.0.0.0/8:8000", ["10.0.0.1:8000"], ["10.0.0.1:443"]),
    ("fd00::1", ["fd00::1", "fd00:0:0:0::1"], ["fd00::2"]),
    ("[fd00::1]", ["fd00::1"], ["fd00::2"]),
    ("[fd00::1]:8000", ["[fd00::1]:8000"], ["[fd00::1]:443"]),
    ("fd00::/8", ["fd12::1"], ["fe00::1", "10.0.0.1"]),
    ("", [], ["gpu.example", "10.0.0.1"]),
]


def split(host: str) -> tuple[str, int]:
    """(host, port) as they are in an address; 443 without a port."""
    if host.startswith("["):
        name, _, port = host[1:].partition("]:")
        return name, int(port)
    name, _, port = host.partition(":") if host.count(":") == 1 else (host, "", "")
    return name, int(port or 443)


@pytest.mark.parametrize(("text", "listed", "others"), LISTS)
def test_every_form_lists_its_hosts_and_no_others(text: str, listed: list[str], others: list[str]):
    exceptions = NoProxy(text)
    assert [host for host in listed if not exceptions.lists(*split(host))] == []
    assert [host for host in others if exceptions.lists(*split(host))] == []
    assert exceptions.not_understood() == ()


@pytest.mark.parametrize(
    "entry",
    [
        "10.0.0.0/33",
        "10.0.0.256",
        "10/8",
        "https://gpu.example",
        "gpu.*",
        "[fd00::1",
        "fd00::1]",
        "gpu:port",
        "ß.example",
    ],
)
def test_an_entry_in_no_known_form_lists_no_host_and_is_named(entry: str):
    exceptions = NoProxy(f"a.example, {entry}")
    assert exceptions.not_understood() == (entry,)
    assert exceptions.lists("a.example", 443)
    assert not exceptions.lists("gpu.example", 443)


@given(st.text())
def test_no_text_is_an_error(text: str):
    exceptions = NoProxy(text)
    for host in ("gpu.example", "10.0.0.1"):
        assert exceptions.lists(host, 443) in (True, False)
    assert all(isinstance(entry, str) for entry in exceptions.not_understood())


@given(st.ip_addresses(), st.integers(0, 32))
def test_an_address_is_in_every_network_around_it(address: object, bits: int):
    shown = str(address)
    assert NoProxy(f"{shown}/{bits}").lists(shown, 443)
    assert NoProxy(shown).lists(shown, 443)


def test_a_network_keeps_requests_from_the_proxy():
    member = MemberConfig(id="m", provider="http", model="m", environment_proxies=True, allow_insecure=True)
    environ = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "127.0.0.1,10.0.0.0/8"}
    assert proxy_for(member, "http://10.1.2.3:8000/v1", environ) is None
    assert proxy_for(member, "http://11.1.2.3:8000/v1", environ) == "http://proxy:3128"


@pytest.mark.slow
def test_a_run_names_what_it_cannot_read_of_the_list_once(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
    for name in ("models.yaml", "judges.yaml"):
        path = root / "configs" / name
        far = path.read_text().replace(server.url, "https://gpu.invalid/v1")
        path.write_text(far.replace("provider: http", "provider: http, environment_proxies: true"))
    environ = {"TINY_API_KEY": KEY, "HTTPS_PROXY": "http://proxy.invalid", "NO_PROXY": "10.0.0.0/8,10.0.0.0/33"}
    done = debatebench(root, "run", "--run-tag", "tiny", "--dry-run", environ=environ)
    assert done.code == 0, done.err
    assert done.err.count("NO_PROXY names no host by '10.0.0.0/33'") == 1
    environ["NO_PROXY"] = "*,10.0.0.0/33"
    assert "NO_PROXY" not in debatebench(root, "run", "--run-tag", "tiny", "--dry-run", environ=environ).err
