"""People judge by what judges saw: the pages show all that the prompts of judges were given, or say why they do not.

The parts are taken from the prompts that judges of every method were really sent, by the placeholders of the templates
that the run froze. A placeholder, or a line in one, that no check here knows fails.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from annotating import AnnotationServer
from built_warehouse import begin_built
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer
from judging import method_answer
from site_browser import site_address, watched
from tournament import KEY

from debatebench.config.prompts import CONDITION, JUDGE_PLACEHOLDERS, PLACEHOLDER, STAGE_PLACEHOLDERS, USER_LINE
from debatebench.config.transcript_layout import END_LINE, read_material, read_transcript
from debatebench.output.annotation.debates import NOT_SHOWN as NOT_ON_THE_PAGE
from debatebench.output.report.debates_data import NOT_SHOWN as NOT_IN_THE_REPORT
from debatebench.shared.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra `annotate` is not installed"),
]

METHODS = ("direct", "debatrix_v1", "debatrix_v2", "chronological_v1", "chronological_v2", "dimensional_v2")
SPEECH = "## Case\n\nWe take {} first.\n\n- one point\n    - a second\n\nيجب أن نفعل ذلك (الآن).\n1. السبب"
BRIEF = "Drop the strongest argument and never mention parsnips."
SECRETS = (
    "debater-anchovy",
    "debater-basil",
    "parsnips",
    "dropping_flaw",
    "judge-direct",
    "the judge wrote",
    "Turnips",
)
CONFIG = """
benchmark: {name: tiny, version: v1}
debate:
  language: en
  rounds:
    - {role: pro, stage: opening}
    - {role: con, stage: first_reply}
    - {role: pro, stage: closing}
    - {role: con, stage: closing}
scoring:
  judges_per_debate: 6
  dimensions:
    logic:
      description: Do the conclusions follow?
      weight: 2
      anchors: {"1": They never do., "10": They always do.}
      preferences:
        speech: The reasons that a speech gives.
        earlier: Whether it answers them.
        debate: Whose reasons stand.
        debate_by_analyses: Whose reasons stood.
        summary: It weighs most.
      by_category:
        School Days: {pro: Pupils must gain., con: Pupils must lose.}
        sport: {pro: Turnips must win., con: Turnips must not win.}
    good_style:
      description: Can a listener follow?
      weight: 0.5
"""
TOPIC = {
    "id": "t1",
    "motion": "This house regrets it.",
    "category": "school days",
    "info_slide": "It means that uniforms became compulsory.\n\nIn 1950.",
}


def given(received: Received) -> Behaviour:
    """Speeches with lists and two scripts; good answers of judges, with a text that people must not see."""
    if received.json["model"].startswith("debater"):
        return answer(SPEECH.format(f"point {received.number}"))
    return method_answer(received, "An analysis that the judge wrote.")


@dataclass(frozen=True)
class Played:
    """A run that judges of every method have judged, and what the placeholders of their prompts stood for."""

    root: Path
    values: frozenset[tuple[str, str]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    root = begin_built(tmp_path_factory.mktemp("given") / "w")
    configs = root / "configs"
    configs.mkdir(parents=True, exist_ok=True)
    (configs / "config.yaml").write_text(CONFIG)
    (configs / "topics.json").write_text(json.dumps([TOPIC]))
    (configs / "weaknesses.yaml").write_text(
        f"weaknesses:\n  - {{id: dropping_flaw, turns: all, dimension: logic, instruction: {BRIEF}}}\n"
    )
    with FakeProvider(given) as server:
        (configs / "models.yaml").write_text("\n".join(["models:", *(_member(name, server) for name in SECRETS[:2])]))
        judges = (_member(f"judge-{method}", server, f", method: {method}") for method in METHODS)
        (configs / "judges.yaml").write_text("\n".join(["judges:", *judges]))
        options = ("--weaknesses", str(configs / "weaknesses.yaml"), "--control-ratio", "0", "--swap-order", "-y")
        done = debatebench(root, "run", "--run-tag", "seen", *options, environ={"TINY_API_KEY": KEY})
        assert done.code == 0, done.err
        sent = [each.json["messages"] for each in server.requests if each.json["model"].startswith("judge")]
    journal = root / "warehouse" / "journal" / "seen.jsonl"
    header = json.loads(journal.read_text(encoding="utf-8").partition("\n")[0].split(" ", 2)[2])
    templates = [each for item in header["plan"]["prompts"]["templates"].items() for each in _compiled(*item)]
    found = {pair for messages in sent for message in messages for pair in _values(templates, message["content"])}
    return Played(root, frozenset(found))


def _member(name: str, server: FakeProvider, more: str = ", parameters: {}") -> str:
    more = more.replace(", method", ", parameters: {structured_output: true}, method")
    return (
        f"  - {{id: {name}, provider: http, model: {name}, endpoint: '{server.url}', api_key_env: TINY_API_KEY, "
        f"trust_reported_cost: true, pricing: {{prompt: 0.000001, completion: 0.000002}}{more}}}"
    )


def _compiled(name: str, text: str) -> Iterator[tuple[re.Pattern[str], list[str]]]:
    """The patterns of the messages that a judge's template makes, each with the names of its placeholders."""
    if not name.startswith("judge"):
        return
    for half in text.split(USER_LINE):
        half = half.strip() if name.startswith("judge/") else half
        pattern, end = "", 0
        for line in CONDITION.finditer(half):
            pattern += f"{_filled(half[end : line.start()])}(?:{_filled(line[2])})?"
            end = line.end()
        pattern += _filled(half[end:])
        yield re.compile(pattern, re.DOTALL), PLACEHOLDER.findall(half)


def _filled(text: str) -> str:
    literal, *rest = PLACEHOLDER.split(text)
    return re.escape(literal) + "".join(f"(.*?){re.escape(after)}" for after in rest[1::2])


def _values(templates: list[tuple[re.Pattern[str], list[str]]], message: str) -> Iterator[tuple[str, str]]:
    """Placeholder and value, for each in a message."""
    for pattern, names in templates:
        if found := pattern.fullmatch(message):
            pairs = zip(names, found.groups(), strict=True)
            yield from ((name, value) for name, value in pairs if value is not None)
            return
    raise AssertionError(f"No template makes this message: {message}")


# --- the parts of a value -------------------------------------------------------------------------------------------

Part = tuple[str, ...]
"""A kind of part, and what it is in this prompt."""
_FENCE = re.compile(r"<<<\S+ (?:The|End of the) (?:speeches|analyses|speeches and analyses)\b.*")
_ASKED = re.compile(r"(?:  )?(?:PRO|CON) in the category School Days: (.+)")
_DRAWN = "Which side stands first in each exchange was drawn by lot"


def _text(kind: str) -> Callable[[str], Iterator[Part]]:
    return lambda value: iter([(kind, value.strip())] if value.strip() else [])


def _preference(value: str) -> Iterator[Part]:
    """Lines of a rubric, or sentences about one dimension. Those about earlier speeches may follow without a mark."""
    for line in filter(None, value.split("\n")):
        if _ASKED.fullmatch(line) or line.startswith("- "):
            yield from _rubric(line)
        else:
            yield "text", line


def _slide(value: str) -> Iterator[Part]:
    if not value:
        return  # Beside analyses it is not shown again.
    heading, _, text = value.partition("\n")
    assert heading == "Information slide, known to both sides and to the judges:"
    yield "text", text.strip()


def _rubric(value: str) -> Iterator[Part]:
    for line in value.split("\n"):
        if scaled := re.fullmatch(r"- (\w+): (?:whole )?number from (\S+) to (\S+?)\.(?: (.+))?", line):
            name, low, high, description = scaled.groups()
            # People say who won the debate as a whole, and give it no score.
            yield from [] if name == "overall" else [("name", name)]
            yield from (("score", low), ("score", high))
            yield from [("text", description)] if description else []
        elif asked := _ASKED.fullmatch(line):
            yield "text", asked[1]
        elif anchor := re.fullmatch(r"  (\S+) = (.+)", line):
            yield from (("score", anchor[1]), ("text", anchor[2]))
        elif weighed := re.fullmatch(r"- (\w+), weight (\S+?)(?:: (.+))?", line):
            yield from (("name", weighed[1]), ("weight", weighed[2]))
            yield from [("text", weighed[3])] if weighed[3] else []
        else:
            plain = re.fullmatch(r"- (\w+): (.+)", line)
            assert plain is not None, f"a line that no check knows: {line}"
            # The whole debate has a scale like those of the dimensions.
            yield from (("name", plain[1]), ("text", plain[2]))


def _material(value: str) -> Iterator[Part]:
    lines = value.split("\n")
    fences = [line for line in lines if line.startswith("<<<")]
    assert all(_FENCE.fullmatch(line) for line in fences), fences
    if any(_DRAWN in line for line in fences):
        yield "absent", "order"
    for section in read_material(value) if END_LINE not in value else []:
        if section.is_analysis:
            yield "absent", "notes"
        else:
            about = re.sub(r"^speech \d+(?:, )?", "", str(section.about))
            yield "speech", str(section.position), about, section.text
    if END_LINE in value:
        yield from (("speech", *speech) for speech in read_transcript(value))


def _absent(why: str) -> Callable[[str], Iterator[Part]]:
    return lambda value: iter([("absent", why)])


def _counted(value: str) -> Iterator[Part]:
    """What anybody can count who sees the speeches."""
    assert value.isdecimal()
    return iter([])


def _unused(value: str) -> Iterator[Part]:
    """What no prompt shows that comes with debatebench, or none of a debate of two sides."""
    raise AssertionError(value)


PARTS: dict[str, Callable[[str], Iterator[Part]]] = {
    "motion": _text("text"),
    "category": _text("text"),
    "info_slide": _slide,
    "language": _text("language"),
    "format": _text("text"),
    "dimension": _text("name"),
    "preference": _preference,
    "dimensions": _rubric,
    "position": lambda value: iter([("side", value.lower())] if value else []),
    "stage": _text("stage"),
    "transcript": _material,
    "material": _material,
    "answer_shape": _absent("shape"),
    "speech_number": _counted,
    "speech_count": _counted,
    "debater_count": _counted,
    "pro_debaters": lambda value: iter([("side", value.lower())]),
    "con_debaters": lambda value: iter([("side", value.lower())]),
    "rules": _text("text"),
    "names": _unused,
    "team": _unused,
    "half": _unused,
    "role": _unused,
    "tie": _unused,
    "no_tie": _unused,
    "earlier_preference": _preference,
    **dict.fromkeys(
        ("debaters", "earlier", "no_earlier", "analyses", "no_analyses", "answer_schema", "error"), _unused
    ),
}
"""Placeholder → its parts. A new placeholder has to be added here, and its parts have to be shown."""
WHY_ABSENT = {"shape": "shape of", "order": "other side first", "notes": "its own notes"}
"""What people are not shown → words of the sentence that says why."""


def test_every_placeholder_of_a_judge_is_looked_for():
    assert PARTS.keys() == {*JUDGE_PLACEHOLDERS, *STAGE_PLACEHOLDERS}


# --- where they are shown -------------------------------------------------------------------------------------------


def page_text(page: str) -> str:
    """The text of a page, with what its fields hold, and nothing of its markup."""
    fields = " ".join(f"<{value}>" for value in re.findall(r'(?:value|min|max)="([^"]*)"', page))
    return html.unescape(re.sub(r"<[^>]+>", "", page)) + fields


def flat(data: Any, name: str = "") -> Iterator[str]:
    """Every value of a JSON document as `name: value`."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield f"<{key}>"
            yield from flat(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from flat(value, name)
    else:
        yield f"{name}: {data}"


def words_of(part: Part) -> tuple[str, ...]:
    """What the text of a page or document has where it shows a part; any of these."""
    kind, *values = part
    if kind == "name":
        return values[0], values[0].replace("_", " ").capitalize()
    if kind == "stage":
        return values[0], values[0].replace("_", " ")
    if kind == "side":
        return f"side: {values[0]}", values[0], values[0].capitalize()
    if kind == "language":
        return f"language: {values[0]}", f"Language{values[0]}", f"languages: judges{values[0]}"
    if kind == "weight":
        return f"Weight {values[0]}", f"weight {values[0]}", f"weight: {float(values[0])}"
    if kind == "score":
        return f"<{values[0]}>", f"max: {values[0]}", f"min: {values[0]}", f"1 to {values[0]}", f"{values[0]} to 10"
    return (values[-1],)


def lacking(parts: set[Part], shown: str, why: str) -> list[Part]:
    """The parts that a text does not show, and whose absence `why` does not explain."""

    def is_lacking(part: Part) -> bool:
        if part[0] == "absent":
            return WHY_ABSENT[part[1]] not in why
        return not any(each in shown for each in words_of(part))

    return sorted(filter(is_lacking, parts))


def test_people_have_all_that_judges_had_and_nothing_that_names_debaters(played: Played, browser: Browser):
    used = {name for name, part in PARTS.items() if part is not _unused}
    assert {name for name, _ in played.values} == used, "the run uses every placeholder"
    parts = {part for name, value in played.values for part in PARTS[name](value)}
    assert {part[0] for part in parts} == {
        "absent", "language", "name", "score", "side", "speech", "stage", "text", "weight"
    }  # fmt: skip
    # What the debate's category asks of each side is there, and no other category's.
    assert {("text", "Pupils must gain."), ("text", "Pupils must lose.")} < parts
    assert {("text", "Whether it answers them."), ("text", "Whose reasons stood.")} < parts
    assert [value for _, value in played.values if "Turnips" in value] == []
    speeches = {part for part in parts if part[0] == "speech"}
    assert len(speeches) == 8
    shared = parts - speeches
    form = {
        "winner": "pro",
        "scores": {name: {"pro": 3, "con": 2} for name in ("logic", "good_style")},
        "justification": "Con never answered.",
        "confidence": 4,
        "is_coherent": True,
    }
    pages: list[str] = []
    with AnnotationServer(Workspace(played.root), run_tag="seen") as server:
        overview = page_text(server.get().text)
        assert all(sentence in overview for sentence in NOT_ON_THE_PAGE)
        for key in server.debate_keys():
            data = server.get(f"api/debates/{key}").data
            pages += [server.get(f"debate/{key}").text, json.dumps(data, ensure_ascii=False)]
            own = {part for part in speeches if part[3] in {each["text"].strip() for each in data["speeches"]}}
            assert len(own) == 4
            assert lacking(shared | own, page_text(pages[-2]), overview) == []
            document = "\n".join(flat(data))
            assert lacking(shared | own, document, "\n".join(flat(server.get("api/debates").data))) == []
            # Nothing is missing that this test would not have missed.
            assert lacking({("text", "parsnips")}, document, "") != []
            assert server.hand_in(key, 0, form).status == 200
    with AnnotationServer(Workspace(played.root), "eve", "--review", run_tag="seen") as server:
        overview = page_text(server.get().text)
        for key in server.debate_keys():
            data = server.get(f"api/debates/{key}").data
            pages += [server.get(f"debate/{key}").text, json.dumps(data, ensure_ascii=False)]
            own = {part for part in speeches if part[3] in {each["text"].strip() for each in data["speeches"]}}
            assert lacking(shared | own, page_text(pages[-2]), overview) == []
            assert lacking(shared | own, "\n".join(flat(data)), overview) == []
    assert [secret for secret in SECRETS for page in pages if secret in page] == []
    debatebench(played.root, "report")
    site = played.root / "reports" / "site"
    with watched(browser, site_address(site)) as report:
        page = report.open(f"{site_address(site)}debates.html")
        page.wait_for_selector('body[aria-busy="false"]', state="attached")
        page.locator(".debate-row").first.click()
        page.locator(".settings summary").click()
        page.locator(".settings table").wait_for()
        shown = page.locator("#one").text_content() or ""
        own = {part for part in speeches if part[3] in shown}
        assert len(own) == 4
        assert lacking(shared - {part for part in shared if part[0] == "absent"} | own, shown, "") == []
        assert NOT_IN_THE_REPORT in shown
        # A report tells about all that judges did, and so about debaters and weaknesses, too.
        assert "dropping flaw" in shown
