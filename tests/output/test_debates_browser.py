"""The page of all debates in a browser: filters, search, links, reading, keys, and hostile text that stays text."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from built_warehouse import begin_built, stored
from command_line import debatebench, debatebench_here
from imported import ORIGINAL, PANELBENCH, imported_run
from judged_runs import judged_run
from report_warehouse import HOSTILE, NOON, annotated, make_warehouse, tournament
from site_browser import line_edges, site_address, watched
from site_pages import only_pages, report_files, site_data

from debatebench.output.report.search_index import WordIndex, words_of
from debatebench.output.report.site import build_site
from debatebench.query.safe_query import run_query
from debatebench.shared.records import Debate, Debater, Record, Run, Topic, Turn
from debatebench.shared.visible_text import visible

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NOW = datetime(2026, 2, 3, 4, 5)
LONG = "x" * 59 + "y"
SCRIPTS = "وهذا واضح (دائما)."
TEXTS = {
    "plain": "Cafés near Zürich: don't pay 3.5 % more, says STRASSE Straße naïve co-operation.",
    "arabic": "هل يجب أن نُغلق المدارسَ؟ نعم، لأن الأطفال في خطر.",
    "hebrew": "האם עלינו לסגור את בתי הספר? כֵּן.",
    "chinese": "城市應該禁止汽車進入市中心，因為空氣污染。",
    "japanese": "都市は自動車を禁止すべきだ。カタカナとひらがな。",
    "thai": "เมืองควรห้ามรถยนต์ในใจกลางเมือง",
    "hindi": "क्या हमें स्कूल बंद करने चाहिए? हाँ।",
    "korean": "도시는 자동차를 금지해야 한다.",
    "greek": "Ὁ λόγος τοῦ ἀνθρώπου ΛΟΓΟΣ.",
    "odd": "ﬁnance ＦＵＬＬ width İstanbul ISPARTA ıspanak e\u0301te\u0301 zero\u200bwidth a_b 𝒳 𠀀𠀁 ٣٤ " + "w" * 60,
    "hostile": HOSTILE,
    "joined": "👩\u200d🚀 नमस्\u200dते می\u200cخواهم plain\u200djoin ❤\ufe0f x\ufe0f",
}


def worldly() -> Iterator[Record]:
    """An import with a debate in each script, ids of 60 characters, and debates that broke off or were forfeited."""
    yield Run(run_tag=LONG, source="import", format="debateflow")
    for name in ("one" + LONG, "two"):
        yield Debater(run_tag=LONG, model_id=name)
    for n, (name, text) in enumerate(TEXTS.items()):
        yield Topic(run_tag=LONG, topic_id=name, source_position=n, motion=f"Motion in {name}: {text}", category=None)
        status: Any = {1: "incomplete", 2: "forfeit"}.get(n, "complete")
        yield Debate(
            run_tag=LONG,
            debate_id=f"{name}-{LONG}",
            source_position=n,
            topic_id=name,
            pro_model_id="one" + LONG,
            con_model_id="two",
            status=status,
            status_reason="The debater refused." if n in (1, 2) else None,
            refused_by="con" if n == 2 else None,
        )
        if n != 1:
            yield Turn(
                run_tag=LONG,
                debate_id=f"{name}-{LONG}",
                turn_index=0,
                position="pro",
                side="pro",
                model_id="one" + LONG,
                content=text,
            )
        if n == 0:
            for place, said in enumerate((" \n", f"# Opening\n\n{SCRIPTS}\n\nand on"), 1):
                yield Turn(
                    run_tag=LONG,
                    debate_id=f"{name}-{LONG}",
                    turn_index=place,
                    position="con",
                    side="con",
                    model_id="two",
                    content=said,
                )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `held`, `again` (judges it twice, in hostile words), one with evil names, `bare`, four teams, `LONG`."""
    held = list(tournament("held", ("alpha", "beta", "gamma"), repetitions=1, is_simulated=True))
    methods = {f"judge {HOSTILE}": "chronological_v1", "judge-b": "direct"}
    evil = tournament(
        f"evil {HOSTILE}"[:100],
        (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>click</a>", "2024"),
        motion=HOSTILE,
        speech=HOSTILE,
        judges=("judge-a", f"judge {HOSTILE}"),
        created_at=datetime(2025, 1, 1),
    )
    path = tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb"
    return stored(
        make_warehouse(
            path,
            ("held", iter(held)),
            ("again", judged_run("again", held, trials=2, methods=methods, text=HOSTILE)),
            (f"evil {HOSTILE}"[:100], evil),
            ("bare", annotated("bare")),
            ("t", iter(imported_run("panelbench", PANELBENCH))),
            ("teams", judged_run("teams", imported_run("panelbench", PANELBENCH))),
            (LONG, worldly()),
        )
    )


def only_debates() -> dict[str, Path]:
    """The files of the site with no page but that of debates and the index."""
    return report_files("debates", "index")


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, only_debates(), tmp_path_factory.mktemp("out") / "site", now=NOW).parent


@contextmanager
def opened(browser: Browser, site: Path, fragment: str = "", **context: Any) -> Iterator[Page]:
    """The page of debates when it has been drawn; nothing may go wrong on it."""
    with watched(browser, site_address(site), **context) as shown:
        page = shown.open(site_address(site) + "debates.html" + fragment)
        ready(page)
        yield page
        assert shown.problems() == []


def ready(page: Page) -> None:
    page.wait_for_selector('body[aria-busy="false"]', state="attached")
    assert page.locator("#problem").is_hidden()


def go(page: Page, fragment: str) -> None:
    page.evaluate("fragment => { location.hash = fragment; }", fragment)
    page.wait_for_timeout(30)
    ready(page)


def found(page: Page) -> int:
    return int(page.locator("#found").inner_text().split(" of ")[0].replace(",", ""))


def rows(page: Page) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(".debate-row").all_inner_texts()]


def count_of(database: Path, condition: str) -> int:
    ((count,),) = run_query(database, f"select count(*) from marts.debates where {condition}").rows
    return int(count)


# --- words ------------------------------------------------------------------------------------------------------------


def test_the_page_splits_and_shows_texts_as_the_index_and_other_pages_do(browser: Browser, site: Path) -> None:
    with opened(browser, site) as page:
        for text in TEXTS.values():
            assert page.evaluate("text => debatebench.debates.wordsOf(text)", text) == words_of(text)
            assert page.evaluate("text => debatebench.debates.visible(text)", text) == visible(text, keep_lines=True)
        characters = [chr(c) for c in range(1, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
        for start in range(0, len(characters), 20_000):
            text = "a ".join(characters[start : start + 20_000])
            shown = page.evaluate("text => debatebench.debates.visible(text)", text)
            assert shown == visible(text, keep_lines=True)
            assert page.evaluate("text => debatebench.debates.wordsOf(text)", text) == words_of(text)


def test_an_index_has_every_word_of_every_document_in_parts_that_say_where_they_begin() -> None:
    index = WordIndex()
    documents = [" ".join(f"w{n}x{k}" for k in range(40)) + " common" + " rare" * (n == 7) for n in range(3000)]
    for text in documents:
        index.add([text])
    parts = list(index.parts())
    assert len(parts) > 1
    contained: dict[str, set[int]] = {}
    for first, part in parts:
        assert first == part["words"][0]
        for word, steps in zip(part["words"], part["documents"], strict=True):
            is_absent, at, numbers = steps[0] == 0, -1, set()
            for step in steps[1:] if is_absent else steps:
                at += step
                numbers.add(at)
            contained[word] = set(range(3000)) - numbers if is_absent else numbers
    assert contained["rare"] == {7}
    assert contained["common"] == set(range(3000))
    assert contained["w2999x39"] == {2999}
    assert len(contained) == 3000 * 40 + 2
    assert [first for first, _ in parts] == sorted(first for first, _ in parts)


# --- the list ---------------------------------------------------------------------------------------------------------


def test_filters_find_what_the_warehouse_counts(browser: Browser, site: Path, database: Path) -> None:
    evil = f"evil {HOSTILE}"[:100]
    cases = {
        "": "true",
        "run=held": "run_tag = 'held'",
        "run=held&debater=alpha": "run_tag = 'held' and 'alpha' in (pro_model_id, con_model_id)",
        "debater=alpha&side=con": "con_model_id = 'alpha'",
        "run=held&debater=alpha&opponent=beta": "run_tag = 'held' and 'alpha' in (pro_model_id, con_model_id) "
        "and 'beta' in (pro_model_id, con_model_id)",
        "debater=alpha&result=win": "(pro_model_id = 'alpha' and winner = 'pro') or "
        "(con_model_id = 'alpha' and winner = 'con')",
        "debater=alpha&result=loss": "(pro_model_id = 'alpha' and winner = 'con') or "
        "(con_model_id = 'alpha' and winner = 'pro')",
        "winner=tie": "winner = 'tie'",
        "winner=none": "winner = 'no_decision'",
        "split=1": "(count_pro > 0)::int + (count_con > 0)::int + (count_tie > 0)::int > 1",
        "status=forfeit": "status = 'forfeit'",
        "category=": "category is null",
        "topic=t0&run=again": "topic_id = 't0' and run_tag = 'again'",
        "weakness=any": "(run_tag, debate_id) in (select (run_tag, debate_id) from marts.weaknesses)",
        "flagged=any": "(run_tag, debate_id) in "
        "(select (run_tag, debate_id) from marts.debate_coherence where not is_coherent)",
        "flagged=short_speech": "(run_tag, debate_id) in "
        "(select (run_tag, debate_id) from marts.debate_coherence where list_contains(reasons, 'short_speech'))",
        "rated=1": "(run_tag, debate_id) in (select (run_tag, debate_id) from marts.games)",
        "panel=judge-b&vote=con": "(run_tag, debate_id) in "
        "(select (run_tag, debate_id) from marts.judge_verdicts where judge_id = 'judge-b' and winner = 'con')",
        "cost_min=0.006": "cost_usd >= 0.006",
        "cost_max=0.006": "cost_usd <= 0.006",
        f"run={quote(evil)}": f"run_tag like 'evil%' and run_tag <> '{LONG}'",
        f"run={LONG}": f"run_tag = '{LONG}'",
        "run=nothing": "false",
    }
    with opened(browser, site) as page:
        for fragment, condition in cases.items():
            go(page, fragment)
            assert found(page) == count_of(database, condition), fragment
        go(page, "run=held")
        assert rows(page)[0].startswith("Cities should close their centres to cars. alpha (pro) against beta (con)")


def test_counts_beside_a_value_say_what_choosing_it_leaves(browser: Browser, site: Path) -> None:
    with opened(browser, site, "#run=held&winner=pro") as page:
        options = page.locator("#filter-debater option").all_inner_texts()
        for option in options[1:]:
            name, _, count = option.rpartition(" (")
            go(page, f"run=held&winner=pro&debater={quote(name)}")
            assert found(page) == int(count.rstrip(")"))
        go(page, "run=held&winner=pro")
        others = dict(text.rsplit(" (", 1) for text in page.locator("#filter-winner option").all_inner_texts()[1:])
        go(page, "run=held&winner=con")
        assert found(page) == int(others["against (con)"].rstrip(")"))


def test_choices_are_in_the_address_and_back_and_forward_work(browser: Browser, site: Path) -> None:
    with opened(browser, site) as page:
        every = found(page)
        page.get_by_label("Debater", exact=True).select_option(label="alpha (15)")
        page.wait_for_function("() => location.hash === '#debater=alpha'")
        page.get_by_label("Its side").select_option("=con")
        page.wait_for_function("() => location.hash === '#debater=alpha&side=con'")
        ready(page)
        fewer = found(page)
        page.get_by_label("Search").fill("argue that")
        page.wait_for_function("() => location.hash.includes('q=argue%20that')")
        page.get_by_label("Search").fill("argue that this")
        page.wait_for_function("() => location.hash.includes('q=argue%20that%20this')")
        page.go_back()
        page.wait_for_function("() => location.hash === '#debater=alpha&side=con'")
        ready(page)
        assert found(page) == fewer
        page.go_back()
        page.go_back()
        page.wait_for_function("() => location.hash === ''")
        ready(page)
        assert found(page) == every
        page.go_forward()
        page.wait_for_function("() => location.hash === '#debater=alpha'")
        page.get_by_role("button", name="Clear all").click()
        page.wait_for_function("() => location.hash === ''")


def test_search_finds_words_in_any_script_whatever_their_case_and_accents(browser: Browser, site: Path) -> None:
    searches = {
        "cafe zurich": ["plain"],
        "STRASSE": ["plain"],
        "straße": ["plain"],
        "coop": [],
        "opera": ["plain"],
        '"opera"': [],
        "نغلق المدارس": ["arabic"],
        "כן": ["hebrew"],
        "汽車": ["chinese"],
        "自動車": ["japanese"],
        "空氣污染": ["chinese"],
        "車": ["chinese", "japanese"],
        "汽污": [],
        "รถยนต์": ["thai"],
        "स्कूल": ["hindi"],
        "자동차를": ["korean"],
        "자동": ["korean"],
        "λογος": ["greek"],
        "finance full": ["odd"],
        "istanbul": ["odd"],
        "été": ["odd"],
        "W" * 70: ["odd"],
        "nothing-of-the-kind": [],
    }
    with opened(browser, site, f"#run={LONG}") as page:
        for text, names in searches.items():
            go(page, f"run={LONG}&q={quote(text)}")
            shown = page.locator(".debate-row .motion").all_inner_texts()
            assert sorted(each.split(":")[0].removeprefix("Motion in ") for each in shown) == sorted(names), text
        go(page, f"run={LONG}&q=%D7%9B%D7%9F&debate=hebrew-{LONG}")
        assert page.locator("mark").all_inner_texts() == ["כֵּן", "כֵּן"]


def test_search_finds_what_judges_and_people_wrote_and_speeches_of_debates_that_are_judged_again(
    browser: Browser, site: Path, database: Path
) -> None:
    with opened(browser, site, "#run=again&q=argue") as page:
        assert found(page) == count_of(database, "run_tag = 'again'"), "the speeches are those of `held`"
        go(page, "q=%22in%22%20%22all%22%20speech")
        assert found(page) == count_of(database, "run_tag in ('again', 'teams')"), "only the judges wrote that"
        go(page, f"q=j2-{1:016x}")
        assert len(rows(page)) == 1


def test_only_rows_in_view_are_in_the_document_and_keys_go_through_all(
    browser: Browser, database: Path, tmp_path: Path
) -> None:
    many = tournament("many", tuple(f"debater {n}" for n in range(12)), repetitions=3)
    made = make_warehouse(tmp_path / "w.duckdb", ("many", many))
    with opened(browser, build_site(made, only_debates(), tmp_path / "site", now=NOW).parent) as page:
        assert page.locator("#found").inner_text() == "397 of 397 debates"
        assert page.locator(".debate-item").count() < 40
        page.locator(".debate-row").first.focus()
        page.keyboard.press("End")
        last = page.locator(".debate-row:focus")
        assert page.locator(".debate-item:has(:focus)").get_attribute("aria-posinset") == "397"
        assert page.locator(".debate-item:has(:focus)").get_attribute("aria-setsize") == "397"
        assert last.is_visible()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("PageUp")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        assert page.locator(".debate-item:has(:focus)").get_attribute("aria-posinset") == "2"
        second = page.locator(".debate-row:focus .opponents").inner_text()
        page.locator("#list").evaluate("list => { list.scrollTop = 9000; }")
        page.wait_for_timeout(100)
        assert page.locator(".debate-item:has(:focus)").get_attribute("aria-posinset") == "2", "the focus is not lost"
        page.keyboard.press("Enter")
        page.wait_for_selector(".debate")
        ready(page)
        assert (
            " ".join(second.split()).replace(" (pro)", "").replace(" (con)", "")
            in page.locator(".against").inner_text()
        )
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.querySelector('.walk .note')?.textContent === '3 of 397'")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("() => document.querySelector('.walk .note')?.textContent === '2 of 397'")
        page.keyboard.press("Escape")
        page.wait_for_selector("#browse:not([hidden])")
        ready(page)
        assert page.locator(".debate-item:has(:focus)").get_attribute("aria-posinset") == "2"


# --- one debate -------------------------------------------------------------------------------------------------------


def text_of_debate(page: Page) -> str:
    return " ".join(page.locator("#one").inner_text().split())


def test_a_debate_shows_its_speeches_beside_verdicts_scores_and_settings(browser: Browser, site: Path) -> None:
    with opened(browser, site, f"#run=held&debate={0:016x}") as page:
        text = text_of_debate(page)
        for index, side in enumerate(("pro", "con", "pro", "con")):
            assert f"We argue that this is right. ({side}, {index})" in text
        assert "closing statement" in text
        assert "This turn hit its token limit." in text
        assert "This debate may not be fit to be judged: speech cut off at its limit · very short speech" in text
        assert page.get_by_role("table", name="Winners and scores").locator("tr").all_inner_texts() == [
            "Dimension\tjudge-a\tjudge-b\tjudge-c",
            "Winner\tpro\tpro\tpro",
            "logic\t6 : 5\t7 : 5\t8 : 5",
            "clarity\t6 : 5\t7 : 5\t8 : 5",
        ]
        assert "Judged again: run again, trial 1, run again, trial 2" in text
        assert page.title() == "Cities should close their centres to cars. · What was said, and who won? · debatebench"
        page.get_by_text("Settings of run held").click()
        assert "seed: seed\t7" in page.get_by_role("table", name="Settings of run held").inner_text()
        assert page.locator("h2.debate-title").inner_text() == "Cities should close their centres to cars."


def test_links_lead_to_a_speech_and_to_a_verdict(browser: Browser, site: Path) -> None:
    with opened(browser, site, f"#run=held&debate={0:016x}&turn=3", viewport={"width": 900, "height": 500}) as page:
        assert "(pro, 2)" in page.locator(":focus").inner_text()
        assert page.locator(":focus").bounding_box()["y"] < 60  # type: ignore[index]
        href = page.get_by_role("link", name="Link to the verdict of judge-b").get_attribute("href")
        assert href == f"#run=held&debate={0:016x}&judge=judge-b"
        go(page, str(href))
        assert page.locator(":focus").get_attribute("data-judge") == "judge-b"


def test_a_judged_debate_has_the_speeches_of_its_source_what_judges_wrote_and_links(
    browser: Browser, site: Path
) -> None:
    with opened(browser, site, f"#run=again&debate=j1-{1:016x}") as page:
        assert f"Speeches are those of debate {1:016x} of run held." in text_of_debate(page)
        assert "We argue that this is right. (pro, 0)" in text_of_debate(page)
        assert "always_tie" in text_of_debate(page)
        assert page.locator(".verdict .notes").count() == 2
        page.locator(".verdict .notes summary").last.click()
        text = text_of_debate(page)
        for title in ("Speech 1, pro", "The whole debate", "Score of pro: 7.5 (logic)", "Winner: pro", "Summary"):
            assert title in text
        page.get_by_role("link", name=f"debate {1:016x} of run held").click()
        page.wait_for_function("() => location.hash.startsWith('#run=held&')")
        ready(page)
        assert "list=again" in page.url, "the list that the reader came from"
        go(page, "run=teams&debate=j1-bp_002")
        text = text_of_debate(page)
        assert "Positions" in text
        assert "External verdicts" in text, "those of the source"
        assert re.search(r"Winning team\s+CG\b", text), "and not the side alone"
        assert re.search(r"CG\s+pro\s+CG\s+1\s+by (\d) of \1\b", text), "its place, and who named it"
        go(page, "run=bare&debate=d0")
        assert "SP con" in text_of_debate(page)
        assert "Injected weakness: weak evidence in pro's speeches." in text_of_debate(page)
        go(page, "run=bare&debate=d1")
        page.get_by_role("button", name="Show 10 more characters").click()
        assert page.locator(".said").inner_text() == "x" * 20_010


def test_two_debates_stand_side_by_side(browser: Browser, site: Path) -> None:
    beside = quote(f"again/j2-{1:016x}", safe="")
    with opened(browser, site, f"#run=held&debate={1:016x}&beside={beside}") as page:
        first, second = page.locator(".two > .debate").all()
        assert "(pro, 0)" in first.inner_text()
        assert "(pro, 0)" in second.inner_text()
        assert "Trial\n2" in second.inner_text()
        boxes = [each.bounding_box() for each in (first, second)]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["y"] == boxes[1]["y"]
        page.get_by_role("link", name="Show only the first debate").click()
        page.wait_for_selector(".two", state="detached")
        ready(page)
        go(page, f"run=held&debate={1:016x}&beside=nothing%2Fat-all")
        assert "No debate nothing/at-all to show beside this one." in text_of_debate(page)


def test_debates_that_broke_off_or_do_not_exist_say_so(browser: Browser, site: Path) -> None:
    with opened(browser, site, f"#run={LONG}&debate=arabic-{LONG}") as page:
        assert "incomplete: The debater refused." in text_of_debate(page)
        assert "No speeches." in text_of_debate(page)
        assert "No verdicts." in text_of_debate(page)
        go(page, f"run={LONG}&debate=plain-{LONG}")
        assert "This speech is empty." in page.locator(".speech").nth(1).inner_text()
        assert line_edges(page, ".said", "# Opening") == (True, False)
        assert line_edges(page, ".said", SCRIPTS) == (False, True)
        assert line_edges(page, ".said", "and on") == (True, False)
        go(page, f"run={LONG}&debate=hebrew-{LONG}")
        assert "forfeit: The debater refused." in text_of_debate(page)
        go(page, "run=held&debate=%3Cimg%20src%3Dx%3E%E2%80%AE&q=%")
        assert "No debate <img src=x>� in run held." in text_of_debate(page)
        page.get_by_role("link", name="Show the list of debates").click()
        page.wait_for_selector("#browse:not([hidden])")


def test_a_site_of_runs_without_debates_says_so(browser: Browser, tmp_path: Path) -> None:
    made = make_warehouse(tmp_path / "w.duckdb", ("none", iter([Run(run_tag="none", source="import", format="x")])))
    with opened(browser, build_site(made, only_debates(), tmp_path / "site", now=NOW).parent) as page:
        assert page.locator("#empty").inner_text() == "No debates yet."


def test_raw_replies_are_there_on_demand_without_headers(browser: Browser, tmp_path: Path) -> None:
    begin_built(tmp_path)
    debatebench(tmp_path, "run", "--run-tag", "demo", "--sample-topics", "1", "--no-build")
    debatebench(tmp_path, "import", "debatebench", str(ORIGINAL), "--run-tag", "held")
    site = tmp_path / "reports" / "site"
    with only_pages("index", "debates"):
        debatebench_here(tmp_path, "report")
        assert site.exists()
        assert not list(site.rglob("calls-*.js"))
        debatebench_here(tmp_path, "report", "--with-calls")
        assert debatebench_here(tmp_path, "report", "--check", str(site)).code == 0
    listed = site_data(site, "debates/demo/list")
    calls = [call for debate in site_data(site, "debates/demo/calls-0") for call in debate]
    journal = [
        json.loads(line.split(" ", 2)[2])
        for line in (tmp_path / "warehouse" / "journal" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    bodies = [event["body"] for event in journal if event["type"] == "response"]
    assert sorted(call[-1] for call in calls if call[-1]) == sorted(bodies)
    assert all("content-type" not in str(value) for call in calls for value in call[:-1])
    with opened(browser, site, f"#run=demo&debate={listed['ids'][0]}") as page:
        page.locator(".speech .calls summary").first.click()
        page.locator(".speech .call").first.wait_for()
        text = page.locator(".speech .call").first.inner_text()
        assert "turn:0 · attempt 1 · answered" in text
        assert '"object": "chat.completion"' in text
        page.locator(".verdict .calls summary").first.click()
        page.locator(".verdict .call").first.wait_for()
        held = site_data(site, "debates/held/list")["ids"][0]
        go(page, f"run=held&debate={held}")
        page.locator(".verdict .calls summary").first.click()
        page.locator(".verdict .call").first.wait_for()


# --- hostile text -----------------------------------------------------------------------------------------------------

FIRED = "() => document.title === 'pwned' || document.querySelector('#content img, #content b') !== null"


@pytest.mark.parametrize("bypass_csp", [False, True])
def test_hostile_text_stays_text_in_lists_debates_and_search(browser: Browser, site: Path, bypass_csp: bool) -> None:
    evil = quote(f"evil {HOSTILE}"[:100])
    fragments = [
        "",
        f"run={evil}&q={quote(HOSTILE)}",
        f"run={evil}&debate={0:016x}&q=script%20pwned",
        f"run=again&debate=j1-{1:016x}&judge={quote('judge ' + HOSTILE)}",
        f"run={evil}&debate={0:016x}&beside={quote(f'again/j1-{1:016x}', safe='')}",
        f"debater={quote('evil ' + HOSTILE)}&opponent=2024&sort={quote(HOSTILE)}",
    ]
    with opened(browser, site, bypass_csp=bypass_csp) as page:
        for fragment in fragments:
            go(page, fragment)
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page.wait_for_timeout(50)
            assert not page.evaluate(FIRED), fragment
            text = page.locator("#content").inner_text()
            assert not set(text) & set("\x00\x1b\u202e\u2066\u200b\U000e0041")
            hrefs = page.eval_on_selector_all("#content a", "all => all.map((each) => each.getAttribute('href'))")
            assert all(href.startswith("#") or href.endswith(".html") for href in hrefs)
            assert page.evaluate(
                "[...document.querySelectorAll('#content *')].every((each) => "
                "[...each.attributes].every((own) => !own.name.startsWith('on')))"
            )
        go(page, fragments[2])
        assert "</script><script>document.title='pwned'</script>" in page.locator(".said").first.inner_text()
        assert "␀␛[31m����" in page.locator(".said").first.inner_text()
        assert page.locator(".said mark").count() > 4


def test_the_same_hostile_text_fires_where_it_is_markup(browser: Browser, site: Path) -> None:
    """The control: what the test above calls harmless would be seen if it were not."""
    with watched(browser, site_address(site), bypass_csp=True) as shown:
        page = shown.open(site_address(site) + "debates.html")
        ready(page)
        page.evaluate("text => { document.getElementById('found').innerHTML = text; }", HOSTILE)
        page.wait_for_timeout(200)
        assert page.evaluate(FIRED)
        assert "pwned" in page.title()


def test_data_holds_texts_exactly_and_cannot_end_its_script(site: Path) -> None:
    (evil,) = (run for run in site_data(site, "debates")["runs"] if run["tag"].startswith("evil"))
    debate = site_data(site, f"{evil['folder']}/texts-0")[0]
    assert debate["turns"][0][5] == f"{HOSTILE} (pro, 0)"
    for path in (site / "data").rglob("*.js"):
        assert not set(path.read_bytes()) - set(
            b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=.,;()"_-\n'
        )


# --- for everybody ----------------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_overflows(browser: Browser, site: Path, width: int, scheme: Any) -> None:
    import axe_playwright_python

    axe = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    views = [
        "",
        f"run={LONG}",
        f"run=again&debate=j1-{1:016x}&q=speech",
        f"run={LONG}&debate=arabic-{LONG}",
        f"run=held&debate={1:016x}&beside={quote(f'again/j2-{1:016x}', safe='')}",
    ]
    size: Any = {"width": width, "height": 900}
    with opened(browser, site, viewport=size, color_scheme=scheme, bypass_csp=True) as page:
        page.evaluate(axe)
        for view in views:
            go(page, view)
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            violations = page.evaluate(
                "async () => (await axe.run({ preload: false })).violations"
                ".map((each) => [each.id, each.nodes.map((node) => node.html)])"
            )
            assert violations == [], view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_a_debate_is_printed_without_the_controls(browser: Browser, site: Path) -> None:
    with opened(browser, site, f"#run=held&debate={0:016x}") as page:
        page.emulate_media(media="print")
        assert page.locator(".walk").is_hidden()
        assert page.locator(".permalink").first.is_hidden()
        assert page.locator(".speech").first.is_visible()


def test_the_same_warehouse_gives_the_same_data(database: Path, site: Path, tmp_path: Path) -> None:
    again = build_site(database, only_debates(), tmp_path / "again", now=NOW).parent
    names = sorted(path.relative_to(site) for path in (site / "data").rglob("*.js"))
    assert len(names) > 15
    for name in names:
        assert (again / name).read_bytes() == (site / name).read_bytes(), name
    assert NOON.year == 2026
