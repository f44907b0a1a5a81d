"""What statuses, codes and finish reasons prove about billing, and that the documentation says the same."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from debatebench.play.attempts import status_of
from debatebench.play.budget import MAY_HAVE_BEEN_BILLED
from debatebench.providers import failure_tables as tables
from debatebench.providers.base import FailureKind, ProviderFailure, Reply
from debatebench.providers.error_body import ErrorBody
from debatebench.providers.openai_reply import ReplySource, read_reply

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT, SQL = ROOT / "docs" / "faults.md", ROOT / "sql"
STATUSES = range(300, 600)
OWN = json.dumps({"error": {"message": "No."}}).encode()
PAGES = (b"<html><title>No.</title></html>", b"", b"{}", b'{"message": "No."}', OWN[:-1], b'{"error": null}')


def status_after(code: int, body: bytes) -> str:
    """The status of an attempt with this reply."""
    with pytest.raises(ProviderFailure) as caught:
        read_reply(Reply(code, body, {}, datetime(2026, 1, 1), 1.0), ReplySource("http"))
    return status_of(caught.value)


def documented() -> dict[int, tuple[str, str]]:
    """HTTP status → status of an attempt with the provider's own error, and with a page, as the table says."""
    table = DOCUMENT.read_text(encoding="utf-8").split("| HTTP status |", 1)[1].split("\n\n", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    kinds = {cells[0]: (cells[1].strip("`"), cells[2].strip("`")) for cells in rows}
    others = {re.findall(r"\d(?=xx)", words)[0]: told for words, told in kinds.items() if words.startswith("any ")}
    found = {code: others[str(code)[0]] for code in STATUSES}
    for words, told in kinds.items():
        found |= {int(code): told for code in re.findall(r"\b\d{3}\b", words)}
    return found


def test_the_documentation_lists_what_each_status_proves() -> None:
    said = documented()
    assert set(said) == set(STATUSES)
    assert {code: (status_after(code, OWN), status_after(code, PAGES[0])) for code in STATUSES} == said


def test_whatever_is_not_an_error_of_the_provider_proves_as_little_as_a_page() -> None:
    for code in STATUSES:
        assert {status_after(code, page) for page in PAGES} == {status_after(code, PAGES[0])}


def test_an_error_inside_status_200_proves_what_the_status_would() -> None:
    for code in range(400, 600):
        inside = json.dumps({"error": {"message": "No.", "code": code}}).encode()
        assert status_after(200, inside) == status_after(code, OWN)


def test_nothing_is_free_without_a_proof() -> None:
    free = {code for code in STATUSES if status_after(code, PAGES[0]) not in MAY_HAVE_BEEN_BILLED}
    assert {code for code in free if code >= 500} == {501, 505, 511, 521, 522, 523, 525, 526}
    assert {code for code in STATUSES if code < 500} - free == {408, 424, 460, 499}


def test_the_sql_models_count_the_same_statuses_as_possibly_billed() -> None:
    sql = (SQL / "intermediate" / "int_expenses.sql").read_text(encoding="utf-8")
    (listed,) = re.findall(r"status in \(([^)]*)\)", sql)
    assert set(re.findall(r"'(\w+)'", listed)) == MAY_HAVE_BEEN_BILLED


def test_the_kinds_of_failures_that_may_be_billed_are_known() -> None:
    billed = {kind for kind in FailureKind if status_of(ProviderFailure(kind, "No.")) in MAY_HAVE_BEEN_BILLED}
    assert billed == {FailureKind.AMBIGUOUS, FailureKind.EMPTY, FailureKind.REFUSED, FailureKind.OVERSIZE}


@pytest.mark.parametrize("code", tables._STATUS_OF_CODE)
def test_a_code_inside_status_200_means_its_status_or_what_the_code_says(code: str) -> None:
    error = ErrorBody.of({"error": {"code": code}})
    status = tables.status_inside(error)
    assert status is not None
    named = tables._BY_CODE.get(code)
    expected = named or tables.meaning_of_error(ErrorBody.of({"error": {"message": "No."}}), status)
    assert tables.meaning_of_error(error, status) == expected


def test_an_answer_that_was_begun_is_never_free() -> None:
    for meaning in {
        *tables._BY_CODE.values(),
        *tables._BY_WORDS.values(),
        *tables._BY_STATUS.values(),
    }:
        within = tables.meaning_within_answer(meaning)
        assert within.kind not in (FailureKind.RETRY, FailureKind.FAILED)
    assert {meaning.kind for meaning in tables._BY_FINISH.values()} <= {
        FailureKind.REFUSED,
        FailureKind.AMBIGUOUS,
    }
