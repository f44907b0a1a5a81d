"""What helps a debate that is not complete: the way that the reasons of its empty seats leave open."""

from __future__ import annotations

import pytest

from debatebench.shared.advice import Vote, advice, empty_seats, unanswered

PANEL = ("a", "b")
REFUSED = unanswered("refused", "stopped by a content filter")
FAILED = unanswered("failed", "http answered 404 (retry later)")
TOO_LONG = unanswered("failed", "http answered 400", is_too_long=True)
UNFIT = "a prompt of about 50 tokens does not fit the context window of 10 tokens in judges.yaml"
UNUSABLE = "the answer holds no JSON object"
RETRY = "`debatebench retry tag` asks again"
NEW_JUDGE = "`debatebench retry tag --new-judge ID` asks another judge of judges.yaml"


def told(*votes: tuple[int, str, str | None], **options: bool) -> str:
    return advice("tag", PANEL, [Vote(*vote) for vote in votes], "2 judges gave no valid verdict.", **options)


@pytest.mark.parametrize("reason", [FAILED, UNUSABLE])
def test_a_first_judge_without_an_answer_or_a_usable_one_is_asked_by_a_retry(reason: str):
    assert told((0, "a", reason), (1, "b", None)) == RETRY


@pytest.mark.parametrize("reason", [REFUSED, UNFIT, TOO_LONG])
def test_a_judge_that_gives_no_other_answer_needs_another_judge(reason: str):
    assert told((0, "a", reason), (1, "b", None)).endswith(NEW_JUDGE)


def test_an_unusable_answer_of_a_replacement_is_not_asked_again():
    assert told((0, "a", REFUSED), (0, "c", UNUSABLE), (1, "b", None)).endswith(NEW_JUDGE)


def test_a_replacement_whose_call_failed_is_asked_again():
    assert told((0, "a", REFUSED), (0, "c", FAILED), (1, "b", None)) == RETRY


def test_a_retry_that_can_fill_only_one_of_two_seats_is_not_enough():
    assert told((0, "a", REFUSED), (1, "b", FAILED)).endswith(NEW_JUDGE)


def test_a_first_judge_whose_seat_was_taken_is_not_asked_again():
    votes = [Vote(0, "a", UNUSABLE), Vote(0, "c", None), Vote(1, "b", REFUSED)]
    seats = empty_seats(PANEL, votes)
    assert (seats.count, seats.failed, seats.unusable) == (1, (), ())


def test_debaters_who_judge_each_other_take_no_other_judge():
    assert "--new-judge" not in told((0, "a", REFUSED), (1, "b", None), may_add_judges=False)


def test_a_larger_context_window_opens_a_seat_again():
    votes = [Vote(0, "a", UNFIT), Vote(1, "b", None)]
    assert empty_seats(PANEL, votes, {"a": 10, "b": None}).failed == ()
    assert empty_seats(PANEL, votes, {"a": 100, "b": None}).failed == ("a",)


def test_a_debate_without_verdicts_is_asked_again_unless_its_prompt_is_too_long():
    assert advice("tag", PANEL, [], "http answered 404.") == RETRY
    assert "another run" in advice("tag", PANEL, [], "http answered 400: the prompt does not fit the context window.")
