"""Annotating debates of four teams: the form, the page, what lands, and the comparison with judges by team."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from annotating import AnnotationServer
from command_line import debatebench, debatebench_here
from judging import TEAMS, stored_workspace

from debatebench.config.transcript_layout import SPEAKING_RULES
from debatebench.output.annotation.debates import DimensionShown, ShownDebate, read_material
from debatebench.output.annotation.form import BadFormError, checked, missing_in, outcome_of
from debatebench.output.annotation.review import differences, proposed
from debatebench.shared.records import Annotation
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = dict(
    zip(TEAMS, ("Opening Government", "Opening Opposition", "Closing Government", "Closing Opposition"), strict=True)
)
SIMULATED = "judges:\n" + "\n".join(
    f"  - {{id: sim-{name}, provider: simulated, model: sim-{name}, prompt_style: declared}}" for name in "ab"
)
POINTS = {"OG": 78, "OO": 71, "CG": 82, "CO": 75}
RANKS = {"OG": 2, "OO": 4, "CG": 1, "CO": 3}
PLACES = ("2nd", "4th", "1st", "3rd")


def debate(*dimensions: DimensionShown) -> ShownDebate:
    return ShownDebate("k", "d", "Motion.", (), dimensions, TEAMS)


def team_form(ranks: dict[str, int] = RANKS, **changed: Any) -> dict[str, Any]:
    """A form that can be handed in."""
    form = {
        "ranks": ranks,
        "scores": {"speaker_points": POINTS},
        "justification": "CG brought the only new point.",
        "confidence": 4,
        "is_coherent": True,
    }
    return {**form, **changed}


# --- the form ---------------------------------------------------------------------------------------------------------


def test_places_are_different_but_two_teams_may_share_the_first():
    """Over all 256 ways to give four places, those that can be handed in are 24 orders and 12 shared wins."""
    good = []
    for places in itertools.product((1, 2, 3, 4), repeat=4):
        form = checked({"ranks": dict(zip(TEAMS, places, strict=True)), "justification": "x"}, debate())
        fields = list(missing_in({**form, "is_coherent": True, "confidence": 1}, debate()))
        if fields:
            # What has to change is among the fields.
            assert all(field.startswith("rank:") for field in fields)
            assert outcome_of(form, debate())["ranks"] is None
        else:
            good.append(places)
    assert len(good) == 24 + 12
    assert {tuple(sorted(places)) for places in good} == {(1, 2, 3, 4), (1, 1, 3, 4)}


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ({"OG": 1, "OO": 2}, "the place of Closing Government, the place of Closing Opposition"),
        ({"OG": 1, "OO": 2, "CG": 2, "CO": 4}, "a place of Opening Opposition that no other team has"),
        ({"OG": 1, "OO": 1, "CG": 2, "CO": 4}, "the third or fourth place of Closing Government, as two share"),
    ],
)
def test_a_form_says_what_its_places_lack(ranks: dict[str, int], words: str):
    missing = missing_in({**checked({"ranks": ranks}, debate()), "is_coherent": True}, debate())
    assert words in ", ".join(missing.values())


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"winner": "pro"}, "A form has no field 'winner'"),
        ({"ranks": {"OG": 5}}, "The field ranks.OG is one of 1, 2, 3, 4"),
        ({"ranks": {"OG": True}}, "The field ranks.OG is one of 1, 2, 3, 4"),
        ({"ranks": {"pro": 1}}, "the teams OG, OO, CG and CO"),
        ({"ranks": [1]}, "The field ranks is an object"),
    ],
)
def test_a_form_of_teams_has_places_and_no_winner(form: dict[str, Any], words: str):
    with pytest.raises(BadFormError, match=words):
        checked(form, debate())


def test_people_who_agree_on_the_first_place_only_differ_on_the_places():
    def says(name: str, **ranks: int) -> Annotation:
        places = [{"team": team, "rank": rank} for team, rank in ranks.items()]
        return Annotation.model_validate({"run_tag": "r", "debate_id": "d", "annotator_id": name, "ranks": places})

    one = says("a", **RANKS)
    found = differences([one, says("b", **{**RANKS, "OG": 4, "OO": 2})], debate())
    assert (found.winner, found.places, found.words()) == (False, ("OG", "OO"), "the places")
    assert "ranks" not in proposed([one, says("b", **{**RANKS, "OG": 4, "OO": 2})], debate())
    others = differences([one, says("b", **{**RANKS, "OG": 1, "CG": 2})], debate())
    assert (others.winner, others.places, others.words()) == (True, ("OG", "CG"), "the winner")
    # All places that differ come before none, and after other winners.
    assert others.order < found.order < differences([one, says("b", **RANKS)], debate()).order
    assert proposed([one, says("b", **RANKS)], debate())["ranks"] == RANKS


# --- from the page to the marts ---------------------------------------------------------------------------------------


def team_workspace(root: Path) -> Workspace:
    """Two debates of four teams, which two simulated judges have judged in the run `judged`."""
    stored_workspace(root, "http://127.0.0.1:9", two_sided=0, teams=2)
    (root / "configs" / "judges.yaml").write_text(SIMULATED)
    done = debatebench(root, "judge", "stored", "--as", "judged")
    assert done.code == 0, done.err
    return Workspace(root)


def rows(workspace: Workspace, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        return con.execute(sql).fetchall()


def server_of(workspace: Workspace, name: str, *arguments: str) -> AnnotationServer:
    return AnnotationServer(workspace, name, *arguments, run_tag="stored")


def hand_in(workspace: Workspace, name: str, forms: dict[str, dict[str, Any]], *arguments: str) -> None:
    """Hand in a form for each debate, which its motion names."""
    with server_of(workspace, name, *arguments) as server:
        for each in server.get("api/debates").data["debates"]:
            form = forms[each["motion"][-len("bp_000") :]]
            revision = server.get(f"api/debates/{each['key']}").data["revision"]
            answer = server.hand_in(each["key"], revision, form)
            assert answer.status == 200, answer.text


def rank_by_keys(page: Page, form: dict[str, Any]) -> None:
    """Fill in the form of the page by keys alone, with a mistake in the places that the page says at once."""
    from test_annotation_page import tab_to

    tab_to(page, "is_coherent")
    page.keyboard.press("y")
    for team in TEAMS:
        tab_to(page, f"speaker_points.{team}")
        page.keyboard.type(str(form["scores"]["speaker_points"][team]))
    for team in TEAMS:
        tab_to(page, f"rank:{team}")
        page.keyboard.press("2" if team == "CO" else str(form["ranks"][team]))
    said = page.locator("#ranks-said")
    assert said.inner_text() == "Opening Government and Closing Opposition have the same place, second."
    assert said.get_attribute("role") == "status"
    assert page.locator(".rank.is-wrong").count() == 2
    page.keyboard.press(str(form["ranks"]["CO"]))
    assert (said.inner_text(), page.locator(".rank.is-wrong").count()) == ("", 0)
    tab_to(page, "confidence")
    page.keyboard.press("4")
    tab_to(page, "justification")
    page.keyboard.type(form["justification"])
    page.keyboard.press("Control+Enter")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra `annotate` is not installed")
def test_four_teams_are_annotated_landed_compared_and_agreed_on(browser: Browser, tmp_path: Path):
    from test_annotation_page import opened

    workspace = team_workspace(tmp_path / "w")
    shared = {"OG": 1, "OO": 3, "CG": 4, "CO": 1}
    # Over HTTP, with what is refused.
    with server_of(workspace, "ann") as server:
        key = server.debate_keys()[0]
        data = server.get(f"api/debates/{key}").data
        assert data["sides"] == NAMES
        assert [each["side"] for each in data["speeches"]] == ["OG", "OO", "OG", "OO", "CG", "CO", "CG", "CO"]
        assert [each["dimension"] for each in data["dimensions"]] == ["speaker_points"]
        refused = server.hand_in(key, 0, team_form({**RANKS, "CO": 2}))
        assert (refused.status, refused.data["fields"]) == (422, ["rank:OG", "rank:CO"])
        low = team_form(scores={"speaker_points": {"OG": 49}})
        assert server.save(key, 0, low).status == 422
        page = server.get(f"debate/{key}").text
        assert 'name="winner"' not in page
        assert all(f"Place of {name}" in page for name in NAMES.values())
    hand_in(workspace, "ann", {"bp_000": team_form(), "bp_001": team_form(shared)})
    # By keyboard.
    with (
        server_of(workspace, "ben") as server,
        opened(browser, f"{server.url}debate/{server.debate_keys()[0]}") as page,
    ):
        rank_by_keys(page, team_form())
        page.wait_for_function("() => document.title.startsWith('Debate 2')")
        first = server.get("api/debates").data["debates"][0]["motion"]
    assert debatebench_here(workspace.root, "land").code == 0
    lands = rows(
        workspace,
        "select annotator_id, winner, scores, ranks, "
        "list_transform(team_scores, lambda each: each.score) from raw.annotations "
        f"where debate_id = '{first[-6:]}' order by 1",
    )
    keyed = [{"team": team, "rank": RANKS[team]} for team in TEAMS]
    assert lands[1] == ("ben", None, None, keyed, list(POINTS.values()))
    assert lands[0][:3] == ("ann", None, None)
    _check_truths(workspace)
    _check_comparison(workspace)
    _review(browser, workspace)
    _export(workspace)


def _check_truths(workspace: Workspace) -> None:
    truths = rows(
        workspace,
        "select debate_id, dimension, winner, winning_positions, count_annotators from marts.truths order by all",
    )
    overall = {debate_id: rest for debate_id, dimension, *rest in truths if dimension == "overall"}
    points = {debate_id: rest for debate_id, dimension, *rest in truths if dimension == "speaker_points"}
    (twice,) = [debate_id for debate_id, rest in overall.items() if rest[2] == 2]
    (once,) = overall.keys() - {twice}
    assert points == {twice: ["pro", ["CG"], 2], once: ["pro", ["CG"], 1]}
    by_ann = {"bp_000": ["pro", ["CG"]], "bp_001": [None, ["CO", "OG"]]}
    assert overall[once] == [*by_ann[once], 1]
    # Of CG once and OG with CO once, OG has the best mean rank: 1.75.
    assert overall[twice] == (["pro", ["CG"], 2] if twice == "bp_000" else ["pro", ["OG"], 2])
    agreement = rows(workspace, "select unit, agreement_rate from marts.people_agreement order by 1")
    assert agreement == [
        ("speaker_points", 1.0),
        ("team_rank", 1.0 if twice == "bp_000" else 0.0),
        ("winning_teams", 1.0 if twice == "bp_000" else 0.0),
    ]
    differences = rows(
        workspace, "select debate_id, unit, count_pairs, is_parted from marts.people_differences order by all"
    )
    differ = {
        "coherence": False,
        "speaker_points": False,
        "team_rank": twice != "bp_000",
        "winning_teams": twice != "bp_000",
    }
    assert differences == [(twice, unit, 1, is_parted) for unit, is_parted in differ.items()]


def _check_comparison(workspace: Workspace) -> None:
    """Judges and people by team, counted again from what the judges noted and the people ranked."""
    found = rows(
        workspace,
        "select source_debate_id, judge_id, position, is_winner, is_named, people_score, judge_score is not null "
        "from marts.team_judgments where truth = 'annotations' order by all",
    )
    assert len(found) == 2 * 2 * 4
    won = dict(rows(workspace, "select debate_id, winning_positions from marts.truths where dimension = 'overall'"))
    named = {
        (debate_id, judge): positions.split()
        for debate_id, judge, positions in rows(
            workspace,
            "select source_debate_id, judge_id, winner from marts.team_verdicts "
            "inner join intermediate.int_debate_sources using (run_tag, debate_id)",
        )
    }
    for debate_id, judge, team, is_winner, is_named, score, has_score in found:
        assert is_winner == (team in won[debate_id])
        assert is_named == (team in named[debate_id, judge])
        assert (score, has_score) == (POINTS[team], True)
    accuracy = dict(
        rows(
            workspace,
            "select judge_id, accuracy from marts.judge_quality "
            "where run_tag = 'judged' and truth = 'annotations' and dimension = 'overall'",
        )
    )
    for judge in ("sim-a", "sim-b"):
        hits = [
            len(set(teams) & set(won[debate_id])) / len(teams)
            for (debate_id, who), teams in named.items()
            if who == judge
        ]
        assert accuracy[judge] == pytest.approx(sum(hits) / 2)


def _review_by_keys(page: Page, form: dict[str, Any]) -> None:
    """Record what is agreed on the debate that two people have ranked, by keys alone."""
    from test_annotation_page import tab_to

    page.wait_for_selector("#form")
    assert page.locator("thead th").all_inner_texts() == ["Question", "ann", "ben"]
    places = [f"Place of {NAMES[team]}\t{place}\t{place}" for team, place in zip(TEAMS, PLACES, strict=True)]
    assert page.locator("tbody tr").all_inner_texts()[:4] == places
    # What both say is filled in: the places have one mark, which leaves when one of them is changed.
    assert page.locator(".rank :checked").evaluate_all("all => all.map(each => each.value)") == ["2", "4", "1", "3"]
    assert page.locator(".side .mark:visible").count() == 4
    mark = page.locator(".ranks .mark")
    assert mark.is_visible()
    # As judges saw it, each point is a line of its own.
    lines = page.locator(".about dd").last.inner_text().split("\n")
    assert [line[:4] for line in lines if line.startswith("- ")] == ["- OG", "- OO", "- CG", "- CO"]
    assert " ".join(lines) == " ".join(SPEAKING_RULES["british_parliamentary"].split())
    for team in TEAMS:
        tab_to(page, f"rank:{team}")
        page.keyboard.press(str(form["ranks"][team]))
        assert mark.is_hidden()
    assert page.locator("#ranks-said").inner_text() == ""
    tab_to(page, "justification")
    page.keyboard.type(form["justification"])
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => document.title.startsWith('Debate 2')")


def _review(browser: Browser, workspace: Workspace) -> None:
    """The review shows the places of each person, and what people agree on lands beside them."""
    from test_annotation_page import opened

    agreed = {"OG": 1, "OO": 2, "CG": 3, "CO": 4}
    form = {"ranks": agreed, "scores": {"speaker_points": POINTS}, "justification": "We agreed."}
    with (
        server_of(workspace, "eve", "--review") as server,
        opened(browser, f"{server.url}debate/{server.debate_keys()[0]}") as page,
    ):
        _review_by_keys(page, form)
        data = server.get(f"api/debates/{server.debate_keys()[0]}").data
        assert (data["form"]["ranks"], data["is_handed_in"]) == (agreed, True)
    hand_in(workspace, "eve", {"bp_000": form, "bp_001": form}, "--review")
    assert debatebench_here(workspace.root, "land").code == 0
    adjudicated = rows(
        workspace,
        "select truth, winning_positions from marts.truths where dimension = 'overall' and truth = 'adjudicated'",
    )
    assert adjudicated == [("adjudicated", ["OG"])] * 2
    assert rows(workspace, "select count(*) from raw.annotations") == [(3,)]


def _export(workspace: Workspace) -> None:
    """DebateFlow's format has two sides."""
    root = workspace.root
    refused = debatebench_here(
        root, "export", "--format", "debateflow", "--run-tag", "stored", "--out-dir", str(root / "flow")
    )
    assert refused.code != 0
    assert "complete, two sides, with speeches" in refused.err


def test_debates_of_two_sides_and_of_teams_are_read_from_one_run(tmp_path: Path):
    stored_workspace(tmp_path, "http://127.0.0.1:9", two_sided=1, teams=1)
    material = read_material(Workspace(tmp_path).database, "stored")
    sides = {each.debate_id: (each.sides, [d.name for d in each.dimensions]) for each in material.debates}
    assert sides == {"debateart_0000": (("pro", "con"), []), "bp_000": (TEAMS, ["speaker_points"])}
    # What their judges are told about the format.
    rules = {each.debate_id: each.rules for each in material.debates}
    assert rules == {"debateart_0000": SPEAKING_RULES["two_sided"], "bp_000": SPEAKING_RULES["british_parliamentary"]}


def test_an_annotation_of_two_sides_from_before_is_read_unchanged():
    old = {"run_tag": "r", "debate_id": "d", "annotator_id": "a", "winner": "pro"}
    record = Annotation.model_validate(old)
    assert (record.winner, record.ranks, record.team_scores) == ("pro", None, None)
