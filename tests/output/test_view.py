"""`debatebench view`: the site over HTTP, and a run that is followed while it plays, is killed, and goes on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from command_line import debatebench, tour
from fake_provider import Behaviour, FakeProvider, Received
from patience import LONGEST_WAIT_S
from report_warehouse import HOSTILE, NOON, make_warehouse, tournament
from serving import ServedCommand
from site_browser import Watched, chromium, violations, watched
from site_pages import keep_pages
from started_run import Started, start
from tournament import good_answers, write_workspace

from debatebench.output.view.playing import KILLED, ProgressFiles
from debatebench.output.view.standing import standing_of
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser


FEW = ("index", "results")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one finished run."""
    root = tmp_path_factory.mktemp("finished") / "w"
    assert tour(root, "done").code == 0
    return root


@pytest.fixture(scope="module")
def small(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with few pages, for tests of something else than pages."""
    root = tmp_path_factory.mktemp("small") / "w"
    return keep_pages(shutil.copytree(finished, root, ignore=shutil.ignore_patterns(".view*")), *FEW)


@pytest.fixture(scope="module")
def view(finished: Path) -> Iterator[ServedCommand]:
    with ServedCommand(finished, "view", "--title", "Spring models", "--front", "done") as server:
        yield server


def state_of(view: ServedCommand) -> dict[str, Any]:
    return dict(view.get("now.json").data)


def wait_for(view: ServedCommand, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first state for which `holds` is true."""
    latest = time.monotonic() + LONGEST_WAIT_S
    while not holds(state := state_of(view)):
        assert time.monotonic() < latest, state
        time.sleep(0.1)
    return state


def private_folders(root: Path) -> set[Path]:
    """The hidden folders of views; other tests may have a view of the same workspace."""
    return set(Workspace(root).warehouse.glob(".view*"))


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder and the hash of what is in it, without hidden ones."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


# --- the site over HTTP -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_address_leads_to_the_site_when_nothing_is_played(view: ServedCommand):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[A-Za-z0-9_-]{32}/", view.url)
    page = view.get()
    assert page.status == 200
    assert "</html>" in page.text
    assert view.get("site/index.html").text == page.text
    assert "· Spring models</title>" in page.text


@pytest.mark.slow
def test_every_page_and_every_file_that_pages_name_is_served(view: ServedCommand):
    found, left = set(), {"index.html"}
    while left:
        path = left.pop()
        found.add(path)
        answer = view.get(f"site/{path}")
        assert answer.status == 200, path
        if not path.endswith(".html"):
            continue
        for name in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', answer.text):
            target = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not name.startswith("/") and target not in found:
                left.add(target)
    assert any(path.startswith("runs/done/") for path in found)
    assert any(path.endswith(".css") for path in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *("../debatebench.duckdb", "%2e%2e/debatebench.duckdb", "..%2fdebatebench.duckdb", "//etc/passwd"),
        *("%2fetc/passwd", ".debatebench-site.json", "assets", "none.html", "index.html%00"),
        "assets/../../debatebench.duckdb",
    ],
)
def test_only_files_of_the_site_are_served(view: ServedCommand, path: str):
    token = urlsplit(view.url).path
    status, text = view.asked("GET", f"{token}site/{path}", Host=f"127.0.0.1:{view.port}")
    assert (status, text) == (404, "There is nothing at this address.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "debates.example:80"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_a_request_from_elsewhere_is_refused(view: ServedCommand, headers: dict[str, str], status: int):
    token = urlsplit(view.url).path
    for path in ("", "now", "now.json", "site/index.html", "assets/now.js"):
        assert view.asked("GET", token + path, **{"Host": f"127.0.0.1:{view.port}", **headers})[0] == status


@pytest.mark.slow
def test_without_the_token_nothing_is_served(view: ServedCommand):
    own = {"Host": f"127.0.0.1:{view.port}"}
    for path in ("/", "/now.json", "/site/index.html", f"/{'x' * 32}/now.json"):
        status, text = view.asked("GET", path, **own)
        assert (status, "`debatebench view`" in text) == (403, True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_get_is_answered(view: ServedCommand, method: str):
    token = urlsplit(view.url).path
    assert view.asked(method, f"{token}now.json", Host=f"127.0.0.1:{view.port}")[0] == 405


@pytest.mark.slow
def test_a_served_page_keeps_its_policy_and_may_also_ask_this_server(view: ServedCommand, small: Path, tmp_path: Path):
    assert debatebench(small, "report", "--out-dir", str(tmp_path / "public")).code == 0
    published = (tmp_path / "public" / "index.html").read_text(encoding="utf-8")
    (own,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', published)
    served = view.get("site/index.html")
    assert served.headers["content-security-policy"] == f"{own}; connect-src 'self'; frame-ancestors 'none'"
    assert "Content-Security-Policy" not in served.text
    assert "default-src 'none'; script-src 'self'" in view.get("now").headers["content-security-policy"]
    assert "bar.js" not in published


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_ends_annotate_and_the_workspace_stays_as_it_was(small: Path, number: signal.Signals):
    before, others = contents(small), private_folders(small)
    with ServedCommand(small, "view") as view:
        assert view.get().status == 200
        assert view.get("now").status == 200
        assert contents(small) == before
        assert len(private_folders(small)) == len(others) + 1
        code, err = view.stop(number)
    assert (code, "Traceback" in err) == (0, False)
    assert (contents(small), private_folders(small)) == (before, others)


@pytest.mark.slow
def test_what_a_killed_view_has_left_is_removed_by_the_next(small: Path):
    others = private_folders(small)
    ServedCommand(small, "view").__enter__().stop(signal.SIGKILL)
    (left,) = private_folders(small) - others
    with ServedCommand(small, "view"):
        assert not left.exists()
    assert private_folders(small) == others


@pytest.mark.slow
def test_without_a_run_there_is_nothing_to_view(tmp_path: Path, finished: Path):
    done = debatebench(tmp_path, "view", "--no-browser")
    assert (done.code, "There is nothing to view yet" in done.error_line) == (2, True)
    done = debatebench(finished, "view", "--no-browser", "--run-tag", "donne")
    assert (done.code, "No run 'donne'" in done.error_line) == (2, True)
    assert list(tmp_path.rglob("*view*")) == []


@pytest.mark.slow
def test_a_run_without_a_warehouse_is_viewed(tmp_path: Path, finished: Path):
    shutil.copytree(finished / "warehouse" / "journal", keep_pages(tmp_path, *FEW) / "warehouse" / "journal")
    with ServedCommand(tmp_path, "view", "--run-tag", "done") as view:
        (run,) = state_of(view)["runs"]
        assert run["words"] == "All debates have ended."
        assert view.get("site/index.html").status == 200
    assert not Workspace(tmp_path).database.exists()


# --- a run that plays -------------------------------------------------------------------------------------------------


class Gate:
    """Answers that stop after a number of requests until the gate is opened."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._opened = threading.Event()

    def __call__(self, received: Received) -> Behaviour:
        if received.number >= self._after:
            self._opened.wait(LONGEST_WAIT_S)
        return good_answers(received)

    def open(self) -> None:
        self._opened.set()


@contextmanager
def held_run(root: Path, after: int) -> Iterator[tuple[Started, Gate]]:
    """A run of 12 debates and 48 calls that waits for its answers after this many. Sites of it have few pages."""
    gate = Gate(after)
    with FakeProvider(gate) as server:
        write_workspace(keep_pages(root, *FEW), server)
        for path in (root / "configs").glob("*s.yaml"):
            path.write_text(path.read_text().replace("pricing:", "token_limit: 500, pricing:"))
        process = start(root, "--concurrency", "2", "--max-cost", "5")
        try:
            yield process, gate
        finally:
            gate.open()
            process.kill()
            process.communicate()


def wait_until_begun(root: Path, process: Started) -> None:
    while not (Workspace(root).progress / "tiny.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def facts(run: dict[str, Any]) -> dict[str, str]:
    return dict(run["facts"])


@pytest.mark.slow
def test_a_run_that_is_killed_is_shown_as_its_journal_has_it_and_goes_on(tmp_path: Path):
    # Eight debates with all four answers and four with three have 44: 45 finish a ninth, in whatever order they come.
    with held_run(tmp_path, after=45) as (process, gate):
        wait_until_begun(tmp_path, process)
        with ServedCommand(tmp_path, "view", "--run-tag", "tiny") as view:
            wait_for(
                view,
                lambda state: (
                    state["runs"][0].get("done_on_board", 0) >= 9
                    and facts(state["runs"][0]).get("Answers", "").startswith("45, ")
                ),
            )
            process.send_signal(signal.SIGKILL)
            process.wait()
            state = wait_for(view, lambda state: not state["is_playing"])
            (run,) = state["runs"]
            assert run["words"] == KILLED
            assert facts(run)["Calls answered"] == "45"
            assert 9 <= run["done"] == run["done_on_board"] < 12
            gate.open()
            again = start(tmp_path)
            _, err = again.communicate(timeout=LONGEST_WAIT_S)
            assert again.returncode == 0, err
            wait_for(view, lambda state: state["runs"][0].get("done_on_board") == 12 and not state["is_playing"])


@pytest.mark.slow
def test_a_journal_that_is_damaged_while_it_is_followed_is_told_on_the_page(tmp_path: Path, small: Path):
    root = Path(shutil.copytree(small, tmp_path / "w"))
    with ServedCommand(root, "view") as view:
        before = state_of(view)
        assert before["problems"] == []
        journal = Workspace(root).journal / "done.jsonl"
        content = bytearray(journal.read_bytes())
        content[len(content) // 2] ^= 1
        journal.write_bytes(content)
        state = wait_for(view, lambda state: bool(state["problems"]))
        assert "done.jsonl" in state["problems"][0]
        assert state["runs"][0]["board"] == before["runs"][0]["board"]
        assert view.get("site/index.html").status == 200


def progress_file(root: Path, **changed: Any) -> Path:
    """The file of a run that plays, as a process writes it."""
    content = {
        "run_tag": "tiny",
        "state": "playing",
        "reason": None,
        "debates": {"planned": 40, "complete": 10, "incomplete": 2},
        "calls": {
            **{"answered": 100, "answered_in_all": 1100, "failed": 3, "in_flight": 8, "waiting": 1},
            **{"rate_limited": 2, "left": 2500, "per_second": 12.25},
        },
        "cost_usd": {
            **{"billed": "1.25", "estimated": "0.25", "simulated": "0", "unknown_attempts": 2, "possible": "0.02"},
            **{"projected": "5.0000000000", "limit": "10"},
        },
        "waiting_for": ["openai"],
        "silent_s": {"debater-a": 75},
        "eta_s": 204.0,
    }
    path = Workspace(root).progress / "tiny.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**content, **changed}))
    return path


def test_a_progress_file_is_told_in_words(tmp_path: Path):
    progress_file(tmp_path)
    run = ProgressFiles(Workspace(tmp_path)).read()["tiny"]
    assert (run.is_playing, run.done, run.planned, run.limit) == (True, 12, 40, Decimal(10))
    assert run.words == "Playing, about 3 min left"
    assert dict(run.facts) == {
        "Debates": "12 of 40 done, 2 of them incomplete",
        "Answers": "1,100, 2,500 to go",
        "Requests in flight": "8, 12.2 answers per second",
        "Failed attempts": "3 in this session, 2 rate-limited (429), 1 waiting to be retried",
        "Cost": "$1.5000 of at most $10 (15%)",
        "Cost unknown": "of 2 attempts, at most $0.0200",
        "Cost projected": "$5.0000",
        "Cannot be reached": "openai",
        "Silent": "debater-a for 75 s",
    }


def test_the_lock_of_a_run_is_asked_only_once_after_its_file_has_become_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    monkeypatch.setattr("debatebench.output.view.playing.is_playing", lambda _, run_tag: bool(asked.append(run_tag)))
    path = progress_file(tmp_path)
    time_s = path.stat().st_mtime
    clock = [time_s + 1]
    files = ProgressFiles(Workspace(tmp_path), lambda: clock[0])
    assert (files.read()["tiny"].is_playing, asked) == (True, [])
    clock[0] = time_s + 10
    assert [files.read()["tiny"].words for _ in range(3)] == [KILLED] * 3
    assert asked == ["tiny"]
    os.utime(progress_file(tmp_path), (time_s + 9, time_s + 9))
    assert (files.read()["tiny"].is_playing, asked) == (True, ["tiny"])


@pytest.mark.parametrize("content", ["", "[]", "{", '{"state": 1}', "null", '{"state": "playing", "debates": []}'])
def test_a_progress_file_that_is_none_says_nothing(tmp_path: Path, content: str):
    progress_file(tmp_path).write_text(content)
    assert ProgressFiles(Workspace(tmp_path)).read() == {}


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("finished", None, "Finished."),
        ("incomplete", None, "Ended incomplete."),
        ("stopped", "The key was refused.", "Stopped: The key was refused."),
        ("interrupted", "Interrupted.", "Interrupted: Interrupted."),
    ],
)
def test_a_run_that_has_ended_says_how(tmp_path: Path, state: str, reason: str | None, words: str):
    progress_file(tmp_path, state=state, reason=reason)
    run = ProgressFiles(Workspace(tmp_path)).read()["tiny"]
    assert (run.is_playing, run.words) == (False, words)


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def read(browser: Browser, view: ServedCommand, **look: Any) -> Iterator[Watched]:
    """A page on which nothing may go wrong."""
    with watched(browser, f"http://127.0.0.1:{view.port}/", **look) as page:
        yield page
        assert page.problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_on_the_page_of_the_present_and_it_fits(
    browser: Browser, view: ServedCommand, scheme: Any, width: int
):
    with read(browser, view, color_scheme=scheme, viewport={"width": width, "height": 844}) as watched_page:
        page = watched_page.open(f"{view.url}now")
        page.wait_for_selector("#runs table")
        assert page.locator("#runs tbody tr").count() == len(state_of(view)["runs"][0]["board"])
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    with read(browser, view, color_scheme=scheme, viewport={"width": width, "height": 844}) as watched_page:
        page = watched_page.page
        page.goto(f"{view.url}now")
        page.wait_for_selector("#runs table")
        assert violations(page) == []


@pytest.mark.slow
def test_a_run_is_followed_until_it_has_ended_and_pages_say_what_plays_and_when_there_are_newer_numbers(
    tmp_path: Path, browser: Browser
):
    with held_run(tmp_path, after=41) as (process, gate):
        wait_until_begun(tmp_path, process)
        with ServedCommand(tmp_path, "view") as view, read(browser, view) as watched_page:
            assert view.get().text == view.get("now").text
            page = watched_page.open(view.url)
            assert page.url == f"{view.url}now"
            # Of 41 answers, 36 are not the last one of their debate at most.
            state = wait_for(
                view,
                lambda state: (
                    facts(state["runs"][0]).get("Answers") == "41, 7 to go"
                    and state["runs"][0].get("done_on_board", 0) == state["runs"][0]["done"]
                ),
            )
            (run,) = state["runs"]
            assert (run["tag"], run["planned"], state["is_playing"]) == ("tiny", 12, True)
            assert 5 <= run["done"] < 12
            assert run["words"].startswith("Playing")
            assert facts(run)["Debates"] == f"{run['done']} of 12 done"
            assert re.fullmatch(r"\$0\.\d{4} of at most \$5 \(\d+%\)", facts(run)["Cost"])
            assert facts(run)["Requests in flight"].startswith("2")
            assert run["board"]
            assert re.match(r"First place is (open between \d debaters|settled); \d of \d places", run["notes"][0])
            page.wait_for_selector("text=This page follows what is being played.")
            page.wait_for_function(
                "done => document.querySelector('progress').value === done",
                arg=run["done"],
                timeout=1000 * LONGEST_WAIT_S,
            )
            page.get_by_role("link", name="The whole site").click()
            page.get_by_role("link", name=re.compile(r"^tiny: \d+ of 12 debates$")).wait_for()
            # The writer was never kept from its end by what was read meanwhile.
            gate.open()
            _, err = process.communicate(timeout=LONGEST_WAIT_S)
            assert (process.returncode, "Waiting for another process" in err) == (0, False)
            version = state["version"]
            state = wait_for(view, lambda state: state["version"] > version and not state["is_playing"])
            (run,) = state["runs"]
            assert (run["words"], run["done"], run["done_on_board"]) == ("Finished.", 12, 12)
            assert facts(run)["Debates"] == "12 of 12 complete"
            assert facts(run)["Calls answered"] == "48"
            with open_for_reading(Workspace(tmp_path).database) as con:
                published = standing_of(con, "tiny")
            assert run["board"] == published.board
            assert "12" in view.get("site/runs/tiny/index.html").text
            newer = page.get_by_role("link", name="load them")
            newer.wait_for(timeout=1000 * LONGEST_WAIT_S)
            newer.click()
            page.wait_for_load_state("load")
            page.goto(f"{view.url}now")
            page.wait_for_selector("text=Finished.")


@pytest.mark.slow
def test_when_the_server_ends_the_page_says_so_and_keeps_its_numbers(small: Path, browser: Browser):
    with ServedCommand(small, "view") as view, watched(browser, "http://127.0.0.1:") as watched_page:
        page = watched_page.open(f"{view.url}now")
        page.wait_for_selector("#runs table")
        view.stop(signal.SIGTERM)
        page.wait_for_selector("text=The server does not answer")
        assert page.locator("#runs table").count() == 1


@pytest.mark.slow
def test_hostile_names_are_text_on_the_page_of_the_present(tmp_path: Path, browser: Browser):
    database = Workspace(keep_pages(tmp_path, *FEW)).database
    database.parent.mkdir(parents=True)
    debaters = (f"a{HOSTILE}", f"b{HOSTILE}", f"c{HOSTILE}")
    make_warehouse(database, (f"tag{HOSTILE}", tournament(f"tag{HOSTILE}", debaters, created_at=NOON)))
    with ServedCommand(tmp_path, "view") as view, read(browser, view) as watched_page:
        page = watched_page.open(f"{view.url}now")
        page.wait_for_selector("#runs table")
        assert page.locator("#runs tbody tr").count() == 3
        shown = page.locator("#content").inner_text()
        assert "<script>document.title='pwned'</script>" in shown
        assert not re.search("[\x00\x1b\u202e\u2066\u200b]", shown)
        assert page.locator("#content img, #content script").count() == 0
        assert "pwned" not in page.title()
