"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import tour
from hypothesis import settings
from paths import REPOSITORY
from site_browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same examples in every run: a test that passed passes again.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Of a file whose every test is slow.
_ALL_SLOW = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without slow tests, do not import the files that have no other: what they import takes as long as many tests."""
    if config.option.markexpr != "not slow" or not collection_path.match("test_*.py"):
        return None
    return bool(_ALL_SLOW.search(collection_path.read_text(encoding="utf-8"))) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but the first and the last input of tests with slow inputs as exhaustive."""
    inputs: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow_inputs"):
            inputs.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for of_one_test in inputs.values():
        for item in of_one_test[1:-1]:
            item.add_marker("exhaustive")


def pytest_collection_finish() -> None:
    """What all tests share stays to the end, so looking for garbage in it again and again is of no use."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real and golden data; it lies beside a checkout, not in it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the shared test data is not there ({folder})")
    return folder


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one finished simulated run. Tests only read it."""
    root = tmp_path_factory.mktemp("workspace")
    done = tour(root)
    assert done.code == 0, done.err
    return root


@pytest.fixture(params=["on our connections", "on those of httpx"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Carry the requests of this process directly, and then as they are carried through a proxy."""
    if request.param == "on those of httpx":
        from debatebench.providers import transport
        from debatebench.providers.proxied_transport import ProxiedTransport

        tls = transport.trusted_authorities
        monkeypatch.setattr(transport, "open_carrier", lambda url, proxy: ProxiedTransport(proxy, tls()))


@pytest.fixture
def copied(played: Path, tmp_path: Path) -> Path:
    """A copy of that workspace, to be changed."""
    return Path(shutil.copytree(played, tmp_path / "copied"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a module: while it runs, nothing else in this thread can use asyncio."""
    with chromium() as running:
        yield running
