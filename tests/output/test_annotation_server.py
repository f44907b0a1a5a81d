"""The annotation server over HTTP: what it shows, what it refuses, and that what it acknowledged is there."""

from __future__ import annotations

import html
import http.client
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from annotating import (
    ANCHORS,
    QUESTIONS,
    SECRETS,
    TAG,
    AnnotationServer,
    full_form,
    hostile_workspace,
    made_workspace,
)
from serving import Answer

from debatebench.landing.annotation_journals import annotation_records, annotations_folder, read_forms
from debatebench.output.annotation.debates import NOT_SHOWN
from debatebench.shared.records import Annotation, Dimension
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

pytest.importorskip("uvicorn", reason="the packages of the extra `annotate` are not installed")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made_workspace(tmp_path_factory.mktemp("annotated"))


@pytest.fixture(scope="module")
def server(workspace: Workspace) -> Iterator[AnnotationServer]:
    """A server that no test stops; each test uses a debate of its own, or saves nothing."""
    with AnnotationServer(workspace, "shared") as server:
        yield server


def test_the_address_is_on_one_line_on_loopback_with_a_token(server: AnnotationServer):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[A-Za-z0-9_-]{32}/", server.url)
    assert server.get().status == 200


def test_tokens_differ_from_start_to_start(workspace: Workspace, server: AnnotationServer):
    with AnnotationServer(workspace, "shared") as other:
        assert urlsplit(other.url).path != urlsplit(server.url).path


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"Host": "debates.example:80"}, 421, "only to 127.0.0.1"),
        ({"Host": "127.0.0.1"}, 421, "only to 127.0.0.1"),
        ({"Host": "127.0.0.1.evil.example"}, 421, "only to 127.0.0.1"),
        ({"Origin": "http://evil.example"}, 403, "another origin"),
        ({"Origin": "null"}, 403, "another origin"),
        ({"Origin": "http://127.0.0.1:1"}, 403, "another origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "another site"),
        ({"Sec-Fetch-Site": "same-site"}, 403, "another site"),
    ],
)
def test_a_request_from_elsewhere_is_refused_with_words(
    server: AnnotationServer, headers: dict[str, str], status: int, words: str
):
    token = urlsplit(server.url).path
    own = {"Host": f"127.0.0.1:{server.port}"}
    for path in (token, f"{token}api/debates", f"{token}assets/annotation.js"):
        found, text = server.asked("GET", path, **{**own, **headers})
        assert (found, words in text) == (status, True)
        # The same request without the fault is answered.
        assert server.asked("GET", path, **own)[0] == 200
    origin = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.asked("GET", token, **own, **origin)[0] == 200


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/api/debates", "//", "/%00/", "/é/"])
def test_an_address_without_the_token_is_refused_with_words(server: AnnotationServer, path: str):
    answer = AnnotationServer.get(_At(server, path))
    assert answer.status == 403
    assert "This address is not valid" in answer.text
    assert "Bridges" not in answer.text


class _At(AnnotationServer):
    """A server asked at another path."""

    def __init__(self, server: AnnotationServer, path: str) -> None:
        self.url = f"http://127.0.0.1:{server.port}{path}".replace("é", "%C3%A9")


def test_a_token_that_is_only_the_beginning_or_longer_is_refused(server: AnnotationServer):
    token = urlsplit(server.url).path.strip("/")
    for wrong in (token[:-1], f"{token}x", token.swapcase()):
        assert AnnotationServer.get(_At(server, f"/{wrong}/")).status == 403


def test_every_answer_forbids_scripts_of_others_frames_and_referrers(server: AnnotationServer):
    for answer in (server.get(), server.get("nothing"), AnnotationServer.get(_At(server, "/wrong/"))):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_nothing_outside_the_pages_is_served(server: AnnotationServer):
    for path in ("assets/../app.py", "assets/..%2Fapp.py", "assets/debate.html", "debate/0", "api/debates/0", "x"):
        assert server.get(path).status == 404, path


def every_page(server: AnnotationServer) -> list[Answer]:
    answers = [server.get(), server.get("api/debates")]
    for key in server.debate_keys():
        answers += [server.get(f"debate/{key}"), server.get(f"api/debates/{key}")]
    return answers


def test_no_page_names_debaters_weaknesses_judges_or_other_people(server: AnnotationServer):
    pages = every_page(server)
    assert len(pages) == 2 + 2 * 3
    for page in pages:
        assert page.status == 200
        for secret in SECRETS:
            assert secret not in page.text
            assert secret not in json.dumps(page.headers)
        said = re.sub("|".join(map(re.escape, NOT_SHOWN)), "", html.unescape(page.text)).lower()
        assert "weakness" not in said
        assert "control" not in said.replace("cache-control", "")
    # The search would find them: a page that people must not see has them all.
    assert all(secret in repr([*_records()]) for secret in SECRETS)


def _records() -> Any:
    from annotating import made_records

    return made_records()


def test_a_page_shows_the_motion_the_speeches_and_the_rubric_with_its_anchors(server: AnnotationServer):
    key = server.debate_keys()[0]
    page, data = server.get(f"debate/{key}").text, server.get(f"api/debates/{key}").data
    assert data["motion"] == "Bridges should be blue."
    assert [speech["side"] for speech in data["speeches"]] == ["pro", "con", "pro", "con"]
    assert [each["dimension"] for each in data["dimensions"]] == list(QUESTIONS)
    for text in (data["motion"], *ANCHORS.values(), *(speech["text"] for speech in data["speeches"])):
        assert text in page
    assert 'class="asked"' not in page
    assert page.count('type="radio"') == 4 + 2 + len(QUESTIONS) * 2 * 3 + 3 + 5


def test_a_page_says_what_the_debate_s_category_asks_of_each_side(tmp_path: Path):
    asked = {"Policy": {"pro": "Show <b>need</b>.", "con": "Show harm."}, "values": {"pro": "Weigh.", "con": "Weigh."}}
    scale = {"run_tag": "made", "min_score": 1, "max_score": 3}
    dimensions = [
        Dimension.model_validate({**scale, "dimension": "proof", "source_position": 0, "by_category": asked}),
        Dimension.model_validate({**scale, "dimension": "clash", "source_position": 1}),
    ]
    with AnnotationServer(made_workspace(tmp_path / "w", dimensions=dimensions)) as server:
        key = server.debate_keys()[0]
        page, data = server.get(f"debate/{key}").text, server.get(f"api/debates/{key}").data
    assert [each["asked"] for each in data["dimensions"]] == [{"Pro": "Show <b>need</b>.", "Con": "Show harm."}, {}]
    assert page.count('class="asked"') == 1
    assert '<dt>Pro</dt><dd dir="auto">Show &lt;b&gt;need&lt;/b&gt;.</dd>' in page
    assert "Weigh." not in page


def test_hostile_speeches_are_text_on_the_page(tmp_path: Path):
    with AnnotationServer(hostile_workspace(tmp_path / "w")) as server:
        page = server.get(f"debate/{server.debate_keys()[0]}").text
    assert "&lt;script&gt;" in page
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "{{ 7 * 7 }}" in page
    assert not re.search("[\x00\x1b\u202e\u2066\u200b]", page)


BAD_FORMS: list[tuple[Any, str]] = [
    ([], "A form is a JSON object."),
    ({"winner": "aff"}, "The field winner is one of pro, con, tie"),
    ({"winner": True}, "The field winner is one of"),
    ({"confidence": 6}, "The field confidence is one of 1, 2, 3, 4, 5"),
    ({"confidence": True}, "The field confidence is one of"),
    ({"confidence": 4.0}, "The field confidence is one of"),
    ({"is_coherent": 1}, "The field is_coherent is one of true, false"),
    ({"scores": {"style": {"pro": 1}}}, "No dimension 'style'"),
    ({"scores": {"clash": {"pro": 4}}}, "The field scores.clash.pro takes whole numbers from 1 to 3, or null; found 4"),
    ({"scores": {"clash": {"aff": 1}}}, "with the sides pro and con"),
    ({"scores": [1]}, "The field scores is an object"),
    ({"justification": 7}, "The field justification is text"),
    ({"justification": "x" * 20_001}, "at most 20,000"),
    ({"weakness": "none"}, "A form has no field 'weakness'"),
]


@pytest.mark.parametrize(("form", "words"), BAD_FORMS, ids=lambda value: str(value)[:30])
def test_a_bad_form_is_refused_with_words_and_not_saved(server: AnnotationServer, form: Any, words: str):
    key = server.debate_keys()[0]
    for answer in (server.save(key, 0, form), server.hand_in(key, 0, form)):
        assert answer.status == 422
        assert words in answer.data["message"]
    assert server.get(f"api/debates/{key}").data["revision"] == 0


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b"{", "application/json", 400, "not JSON"),
        (b"\xff", "application/json", 400, "not JSON"),
        (b"[" * 100_000, "application/json", 400, "not JSON"),
        (b"[]", "application/json", 400, "a revision"),
        (b'{"revision": "0", "form": {}}', "application/json", 400, "a revision"),
        (b'{"revision": true, "form": {}}', "application/json", 400, "a revision"),
        (b'{"revision": 0, "form": {}}', "text/plain", 415, "application/json"),
        (b"x" * 600_000, "application/json", 413, "at most"),
    ],
)
def test_a_body_that_is_no_save_is_refused_with_words(
    server: AnnotationServer, body: bytes, kind: str, status: int, words: str
):
    from serving import ask

    url = f"{server.url}api/debates/{server.debate_keys()[0]}/draft"
    answer = ask(url, body, {"content-type": kind})
    assert (answer.status, words in answer.text) == (status, True), answer.text


def test_an_incomplete_form_is_saved_but_not_handed_in(server: AnnotationServer):
    key = server.debate_keys()[1]
    form = full_form(confidence=None, scores={"clash": {"pro": 3}})
    refused = server.hand_in(key, 0, form)
    assert refused.status == 422
    assert refused.data["fields"] == ["clash.con", "burden_of_proof_met.pro", "burden_of_proof_met.con", "confidence"]
    assert refused.data["message"].startswith("Still missing: clash: Con, burden of proof met: Pro")
    assert server.save(key, 0, form).data["revision"] == 1
    kept = server.get(f"api/debates/{key}").data
    assert (kept["form"]["winner"], kept["form"]["scores"], kept["is_handed_in"]) == ("pro", form["scores"], False)


def test_a_debate_that_is_not_coherent_needs_only_the_reasons(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=1)
    with AnnotationServer(workspace) as server:
        (key,) = server.debate_keys()
        assert server.hand_in(key, 0, {"is_coherent": False}).data["fields"] == ["justification"]
        done = server.hand_in(key, 0, {"is_coherent": False, "justification": "The last speech is in Latin."})
        assert (done.data["revision"], done.data["next"], done.data["words"]) == (1, None, "Handed in.")
    (record,) = annotation_records(annotations_folder(workspace.journal, TAG), TAG)
    assert isinstance(record, Annotation)
    assert (record.is_coherent, record.winner, record.scores) == (False, None, None)


def test_a_stale_save_is_refused_and_the_same_save_again_changes_nothing(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with AnnotationServer(workspace) as server:
        key = server.debate_keys()[0]
        first, second = full_form(winner="pro"), full_form(winner="con")
        assert server.save(key, 0, first).data["revision"] == 1
        stale = server.save(key, 0, second)
        assert stale.status == 409
        assert "nothing was overwritten" in stale.data["message"]
        assert server.get(f"api/debates/{key}").data["form"]["winner"] == "pro"
        # The answer to a save may be lost, so that the page sends it again.
        assert server.save(key, 0, first).data["revision"] == 1
        assert server.hand_in(key, 1, first).data["revision"] == 2
        assert server.hand_in(key, 1, first).data["revision"] == 2
        assert server.hand_in(key, 0, second).status == 409
    lines = (annotations_folder(workspace.journal, TAG) / "ann.jsonl").read_bytes().splitlines()
    assert len(lines) == 3


def test_two_windows_and_two_processes_of_one_annotator_lose_nothing(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with AnnotationServer(workspace) as one, AnnotationServer(workspace) as other:
        key = one.debate_keys()[0]
        assert one.save(key, 0, full_form(winner="pro")).data["revision"] == 1
        assert other.save(key, 0, full_form(winner="con")).status == 409
        assert other.save(key, 1, full_form(winner="con")).data["revision"] == 2
        assert one.get(f"api/debates/{key}").data["form"]["winner"] == "con"


def test_a_killed_server_has_everything_that_it_acknowledged(tmp_path: Path):
    """Twenty kills, each right after an acknowledged save, and half of them with another save under way."""
    workspace = made_workspace(tmp_path / "w")
    acknowledged: dict[str, Any] = {}
    for round_ in range(10):
        servers = [AnnotationServer(workspace, name, "--revise").__enter__() for name in ("ann", "ben")]
        for name, server in zip(("ann", "ben"), servers, strict=True):
            key = sorted(server.debate_keys())[round_ % 3]
            state = server.get(f"api/debates/{key}").data
            if (name, key) in acknowledged:
                assert state["form"]["justification"] in acknowledged[name, key]
            text = f"round {round_} of {name}"
            save = server.hand_in if round_ % 2 else server.save
            answer = save(key, state["revision"], full_form(justification=text))
            assert answer.status == 200
            under_way = f"{text}, under way"
            acknowledged[name, key] = {text, under_way}
            thread = Thread(target=_try, args=(server, key, answer.data["revision"], under_way))
            thread.start()
            server.stop(signal.SIGKILL)
            thread.join()
    folder = annotations_folder(workspace.journal, TAG)
    forms = {name: read_forms(folder / f"{name}.jsonl", TAG).by_debate for name in ("ann", "ben")}
    kept = {(name, debate_id): each.form["justification"] for name in forms for debate_id, each in forms[name].items()}
    assert len(kept) == 6
    assert all(any(text in texts for texts in acknowledged.values()) for text in kept.values())
    # A record lands if nothing was saved after the hand-in.
    landed = [record for record in annotation_records(folder, TAG) if isinstance(record, Annotation)]
    assert all(kept[record.annotator_id, record.debate_id] == record.justification for record in landed)


def _try(server: AnnotationServer, key: str, revision: int, text: str) -> None:
    try:
        server.save(key, revision, full_form(justification=text))
    except OSError:
        return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_says_how_much_is_done(tmp_path: Path, number: signal.Signals):
    server = AnnotationServer(made_workspace(tmp_path / "w")).__enter__()
    server.hand_in(server.debate_keys()[0], 0, full_form())
    asking = Thread(target=_keep_asking, args=(server,))
    asking.start()
    code, err = server.stop(number)
    asking.join()
    assert code == 0
    assert "1 of 3 debates are annotated" in err
    assert "Traceback" not in err


def _keep_asking(server: AnnotationServer) -> None:
    """Ask until the server is gone."""
    try:
        while True:
            server.get("api/debates")
    except (OSError, http.client.HTTPException):
        return
