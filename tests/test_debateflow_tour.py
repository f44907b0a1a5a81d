"""docs/debateflow.md is carried out from top to bottom in one workspace, and its results are those that it promises.

Two people who annotate and one who reviews are played over the HTTP of `debatebench annotate`. They see what the page
shows, and find flaws in the speeches as a simulated judge does that misses none. One of them overlooks a few debates.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from guided_tour import AnnotationPage, Section, Tour, sections_of
from paths import REPOSITORY

from debatebench.config.transcript_layout import Section as Speech
from debatebench.providers.simulated.flaws import seen_flaws

pytest.importorskip("uvicorn", reason="the packages of the extra `annotate` are not installed")
pytestmark = pytest.mark.slow

PAGE = REPOSITORY / "docs" / "debateflow.md"
WEAKNESSES = {
    "weak_evidence": "burden_fulfillment",
    "argument_dropping": "clash_engagement",
    "logical_gaps": "rebuttal_quality",
    "burden_of_proof": "burden_fulfillment",
    "side_concession": "strategic_adaptation",
}
DIMENSIONS = (
    "clash_engagement",
    "burden_fulfillment",
    "rebuttal_quality",
    "argument_extension",
    "strategic_adaptation",
)
SECTIONS = (
    "Generating",
    "Coherence",
    "Annotating",
    "Agreement between people",
    "Detection",
    "What judges miss",
    "Probing judges",
    "Publishing the dataset",
)
OVERLOOKS_SHARE = 0.25
OTHERS = {"pro": "con", "con": "pro"}


class People:
    """The people of the tour: what they do with the page, what they handed in, and what the page showed them."""

    def __init__(self) -> None:
        self.handed_in: dict[str, dict[str, dict[str, Any]]] = {}
        """Annotator → motion and speeches → form."""
        self.agreed: dict[str, dict[str, Any]] = {}
        self.shown: list[str] = []

    def __call__(self, page: AnnotationPage) -> None:
        """One person opens every debate, saves a draft, and hands the form in."""
        forms = self.agreed if page.is_review else self.handed_in.setdefault(page.annotator, {})
        self.shown.append(page.text())
        listed = page.get("api/debates")["debates"]
        assert listed, f"{page.annotator} has no debate"
        for number, debate in enumerate(listed):
            data = page.get(f"api/debates/{debate['key']}")
            if number < 2:
                self.shown.append(page.text(f"debate/{debate['key']}"))
            self.shown.append(str(data))
            form = self._agreed_form(data) if page.is_review else self._form(data, page.annotator)
            revision = data["revision"]
            saved = page.post(f"api/debates/{debate['key']}/draft", {"revision": revision, "form": form})
            assert saved.status == 200, saved
            answer = {"revision": saved.data["revision"], "form": form}
            handed_in = page.post(f"api/debates/{debate['key']}/final", answer)
            assert handed_in.status == 200, handed_in
            forms[debate_text(data)] = form
        assert page.get("api/debates")["done"] == len(listed)

    def _form(self, data: dict[str, Any], annotator: str) -> dict[str, Any]:
        """What this person makes of the debate: the side with a flaw is lower on what the flaw spoils."""
        assert [each["dimension"] for each in data["dimensions"]] == list(DIMENSIONS)
        assert all(sorted(each["anchors"]) == ["1", "2", "3"] for each in data["dimensions"])
        is_first = annotator == min({*self.handed_in, annotator})
        draw = hashlib.sha256(f"{annotator} {debate_text(data)}".encode()).digest()
        overlooks = not is_first and draw[0] / 256 < OVERLOOKS_SHARE
        found = {} if overlooks else flaws_in(data)
        scores = {name: {"pro": 2, "con": 2} for name in DIMENSIONS}
        winner = "pro" if draw[1] % 2 else "con"
        for side, weakness in found.items():
            scores[WEAKNESSES[weakness]][side] = 1
            winner = OTHERS[side]
        return {
            "winner": winner,
            "scores": scores,
            "justification": "One side left its case half made." if found else "It could have gone either way.",
            "confidence": 4 if found else 2,
            "is_coherent": True,
        }

    def _agreed_form(self, data: dict[str, Any]) -> dict[str, Any]:
        """People agree on what the most confident of them said."""
        (*_, best) = sorted(data["annotations"], key=lambda each: (each["confidence"], each["annotator"]))
        scores = {name: {side: int(score) for side, score in of.items()} for name, of in best["scores"].items()}
        return {"winner": best["winner"], "scores": scores, "justification": "We read it together."}


def debate_text(data: dict[str, Any]) -> str:
    """The debate as the page shows it, which is the same for everyone."""
    return "\n".join([data["motion"], *(each["text"] for each in data["speeches"])])


def flaws_in(data: dict[str, Any]) -> dict[str, str]:
    """Side → the weakness that shows in its speeches."""
    speeches = [Speech(each["text"], each["side"]) for each in data["speeches"]]
    traits = {"detects": 1.0, **{f"detects {name}": 1.0 for name in WEAKNESSES}}
    return {side: flaws[0][0] for side, flaws in seen_flaws(speeches, traits, "person").items()}


def test_the_page_has_every_section_and_each_has_something_to_do():
    found = sections_of(PAGE)
    assert tuple(found) == SECTIONS
    idle = [
        title for title, section in found.items() if "```sh\n" not in section.text and "```sql\n" not in section.text
    ]
    assert idle == [], f"these sections of {PAGE.name} have neither a command nor a query: {', '.join(idle)}"


def test_the_tour_runs_from_generated_debates_to_a_published_dataset(tmp_path: Path):
    people = People()
    tour = Tour(tmp_path / "tour", people)
    tour.root.mkdir()
    for title, section in sections_of(PAGE).items():
        assert title in CHECKS, f"the section '{title}' of {PAGE.name} is not checked here"
        assert section.commands or "```sql\n" in section.text, f"the section '{title}' has nothing to do"
        tour.follow(section)
        CHECKS[title](tour, people, section)


# --- what each section must have led to -----------------------------------------------------------------------------


def generated(tour: Tour, _: People, __: Section) -> None:
    """Type and side are balanced to one, a fifth has none, and every debate was judged on five dimensions."""
    debates = tour.rows("select is_control, status from marts.debates where run_tag = 'flow'")
    assert len(debates) >= 24
    assert {status for _, status in debates} == {"complete"}
    assert sum(is_control for is_control, _ in debates) == round(len(debates) * 0.2)
    cells = Counter(tour.rows("select weakness_type, side from marts.weaknesses where run_tag = 'flow'"))
    assert {weakness for weakness, _ in cells} == set(WEAKNESSES)
    assert len(cells) == 10
    assert max(cells.values()) - min(cells.values()) <= 1
    dimensions = tour.rows(
        "select dimension from staging.stg_dimensions where run_tag = 'flow' order by source_position"
    )
    assert [name for (name,) in dimensions] == list(DIMENSIONS)


def checked(tour: Tour, _: People, __: Section) -> None:
    """Every debate was checked by rule and by two judges; only judges object, and where at least half of them do."""
    ((debates,),) = tour.rows("select count(*) from marts.debates where run_tag = 'flow'")
    found = tour.rows(
        "select is_coherent, reasons, count_asked_judges, count_objecting_judges "
        "from marts.debate_coherence where run_tag = 'flow'"
    )
    assert len(found) == debates
    for is_coherent, reasons, asked, objecting in found:
        assert asked == 2
        assert reasons == (["judges"] if objecting else [])
        assert is_coherent == (not objecting)


def annotated(tour: Tour, people: People, _: Section) -> None:
    """What people handed in is in the warehouse, to the letter, and nothing told them what they were to find."""
    assert len(people.handed_in) == 2, f"two people annotate; the page starts {sorted(people.handed_in)}"
    debates = texts(tour)
    for annotator, forms in people.handed_in.items():
        found = tour.rows(
            "select debate_id, winner, scores, confidence, justification, is_coherent "
            f"from staging.stg_annotations where run_tag = 'flow' and annotator_id = '{annotator}'"
        )
        assert len(found) == len(debates) == len(forms)
        for debate_id, winner, scores, confidence, justification, is_coherent in found:
            form = forms[debates[debate_id]]
            assert (winner, confidence, justification, is_coherent) == (
                form["winner"],
                form["confidence"],
                form["justification"],
                form["is_coherent"],
            )
            given = {each["dimension"]: {"pro": int(each["pro"]), "con": int(each["con"])} for each in scores}
            assert given == form["scores"]
    shown = "\n".join(people.shown)
    names = {name for row in tour.rows("select pro_model_id, con_model_id from marts.debates") for name in row}
    assert [word for word in {*WEAKNESSES, *names} if word in shown] == []
    assert people.agreed, "the page starts no review"
    agreed = tour.rows("select debate_id, winner from staging.stg_adjudications where run_tag = 'flow'")
    assert dict(agreed) == {
        debate_id: people.agreed[text]["winner"] for debate_id, text in debates.items() if text in people.agreed
    }


def compared(tour: Tour, people: People, _: Section) -> None:
    """The agreement on the winner and its kappa are those of the forms, worked out here."""
    first, second = people.handed_in.values()
    pairs = [(first[text]["winner"], second[text]["winner"]) for text in first]
    equal = sum(one == other for one, other in pairs) / len(pairs)
    shares = [Counter(side for side, _ in pairs), Counter(side for _, side in pairs)]
    by_chance = sum(shares[0][side] * shares[1][side] for side in ("pro", "con", "tie")) / len(pairs) ** 2
    ((agreement, kappa, debates),) = tour.rows(
        "select agreement_rate, kappa, count_debates from marts.people_agreement "
        "where run_tag = 'flow' and unit = 'winner'"
    )
    assert debates == len(pairs)
    assert agreement == pytest.approx(equal)
    assert kappa == pytest.approx((equal - by_chance) / (1 - by_chance))
    assert 0 < equal < 1
    parted = tour.rows("select count(distinct debate_id) from marts.people_differences where run_tag = 'flow'")
    assert parted[0][0] >= sum(one != other for one, other in pairs)


def detected(tour: Tour, people: People, _: Section) -> None:
    """Someone who sees every flaw has a rate of 1; the known rates of judges are in their intervals."""
    rates = {
        (judge, weakness): rate
        for judge, weakness, rate in tour.rows(
            "select judge_id, weakness_type, detection_rate from marts.weakness_detection "
            "where source_run_tag = 'flow' and measure = 'dimension' and is_person"
        )
    }
    careful = min(people.handed_in)
    assert {rates[careful, weakness] for weakness in WEAKNESSES} == {1.0}
    known = known_rates(tour)
    judged = tour.rows(
        "select judge_id, weakness_type, detection_rate, detection_rate_ci_low, detection_rate_ci_high, count_debates "
        "from marts.weakness_detection where run_tag = 'flow-judged' and measure = 'dimension' and not is_baseline"
    )
    assert {judge for judge, *_ in judged} == set(known) != set()
    missed = []
    for judge, weakness, rate, low, high, debates in judged:
        assert 0 <= low <= rate <= high <= 1
        if weakness in WEAKNESSES:
            missed += [] if low <= known[judge][weakness] <= high else [(judge, weakness)]
            ((injected,),) = tour.rows(
                f"select count(*) from marts.weaknesses where run_tag = 'flow' and weakness_type = '{weakness}'"
            )
            assert debates == injected
        else:
            injected_of = dict(
                tour.rows("select weakness_type, count(*) from marts.weaknesses where run_tag = 'flow' group by all")
            )
            expected = sum(known[judge][name] * count for name, count in injected_of.items()) / debates
            assert low <= expected <= high, judge
    # Ten intervals of 95 %, beside the one of all types together.
    assert len(missed) <= 1, missed
    baselines = tour.rows(
        "select count(distinct judge_id) from marts.weakness_detection where run_tag = 'flow-judged' and is_baseline"
    )
    assert baselines[0][0] >= 1
    assert tour.rows("select count(*) from marts.debates where run_tag = 'flow-judged'") == tour.rows(
        "select count(*) from marts.debates where run_tag = 'flow'"
    )


def diagnosed(tour: Tour, _: People, __: Section) -> None:
    """The diagnoses of every judge add up, and the page shows them."""
    for _judge, sees, blames, misses, rewards, verdicts in tour.rows(
        "select judge_id, count_sees, count_blames, count_misses, count_rewards, count_diagnoses "
        "from marts.judge_profile where run_tag = 'flow-judged'"
    ):
        assert sees + blames + misses + rewards == verdicts
    page = written_page(tour, "Do judges see an injected weakness?")
    for (judge,) in tour.rows("select distinct judge_id from marts.judge_profile where run_tag = 'flow-judged'"):
        assert judge in page


def probed(tour: Tour, _: People, __: Section) -> None:
    """The run has clean and attacked copies, which are in no rating, and the page shows how often attacks succeed."""
    rows = tour.rows("select judge_id, attack, success_rate from marts.judge_robustness where run_tag = 'flow-probed'")
    assert len({attack for _, attack, _ in rows}) >= 10
    assert all(0 <= rate <= 1 for *_, rate in rows)
    swayed = {judge: max(rate for name, _, rate in rows if name == judge) for judge, *_ in rows}
    assert max(swayed.values()) > min(swayed.values()), "one judge can be led and another cannot"
    attacked = "select debate_id from staging.stg_attacked_debates where run_tag = 'flow-probed'"
    assert len(tour.rows(attacked)) >= len(tour.rows("select 1 from marts.debates where run_tag = 'flow-probed'"))
    for relation in ("marts.debates", "marts.judge_verdicts", "marts.games", "intermediate.int_weakness_verdicts"):
        mixed = f"select 1 from {relation} where run_tag = 'flow-probed' and debate_id in ({attacked})"
        assert tour.rows(mixed) == [], relation
    page = written_page(tour, "Can a debater talk a judge into a verdict?")
    for judge in swayed:
        assert judge in page


def published(tour: Tour, people: People, section: Section) -> None:
    """The dataset has every row, no name of a person, and checksums that hold."""
    (out,) = {
        words[words.index("--out-dir") + 1] for line in section.commands if "--out-dir" in (words := line.split())
    }
    folder = tour.root / out
    with duckdb.connect() as con:
        counts = {
            path.name: con.execute("select count(*) from read_parquet($1)", [f"{path}/*.parquet"]).fetchall()[0][0]
            for path in (folder / "data").iterdir()
        }
        annotators = con.execute(
            "select distinct annotator_id from read_parquet($1)", [f"{folder}/data/annotations/*.parquet"]
        ).fetchall()
    chosen = "run_tag in ('flow', 'flow-judged')"
    for table, relation in (
        ("debates", "marts.debates"),
        ("turns", "staging.stg_turns"),
        ("verdicts", "staging.stg_verdicts"),
        ("annotations", "staging.stg_annotations"),
        ("adjudications", "staging.stg_adjudications"),
        ("weaknesses", "staging.stg_weaknesses"),
    ):
        assert [(counts[table],)] == tour.rows(f"select count(*) from {relation} where {chosen}") != [(0,)]
    assert len(annotators) == len(people.handed_in)
    assert all(name.startswith("annotator-") for (name,) in annotators)
    for line in (folder / "checksums.sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "It measures preference." in (folder / "README.md").read_text()


CHECKS: dict[str, Callable[[Tour, People, Section], None]] = dict(
    zip(SECTIONS, (generated, checked, annotated, compared, detected, diagnosed, probed, published), strict=True)
)


def known_rates(tour: Tour) -> dict[str, dict[str, float]]:
    """The rates at which the judges of the run `flow-judged` find each weakness, from their parameters."""
    found = {}
    for judge, parameters in tour.rows(
        "select judge_id, parameters from staging.stg_judges where run_tag = 'flow-judged' and not is_baseline"
    ):
        detects = (json.loads(parameters) if isinstance(parameters, str) else parameters)["detects"]
        found[judge] = {
            weakness: float(detects.get(weakness, 0) if isinstance(detects, dict) else detects)
            for weakness in WEAKNESSES
        }
    return found


def texts(tour: Tour) -> dict[str, str]:
    """Debate of the run `flow` → its text as the annotation page shows it."""
    found: dict[str, list[str]] = {}
    for debate_id, motion, content in tour.rows(
        "select debates.debate_id, motion, content from marts.debates "
        "inner join staging.stg_turns as turns "
        "on debates.run_tag = turns.run_tag and debates.debate_id = turns.debate_id "
        "where debates.run_tag = 'flow' order by debates.debate_id, turn_index"
    ):
        found.setdefault(debate_id, [motion]).append(content)
    return {debate_id: "\n".join(parts) for debate_id, parts in found.items()}


def written_page(tour: Tour, title: str) -> str:
    """The text of the pages of the site with this title in their heading."""
    pages = [
        text
        for path in sorted((tour.root / "reports" / "site").rglob("*.html"))
        if title in (text := path.read_text(encoding="utf-8")).partition("</h1>")[0]
    ]
    assert pages, f"the site has no page '{title}'"
    return "\n".join(pages)
