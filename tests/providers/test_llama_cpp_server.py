"""A debate that llama.cpp's own server plays and judges, with a model of random weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from real_server import files_with_key, replies, reported_tokens, stored_tokens, write_workspace
from tiny_llama import VARIABLE, llama_server, tiny_llama
from tournament import DIMENSIONS, play

import debatebench as db

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        llama_server() is None, reason=f"llama.cpp's server is not here: no llama-server on the path, no {VARIABLE}"
    ),
]


def test_a_debate_with_a_llama_cpp_server(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    with tiny_llama(folder) as server:
        root = write_workspace(tmp_path / "workspace", server, judges=1)
        done = play(root, "--no-build")
        assert done.code == 0, done.err
        assert server.answers == len(replies(root)) == 2 * 3
    assert reported_tokens(root) == stored_tokens(root)
    assert all(None not in tokens for tokens in stored_tokens(root).values())
    assert files_with_key(root) == []
    with db.open(root) as warehouse:
        assert warehouse.sql("select distinct status from raw.debates").fetchall() == [("complete",)]
        assert warehouse.sql("select distinct is_valid, asks from raw.verdicts").fetchall() == [(True, 1)]
        assert warehouse.sql("select count(*) from raw.calls where adjusted is not null").fetchall() == [(0,)]
        answers = warehouse.sql("select raw_response from raw.verdicts").fetchall()
    for (answer,) in answers:
        # The server's grammar allows a fence around the object.
        verdict = json.loads(answer.strip().removeprefix("```json").removesuffix("```"))
        assert list(verdict) == ["scores"]
        assert list(verdict["scores"]) == ["pro", "con"]
        for scores in verdict["scores"].values():
            assert list(scores) == list(DIMENSIONS)
            assert all(score in range(1, 11) for score in scores.values())
