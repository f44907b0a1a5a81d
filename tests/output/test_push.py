"""A dataset pushed to a hub over HTTP: one private commit, the token from the environment only, and never printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Done, debatebench_here
from hub_server import TOKEN, Hub, hub_server

# The hub's package gives httpx the parts of large files in a way that httpx would rather not have.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    with hub_server() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield running


def pushed(root: Path, out: Path, *arguments: str) -> Done:
    given = ("--format", "huggingface", "--license", "cc-by-4.0", "--out-dir", str(out), "--force")
    done = debatebench_here(root, "export", *given, *arguments)
    assert TOKEN not in done.out + done.err
    assert "Traceback" not in done.err
    return done


def test_a_dataset_is_one_commit_of_a_new_private_repository(hub: Hub, played: Path, tmp_path: Path):
    out = tmp_path / "dataset"
    done = pushed(played, out, "--push", "ann/debates")
    assert done.code == 0, done.err
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert hub.files["ann/debates"] == files
    assert any(name.endswith(".parquet") for name in files)
    assert hub.is_private == {"ann/debates": True}
    assert hub.messages == ["Run t"]
    assert hub.tokens == {f"Bearer {TOKEN}"}
    last = f"Pushed {len(files)} files to the private dataset {hub.url}/datasets/ann/debates"
    assert done.out.splitlines()[-1] == last
    again = pushed(played, out, "--push", "ann/debates")
    assert again.code == 0, again.err
    assert hub.files["ann/debates"] == files


def test_a_public_repository_gets_nothing_unless_it_is_asked_for(hub: Hub, played: Path, tmp_path: Path):
    hub.files["ann/open"], hub.is_private["ann/open"] = {}, False
    refused = pushed(played, tmp_path / "d", "--push", "ann/open")
    assert refused.code == 2
    assert refused.error_line == "Error: The dataset ann/open is public; give --public to push to it."
    assert hub.files["ann/open"] == {}
    assert pushed(played, tmp_path / "d", "--push", "ann/open", "--public").code == 0
    assert "README.md" in hub.files["ann/open"]
    assert pushed(played, tmp_path / "d", "--push", "ann/new", "--public").code == 0
    assert hub.is_private["ann/new"] is False


def test_a_dry_run_sends_nothing_and_needs_no_token(
    hub: Hub, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HF_TOKEN")
    done = pushed(played, tmp_path / "d", "--push", "ann/debates", "--dry-run")
    assert done.code == 0, done.err
    assert "would push README.md\n" in done.out
    assert done.out.endswith(
        f"would be pushed to the private dataset {hub.url}/datasets/ann/debates; nothing was sent.\n"
    )
    assert hub.requests == []


def test_without_a_token_nothing_is_exported(hub: Hub, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text("hf_of_another_program")
    done = pushed(played, tmp_path / "d", "--push", "ann/debates")
    assert done.code == 1
    assert "There is no token for the Hub: set HF_TOKEN" in done.error_line
    assert not (tmp_path / "d").exists()
    assert hub.requests == []


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "does not accept the token in HF_TOKEN"),
        (403, "may not write to ann/debates; give it write access"),
        (400, "refused the push to ann/debates: "),
    ],
)
def test_a_refusal_is_one_sentence_without_the_token(hub: Hub, played: Path, tmp_path: Path, status: int, words: str):
    hub.refusal = (status, f"I saw {TOKEN}")
    done = pushed(played, tmp_path / "d", "--push", "ann/debates")
    assert done.code == 1
    assert words in done.error_line


def test_without_a_network_the_sentence_names_the_hub(
    hub: Hub, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = pushed(played, tmp_path / "d", "--push", "ann/debates")
    assert done.code == 1
    assert done.error_line.startswith("Error: http://127.0.0.1:9 cannot be reached, or breaks off: ")
    assert (tmp_path / "d" / "README.md").is_file(), "the export stays"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--push", "debates"], "'debates' is not a repository of the Hub, such as my-name/my-debates."),
        (["--push", "a/../b"], "is not a repository of the Hub"),
        (["--dry-run"], "--dry-run has no effect without --push; give both."),
        (["--public"], "--public has no effect without --push; give both."),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_written(
    hub: Hub, played: Path, tmp_path: Path, arguments: list[str], words: str
):
    done = pushed(played, tmp_path / "d", *arguments)
    assert done.code == 2
    assert words in done.error_line
    assert not (tmp_path / "d").exists()


def test_another_format_is_not_pushed(played: Path, tmp_path: Path):
    done = debatebench_here(
        played, "export", "--format", "jsonl", "--out-dir", str(tmp_path / "d"), "--push", "ann/debates"
    )
    assert done.code == 2
    assert "--push works only with --format huggingface, not with jsonl." in done.error_line
