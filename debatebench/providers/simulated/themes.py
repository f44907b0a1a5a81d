"""What simulated debaters can argue about: themes that fit any motion, with a case for each side."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PLACES", "SOURCES", "THEMES", "Case", "Theme"]


@dataclass(frozen=True, slots=True)
class Case:
    """One side's case on a theme: what it claims, two reasons for it, and what is at stake."""

    claim: str
    reasons: tuple[str, str]
    stake: str


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme with both cases, and something that a study could have counted."""

    pro: Case
    con: Case
    measure: str

    def case(self, side: str) -> Case:
        """The case of `pro` or `con`."""
        return self.pro if side == "pro" else self.con


THEMES: dict[str, Theme] = {
    "fairness": Theme(
        Case(
            "the motion gives people in the same position the same treatment",
            ("today the outcome depends on who can afford advice", "one rule for all leaves no back door"),
            "whether ordinary people meet the same rules as powerful ones",
        ),
        Case(
            "the motion puts the burden on those who caused no harm",
            ("a single rule cannot see how different people's situations are", "the well advised will step around it"),
            "whether the careful pay for the careless",
        ),
        "complaints about unequal treatment",
    ),
    "cost": Theme(
        Case(
            "the motion saves more money than it takes",
            ("prevention is cheaper than repair", "the expense comes once and the saving comes every year"),
            "money that could serve people instead of repairing damage",
        ),
        Case(
            "the motion costs more than anybody has budgeted",
            ("the promised savings arrive late and the bills arrive early", "nobody has priced the staff it needs"),
            "every other service that draws on the same purse",
        ),
        "total spending",
    ),
    "safety": Theme(
        Case(
            "the motion removes a danger that we know how to remove",
            (
                "the harm comes from a cause that the motion acts on",
                "waiting for every doubt to end means more victims",
            ),
            "injuries that cannot be undone afterwards",
        ),
        Case(
            "the motion replaces a known risk by an unknown one",
            ("people become careless once they feel protected", "the danger moves to where nobody is looking"),
            "people who will be hurt where no rule reaches them",
        ),
        "serious incidents",
    ),
    "freedom": Theme(
        Case(
            "the motion widens what people can really choose",
            ("a choice made without power or knowledge is none", "it takes away a pressure that nobody agreed to"),
            "the right to decide about one's own life",
        ),
        Case(
            "the motion takes away choices that adults can make for themselves",
            ("a ban treats everybody as if they could not judge", "exceptions will be granted only to insiders"),
            "the habit of deciding for oneself",
        ),
        "people who say that they decide for themselves",
    ),
    "trust": Theme(
        Case(
            "the motion rebuilds trust where it has been lost",
            ("people believe what they are able to check", "openness makes hidden deals harder"),
            "whether people still accept decisions they dislike",
        ),
        Case(
            "the motion weakens the trust on which things run today",
            ("control tells honest people that they are suspects", "a promise that cannot be kept breeds cynicism"),
            "the good will that no rule can replace",
        ),
        "reported trust in institutions",
    ),
    "enforcement": Theme(
        Case(
            "the motion can be enforced with tools that exist",
            ("breaches leave traces that can be audited", "clear lines make cheating easy to see"),
            "whether a rule is more than paper",
        ),
        Case(
            "the motion cannot be enforced",
            ("there are too many cases for too few inspectors", "activity moves abroad as soon as a border helps"),
            "respect for all the rules that do work",
        ),
        "detected breaches",
    ),
    "innovation": Theme(
        Case(
            "the motion pushes people to find better solutions",
            ("a firm limit tells inventors what to aim for", "newcomers gain when incumbents lose their shelter"),
            "the next generation of better ideas",
        ),
        Case(
            "the motion freezes progress at today's level",
            ("small teams cannot carry the paperwork", "nobody experiments when a failure is punished"),
            "discoveries that will never be made",
        ),
        "new ventures",
    ),
    "jobs": Theme(
        Case(
            "the motion creates work that lasts",
            ("new duties need skilled people on the spot", "money that stays at home is spent at home"),
            "families that live on steady wages",
        ),
        Case(
            "the motion destroys jobs before it creates any",
            ("employers cut first and hire later", "the lost places and the new ones are in different towns"),
            "families that lose an income this year",
        ),
        "employment in the sector",
    ),
    "health": Theme(
        Case(
            "the motion makes people healthier",
            ("it acts on the cause before the illness begins", "those with the worst exposure gain the most"),
            "years of life that no treatment gives back",
        ),
        Case(
            "the motion harms the health of those it forgets",
            ("stress and delay make people ill as well", "funds are drawn away from care that works"),
            "patients who wait longer for help",
        ),
        "hospital visits",
    ),
    "learning": Theme(
        Case(
            "the motion helps people to learn and to judge for themselves",
            ("practice under clear rules builds judgement", "it brings knowledge to those who had none"),
            "what the young take with them for life",
        ),
        Case(
            "the motion teaches people to follow instead of to think",
            ("whoever is steered never practises steering", "tests of compliance crowd out curiosity"),
            "the ability to cope when no rule fits",
        ),
        "test results",
    ),
    "privacy": Theme(
        Case(
            "the motion keeps private life private",
            ("data that is not collected cannot be stolen", "it gives people a say before and not after"),
            "a life without a permanent record",
        ),
        Case(
            "the motion opens private life to inspection",
            ("checking the rule means watching people", "records kept for one purpose find another"),
            "a home in which nobody looks over your shoulder",
        ),
        "data leaks",
    ),
    "precedent": Theme(
        Case(
            "the motion sets a standard that others can follow",
            ("somebody has to go first for the rest to dare", "a tested model travels better than a theory"),
            "whether the next reform starts from experience",
        ),
        Case(
            "the motion opens a door that will not be closed again",
            ("every power that was granted has been stretched", "the next case will look only a little different"),
            "the line that nobody will be able to draw later",
        ),
        "later reforms of the same kind",
    ),
    "incentives": Theme(
        Case(
            "the motion rewards the right conduct",
            ("people answer to what they are paid and praised for", "it makes those who cause the harm bear it"),
            "what people do when nobody watches",
        ),
        Case(
            "the motion rewards appearances over results",
            ("whatever is measured gets polished", "the cheapest way to comply is rarely the best one"),
            "effort that goes into reports instead of work",
        ),
        "voluntary compliance",
    ),
    "environment": Theme(
        Case(
            "the motion protects surroundings that everybody shares",
            ("damage to a common good appears on nobody's bill", "small harms add up where nobody counts them"),
            "land, air and water that we only borrow",
        ),
        Case(
            "the motion shifts environmental damage instead of ending it",
            ("demand that is blocked here is met elsewhere", "the substitutes have a footprint of their own"),
            "places whose voters we never hear",
        ),
        "measured pollution",
    ),
}

SOURCES = (
    "the Harlow Institute",
    "the Northmere Observatory",
    "the Calder Audit Office",
    "the Tamsin Research Group",
    "the Ostwick Panel",
    "the Velden Statistics Bureau",
    "Marlow and Finch",
    "the Quill Foundation",
)
"""Invented, so that no real body is credited with a made-up number."""

PLACES = ("towns", "regions", "schools", "firms", "clinics", "districts", "households", "agencies")
