"""A server that cannot be reached for a reason that lasts: the run stops at once, unless it was reached before."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from call_session import REQUEST, Session
from command_line import debatebench
from fake_provider import FakeProvider, status
from refusing_proxy import RefusingProxy
from tournament import KEY, write_workspace

from debatebench.config.load import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.play.calls import DurableCalls, RunStoppedError
from debatebench.play.pacing import Pacing
from debatebench.play.probe import probe_members
from debatebench.play.retries import RetryPolicy
from debatebench.providers.asking import Step
from debatebench.providers.connecting import Host
from debatebench.shared.errors import RunIncompleteError

NO_TLS = "does not use TLS at this port"


def rows(path: Path) -> list[dict[str, Any]]:
    return [row for event in read_journal(path) for row in event.data.get("records", {}).get("calls", ())]


@pytest.mark.usefixtures("wire")
def test_https_to_a_plain_port_is_not_waited_for(tmp_path: Path):
    with FakeProvider() as server:
        session = Session(tmp_path, server)
        session.member = session.member.model_copy(update={"endpoint": server.url.replace("http:", "https:")})

        async def play(calls: DurableCalls) -> DurableCalls:
            with pytest.raises(RunStoppedError, match=NO_TLS):
                await calls(Step("d1", "turn:0", "turn"), session.member, REQUEST)
            return calls

        calls = session.run(play)
    assert calls.stop_error is RunIncompleteError
    assert (session.statuses, session.waits) == (["unsent"], [])
    assert rows(session.path)[0].get("possible_cost") is None


@pytest.mark.parametrize("code", [socket.EAI_NONAME, socket.EAI_AGAIN])
def test_an_unknown_host_is_waited_for_only_if_its_name_could_not_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    async def fail(_: Host) -> list[str]:
        raise socket.gaierror(code, "No address.")

    monkeypatch.setattr(Host, "_look_up", fail)
    with FakeProvider() as server:
        session = Session(tmp_path, server)
        with pytest.raises(RunStoppedError, match="There is no such host" if code == socket.EAI_NONAME else "waited"):
            session.ask(policy=RetryPolicy(unreachable_s=0.0))


@pytest.mark.parametrize("restarts", [False, True], ids=["in this session", "in an earlier one"])
def test_a_host_that_has_answered_before_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: bool):
    looked_up = Host._look_up
    down = [False]

    async def sometimes(host: Host) -> list[str]:
        if down[0]:
            down[0] = False
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return await looked_up(host)

    monkeypatch.setattr(Host, "_look_up", sometimes)
    monkeypatch.setattr("debatebench.providers.connecting._LOOKUP_S", -1.0)
    with FakeProvider(lambda _: _closing("Hello.")) as server:
        session = Session(tmp_path, server)
        steps = [Step("d1", f"turn:{number}", "turn") for number in range(2)]

        async def both(calls: DurableCalls) -> None:
            for step in steps:
                await calls(step, session.member, REQUEST)
                down[0] = step is steps[0]

        if restarts:
            session.ask(steps[0])
            down[0] = True
            session.ask(steps[1])
        else:
            session.run(both)
    assert session.statuses == ["answered", "unsent", "answered"]


def _closing(text: str) -> Any:
    """An answer after which the connection closes, so that the next request looks the host up again."""
    from fake_provider import answer

    def behave(wire: Any) -> None:
        answer(text)(wire)
        wire.hang_up()

    return behave


def far(root: Path, scheme: str) -> None:
    """Send the requests of a workspace through a proxy, to several hosts."""
    for name in ("models.yaml", "judges.yaml"):
        path = root / "configs" / name
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            before, endpoint, after = line.partition("endpoint: '")
            if endpoint:
                after = after.partition("'")[2]
                address = f"{scheme}://gpu-{number % 2}.invalid/v1"
                lines[number] = f"{before}endpoint: '{address}', environment_proxies: true, allow_insecure: true{after}"
        path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_asked_once_in_a_whole_run(tmp_path: Path, scheme: str):
    with FakeProvider([status(407, "Who are you?")]) as plain, RefusingProxy("407 Who are you?") as tunnel:
        root = write_workspace(tmp_path, plain)
        far(root, scheme)
        environ = {"TINY_API_KEY": KEY, "HTTP_PROXY": f"http://127.0.0.1:{plain.port}", "HTTPS_PROXY": tunnel.address}
        done = debatebench(root, "run", "--run-tag", "tiny", "--no-build", "--concurrency", "8", environ=environ)
        assert len(plain.requests) + tunnel.asked == 1
    assert done.code == 1
    assert "HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT" in done.error_line
    assert [row["status"] for row in rows(root / "warehouse" / "journal" / "tiny.jsonl")] == ["stopped"]


def test_a_probe_asks_a_proxy_for_its_password_once():
    import uvloop

    members = [
        MemberConfig(
            id=f"m{number}", provider="http", model=f"m{number}", endpoint=f"https://gpu-{number}.invalid/v1",
            environment_proxies=True,
        )
        for number in range(5)
    ]  # fmt: skip
    with RefusingProxy("407 Who are you?") as proxy:
        probes = uvloop.run(probe_members(members, {"HTTPS_PROXY": proxy.address}))
        assert proxy.asked == 1
    assert all("needs a name and a password" in (probe.problem or "") for probe in probes)


def test_a_host_has_answered_if_any_of_its_models_has():
    async def play() -> None:
        hosts = [
            MemberConfig(id=f"{host}-{model}", provider="http", model=model, endpoint=f"https://{host}.invalid/v1")
            for host in ("a", "b")
            for model in ("old", "new")
        ]
        pacing = Pacing(8, hosts, has_answered=lambda member: member.id == "a-old")
        assert [(await pacing.admit(host)).was_reached for host in hosts] == [True, True, False, False]

    asyncio.run(play())


def test_the_first_request_through_a_proxy_goes_alone_until_it_has_let_one_pass():
    async def play() -> None:
        hosts = [
            MemberConfig(id=name, provider="http", model="m", endpoint=f"https://{name}.invalid/v1")
            for name in ("a", "b", "direct")
        ]
        pacing = Pacing(8, hosts, is_proxied=lambda member: member.id != "direct")
        first = await pacing.admit(hosts[0])
        others = [asyncio.ensure_future(pacing.admit(host)) for host in (hosts[0], hosts[1], hosts[2])]
        await asyncio.sleep(0)
        assert [other.done() for other in others] == [False, False, True], "what needs no proxy need not wait"
        assert not first.was_reached
        first.reached()
        await asyncio.sleep(0)
        assert all(other.done() for other in others)
        first.release()

    asyncio.run(play())
