"""The six rows of the Debatrix paper's table 5 on real debates: their calls, the order, and what is in them.

Algorithm 1 for *Chronological* and *Debatrix*, and its reductions in section 5.2 for the others, over real HTTP. What
is read of speeches, analyses and judgments is what appendix A.2 counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built_warehouse import begin_built
from command_line import debatebench_here
from fake_provider import Behaviour, FakeProvider, Received
from judging import KEY, analysis_of, calls_of, method_answer, schema_of, stored_rows
from paths import REPOSITORY

from debatebench.config.transcript_layout import Section, read_material

pytestmark = pytest.mark.slow

ROWS = {
    "ChatGPT": "whole_debate",
    "GPT-4": "whole_debate",
    "Chronological": "chronological_v2",
    "Dimensional": "dimensional_v2",
    "NonIterative": "non_iterative_v2",
    "Debatrix": "debatrix_v2",
}
"""Row of the table → judge method."""
LENGTHS = {"speech": 640, "debate": 900, "summary": 700}
"""The characters of what the server's judge writes."""
DEBATES = {
    "debateart_4395": ("DebateArt", "panelbench.yaml", {"argument": "3", "source": "2", "language": "2"}),
    "bp_003": ("BP-Competition", "panelbench_bp.yaml", dict.fromkeys(("argument", "source", "language", "clash"), "1")),
}
"""Debate → its collection, its configuration, and the weights of its dimensions."""


@dataclass(frozen=True)
class Asked:
    """A request: its step, its dimension, whom it is about, what its material holds, and its answer if it is a text."""

    step: str
    about: str | None
    part: str
    shown: tuple[Section, ...]
    said: str
    prompt: str

    @property
    def read(self) -> int:
        """The characters of speeches and of the judge's texts."""
        return sum(len(section.text) for section in self.shown)


def step_of(received: Received) -> tuple[str, str]:
    """Step and whom it is about, by the last line of a prompt's text."""
    user = received.prompt
    if found := re.search(r"^Now analyse speech (\d+), by (\w+)\.$", user, re.MULTILINE):
        return "speech", found[1]
    if found := re.search(r"^Now return the score of (\w+), exactly", user, re.MULTILINE):
        return "position", found[1]
    if "\nNow return the winner, exactly" in user:
        return "winner", ""
    return ("summary" if user.endswith("Now write your judgment of the whole debate.") else "debate"), ""


def written(received: Received) -> str:
    step, _ = step_of(received)
    return f"{analysis_of(received)} ".ljust(LENGTHS.get(step, 0), ".")


def asked(received: Received) -> Asked:
    step, part = step_of(received)
    prompt = "\n".join(message["content"] for message in received.json["messages"])
    about = re.search(r"judges? one thing only: (\w+)\.", prompt)
    shown = tuple(read_material(received.prompt))
    return Asked(step, about and about[1], part, shown, "" if schema_of(received) else written(received), prompt)


@dataclass(frozen=True)
class Judged:
    """A debate: its motion, its info slide, its speeches as sections, and what each row asked about it."""

    name: str
    motion: str
    slide: str | None
    speeches: list[Section]
    asked: dict[str, list[Asked]]
    valid: dict[str, tuple[Any, ...]]

    @property
    def positions(self) -> list[str]:
        return ["OG", "OO", "CG", "CO"] if self.name.startswith("bp") else ["PRO", "CON"]

    @property
    def dimensions(self) -> list[str]:
        return list(DEBATES[self.name][2])


@pytest.fixture(scope="module", params=DEBATES)
def judged(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    debate = request.param
    collection, config, _ = DEBATES[debate]
    root = begin_built(tmp_path_factory.mktemp("table") / "w")
    folder = str(shared / "panelbench" / collection)
    assert debatebench_here(root, "import", "panelbench", folder, "--run-tag", "stored", "--no-build").code == 0
    (root / "configs").mkdir(exist_ok=True)
    (root / "ids.txt").write_text(debate)
    with FakeProvider(lambda received: written_answer(received)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINY_API_KEY", KEY)
        judges = [
            f"  - {{id: {row}, provider: http, model: {row}, endpoint: '{server.url}', api_key_env: TINY_API_KEY, "
            f"trust_reported_cost: true, pricing: {{prompt: 0.000001, completion: 0.000002}}, "
            f"method: {method.removesuffix('_v2')}, parameters: {{structured_output: true}}}}"
            for row, method in ROWS.items()
        ]
        (root / "configs" / "judges.yaml").write_text("\n".join(["judges:", *judges, ""]))
        done = debatebench_here(
            root,
            *("judge", "stored", "--as", "judged", "--debates", str(root / "ids.txt"), "--no-build", "--yes"),
            *("--config-path", str(REPOSITORY / "configs" / config)),
        )
        assert done.code == 0, done.err
    of_rows: defaultdict[str, list[Asked]] = defaultdict(list)
    for received in server.requests:
        of_rows[received.json["model"]].append(asked(received))
    ((motion, slide),) = stored_rows(
        root,
        "select motion, info_slide from raw.topics inner join raw.debates using (run_tag, topic_id) "
        f"where run_tag = 'stored' and debate_id = '{debate}'",
    )
    turns = stored_rows(
        root,
        "select position, content from raw.turns "
        f"where run_tag = 'stored' and debate_id = '{debate}' order by turn_index",
    )
    sections = [Section(content.strip(), position) for position, content in turns]
    valid = {
        judge: tuple(rest)
        for judge, *rest in stored_rows(
            root,
            "select judge_id, method, is_valid, declared_winner is not null, asks "
            "from raw.verdicts inner join raw.judges using (run_tag, judge_id) where run_tag = 'judged'",
        )
    }
    return Judged(debate, motion, slide, sections, dict(of_rows), valid)


def written_answer(received: Received) -> Behaviour:
    return method_answer(received, written(received))


def steps_of(judged: Judged, row: str, about: str | None) -> list[Asked]:
    """What a row asked about a dimension or about all of them, in order; what may come at once is sorted."""
    found = [each for each in judged.asked[row] if each.about == about]
    order = {"speech": 0, "debate": 1, "summary": 2, "position": 3, "winner": 3}
    assert [order[each.step] for each in found] == sorted(order[each.step] for each in found), "they come in order"
    speeches = [each for each in found if each.step == "speech"]
    numbers = [int(each.part) for each in speeches]
    assert row == "NonIterative" or numbers == sorted(numbers)
    rest = [each for each in found if each.step != "speech"]
    return [*sorted(speeches, key=lambda each: int(each.part)), *rest]


@pytest.mark.parametrize("row", ROWS)
def test_each_row_makes_its_calls_and_has_a_verdict(judged: Judged, row: str):
    count, dimensions = len(judged.speeches), len(judged.dimensions)
    expected = calls_of(ROWS[row], count, len(judged.positions), dimensions)
    assert len(judged.asked[row]) == expected
    assert judged.valid[row] == (ROWS[row], True, True, expected)


@pytest.mark.parametrize("row", ROWS)
def test_each_step_comes_in_its_order_and_sees_its_parts(judged: Judged, row: str):
    by_dimension = row in ("Dimensional", "NonIterative", "Debatrix")
    speeches, texts = [each.text for each in judged.speeches], dict[str, str]()
    for about in judged.dimensions if by_dimension else [None]:
        steps = steps_of(judged, row, about)
        analyses = [each.said for each in steps if each.step == "speech"]
        assert len(analyses) == (len(speeches) if row in ("Chronological", "NonIterative", "Debatrix") else 0)
        for number, step in enumerate(steps[: len(analyses)]):
            earlier = speeches if row == "NonIterative" else analyses
            assert [each.text for each in step.shown] == [*earlier[:number], speeches[number]]
            kinds = [row != "NonIterative"] * number + [False]
            assert [each.is_analysis for each in step.shown] == kinds
            assert [each.position for each in step.shown] == [each.position for each in judged.speeches[: number + 1]]
            spoken = f"There are {len(speeches)} speeches. Speech {number + 1} has just been given, by "
            assert f"{spoken}{(judged.speeches[number].position or '').upper()}." in step.prompt
            assert (judged.slide is None) or judged.slide.strip()[:60] in step.prompt
        debate, *extracted = steps[len(analyses) :]
        assert (debate.step, [each.text for each in debate.shown]) == ("debate", analyses or speeches)
        if judged.slide is not None:
            # Beside analyses it is not shown again.
            assert (judged.slide.strip()[:60] in debate.prompt) == (not analyses)
        is_tie = about in ("source", "language") or (about is not None and judged.name.startswith("bp"))
        assert ("say that it is a tie between them" in debate.prompt) == is_tie
        assert ("one and only one" in debate.prompt) == (not is_tie)
        check_extraction(judged, debate.said, extracted, allows_tie=is_tie)
        texts[about or ""] = debate.said
    if by_dimension:
        summary, *extracted = steps_of(judged, row, None)
        assert summary.step == "summary"
        assert [(each.about, each.text) for each in summary.shown] == list(texts.items())
        for dimension, weight in DEBATES[judged.name][2].items():
            assert f"- {dimension}, weight {weight}: " in summary.prompt
        assert "one and only one" in summary.prompt
        check_extraction(judged, summary.said, extracted, allows_tie=False)


def check_extraction(judged: Judged, text: str, extracted: list[Asked], *, allows_tie: bool) -> None:
    """The scores of each position and the winner are read from a text, and from nothing else."""
    assert sorted((each.step, each.part) for each in extracted) == sorted(
        [*(("position", position) for position in judged.positions), ("winner", "")]
    )
    assert all([section.text for section in each.shown] == [text] for each in extracted)
    winner = next(each.prompt for each in extracted if each.step == "winner")
    assert ("Where the text calls it a tie, answer so." in winner) == allows_tie
    assert not any(speech.text[:200] in each.prompt for speech in judged.speeches for each in extracted)


@pytest.mark.parametrize("row", ROWS)
def test_what_is_read_of_speeches_and_texts_is_what_the_paper_counts(judged: Judged, row: str):
    """Nx tokens at once; y · N(N + 1) / 2 more with analyses; k times for k dimensions, and kz for the summary.

    Extraction, which the paper leaves out, reads each judgment once for each debater and for the winner.
    """
    lengths = [len(each.text) for each in judged.speeches]
    count, whole, dimensions = len(lengths), sum(lengths), len(judged.dimensions)
    y, z = LENGTHS["speech"], LENGTHS["debate"]
    iterated = whole + y * count * (count + 1) // 2
    raw = sum(length * (count - number) for number, length in enumerate(lengths)) + y * count
    expected = {
        "ChatGPT": whole,
        "GPT-4": whole,
        "Chronological": iterated,
        "Dimensional": dimensions * whole + dimensions * z,
        "NonIterative": dimensions * raw + dimensions * z,
        "Debatrix": dimensions * iterated + dimensions * z,
    }[row]
    analysing = [each for each in judged.asked[row] if each.step in LENGTHS]
    assert sum(each.read for each in analysing) == expected
    times = (len(judged.positions) + 1) * (z * dimensions + LENGTHS["summary"] if dimensions else z)
    if row in ("ChatGPT", "GPT-4", "Chronological"):
        times = (len(judged.positions) + 1) * z
    assert sum(each.read for each in judged.asked[row] if each.step not in LENGTHS) == times


def test_no_prompt_has_an_empty_part_an_invented_category_or_a_name(judged: Judged):
    prompts = [each for row in judged.asked.values() for each in row]
    for each in prompts:
        assert judged.motion.strip() in each.prompt
        assert "Category" not in each.prompt
        assert "{{" not in each.prompt
        headed = [section for section in each.shown if each.step in ("speech", "debate")]
        assert all(section.about for section in headed)
        is_ruled = each.step in ("speech", "debate", "summary") and judged.name.startswith("bp")
        assert ("its whip sums up" in " ".join(each.prompt.split())) == is_ruled
    if judged.name.startswith("bp"):
        assert any("In this speech OG is the Deputy Prime Minister.\n" in each.prompt for each in prompts)
        assert any(section.about == "speech 8, Opposition Whip" for each in prompts for section in each.shown)
