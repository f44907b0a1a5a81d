"""The texts of simulated debaters: themes that fit any motion, and sentence templates for them.

Judges use `SIGNS` to recognise the kinds of these sentences, and roughly those of any other English text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any


def _table(text: str) -> dict[str, list[str]]:
    """Rows by name; a row without a name belongs to the name above it."""
    rows: dict[str, list[str]] = {}
    name = ""
    for line in text.strip().splitlines():
        name = line[:14].strip() or name
        rows.setdefault(name, []).append(line[14:])
    return rows


# What a study found if PRO is right; PRO's claim and what is at stake, two reasons; the same for CON.
THEMES = _table("""
fairness      complaints about unequal treatment fell
              the motion gives people in the same position the same treatment | equal rules for ordinary people
              today the outcome depends on who can afford advice | one rule for all leaves no back door
              the motion puts the burden on those who caused no harm | the careful, who would pay for the careless
              a single rule cannot see how different people's situations are | the well advised will step around it
cost          total spending fell
              the motion saves more money than it takes | money that could serve people instead of repairing damage
              prevention is cheaper than repair | the expense comes once and the saving comes every year
              the motion costs more than anybody has budgeted | every other service that draws on the same purse
              the promised savings arrive late and the bills arrive early | nobody has priced the staff it needs
safety        serious incidents fell
              the motion removes a danger that we know how to remove | injuries that cannot be undone afterwards
              the harm comes from a cause that the motion acts on | waiting for every doubt to end means more victims
              the motion replaces a known risk with an unknown one | people who will be hurt where no rule reaches them
              people become careless once they feel protected | the danger moves to where nobody is looking
freedom       the share of people who feel in control of their lives rose
              the motion widens what people can really choose | the right to decide about one's own life
              a choice made without power or knowledge is not a choice | it takes away a pressure that nobody agreed to
              the motion takes away choices that adults can make for themselves | the habit of deciding for oneself
              a ban treats everybody as if they could not judge | exceptions will be granted only to insiders
trust         reported trust in institutions rose
              the motion rebuilds trust where it has been lost | decisions that even their opponents accept
              people believe what they are able to check | openness makes hidden deals harder
              the motion weakens the trust on which things run today | the good will that no rule can replace
              control tells honest people that they are suspects | a promise that cannot be kept breeds cynicism
enforcement   the number of detected breaches rose
              the motion can be enforced with tools that exist | rules that are more than paper
              breaches leave traces that can be audited | clear lines make cheating easy to see
              the motion cannot be enforced by anyone we could hire | respect for all the rules that do work
              there are too many cases for too few inspectors | activity moves abroad as soon as a border helps
innovation    the number of new firms rose
              the motion pushes people to find better solutions | the next generation of better ideas
              a firm limit tells inventors what to aim for | newcomers gain when incumbents lose their shelter
              the motion freezes progress at today's level | discoveries that will never be made
              small teams cannot carry the paperwork | nobody experiments when a failure is punished
employment    the number of people in work rose
              the motion creates work that lasts | families that live on steady wages
              new duties need skilled people on the spot | money that stays at home is spent at home
              the motion destroys jobs before it creates any | families that lose an income this year
              employers cut first and hire later | the lost jobs and the new ones are in different towns
health        the number of hospital visits fell
              the motion makes people healthier in body and mind | years of life that no treatment gives back
              it acts on the cause before the illness begins | those with the worst exposure gain the most
              the motion harms the health of those it forgets | patients who wait longer for help
              stress and delay make people ill as well | funds are drawn away from care that works
privacy       the number of data leaks fell
              the motion keeps the private lives of people private | a life without a permanent record
              data that is not collected cannot be stolen | it gives people a say before and not after
              the motion opens private life to inspection | a home in which nobody looks over your shoulder
              checking the rule means watching people | records kept for one purpose find another
motivation    voluntary compliance rose
              the motion rewards the right conduct | what people do when nobody watches
              people answer to what they are paid and praised for | it makes those who cause the harm bear it
              the motion rewards appearances over results | effort that goes into reports instead of work
              whatever is measured gets polished | the cheapest way to comply is rarely the best one
environment   measured pollution fell
              the motion protects surroundings that everybody shares | land, air and water that we only borrow
              damage to a common good appears on nobody's bill | small harms add up where nobody counts them
              the motion shifts environmental damage instead of ending it | places whose voters we never hear
              demand that is blocked here is met elsewhere | the substitutes have a footprint of their own
""")

# In {braces}: words for the theme and the debate. {theirs} and {other} are the opponent's.
SENTENCES = _table("""
opening       The motion before us is: {motion}. I speak {position} it.
rebuttal      Let me turn to what this debate is about.
              Let us look at what has been said so far.
              I have listened closely, and here is my reply.
closing       Let me draw this debate together.
              Let us step back and look at the whole debate.
              What is left of this debate once the dust has settled?
claim         My {ordinal} point is {name}: {claim}.
              My {ordinal} point is {name}, for {claim}.
guess         Maybe one point is {name}, I guess: {claim}, sort of.
              I feel that there is a point about {name}, sort of: {claim}.
              Perhaps there is a point on {name}: {claim}, I guess.
reason        That is because {reason}.
              The reason is that {reason}.
              Why? Because {reason}.
gap           People have always argued about {name}, so it simply follows that the motion must {goal}.
              Some things about {name} were better in the past, and therefore the motion has to {goal}.
              Everybody has heard of {name} by now, and so the motion must {goal}.
shift         It is not for me to prove this; until my opponent disproves it, {name} counts for my side.
              My opponent has failed to prove the opposite about {name}, so I owe you no proof.
              As for {name}, it is not for me to prove what any of us can see.
assertion     When it comes to {name}, that is simply how it is.
              Nobody can seriously doubt that about {name}.
              It is obvious, really, to anybody who thinks of {name}.
source        A {year} study by {source} found that {finding} by {share} per cent in {count} {places}.
              According to {source}, {finding} by {share} per cent in {count} {places} after {year}.
              In {year}, {source} looked at {count} {places} and found that {finding} by {share} per cent.
vague         Experts say so about {name}, and everyone knows it.
              Some studies out there on {name} seem to point this way.
              I once read something like that about {name}.
              People say that it has worked in other places.
stake         What hangs on it: {stake}.
              At stake: {stake}.
answer        On {name}, my opponent told us that {theirs}; that does not hold.
              On {name}, the other side claims that {theirs}, but it has the matter backwards.
              On {name}, my opponent wants us to believe that {theirs}, and I see it the other way.
quote         My opponent says “{quote}”, but that does not settle the matter.
              The other side told us “{quote}”, but there is more to it than that.
contradiction My opponent is wrong about {name}.
              What the other side said about {name} does not convince me.
              I do not agree with what we just heard about {name}.
extension     Our point on {name} still stands.
              Let me add to our point on {name}.
              Nothing that we heard touches our point on {name}.
echo          As I said, my point is {name}: {claim}.
              Once more, my point is {name}: {claim}.
              My point is {name}, as you know: {claim}.
weighing      On balance {name} matters more than {other}: think of {stake}.
              Even if {other} counts for something, {name} outweighs it: think of {stake}.
              Put {name} next to {other}, and {name} weighs more: think of {stake}.
wish          So I think that my side should probably win.
              That is more or less my whole case.
              I feel that we have said enough about {name}, kind of.
              It is probably {name} that decides this, one way or another.
doubt         I admit that there is a great deal to be said for the other side.
              I concede that the opposite view is perhaps the stronger one.
concession    I have to concede that my opponent is right about {name}.
              I admit that the other side has the better case on {name}.
ending        That is why the motion should {goal}.
              For these reasons the motion should {goal}.
              I ask you to let the motion {goal}.
hesitation    So perhaps the motion should {goal}, I guess.
              I guess that the motion should probably {goal}.
              All in all the motion should {goal}, more or less.
""")

# For text in lower case.
SIGNS = {
    sign: re.compile(rf"\b(?:{words})\b")
    for sign, (words,) in _table(r"""
reason        because|the reason is|since|as a result|which means that|due to
source        (?:according to|stud(?:y|ies)|survey|report|review|audit|census|trial|data|found|estimates?)\b.*\d
vague         experts say|every(?:one|body) knows|some studies|people say|i once read|they say|well known
opponent      my opponent|the other side|the opposition|they claim|they say|you claim
weighing      outweighs?|matters more|weighs more|on balance|even if|what hangs on it|at stake
hedge         maybe|perhaps|i guess|sort of|kind of|i feel|more or less|probably|simply how it is|it is obvious
gap           and so the|so it simply follows|and therefore the
shift         not for me to prove|failed to prove the opposite|until .{0,40}disproves?|owe you no proof
concession    i (?:have to |must )?(?:concede|admit)|(?:opponent|other side) is right
""").items()
}

# Invented, so that no real institution is credited with a made-up number.
SOURCES = ["the Harlow Institute", "the Calder Audit Office", "the Ostwick Panel", "the Quill Foundation"]
SOURCES += ["Marlow and Finch", "the Velden Statistics Bureau", "the Northmere Observatory"]
PLACES = ["towns", "regions", "schools", "firms", "clinics", "districts", "households", "agencies"]


@cache
def case(name: str, side: str) -> dict[str, Any]:
    """One side's case on a theme: claim, stake, reasons, and a finding that supports it."""
    finding, *pro_and_con = THEMES[name]
    claim, reasons = pro_and_con[:2] if side == "pro" else pro_and_con[2:]
    if side == "con":
        finding = finding[:-4] + {"fell": "rose", "rose": "fell"}[finding[-4:]]
    return dict(zip(("claim", "stake"), claim.split(" | "), strict=True), finding=finding, reasons=reasons.split(" | "))
