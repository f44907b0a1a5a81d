"""The questions that people bring to a warehouse: each with its noun, other words for it, and the mart that answers."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """`noun` and `synonyms` are what people search for; `mart` is the table that answers the question."""

    noun: str
    synonyms: tuple[str, str, str]
    mart: str


QUESTIONS = (
    Question("verbosity", ("longer speeches", "length preference", "wordy"), "marts.judge_bias"),
    Question(
        "cost per settled rank", ("price of a rank", "money for ranking", "paid per settled rank"), "marts.rank_costs"
    ),
    Question("sided topics", ("unbalanced motion", "side effect of a topic", "motion favours a side"), "marts.topics"),
    Question(
        "debater between versions",
        ("progress of a debater", "regression", "changed since version"),
        "marts.debater_comparison",
    ),
    Question("own family", ("self-preference", "nepotism", "favours its family"), "marts.judge_bias"),
    Question(
        "which dimension decides",
        ("deciding dimension", "dimension importance", "share of variance"),
        "marts.dimension_contributions",
    ),
    Question("truncated speeches", ("cut off", "token limit", "truncation"), "marts.truncated_speeches"),
    Question("calls", ("latency", "retries", "refusals"), "marts.calls"),
    Question("debates needed", ("how many more debates", "neighbours settled", "sample size"), "marts.rank_neighbours"),
    Question("presentation order", ("position bias", "shown first", "order effect"), "marts.judge_bias"),
    Question(
        "cheapest judge", ("judge price", "judge agrees with people", "cost of judging people"), "marts.judge_value"
    ),
    Question("cycles", ("intransitive", "circular triads", "beat one another"), "marts.triads"),
)
